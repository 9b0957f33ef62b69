//! Validation of the input and options of a fit.

use std::sync::Arc;

use dermis_mesh::{Clip, Rig, TriMesh};

use super::error::{Animation, FitError};
use super::options::{Bones, FitOptions, MAX_INFLUENCES};
use crate::skin::SkinError;

/// Maximum number of bones: time and memory grow with its product with points and frames.
const MAX_BONES: usize = 1024;

/// Checks the input and the options.
pub(super) fn check(rest: &TriMesh, animations: &[Animation], options: &FitOptions) -> Result<(), FitError> {
    check_meshes(rest, animations)?;
    let expected = rest.point_count();
    let frames = animations.iter().map(|animation| animation.sequence.frame_count()).sum();
    if frames < 2 {
        return Err(FitError::TooFewFrames { frames });
    }
    let wrong = |what, value: String, allowed: &str| Err(FitError::Option { what, value, allowed: allowed.to_owned() });
    if !(1..=MAX_INFLUENCES).contains(&options.influences) {
        return wrong("the number of influences", options.influences.to_string(), &format!("1 to {MAX_INFLUENCES}"));
    }
    let smoothness = options.refine.smoothness;
    if !(smoothness >= 0.0 && smoothness.is_finite()) {
        return wrong("the smoothness", smoothness.to_string(), "0 or a positive number");
    }
    if options.skeleton.is_some() && options.refine.max_iterations == 0 {
        return wrong("the number of iterations of the refinement", "0".to_owned(), "above 0 with a skeleton");
    }
    match options.bones {
        Bones::Tolerance(epsilon) if !(epsilon > 0.0 && epsilon <= 2.0) => {
            wrong("the rotation tolerance", epsilon.to_string(), "above 0 and at most 2")
        }
        Bones::Count(count) if count == 0 || count > expected => {
            wrong("the number of bones", count.to_string(), &format!("1 to {expected}, the number of points"))
        }
        Bones::Count(count) if count > MAX_BONES => wrong(
            "the number of bones",
            count.to_string(),
            &format!("at most {MAX_BONES}; larger fits would take hours"),
        ),
        Bones::Distortion(percent) if !(percent > 0.0 && percent.is_finite()) => {
            wrong("the target distortion", percent.to_string(), "a positive percentage")
        }
        _ => Ok(()),
    }
}

/// Checks that the animations move the points of `rest`.
pub(super) fn check_meshes(rest: &TriMesh, animations: &[Animation]) -> Result<(), FitError> {
    let expected = rest.point_count();
    if expected == 0 {
        return Err(FitError::NoPoints);
    }
    match animations.iter().find(|animation| animation.sequence.point_count() != expected) {
        Some(Animation { name, sequence }) => {
            Err(FitError::OtherMesh { name: name.clone(), found: sequence.point_count(), expected })
        }
        None => Ok(()),
    }
}

/// Checks that the clips of the given bones correspond to the animations.
pub(super) fn check_bones(animations: &[Animation], rig: &Rig, clips: &[Arc<Clip>]) -> Result<(), FitError> {
    if rig.joints().is_empty() {
        return Err(FitError::Skin(SkinError::NoBones("the given rig".to_owned())));
    }
    if clips.len() != animations.len() {
        return Err(FitError::ClipCount { found: clips.len(), expected: animations.len() });
    }
    let differ = |(animation, clip): &(&Animation, &Arc<Clip>)| animation.sequence.frame_count() != clip.frame_count();
    match animations.iter().zip(clips).find(differ) {
        Some((animation, clip)) => Err(FitError::ClipLength {
            clip: clip.name().to_owned(),
            found: clip.frame_count(),
            animation: animation.name.clone(),
            expected: animation.sequence.frame_count(),
        }),
        None => Ok(()),
    }
}
