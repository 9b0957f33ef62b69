//! Weights of helper bones over locked weights.
//!
//! The locked weights of a point act like one bone: it predicts the trajectory `x = Σ_j w_j T_j p̃`. The weights of x and
//! of the helpers near the point minimize `‖p − h₀ x − Σ_k h_k T_k p̃‖²` over the simplex, with the mean of the neighbours
//! as a prior, as in [`crate::fit::refine`].

use dermis_math::simplex::simplex_least_squares;
use dermis_math::small::{Gram, MAX_UNKNOWNS};

use crate::blocks::in_blocks;
use crate::fit::influences::{Influences, Point};
use crate::fit::moments::{Moments, correlate, monomials};
use crate::fit::state::State;
use crate::fit::surface::Surface;
use crate::fit::trajectories::Trajectories;

/// Minimum weight of a helper that is kept.
const MIN_WEIGHT: f64 = 0.01;

/// Computes the squared error of each point.
pub(super) fn measure_points(trajectories: &Trajectories, state: &mut State) {
    let moments = Moments::new(&state.transforms);
    let blocks = in_blocks(trajectories.point_count(), |points| {
        let correlations = correlate(&state.transforms, &trajectories.positions, &points);
        let error = |index: usize| {
            let correlations = correlations.col_as_slice(index - points.start);
            let point = Point { moments: &moments, correlations, rest: state.rest[index], prior: None };
            (point.squared_error(&state.influences[index]) + trajectories.squared_norms[index]).max(0.0)
        };
        points.clone().map(error).collect::<Vec<_>>()
    });
    state.squared_errors = blocks.into_iter().flatten().collect();
}

/// Options of [`weigh_helpers`].
pub(super) struct LockedOptions<'a> {
    /// Locked weights of each point.
    pub(super) locked: &'a [Influences],
    pub(super) max_influences: usize,
    pub(super) smoothness: f64,
    /// Helpers that each point can have.
    pub(super) candidates: &'a [Vec<u32>],
}

/// Solves for the weights of the helpers.
pub(super) fn weigh_helpers(
    trajectories: &Trajectories,
    state: &mut State,
    surface: &Surface,
    options: &LockedOptions<'_>,
) {
    let moments = Moments::new(&state.transforms);
    let mean_error = state.squared_error() / trajectories.point_count().max(1) as f64;
    let strength = options.smoothness * surface.density * mean_error;
    let before = &*state;
    let blocks = in_blocks(trajectories.point_count(), |points| {
        let correlations = correlate(&before.transforms, &trajectories.positions, &points);
        let solve = |index: usize| {
            let correlations = correlations.col_as_slice(index - points.start);
            let point = Point { moments: &moments, correlations, rest: before.rest[index], prior: None };
            let slots = options.max_influences.min(MAX_UNKNOWNS).saturating_sub(options.locked[index].len());
            let influences = if options.candidates[index].is_empty() || slots == 0 {
                options.locked[index]
            } else {
                let neighbours = || surface.neighbours(index);
                let coupling: f64 = neighbours().map(|(_, coupling)| coupling).sum();
                let mean = |helper: usize| {
                    let weight = |other: usize| {
                        let found = before.influences[other].iter().find(|entry| entry.0 == helper);
                        found.map_or(0.0, |entry| entry.1)
                    };
                    let sum: f64 = neighbours().map(|(other, coupling)| coupling * weight(other)).sum();
                    if coupling > 0.0 { sum / coupling } else { 0.0 }
                };
                let prior = (strength * coupling, &mean as &dyn Fn(usize) -> f64);
                mixed(&point, &options.locked[index], &options.candidates[index], slots, prior)
            };
            let error = (point.squared_error(&influences) + trajectories.squared_norms[index]).max(0.0);
            (influences, error)
        };
        points.clone().map(solve).collect::<Vec<_>>()
    });
    for (index, (influences, error)) in blocks.into_iter().flatten().enumerate() {
        state.influences[index] = influences;
        state.squared_errors[index] = error;
    }
}

/// Best mix of the locked weights and at most `slots` of the candidates; `prior` is its strength and the mean weight of
/// each helper at the neighbours.
fn mixed(
    point: &Point<'_>,
    locked: &Influences,
    candidates: &[u32],
    slots: usize,
    prior: (f64, &dyn Fn(usize) -> f64),
) -> Influences {
    let mut gains: Vec<(f64, usize)> = candidates
        .iter()
        .map(|&helper| {
            let (value, weights) = solve(point, locked, &[helper as usize], prior);
            (if weights[1] > 0.0 { value } else { f64::INFINITY }, helper as usize)
        })
        .filter(|(value, _)| value.is_finite())
        .collect();
    gains.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    gains.truncate(slots.min(MAX_UNKNOWNS - 1));
    let mut helpers: Vec<usize> = gains.into_iter().map(|(_, helper)| helper).collect();
    loop {
        let (_, weights) = solve(point, locked, &helpers, prior);
        let small = (0..helpers.len()).find(|&at| weights[at + 1] < MIN_WEIGHT);
        if let Some(at) = small {
            helpers.remove(at);
            continue;
        }
        let own = locked.iter().map(|(joint, weight)| (joint, weight * weights[0]));
        let more = helpers.iter().zip(&weights[1..]).map(|(&helper, &weight)| (helper, weight));
        return Influences::from_pairs(own.chain(more));
    }
}

/// Weights of the locked bone and of `helpers`, at most [`MAX_UNKNOWNS`] − 1, and the value of the problem.
fn solve(
    point: &Point<'_>,
    locked: &Influences,
    helpers: &[usize],
    (strength, mean): (f64, &dyn Fn(usize) -> f64),
) -> (f64, [f64; MAX_UNKNOWNS]) {
    let q = monomials(point.rest);
    let count = helpers.len() + 1;
    let with =
        |bone: usize| locked.iter().map(|(joint, weight)| weight * point.moments.gram(joint, bone, &q)).sum::<f64>();
    let mut gram: Gram = [[0.0; MAX_UNKNOWNS]; MAX_UNKNOWNS];
    let (mut right, mut weights) = ([0.0; MAX_UNKNOWNS], [0.0; MAX_UNKNOWNS]);
    gram[0][0] = locked.iter().map(|(joint, weight)| weight * with(joint)).sum::<f64>() + strength;
    right[0] = locked.iter().map(|(joint, weight)| weight * point.correlation(joint)).sum();
    let mut others = 0.0;
    for (a, &helper) in helpers.iter().enumerate() {
        gram[0][a + 1] = with(helper);
        gram[a + 1][0] = gram[0][a + 1];
        for (b, &other) in helpers.iter().enumerate() {
            gram[a + 1][b + 1] = point.moments.gram(helper, other, &q) + if a == b { strength } else { 0.0 };
        }
        others += mean(helper);
        right[a + 1] = point.correlation(helper) + strength * mean(helper);
    }
    right[0] += strength * (1.0 - others);
    weights[0] = 1.0;
    let value = simplex_least_squares(&gram, &right[..count], &mut weights[..count]);
    (value, weights)
}
