//! Truncated singular value decomposition of the transfer vectors of all frames (SMA §6).
//!
//! The matrix T has a row per point, with the vectors of all frames, and is approximated by `T ≈ W Bᵀ`: r weights per
//! point, constant over time, and r values per coefficient and frame. A renderer multiplies the values of a frame by
//! the coefficients of the light once per frame; a shader multiplies the resulting r numbers by the weights of each
//! point. B is found by subspace iteration (Golub & Van Loan, §8.2) with a few additional vectors and fixed initial
//! vectors; W is the projection of T. The error of each rank is that of the projection, not an estimate.

use dermis_math::symmetric_eigen::symmetric_eigen;
use rayon::prelude::*;

use crate::LightError;
use crate::transfer::Transfer;

/// Additional vectors of the iteration.
const OVERSAMPLING: usize = 8;
/// Number of iterations; each multiplies the error by the squared ratio of two successive singular values.
const ITERATIONS: usize = 8;
/// Points per block of a sum.
const BLOCK: usize = 512;

/// Low-rank approximation of the transfer vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduction {
    /// Number of components.
    pub rank: usize,
    /// Weights of each point: `rank` numbers, point by point.
    pub weights: Vec<f32>,
    /// Values of each component: `rank` numbers for each coefficient, frame by frame.
    pub values: Vec<f32>,
    /// Relative error of ranks 1 to `rank`: ‖T − `T_r`‖ / ‖T‖.
    pub errors: Vec<f64>,
}

impl Reduction {
    /// Approximate coefficient of a transfer vector.
    pub fn coefficient(&self, transfer: &Transfer, frame: usize, point: usize, coefficient: usize) -> f64 {
        let row = (frame * transfer.coefficients + coefficient) * self.rank;
        let weights = &self.weights[point * self.rank..(point + 1) * self.rank];
        weights.iter().zip(&self.values[row..row + self.rank]).map(|(w, b)| f64::from(*w) * f64::from(*b)).sum()
    }
}

/// Reduces transfer vectors to `rank` components, or to as many as there are.
pub fn reduce(transfer: &Transfer, rank: usize) -> Result<Reduction, LightError> {
    if rank == 0 {
        return Err(LightError::Rank);
    }
    let columns = transfer.frame_count * transfer.coefficients;
    let width = (rank + OVERSAMPLING).min(columns).min(transfer.point_count);
    let rank = rank.min(width);
    let mut basis: Vec<Vec<f64>> =
        (0..width).map(|k| (0..columns).map(|at| scattered((k * columns + at) as u64)).collect()).collect();
    orthonormalize(&mut basis);
    for _ in 0..ITERATIONS {
        basis = transposed_product(transfer, &project(transfer, &basis), width);
        orthonormalize(&mut basis);
    }
    // Rayleigh–Ritz: the principal axes of the projections.
    let projected = project(transfer, &basis);
    let mut gram = vec![0.0; width * width];
    for row in projected.chunks_exact(width) {
        for i in 0..width {
            for j in i..width {
                gram[i * width + j] += row[i] * row[j];
            }
        }
    }
    let axes = symmetric_eigen(&gram, width);
    let turned: Vec<Vec<f64>> = axes.vectors[..rank]
        .iter()
        .map(|axis| (0..columns).map(|at| axis.iter().zip(&basis).map(|(a, vector)| a * vector[at]).sum()).collect())
        .collect();
    let weights = project(transfer, &turned);
    let total: f64 = transfer.vectors.iter().map(|value| f64::from(*value).powi(2)).sum();
    let mut left = total;
    let errors = (0..rank)
        .map(|component| {
            let energy: f64 = weights.iter().skip(component).step_by(rank).map(|weight| weight * weight).sum();
            left = (left - energy).max(0.0);
            if total > 0.0 { (left / total).sqrt() } else { 0.0 }
        })
        .collect();
    let value = |at: usize| turned.iter().map(move |vector| vector[at] as f32);
    Ok(Reduction {
        rank,
        weights: weights.iter().map(|weight| *weight as f32).collect(),
        values: (0..columns).flat_map(value).collect(),
        errors,
    })
}

/// Pseudo-random number from −0.5 to 0.5 that depends only on `at` (the finalizer of `SplitMix64`).
fn scattered(at: u64) -> f64 {
    let mut bits = at.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
}

/// `T V`: for each point, the products of its row and the vectors.
fn project(transfer: &Transfer, basis: &[Vec<f64>]) -> Vec<f64> {
    let width = basis.len();
    let mut products = vec![0.0; transfer.point_count * width];
    products.par_chunks_mut(width).enumerate().with_min_len(64).for_each(|(point, products)| {
        for frame in 0..transfer.frame_count {
            let first = frame * transfer.coefficients;
            for (product, vector) in products.iter_mut().zip(basis) {
                let row = transfer.vector(frame, point).iter();
                *product += row.zip(&vector[first..]).map(|(t, b)| f64::from(*t) * b).sum::<f64>();
            }
        }
    });
    products
}

/// `Tᵀ P` for `width` numbers P per point, as vectors; summed in blocks of fixed size.
fn transposed_product(transfer: &Transfer, products: &[f64], width: usize) -> Vec<Vec<f64>> {
    let columns = transfer.frame_count * transfer.coefficients;
    let blocks: Vec<usize> = (0..transfer.point_count).step_by(BLOCK).collect();
    let sums: Vec<Vec<f64>> = blocks
        .par_iter()
        .map(|&first| {
            let mut sum = vec![0.0; columns * width];
            for point in first..(first + BLOCK).min(transfer.point_count) {
                let row = &products[point * width..(point + 1) * width];
                for frame in 0..transfer.frame_count {
                    for (coefficient, value) in transfer.vector(frame, point).iter().enumerate() {
                        let at = (frame * transfer.coefficients + coefficient) * width;
                        let value = f64::from(*value);
                        sum[at..at + width].iter_mut().zip(row).for_each(|(sum, product)| *sum += value * product);
                    }
                }
            }
            sum
        })
        .collect();
    let at = |k: usize| move |sum: &Vec<f64>, at: usize| sum[at * width + k];
    (0..width).map(|k| (0..columns).map(|column| sums.iter().map(|sum| at(k)(sum, column)).sum()).collect()).collect()
}

/// Orthonormal vectors with the same span, by two passes of modified Gram–Schmidt; linearly dependent vectors become
/// zero.
fn orthonormalize(vectors: &mut [Vec<f64>]) {
    for _ in 0..2 {
        for k in 0..vectors.len() {
            let (before, rest) = vectors.split_at_mut(k);
            let own = &mut rest[0];
            let size: f64 = own.iter().map(|value| value * value).sum::<f64>().sqrt();
            for other in before {
                let along: f64 = other.iter().zip(own.iter()).map(|(a, b)| a * b).sum();
                own.iter_mut().zip(other.iter()).for_each(|(own, other)| *own -= along * other);
            }
            let length: f64 = own.iter().map(|value| value * value).sum::<f64>().sqrt();
            let scale = if length > 1e-12 * size && length > 0.0 { 1.0 / length } else { 0.0 };
            for value in own.iter_mut() {
                *value *= scale;
            }
        }
    }
}
