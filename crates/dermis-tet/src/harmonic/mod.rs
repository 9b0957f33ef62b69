//! Volumetric extension: smooth extension of values from the skin to the inside (Kim et al. 2017, §4.1).
//!
//! [`Harmonic`] solves Eq. 3–4, `ΔG = 0` inside with `G` given at fixed nodes: the skin, and optionally the bones, which
//! stay or follow joints. The matrix depends only on the mesh, so that one factorization serves all right-hand sides:
//! shape blend shapes, the 9(K−1) pose blend shapes of Eq. 7 with three coordinates each, rest displacements, the
//! relative depth (Eq. 14–15) and stiffness.
//!
//! The operator is the Laplacian of linear elements ([`laplacian()`]). By default its weights are made non-negative in
//! a way that still reproduces linear functions ([`EdgeWeights::NonNegative`]), so that results stay within the range
//! of the fixed values on any mesh; [`EdgeWeights::Cotangent`] is the unmodified operator.
//!
//! Cost: one sparse factorization (Cholesky if the matrix is symmetric, otherwise LU) and two triangular solves per
//! column.

mod bounded_biharmonic;
mod factor;
mod laplacian;
mod non_negative;
mod prune;

use std::collections::VecDeque;

use dermis_math::sparse::SparseMatrix;
use dermis_mesh::TetMesh;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

pub use bounded_biharmonic::{BoundedWeights, BoundedWeightsError, BoundedWeightsOptions, bounded_biharmonic};
pub use factor::FactorError;
pub use laplacian::{TetLaplacian, laplacian};
pub use prune::prune;

use factor::Factor;
use non_negative::make_non_negative;

/// Number of columns that are gathered, solved and stored together.
const COLUMNS: usize = factor::BLOCK;

/// Edge weights of the Laplacian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EdgeWeights {
    /// Weights of linear elements, projected to non-negative values: results stay within the range of the fixed values.
    #[default]
    NonNegative,
    /// Unmodified weights of linear elements: symmetric, but results can overshoot on obtuse tetrahedra.
    Cotangent,
}

/// A factorized Laplace problem; see the [module](self).
#[derive(Debug)]
pub struct Harmonic {
    node_count: usize,
    fixed: Vec<u32>,
    free: Vec<u32>,
    /// Weights of the edges from free to fixed nodes, which give the right-hand side for fixed values.
    coupling: SparseMatrix,
    factor: Factor,
    repaired_nodes: usize,
    skipped_tetrahedra: usize,
}

/// Error of [`Harmonic`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HarmonicError {
    /// The index of a fixed node is out of range.
    #[error("invalid fixed node {node}: there are {count} nodes")]
    NoSuchNode {
        /// The invalid index.
        node: u32,
        /// Number of nodes.
        count: usize,
    },
    /// A node is fixed twice.
    #[error("node {0} is fixed twice; list each skin and bone node once")]
    FixedTwice(u32),
    /// Some nodes are not connected to a fixed node.
    #[error("{count} nodes are not connected to a fixed node, the first is {first}; remove them or fix one of them")]
    Unreached {
        /// First of these nodes.
        first: u32,
        /// Number of these nodes.
        count: usize,
    },
    /// The factorization failed.
    #[error(transparent)]
    Factor(#[from] FactorError),
}

impl Harmonic {
    /// Factorizes the extension of values from the nodes `fixed` to all nodes, within the range of these values.
    pub fn new(mesh: &TetMesh, fixed: &[u32]) -> Result<Self, HarmonicError> {
        Self::with_weights(mesh, fixed, EdgeWeights::default())
    }

    /// Factorizes the extension of values from the nodes `fixed` with the given edge weights.
    pub fn with_weights(mesh: &TetMesh, fixed: &[u32], weights: EdgeWeights) -> Result<Self, HarmonicError> {
        let partition = NodePartition::new(mesh.nodes().len(), fixed)?;
        let operator = laplacian(mesh);
        let (rows, repaired_nodes) = weighted_rows(mesh, &operator, &partition, weights)?;
        let (inner, coupling) = partition.matrices(&rows);
        let factor = if repaired_nodes == 0 { Factor::cholesky(&inner)? } else { Factor::lu(&inner)? };
        Ok(Self {
            node_count: mesh.nodes().len(),
            fixed: partition.fixed,
            free: partition.free,
            coupling,
            factor,
            repaired_nodes,
            skipped_tetrahedra: operator.skipped_tetrahedra,
        })
    }

    /// Fixed nodes, in the order in which their values are expected.
    pub fn fixed(&self) -> &[u32] {
        &self.fixed
    }

