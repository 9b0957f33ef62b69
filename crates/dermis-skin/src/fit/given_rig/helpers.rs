//! Helper bones: additional bones of a rig, added one at a time at the largest error.
//!
//! A new helper starts with the motion of the points around the largest error. Its motion and all weights are
//! then solved alternately, with the motion of the joints of the rig fixed. A helper is the child of the joint that
//! moves most of its points, bound at the point that moves least relative to this joint.

use std::ops::ControlFlow;

use dermis_mesh::{Joint, Note, Rig};
use faer::Mat;
use glam::{DAffine3, DMat3, DVec3};
use rayon::prelude::*;

use dermis_math::progress::Progress;

use super::locked::{LockedOptions, weigh_helpers};
use crate::bone_model::BoneModel;
use crate::fit::error::FitError;
use crate::fit::influences::Influences;
use crate::fit::pivot::least_moving_point;
use crate::fit::refine::bones::{best_affine, left_over, normal_equations};
use crate::fit::refine::local_weights::{LocalOptions, weigh_locally};
use crate::fit::state::State;
use crate::fit::surface::Surface;
use crate::fit::trajectories::Trajectories;
use crate::fit::transforms::{Affine, affine_at, set_affine};

/// Number of alternations after a helper was added.
const ITERATIONS: usize = 6;
/// Number of alternations after the last helper was added.
const LAST_ITERATIONS: usize = 12;
/// Number of sweeps over the helpers in an update of their motion.
const SWEEPS: usize = 2;
/// Minimum number of points from which a helper starts.
const MIN_POINTS: usize = 12;
/// Squared error below which a fit is exact up to rounding, relative to the squared positions.
const NEGLIGIBLE: f64 = 1e-12;
/// Weight of a helper below which it moves no points.
const MIN_MASS: f64 = 1e-3;

/// Inputs of [`add_helpers`].
pub(super) struct Helpers<'a> {
    pub(super) trajectories: &'a Trajectories,
    pub(super) surface: &'a Surface,
    /// Number of joints of the rig.
    pub(super) joints: usize,
    pub(super) count: usize,
    pub(super) max_influences: usize,
    pub(super) model: BoneModel,
    pub(super) smoothness: f64,
    /// Weights of the rig if they are locked.
    pub(super) locked: Option<Vec<Influences>>,
    pub(super) progress: &'a dyn Progress,
}

/// Adds helper bones to `state`: as many as requested, or fewer if the fit is exact up to rounding.
pub(super) fn add_helpers(helpers: &Helpers<'_>, state: &mut State) -> Result<(), FitError> {
    for number in 0..helpers.count {
        if !helpers.seed(state) {
            break;
        }
        helpers.alternate(state, ITERATIONS);
        if helpers.progress.report("helpers", number + 1, helpers.count) == ControlFlow::Break(()) {
            if number == 0 {
                return Err(FitError::Stopped);
            }
            break;
        }
    }
    helpers.alternate(state, LAST_ITERATIONS);
    helpers.forget_idle(state);
    Ok(())
}

