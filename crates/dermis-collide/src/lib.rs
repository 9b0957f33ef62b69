//! Collision detection for skinned animations: contacts, ray casts and nearby surface points in any pose.
//!
//! A [`DeformationTree`] is built once per rigged mesh, on the regions of its bones (James & Twigg 2005, Figure 18). Its
//! spheres follow the joint transforms and shape weights of a pose without the points: see `tree`. A [`PosedTree`]
//! evaluates only the spheres and points that a query visits, so the cost of a pose is that of its joints, and the cost of
//! a query that of its result.

#![forbid(unsafe_code)]

mod contact;
mod posed;
mod ray;
mod tree;
mod triangles;

pub use contact::{Contact, contacts};
pub use posed::{PosedTree, Sphere, SurfaceContact};
pub use ray::{Ray, RayHit};
pub use tree::DeformationTree;

/// Reasons why an object has no deformation tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CollideError {
    /// The object has no triangles.
    #[error("'{0}' has no triangles")]
    NoTriangles(String),
    /// The object moves by recorded frames, without a skin.
    #[error("'{0}' has recorded frames and no skin")]
    NoSkin(String),
    /// A layer changes the points in a way that joint transforms do not bound.
    #[error("'{object}' has a layer '{layer}', which collision detection does not support")]
    Layer {
        /// The object.
        object: String,
        /// Type of the layer.
        layer: String,
    },
    /// The joint transforms or shape weights of a pose have another count than those of the rig.
    #[error("a pose has {found} {what}, but the rig has {expected}")]
    Pose {
        /// Description of the counted elements.
        what: &'static str,
        /// Actual number.
        found: usize,
        /// Required number.
        expected: usize,
    },
}

impl CollideError {
    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoSkin(_) => Some("fit a skin to the frames first"),
            Self::Layer { .. } => Some("write the layers as corrective shapes first"),
            _ => None,
        }
    }
}
