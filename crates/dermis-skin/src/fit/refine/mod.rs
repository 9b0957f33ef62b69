//! Refinement of a skin by alternation: influences and weights, rest pose, bones. This is an extension of the paper.
//!
//! Each step minimizes the same squared error ‖P − T(w, p̄)‖² over one of the three with the others fixed
//! (`influences`, `rest`, `bones`), so the error never grows. Influences are selected again every few iterations and
//! kept only if the error decreases. A bone that has lost its points is seeded again at the largest error. With smooth
//! weights, bones with large errors are finally split and those that contribute least are removed, if this decreases the
//! error. An iteration costs O(N·(S·B + B²)). Blocks of points and groups of sums are fixed, so the result does not
//! depend on the number of threads.

pub(crate) mod bones;
pub(crate) mod local_weights;
pub(crate) mod rest;
pub(crate) mod seed;
pub(crate) mod untangle;

use std::ops::ControlFlow;

use dermis_math::progress::Progress;

use self::bones::update_bones;
use self::local_weights::{LocalOptions, bone_gains, remove_bone, weigh_locally};
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
    /// the remaining error. Larger gives smoother weights and a larger error; 0 minimizes the error alone.
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

/// Minimum gain of the relocation of a bone, relative to the squared error.
const MIN_RELOCATION_GAIN: f64 = 0.03;
/// Number of iterations after the removal of a bone.
const REMOVAL_ITERATIONS: usize = 4;
/// Number of iterations after which the relocation of a bone is judged.
const RELOCATION_ITERATIONS: usize = 7;
/// Maximum number of relocations that are tried.
const MAX_RELOCATIONS: usize = 10;
/// Number of relocations in a row that do not decrease the error, after which no more are tried.
const MAX_RELOCATION_FAILURES: usize = 3;

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

/// Inputs of a refinement that all of its steps share.
struct Alternation<'a> {
    trajectories: &'a Trajectories,
    surface: Option<&'a Surface>,
    max_influences: usize,
    model: BoneModel,
    options: &'a RefineOptions,
    progress: &'a dyn Progress,
}

/// Improves `state` until the gain per iteration is below the tolerance. With a surface, bones that contribute least
/// are then removed until there are `max_bones`, and moved to the largest errors, as long as this decreases the error.
pub(crate) fn refine(
    trajectories: &Trajectories,
    state: &mut State,
    surface: Option<&Surface>,
    (max_bones, max_influences): (usize, usize),
    model: BoneModel,
    options: &RefineOptions,
    progress: &dyn Progress,
) -> Refinement {
    let alternation = Alternation { trajectories, surface, max_influences, model, options, progress };
    let mut result = Refinement::default();
    alternation.run(state, options.max_iterations, &mut result);
    if let Some(surface) = surface {
        if state.bone_count() > max_bones {
            alternation.remove_bones(state, surface, max_bones, &mut result);
            alternation.run(state, options.max_iterations / 2, &mut result);
        }
        alternation.relocate_bones(state, surface, &mut result);
        if !options.keep_rest {
            untangle(trajectories, state, surface);
        }
    }
    // Weights are solved once more for the final bones and rest pose.
    alternation.weigh(state, false, true);
    result
}

impl Alternation<'_> {
    fn weigh(&self, state: &mut State, reselect: bool, keep_rest: bool) {
        let Self { trajectories, max_influences, .. } = *self;
        match self.surface {
            Some(surface) => {
                let smoothness = self.options.smoothness;
                let local = LocalOptions { max_influences, smoothness, reselect, keep_rest };
                weigh_locally(trajectories, state, surface, &local);
            }
            None => weigh_points(trajectories, state, max_influences, reselect, keep_rest),
        }
    }

    /// Alternates until the gain is below the tolerance, for at most `max_iterations`.
    fn run(&self, state: &mut State, max_iterations: usize, result: &mut Refinement) {
        let Self { trajectories, options, .. } = *self;
        let (hold, tolerance) = match self.surface {
            // Dependencies between neighbours make the steps smaller.
            Some(_) => (bones::SMOOTH_HOLD, 0.4 * options.tolerance),
            None => (bones::HOLD, options.tolerance),
        };
        let mut last_checked = f64::INFINITY;
        result.converged = false;
        for iteration in 0..max_iterations {
            let reselect = iteration.is_multiple_of(RESELECT_EVERY);
            self.weigh(state, reselect, options.keep_rest);
            if reselect {
                let error = state.squared_error().max(0.0).sqrt();
                if error >= last_checked * (1.0 - tolerance * RESELECT_EVERY as f64) {
                    result.converged = true;
                    return;
                }
                last_checked = error;
                seed::revive_bones(trajectories, state);
            }
            update_bones(trajectories, &state.influences, &state.rest, self.model, hold, &mut state.transforms);
            result.iterations += 1;
            if self.progress.report("refining", iteration + 1, max_iterations) == ControlFlow::Break(()) {
                result.stopped = true;
                return;
            }
        }
    }

    /// Removes the bones that contribute least, one at a time, until there are `max_bones`.
    fn remove_bones(&self, state: &mut State, surface: &Surface, max_bones: usize, result: &mut Refinement) {
        while state.bone_count() > max_bones.max(1) {
            let gains = bone_gains(self.trajectories, state, surface, self.max_influences);
            let least = (1..gains.len()).fold(0, |best, next| if gains[next] < gains[best] { next } else { best });
            remove_bone(state, surface, least);
            state.forget_bone(least);
            self.run(state, REMOVAL_ITERATIONS, result);
        }
    }

    /// Splits the bones with the largest errors and removes those that contribute least. Such a relocation is kept if the
    /// error after a few iterations is smaller than before.
    fn relocate_bones(&self, state: &mut State, surface: &Surface, result: &mut Refinement) {
        let bones = state.bone_count();
        let (mut failures, mut moved) = (0, false);
        let converged = result.converged;
        for _ in 0..MAX_RELOCATIONS {
            let mut trial = state.clone();
            if failures == MAX_RELOCATION_FAILURES
                || result.stopped
                || !seed::split_bone(self.trajectories, &mut trial, failures)
            {
                break;
            }
            self.run(&mut trial, RELOCATION_ITERATIONS, result);
            self.remove_bones(&mut trial, surface, bones, result);
            if trial.squared_error() < (1.0 - MIN_RELOCATION_GAIN) * state.squared_error() {
                *state = trial;
                (failures, moved) = (0, true);
            } else {
                failures += 1;
            }
        }
        result.converged = converged;
        if moved && !result.stopped {
            self.run(state, self.options.max_iterations / 2, result);
        }
    }
}

/// Solves for weights, and unless `keep_rest` for rest positions, with fixed bones.
pub(crate) fn weigh_points(
    trajectories: &Trajectories,
    state: &mut State,
    max_influences: usize,
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
                    let (chosen, chosen_value) = point.choose(max_influences, &mut scratch);
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
