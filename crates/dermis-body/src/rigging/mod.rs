//! Skeletons for skins that have none: joints fitted to a human, or taken from a rig.
//!
//! | file | what it does |
//! |---|---|
//! | `skeleton` | joints and where they stand |
//! | `fit_human` | the joints of a standing human from its skin alone |
//! | `geodesic`, `sections` | distances on a surface, and the loops of equal distance or in a plane |
//! | `tips`, `centre_line`, `landmarks` | head, hands and feet; the middle of limbs; where these bend, thin and end |

mod centre_line;
mod fit_human;
mod geodesic;
mod landmarks;
mod sections;
mod skeleton;
mod tips;

use dermis_mesh::RigError;
use glam::Vec3;

pub use fit_human::{FittedSkeleton, fit_human};
pub use skeleton::Skeleton;

/// Error of fitting or making a skeleton.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RiggingError {
    /// There is nothing to bind to.
    #[error("the skeleton has no joints")]
    NoJoints,
    /// Joints and places are not equally many.
    #[error("there are {found} places for {expected} joints")]
    Places {
        /// How many places there are.
        found: usize,
        /// How many joints.
        expected: usize,
    },
    /// The joints are no trees, or stand nowhere.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// There is no skin.
    #[error("the skin has no triangles")]
    NoTriangles,
    /// The skin has holes or more than two triangles at an edge, or triangles that look to different sides.
    #[error("the skin {what} at {count} edges, the first near {position}; {cure}, or supply a rig")]
    NotClosed {
        /// What is wrong, in words.
        what: &'static str,
        /// At how many edges.
        count: usize,
        /// Where the first is.
        position: Vec3,
        /// What helps.
        cure: &'static str,
    },
    /// The skin is several surfaces.
    #[error(
        "the skin is made of {count} separate shells, the largest with {largest} of {points} points; keep the body alone \
         (without eyes, teeth or clothes), or supply a rig"
    )]
    Shells {
        /// How many shells.
        count: usize,
        /// Points of the largest one.
        largest: usize,
        /// Points of all.
        points: usize,
    },
    /// The skin is not that of a standing human.
    #[error(
        "this does not look like a standing human: {0}; check which axis is up, bring the body into an A- or T-pose, or \
         supply a rig"
    )]
    NotHuman(String),
}
