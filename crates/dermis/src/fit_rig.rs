//! Skins of existing rigs.

use std::sync::Arc;

use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::merge::single;
use dermis_mesh::{Clip, MeshSequence, Note, Object, Scene, TriMesh};
use dermis_skin::{Animation, Fit, FitOptions, RigOptions, SkinError, fit_rig as fit_given_rig};

use crate::error::Result;
use crate::evaluate::EvaluateError;
use crate::match_meshes::{MatchError, matched};
use crate::select::find_clip;

/// Options of [`fit_rig`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FitRigOptions {
    /// Weights, corrections and the model of helper bones.
    pub fit: FitOptions,
    /// Motion and weights of the rig, and the number of helper bones.
    pub rig: RigOptions,
    /// The clips of the rig that contain its motion in the animations, by name or number, in the order of the animations.
    /// Empty: all clips. They are ignored if the motion of the joints is solved.
    pub clips: Vec<String>,
}

/// Fits a skin with the joints of the rigged `object` to a sequence of its mesh: weights, joint rotations and helper bones.
/// Points are matched to those of the rig.
///
/// ```no_run
/// use dermis::prelude::*;
///
/// let rig = &dermis::read("hero.glb")?.objects[0];
/// let cloth = dermis::read("simulated.abc")?.sequence()?;
/// let options = dermis::FitRigOptions { rig: RigOptions { helpers: 8, ..default() }, ..default() };
/// let fit = dermis::fit_rig(rig, &cloth, &options)?;
/// dermis::write("helpers.glb", &fit.skin)?;
/// # dermis::Result::Ok(())
/// ```
pub fn fit_rig(object: &Object, sequence: &MeshSequence, options: &FitRigOptions) -> Result<Fit> {
    let animation = Animation { name: sequence.name().to_owned(), sequence: sequence.clone() };
    fit_rig_with(object, (sequence.mesh(), &[animation]), options, &NoProgress)
}

/// [`fit_rig`] of several animations of the rest pose `rest`, with an observer.
pub fn fit_rig_with(
    object: &Object,
    (rest, animations): (&TriMesh, &[Animation]),
    options: &FitRigOptions,
    progress: &dyn Progress,
) -> Result<Fit> {
    let rig = object.rig.as_ref().ok_or_else(|| SkinError::NoBones(object.name.clone()))?;
    let clips = &chosen_clips(object, options)?[..];
    if !options.rig.rotations_only && !options.rig.lock_weights {
        return Ok(fit_given_rig(rest, animations, (rig, clips), &options.fit, &options.rig, progress)?.validated()?);
    }
    let (animations, notes) = on_mesh_of(object, animations)?;
    let mut fit = fit_given_rig(&object.mesh, &animations, (rig, clips), &options.fit, &options.rig, progress)?;
    fit.notes.splice(0..0, notes);
    Ok(fit.validated()?)
}

/// The first rigged object of `scene`, or all of its objects as one.
pub fn rigged_object(scene: &Scene) -> Result<Object> {
    match scene.objects.iter().find(|object| object.rig.is_some()) {
        Some(rigged) => Ok(rigged.clone()),
        None => Ok(single(scene).map_err(EvaluateError::from)?.0),
    }
}

fn chosen_clips(object: &Object, options: &FitRigOptions) -> Result<Vec<Arc<Clip>>> {
    if options.clips.is_empty() || options.rig.rotations_only {
        return Ok(object.clips.clone());
    }
    let names: Vec<&str> = object.clips.iter().map(|clip| clip.name()).collect();
    options.clips.iter().map(|clip| Ok(Arc::clone(&object.clips[find_clip(clip, &names)?]))).collect()
}

/// The animations in the points of the mesh of `object`. Animations of other shapes with the same triangles are treated
/// as poses of the mesh.
fn on_mesh_of(object: &Object, animations: &[Animation]) -> Result<(Vec<Animation>, Vec<Note>)> {
    let mut notes = Vec::new();
    let mut result = Vec::with_capacity(animations.len());
    for Animation { name, sequence } in animations {
        let sequence = match matched(sequence, object) {
            Ok((sequence, more)) => {
                notes.extend(more);
                sequence
            }
            Err(MatchError::Different { .. })
                if sequence.mesh().triangles() == object.mesh.triangles()
                    && sequence.point_count() == object.mesh.point_count() =>
            {
                sequence.clone().with_mesh(Arc::clone(&object.mesh))?
            }
            Err(error) => return Err(error.into()),
        };
        result.push(Animation { name: name.clone(), sequence });
    }
    notes.dedup();
    Ok((result, notes))
}
