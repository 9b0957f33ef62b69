//! Influences and weights for given bones (SMA, §5).
//!
//! Each point gets the β bones that individually predict its trajectory best (Eq. 5), and their optimal weights: the
//! system `[cA; 1…1] w = [cb; 1]` with `c = 1/‖b‖` (Eq. 9), solved by NNLS (Eq. 10), truncated SVD, or NNLS with
//! negative weights down to −δ (Eq. 11), and divided by their sum (Eq. 8). The bones can have any source, including the
//! clip of a rig. All three methods need only the normal matrix, which is computed from the moments.

use dermis_math::nnls::nnls;
use dermis_math::small::{Gram, MAX_UNKNOWNS};
use dermis_math::tsvd::tsvd;
use faer::Mat;

use crate::blocks::in_blocks;
use crate::fit::influences::{Influences, Point};
use crate::fit::moments::{Moments, correlate, monomials};
use crate::fit::options::WeightMethod;
use crate::fit::state::State;
use crate::fit::trajectories::Trajectories;

/// Returns the skin that moves the given rest pose with the given bones (3S × 4B).
pub(crate) fn estimate_weights(
    trajectories: &Trajectories,
    transforms: Mat<f64>,
    max_influences: usize,
    method: WeightMethod,
) -> State {
    let moments = Moments::new(&transforms);
    let blocks = in_blocks(trajectories.point_count(), |points| {
        let correlations = correlate(&transforms, &trajectories.positions, &points);
        let solve = |index: usize| {
            let correlations = correlations.col_as_slice(index - points.start);
            let point = Point { moments: &moments, correlations, rest: trajectories.rest[index], prior: None };
            let influences = mix(&point, trajectories.squared_norms[index], max_influences, method);
            (influences, (point.squared_error(&influences) + trajectories.squared_norms[index]).max(0.0))
        };
        points.clone().map(solve).collect::<Vec<_>>()
    });
    let (influences, squared_errors) = blocks.into_iter().flatten().unzip();
    State { transforms, rest: trajectories.rest.clone(), influences, squared_errors }
}

fn mix(point: &Point<'_>, squared_norm: f64, max_influences: usize, method: WeightMethod) -> Influences {
    let bones = individually_best(point, max_influences);
    let q = monomials(point.rest);
    let n = bones.len();
    // c² of Eq. 9; a trajectory that stays at the origin has weight 0.
    let c2 = if squared_norm > 0.0 { 1.0 / squared_norm } else { 0.0 };
    let mut gram: Gram = [[0.0; MAX_UNKNOWNS]; MAX_UNKNOWNS];
    let mut h = [0.0; MAX_UNKNOWNS];
    for i in 0..n {
        for j in 0..n {
            gram[i][j] = c2 * point.moments.gram(bones[i], bones[j], &q) + 1.0; // normal equations of Eq. 9
        }
        h[i] = c2 * point.correlation(bones[i]) + 1.0;
    }
    let weights = match method {
        WeightMethod::NonNegative => nnls(&gram, &h[..n]), // Eq. 10
        WeightMethod::Truncated { threshold } => tsvd(&gram, &h[..n], threshold),
        WeightMethod::BoundedNegative { bound } => bounded(&gram, &h, n, bound),
    };
    let sum: f64 = weights[..n].iter().sum();
    if !(sum.is_finite() && sum.abs() > 1e-6) {
        return Influences::of(bones[0]);
    }
    Influences::from_pairs(bones.iter().zip(&weights).map(|(&bone, &weight)| (bone, weight / sum))) // Eq. 8
}

/// Eq. 11: with w = w̃ − δ, non-negative least squares for w̃.
fn bounded(gram: &Gram, h: &[f64; MAX_UNKNOWNS], n: usize, bound: f64) -> [f64; MAX_UNKNOWNS] {
    let shifted: [f64; MAX_UNKNOWNS] = std::array::from_fn(|i| h[i] + bound * gram[i][..n].iter().sum::<f64>());
    let mut weights = nnls(gram, &shifted[..n]); // Eq. 11
    weights[..n].iter_mut().for_each(|weight| *weight -= bound);
    weights
}

/// Eq. 5: the β bones with the smallest γ, best first.
fn individually_best(point: &Point<'_>, max_influences: usize) -> Vec<usize> {
    let q = monomials(point.rest);
    let gamma = |bone: usize| point.moments.gram(bone, bone, &q) - 2.0 * point.correlation(bone); // Eq. 5, less ‖p‖²
    let mut order: Vec<(f64, usize)> = (0..point.moments.bones).map(|bone| (gamma(bone), bone)).collect();
    let kept = max_influences.min(order.len());
    if kept < order.len() {
        order.select_nth_unstable_by(kept, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        order.truncate(kept);
    }
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order.into_iter().map(|(_, bone)| bone).collect()
}
