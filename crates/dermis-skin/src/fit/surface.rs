//! Surface on which the weights are smooth: the connected graph of its points, with couplings that do not depend on the
//! resolution.
//!
//! The Dirichlet energy `∫ ‖∇w‖² dA` of a function on the surface is `Σ_ij c_ij (w_i − w_j)²` with the halved
//! cotangents c, at any resolution. The error is a sum over points, each of which represents an area of A/N; the energy
//! is therefore multiplied by `ℓ² N/A`, with ℓ a length ([`LENGTH`]).

use dermis_mesh::TriMesh;
use dermis_mesh::geometry::total_area;
use dermis_mesh::laplacian::laplacian;
use glam::Vec3;

use crate::surface_graph::SurfaceGraph;

/// ℓ, relative to the root mean square radius of the rest pose.
const LENGTH: f64 = 0.1;
/// Bounds of the couplings: obtuse triangles have negative cotangents, slivers huge ones.
const COUPLINGS: (f64, f64) = (0.1, 2.0);
/// Bounds of the number of rings of neighbours that [`LENGTH`] spans.
const RINGS: (f64, f64) = (1.0, 8.0);

/// Points of a mesh and the couplings of neighbours.
#[derive(Debug, Clone)]
pub(crate) struct Surface {
    pub(crate) graph: SurfaceGraph,
    pub(crate) triangles: Vec<[u32; 3]>,
    /// c of each neighbour of each point, in the order of the graph.
    couplings: Vec<Vec<f64>>,
    /// `ℓ² N/A`.
    pub(crate) density: f64,
    /// Rings of neighbours within ℓ.
    pub(crate) rings: usize,
}

impl Surface {
    /// Computes the surface of `mesh`.
    pub(crate) fn new(mesh: &TriMesh) -> Self {
        let graph = SurfaceGraph::new(mesh.points(), mesh.triangles());
        let stiffness = laplacian(mesh.points(), mesh.triangles()).stiffness;
        let coupling = |row: &[(u32, f64)], other: u32| {
            let found = row.binary_search_by_key(&other, |entry| entry.0).ok();
            found.map_or(1.0, |at| -row[at].1).clamp(COUPLINGS.0, COUPLINGS.1)
        };
        let couplings = (0..graph.len()).map(|point| {
            let mut row: Vec<(u32, f64)> = stiffness.row(point).collect();
            row.sort_by_key(|entry| entry.0);
            graph.neighbours(point).iter().map(|&other| coupling(&row, other)).collect()
        });
        let couplings = couplings.collect();
        let area = total_area(mesh.points(), mesh.triangles());
        let count = mesh.point_count().max(1) as f64;
        let centre = mesh.points().iter().sum::<Vec3>() / count as f32;
        let radius = mesh.points().iter().map(|p| f64::from(p.distance_squared(centre))).sum::<f64>() / count;
        // Points without a surface have no density; a few per length is a reasonable guess.
        let density = if area > 0.0 { LENGTH * LENGTH * radius * count / area } else { 1.0 };
        let triangles = mesh.triangles().to_vec();
        Self { graph, triangles, couplings, density, rings: density.sqrt().clamp(RINGS.0, RINGS.1) as usize }
    }

    /// Neighbours of `point` and their couplings.
    pub(crate) fn neighbours(&self, point: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.graph.neighbours(point).iter().map(|&other| other as usize).zip(self.couplings[point].iter().copied())
    }
}
