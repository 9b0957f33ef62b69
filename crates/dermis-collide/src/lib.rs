//! Collision detection for skinned animations: contacts between meshes, ray casts and contacts with balls, in any pose.
//!
//! A [`DeformationTree`] is built once per rigged mesh, with a subtree for the region of each bone (James & Twigg 2005,
//! Figure 18). In a pose, its bounding spheres are computed from the joint transforms and blend shape weights, without
//! posing the points: see `tree`. A [`PosedTree`] evaluates only the spheres and points that a query visits. Setting a
//! pose costs a few operations per joint and region, and the cost of a query depends on how close the surfaces are.

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
    /// The object has recorded frames, but no skin.
    #[error("'{0}' has recorded frames, but no skin")]
    NoSkin(String),
    /// A layer moves points by distances that the joint transforms do not bound.
    #[error("'{object}' has a layer '{layer}', which collision detection does not support")]
    Layer {
        /// The object.
        object: String,
        /// Type of the layer.
        layer: String,
    },
    /// The number of joint transforms or shape weights of a pose differs from that of the rig.
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
