//! Options of the wrinkle layer.

use serde::{Deserialize, Serialize};

/// Options of [`super::WrinkleLayer`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WrinkleOptions {
    /// Minimum radius of a fold, in scene units; it represents the thickness and stiffness of the cloth. Larger values
    /// give fewer and larger folds. `None`: derived from the size of the triangles.
    pub min_radius: Option<f32>,
    /// Compression, 0 to 1, above which wrinkles start. Larger values keep slight compression smooth.
    pub threshold: f32,
    /// Number of frames in which a wrinkle grows or fades. Larger values give smoother motion.
    pub fade_frames: f32,
    /// Fraction of the compression that is carried over from the previous frame, 0 to 1. Larger values give smoother
    /// and more delayed wrinkles.
    pub smoothing: f32,
    /// Maximum length of a wrinkle on each side of its seed, in radii.
    pub max_length: f32,
}

impl Default for WrinkleOptions {
    fn default() -> Self {
        Self { min_radius: None, threshold: 0.005, fade_frames: 8.0, smoothing: 0.35, max_length: 60.0 }
    }
}
