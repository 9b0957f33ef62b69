//! Least squares over the simplex: `min wᵀGw − 2cᵀw` subject to `w ≥ 0`, `Σ w = 1`, for a handful of unknowns.
//!
//! Active-set method on the Kuhn–Tucker system: solve for the free weights and the multiplier of `Σ w = 1`; step towards
//! that solution until a weight reaches 0, and clamp it; free the clamped weight with the largest dual until no dual is
//! positive. Ties are resolved in favour of the lowest index. `G` is singular if two bones have identical motion: a tiny
//! ridge, relative to its trace, makes the solution unique.

use crate::small::{Gram, MAX_UNKNOWNS, cholesky_solve, dot};

/// Ridge on the diagonal, relative to the mean diagonal of the differences of columns.
const RIDGE: f64 = 1e-10;

/// Minimizes over the simplex in place, starting from the feasible `w`; returns the value `wᵀGw − 2cᵀw`.
///
/// # Panics
/// If the lengths of `c` and `w` differ, are 0 or exceed [`MAX_UNKNOWNS`].
pub fn simplex_least_squares(gram: &Gram, c: &[f64], w: &mut [f64]) -> f64 {
    let n = c.len();
    assert!(n == w.len() && (1..=MAX_UNKNOWNS).contains(&n), "1 to {MAX_UNKNOWNS} unknowns are supported");
    let scale = gram[..n].iter().enumerate().map(|(i, row)| row[i].abs()).fold(0.0, f64::max);
    let tolerance = 1e-12 * scale.max(f64::MIN_POSITIVE);
    let mut free: [bool; MAX_UNKNOWNS] = [false; MAX_UNKNOWNS];
    for i in 0..n {
        free[i] = w[i] > 0.0;
    }
    // Each round clamps or frees one weight and decreases the value, so the bound is not reached in practice.
    for _ in 0..4 * MAX_UNKNOWNS {
        let (target, multiplier) = solve_free(gram, c, free, n);
        let mut step = 1.0;
        let mut blocked = None;
        for i in 0..n {
            if free[i] && target[i] < 0.0 {
                let limit = w[i] / (w[i] - target[i]);
                if limit < step {
                    (step, blocked) = (limit, Some(i));
                }
            }
        }
        for i in 0..n {
            if free[i] {
                w[i] += step * (target[i] - w[i]);
            }
        }
        if let Some(i) = blocked {
            w[i] = 0.0;
            free[i] = false;
            continue;
        }
        let dual = |i: usize| c[i] - dot(&gram[i][..n], w) - multiplier;
        let best = (0..n).filter(|&i| !free[i]).map(|i| (i, dual(i))).fold(None, |best: Option<(usize, f64)>, next| {
            if best.is_none_or(|best| next.1 > best.1) { Some(next) } else { best }
        });
        match best {
            Some((i, value)) if value > tolerance => free[i] = true,
            _ => break,
        }
    }
    (0..n).map(|i| w[i] * (dot(&gram[i][..n], w) - 2.0 * c[i])).sum()
}

