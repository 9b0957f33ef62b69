//! Layers as corrective shapes: blend shapes with animated weights, which any engine can play with the linear skin.
//!
//! The difference between the evaluated clips and the linear skin is transformed back to the rest pose and reduced to
//! its principal components (`dermis_skin::fit::correct`). The error of the shapes is measured against the layers.

use std::sync::Arc;

use dermis_mesh::{Note, Object, Rig};
use dermis_skin::fit::correct;
use dermis_skin::measure::compare::compare;
use dermis_skin::{Skin, SkinError};
use serde::Serialize;

use crate::error::Result;
use crate::evaluate;

pub use crate::error::ShapesError;

/// Options of [`corrective_shapes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeOptions {
    /// Maximum number of shapes; a larger number is more accurate.
    pub count: usize,
    /// Maximum number of influences per point of the linear skin; engines support 4 or 8.
    pub max_influences: usize,
}

impl Default for ShapeOptions {
    fn default() -> Self {
        Self { count: 16, max_influences: usize::MAX }
    }
}

/// An object whose layers are shapes.
#[derive(Debug, Clone)]
pub struct ShapedObject {
    /// The rig with the shapes, and its clips with their weights; it has no layers.
    pub object: Object,
    /// Errors of each clip.
    pub clips: Vec<ShapeErrors>,
    /// Assumptions and omissions.
    pub warnings: Vec<Note>,
}

/// Distances of a clip to its evaluation with all layers, in scene units.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShapeErrors {
    /// Name of the clip.
    pub name: String,
    /// Number of frames.
    pub frames: usize,
    /// RMS distance of the linear skin alone.
    pub linear_rms_error: f64,
    /// Largest distance of the linear skin alone.
    pub linear_max_error: f64,
    /// RMS distance with the shapes.
    pub rms_error: f64,
    /// Largest distance with the shapes.
    pub max_error: f64,
}

/// Replaces the layers of `object` with corrective shapes.
pub fn corrective_shapes(object: &Object, options: &ShapeOptions) -> Result<ShapedObject> {
    let (Some(rig), false) = (&object.rig, object.clips.is_empty()) else {
        return Err(ShapesError::NoClips(object.name.clone()).into());
    };
    if object.deformers.is_empty() {
        return Err(ShapesError::NoLayers(object.name.clone()).into());
    }
    let mut warnings = Vec::new();
    if !rig.shapes().is_empty() {
        warnings.push(Note::at(&object.name, "the blend shapes of the rig are a part of the corrective shapes"));
    }
    let motions = evaluate::motions(object)?;
    let sequences: Vec<_> = motions.iter().map(|motion| motion.sequence.clone()).collect();
    warnings.extend(motions.into_iter().flat_map(|motion| motion.warnings));
    let bare = bare_skin(object, rig, options.max_influences)?;
    let shaped = correct(&bare, &sequences, options.count).map_err(ShapesError::from)?;
    let mut clips = Vec::new();
    for (clip, sequence) in sequences.iter().enumerate() {
        let rms = |by_frame: &[f64]| {
            (by_frame.iter().map(|rms| rms * rms).sum::<f64>() / by_frame.len().max(1) as f64).sqrt()
        };
        let (linear, found) = (compare(&bare, clip, sequence)?, compare(&shaped, clip, sequence)?);
        clips.push(ShapeErrors {
            name: shaped.clips()[clip].name().to_owned(),
            frames: sequence.frame_count(),
            linear_rms_error: rms(&linear.rms_by_frame),
            linear_max_error: linear.max_error,
            rms_error: rms(&found.rms_by_frame),
            max_error: found.max_error,
        });
    }
    let Object { mesh, rig, clips: shaped_clips, .. } = shaped.to_object(&object.name);
    let object = Object { mesh, rig, clips: shaped_clips, sequence: None, deformers: Vec::new(), ..object.clone() };
    Ok(ShapedObject { object, clips, warnings })
}

/// The linear skin of the object without its shapes.
fn bare_skin(object: &Object, rig: &Arc<Rig>, max_influences: usize) -> Result<Skin> {
    if rig.joints().is_empty() {
        return Err(SkinError::NoBones(object.name.clone()).into());
    }
    let limited = if rig.weights().max_influences() > max_influences {
        let weights = rig.weights().normalized(max_influences);
        let new = Rig::new(&object.mesh, rig.joints().to_vec(), weights, rig.shapes().to_vec())?;
        Arc::new(match rig.stored_pose() {
            Some(pose) => new.with_stored_pose(pose.clone())?,
            None => new,
        })
    } else {
        Arc::clone(rig)
    };
    let object = Object { rig: Some(limited), deformers: Vec::new(), sequence: None, ..object.clone() };
    Ok(Skin::from_object(&object)?.with_rank(0)?)
}
