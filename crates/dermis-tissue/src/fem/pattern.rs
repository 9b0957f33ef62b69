//! Assembly pattern: the contributions of elements to matrix blocks and nodes, computed once.
//!
//! Each block of the matrix, which is an edge of the mesh, lists the elements around that edge, and each node lists the
//! elements that it is a corner of. Contributions are summed in that order: assembly needs neither locks nor graph
//! colouring, and is bitwise identical for any number of threads. In a mesh of well-shaped tetrahedra an edge has about
//! four elements.

use dermis_math::block_sparse::SymmetricBlocks;
use glam::{Mat3A, Vec3, Vec3A};
use rayon::prelude::*;

use super::elements::{Element, Line};

/// Blocks per parallel task.
const BLOCKS_PER_TASK: usize = 2048;

/// Contributions to blocks and nodes.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    /// Block k is the sum over `around[around_starts[k]..around_starts[k + 1]]`. An entry is
    /// 16 · element + 4 · corner of the row + corner of the column.
    around: Vec<u32>,
    around_starts: Vec<u32>,
    /// Node i is the sum over `corners[corner_starts[i]..corner_starts[i + 1]]`. An entry is 4 · element + corner.
    corners: Vec<u32>,
    corner_starts: Vec<u32>,
}

impl Pattern {
    /// Creates the pattern and its matrix. The first `free_count` nodes are the unknowns.
    pub(crate) fn new(elements: &[Element], free_count: usize, node_count: usize) -> (Self, SymmetricBlocks) {
        let mut edges: Vec<(u32, u32, u32)> = Vec::with_capacity(6 * elements.len());
        let mut corners: Vec<(u32, u32)> = Vec::with_capacity(4 * elements.len());
        for (index, element) in (0..).zip(elements) {
            for row in 0..4_u32 {
                let node = element.nodes[row as usize];
                if (node as usize) >= free_count {
                    continue;
                }
                corners.push((node, 4 * index + row));
                for column in 0..4_u32 {
                    let other = element.nodes[column as usize];
                    if node < other {
                        edges.push((node, other, 16 * index + 4 * row + column));
                    }
                }
            }
        }
        edges.sort_unstable();
        corners.sort_unstable();
        let mut coordinates = Vec::new();
        let mut around_starts = Vec::new();
        for (index, &(row, column, _)) in (0..).zip(&edges) {
            if coordinates.last() != Some(&(row, column)) {
                coordinates.push((row, column));
                around_starts.push(index);
            }
        }
        around_starts.push(edges.len() as u32);
        let corner_starts =
            (0..=free_count as u32).map(|node| corners.partition_point(|corner| corner.0 < node) as u32).collect();
        let pattern = Self {
            around: edges.into_iter().map(|edge| edge.2).collect(),
            around_starts,
            corners: corners.into_iter().map(|corner| corner.1).collect(),
            corner_starts,
        };
        (pattern, SymmetricBlocks::new(free_count, node_count, coordinates))
    }

    /// Writes the blocks of `Δt²K′` above the diagonal.
    pub(crate) fn assemble(&self, factors: &[Line], ratio: f32, blocks: &mut [Mat3A]) {
        blocks.par_chunks_mut(BLOCKS_PER_TASK).enumerate().for_each(|(task, blocks)| {
            let starts = &self.around_starts[task * BLOCKS_PER_TASK..];
            for (block, range) in blocks.iter_mut().zip(starts.windows(2)) {
                *block = block_of(factors, &self.around[range[0] as usize..range[1] as usize], ratio);
            }
        });
    }

    /// Sum of the impulses of the elements at a node.
    #[inline]
    pub(crate) fn gather(&self, impulses: &[Line], node: usize) -> Vec3A {
        let corners = &self.corners[self.corner_starts[node] as usize..self.corner_starts[node + 1] as usize];
        corners.iter().fold(Vec3A::ZERO, |sum, &corner| {
            sum + Vec3A::from_vec4(impulses[(corner / 4) as usize][(corner % 4) as usize])
        })
    }
}

/// Block `Δt²K′_ij = Σ_e λ/μ h_i h_jᵀ + (1 − τ) h_j h_iᵀ + (1 + τ)(h_i·h_j) I` of Eq. 13.
#[inline]
fn block_of(factors: &[Line], around: &[u32], ratio: f32) -> Mat3A {
    let [mut x, mut y, mut z, mut along] = [Vec3A::ZERO; 4];
    for &entry in around {
        let line = &factors[(entry / 16) as usize];
        let (row, column) = (line[(entry / 4 % 4) as usize], line[(entry % 4) as usize]);
        let tension = row.w;
        let (i, j) = (Vec3A::from_vec4(row), Vec3A::from_vec4(column));
        let (outer, inner) = (i * ratio, j * (1.0 - tension));
        x += outer * j.x + inner * i.x;
        y += outer * j.y + inner * i.y;
        z += outer * j.z + inner * i.z;
        along += i * j * (1.0 + tension);
    }
    Mat3A::from_cols(x, y, z) + Mat3A::from_diagonal(Vec3::splat(along.element_sum())) // Δt²K′_ij of Eq. 13
}
