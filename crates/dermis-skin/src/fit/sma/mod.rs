//! The method of the paper (SMA, §4–5): near-rigid clusters of triangles determine the bones, and the bones the
//! weights.
//!
//! It provides the initial bones of the refinement; without refinement it is the complete fit.

pub(crate) mod cluster_bones;
pub mod mean_shift_clusters;
pub(crate) mod parts;
pub mod rotation_sequences;
pub(crate) mod weights;
