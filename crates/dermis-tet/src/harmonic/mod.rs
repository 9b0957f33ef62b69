//! Volumetric extension: values on the skin, carried smoothly through the inside (Kim et al. 2017, §4.1).
//!
//! [`Harmonic`] solves Eq. 3–4, `ΔG = 0` inside with `G` given at fixed nodes: the skin, and the bones where these are to
//! stay or to follow joints. The matrix depends on the mesh alone, so that it is factorized once and serves all right-hand sides:
//! shape blend shapes, the 9(K−1) pose blend shapes of Eq. 7 with three coordinates each, rest displacements, the
//! relative distance field (Eq. 14–15), stiffness.
//!
//! The operator is the Laplacian of linear elements ([`laplacian()`]). By default its weights are made non-negative
//! without losing linear functions ([`EdgeWeights::NonNegative`]), so that results stay within the range of the fixed
//! values on any mesh; [`EdgeWeights::Cotangent`] is the plain one.
//!
//! Cost: one sparse factorization (Cholesky where the matrix is symmetric, else LU), two triangular solves per column.

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

/// Columns that are gathered, solved and stored together.
const COLUMNS: usize = factor::BLOCK;

/// Which Laplacian is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EdgeWeights {
    /// Weights of linear elements, projected to non-negative ones: results stay within the range of the fixed values.
    #[default]
    NonNegative,
    /// Weights of linear elements as they are: symmetric, but obtuse tetrahedra let results overshoot.
    Cotangent,
}

/// A factorized Laplace problem; see the [module](self).
#[derive(Debug)]
pub struct Harmonic {
    node_count: usize,
    fixed: Vec<u32>,
    free: Vec<u32>,
    /// The weights from free to fixed nodes: the right-hand side of fixed values.
    coupling: SparseMatrix,
    factor: Factor,
    repaired_nodes: usize,
    skipped_tetrahedra: usize,
}

/// Why values cannot be extended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HarmonicError {
    /// A fixed node does not exist.
    #[error("node {node} is to be fixed, but there are only {count} nodes")]
    NoSuchNode {
        /// The offending node.
        node: u32,
        /// The number of nodes.
        count: usize,
    },
    /// A node is fixed twice.
    #[error("node {0} is fixed twice; name each skin and bone node once")]
    FixedTwice(u32),
    /// Some nodes are not connected to any fixed one.
    #[error("{count} nodes, the first is {first}, are not connected to any fixed node; remove them or fix one of them")]
    Unreached {
        /// The first of these nodes.
        first: u32,
        /// How many there are.
        count: usize,
    },
    /// The system cannot be factorized.
    #[error(transparent)]
    Factor(#[from] FactorError),
}

impl Harmonic {
    /// Prepares the extension of values from the nodes `fixed` to all nodes, within the range of these values.
    pub fn new(mesh: &TetMesh, fixed: &[u32]) -> Result<Self, HarmonicError> {
        Self::with_weights(mesh, fixed, EdgeWeights::default())
    }

    /// Prepares the extension of values from the nodes `fixed` with a Laplacian of choice.
    pub fn with_weights(mesh: &TetMesh, fixed: &[u32], weights: EdgeWeights) -> Result<Self, HarmonicError> {
        let split = Split::new(mesh.nodes().len(), fixed)?;
        let operator = laplacian(mesh);
        let (rows, repaired_nodes) = weighted_rows(mesh, &operator, &split, weights)?;
        let (inner, coupling) = split.matrices(&rows);
        let factor = if repaired_nodes == 0 { Factor::cholesky(&inner)? } else { Factor::lu(&inner)? };
        Ok(Self {
            node_count: mesh.nodes().len(),
            fixed: split.fixed,
            free: split.free,
            coupling,
            factor,
            repaired_nodes,
            skipped_tetrahedra: operator.skipped_tetrahedra,
        })
    }

    /// The nodes whose values are given, in the order of these values.
    pub fn fixed(&self) -> &[u32] {
        &self.fixed
    }

    /// How many nodes had negative edge weights that were repaired.
    pub fn repaired_nodes(&self) -> usize {
        self.repaired_nodes
    }

    /// How many tetrahedra were left out because they have no volume.
    pub fn skipped_tetrahedra(&self) -> usize {
        self.skipped_tetrahedra
    }

