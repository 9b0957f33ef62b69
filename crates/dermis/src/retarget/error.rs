//! Errors of retargeting.

use dermis_mesh::{MeshError, RigError};

/// Reasons why a clip cannot be transferred; see also [`RetargetError::details`] and [`RetargetError::hint`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RetargetError {
    /// One of the two has no joints.
    #[error("'{0}' has no joints")]
    NoJoints(String),
    /// The clip moves none of the joints.
    #[error("the clip '{clip}' moves none of the {} joints", joints.len())]
    NothingMaps {
        /// The clip.
        clip: String,
        /// The joints of the rig.
        joints: Vec<String>,
        /// The joints that the clip moves.
        moved: Vec<String>,
    },
    /// The map of joints is not a table of names.
    #[error("invalid joint map: {0}")]
    Map(String),
    /// The map refers to joints that do not exist.
    #[error("the joint map has unknown names: {}", names.len())]
    UnknownInMap {
        /// The names.
        names: Vec<String>,
    },
    /// The clip cannot be created.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The shape exceeds the range of f32 in the other units.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

impl RetargetError {
    /// Further lines about the error.
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::NothingMaps { joints, moved, .. } => {
                vec![listed("joints of the rig", joints), listed("joints of the clip", moved)]
            }
            Self::UnknownInMap { names } => vec![listed("unknown", names)],
            _ => Vec::new(),
        }
    }

    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NothingMaps { .. } => Some("provide a joint map: a TOML file with lines such as Hips = \"pelvis\""),
            Self::Map(_) => Some("write lines such as Hips = \"pelvis\": the rig's joint, then the motion's"),
            Self::UnknownInMap { .. } => Some("keys are joints of the rig, values joints of the motion"),
            _ => None,
        }
    }
}

/// A list of names for a message, cut after the first 20.
pub(super) fn listed(what: &str, names: &[String]) -> String {
    const SHOWN: usize = 20;
    let quoted: Vec<String> = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect();
    let more = if names.len() > SHOWN { format!(", and {} more", names.len() - SHOWN) } else { String::new() };
    format!("{what}: {}{more}", quoted.join(", "))
}
