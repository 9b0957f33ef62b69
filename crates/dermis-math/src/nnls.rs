//! Non-negative least squares: `min ‖A x − b‖²` subject to `x ≥ 0`, for a handful of unknowns.
//!
//! Active-set method of Lawson & Hanson 1974 on the normal equations `G = AᵀA`, `h = Aᵀb`: a point has at most
//! [`MAX_UNKNOWNS`] candidate bones, so `G` is small and dense. Solves Eq. 10 and 11 of SMA.
//!
//! Notation: the book's index set `P` is `free`, its dual `w` is `dual`. Ties are resolved in favour of the lowest index.

use crate::small::{Gram, MAX_UNKNOWNS, cholesky_solve, dot};

/// Dual above which a clamped unknown is freed, relative to the largest `|h|`.
const TOLERANCE: f64 = 1e-12;

/// Minimizer of `xᵀGx − 2hᵀx` over `x ≥ 0`, in the leading `h.len()` entries.
///
/// # Panics
/// If there are more than [`MAX_UNKNOWNS`] unknowns.
pub fn nnls(gram: &Gram, h: &[f64]) -> [f64; MAX_UNKNOWNS] {
    let n = h.len();
    assert!(n <= MAX_UNKNOWNS, "at most {MAX_UNKNOWNS} unknowns are supported");
    let mut x = [0.0; MAX_UNKNOWNS];
    let mut free = [false; MAX_UNKNOWNS];
    let tolerance = TOLERANCE * h.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    // Each round frees one unknown and reduces the error; three rounds per unknown are enough in practice.
    for _ in 0..3 * MAX_UNKNOWNS {
        let dual = |i: usize| h[i] - dot(&gram[i][..n], &x[..n]);
        let candidate = (0..n).filter(|&i| !free[i]).fold(None, |best: Option<(usize, f64)>, i| {
            let value = dual(i);
            if best.is_none_or(|(_, largest)| value > largest) { Some((i, value)) } else { best }
        });
        let Some((joining, _)) = candidate.filter(|&(_, value)| value > tolerance) else { break };
        free[joining] = true;
        while let Some((blocked, target, step)) = step_to(gram, h, free, &x) {
            for i in (0..n).filter(|&i| free[i]) {
                x[i] += step * (target[i] - x[i]);
            }
            let Some(blocked) = blocked else { break };
            x[blocked] = 0.0;
            free[blocked] = false;
        }
    }
    x
}

/// Unknown that reaches 0 first on the way to the minimizer over the free unknowns, that minimizer, and the fraction of
/// the way to it that stays feasible.
fn step_to(
    gram: &Gram,
    h: &[f64],
    free: [bool; MAX_UNKNOWNS],
    x: &[f64; MAX_UNKNOWNS],
) -> Option<(Option<usize>, [f64; MAX_UNKNOWNS], f64)> {
    let index: Vec<usize> = (0..h.len()).filter(|&i| free[i]).collect();
    if index.is_empty() {
        return None;
    }
    let mut a: Gram = [[0.0; MAX_UNKNOWNS]; MAX_UNKNOWNS];
    let mut solution = [0.0; MAX_UNKNOWNS];
    for (i, &p) in index.iter().enumerate() {
        for (j, &q) in index.iter().enumerate() {
            a[i][j] = gram[p][q];
        }
        // Keeps G regular if two bones have identical motion.
        a[i][i] += 1e-13 * gram[p][p] + f64::MIN_POSITIVE;
        solution[i] = h[p];
    }
    cholesky_solve(&mut a, &mut solution, index.len());
    let mut target = [0.0; MAX_UNKNOWNS];
    for (i, &p) in index.iter().enumerate() {
        target[p] = solution[i];
    }
    let mut step = 1.0;
    let mut blocked = None;
    for &i in index.iter().filter(|&&i| target[i] <= 0.0) {
        let limit = if x[i] > 0.0 { x[i] / (x[i] - target[i]) } else { 0.0 };
        if limit < step {
            (step, blocked) = (limit, Some(i));
        }
    }
    Some((blocked, target, step))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn satisfies_the_kuhn_tucker_conditions(
            numbers in prop::collection::vec(-1.0..1.0f64, 5 * 9), b in prop::collection::vec(-2.0..2.0f64, 9),
        ) {
            let columns: Vec<&[f64]> = numbers.chunks(9).collect();
            let mut gram: Gram = [[0.0; MAX_UNKNOWNS]; MAX_UNKNOWNS];
            for i in 0..5 {
                for j in 0..5 {
                    gram[i][j] = dot(columns[i], columns[j]);
                }
            }
            let h: Vec<f64> = columns.iter().map(|column| dot(column, &b)).collect();
            let x = nnls(&gram, &h);
            for i in 0..5 {
                let dual = h[i] - dot(&gram[i][..5], &x[..5]);
                prop_assert!(x[i] >= 0.0 && dual < 1e-8);
                prop_assert!(x[i] == 0.0 || dual.abs() < 1e-8, "{x:?} {dual}");
            }
        }
    }
}