impl Helpers<'_> {
    /// Appends a helper that moves the surroundings of the largest error; false if there is no error.
    fn seed(&self, state: &mut State) -> bool {
        let errors = &state.squared_errors;
        let around =
            |point: usize| errors[point] + self.surface.neighbours(point).map(|(other, _)| errors[other]).sum::<f64>();
        let sums: Vec<f64> = (0..errors.len()).map(around).collect();
        let worst = (1..sums.len()).fold(0, |worst, next| if sums[next] > sums[worst] { next } else { worst });
        if errors[worst] <= NEGLIGIBLE * self.trajectories.squared_norms[worst] && sums[worst] <= f64::MIN_POSITIVE {
            return false;
        }
        let bones = state.bone_count();
        let main =
            state.influences[worst].iter().fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best }).0;
        let former = &state.transforms;
        state.transforms = Mat::from_fn(former.nrows(), 4 * bones + 4, |row, column| {
            former[(row, if column < 4 * bones { column } else { 4 * main + column % 4 })]
        });
        for point in self.surroundings(worst) {
            state.influences[point] = Influences::of(bones);
        }
        self.update(state);
        true
    }

    /// Points within the length of the surface of `start`, at least [`MIN_POINTS`].
    fn surroundings(&self, start: usize) -> Vec<usize> {
        let mut seen = vec![false; self.trajectories.point_count()];
        seen[start] = true;
        let (mut found, mut first) = (vec![start], 0);
        for ring in 0.. {
            let next = found.len();
            if next == first || ring >= self.surface.rings && next >= MIN_POINTS {
                break;
            }
            for at in first..next {
                for (other, _) in self.surface.neighbours(found[at]) {
                    if !std::mem::replace(&mut seen[other], true) {
                        found.push(other);
                    }
                }
            }
            first = next;
        }
        found
    }

    /// Alternates between weights and the motion of the helpers.
    fn alternate(&self, state: &mut State, iterations: usize) {
        for iteration in 0..iterations {
            self.weigh(state, iteration % 2 == 0);
            self.update(state);
        }
        self.weigh(state, false);
    }

    fn weigh(&self, state: &mut State, reselect: bool) {
        let Self { trajectories, surface, max_influences, smoothness, .. } = *self;
        if let Some(locked) = &self.locked {
            let candidates = self.candidates(state);
            let options = LockedOptions { locked, max_influences, smoothness, candidates: &candidates };
            weigh_helpers(trajectories, state, surface, &options);
        } else {
            let local = LocalOptions { max_influences, smoothness, reselect, keep_rest: true };
            weigh_locally(trajectories, state, surface, &local);
        }
    }

    /// Helpers whose region is within reach of each point.
    fn candidates(&self, state: &State) -> Vec<Vec<u32>> {
        let mut candidates = vec![Vec::new(); state.influences.len()];
        for helper in self.joints..state.bone_count() {
            let has = |influences: &Influences| influences.iter().any(|(bone, _)| bone == helper);
            let mut seen: Vec<bool> = state.influences.iter().map(has).collect();
            let mut front: Vec<usize> = (0..seen.len()).filter(|&point| seen[point]).collect();
            for _ in 0..self.surface.rings {
                let near = front.iter().flat_map(|&point| self.surface.neighbours(point).map(|(other, _)| other));
                let next: Vec<usize> = near.filter(|&other| !std::mem::replace(&mut seen[other], true)).collect();
                front = next;
            }
            (0..seen.len()).filter(|&point| seen[point]).for_each(|point| candidates[point].push(helper as u32));
        }
        candidates
    }

    /// Replaces the motion of the helpers by the best one for the current weights.
    fn update(&self, state: &mut State) {
        let bones = state.bone_count();
        let (normal, right) = normal_equations(self.trajectories, &state.influences, &state.rest, 4 * bones);
        let solved: Vec<Vec<Affine>> = (0..self.trajectories.frame_count())
            .into_par_iter()
            .map(|frame| {
                let mut frame_bones: Vec<Affine> =
                    (0..bones).map(|bone| affine_at(&state.transforms, frame, bone)).collect();
                for bone in (0..SWEEPS).flat_map(|_| self.joints..bones) {
                    let left_over = left_over(&normal, &right, &frame_bones, frame, bone);
                    frame_bones[bone] = best_affine(self.model, &normal, bone, left_over, frame_bones[bone]);
                }
                frame_bones
            })
            .collect();
        for (frame, frame_bones) in solved.iter().enumerate() {
            for (bone, affine) in frame_bones.iter().enumerate().skip(self.joints) {
                set_affine(&mut state.transforms, frame, bone, *affine);
            }
        }
    }

    /// Removes helpers that move no points.
    fn forget_idle(&self, state: &mut State) {
        for helper in (self.joints..state.bone_count()).rev() {
            let weight = |influences: &Influences| {
                influences.iter().filter(|entry| entry.0 == helper).map(|entry| entry.1).sum::<f64>()
            };
            if state.influences.iter().map(weight).sum::<f64>() < MIN_MASS {
                for influences in &mut state.influences {
                    *influences = influences.without(helper).unwrap_or(*influences);
                }
                state.forget_bone(helper);
            }
        }
    }

    /// Joints of the helpers, in the units of the input.
    pub(super) fn joints_of(&self, state: &State, rig: &Rig) -> Vec<Joint> {
        let digits = state.bone_count().saturating_sub(self.joints).to_string().len().max(2);
        let mut joints: Vec<Joint> = Vec::new();
        let mut number = 0;
        for helper in self.joints..state.bone_count() {
            let region = region(state, helper);
            let parent = self.parent(state, rig, &region);
            let name = loop {
                number += 1;
                let name = format!("helper_{number:0digits$}");
                if rig.joints().iter().all(|joint| joint.name != name) {
                    break name;
                }
            };
            let position = self.pivot(state, helper, parent, &region);
            let position = (position * self.trajectories.scale + self.trajectories.centre).as_vec3().as_dvec3();
            joints.push(Joint::at(name, Some(parent), DAffine3::from_translation(position)));
        }
        joints
    }

    /// Joint of the rig that moves most of `region`, or else the nearest one.
    fn parent(&self, state: &State, rig: &Rig, region: &[(usize, f64)]) -> usize {
        let mut sums = vec![0.0; self.joints];
        for &(point, weight) in region {
            let row = self.locked.as_ref().map_or(&state.influences[point], |locked| &locked[point]);
            for (joint, other) in row.iter().filter(|entry| entry.0 < self.joints) {
                sums[joint] += weight * other;
            }
        }
        let best = (1..sums.len()).fold(0, |best, next| if sums[next] > sums[best] { next } else { best });
        if sums[best] > 0.0 {
            return best;
        }
        let middle = middle(state, region) * self.trajectories.scale + self.trajectories.centre;
        let distance = |joint: usize| {
            let position = rig.joints()[joint].bind().translation;
            if position.is_finite() { position.distance(middle) } else { f64::INFINITY }
        };
        (1..self.joints).fold(0, |best, next| if distance(next) < distance(best) { next } else { best })
    }

    /// Point of the region that moves least relative to the parent.
    fn pivot(&self, state: &State, helper: usize, parent: usize, region: &[(usize, f64)]) -> DVec3 {
        let middle = middle(state, region);
        let mass: f64 = region.iter().map(|entry| entry.1).sum();
        let square: f64 =
            region.iter().map(|&(point, weight)| weight * state.rest[point].distance_squared(middle)).sum();
        let motion = |frame: usize| {
            let affine = |bone: usize| {
                let [x, y, z, translation] = affine_at(&state.transforms, frame, bone);
                DAffine3 { matrix3: DMat3::from_cols(x, y, z), translation }
            };
            (affine(helper), affine(parent))
        };
        let motions = (0..self.trajectories.frame_count()).map(motion);
        least_moving_point(motions, middle, (square / mass.max(f64::MIN_POSITIVE)).sqrt())
    }

    /// Reports helpers that were not needed.
    pub(super) fn note(&self, state: &State, notes: &mut Vec<Note>) {
        let added = state.bone_count() - self.joints;
        if added < self.count {
            let count = self.count;
            notes.push(Note::new(format!(
                "{count} helper bones were requested, but {added} are enough to reproduce the frames"
            )));
        }
    }
}

/// Points of a helper and their weights.
fn region(state: &State, helper: usize) -> Vec<(usize, f64)> {
    let weight = |influences: &Influences| influences.iter().find(|entry| entry.0 == helper).map(|entry| entry.1);
    state.influences.iter().enumerate().filter_map(|(point, row)| Some((point, weight(row)?))).collect()
}

/// Weighted mean of the points of a region.
fn middle(state: &State, region: &[(usize, f64)]) -> DVec3 {
    let mass: f64 = region.iter().map(|entry| entry.1).sum();
    region.iter().map(|&(point, weight)| weight * state.rest[point]).sum::<DVec3>() / mass.max(f64::MIN_POSITIVE)
}
