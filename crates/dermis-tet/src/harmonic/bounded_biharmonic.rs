//! Bounded biharmonic weights inside, with those of the skin given (Jacobson et al. 2011; Kim et al. 2017, Eq. 9).
//!
//! ```text
//! min ½ tr Wᵀ Q W   with Q = L M⁻¹ L,   W ≥ 0,   Σ_j W_ij = 1,   rows of fixed nodes given
//! ```
//!
//! L and M are those of [`laplacian`](super::laplacian()). As in the original, the sum in Q runs over the nodes of the
//! surface too, which asks for weights that do not change along the normal there.
//!
//! Unlike the original, which bounds each joint's weights alone and divides by the sum afterwards, all joints are solved
//! together by ADMM: `W ← (Q + ρD)⁻¹(ρD(Z − U) − C)`, `Z ← P(W + U)`, `U ← U + W − Z`, where D is the diagonal of Q, C the
//! part of the fixed rows, and P projects each row to the simplex (Michelot 1986): D weighs whole rows, so that this is the
//! Euclidean projection. One Cholesky factor serves all joints and steps. The result is Z: its rows are non-negative
//! and sum to 1 whenever one stops.
//!
//! Letters: W `weights`, Z `bounded`, U `dual`, ρ `penalty`.

use dermis_math::progress::Progress;
use dermis_math::sparse::SparseMatrix;
use dermis_mesh::TetMesh;
use rayon::prelude::*;

use super::factor::Factor;
use super::{FactorError, HarmonicError, Split, TetLaplacian, laplacian};

/// Rows of fixed weights may sum to 1 within this; they are divided by their sum.
const ROW_SUM: f64 = 1e-2;
/// Over-relaxation of ADMM; 1.5 to 1.8 is customary (Boyd et al. 2011, §3.4.3).
const RELAXATION: f64 = 1.7;
/// Steps between two looks at the residual.
const CHECK_EVERY: usize = 5;

/// Options of [`bounded_biharmonic`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundedWeightsOptions {
    /// The largest change of a weight in a step, and difference between W and Z, at which the steps end.
    pub tolerance: f64,
    /// Bound on the number of steps.
    pub max_steps: usize,
    /// The penalty ρ, relative to the diagonal of Q. It changes the number of steps, not the result: on a figure of 3,200
    /// unknowns an error of 1e-3 took 20 steps with 0.1, 40 with 0.2 or 0.03, more than 80 with 0.5 or 0.01.
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
    /// A row of `joint_count` weights per node: at least 0, summing to 1.
    pub dense: Vec<f64>,
    /// The number of joints.
    pub joint_count: usize,
    /// The energy `½ tr Wᵀ Q W` of all rows.
    pub energy: f64,
    /// Steps of ADMM made.
    pub steps: usize,
    /// The largest change and violation of the last step.
    pub residual: f64,
    /// Whether the residual reached the tolerance.
    pub converged: bool,
}

/// Why there are no weights.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BoundedWeightsError {
    /// The given rows are not what the fixed nodes and joints need.
    #[error("{nodes} fixed nodes and {joints} joints need {} weights, but there are {found}", nodes * joints)]
    Count {
        /// The number of fixed nodes.
        nodes: usize,
        /// The number of joints.
        joints: usize,
        /// How many weights there are.
        found: usize,
    },
    /// A given row has a negative weight or does not sum to 1.
    #[error("the weights of node {node} are not a partition of 1 (their sum is {sum}); normalize them first")]
    Row {
        /// The offending node.
        node: u32,
        /// The sum of its weights.
        sum: f64,
    },
    /// The fixed nodes do not determine the others.
    #[error(transparent)]
    Nodes(#[from] HarmonicError),
    /// The observer asked to stop.
    #[error("stopped")]
    Stopped,
}

impl From<FactorError> for BoundedWeightsError {
    fn from(error: FactorError) -> Self {
        Self::Nodes(error.into())
    }
}

