//! Skeletons for skins without a rig: joints fitted to a human, or those of another rig.
//!
//! | file | content |
//! |---|---|
//! | `skeleton` | joints and their positions |
//! | `fit_human` | joints of a standing human, from the skin alone |
//! | `geodesic`, `sections` | geodesic distances, level sets and plane sections of a surface |
//! | `tips`, `center_line`, `landmarks` | head, hands and feet; centre lines of limbs; bends, thinnest sections and ends |

mod center_line;
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

/// Error of creating or fitting a skeleton.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RiggingError {
    /// The skeleton has no joints.
    #[error("the skeleton has no joints")]
    NoJoints,
    /// The number of positions differs from the number of joints.
    #[error("{found} positions given for {expected} joints; one per joint is required")]
    PositionCount {
        /// Number of positions.
        found: usize,
        /// Number of joints.
        expected: usize,
    },
    /// The joint hierarchy has a cycle, or a position is not finite.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The skin is empty.
    #[error("the skin has no triangles")]
    NoTriangles,
    /// The skin is open, not manifold or inconsistently oriented.
    #[error("the skin {problem} at {count} edges, the first near {position}; {hint}, or supply a rig")]
    NotClosed {
        /// Description of the problem.
        problem: &'static str,
        /// Number of affected edges.
        count: usize,
        /// Position of the first affected edge.
        position: Vec3,
        /// Suggested correction.
        hint: &'static str,
    },
    /// The skin has several shells.
    #[error(
        "the skin has {count} separate shells, the largest with {largest} of {points} points; remove all but the body \
         (eyes, teeth, clothes), or supply a rig"
    )]
    Shells {
        /// Number of shells.
        count: usize,
        /// Number of points of the largest shell.
        largest: usize,
        /// Number of points of the skin.
        points: usize,
    },
    /// The skin is not that of a standing human.
    #[error("the skin is not that of a standing human: {0}; check the up axis, use an A- or T-pose, or supply a rig")]
    NotHuman(String),
}
