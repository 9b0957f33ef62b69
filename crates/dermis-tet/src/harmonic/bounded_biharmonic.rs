//! Bounded biharmonic weights of inner nodes for given skin weights (Jacobson et al. 2011; Kim et al. 2017, Eq. 9).
//!
//! ```text
//! min ½ tr Wᵀ Q W   with Q = L M⁻¹ L,   W ≥ 0,   Σ_j W_ij = 1,   rows of fixed nodes given
//! ```
//!
//! L and M are those of [`laplacian`](super::laplacian()). As in the original, the sum in Q includes the surface nodes,
//! which favours weights that are constant along the surface normal.
//!
//! The original bounds the weights of each joint separately and normalizes afterwards. Here all joints are solved
//! together by ADMM: `W ← (Q + ρD)⁻¹(ρD(Z − U) − C)`, `Z ← P(W + U)`, `U ← U + W − Z`, with D the diagonal of Q, C the
//! contribution of the fixed rows, and P the projection of each row to the simplex (Michelot 1986). D scales whole
//! rows, so that P is the Euclidean projection. One Cholesky factor serves all joints and steps. The result is Z: its
//! rows are non-negative and sum to 1 after any number of steps.
//!
//! Notation: W is `weights`, Z is `bounded`, U is `dual`, ρ is `penalty`, C is `linear`.

use dermis_math::progress::Progress;
use dermis_math::sparse::SparseMatrix;
use dermis_mesh::TetMesh;
use rayon::prelude::*;

use super::factor::Factor;
use super::{FactorError, HarmonicError, NodePartition, TetLaplacian, laplacian};

/// Tolerance on the sum of a fixed row; rows are projected to the simplex.
const ROW_SUM_TOLERANCE: f64 = 1e-2;
/// Over-relaxation of ADMM; 1.5 to 1.8 is customary (Boyd et al. 2011, §3.4.3).
const RELAXATION: f64 = 1.7;
/// Number of steps between evaluations of the residual.
const CHECK_INTERVAL: usize = 5;

/// Options of [`bounded_biharmonic`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundedWeightsOptions {
    /// Convergence tolerance on the change of a weight per step and on the difference between W and Z.
    pub tolerance: f64,
    /// Maximum number of steps.
    pub max_steps: usize,
    /// Penalty ρ, relative to the diagonal of Q. It affects the number of steps, not the result: on a figure of 3,200
    /// unknowns, an error of 1e-3 took 20 steps with 0.1, 40 with 0.2 or 0.03, and more than 80 with 0.5 or 0.01.
    pub penalty: f64,
}

impl Default for BoundedWeightsOptions {
    fn default() -> Self {
        Self { tolerance: 1e-4, max_steps: 200, penalty: 0.07 }
    }
}

/// Weights of all nodes; see [`bounded_biharmonic`].
#[derive(Debug, Clone, PartialEq)]
pub struct BoundedWeights {
    /// Rows of `joint_count` weights per node, non-negative and summing to 1.
    pub dense: Vec<f64>,
    /// Number of joints.
    pub joint_count: usize,
    /// Energy `½ tr Wᵀ Q W` of all rows.
    pub energy: f64,
    /// Number of ADMM steps.
    pub steps: usize,
    /// Largest change of a weight and largest difference between W and Z in the last evaluated step.
    pub residual: f64,
    /// True if the residual reached the tolerance.
    pub converged: bool,
}

/// Error of [`bounded_biharmonic`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BoundedWeightsError {
    /// The number of given weights does not match the fixed nodes and joints.
    #[error("{found} weights given for {nodes} fixed nodes and {joints} joints; {} are required", nodes * joints)]
    Count {
        /// Number of fixed nodes.
        nodes: usize,
        /// Number of joints.
        joints: usize,
        /// Number of given weights.
        found: usize,
    },
    /// A given row has a negative weight or does not sum to 1.
    #[error(
        "invalid weights of node {node}, with sum {sum}: they must be non-negative and sum to 1; normalize them first"
    )]
    Row {
        /// Node of the invalid row.
        node: u32,
        /// Sum of its weights.
        sum: f64,
    },
    /// The fixed nodes are invalid or do not determine the others.
    #[error(transparent)]
    Nodes(#[from] HarmonicError),
    /// The progress observer stopped the solve.
    #[error("stopped")]
    Stopped,
}

impl From<FactorError> for BoundedWeightsError {
    fn from(error: FactorError) -> Self {
        Self::Nodes(error.into())
    }
}

