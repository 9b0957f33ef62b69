//! Refinement of a skin by alternation: influences and weights, rest pose, bones. Beyond the paper.
//!
//! Each step minimises the same squared error ‖P − T(w, p̄)‖² over one of the three with the others fixed
//! (`influences`, `rest`, `bones`), so the error never grows. Influences are selected again every few iterations and
//! kept only if the error decreases. A bone that has lost its points is seeded again at the largest error. An iteration
//! costs O(N·(S·B + B²)). Blocks of points and groups of sums are fixed, so the result does not depend on the number of
//! threads.

pub(crate) mod bones;
pub(crate) mod local_weights;
pub(crate) mod rest;
pub(crate) mod seed;
mod untangle;

use std::ops::ControlFlow;

use dermis_math::progress::Progress;

use self::bones::update_bones;
use self::local_weights::{LocalOptions, weigh_locally};
use self::rest::{RestPull, best_rest};
use self::untangle::untangle;
use super::influences::{Point, Scratch};
use super::moments::{Moments, correlate};
use super::state::State;
use super::surface::Surface;
use super::trajectories::Trajectories;
use crate::blocks::in_blocks;
use crate::bone_model::BoneModel;

/// Options of the refinement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RefineOptions {
    /// Maximum number of iterations; 0 disables the refinement.
    pub max_iterations: usize,
    /// Minimum relative gain in distortion per iteration, averaged over [`RESELECT_EVERY`] iterations.
    pub tolerance: f64,
    /// Keeps the given rest pose.
    pub keep_rest: bool,
    /// Smoothness and locality of weights and rest pose: 1 gives the smoothness of the weights the same importance as
    /// the remaining error. Larger gives smoother weights and a larger error; 0 minimises the error alone.
    pub smoothness: f64,
}

impl Default for RefineOptions {
    fn default() -> Self {
        Self { max_iterations: 60, tolerance: 0.005, keep_rest: false, smoothness: DEFAULT_SMOOTHNESS }
    }
}

/// Default of [`RefineOptions::smoothness`].
pub const DEFAULT_SMOOTHNESS: f64 = 0.5;

/// Influences are selected again in every n-th iteration: selection costs five times as much as solving for weights.
pub const RESELECT_EVERY: usize = 3;
/// Number of alternations between weights and rest position of a point within one iteration.
const INNER_STEPS: usize = 2;

/// Report of a refinement.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Refinement {
    /// Number of iterations.
    pub iterations: usize,
    /// True if the gain fell below the tolerance.
    pub converged: bool,
    /// True if the observer stopped the refinement; the state is then the best so far.
    pub stopped: bool,
}

/// Improves `state` until the gain per iteration is below the tolerance.
pub(crate) fn refine(
    trajectories: &Trajectories,
    state: &mut State,
    surface: Option<&Surface>,
    most_influences: usize,
    model: BoneModel,
    options: &RefineOptions,
    progress: &dyn Progress,
) -> Refinement {
    let mut result = Refinement::default();
    let mut last_checked = f64::INFINITY;
    let weigh = |state: &mut State, reselect: bool, keep_rest: bool| match surface {
        Some(surface) => {
            let smoothness = options.smoothness;
            let local = LocalOptions { max_influences: most_influences, smoothness, reselect, keep_rest };
            weigh_locally(trajectories, state, surface, &local);
        }
        None => weigh_points(trajectories, state, most_influences, reselect, keep_rest),
    };
    let (hold, tolerance) = match surface {
        // Neighbours that depend on each other make smaller steps.
        Some(_) => (bones::SMOOTH_HOLD, 0.4 * options.tolerance),
        None => (bones::HOLD, options.tolerance),
    };
    while result.iterations < options.max_iterations {
        let reselect = result.iterations.is_multiple_of(RESELECT_EVERY);
        weigh(state, reselect, options.keep_rest);
        if reselect {
            let error = state.squared_error().max(0.0).sqrt();
            if error >= last_checked * (1.0 - tolerance * RESELECT_EVERY as f64) {
                result.converged = true;
                break;
            }
            last_checked = error;
            seed::revive_bones(trajectories, state);
        }
        update_bones(trajectories, &state.influences, &state.rest, model, hold, &mut state.transforms);
        result.iterations += 1;
        if progress.report("refining", result.iterations, options.max_iterations) == ControlFlow::Break(()) {
            result.stopped = true;
            break;
        }
    }
    // Weights are solved once more for the final bones and rest pose.
    if let Some(surface) = surface.filter(|_| !options.keep_rest) {
        untangle(trajectories, state, surface);
    }
    weigh(state, false, true);
    result
}

/// Solves for weights, and unless `keep_rest` for rest positions, with fixed bones.
pub(crate) fn weigh_points(
    trajectories: &Trajectories,
    state: &mut State,
    most_influences: usize,
    reselect: bool,
    keep_rest: bool,
) {
    let moments = Moments::new(&state.transforms);
    let blocks = in_blocks(trajectories.point_count(), |points| {
        let correlations = correlate(&state.transforms, &trajectories.positions, &points);
        let mut scratch = Scratch::default();
        points
            .clone()
            .map(|index| {
                let correlations = correlations.col_as_slice(index - points.start);
                let mut point = Point { moments: &moments, correlations, rest: state.rest[index], prior: None };
                let mut influences = state.influences[index];
                let mut value = point.weigh(&mut influences);
                if reselect {
                    let (chosen, chosen_value) = point.choose(most_influences, &mut scratch);
                    if chosen_value < value {
                        (influences, value) = (chosen, chosen_value);
                    }
                }
                if !keep_rest {
                    let given = trajectories.rest[index];
                    let pull = RestPull { given, smooth: given, coupling: 0.0 };
                    for _ in 0..INNER_STEPS {
                        point.rest = best_rest(&point, &influences, &pull);
                        value = point.weigh(&mut influences);
                    }
                }
                (influences, point.rest, (value + trajectories.squared_norms[index]).max(0.0))
            })
            .collect::<Vec<_>>()
    });
    for (index, (influences, rest, squared_error)) in blocks.into_iter().flatten().enumerate() {
        state.influences[index] = influences;
        state.rest[index] = rest;
        state.squared_errors[index] = squared_error;
    }
}
