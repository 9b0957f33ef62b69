//! Options of the wrinkle layer.

use serde::{Deserialize, Serialize};

/// Options of [`super::WrinkleLayer`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WrinkleOptions {
    /// The smallest radius of a fold, in scene units: the thickness and stiffness of the cloth. Larger gives fewer and
    /// larger folds. `None`: from the size of the triangles.
    pub min_radius: Option<f32>,
    /// The compression, 0 to 1, that makes a wrinkle. Larger leaves slight compression smooth.
    pub threshold: f32,
    /// Frames that a wrinkle takes to grow or fade. Larger is calmer.
    pub fade_frames: f32,
    /// The part of the compression that is carried over from the frame before, 0 to 1. Larger is calmer and later.
    pub smoothing: f32,
    /// The longest a wrinkle reaches to either side of its middle, in radii.
    pub longest: f32,
}

impl Default for WrinkleOptions {
    fn default() -> Self {
        Self { min_radius: None, threshold: 0.005, fade_frames: 8.0, smoothing: 0.35, longest: 60.0 }
    }
}
