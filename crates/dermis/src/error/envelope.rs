//! Reasons why multi-weights cannot be learned or validated.

use std::path::PathBuf;

use crate::match_meshes::MatchError;

/// Reasons why multi-weights cannot be learned or validated. See also [`EnvelopeError::details`] and
/// [`EnvelopeError::hint`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum EnvelopeError {
    #[error("there are no joints")]
    NoJoints,
    #[error("there is no clip")]
    NoClip,
    #[error("there are no shapes")]
    NoShapes,
    #[error("there are no blend shapes")]
    NoMorphTargets,
    #[error("there are {times} times for {shapes} shapes")]
    PoseTimes { times: usize, shapes: usize },
    #[error("the pose time {time} s is outside the clip, which ends at {last} s")]
    TimeOutside { time: f64, last: f64 },
    #[error("the shape numbered {number} is beyond the end of the clip '{clip}', which has {frames} frames")]
    NumberOutside { number: usize, clip: String, frames: usize },
    #[error("the range {} contains no pose", ranges.join(", "))]
    NoPoses { ranges: Vec<String>, count: usize },
    #[error("frame {frame} is not among the poses")]
    NoSuchPose { frame: usize },
    #[error("no attribute is named '{prefix}' followed by the name of a joint")]
    NoAttribute { prefix: String, known: Vec<String> },
    #[error("the mesh has no UVs, which influence maps in textures require")]
    NoUvs,
    #[error("no image in '{}' has the name of a joint", folder.display())]
    NoImage { folder: PathBuf },
    #[error("the image '{}' cannot be read: {reason}", path.display())]
    Image { path: PathBuf, reason: String },
    #[error("'{source_file}' has no skin weights")]
    NoWeights { source_file: String },
    #[error("the maps have {found} points, but the rig's mesh has {expected}")]
    MapPoints { found: usize, expected: usize },
    #[error("the maps have {found} joints, but the rig has {expected}")]
    MapJoints { found: usize, expected: usize },
    #[error("there are no multi-weights")]
    NoMultiWeights,
    #[error(transparent)]
    Match(#[from] MatchError),
}

impl EnvelopeError {
    /// Further lines about the error.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Match(error) => error.details(),
            Self::NoAttribute { known, .. } if !known.is_empty() => vec![format!("attributes: {}", known.join(", "))],
            _ => Vec::new(),
        }
    }

    /// Hint for a fix.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoJoints => "multi-weights require a skeleton: use a rigged file, or fit a skin first",
            Self::NoClip => "poses are read from a clip: use an animated rig",
            Self::NoShapes => "provide the shape of each frame as targets",
            Self::PoseTimes { .. } => "provide one time per shape, in their order",
            Self::NumberOutside { .. } => "shapes are numbered by the frames of the clip, from 0",
            Self::NoPoses { count, .. } => return Some(format!("the clip has {count} frames, numbered from 0")),
            Self::NoSuchPose { .. } => "use a frame of the clip, from 0, that the frame ranges include",
            Self::NoImage { .. } => "name each image JOINT.png",
            Self::MapJoints { .. } => {
                "name the joints as in the rig, or provide one map per joint, in the order of the rig"
            }
            Self::NoMultiWeights => "train an envelope first",
            Self::Match(error) => return error.hint().map(str::to_owned),
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
