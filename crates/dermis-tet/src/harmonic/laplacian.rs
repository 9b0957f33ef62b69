//! The Laplacian of linear finite elements on tetrahedra, and the volumes around nodes.
//!
//! `L_ij = Σ_e V_e ∇φ_i·∇φ_j` (the cotangent weights of three dimensions, with the sign that makes `L` positive
//! semi-definite): rows sum to 0, and `xᵀ L x` is the Dirichlet energy `∫ |∇x|²`. Linear functions are harmonic at every
//! inner node. Unlike on Delaunay triangles, entries off the diagonal may be positive where a dihedral angle is
//! obtuse, which breaks the maximum principle; [`non_negative`](super::non_negative) repairs that.
//! `M` is the diagonal of lumped volumes, a quarter of each tetrahedron to each of its nodes.
//!
//! Tetrahedra without volume have no gradients; they are skipped and counted. Which way a tetrahedron is turned does not
//! matter. Entries are added in the order of the tetrahedra, so `L` is symmetric to the bit.

use dermis_math::sparse::SparseMatrix;
use dermis_mesh::TetMesh;
use glam::DVec3;
use rayon::prelude::*;

/// A tetrahedron is degenerate if six times its volume is at most this part of its longest side cubed: below, the
/// rounding of `f32` coordinates decides the volume.
const DEGENERATE: f64 = 1e-8;

/// The pairs of corners of a tetrahedron.
const EDGES: [(usize, usize); 6] = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];

/// The discrete Laplacian of a volume; see [`laplacian`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TetLaplacian {
    /// The stiffness matrix `L`: symmetric, positive semi-definite, rows sum to 0.
    pub stiffness: SparseMatrix,
    /// The volume that belongs to each node: the diagonal of `M`. Zero for nodes in no proper tetrahedron.
    pub mass: Vec<f64>,
    /// How many tetrahedra were left out because they are degenerate.
    pub skipped_tetrahedra: usize,
}

/// The Laplacian of the tetrahedra of `mesh`.
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

/// What one tetrahedron contributes.
struct Element {
    volume: f64,
    /// `−V ∇φ_a·∇φ_b` for each of [`EDGES`].
    weights: [f64; 6],
}

impl Element {
    fn of(p: [DVec3; 4]) -> Option<Self> {
        let six_volumes = (p[1] - p[0]).cross(p[2] - p[0]).dot(p[3] - p[0]);
        let longest = EDGES.iter().map(|&(a, b)| p[a].distance_squared(p[b])).fold(0.0, f64::max).sqrt();
        if six_volumes.abs() <= DEGENERATE * longest.powi(3) {
            return None;
        }
        // 6 V ∇φ_a is twice the area vector of the face opposite to a, the same way round for all four.
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
