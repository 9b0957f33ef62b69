//! Layout of a shape as arrays: vertices split at seams, polygons, surface attributes, materials.
//!
//! | array | shape | |
//! |---|---|---|
//! | `vertex_points`, `vertex_faces` | [V], [n,3] | the point of each vertex; the triangles over vertices |
//! | `polygon_sizes`, `polygon_corners` | [P], [C] | the polygons that the triangles were cut from, over vertices |
//! | `vertex_normals`, `vertex_tangents` | [V,3], [V,4] | |
//! | `vertex_uvs0`, `vertex_uvs1`, … | [V,2] | origin at the image's upper left |
//! | `vertex_colors0`, … | [V,4] | linear RGBA |
//! | `triangle_materials` | [n] | index into the materials |
//! | `material_names`, `material_base_colors` | [M], [M,4] | |

use dermis_mesh::{Layout, Material, Polygons, TriMesh};
use glam::{Vec2, Vec3, Vec4};

use crate::error::Error;
use crate::npz::array::Array;
use crate::npz::read::{Reader, triples};
use crate::npz::write::ArrayWriter;

/// Names of UV sets. Their number is larger than any in practice.
const UV_KEYS: [&str; 8] = [
    "vertex_uvs0", "vertex_uvs1", "vertex_uvs2", "vertex_uvs3", "vertex_uvs4", "vertex_uvs5", "vertex_uvs6",
    "vertex_uvs7",
];
const COLOR_KEYS: [&str; 8] = [
    "vertex_colors0", "vertex_colors1", "vertex_colors2", "vertex_colors3", "vertex_colors4", "vertex_colors5",
    "vertex_colors6", "vertex_colors7",
];

/// `mesh` with the layout in the archive, if any.
pub(super) fn read(reader: &mut Reader<'_>, mesh: TriMesh) -> Result<TriMesh, Error> {
    let (Some(vertex_points), Some(faces)) = (reader.take("vertex_points")?, reader.take("vertex_faces")?) else {
        return Ok(mesh);
    };
    let &[_, 3] = faces.shape() else { return Err(faces.wrong_shape("[faces, 3]")) };
    let mut layout =
        Layout { vertex_points: vertex_points.indices()?, triangles: triples(&faces.indices()?), ..Layout::default() };
    if let (Some(sizes), Some(corners)) = (reader.take("polygon_sizes")?, reader.take("polygon_corners")?) {
        layout.polygons = Some(Polygons { sizes: sizes.indices()?, corners: corners.indices()? });
    }
    layout.normals = reader.take("vertex_normals")?.map(|array| rows::<3, Vec3>(&array)).transpose()?;
    layout.tangents = reader.take("vertex_tangents")?.map(|array| rows::<4, Vec4>(&array)).transpose()?;
    for key in UV_KEYS {
        if let Some(array) = reader.take(key)? {
            layout.uvs.push(rows::<2, Vec2>(&array)?);
        }
    }
    for key in COLOR_KEYS {
        if let Some(array) = reader.take(key)? {
            layout.colors.push(rows::<4, Vec4>(&array)?);
        }
    }
    layout.materials = materials(reader)?;
    if let Some(array) = reader.take("triangle_materials")? {
        layout.triangle_materials = array.indices()?;
    }
    Ok(mesh.with_layout(layout)?)
}

/// The rows of an array [V,K] of finite numbers.
fn rows<const K: usize, V: From<[f32; K]>>(array: &Array) -> Result<Vec<V>, Error> {
    let &[_, width] = array.shape() else { return Err(array.wrong_shape(&format!("[vertices, {K}]"))) };
    if width != K {
        return Err(array.wrong_shape(&format!("[vertices, {K}]")));
    }
    let numbers = array.floats()?;
    if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
        return Err(Error::malformed(format!("vertex {} has a number that is not finite", at / K)).at(&array.name));
    }
    Ok(numbers.as_chunks::<K>().0.iter().map(|&row| row.into()).collect())
}

fn materials(reader: &mut Reader<'_>) -> Result<Vec<Material>, Error> {
    let Some(names) = reader.take("material_names")? else {
        return Ok(Vec::new());
    };
    let names = names.texts()?;
    let colors = match reader.take("material_base_colors")? {
        Some(array) => rows::<4, Vec4>(&array)?,
        None => vec![Vec4::from(Material::default().base_color); names.len()],
    };
    if colors.len() != names.len() {
        let (names, colors) = (names.len(), colors.len());
        return Err(Error::malformed(format!("there are {names} materials, but {colors} base colours")));
    }
    let material = |(name, color): (String, Vec4)| Material { name, base_color: color.into(), ..Material::default() };
    Ok(names.into_iter().zip(colors).map(material).collect())
}

/// Writes the layout of `mesh`; returns whether parts of the materials are skipped.
pub(super) fn write(writer: &mut ArrayWriter, layout: &Layout) -> Result<bool, Error> {
    let vertices = layout.vertex_count();
    writer.indices("vertex_points", &[vertices], &layout.vertex_points)?;
    writer.indices("vertex_faces", &[layout.triangles.len(), 3], layout.triangles.as_flattened())?;
    if let Some(polygons) = &layout.polygons {
        writer.indices("polygon_sizes", &[polygons.sizes.len()], &polygons.sizes)?;
        writer.indices("polygon_corners", &[polygons.corners.len()], &polygons.corners)?;
    }
    if let Some(normals) = &layout.normals {
        writer.floats("vertex_normals", &[vertices, 3], bytemuck::cast_slice(normals))?;
    }
    if let Some(tangents) = &layout.tangents {
        let numbers: Vec<f32> = tangents.iter().flat_map(Vec4::to_array).collect();
        writer.floats("vertex_tangents", &[vertices, 4], &numbers)?;
    }
    for (key, uvs) in UV_KEYS.iter().zip(&layout.uvs) {
        writer.floats(key, &[vertices, 2], bytemuck::cast_slice(uvs))?;
    }
    for (key, colors) in COLOR_KEYS.iter().zip(&layout.colors) {
        let numbers: Vec<f32> = colors.iter().flat_map(Vec4::to_array).collect();
        writer.floats(key, &[vertices, 4], &numbers)?;
    }
    if !layout.materials.is_empty() {
        let names: Vec<&str> = layout.materials.iter().map(|material| material.name.as_str()).collect();
        writer.texts("material_names", &names)?;
        let colors: Vec<f32> = layout.materials.iter().flat_map(|material| material.base_color).collect();
        writer.floats("material_base_colors", &[names.len(), 4], &colors)?;
    }
    if !layout.triangle_materials.is_empty() {
        writer.indices("triangle_materials", &[layout.triangle_materials.len()], &layout.triangle_materials)?;
    }
    let kept = |m: &Material| Material { name: m.name.clone(), base_color: m.base_color, ..Material::default() };
    let sets = layout.uvs.len() > UV_KEYS.len() || layout.colors.len() > COLOR_KEYS.len();
    Ok(sets || layout.materials.iter().any(|material| *material != kept(material)))
}
