//! Measures of a skin: its error relative to the recorded motion, and the quality of its rig.

pub mod bone_condition;
pub mod compare;
pub mod crossfade;
mod distortion;
pub mod rest_noise;
mod rig_quality;
pub mod shading;
pub mod statistics;
pub mod weight_structure;

pub use distortion::{Measures, compression, measure};
pub use rig_quality::{RigQuality, RigQualityError, rig_quality};