    /// Number of nodes with negative edge weights that were made non-negative.
    pub fn repaired_nodes(&self) -> usize {
        self.repaired_nodes
    }

    /// Number of tetrahedra that were skipped because they have no volume.
    pub fn skipped_tetrahedra(&self) -> usize {
        self.skipped_tetrahedra
    }

    /// Extends `columns` values per fixed node to all nodes (Eq. 3–4). The values of a node are contiguous.
    ///
    /// # Panics
    /// If the number of values is not `columns` times the number of fixed nodes.
    pub fn extend(&self, values: &[f64], columns: usize) -> Vec<f64> {
        assert_eq!(values.len(), self.fixed.len() * columns, "{columns} values per fixed node");
        let mut result = vec![0.0; self.node_count * columns];
        for (&node, row) in self.fixed.iter().zip(values.chunks_exact(columns.max(1))) {
            result[node as usize * columns..][..columns].copy_from_slice(row); // Eq. 4
        }
        // Batches of a few blocks bound the additional memory.
        let batch = COLUMNS * 2 * rayon::current_num_threads();
        for first in (0..columns).step_by(batch) {
            let last = columns.min(first + batch);
            let starts: Vec<usize> = (first..last).step_by(COLUMNS).collect();
            let block = |&start: &usize| self.solve_columns(values, columns, start..last.min(start + COLUMNS));
            let solved: Vec<Vec<f64>> = starts.par_iter().map(block).collect();
            for (column, solution) in
                (first..).zip(solved.iter().flat_map(|block| block.chunks_exact(self.free.len().max(1))))
            {
                for (&node, &value) in self.free.iter().zip(solution) {
                    result[node as usize * columns + column] = value;
                }
            }
        }
        result
    }

    /// Extends one value per fixed node.
    ///
    /// # Panics
    /// If the number of values differs from the number of fixed nodes.
    pub fn extend_scalar(&self, values: &[f64]) -> Vec<f64> {
        self.extend(values, 1)
    }

    /// Extends one position or displacement per fixed node.
    ///
    /// # Panics
    /// If the number of vectors differs from the number of fixed nodes.
    pub fn extend_vectors(&self, values: &[Vec3]) -> Vec<Vec3> {
        let flat: Vec<f64> = values.iter().flat_map(|value| value.as_dvec3().to_array()).collect();
        let extended = self.extend(&flat, 3);
        extended.chunks_exact(3).map(|value| DVec3::from_slice(value).as_vec3()).collect()
    }

    /// Values at the free nodes for a range of columns, stored by columns.
    fn solve_columns(&self, values: &[f64], columns: usize, range: std::ops::Range<usize>) -> Vec<f64> {
        let mut block = vec![0.0; self.free.len() * range.len()];
        for row in 0..self.free.len() {
            for (fixed, weight) in self.coupling.row(row) {
                let given = &values[fixed as usize * columns..][range.clone()];
                for (column, value) in given.iter().enumerate() {
                    block[column * self.free.len() + row] += weight * value;
                }
            }
        }
        self.factor.solve(&mut block); // Eq. 3
        block
    }
}

/// Partition of the nodes into fixed and free nodes.
pub(crate) struct NodePartition {
    pub(crate) fixed: Vec<u32>,
    pub(crate) free: Vec<u32>,
    /// Index of each node among the fixed or free nodes.
    indices: Vec<NodeIndex>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NodeIndex {
    Free(u32),
    Fixed(u32),
}

impl NodePartition {
    pub(crate) fn new(count: usize, fixed: &[u32]) -> Result<Self, HarmonicError> {
        let mut indices = vec![NodeIndex::Free(0); count];
        for (index, &node) in fixed.iter().enumerate() {
            match indices.get_mut(node as usize) {
                None => return Err(HarmonicError::NoSuchNode { node, count }),
                Some(NodeIndex::Fixed(_)) => return Err(HarmonicError::FixedTwice(node)),
                Some(entry) => *entry = NodeIndex::Fixed(index as u32),
            }
        }
        let free: Vec<u32> =
            (0..count as u32).filter(|&node| matches!(indices[node as usize], NodeIndex::Free(_))).collect();
        for (index, &node) in free.iter().enumerate() {
            indices[node as usize] = NodeIndex::Free(index as u32);
        }
        Ok(Self { fixed: fixed.to_vec(), free, indices })
    }

    /// Index of a node among the free nodes, or `None` if it is fixed.
    pub(crate) fn free_index(&self, node: u32) -> Option<u32> {
        match self.indices[node as usize] {
            NodeIndex::Free(index) => Some(index),
            NodeIndex::Fixed(_) => None,
        }
    }

