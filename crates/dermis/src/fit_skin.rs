//! Skins from mesh sequences.

use std::time::Instant;

use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::MeshSequence;
use dermis_skin::measure::{compression, measure, rig_quality};
use dermis_skin::refine::Refinement;
use dermis_skin::{Animation, BoneModel, Fit, FitError, FitOptions, Skin, fit};

use crate::animations::Animations;
use crate::error::Result;

/// Fits a skin to a mesh sequence, whose mesh is the rest pose and whose name becomes that of the clip. A fit whose error
/// is larger than the shape is an error.
pub fn fit_skin(sequence: &MeshSequence, options: &FitOptions) -> Result<Fit> {
    fit_skin_with(std::slice::from_ref(sequence), options, &NoProgress)
}

/// [`fit_skin`] of several sequences of one mesh, with an observer.
pub fn fit_skin_with(sequences: &[MeshSequence], options: &FitOptions, progress: &dyn Progress) -> Result<Fit> {
    let animation =
        |sequence: &MeshSequence| Animation { name: sequence.name().to_owned(), sequence: sequence.clone() };
    let animations: Vec<Animation> = sequences.iter().map(animation).collect();
    let first = sequences.first().ok_or(FitError::TooFewFrames { frames: 0 })?;
    Ok(fit(first.mesh(), &animations, options, progress)?.validated()?)
}

/// [`fit_skin`] of animations that were collected from several files and clips, with an observer.
pub fn fit_animations(inputs: &Animations, options: &FitOptions, progress: &dyn Progress) -> Result<Fit> {
    Ok(fit(&inputs.object.mesh, &inputs.animations, options, progress)?.validated()?)
}

/// Measures a skin against animations as if it had just been fitted to them. A clip is compared with the animation of
/// its name, otherwise clip k with animation k; both must have the same number of frames.
pub fn measure_skin(skin: &Skin, animations: &[Animation]) -> Result<Fit> {
    let clips = skin.clips();
    if clips.len() < animations.len() {
        return Err(FitError::ClipCount { found: clips.len(), expected: animations.len() }.into());
    }
    let mut order = Vec::with_capacity(animations.len());
    for (number, Animation { name, sequence }) in animations.iter().enumerate() {
        let (found, expected) = (sequence.point_count(), skin.mesh().point_count());
        if found != expected {
            return Err(FitError::OtherMesh { name: name.clone(), found, expected }.into());
        }
        let index = clips.iter().position(|clip| clip.name() == name).unwrap_or(number);
        let (found, expected) = (clips[index].frame_count(), sequence.frame_count());
        if found != expected {
            let (clip, animation) = (clips[index].name().to_owned(), name.clone());
            return Err(FitError::ClipLength { clip, found, animation, expected }.into());
        }
        order.push(index);
    }
    // End joints are not bones.
    let skin = skin.with_clips(&order).without_ends()?;
    let start = Instant::now();
    let sequences: Vec<MeshSequence> = animations.iter().map(|animation| animation.sequence.clone()).collect();
    let measures = measure(&skin, &sequences)?;
    let rest = animations.first().map_or(skin.mesh(), |animation| animation.sequence.mesh()).points();
    let quality = rig_quality(&skin, rest, &sequences).map_err(FitError::from)?;
    let frames = sequences.iter().map(MeshSequence::frame_count).sum();
    let (points, influences) = (skin.mesh().point_count(), skin.rig().weights().max_influences());
    Ok(Fit {
        measures,
        quality,
        near_rigid_fraction: None,
        epsilon: None,
        compression: compression(points, frames, skin.bone_count(), influences, BoneModel::of_skin(&skin)),
        refinement: Refinement::default(),
        skeleton: None,
        rig: None,
        seconds: vec![("measure", start.elapsed().as_secs_f64())],
        notes: Vec::new(),
        skin,
    })
}
