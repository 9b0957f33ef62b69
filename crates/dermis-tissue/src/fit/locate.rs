//! Location of points in tetrahedra, by a grid of cells.

use std::collections::HashMap;

use dermis_mesh::TetMesh;
use glam::{DMat3, DVec3, IVec3, Vec3};

/// Smallest barycentric coordinate of a point that counts as inside.
const TOLERANCE: f64 = -1e-6;

/// Tetrahedra by the cells of a grid that their boxes overlap.
#[derive(Debug)]
pub(super) struct Locator<'a> {
    mesh: &'a TetMesh,
    cell: f64,
    cells: HashMap<IVec3, Vec<u32>>,
}

impl<'a> Locator<'a> {
    /// Sorts the tetrahedra of `mesh` into cells of side `cell`.
    pub(super) fn new(mesh: &'a TetMesh, cell: f64) -> Self {
        let mut cells: HashMap<IVec3, Vec<u32>> = HashMap::new();
        for (index, tetrahedron) in (0..).zip(mesh.tetrahedra()) {
            let corners = tetrahedron.map(|node| mesh.nodes()[node as usize].as_dvec3());
            let low = corners.iter().copied().fold(DVec3::INFINITY, DVec3::min);
            let high = corners.iter().copied().fold(DVec3::NEG_INFINITY, DVec3::max);
            let [low, high] = [low, high].map(|at| (at / cell).floor().as_ivec3());
            for x in low.x..=high.x {
                for y in low.y..=high.y {
                    for z in low.z..=high.z {
                        cells.entry(IVec3::new(x, y, z)).or_default().push(index);
                    }
                }
            }
        }
        Self { mesh, cell, cells }
    }

    /// Nodes and barycentric coordinates of the tetrahedron that contains `at`; `None` outside the mesh.
    pub(super) fn locate(&self, at: DVec3) -> Option<[(u32, f64); 4]> {
        let candidates = self.cells.get(&(at / self.cell).floor().as_ivec3())?;
        candidates.iter().find_map(|&index| {
            let nodes = self.mesh.tetrahedra()[index as usize];
            let [a, b, c, d] = nodes.map(|node| self.mesh.nodes()[node as usize].as_dvec3());
            let edges = DMat3::from_cols(b - a, c - a, d - a);
            let local = edges.inverse() * (at - a);
            let weights = [1.0 - local.element_sum(), local.x, local.y, local.z];
            let is_inside = local.is_finite() && weights.iter().all(|weight| *weight >= TOLERANCE);
            is_inside.then(|| std::array::from_fn(|k| (nodes[k], weights[k])))
        })
    }
}

/// Index of the point nearest to `at`.
pub(super) fn nearest_point(points: &[Vec3], at: Vec3) -> u32 {
    let distances = (0..).zip(points.iter().map(|point| point.distance_squared(at)));
    distances.min_by(|a: &(u32, f32), b| a.1.total_cmp(&b.1)).map_or(0, |(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_tetrahedron_of_a_point() {
        let nodes = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z, Vec3::ONE];
        let mesh = TetMesh::new(nodes.clone(), vec![[0, 1, 2, 3], [1, 2, 3, 4]]).unwrap();
        let locator = Locator::new(&mesh, 0.4);
        for at in [DVec3::splat(0.1), DVec3::splat(0.6), DVec3::new(0.2, 0.7, 0.4)] {
            let found = locator.locate(at).unwrap();
            let position: DVec3 = found.iter().map(|&(node, w)| nodes[node as usize].as_dvec3() * w).sum();
            assert!(position.distance(at) < 1e-9, "{found:?}");
        }
        assert_eq!(locator.locate(DVec3::new(0.9, 0.9, 0.1)), None);
        assert_eq!(nearest_point(&nodes, Vec3::new(0.8, 0.1, 0.0)), 1);
    }
}
