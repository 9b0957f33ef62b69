//! Measures of a skin: what it plays against what was recorded, and the structure of its weights.

pub mod compare;
mod distortion;
pub mod statistics;

pub use distortion::{Measures, compression, measure};