    /// Returns an error if some free nodes are not connected to a fixed node.
    pub(crate) fn expect_reached(&self, operator: &TetLaplacian) -> Result<(), HarmonicError> {
        match self.unreached(&cotangent_rows(operator, self)).as_slice() {
            [] => Ok(()),
            nodes => Err(HarmonicError::Unreached { first: nodes[0], count: nodes.len() }),
        }
    }

    /// System matrix of the free nodes, and the matrix that maps fixed values to its right-hand side.
    ///
    /// `rows` are the edge weights of the free nodes.
    fn matrices(&self, rows: &[EdgeRow]) -> (SparseMatrix, SparseMatrix) {
        let mut inner = Vec::new();
        let mut coupling = Vec::new();
        for (row, edges) in (0..).zip(rows) {
            inner.push((row, row, edges.iter().map(|(_, weight)| weight).sum()));
            for &(node, weight) in edges {
                match self.indices[node as usize] {
                    NodeIndex::Free(column) => inner.push((row, column, -weight)),
                    NodeIndex::Fixed(column) => coupling.push((row, column, weight)),
                }
            }
        }
        let count = self.free.len();
        (
            SparseMatrix::from_triplets(count, count, &inner),
            SparseMatrix::from_triplets(count, self.fixed.len(), &coupling),
        )
    }

    /// Free nodes without a path of edges to a fixed node, ascending.
    fn unreached(&self, rows: &[EdgeRow]) -> Vec<u32> {
        let mut incoming: Vec<Vec<u32>> = vec![Vec::new(); self.indices.len()];
        for (&node, edges) in self.free.iter().zip(rows) {
            for &(neighbour, _) in edges.iter().filter(|(_, weight)| *weight != 0.0) {
                incoming[neighbour as usize].push(node);
            }
        }
        let mut reached: Vec<bool> = self.indices.iter().map(|index| matches!(index, NodeIndex::Fixed(_))).collect();
        let mut queue: VecDeque<u32> = self.fixed.iter().copied().collect();
        while let Some(node) = queue.pop_front() {
            for &next in &incoming[node as usize] {
                if !std::mem::replace(&mut reached[next as usize], true) {
                    queue.push_back(next);
                }
            }
        }
        self.free.iter().copied().filter(|&node| !reached[node as usize]).collect()
    }
}

/// Neighbours of a node and the weights of the edges to them.
type EdgeRow = Vec<(u32, f64)>;

/// Edge weights of the free nodes in linear elements.
fn cotangent_rows(operator: &TetLaplacian, partition: &NodePartition) -> Vec<EdgeRow> {
    let edges = |&node: &u32| -> EdgeRow {
        let neighbours = operator.stiffness.row(node as usize).filter(|&(column, _)| column != node);
        neighbours.map(|(column, value)| (column, -value)).collect()
    };
    partition.free.iter().map(edges).collect()
}

/// Edge weights of the free nodes, and the number of nodes whose weights were made non-negative.
fn weighted_rows(
    mesh: &TetMesh,
    operator: &TetLaplacian,
    partition: &NodePartition,
    weights: EdgeWeights,
) -> Result<(Vec<EdgeRow>, usize), HarmonicError> {
    partition.expect_reached(operator)?;
    let mut rows = cotangent_rows(operator, partition);
    if weights == EdgeWeights::Cotangent {
        return Ok((rows, 0));
    }
    let repair = |(&node, row): (&u32, &mut EdgeRow)| {
        let at = mesh.nodes()[node as usize].as_dvec3();
        let offset = |&(neighbour, _): &(u32, f64)| mesh.nodes()[neighbour as usize].as_dvec3() - at;
        let offsets: Vec<DVec3> = row.iter().map(offset).collect();
        let mut weights: Vec<f64> = row.iter().map(|&(_, weight)| weight).collect();
        let repaired = make_non_negative(&mut weights, &offsets);
        row.iter_mut().zip(weights).for_each(|(edge, weight)| edge.1 = weight);
        repaired
    };
    let repaired =
        partition.free.par_iter().zip(&mut rows).with_min_len(256).map(repair).filter(|&repaired| repaired).count();
    // On free surfaces the clamped weights can disconnect a node from all fixed nodes. Uniform weights reconnect it.
    for node in partition.unreached(&rows) {
        let Some(row) = partition.free_index(node) else { continue };
        rows[row as usize].iter_mut().for_each(|edge| edge.1 = 1.0);
    }
    Ok((rows, repaired))
}
