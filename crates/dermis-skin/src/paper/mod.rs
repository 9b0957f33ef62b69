//! The paper's own method (SMA, §4–5): near-rigid clusters of triangles become bones, and weights follow from them.
//!
//! It gives the bones that the refinement starts from, and with the refinement off it is the whole fit.

pub mod bones;
pub mod clusters;
pub(crate) mod parts;
pub mod rotation_sequences;
pub mod weights;
