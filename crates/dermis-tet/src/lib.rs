//! Volumes of bodies: tetrahedra that fill a skin, harmonic fields in them, and skin weights for bones inside them.

#![forbid(unsafe_code)]

pub mod bone_nodes;
pub mod bone_weights;
mod connected;
pub mod harmonic;
pub mod tetrahedra;
