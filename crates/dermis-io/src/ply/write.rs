//! Conversion of a mesh to a little-endian PLY file.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use dermis_mesh::polygons::flip_v;
use dermis_mesh::{Layout, Note, Object, Polygons, Units};
use glam::Vec3;

use crate::color;
use crate::error::Error;
use crate::output::{Job, Output};
use crate::pattern;

/// Properties that are not attributes.
const KEYS: &[&str] = &[
    "x", "y", "z", "nx", "ny", "nz", "s", "t", "u", "v", "texture_u", "texture_v", "red", "green", "blue", "alpha",
    "point",
];

/// Writes `object` to `target`: one file, or one per frame if the target is a pattern like `name.%04d.ply`.
pub(crate) fn write(object: &Object, _units: Units, job: &mut Job<'_>) -> Result<(), Error> {
    let table = Table::of(object, &mut job.notes);
    pattern::write_each(object, job, |file, positions, output| table.write(positions, file, output))
}

/// The rows of the vertices apart from their positions, and the faces: the same in every frame.
struct Table<'a> {
    object: &'a Object,
    layout: Layout,
    /// Over vertices.
    polygons: Polygons,
    /// True if the file must store the point of each vertex.
    split: bool,
    attributes: Vec<(&'a String, &'a Vec<f32>)>,
}

impl<'a> Table<'a> {
    fn of(object: &'a Object, notes: &mut Vec<Note>) -> Self {
        let layout = object.mesh.layout().cloned().unwrap_or_else(|| Layout::plain(&object.mesh));
        let split = layout.vertex_points.iter().enumerate().any(|(vertex, &point)| vertex != point as usize)
            || layout.normals.is_some()
            || !layout.uvs.is_empty();
        let usable = |name: &str| {
            !KEYS.contains(&name) && !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control())
        };
        let (attributes, skipped): (Vec<_>, Vec<_>) = object.attributes.iter().partition(|(name, _)| usable(name));
        for (name, _) in skipped {
            notes.push(Note::at(
                &object.name,
                format!("the attribute '{name}' is dropped: the format does not support this name"),
            ));
        }
        let polygons = layout.polygons.clone().unwrap_or_else(|| Polygons {
            sizes: vec![3; layout.triangles.len()],
            corners: layout.triangles.as_flattened().to_vec(),
        });
        Self { object, layout, polygons, split, attributes }
    }

    fn write(&self, positions: &[Vec3], target: &Path, output: &mut Output) -> Result<(), Error> {
        // Normals are valid only in the rest pose.
        let normals = self.layout.normals.as_ref().filter(|_| positions == self.object.mesh.points());
        let polygons = &self.polygons;
        let wide = polygons.sizes.iter().any(|&size| size > u32::from(u8::MAX));
        let mut file = output.create(target)?;
        file.write_all(self.header(normals.is_some(), polygons.sizes.len(), wide).as_bytes())?;
        for (vertex, &point) in self.layout.vertex_points.iter().enumerate() {
            let mut row: Vec<u8> =
                positions[point as usize].to_array().into_iter().flat_map(f32::to_le_bytes).collect();
            if let Some(normals) = normals {
                row.extend(normals[vertex].to_array().into_iter().flat_map(f32::to_le_bytes));
            }
            self.append_surface(&mut row, vertex, point);
            file.write_all(&row)?;
        }
        for polygon in polygons.iter() {
            if wide {
                file.write_all(&(polygon.len() as u32).to_le_bytes())?;
            } else {
                file.write_all(&[polygon.len() as u8])?;
            }
            file.write_all(&polygon.iter().flat_map(|corner| corner.to_le_bytes()).collect::<Vec<u8>>())?;
        }
        Ok(file.flush()?)
    }

    fn header(&self, normals: bool, faces: usize, wide: bool) -> String {
        let mut properties = vec!["float x", "float y", "float z"];
        if normals {
            properties.extend(["float nx", "float ny", "float nz"]);
        }
        if !self.layout.uvs.is_empty() {
            properties.extend(["float s", "float t"]);
        }
        if !self.layout.colors.is_empty() {
            properties.extend(["uchar red", "uchar green", "uchar blue", "uchar alpha"]);
        }
        let mut text = format!("ply\nformat binary_little_endian 1.0\nelement vertex {}\n", self.layout.vertex_count());
        // Writing to a string cannot fail.
        for property in properties {
            let _ = writeln!(text, "property {property}");
        }
        for (name, _) in &self.attributes {
            let _ = writeln!(text, "property float {name}");
        }
        if self.split {
            text.push_str("property uint point\n");
        }
        if faces > 0 {
            let length = if wide { "uint" } else { "uchar" };
            let _ = write!(text, "element face {faces}\nproperty list {length} uint vertex_indices\n");
        }
        text.push_str("end_header\n");
        text
    }

    fn append_surface(&self, row: &mut Vec<u8>, vertex: usize, point: u32) {
        if let Some(uvs) = self.layout.uvs.first() {
            row.extend(flip_v(uvs[vertex]).to_array().into_iter().flat_map(f32::to_le_bytes));
        }
        if let Some(colors) = self.layout.colors.first() {
            let color = color::to_srgb(colors[vertex]).to_array();
            row.extend(color.map(|channel| (channel * 255.0).round() as u8));
        }
        for (_, values) in &self.attributes {
            row.extend(values.get(point as usize).copied().unwrap_or(0.0).to_le_bytes());
        }
        if self.split {
            row.extend(point.to_le_bytes());
        }
    }
}
