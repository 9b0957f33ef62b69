//! Why a mesh's volume cannot be kept.

use dermis_mesh::deformer::volume::EffectsError;
use glam::Vec3;

/// A hole in a surface.
#[derive(Debug, Clone, PartialEq)]
pub struct Loop {
    /// How many edges go around it.
    pub edges: usize,
    /// Its first point.
    pub first: u32,
    /// Its middle.
    pub center: Vec3,
}

impl Loop {
    pub(super) fn of(ring: &[u32], points: &[Vec3]) -> Self {
        let sum: Vec3 = ring.iter().map(|&point| points[point as usize]).sum();
        Self { edges: ring.len(), first: ring[0], center: sum / ring.len() as f32 }
    }
}

/// Why a mesh's volume cannot be kept. [`VolumeError::details`] and [`VolumeError::hint`] say more.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// The surface has holes.
    #[error("the mesh is open: it has {} boundary {}", loops.len(), if loops.len() == 1 { "loop" } else { "loops" })]
    Open {
        /// Its holes.
        loops: Vec<Loop>,
    },
    /// The surface has no triangles, or edges whose triangles do not pair up, so that caps cannot close it.
    #[error("the mesh is no solid: it has no triangles, or edges whose triangles do not pair up")]
    NotASolid,
    /// The rest pose encloses nothing.
    #[error("the rest pose encloses a volume of {volume:.3e}, which is nothing to keep")]
    NoVolume {
        /// What it encloses.
        volume: f64,
    },
    /// The effects are not what they should be.
    #[error("the effects are not understood: {0}")]
    Effects(String),
    /// An effect takes its weights from an attribute that is not there.
    #[error("there is no attribute '{wanted}' with a value per point")]
    NoSuchAttribute {
        /// What was asked for.
        wanted: String,
        /// Those that there are.
        known: Vec<String>,
    },
}

impl From<EffectsError> for VolumeError {
    fn from(EffectsError(reason): EffectsError) -> Self {
        Self::Effects(reason)
    }
}

impl VolumeError {
    /// More lines about it.
    pub fn details(&self) -> Vec<String> {
        // Enough to see what is wrong; a soup of triangles has thousands.
        const SHOWN: usize = 12;
        match self {
            Self::Open { loops } => {
                let line = |(number, hole): (usize, &Loop)| {
                    let [x, y, z] = hole.center.to_array();
                    let Loop { edges, first, .. } = hole;
                    format!("loop {number}: {edges} edges from point {first} on, around ({x:.4}, {y:.4}, {z:.4})")
                };
                let more = loops.len().saturating_sub(SHOWN);
                let rest = (more > 0).then(|| format!("and {more} more"));
                loops.iter().enumerate().take(SHOWN).map(line).chain(rest).collect()
            }
            Self::NoSuchAttribute { known, .. } if !known.is_empty() => {
                vec![format!("attributes: {}", known.join(", "))]
            }
            _ => Vec::new(),
        }
    }

    /// How to fix it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Open { .. } => Some("close the mesh, or cap its holes for the volume alone"),
            Self::NotASolid => Some("make the edges manifold and the faces look outwards; 'dermis inspect' names them"),
            Self::NoVolume { .. } => Some("a flat or self-cancelling mesh cannot be corrected"),
            Self::Effects(_) => Some("a line is: \"*elbow*\" = { effect = \"muscle\", axis = [0, 1, 0] }"),
            Self::NoSuchAttribute { .. } => Some("name an attribute of the file, or leave it out"),
        }
    }
}
