//! A mesh as polygons with attributes per corner.

use dermis_mesh::polygons::flip_v;
use dermis_mesh::{CornerData, Note, PolygonMesh, Polygons, TriMesh};
use glam::{DAffine3, DMat3, DVec3, Vec2, Vec3, Vec4};

use super::{Reader, material};
use crate::error::Error;

/// The mesh of `node`, its points placed by `placement`.
pub(super) fn shape(
    node: &ufbx::Node,
    mesh: &ufbx::Mesh,
    placement: DAffine3,
    reader: &mut Reader<'_>,
) -> Result<TriMesh, Error> {
    let faces: Vec<usize> = (0..mesh.faces.len()).filter(|&face| mesh.faces[face].num_indices >= 3).collect();
    if faces.len() < mesh.faces.len() {
        let count = mesh.faces.len() - faces.len();
        let what = format!("{count} faces with fewer than three corners are skipped");
        reader.notes.push(Note::at(node.element.name.to_string(), what));
    }
    // A mirroring placement reverses the orientation of the faces.
    let mirrors = placement.matrix3.determinant() < 0.0;
    let corners: Vec<usize> = faces.iter().flat_map(|&face| corners_of(mesh.faces[face], mirrors)).collect();
    // The cofactors are the inverse transpose up to scale, and finite even for a singular placement.
    let [x, y, z] = [placement.matrix3.x_axis, placement.matrix3.y_axis, placement.matrix3.z_axis];
    let side = if mirrors { -1.0 } else { 1.0 };
    let normal_place = DMat3::from_cols(y.cross(z), z.cross(x), x.cross(y)) * side;
    let normals = per_corner(mesh.vertex_normal.exists, &mesh.vertex_normal.indices, &corners, || {
        let placed = |n: &ufbx::Vec3| (normal_place * DVec3::new(n.x, n.y, n.z)).normalize_or_zero().as_vec3();
        mesh.vertex_normal.values.iter().map(placed).collect::<Vec<Vec3>>()
    });
    let uvs = mesh.uv_sets.iter().filter_map(|set| {
        let uv = |uv: &ufbx::Vec2| flip_v(Vec2::new(uv.x as f32, uv.y as f32));
        let values = || set.vertex_uv.values.iter().map(uv).collect();
        per_corner(set.vertex_uv.exists, &set.vertex_uv.indices, &corners, values)
    });
    let colors = mesh.color_sets.iter().filter_map(|set| {
        let color = |c: &ufbx::Vec4| Vec4::new(c.x as f32, c.y as f32, c.z as f32, c.w as f32);
        let values = || set.vertex_color.values.iter().map(color).collect();
        per_corner(set.vertex_color.exists, &set.vertex_color.indices, &corners, values)
    });
    let uv_names: Vec<String> = mesh.uv_sets.iter().map(|set| set.name.to_string()).collect();
    let (uvs, colors) = (uvs.collect(), colors.collect());
    let (materials, polygon_materials) = materials(node, mesh, &faces, &uv_names, reader);
    let polygon_mesh = PolygonMesh {
        points: mesh.vertices.iter().map(|p| placement.transform_point3(DVec3::new(p.x, p.y, p.z)).as_vec3()).collect(),
        polygons: Polygons {
            sizes: faces.iter().map(|&face| mesh.faces[face].num_indices).collect(),
            corners: corners.iter().map(|&corner| mesh.vertex_indices[corner]).collect(),
        },
        normals,
        uvs,
        colors,
        materials,
        polygon_materials,
    };
    Ok(polygon_mesh.into_tri_mesh()?)
}

/// The corners of a face; `reversed`: in reverse order after the first.
fn corners_of(face: ufbx::Face, reversed: bool) -> impl Iterator<Item = usize> {
    let (first, size) = (face.index_begin as usize, face.num_indices as usize);
    (0..size).map(move |corner| first + if reversed && corner > 0 { size - corner } else { corner })
}

fn per_corner<T>(
    exists: bool,
    indices: &[u32],
    corners: &[usize],
    values: impl FnOnce() -> Vec<T>,
) -> Option<CornerData<T>> {
    if !exists {
        return None;
    }
    let (values, indices) =
        (values(), corners.iter().map(|&corner| indices.get(corner).copied()).collect::<Option<Vec<_>>>()?);
    // A corner without a value has an index beyond all values.
    indices.iter().all(|&index| (index as usize) < values.len()).then_some(CornerData { values, indices })
}

/// Materials of the node (or of the mesh, if the node has none) and material index of each face.
fn materials(
    node: &ufbx::Node,
    mesh: &ufbx::Mesh,
    faces: &[usize],
    uv_names: &[String],
    reader: &mut Reader<'_>,
) -> (Vec<dermis_mesh::Material>, Vec<u32>) {
    let list = if node.materials.is_empty() { &mesh.materials } else { &node.materials };
    let materials: Vec<_> = list.iter().map(|material| material::material(material, uv_names, reader)).collect();
    if materials.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let of_face = |&face: &usize| mesh.face_material.get(face).copied().filter(|&it| (it as usize) < materials.len());
    let of_faces = faces.iter().map(|face| of_face(face).unwrap_or(0)).collect();
    (materials, of_faces)
}
