//! Rest pose that the bones move closest to the frames (Kavan et al. 2010).
//!
//! With bones and weights fixed, each point has its own 3×3 system: `Σ_t F_tᵀF_t p̄ = Σ_t F_tᵀ(p^t − v_t)` with (`F_t`,
//! `v_t`) = `Σ_b` `w_b` `T_b^t`. All sums are computed from the moments, without access to frames.

use glam::{DMat3, DVec3};

use crate::fit::influences::{Influences, Point};

/// Weight of the given position, from which a point moves only if the error decreases. On the paper's horse 1e-3 has no
/// cost and 1e-2 increases the error by 1 %; without it the rest pose becomes rough, which is visible in its normals.
const PULL: f64 = 1e-3;

/// Prior of a rest position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RestPull {
    /// Position in the input.
    pub(crate) given: DVec3,
    /// Position with the mean displacement of the neighbours.
    pub(crate) smooth: DVec3,
    /// Weight of `smooth`, relative to the curvature of the error.
    pub(crate) coupling: f64,
}

/// Best rest position of `point` under `influences`.
pub(crate) fn best_rest(point: &Point<'_>, influences: &Influences, pull: &RestPull) -> DVec3 {
    // The columns of Σ_t F_tᵀ(F_t, v_t).
    let mut columns = [DVec3::ZERO; 4];
    let mut right = DVec3::ZERO;
    for (b, weight) in influences.iter() {
        right += weight * DVec3::from_slice(&point.correlations[4 * b..4 * b + 3]);
        for (l, sum) in columns.iter_mut().enumerate() {
            let moments = point.moments.pairs.col_as_slice(4 * b + l);
            for (a, other_weight) in influences.iter() {
                *sum += weight * other_weight * DVec3::from_slice(&moments[4 * a..4 * a + 3]);
            }
        }
    }
    let [x, y, z, offset] = columns;
    let curvature = (x.x + y.y + z.z) / 3.0;
    let (hold, couple) = (PULL * curvature + f64::MIN_POSITIVE, pull.coupling * curvature);
    let system = DMat3::from_cols(x, y, z) + DMat3::from_diagonal(DVec3::splat(hold + couple));
    let moved = system.inverse() * (right - offset + hold * pull.given + couple * pull.smooth);
    if moved.is_finite() { moved } else { point.rest }
}