/// Extends the weights of the nodes `fixed`, `joint_count` numbers each, to all nodes of `mesh`.
///
/// Skin nodes have the skin's weights; bone nodes, where given, 1 for their bone.
pub fn bounded_biharmonic(
    mesh: &TetMesh,
    fixed: &[u32],
    given: &[f64],
    joint_count: usize,
    options: &BoundedWeightsOptions,
    progress: &dyn Progress,
) -> Result<BoundedWeights, BoundedWeightsError> {
    let given = checked_rows(fixed, given, joint_count)?;
    let split = Split::new(mesh.nodes().len(), fixed)?;
    let operator = laplacian(mesh);
    split.expect_reached(&operator)?;
    let mut dense = vec![0.0; mesh.nodes().len() * joint_count];
    scatter(&mut dense, &split.fixed, &given, joint_count);
    let problem = Problem::new(&operator, &split, &dense, joint_count);
    let solution = problem.solve(options, progress)?;
    scatter(&mut dense, &split.free, &solution.rows, joint_count);
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
        // Written so that NaN is refused too.
        if !(row.iter().all(|&weight| weight >= -ROW_SUM) && (sum - 1.0).abs() <= ROW_SUM) {
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

/// `½ tr Wᵀ L M⁻¹ L W` of a dense matrix with a row for each node.
fn biharmonic_energy(operator: &TetLaplacian, dense: &[f64], joint_count: usize) -> f64 {
    let image = multiply_rows(&operator.stiffness, dense, joint_count);
    let row_energy = |(row, &mass): (&[f64], &f64)| row.iter().map(|value| value * value).sum::<f64>() * inverse(mass);
    0.5 * image.chunks_exact(joint_count).zip(&operator.mass).map(row_energy).sum::<f64>()
}

/// The product of a sparse matrix with a dense one stored by rows.
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

/// Nodes without volume have no row in L; what they weigh does not matter.
fn inverse(mass: f64) -> f64 {
    if mass > 0.0 { mass.recip() } else { 0.0 }
}

/// The quadratic problem of the free nodes: matrices are stored by columns, one per joint.
struct Problem {
    quadratic: SparseMatrix,
    /// C: the gradient at zero.
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
    /// `dense` has the rows of the fixed nodes, zeros elsewhere.
    fn new(operator: &TetLaplacian, split: &Split, dense: &[f64], joint_count: usize) -> Self {
        let size = split.free.len();
        let mut image = multiply_rows(&operator.stiffness, dense, joint_count);
        for (row, &mass) in image.chunks_exact_mut(joint_count).zip(&operator.mass) {
            for value in row {
                *value *= inverse(mass);
            }
        }
        let mut linear = vec![0.0; size * joint_count];
        for (row, &node) in split.free.iter().enumerate() {
            for (other, value) in operator.stiffness.row(node as usize) {
                let given = &image[other as usize * joint_count..][..joint_count];
                given.iter().enumerate().for_each(|(joint, given)| linear[joint * size + row] += value * given);
            }
        }
        Self { quadratic: biharmonic(operator, split), linear, size, joint_count }
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
            factor.solve(&mut weights);
            for at in 0..size * joints {
                dual[at] += RELAXATION * weights[at] + (1.0 - RELAXATION) * bounded[at];
            }
            bounded.copy_from_slice(&dual);
            project_rows(&mut bounded, size, joints);
            dual.iter_mut().zip(&bounded).for_each(|(dual, bounded)| *dual -= bounded);
            steps += 1;
            if steps.is_multiple_of(CHECK_EVERY) {
                let change = |at: usize| (bounded[at] - before[at]).abs().max((bounded[at] - weights[at]).abs());
                residual = (0..size * joints).map(change).fold(0.0, f64::max);
            }
        }
        let rows = (0..size * joints).map(|at| bounded[at % joints * size + at / joints]).collect();
        Ok(Solution { rows, steps, residual })
    }

    /// The minimiser without bounds, from which the steps start; its rows sum to 1 by themselves.
    fn unbounded(&self) -> Result<Vec<f64>, FactorError> {
        let mut start: Vec<f64> = self.linear.iter().map(|value| -value).collect();
        Factor::cholesky(&self.quadratic)?.solve(&mut start);
        Ok(start)
    }
}

/// `Q = L M⁻¹ L` between free nodes.
fn biharmonic(operator: &TetLaplacian, split: &Split) -> SparseMatrix {
    let mut entries = Vec::new();
    let mut row = Vec::new();
    for (node, &mass) in operator.mass.iter().enumerate() {
        row.clear();
        row.extend(operator.stiffness.row(node).filter_map(|(other, value)| Some((split.free_place(other)?, value))));
        for &(i, a) in &row {
            entries.extend(row.iter().map(|&(j, b)| (i, j, a * b * inverse(mass))));
        }
    }
    SparseMatrix::from_triplets(split.free.len(), split.free.len(), &entries)
}

fn with_diagonal(matrix: &SparseMatrix, diagonal: &[f64]) -> SparseMatrix {
    let entries = (0..matrix.row_count()).flat_map(|row| matrix.row(row).map(move |(j, value)| (row as u32, j, value)));
    let added = diagonal.iter().enumerate().map(|(row, &value)| (row as u32, row as u32, value));
    let entries: Vec<_> = entries.chain(added).collect();
    SparseMatrix::from_triplets(matrix.row_count(), matrix.column_count(), &entries)
}

/// Projects each row of a matrix that is stored by columns.
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

/// The nearest point with non-negative entries that sum to 1 (Michelot 1986): entries that the mean correction makes
/// negative are dropped until none is.
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
