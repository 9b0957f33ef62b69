//! Tetrahedral mesh: nodes and tetrahedra.

use std::collections::BTreeMap;

use glam::Vec3;

use crate::mesh_error::{MeshError, check_finite, check_indices, expect_indexable};
use crate::tri_mesh::TriMesh;

/// Nodes and tetrahedra; every coordinate is finite and every index in range.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TetMesh {
    nodes: Vec<Vec3>,
    tetrahedra: Vec<[u32; 4]>,
}

impl TetMesh {
    /// Creates a mesh of `nodes` and `tetrahedra`; every coordinate must be finite and every index in range.
    pub fn new(nodes: Vec<Vec3>, tetrahedra: Vec<[u32; 4]>) -> Result<Self, MeshError> {
        expect_indexable("nodes", nodes.len())?;
        expect_indexable("tetrahedra", tetrahedra.len())?;
        check_finite(&nodes)?;
        check_indices("tetrahedron", "node", &tetrahedra, nodes.len())?;
        Ok(Self { nodes, tetrahedra })
    }

    /// Positions of the nodes.
    pub fn nodes(&self) -> &[Vec3] {
        &self.nodes
    }

    /// Tetrahedra, as node indices.
    pub fn tetrahedra(&self) -> &[[u32; 4]] {
        &self.tetrahedra
    }

    /// Signed volume of each tetrahedron: positive if its first three nodes are counter-clockwise seen from the last.
    pub fn volumes(&self) -> Vec<f64> {
        self.tetrahedra.iter().map(|tetrahedron| signed_volume(tetrahedron.map(|n| self.nodes[n as usize]))).collect()
    }

    /// Triangles that belong to one tetrahedron only, oriented outwards, over the same nodes.
    pub fn boundary(&self) -> Vec<[u32; 3]> {
        // The sorted triple identifies the two copies of a face; faces keep the order of their tetrahedra.
        let mut faces: BTreeMap<[u32; 3], (usize, [u32; 3], u32)> = BTreeMap::new();
        for (index, &[a, b, c, d]) in self.tetrahedra.iter().enumerate() {
            let volume = signed_volume([a, b, c, d].map(|node| self.nodes[node as usize]));
            for (slot, face) in [[b, c, d], [a, d, c], [a, b, d], [a, c, b]].into_iter().enumerate() {
                let outward = if volume < 0.0 { [face[0], face[2], face[1]] } else { face };
                let mut key = face;
                key.sort_unstable();
                faces.entry(key).or_insert((4 * index + slot, outward, 0)).2 += 1;
            }
        }
        let mut boundary: Vec<_> = faces.into_values().filter(|(_, _, uses)| *uses == 1).collect();
        boundary.sort_unstable();
        boundary.into_iter().map(|(_, face, _)| face).collect()
    }

    /// Boundary as a mesh over all nodes: point i is node i, and inner nodes are in no triangle.
    pub fn surface(&self) -> TriMesh {
        TriMesh::new_unchecked(self.nodes.clone(), self.boundary())
    }
}

fn signed_volume([a, b, c, d]: [Vec3; 4]) -> f64 {
    let [a, b, c, d] = [a, b, c, d].map(Vec3::as_dvec3);
    (b - a).cross(c - a).dot(d - a) / 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_tetrahedra() -> TetMesh {
        let nodes = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::ONE];
        TetMesh::new(nodes, vec![[0, 1, 2, 3], [1, 2, 3, 4]]).unwrap()
    }

    #[test]
    fn boundary_excludes_the_shared_face_and_is_oriented_outwards() {
        let mesh = two_tetrahedra();
        let surface = mesh.surface();
        assert_eq!(surface.triangle_count(), 6);
        let centre = Vec3::splat(0.4);
        for triangle in surface.triangles() {
            let [a, b, c] = triangle.map(|n| surface.points()[n as usize]);
            assert!((b - a).cross(c - a).dot(a - centre) > 0.0, "{triangle:?} faces inwards");
        }
    }

    #[test]
    fn rejects_a_tetrahedron_with_a_missing_node() {
        let error = TetMesh::new(vec![Vec3::ZERO; 4], vec![[0, 1, 2, 4]]).unwrap_err();
        assert_eq!(error.to_string(), "tetrahedron 0 refers to node 4, but there are only 4");
    }
}
