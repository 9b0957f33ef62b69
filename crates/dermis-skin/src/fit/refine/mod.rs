//! Refinement of a skin by alternation: influences and weights, rest pose, bones. Beyond the paper.
//!
//! Each step minimises the same squared error ‖P − T(w, p̄)‖² over one of the three with the others fixed
//! (`influences`, `rest`, `bones`), so the error never grows. Influences are chosen anew every few iterations and
//! kept only where that helps. A bone that has lost its points is seeded again where the error is largest.
//! An iteration costs O(N·(S·B + B²)). Blocks of points and groups of sums are fixed, so the result does not depend on
//! the number of threads.

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
    /// The most iterations; 0 leaves the paper's result as it is.
    pub max_iterations: usize,
    /// Relative gain in distortion per iteration below which it stops, averaged over [`RESELECT_EVERY`] iterations.
    pub tolerance: f64,
    /// Keep the given rest pose.
    pub keep_rest: bool,
    /// Smoothness and locality of weights and rest pose: 1 weighs the smoothness of the weights as much as the error that
    /// is left. Larger gives smoother weights and a larger error; 0 looks at the error alone.
    pub smoothness: f64,
}

impl Default for RefineOptions {
    fn default() -> Self {
        Self { max_iterations: 60, tolerance: 0.005, keep_rest: false, smoothness: DEFAULT_SMOOTHNESS }
    }
}

/// Default of [`RefineOptions::smoothness`].
pub const DEFAULT_SMOOTHNESS: f64 = 0.5;

/// Influences are chosen anew in every n-th iteration: choosing costs five times what weighing does.
pub const RESELECT_EVERY: usize = 3;
/// How often weights and rest position of a point are solved in turn within one iteration.
const INNER_STEPS: usize = 2;

/// How a refinement went.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Refinement {
    /// How many iterations were done.
    pub iterations: usize,
    /// Whether the gain fell below the tolerance.
    pub converged: bool,
    /// Whether the observer stopped it; the state is then the best so far.
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
        // Neighbours that wait for each other make smaller steps.
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

/// Weights, and unless `keep_rest` rest positions, for the bones as they are.
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
