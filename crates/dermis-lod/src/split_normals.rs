//! Meshes whose vertices are split by their normals at most edges, as in flat shading: no edge could be
//! collapsed without changing normals, so the vertices are joined and the normals dropped.

use std::collections::HashMap;
use std::sync::Arc;

use dermis_mesh::{Layout, Object, Rig, Shape};

use crate::LodError;

/// `object` without normals and tangents; vertices of a point with equal UVs and colours are joined.
pub(crate) fn joined(object: &Object) -> Result<Object, LodError> {
    let mesh = &object.mesh;
    let old = mesh.layout().cloned().unwrap_or_else(|| Layout::plain(mesh));
    let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
    let mut kept = Vec::new();
    let mut new_index = Vec::with_capacity(old.vertex_count());
    for vertex in 0..old.vertex_count() {
        let uvs = old.uvs.iter().flat_map(|set| set[vertex].to_array());
        let colors = old.colors.iter().flat_map(|set| set[vertex].to_array());
        let key = std::iter::once(old.vertex_points[vertex]).chain(uvs.chain(colors).map(f32::to_bits)).collect();
        let index = *known.entry(key).or_insert_with(|| {
            kept.push(vertex);
            kept.len() as u32 - 1
        });
        new_index.push(index);
    }
    let layout = Layout {
        vertex_points: kept.iter().map(|&vertex| old.vertex_points[vertex]).collect(),
        triangles: old.triangles.iter().map(|triangle| triangle.map(|vertex| new_index[vertex as usize])).collect(),
        polygons: None,
        normals: None,
        tangents: None,
        uvs: old.uvs.iter().map(|set| kept.iter().map(|&vertex| set[vertex]).collect()).collect(),
        colors: old.colors.iter().map(|set| kept.iter().map(|&vertex| set[vertex]).collect()).collect(),
        materials: old.materials,
        triangle_materials: old.triangle_materials,
    };
    let mesh = Arc::new(mesh.without_layout().with_layout(layout)?);
    let mut result = Object { mesh: Arc::clone(&mesh), ..object.clone() };
    if let Some(rig) = &object.rig {
        let plain = |shape: &Shape| Shape { normal_offsets: None, ..shape.clone() };
        let shapes = rig.shapes().iter().map(plain).collect();
        let mut plain = Rig::sharing(&mesh, Arc::clone(rig.shared_joints()), rig.weights().clone(), shapes)?;
        if let Some(pose) = rig.stored_pose() {
            plain = plain.with_stored_pose(pose.clone())?;
        }
        result.rig = Some(Arc::new(plain));
    }
    Ok(result)
}
