//! The input of a fit, and why one cannot be made.

use dermis_mesh::{MeshSequence, SequenceError};

use super::corrections::CorrectionError;
use crate::measure::RigQualityError;
use crate::skin::SkinError;

/// Why a fit cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// There is nothing to learn from.
    #[error("there are {frames} frames in all; a fit needs at least 2")]
    TooFewFrames {
        /// How many there are.
        frames: usize,
    },
    /// There is nothing to move.
    #[error("the mesh has no points")]
    NoPoints,
    /// The animations do not belong to one mesh.
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
        /// Which option.
        what: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// The given bones have another number of clips than there are animations.
    #[error("the bones have {found} clips, but there are {expected} animations")]
    ClipCount {
        /// How many clips there are.
        found: usize,
        /// How many animations there are.
        expected: usize,
    },
    /// A clip of the given bones is longer or shorter than its animation.
    #[error("the clip '{clip}' has {found} frames, but the animation '{animation}' has {expected}")]
    ClipLength {
        /// The clip.
        clip: String,
        /// How many frames it has.
        found: usize,
        /// The animation.
        animation: String,
        /// How many frames that has.
        expected: usize,
    },
    /// A frame cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The corrections cannot be made.
    #[error(transparent)]
    Corrections(#[from] CorrectionError),
    /// The result is not a skin.
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
    /// What the clip is called.
    pub name: String,
    /// The frames.
    pub sequence: MeshSequence,
}