/// Extends the weights of the nodes `fixed`, `joint_count` values each, to all nodes of `mesh`.
///
/// Skin nodes have the weights of the skin; bone nodes, if given, have weight 1 for their bone.
pub fn bounded_biharmonic(
    mesh: &TetMesh,
    fixed: &[u32],
    given: &[f64],
    joint_count: usize,
    options: &BoundedWeightsOptions,
    progress: &dyn Progress,
) -> Result<BoundedWeights, BoundedWeightsError> {
    let given = checked_rows(fixed, given, joint_count)?;
    let partition = NodePartition::new(mesh.nodes().len(), fixed)?;
    let operator = laplacian(mesh);
    partition.expect_reached(&operator)?;
    let mut dense = vec![0.0; mesh.nodes().len() * joint_count];
    scatter(&mut dense, &partition.fixed, &given, joint_count);
    let problem = Problem::new(&operator, &partition, &dense, joint_count);
    let solution = problem.solve(options, progress)?;
    scatter(&mut dense, &partition.free, &solution.rows, joint_count);
    let energy = biharmonic_energy(&operator, &dense, joint_count);
    let converged = solution.residual <= options.tolerance;
    Ok(BoundedWeights { dense, joint_count, energy, steps: solution.steps, residual: solution.residual, converged })
}

fn checked_rows(fixed: &[u32], given: &[f64], joint_count: usize) -> Result<Vec<f64>, BoundedWeightsError> {
    if joint_count == 0 || given.len() != fixed.len() * joint_count {
        let (nodes, joints, found) = (fixed.len(), joint_count, given.len());
        return Err(BoundedWeightsError::Count { nodes, joints, found });
    }
    let mut rows = given.to_vec();
    for (row, &node) in rows.chunks_exact_mut(joint_count).zip(fixed) {
        let sum: f64 = row.iter().sum();
        // The negated condition also rejects NaN.
        if !(row.iter().all(|&weight| weight >= -ROW_SUM_TOLERANCE) && (sum - 1.0).abs() <= ROW_SUM_TOLERANCE) {
            return Err(BoundedWeightsError::Row { node, sum });
        }
        project_to_simplex(row);
    }
    Ok(rows)
}

fn scatter(dense: &mut [f64], nodes: &[u32], rows: &[f64], joint_count: usize) {
    for (&node, row) in nodes.iter().zip(rows.chunks_exact(joint_count)) {
        dense[node as usize * joint_count..][..joint_count].copy_from_slice(row);
    }
}

/// Energy `½ tr Wᵀ L M⁻¹ L W` of a dense matrix with one row per node.
fn biharmonic_energy(operator: &TetLaplacian, dense: &[f64], joint_count: usize) -> f64 {
    let image = multiply_rows(&operator.stiffness, dense, joint_count);
    let row_energy = |(row, &mass): (&[f64], &f64)| row.iter().map(|value| value * value).sum::<f64>() * inverse(mass);
    0.5 * image.chunks_exact(joint_count).zip(&operator.mass).map(row_energy).sum::<f64>()
}

/// Product of a sparse matrix and a dense matrix stored by rows.
fn multiply_rows(matrix: &SparseMatrix, dense: &[f64], width: usize) -> Vec<f64> {
    let mut result = vec![0.0; matrix.row_count() * width];
    result.par_chunks_exact_mut(width).with_min_len(256).enumerate().for_each(|(row, out)| {
        for (column, value) in matrix.row(row) {
            let other = &dense[column as usize * width..][..width];
            out.iter_mut().zip(other).for_each(|(sum, other)| *sum += value * other);
        }
    });
    result
}

/// Inverse of a mass, or zero for nodes without volume, whose row in L is empty.
fn inverse(mass: f64) -> f64 {
    if mass > 0.0 { mass.recip() } else { 0.0 }
}

/// Quadratic problem of the free nodes. Dense matrices are stored by columns, one per joint.
struct Problem {
    /// Q.
    quadratic: SparseMatrix,
    /// C, the gradient at zero.
    linear: Vec<f64>,
    size: usize,
    joint_count: usize,
}

struct Solution {
    /// Z, stored by rows.
    rows: Vec<f64>,
    steps: usize,
    residual: f64,
}

impl Problem {
    /// Creates the problem from `dense`, which has the rows of the fixed nodes and zeros elsewhere.
    fn new(operator: &TetLaplacian, partition: &NodePartition, dense: &[f64], joint_count: usize) -> Self {
        let size = partition.free.len();
        let mut image = multiply_rows(&operator.stiffness, dense, joint_count);
        for (row, &mass) in image.chunks_exact_mut(joint_count).zip(&operator.mass) {
            for value in row {
                *value *= inverse(mass);
            }
        }
        let mut linear = vec![0.0; size * joint_count];
        for (row, &node) in partition.free.iter().enumerate() {
            for (other, value) in operator.stiffness.row(node as usize) {
                let given = &image[other as usize * joint_count..][..joint_count];
                given.iter().enumerate().for_each(|(joint, given)| linear[joint * size + row] += value * given);
            }
        }
        Self { quadratic: biharmonic(operator, partition), linear, size, joint_count }
    }

