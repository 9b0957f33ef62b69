//! Conversion of a mesh to the text of an OBJ file.

use std::io::Write;
use std::path::Path;

use dermis_mesh::polygons::flip_v;
use dermis_mesh::{Object, PolygonMesh, TriMesh, Units};
use glam::{Vec3, Vec4};

use crate::color;
use crate::error::Error;
use crate::obj::mtl;
use crate::output::{Job, Output};
use crate::pattern;

/// Writes `object` to `target`: one file, or one per frame if the target is a pattern like `name.%04d.obj`.
pub(crate) fn write(object: &Object, _units: Units, job: &mut Job<'_>) -> Result<(), Error> {
    let text = Text::of(&object.name, &object.mesh, job.target, job)?;
    pattern::write_each(object, job, |file, positions, output| text.write(positions, file, output))
}

/// Writes the rest pose of `mesh` to `target`.
pub(crate) fn write_mesh(name: &str, mesh: &TriMesh, target: &Path, job: &mut Job<'_>) -> Result<(), Error> {
    Text::of(name, mesh, target, job)?.write(mesh.points(), target, job.output)
}

/// Parts that are the same in every frame.
struct Text {
    head: Vec<u8>,
    rest: Vec<Vec3>,
    colors: Option<Vec<Vec4>>,
    surface: Vec<u8>,
    /// The faces with and without normals, which are valid only in the rest pose.
    normals: Option<Vec<u8>>,
    faces_with_normals: Vec<u8>,
    faces: Vec<u8>,
}

impl Text {
    fn of(name: &str, mesh: &TriMesh, target: &Path, job: &mut Job<'_>) -> Result<Self, Error> {
        let polygons = mesh.to_polygon_mesh();
        let line: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut head = format!("o {line}\n").into_bytes();
        let mut material_names = Vec::new();
        if !polygons.polygon_materials.is_empty() {
            let library = pattern::without_number(target).with_extension("mtl");
            material_names = mtl::write(&library, &polygons.materials, job)?;
            let file_name = library.file_name().unwrap_or_default().to_string_lossy().into_owned();
            writeln!(head, "mtllib {file_name}")?;
        }
        let mut surface = Vec::new();
        for uv in polygons.uvs.first().iter().flat_map(|uvs| &uvs.values) {
            let uv = flip_v(*uv);
            writeln!(surface, "vt {} {}", uv.x, uv.y)?;
        }
        let normals = polygons.normals.as_ref().map(|normals| {
            let line = |normal: &Vec3| format!("vn {} {} {}\n", normal.x, normal.y, normal.z).into_bytes();
            normals.values.iter().flat_map(line).collect()
        });
        Ok(Self {
            head,
            rest: mesh.points().to_vec(),
            colors: point_colors(&polygons),
            surface,
            normals,
            faces_with_normals: faces(&polygons, &material_names, true)?,
            faces: faces(&polygons, &material_names, false)?,
        })
    }

    fn write(&self, positions: &[Vec3], target: &Path, output: &mut Output) -> Result<(), Error> {
        let mut file = output.create(target)?;
        file.write_all(&self.head)?;
        match &self.colors {
            None => {
                for point in positions {
                    writeln!(file, "v {} {} {}", point.x, point.y, point.z)?;
                }
            }
            Some(colors) => {
                for (point, color) in positions.iter().zip(colors) {
                    writeln!(file, "v {} {} {} {} {} {}", point.x, point.y, point.z, color.x, color.y, color.z)?;
                }
            }
        }
        file.write_all(&self.surface)?;
        match self.normals.as_ref().filter(|_| positions == self.rest) {
            Some(normals) => {
                file.write_all(normals)?;
                file.write_all(&self.faces_with_normals)?;
            }
            None => file.write_all(&self.faces)?,
        }
        Ok(file.flush()?)
    }
}

/// Colour of each point, in sRGB; if corners of a point differ, the last one is used.
fn point_colors(polygons: &PolygonMesh) -> Option<Vec<Vec4>> {
    let colors = polygons.colors.first()?;
    let mut of_points = vec![Vec4::ONE; polygons.points.len()];
    for (&point, &index) in polygons.polygons.corners.iter().zip(&colors.indices) {
        of_points[point as usize] = color::to_srgb(colors.values[index as usize]);
    }
    Some(of_points)
}

fn faces(polygons: &PolygonMesh, material_names: &[String], with_normals: bool) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    let (uvs, normals) = (polygons.uvs.first(), polygons.normals.as_ref().filter(|_| with_normals));
    let mut material = None;
    let mut corner = 0;
    for (index, polygon) in polygons.polygons.iter().enumerate() {
        let own = polygons.polygon_materials.get(index).copied();
        if let Some(name) = own.filter(|_| own != material).and_then(|own| material_names.get(own as usize)) {
            writeln!(text, "usemtl {name}")?;
            material = own;
        }
        text.push(b'f');
        for point in polygon {
            let (uv, normal) = (uvs.map(|uvs| uvs.indices[corner] + 1), normals.map(|n| n.indices[corner] + 1));
            match (uv, normal) {
                (None, None) => write!(text, " {}", point + 1)?,
                (Some(uv), None) => write!(text, " {}/{uv}", point + 1)?,
                (None, Some(normal)) => write!(text, " {}//{normal}", point + 1)?,
                (Some(uv), Some(normal)) => write!(text, " {}/{uv}/{normal}", point + 1)?,
            }
            corner += 1;
        }
        text.push(b'\n');
    }
    Ok(text)
}
