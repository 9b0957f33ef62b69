//! Deformed copies of a mesh: points are replaced and normals are recomputed.
//!
//! Vertices of a point with a common normal keep a common normal, and vertices separated by a hard edge stay separate.
//! Tangents belong to the old normals and are dropped.

use std::collections::HashMap;

use glam::{DVec3, Vec3};

use crate::layout::Layout;
use crate::tri_mesh::{MeshError, TriMesh};

/// Copy of `mesh` with its points replaced by `points` and its normals recomputed.
pub fn reshaped(mesh: &TriMesh, points: Vec<Vec3>) -> Result<TriMesh, MeshError> {
    let Some(layout) = mesh.layout() else {
        return mesh.with_points(points);
    };
    let normals = layout.normals.as_ref().map(|old| recomputed_normals(layout, old, &points));
    let layout = Layout { normals, tangents: None, ..layout.clone() };
    mesh.without_layout().with_points(points)?.with_layout(layout)
}

/// Area-weighted normals of the deformed triangles, summed over the vertices with the same point and the same old normal.
fn recomputed_normals(layout: &Layout, old: &[Vec3], points: &[Vec3]) -> Vec<Vec3> {
    let mut groups: HashMap<(u32, [u32; 3]), usize> = HashMap::new();
    let group_of: Vec<usize> = layout
        .vertex_points
        .iter()
        .zip(old)
        .map(|(&point, normal)| {
            let next = groups.len();
            *groups.entry((point, normal.to_array().map(f32::to_bits))).or_insert(next)
        })
        .collect();
    let mut sums = vec![DVec3::ZERO; groups.len()];
    for triangle in &layout.triangles {
        let corner = |vertex: u32| points[layout.vertex_points[vertex as usize] as usize].as_dvec3();
        let [a, b, c] = triangle.map(corner);
        let area = (b - a).cross(c - a);
        for vertex in triangle {
            sums[group_of[*vertex as usize]] += area;
        }
    }
    let fallback = |vertex: usize| if old[vertex] == Vec3::ZERO { Vec3::Z } else { old[vertex] };
    group_of
        .iter()
        .enumerate()
        .map(|(vertex, &group)| {
            sums[group].try_normalize().map_or_else(|| fallback(vertex), |normal: DVec3| normal.as_vec3())
        })
        .collect()
}
