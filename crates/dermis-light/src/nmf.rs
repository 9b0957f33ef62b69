//! Non-negative matrix factorization `V ≈ W H` with W, H ≥ 0 (Lee & Seung 2000, Theorem 1).
//!
//! The multiplicative updates `H ← H ∘ (WᵀV) / (WᵀW H)` and `W ← W ∘ (V Hᵀ) / (W H Hᵀ)` never increase `‖V − W H‖`, and
//! keep the factors non-negative. V has a row per point and a column per frame. The initial factors are evenly spaced
//! columns of V, mixed with the mean. Sums are computed in blocks of fixed size, so the result does not depend on the
//! number of threads.

use rayon::prelude::*;

use crate::LightError;

/// Points per block of a sum.
const BLOCK: usize = 512;
/// Value below which a denominator counts as zero.
const TINY: f64 = 1e-300;

/// Non-negative factors of lit colours.
#[derive(Debug, Clone, PartialEq)]
pub struct Factors {
    /// Number of components.
    pub rank: usize,
    /// Weights of each point: `rank` numbers, point by point.
    pub weights: Vec<f64>,
    /// Values of each component in each frame: `rank` numbers, frame by frame.
    pub values: Vec<f64>,
    /// Relative error ‖V − W H‖ / ‖V‖ at the start and after each iteration; it never increases beyond rounding.
    pub errors: Vec<f64>,
}

/// Factorizes `colors`, a number per point, frame by frame, into `rank` components in at most `max_iterations`.
///
/// # Panics
/// If the number of colours is not a multiple of `frame_count`.
pub fn factorize(
    colors: &[f32],
    frame_count: usize,
    rank: usize,
    max_iterations: usize,
) -> Result<Factors, LightError> {
    /// Decrease of the error below which the iteration ends.
    const CONVERGED: f64 = 1e-6;
    if rank == 0 {
        return Err(LightError::Rank);
    }
    assert!(frame_count > 0 && colors.len().is_multiple_of(frame_count), "frames are complete");
    if let Some(at) = colors.iter().position(|color| !(*color >= 0.0 && color.is_finite())) {
        return Err(LightError::Negative(at));
    }
    let points = colors.len() / frame_count;
    let rank = rank.min(frame_count).min(points.max(1));
    let matrix = Matrix { colors, points, frames: frame_count, rank };
    let (mut weights, mut values) = matrix.start();
    let mut errors = vec![matrix.error(&weights, &values)];
    for _ in 0..max_iterations {
        matrix.update_values(&weights, &mut values);
        matrix.update_weights(&mut weights, &values);
        let error = matrix.error(&weights, &values);
        let before = errors[errors.len() - 1];
        errors.push(error);
        if before - error <= CONVERGED * before {
            break;
        }
    }
    Ok(Factors { rank, weights, values, errors })
}

struct Matrix<'a> {
    colors: &'a [f32],
    points: usize,
    frames: usize,
    rank: usize,
}

impl Matrix<'_> {
    fn at(&self, point: usize, frame: usize) -> f64 {
        f64::from(self.colors[frame * self.points + point])
    }

    fn start(&self) -> (Vec<f64>, Vec<f64>) {
        let frame_of = |component: usize| (2 * component + 1) * self.frames / (2 * self.rank);
        let mean = |point: usize| (0..self.frames).map(|frame| self.at(point, frame)).sum::<f64>() / self.frames as f64;
        let row = |point: usize| {
            let mean = mean(point);
            (0..self.rank).map(move |k| (0.9 * self.at(point, frame_of(k)) + 0.1 * mean + 1e-6) / self.rank as f64)
        };
        let weights = (0..self.points).flat_map(row).collect();
        // A component is stronger in frames near its own.
        let near = |frame: usize, k: usize| 1.0 / (1.0 + frame.abs_diff(frame_of(k)) as f64);
        let values = (0..self.frames).flat_map(|frame| (0..self.rank).map(move |k| 0.5 + near(frame, k))).collect();
        (weights, values)
    }

    fn update_values(&self, weights: &[f64], values: &mut [f64]) {
        let rank = self.rank;
        let gram = self.summed(rank * rank, |point, sum| {
            let row = &weights[point * rank..(point + 1) * rank];
            for i in 0..rank {
                for j in 0..rank {
                    sum[i * rank + j] += row[i] * row[j];
                }
            }
        });
        let products = self.summed(self.frames * rank, |point, sum| {
            let row = &weights[point * rank..(point + 1) * rank];
            for frame in 0..self.frames {
                let color = self.at(point, frame);
                sum[frame * rank..(frame + 1) * rank].iter_mut().zip(row).for_each(|(sum, w)| *sum += color * w);
            }
        });
        for (column, product) in values.chunks_exact_mut(rank).zip(products.chunks_exact(rank)) {
            multiply_ratio(column, product, &gram);
        }
    }

    fn update_weights(&self, weights: &mut [f64], values: &[f64]) {
        let rank = self.rank;
        let mut gram = vec![0.0; rank * rank];
        for column in values.chunks_exact(rank) {
            for i in 0..rank {
                for j in 0..rank {
                    gram[i * rank + j] += column[i] * column[j];
                }
            }
        }
        weights.par_chunks_mut(rank).enumerate().with_min_len(BLOCK).for_each(|(point, row)| {
            let mut product = vec![0.0; rank];
            for (frame, column) in values.chunks_exact(rank).enumerate() {
                let color = self.at(point, frame);
                product.iter_mut().zip(column).for_each(|(sum, value)| *sum += color * value);
            }
            multiply_ratio(row, &product, &gram);
        });
    }

    fn error(&self, weights: &[f64], values: &[f64]) -> f64 {
        let sums = self.summed(2, |point, sum| {
            let row = &weights[point * self.rank..(point + 1) * self.rank];
            for (frame, column) in values.chunks_exact(self.rank).enumerate() {
                let color = self.at(point, frame);
                let product: f64 = row.iter().zip(column).map(|(w, h)| w * h).sum();
                sum[0] += (color - product).powi(2);
                sum[1] += color * color;
            }
        });
        if sums[1] > 0.0 { (sums[0] / sums[1]).sqrt() } else { 0.0 }
    }

    /// Sums `width` numbers, to which `add` adds the contribution of a point, over all points in blocks of fixed size.
    fn summed(&self, width: usize, add: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
        let blocks: Vec<usize> = (0..self.points).step_by(BLOCK).collect();
        let sums: Vec<Vec<f64>> = blocks
            .par_iter()
            .map(|&first| {
                let mut sum = vec![0.0; width];
                (first..(first + BLOCK).min(self.points)).for_each(|point| add(point, &mut sum));
                sum
            })
            .collect();
        (0..width).map(|at| sums.iter().map(|sum| sum[at]).sum()).collect()
    }
}

/// `x ← x ∘ numerator / (G x)`; entries whose denominator is zero do not change.
fn multiply_ratio(x: &mut [f64], numerator: &[f64], gram: &[f64]) {
    let rank = x.len();
    let denominators: Vec<f64> =
        gram.chunks_exact(rank).map(|row| row.iter().zip(x.iter()).map(|(g, x)| g * x).sum()).collect();
    for ((x, numerator), denominator) in x.iter_mut().zip(numerator).zip(denominators) {
        if denominator > TINY {
            *x *= numerator / denominator;
        }
    }
}