/// Minimizer over the free weights subject to `Σ w = 1`, and the multiplier of the constraint.
fn solve_free(gram: &Gram, c: &[f64], free: [bool; MAX_UNKNOWNS], n: usize) -> ([f64; MAX_UNKNOWNS], f64) {
    let mut index = [0usize; MAX_UNKNOWNS];
    let mut m = 0;
    for i in (0..n).filter(|&i| free[i]) {
        index[m] = i;
        m += 1;
    }
    // The first free weight is eliminated: the unknowns are the others, the columns are differences to its column.
    let mut target = [0.0; MAX_UNKNOWNS];
    let r = index[0];
    let k = m - 1;
    let mut a = [[0.0; MAX_UNKNOWNS]; MAX_UNKNOWNS];
    let mut x = [0.0; MAX_UNKNOWNS];
    let mut trace = 0.0;
    for i in 0..k {
        let p = index[i + 1];
        x[i] = c[p] - c[r] - gram[p][r] + gram[r][r];
        for j in 0..k {
            let q = index[j + 1];
            a[i][j] = gram[p][q] - gram[p][r] - gram[q][r] + gram[r][r];
        }
        trace += a[i][i];
    }
    for (i, row) in a.iter_mut().enumerate().take(k) {
        row[i] += RIDGE * trace / k as f64 + f64::MIN_POSITIVE;
    }
    cholesky_solve(&mut a, &mut x, k);
    let mut rest = 1.0;
    for i in 0..k {
        target[index[i + 1]] = x[i];
        rest -= x[i];
    }
    target[r] = rest;
    let multiplier = c[r] - dot(&gram[r][..n], &target[..n]);
    (target, multiplier)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gram matrix and right-hand side of `min ‖A w − b‖²` for the columns of `A`.
    fn normal_equations(columns: &[Vec<f64>], b: &[f64]) -> (Gram, Vec<f64>) {
        let mut gram = [[0.0; MAX_UNKNOWNS]; MAX_UNKNOWNS];
        for (i, p) in columns.iter().enumerate() {
            for (j, q) in columns.iter().enumerate() {
                gram[i][j] = dot(p, q);
            }
        }
        (gram, columns.iter().map(|column| dot(column, b)).collect())
    }

    #[test]
    fn recovers_a_point_inside_the_simplex() {
        let columns = [vec![1.0, 0.0, 0.0], vec![0.0, 2.0, 0.0], vec![0.0, 0.0, 3.0]];
        let expected = [0.2, 0.3, 0.5];
        let b: Vec<f64> = (0..3).map(|row| (0..3).map(|k| columns[k][row] * expected[k]).sum()).collect();
        let (gram, c) = normal_equations(&columns, &b);
        let mut w = [1.0, 0.0, 0.0];
        simplex_least_squares(&gram, &c, &mut w);
        for (found, expected) in w.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-8, "{w:?}");
        }
    }

    #[test]
    fn selects_the_nearest_corner_for_a_distant_target() {
        let columns = [vec![1.0, 0.0], vec![0.0, 1.0]];
        let (gram, c) = normal_equations(&columns, &[-5.0, 9.0]);
        let mut w = [0.5, 0.5];
        simplex_least_squares(&gram, &c, &mut w);
        assert_eq!(w, [0.0, 1.0]);
    }

    #[test]
    fn solves_with_two_equal_columns() {
        let columns = [vec![1.0, 2.0], vec![1.0, 2.0]];
        let (gram, c) = normal_equations(&columns, &[1.0, 2.0]);
        let mut w = [1.0, 0.0];
        let value = simplex_least_squares(&gram, &c, &mut w);
        assert!((value + 5.0).abs() < 1e-9 && (w[0] + w[1] - 1.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn no_mix_of_two_corners_has_a_lower_value(
            numbers in prop::collection::vec(-1.0..1.0f64, 4 * 6), b in prop::collection::vec(-2.0..2.0f64, 6),
        ) {
            let columns: Vec<Vec<f64>> = numbers.chunks(6).map(<[f64]>::to_vec).collect();
            let (gram, c) = normal_equations(&columns, &b);
            let mut w = [1.0, 0.0, 0.0, 0.0];
            let value = simplex_least_squares(&gram, &c, &mut w);
            prop_assert!(w.iter().all(|&weight| weight >= 0.0));
            prop_assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            for i in 0..4 {
                for j in 0..4 {
                    for step in 0..=10 {
                        let t = f64::from(step) / 10.0;
                        let mix: Vec<f64> = (0..4).map(|k| {
                            (if k == i { t } else { 0.0 }) + if k == j { 1.0 - t } else { 0.0 }
                        }).collect();
                        let other: f64 = (0..4).map(|k| mix[k] * (dot(&gram[k][..4], &mix) - 2.0 * c[k])).sum();
                        prop_assert!(value <= other + 1e-9, "{value} > {other}");
                    }
                }
            }
        }
    }
}
