//! One error for all of the façade, with details and a hint as data.

use dermis_active::volume::VolumeError;
use dermis_active::wrinkle::ClothError;
use dermis_mesh::deformer::multi_weights::MultiWeightsError;
use dermis_mesh::{MeshError, RigError, SequenceError};
use dermis_skin::envelope::{ExamplesError, TrainError};
use dermis_skin::{FitError, PoseError as SkinPoseError, SkinError};
use dermis_tissue::layered::LayeredError;

use crate::bodies::BodyFileError;
use crate::evaluate::EvaluateError;
use crate::frame_range::FrameRangeError;
use crate::keep_volume::KeepVolumeError;
use crate::pose_model::PoseError;
use crate::retarget::RetargetError;
use crate::select::SelectError;
use crate::train_envelope::EnvelopeError;

/// Result of a function of the façade.
pub type Result<T> = std::result::Result<T, Error>;

/// Any error of dermis. `Display` is the headline; [`Error::details`] and [`Error::hint`] carry the rest as data.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each wraps the error of one part of dermis, which describes itself")]
pub enum Error {
    Io(#[from] dermis_io::Error),
    Select(#[from] SelectError),
    FrameRange(#[from] FrameRangeError),
    Evaluate(#[from] EvaluateError),
    Retarget(#[from] RetargetError),
    Pose(#[from] PoseError),
    Sequence(#[from] SequenceError),
    Mesh(#[from] MeshError),
    Rig(#[from] RigError),
    Fit(#[from] FitError),
    Skin(#[from] SkinError),
    SkinPose(#[from] SkinPoseError),
    Train(#[from] TrainError),
    Examples(#[from] ExamplesError),
    Envelope(#[from] EnvelopeError),
    MultiWeights(#[from] MultiWeightsError),
    Volume(#[from] VolumeError),
    KeepVolume(#[from] KeepVolumeError),
    Wrinkle(#[from] ClothError),
    Body(#[from] BodyFileError),
    Tissue(#[from] LayeredError),
}

impl Error {
    /// The error that this one wraps.
    pub fn inner(&self) -> &(dyn std::error::Error + 'static) {
        match self {
            Self::Io(error) => error,
            Self::Select(error) => error,
            Self::FrameRange(error) => error,
            Self::Evaluate(error) => error,
            Self::Retarget(error) => error,
            Self::Pose(error) => error,
            Self::Sequence(error) => error,
            Self::Mesh(error) => error,
            Self::Rig(error) => error,
            Self::Fit(error) => error,
            Self::Skin(error) => error,
            Self::SkinPose(error) => error,
            Self::Train(error) => error,
            Self::Examples(error) => error,
            Self::Envelope(error) => error,
            Self::MultiWeights(error) => error,
            Self::Volume(error) => error,
            Self::KeepVolume(error) => error,
            Self::Wrinkle(error) => error,
            Self::Body(error) => error,
            Self::Tissue(error) => error,
        }
    }

    /// Further lines about the error.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Io(error) => error.details().to_vec(),
            Self::Select(error) => error.details(),
            Self::Retarget(error) => error.details(),
            Self::Volume(error) => error.details(),
            Self::KeepVolume(error) => error.details(),
            Self::Envelope(error) => error.details(),
            _ => Vec::new(),
        }
    }

    /// Hint for a fix.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io(error) => error.hint().map(str::to_owned),
            Self::Select(error) => error.hint(),
            Self::Retarget(error) => error.hint().map(str::to_owned),
            Self::Volume(error) => error.hint().map(str::to_owned),
            Self::KeepVolume(error) => error.hint().map(str::to_owned),
            Self::Envelope(error) => error.hint(),
            _ => None,
        }
    }
}
