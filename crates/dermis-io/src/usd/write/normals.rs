//! Normals of a moving mesh: where the rest mesh is smooth, the frames are smooth; if it has an edge, they keep it.
//!
//! Corners that share a point and a rest normal form a group; in each frame a group's normal is the sum of the
//! area-weighted normals of its triangles.

use std::collections::HashMap;

use dermis_mesh::{Layout, TriMesh};
use glam::Vec3;

/// The groups of a mesh's vertices.
pub(super) struct NormalGroups<'a> {
    layout: &'a Layout,
    /// The group of each vertex.
    pub(super) of_vertex: Vec<u32>,
    /// The rest normal of each group.
    pub(super) rest: Vec<Vec3>,
}

impl<'a> NormalGroups<'a> {
    /// The groups of `mesh`; `None` if it has no normals.
    pub(super) fn of(mesh: &'a TriMesh) -> Option<Self> {
        let layout = mesh.layout()?;
        let normals = layout.normals.as_ref()?;
        let mut groups: HashMap<(u32, [u32; 3]), u32> = HashMap::with_capacity(mesh.point_count());
        let mut rest = Vec::new();
        let of_vertex = layout.vertex_points.iter().zip(normals).map(|(&point, normal)| {
            *groups.entry((point, normal.to_array().map(f32::to_bits))).or_insert_with(|| {
                rest.push(*normal);
                rest.len() as u32 - 1
            })
        });
        let of_vertex = of_vertex.collect();
        Some(Self { layout, of_vertex, rest })
    }

    /// The normals of the frame with points at `positions`.
    pub(super) fn at(&self, positions: &[Vec3]) -> Vec<Vec3> {
        let mut sums = vec![Vec3::ZERO; self.rest.len()];
        for triangle in &self.layout.triangles {
            let [a, b, c] = triangle.map(|vertex| positions[self.layout.vertex_points[vertex as usize] as usize]);
            let area = (b - a).cross(c - a);
            for &vertex in triangle {
                sums[self.of_vertex[vertex as usize] as usize] += area;
            }
        }
        sums.iter().zip(&self.rest).map(|(sum, rest)| sum.try_normalize().unwrap_or(*rest)).collect()
    }
}
