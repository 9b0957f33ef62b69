//! Quality of a rig beyond its distortion: weights, rest pose, shading, cross-fades.

use dermis_mesh::{MeshSequence, RigError, SequenceError};
use glam::Vec3;

use super::crossfade::crossfade_stretch_percent;
use super::rest_noise::{RestNoise, rest_noise};
use super::shading::{NormalErrorDegrees, normal_error};
use super::weight_structure::{WeightStructure, weight_structure};
use crate::skin::Skin;

/// Measures of the usability of a skin for artists.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RigQuality {
    /// Locality, sparsity and smoothness of the weights.
    pub weights: WeightStructure,
    /// Noise of the rest pose.
    pub rest: RestNoise,
    /// Errors of the normals.
    pub normal_error_degrees: NormalErrorDegrees,
    /// Percentage of edges that tear in cross-fades.
    pub crossfade_stretch_percent: f64,
}

/// Error of a [`RigQuality`] measurement.
#[derive(Debug, thiserror::Error)]
pub enum RigQualityError {
    /// A frame cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The bones cannot be exported.
    #[error(transparent)]
    Rig(#[from] RigError),
}

/// Measures `skin`, whose clip k plays the k-th of `sequences`; `given_rest` is the rest pose of the input.
///
/// # Panics
/// If a clip has fewer frames than its sequence, or the points differ in number.
pub fn rig_quality(
    skin: &Skin,
    given_rest: &[Vec3],
    sequences: &[MeshSequence],
) -> Result<RigQuality, RigQualityError> {
    Ok(RigQuality {
        weights: weight_structure(skin.mesh(), skin.rig().weights(), skin.bone_count()),
        rest: rest_noise(given_rest, skin.mesh().points(), skin.mesh().triangles()),
        normal_error_degrees: normal_error(skin, sequences)?,
        crossfade_stretch_percent: crossfade_stretch_percent(skin)?,
    })
}
