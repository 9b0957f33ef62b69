//! The paper's own method (SMA, §4–5): near-rigid clusters of triangles become bones, and weights follow from them.
//!
//! It gives the bones that the refinement starts from, and with the refinement off it is the whole fit.

pub(crate) mod cluster_bones;
pub mod mean_shift_clusters;
pub(crate) mod parts;
pub mod rotation_sequences;
pub(crate) mod weights;
