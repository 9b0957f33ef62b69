//! One error for the whole façade, with details and a hint as data.

#[cfg(feature = "batch")]
mod batch;
#[cfg(feature = "collide")]
mod collision;
mod edit;
mod envelope;
mod pack;
#[cfg(feature = "render")]
mod picture;

use dermis_active::volume::VolumeError;
use dermis_active::wrinkle::ClothError;
#[cfg(feature = "light")]
use dermis_light::LightError;
#[cfg(feature = "lod")]
use dermis_lod::LodError;
use dermis_mesh::deformer::multi_weights::MultiWeightsError;
use dermis_mesh::{MeshError, RigError, SequenceError};
use dermis_skin::envelope::{ExamplesError, TrainError};
use dermis_skin::fit::CorrectionError;
use dermis_skin::{FitError, PoseError as SkinPoseError, SkinError};
#[cfg(feature = "tissue")]
use dermis_tissue::fit::{BeamError, SubjectError};
#[cfg(feature = "tissue")]
use dermis_tissue::layered::LayeredError;

#[cfg(feature = "tissue")]
use crate::bodies::BodyFileError;
use crate::evaluate::EvaluateError;
use crate::frame_range::FrameRangeError;
use crate::match_meshes::MatchError;
use crate::retarget::RetargetError;
use crate::select::SelectError;

#[cfg(feature = "batch")]
pub use batch::BatchError;
#[cfg(feature = "collide")]
pub use collision::CollisionError;
pub use edit::EditError;
pub use envelope::EnvelopeError;
pub use pack::PackError;
#[cfg(feature = "render")]
pub use picture::PictureError;

/// Result of a function of the façade.
pub type Result<T> = std::result::Result<T, Error>;

/// Any error of dermis. `Display` is the headline; [`Error::details`] and [`Error::hint`] return the rest as data.
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
    Match(#[from] MatchError),
    SkinPose(#[from] SkinPoseError),
    Train(#[from] TrainError),
    Examples(#[from] ExamplesError),
    Envelope(#[from] EnvelopeError),
    MultiWeights(#[from] MultiWeightsError),
    Volume(#[from] VolumeError),
    KeepVolume(#[from] KeepVolumeError),
    Shapes(#[from] ShapesError),
    Wrinkle(#[from] ClothError),
    #[cfg(feature = "tissue")]
    Body(#[from] BodyFileError),
    #[cfg(feature = "tissue")]
    Tissue(#[from] LayeredError),
    #[cfg(feature = "tissue")]
    Beam(#[from] BeamError),
    #[cfg(feature = "tissue")]
    Subject(#[from] SubjectError),
    #[cfg(feature = "lod")]
    Lod(#[from] LodError),
    Pack(#[from] PackError),
    Edit(#[from] EditError),
    #[cfg(feature = "collide")]
    Collision(#[from] CollisionError),
    #[cfg(feature = "light")]
    Light(#[from] LightError),
    #[cfg(feature = "render")]
    Picture(#[from] PictureError),
    #[cfg(feature = "batch")]
    Batch(#[from] BatchError),
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
            Self::Match(error) => error,
            Self::SkinPose(error) => error,
            Self::Train(error) => error,
            Self::Examples(error) => error,
            Self::Envelope(error) => error,
            Self::MultiWeights(error) => error,
            Self::Volume(error) => error,
            Self::KeepVolume(error) => error,
            Self::Shapes(error) => error,
            Self::Wrinkle(error) => error,
            #[cfg(feature = "tissue")]
            Self::Body(error) => error,
            #[cfg(feature = "tissue")]
            Self::Tissue(error) => error,
            #[cfg(feature = "tissue")]
            Self::Beam(error) => error,
            #[cfg(feature = "tissue")]
            Self::Subject(error) => error,
            #[cfg(feature = "lod")]
            Self::Lod(error) => error,
            Self::Pack(error) => error,
            Self::Edit(error) => error,
            #[cfg(feature = "collide")]
            Self::Collision(error) => error,
            #[cfg(feature = "light")]
            Self::Light(error) => error,
            #[cfg(feature = "render")]
            Self::Picture(error) => error,
            #[cfg(feature = "batch")]
            Self::Batch(error) => error,
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
            Self::Match(error) => error.details(),
            Self::Edit(error) => error.details(),
            #[cfg(feature = "render")]
            Self::Picture(error) => error.details(),
            #[cfg(feature = "batch")]
            Self::Batch(error) => error.details(),
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
            Self::Wrinkle(ClothError::Folds(error)) => error.hint().map(str::to_owned),
            #[cfg(feature = "lod")]
            Self::Lod(error) => error.hint().map(str::to_owned),
            Self::Pack(error) => error.hint().map(str::to_owned),
            Self::Match(error) => error.hint().map(str::to_owned),
            Self::Edit(error) => error.hint(),
            #[cfg(feature = "collide")]
            Self::Collision(error) => error.hint().map(str::to_owned),
            #[cfg(feature = "light")]
            Self::Light(error) => error.hint().map(str::to_owned),
            #[cfg(feature = "render")]
            Self::Picture(error) => error.hint(),
            #[cfg(feature = "batch")]
            Self::Batch(error) => error.hint().map(str::to_owned),
            _ => None,
        }
    }
}

/// Reasons why volume cannot be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepVolumeError {
    /// No object of the scene moves.
    #[error("the input contains no motion")]
    NothingMoves,
    /// The observer stopped the work.
    #[error("stopped before there was a result")]
    Stopped,
    /// The layer cannot be applied to an object.
    #[error("{cause}")]
    Volume {
        /// The object.
        object: String,
        /// The reason.
        cause: VolumeError,
    },
    /// The volume of a motion cannot be that of the rest pose, or the correction failed.
    #[error("the volume of the motion differs by {:.0} % from that of the rest pose", 100.0 * drift)]
    Drift {
        /// The object.
        object: String,
        /// The motion; empty for recorded frames.
        motion: String,
        /// Relative drift of the volume.
        drift: f64,
    },
    /// The motion of an object cannot be evaluated.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// The frames cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
}

impl KeepVolumeError {
    /// Further lines about the error.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Volume { cause, .. } => cause.details(),
            Self::Drift { motion, .. } => vec![format!("motion: {motion}")],
            _ => Vec::new(),
        }
    }

    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NothingMoves => Some("use a rig with a clip, or recorded frames"),
            Self::Volume { cause, .. } => cause.hint(),
            Self::Drift { .. } => Some("check the extents of rest pose and clip, or use another rest pose"),
            _ => None,
        }
    }
}

/// Reasons why layers cannot become shapes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShapesError {
    /// The object has no rig with clips.
    #[error("'{0}' has no rig with clips: corrective shapes need animated weights")]
    NoClips(String),
    /// The object has no layers.
    #[error("'{0}' has no layers to be stored as shapes")]
    NoLayers(String),
    /// The shapes cannot be computed.
    #[error(transparent)]
    Correction(#[from] CorrectionError),
}

/// Reasons why a model cannot be posed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PoseError {
    /// No object of the model has a rig.
    #[error("the model has no rig")]
    NoRig,
    /// Neither the model nor the other file has a clip for it.
    #[error("the model has no clip to play")]
    NoClip,
    /// The other file has no clip that moves joints.
    #[error("there is no clip that moves joints")]
    NoOtherClip,
}