    fn solve(&self, options: &BoundedWeightsOptions, progress: &dyn Progress) -> Result<Solution, BoundedWeightsError> {
        let (size, joints) = (self.size, self.joint_count);
        let penalties: Vec<f64> = self.quadratic.diagonal().iter().map(|value| options.penalty * value).collect();
        let factor = Factor::cholesky(&with_diagonal(&self.quadratic, &penalties))?;
        let mut bounded = self.unbounded()?;
        let mut dual = vec![0.0; size * joints];
        let (mut weights, mut before) = (dual.clone(), dual.clone());
        let (mut steps, mut residual) = (0, if size == 0 { 0.0 } else { f64::INFINITY });
        project_rows(&mut bounded, size, joints);
        while steps < options.max_steps && residual > options.tolerance {
            if progress.report("weights", steps, options.max_steps).is_break() {
                return Err(BoundedWeightsError::Stopped);
            }
            before.copy_from_slice(&bounded);
            for at in 0..size * joints {
                weights[at] = penalties[at % size] * (bounded[at] - dual[at]) - self.linear[at];
            }
            factor.solve(&mut weights); // W ← (Q + ρD)⁻¹(ρD(Z − U) − C)
            for at in 0..size * joints {
                dual[at] += RELAXATION * weights[at] + (1.0 - RELAXATION) * bounded[at];
            }
            bounded.copy_from_slice(&dual);
            project_rows(&mut bounded, size, joints); // Z ← P(W + U)
            dual.iter_mut().zip(&bounded).for_each(|(dual, bounded)| *dual -= bounded);
            steps += 1;
            if steps.is_multiple_of(CHECK_INTERVAL) {
                let change = |at: usize| (bounded[at] - before[at]).abs().max((bounded[at] - weights[at]).abs());
                residual = (0..size * joints).map(change).fold(0.0, f64::max);
            }
        }
        let rows = (0..size * joints).map(|at| bounded[at % joints * size + at / joints]).collect();
        Ok(Solution { rows, steps, residual })
    }

    /// Unbounded minimizer, the initial guess. Its rows sum to 1 without constraints.
    fn unbounded(&self) -> Result<Vec<f64>, FactorError> {
        let mut start: Vec<f64> = self.linear.iter().map(|value| -value).collect();
        Factor::cholesky(&self.quadratic)?.solve(&mut start);
        Ok(start)
    }
}

/// `Q = L M⁻¹ L` restricted to the free nodes (Eq. 9).
fn biharmonic(operator: &TetLaplacian, partition: &NodePartition) -> SparseMatrix {
    let mut entries = Vec::new();
    let mut row = Vec::new();
    for (node, &mass) in operator.mass.iter().enumerate() {
        row.clear();
        row.extend(
            operator.stiffness.row(node).filter_map(|(other, value)| Some((partition.free_index(other)?, value))),
        );
        for &(i, a) in &row {
            entries.extend(row.iter().map(|&(j, b)| (i, j, a * b * inverse(mass)))); // Eq. 9
        }
    }
    SparseMatrix::from_triplets(partition.free.len(), partition.free.len(), &entries)
}

fn with_diagonal(matrix: &SparseMatrix, diagonal: &[f64]) -> SparseMatrix {
    let entries = (0..matrix.row_count()).flat_map(|row| matrix.row(row).map(move |(j, value)| (row as u32, j, value)));
    let added = diagonal.iter().enumerate().map(|(row, &value)| (row as u32, row as u32, value));
    let entries: Vec<_> = entries.chain(added).collect();
    SparseMatrix::from_triplets(matrix.row_count(), matrix.column_count(), &entries)
}

/// Projects each row of a matrix stored by columns to the simplex.
fn project_rows(columns: &mut [f64], size: usize, joints: usize) {
    let mut row = vec![0.0; joints];
    for at in 0..size {
        for (joint, value) in row.iter_mut().enumerate() {
            *value = columns[joint * size + at];
        }
        project_to_simplex(&mut row);
        for (joint, &value) in row.iter().enumerate() {
            columns[joint * size + at] = value;
        }
    }
}

/// Projects a row to the nearest non-negative row that sums to 1 (Michelot 1986): entries that the mean correction makes
/// negative are dropped until all remaining entries are positive.
fn project_to_simplex(row: &mut [f64]) {
    let mut threshold = f64::NEG_INFINITY;
    loop {
        let (count, sum) =
            row.iter().filter(|&&value| value > threshold).fold((0, 0.0), |(n, sum), v| (n + 1, sum + v));
        let next = (sum - 1.0) / f64::from(count);
        if next <= threshold || next.is_nan() {
            break;
        }
        threshold = next;
    }
    for value in row {
        *value = (*value - threshold).max(0.0);
    }
}
