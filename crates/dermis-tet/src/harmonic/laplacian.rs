//! Laplacian of linear finite elements on tetrahedra, and lumped node volumes.
//!
//! `L_ij = Σ_e V_e ∇φ_i·∇φ_j` (the cotangent weights of three dimensions, with the sign that makes `L` positive
//! semi-definite): rows sum to 0, and `xᵀ L x` is the Dirichlet energy `∫ |∇x|²`. Linear functions are harmonic at every
//! inner node. Unlike on Delaunay triangles, off-diagonal entries can be positive if dihedral angles are obtuse, which
//! violates the maximum principle; [`non_negative`](super::non_negative) corrects that.
//! `M` is the diagonal matrix of lumped volumes: each node receives a quarter of the volume of its tetrahedra.
//!
//! Tetrahedra without volume have no gradients; they are skipped and counted. The result does not depend on the
//! orientation of the tetrahedra. Entries are summed in the order of the tetrahedra, so that `L` is exactly symmetric.

use dermis_math::sparse::SparseMatrix;
use dermis_mesh::TetMesh;
use glam::DVec3;
use rayon::prelude::*;

/// Six times the volume, relative to the cubed longest edge, at which a tetrahedron counts as degenerate. Below it, the
/// volume is dominated by the rounding of `f32` coordinates.
const DEGENERATE_VOLUME: f64 = 1e-8;

/// Edges of a tetrahedron as pairs of corners.
const EDGES: [(usize, usize); 6] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];

/// Discrete Laplacian of a volume; see [`laplacian`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TetLaplacian {
    /// Stiffness matrix `L`: symmetric, positive semi-definite, with rows that sum to 0.
    pub stiffness: SparseMatrix,
    /// Lumped volume of each node, the diagonal of `M`. Zero for nodes without a non-degenerate tetrahedron.
    pub mass: Vec<f64>,
    /// Number of degenerate tetrahedra that were skipped.
    pub skipped_tetrahedra: usize,
}

/// Computes the Laplacian of the tetrahedra of `mesh`.
pub fn laplacian(mesh: &TetMesh) -> TetLaplacian {
    let count = mesh.nodes().len();
    let corners = |tetrahedron: &[u32; 4]| tetrahedron.map(|node| mesh.nodes()[node as usize].as_dvec3());
    let elements: Vec<Option<Element>> =
        mesh.tetrahedra().par_iter().with_min_len(1024).map(|tetrahedron| Element::of(corners(tetrahedron))).collect();
    let mut diagonal = vec![0.0; count];
    let mut mass = vec![0.0; count];
    let mut entries = Vec::with_capacity(12 * elements.len() + count);
    for (tetrahedron, element) in mesh.tetrahedra().iter().zip(&elements) {
        let Some(element) = element else { continue };
        for (&(a, b), &weight) in EDGES.iter().zip(&element.weights) {
            let [i, j] = [tetrahedron[a], tetrahedron[b]];
            entries.extend([(i, j, -weight), (j, i, -weight)]);
            diagonal[i as usize] += weight;
            diagonal[j as usize] += weight;
        }
        for &node in tetrahedron {
            mass[node as usize] += element.volume / 4.0;
        }
    }
    entries.extend(diagonal.iter().enumerate().map(|(node, &value)| (node as u32, node as u32, value)));
    TetLaplacian {
        stiffness: SparseMatrix::from_triplets(count, count, &entries),
        mass,
        skipped_tetrahedra: elements.iter().filter(|element| element.is_none()).count(),
    }
}

/// Contribution of one tetrahedron.
struct Element {
    volume: f64,
    /// `−V ∇φ_a·∇φ_b` for each of [`EDGES`].
    weights: [f64; 6],
}

impl Element {
    fn of(p: [DVec3; 4]) -> Option<Self> {
        let six_volumes = (p[1] - p[0]).cross(p[2] - p[0]).dot(p[3] - p[0]);
        let longest = EDGES.iter().map(|&(a, b)| p[a].distance_squared(p[b])).fold(0.0, f64::max).sqrt();
        if six_volumes.abs() <= DEGENERATE_VOLUME * longest.powi(3) {
            return None;
        }
        // 6 V ∇φ_a is twice the area vector of the face opposite to a, with the same orientation for all four.
        let areas = [
            (p[3] - p[1]).cross(p[2] - p[1]),
            (p[2] - p[0]).cross(p[3] - p[0]),
            (p[3] - p[0]).cross(p[1] - p[0]),
            (p[1] - p[0]).cross(p[2] - p[0]),
        ];
        let volume = six_volumes.abs() / 6.0;
        Some(Self { volume, weights: EDGES.map(|(a, b)| -areas[a].dot(areas[b]) / (36.0 * volume)) })
    }
}