    /// Extends `columns` numbers per fixed node to as many per node (Eq. 3–4), all numbers of a node side by side.
    ///
    /// # Panics
    /// If there are not `columns` values for each fixed node.
    pub fn extend(&self, values: &[f64], columns: usize) -> Vec<f64> {
        assert_eq!(values.len(), self.fixed.len() * columns, "each fixed node has {columns} values");
        let mut result = vec![0.0; self.node_count * columns];
        for (&node, row) in self.fixed.iter().zip(values.chunks_exact(columns.max(1))) {
            result[node as usize * columns..][..columns].copy_from_slice(row);
        }
        // A few blocks at a time bound the memory beside the result.
        let wave = COLUMNS * 2 * rayon::current_num_threads();
        for first in (0..columns).step_by(wave) {
            let last = columns.min(first + wave);
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

    /// Extends one number per fixed node.
    ///
    /// # Panics
    /// If there is not one value for each fixed node.
    pub fn extend_scalar(&self, values: &[f64]) -> Vec<f64> {
        self.extend(values, 1)
    }

    /// Extends positions or displacements.
    ///
    /// # Panics
    /// If there is not one vector for each fixed node.
    pub fn extend_vectors(&self, values: &[Vec3]) -> Vec<Vec3> {
        let flat: Vec<f64> = values.iter().flat_map(|value| value.as_dvec3().to_array()).collect();
        let extended = self.extend(&flat, 3);
        extended.chunks_exact(3).map(|value| DVec3::from_slice(value).as_vec3()).collect()
    }

    /// The values at free nodes of some columns, one column after the other.
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
        self.factor.solve(&mut block);
        block
    }
}

/// The nodes divided into fixed and free ones.
pub(crate) struct Split {
    pub(crate) fixed: Vec<u32>,
    pub(crate) free: Vec<u32>,
    /// For each node its place among the fixed or free ones.
    place: Vec<Place>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Free(u32),
    Fixed(u32),
}

impl Split {
    pub(crate) fn new(count: usize, fixed: &[u32]) -> Result<Self, HarmonicError> {
        let mut place = vec![Place::Free(0); count];
        for (index, &node) in fixed.iter().enumerate() {
            match place.get_mut(node as usize) {
                None => return Err(HarmonicError::NoSuchNode { node, count }),
                Some(Place::Fixed(_)) => return Err(HarmonicError::FixedTwice(node)),
                Some(place) => *place = Place::Fixed(index as u32),
            }
        }
        let free: Vec<u32> = (0..count as u32).filter(|&node| matches!(place[node as usize], Place::Free(_))).collect();
        for (index, &node) in free.iter().enumerate() {
            place[node as usize] = Place::Free(index as u32);
        }
        Ok(Self { fixed: fixed.to_vec(), free, place })
    }

    /// The place of a node among the free ones, if it is one.
    pub(crate) fn free_place(&self, node: u32) -> Option<u32> {
        match self.place[node as usize] {
            Place::Free(place) => Some(place),
            Place::Fixed(_) => None,
        }
    }

    /// An error where some free nodes are not connected to any fixed one.
    pub(crate) fn expect_reached(&self, operator: &TetLaplacian) -> Result<(), HarmonicError> {
        match self.unreached(&cotangent_rows(operator, self)).as_slice() {
            [] => Ok(()),
            nodes => Err(HarmonicError::Unreached { first: nodes[0], count: nodes.len() }),
        }
    }

    /// The system of the free nodes, and the weights by which fixed values enter its right-hand side.
    ///
    /// `rows` are the weights of the free nodes' edges, by node.
    fn matrices(&self, rows: &[EdgeRow]) -> (SparseMatrix, SparseMatrix) {
        let mut inner = Vec::new();
        let mut coupling = Vec::new();
        for (row, edges) in (0..).zip(rows) {
            inner.push((row, row, edges.iter().map(|(_, weight)| weight).sum()));
            for &(node, weight) in edges {
                match self.place[node as usize] {
                    Place::Free(column) => inner.push((row, column, -weight)),
                    Place::Fixed(column) => coupling.push((row, column, weight)),
                }
            }
        }
        let count = self.free.len();
        (
            SparseMatrix::from_triplets(count, count, &inner),
            SparseMatrix::from_triplets(count, self.fixed.len(), &coupling),
        )
    }

    /// The free nodes from which no path of edges leads to a fixed one, ascending.
    fn unreached(&self, rows: &[EdgeRow]) -> Vec<u32> {
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); self.place.len()];
        for (&node, edges) in self.free.iter().zip(rows) {
            for &(neighbour, _) in edges.iter().filter(|(_, weight)| *weight != 0.0) {
                into[neighbour as usize].push(node);
            }
        }
        let mut reached: Vec<bool> = self.place.iter().map(|place| matches!(place, Place::Fixed(_))).collect();
        let mut queue: VecDeque<u32> = self.fixed.iter().copied().collect();
        while let Some(node) = queue.pop_front() {
            for &next in &into[node as usize] {
                if !std::mem::replace(&mut reached[next as usize], true) {
                    queue.push_back(next);
                }
            }
        }
        self.free.iter().copied().filter(|&node| !reached[node as usize]).collect()
    }
}

/// The neighbours of a node and the weights of the edges to them.
type EdgeRow = Vec<(u32, f64)>;

/// The weights of the free nodes' edges in linear elements.
fn cotangent_rows(operator: &TetLaplacian, split: &Split) -> Vec<EdgeRow> {
    let edges = |&node: &u32| -> EdgeRow {
        let neighbours = operator.stiffness.row(node as usize).filter(|&(column, _)| column != node);
        neighbours.map(|(column, value)| (column, -value)).collect()
    };
    split.free.iter().map(edges).collect()
}

/// The weights of the free nodes' edges, and how many nodes needed repair.
fn weighted_rows(
    mesh: &TetMesh,
    operator: &TetLaplacian,
    split: &Split,
    weights: EdgeWeights,
) -> Result<(Vec<EdgeRow>, usize), HarmonicError> {
    split.expect_reached(operator)?;
    let mut rows = cotangent_rows(operator, split);
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
        split.free.par_iter().zip(&mut rows).with_min_len(256).map(repair).filter(|&repaired| repaired).count();
    // Free surfaces of odd shape can lose all ways to fixed nodes; plain averages have them by any edge.
    for node in split.unreached(&rows) {
        let Some(row) = split.free_place(node) else { continue };
        rows[row as usize].iter_mut().for_each(|edge| edge.1 = 1.0);
    }
    Ok((rows, repaired))
}
