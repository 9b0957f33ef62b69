//! The rest pose that the bones move closest to the frames (Kavan et al. 2010).
//!
//! With bones and weights fixed, each point has its own 3×3 system: `Σ_t F_tᵀF_t p̄ = Σ_t F_tᵀ(p^t − v_t)` with
//! (`F_t`, `v_t`) = `Σ_b` `w_b` `T_b^t`. All sums are in the moments, so no frame is looked at.

use glam::{DMat3, DVec3};

use super::influences::{Influences, Point};

/// Weight of the given position: a point leaves it only where that helps. On the paper's horse 1e-3 costs nothing and
/// 1e-2 a hundredth of the error; without it the rest pose becomes rough, which shows in its normals.
const PULL: f64 = 1e-3;

/// The best rest position of `point` under `influences`; `given` is where the input has it.
pub(crate) fn best_rest(point: &Point<'_>, influences: &Influences, given: DVec3) -> DVec3 {
    let mut square = [[0.0; 4]; 3];
    let mut right = DVec3::ZERO;
    for (a, weight) in influences.iter() {
        right += weight * DVec3::from_slice(&point.correlations[4 * a..4 * a + 3]);
        for (b, other_weight) in influences.iter() {
            let factor = weight * other_weight;
            for (k, row) in square.iter_mut().enumerate() {
                for (l, entry) in row.iter_mut().enumerate() {
                    *entry += factor * point.moments.pairs[(4 * a + k, 4 * b + l)];
                }
            }
        }
    }
    let hold = PULL * (square[0][0] + square[1][1] + square[2][2]) / 3.0 + f64::MIN_POSITIVE;
    let column = |k: usize| DVec3::new(square[0][k], square[1][k], square[2][k]);
    let system = DMat3::from_cols(column(0), column(1), column(2)) + DMat3::from_diagonal(DVec3::splat(hold));
    let moved = system.inverse() * (right - column(3) + hold * given);
    if moved.is_finite() { moved } else { point.rest }
}
