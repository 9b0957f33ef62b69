//! Reasons why a scene cannot be drawn.

use dermis_mesh::SequenceError;
use dermis_render::RenderError;

use crate::evaluate::EvaluateError;
use crate::match_meshes::MatchError;
use crate::select::SelectError;

/// Reasons why a scene cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// No object has triangles.
    #[error("the input contains no mesh with triangles")]
    NoMesh,
    /// The motion has no such frame.
    #[error("there is no frame {frame}: the motion has {count}, numbered from 0")]
    NoSuchFrame {
        /// The requested frame.
        frame: i64,
        /// Number of frames.
        count: usize,
    },
    /// A frame of a scene without motion was requested.
    #[error("frame {0} requires a motion, but the input contains none")]
    NothingMoves(i64),
    /// The error has no reference.
    #[error("the error requires a reference motion")]
    NoReference,
    /// The reference has fewer frames than the motion.
    #[error("the reference has no frame {frame}: it has {count}, numbered from 0")]
    ShortReference {
        /// The frame.
        frame: usize,
        /// Number of frames of the reference.
        count: usize,
    },
    /// The reference has another number of objects.
    #[error("the reference has {found} meshes, the input has {expected}")]
    OtherObjects {
        /// Number of objects of the reference.
        found: usize,
        /// Number of objects of the input.
        expected: usize,
    },
    /// No object has joints.
    #[error("the input has no joints")]
    NoJoints,
    /// No object has layers.
    #[error("the input has no layers")]
    NoLayers,
    /// No joint or attribute has that name.
    #[error("there is no {kind} called '{wanted}'")]
    NoSuchName {
        /// `"joint"` or `"attribute"`.
        kind: &'static str,
        /// The requested name.
        wanted: String,
        /// All names.
        names: Vec<String>,
    },
    /// The panels show different quantities.
    #[error("the panels show different quantities, but a picture has one legend")]
    MixedHeat,
    /// A number of the view is not finite, or the magnification is not positive.
    #[error("invalid camera: angles and target must be finite, and the magnification positive")]
    View,
    /// The upper end of the colours is not positive.
    #[error("invalid range {0} of the colours: it must be positive and finite")]
    Range(f64),
    /// The reference does not belong to the mesh.
    #[error(transparent)]
    Match(#[from] MatchError),
    /// There is no such clip.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The motion cannot be evaluated.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    /// A frame cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The picture cannot be drawn.
    #[error(transparent)]
    Render(#[from] RenderError),
}

impl PictureError {
    /// Further lines about the error.
    pub fn details(&self) -> Vec<String> {
        const SHOWN: usize = 20;
        match self {
            Self::NoSuchName { kind, names, .. } if names.is_empty() => vec![format!("there are no {kind}s")],
            Self::NoSuchName { kind, names, .. } => {
                let quoted: Vec<String> = names.iter().take(SHOWN).map(|name| format!("'{name}'")).collect();
                let more =
                    if names.len() > SHOWN { format!(", and {} more", names.len() - SHOWN) } else { String::new() };
                vec![format!("{kind}s: {}{more}", quoted.join(", "))]
            }
            Self::Select(error) => error.details(),
            Self::Match(error) => error.details(),
            _ => Vec::new(),
        }
    }

    /// Hint for a fix.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoMesh => "use a file with a mesh; skeletons and point caches without faces have no surface",
            Self::NoReference => "provide the recorded motion that the input reproduces",
            Self::ShortReference { .. } => "provide a reference with the same frames",
            Self::NoJoints => "use a rigged file, or fit a skin first",
            Self::NoLayers => "use a file with multi-weights or a volume layer",
            Self::MixedHeat => "draw one picture per quantity",
            Self::Render(RenderError::Size { .. }) => "use a size such as 1600x1200",
            Self::Render(RenderError::PanelSize { .. }) => "make the picture larger, or draw fewer panels",
            Self::Select(error) => return error.hint(),
            Self::Match(error) => return error.hint().map(str::to_owned),
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
