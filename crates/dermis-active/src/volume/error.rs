//! Errors of the volume layer.

use dermis_mesh::deformer::volume::EffectsError;
use glam::Vec3;

/// Boundary loop of a surface.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// Number of edges.
    pub edges: usize,
    /// First point.
    pub first: u32,
    /// Mean of the points.
    pub center: Vec3,
}

impl Loop {
    pub(super) fn of(ring: &[u32], points: &[Vec3]) -> Self {
        let sum: Vec3 = ring.iter().map(|&point| points[point as usize]).sum();
        Self { edges: ring.len(), first: ring[0], center: sum / ring.len() as f32 }
    }
}

/// Error of the volume layer, explained further by [`VolumeError::details`] and [`VolumeError::hint`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// The surface is open.
    #[error("the mesh is open: it has {} boundary {}", loops.len(), if loops.len() == 1 { "loop" } else { "loops" })]
    Open {
        /// Boundary loops of the surface.
        loops: Vec<Loop>,
    },
    /// The surface has no triangles, or edges that are not shared by two triangles of consistent orientation, so that
    /// caps cannot close it.
    #[error(
        "the mesh is not a solid: it has no triangles, or edges that are not shared by two triangles of consistent orientation"
    )]
    NotASolid,
    /// The rest pose has no volume.
    #[error("the rest pose has no volume: it encloses {volume:.3e}")]
    NoVolume {
        /// Enclosed volume.
        volume: f64,
    },
    /// The effects are invalid.
    #[error("invalid effects: {0}")]
    Effects(String),
    /// An effect refers to a missing attribute.
    #[error("unknown attribute '{wanted}': no attribute of this name has a value per point")]
    NoSuchAttribute {
        /// Name of the missing attribute.
        wanted: String,
        /// Names of the existing attributes.
        known: Vec<String>,
    },
}

impl From<EffectsError> for VolumeError {
    fn from(EffectsError(reason): EffectsError) -> Self {
        Self::Effects(reason)
    }
}

impl VolumeError {
    /// Additional lines about the error.
    pub fn details(&self) -> Vec<String> {
        // Limits the output for meshes with thousands of loops.
        const MAX_SHOWN: usize = 12;
        match self {
            Self::Open { loops } => {
                let line = |(number, hole): (usize, &Loop)| {
                    let [x, y, z] = hole.center.to_array();
                    let Loop { edges, first, .. } = hole;
                    format!("loop {number}: {edges} edges starting at point {first}, centre ({x:.4}, {y:.4}, {z:.4})")
                };
                let more = loops.len().saturating_sub(MAX_SHOWN);
                let rest = (more > 0).then(|| format!("and {more} more"));
                loops.iter().enumerate().take(MAX_SHOWN).map(line).chain(rest).collect()
            }
            Self::NoSuchAttribute { known, .. } if !known.is_empty() => {
                vec![format!("attributes: {}", known.join(", "))]
            }
            _ => Vec::new(),
        }
    }

    /// Suggested remedy.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Open { .. } => Some("close the mesh, or cap its holes for the volume computation"),
            Self::NotASolid => Some("make the edges manifold and orient the faces outwards"),
            Self::NoVolume { .. } => Some("the mesh is flat, or its positive and negative volumes cancel"),
            Self::Effects(_) => Some("example of a line: \"*elbow*\" = { effect = \"muscle\", axis = [0, 1, 0] }"),
            Self::NoSuchAttribute { .. } => Some("name an attribute of the file, or omit it"),
        }
    }
}
