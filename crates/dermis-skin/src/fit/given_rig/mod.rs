//! Skin of an existing rig: its motion, its weights, and helper bones for the remaining error.
//!
//! Joints, names, hierarchy and bind pose are those of the rig. Its motion is that of its clips or, with
//! [`RigOptions::rotations_only`], the rotations about joints with fixed offsets that reproduce the frames best
//! ([`super::skeleton`]). Weights are solved for, or are those of the rig. Helper bones are then added one at a time at
//! the largest error, after Mukai 2015 (*Building helper bone rigs from examples*), as children of the joints whose
//! points they move.

mod helpers;
mod locked;
mod motion;

use std::sync::Arc;

use dermis_math::progress::Progress;
use dermis_mesh::{Clip, Joint, MeshSequence, Rig, TriMesh};

use self::helpers::{Helpers, add_helpers};
use self::locked::measure_points;
use self::motion::solve_rig_motion;
use super::check::{check, check_bones};
use super::error::{Animation, FitError};
use super::influences::Influences;
use super::options::{FitOptions, MAX_INFLUENCES};
use super::state::State;
use super::surface::Surface;
use super::trajectories::Trajectories;
use super::{Fit, Found, Work, given_bones};
use crate::clock::Clock;
use crate::export::without_end_joints;
use crate::skin::SkinError;

/// Options of [`fit_rig`] that concern the rig.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RigOptions {
    /// Solves the motion of the joints from the frames, with fixed offsets from their parents, instead of using clips;
    /// only roots translate.
    pub rotations_only: bool,
    /// Keeps the weights of the rig. A point with the weight h on a helper keeps its other weights, scaled by 1 − h.
    pub lock_weights: bool,
    /// Number of helper bones; more bones follow the frames more closely and take longer to play.
    pub helpers: usize,
}

/// Report of a fit to a rig.
#[derive(Debug, Clone, PartialEq)]
pub struct RigReport {
    /// Number of joints of the rig.
    pub joints: usize,
    /// Name of the parent of each helper bone.
    pub helper_parents: Vec<String>,
    /// Distortion without the helper bones.
    pub distortion_percent_rig: f64,
}

/// Fits a skin with the joints of `rig` to `animations`. Clip k of the rig contains its motion in animation k; with
/// `rotations_only` the clips are not used. With `rotations_only` or `lock_weights`, `rest` is the mesh of the rig.
pub fn fit_rig(
    rest: &TriMesh,
    animations: &[Animation],
    (rig, clips): (&Rig, &[Arc<Clip>]),
    options: &FitOptions,
    rig_options: &RigOptions,
    progress: &dyn Progress,
) -> Result<Fit, FitError> {
    check(rest, animations, options)?;
    check_rig(rest, animations, (rig, clips), rig_options)?;
    // End joints are not bones; writers add them again.
    let (rig, clips) = without_end_joints(rest, rig, clips).map_err(SkinError::from)?;
    let (rig, clips) = (&*rig, &clips[..]);
    let sequences: Vec<MeshSequence> = animations.iter().map(|animation| animation.sequence.clone()).collect();
    let mut clock = Clock::start();
    let trajectories = Trajectories::gather(&sequences, rest.points())?;
    clock.stage("gather");
    let surface = Surface::new(rest);
    let mut work = Work {
        rest,
        sequences: &sequences,
        trajectories: &trajectories,
        surface: None,
        options,
        progress,
        clock,
        notes: vec![],
    };
    let mut state = initial_state(&work, (rig, clips), rig_options, &surface);
    work.clock.stage("weights");
    let distortion_percent_rig = trajectories.distortion_percent(state.squared_error());
    let mut joints = rig.joints().to_vec();
    let mut helper_parents = Vec::new();
    if rig_options.helpers > 0 {
        let helpers = Helpers {
            trajectories: &trajectories,
            surface: &surface,
            joints: joints.len(),
            count: rig_options.helpers,
            max_influences: options.influences,
            model: options.bone_model,
            smoothness: options.refine.smoothness,
            locked: rig_options.lock_weights.then(|| state.influences.clone()),
            progress,
        };
        add_helpers(&helpers, &mut state)?;
        let added = helpers.joints_of(&state, rig);
        let name = |joint: &Joint| joint.parent.map_or_else(String::new, |parent| joints[parent].name.clone());
        helper_parents = added.iter().map(name).collect();
        joints.extend(added);
        work.clock.stage("helpers");
        helpers.note(&state, &mut work.notes);
    }
    let report = RigReport { joints: rig.joints().len(), helper_parents, distortion_percent_rig };
    let mut fit = work.finish(animations, &state, Some(&joints), &Found::default())?;
    fit.rig = Some(report);
    Ok(fit)
}

/// Checks that the rig can be fitted to the animations.
fn check_rig(
    rest: &TriMesh,
    animations: &[Animation],
    (rig, clips): (&Rig, &[Arc<Clip>]),
    options: &RigOptions,
) -> Result<(), FitError> {
    if rig.joints().is_empty() {
        return Err(FitError::Skin(SkinError::NoBones("the given rig".to_owned())));
    }
    if !options.rotations_only {
        check_bones(animations, rig, clips)?;
    }
    if options.rotations_only || options.lock_weights {
        let (found, expected) = (rig.weights().point_count(), rest.point_count());
        if found != expected {
            return Err(FitError::RigPoints { found, expected });
        }
        let found = rig.weights().max_influences();
        if found > MAX_INFLUENCES {
            let (what, allowed) =
                ("the number of influences of a point of the rig", format!("at most {MAX_INFLUENCES}"));
            return Err(FitError::Option { what, value: found.to_string(), allowed });
        }
    }
    if options.helpers > rest.point_count() {
        let allowed = format!("at most {}, the number of points", rest.point_count());
        return Err(FitError::Option { what: "the number of helpers", value: options.helpers.to_string(), allowed });
    }
    Ok(())
}

/// Motion and weights of the joints of the rig.
fn initial_state(
    work: &Work<'_>,
    (rig, clips): (&Rig, &[Arc<Clip>]),
    options: &RigOptions,
    surface: &Surface,
) -> State {
    let trajectories = work.trajectories;
    if options.rotations_only {
        return solve_rig_motion(work, rig, options.lock_weights, surface);
    }
    let transforms = given_bones(trajectories, rig, clips);
    if !options.lock_weights {
        return work.weights_of(transforms);
    }
    let squared_errors = vec![0.0; trajectories.point_count()];
    let mut state =
        State { transforms, rest: trajectories.rest.clone(), influences: rig_influences(rig), squared_errors };
    measure_points(trajectories, &mut state);
    state
}

/// Weights of the rig; a point without weights is moved by the first joint, as in files.
fn rig_influences(rig: &Rig) -> Vec<Influences> {
    let row = |row: Vec<(u32, f32)>| {
        let sum: f64 = row.iter().map(|(_, weight)| f64::from(*weight)).sum();
        if sum == 0.0 {
            return Influences::of(0);
        }
        Influences::from_pairs(row.into_iter().map(|(joint, weight)| (joint as usize, f64::from(weight) / sum)))
    };
    rig.weights().rows().map(|entries| row(entries.collect())).collect()
}
