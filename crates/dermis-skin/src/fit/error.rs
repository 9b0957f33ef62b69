//! Input and errors of a fit.

use dermis_mesh::{MeshSequence, SequenceError};

use super::corrections::CorrectionError;
use crate::measure::RigQualityError;
use crate::skin::SkinError;

/// Error of a fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// There are too few frames.
    #[error("too few frames: {frames} in total; a fit needs at least 2")]
    TooFewFrames {
        /// Number of frames.
        frames: usize,
    },
    /// The mesh has no points.
    #[error("the mesh has no points")]
    NoPoints,
    /// The animations have different meshes.
    #[error("the animation '{name}' has {found} points, but the rest pose has {expected}")]
    OtherMesh {
        /// The offending animation.
        name: String,
        /// Its number of points.
        found: usize,
        /// The number of points of the rest pose.
        expected: usize,
    },
    /// An option is out of range.
    #[error("{what} is {value}; it must be {allowed}")]
    Option {
        /// The option.
        what: &'static str,
        /// Its value.
        value: String,
        /// Its valid range.
        allowed: String,
    },
    /// The number of clips of the given bones differs from the number of animations.
    #[error("the bones have {found} clips, but there are {expected} animations")]
    ClipCount {
        /// Number of clips.
        found: usize,
        /// Number of animations.
        expected: usize,
    },
    /// The length of a clip of the given bones differs from that of its animation.
    #[error("the clip '{clip}' has {found} frames, but the animation '{animation}' has {expected}")]
    ClipLength {
        /// Name of the clip.
        clip: String,
        /// Number of frames of the clip.
        found: usize,
        /// Name of the animation.
        animation: String,
        /// Number of frames of the animation.
        expected: usize,
    },
    /// The weights of the given rig belong to another mesh.
    #[error("the rig has weights of {found} points, but the rest pose has {expected}")]
    RigPoints {
        /// Number of points of the rig.
        found: usize,
        /// The number of points of the rest pose.
        expected: usize,
    },
    /// The error of the result is larger than the shape.
    #[error("invalid fit: the largest error is {max_error_percent:.0} % of the diagonal of the shape")]
    Invalid {
        /// Largest error of a point in percent of the diagonal of the rest pose.
        max_error_percent: f64,
    },
    /// A frame cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The corrections cannot be computed.
    #[error(transparent)]
    Corrections(#[from] CorrectionError),
    /// The result is not a valid skin.
    #[error(transparent)]
    Skin(#[from] SkinError),
    /// The quality of the result cannot be measured.
    #[error(transparent)]
    Quality(#[from] RigQualityError),
    /// The observer stopped the work before there was a result.
    #[error("stopped before there was a result")]
    Stopped,
}

/// One animation to fit: its name and its frames.
#[derive(Debug, Clone)]
pub struct Animation {
    /// Name of the clip.
    pub name: String,
    /// Frames of the motion.
    pub sequence: MeshSequence,
}
