//! The bone model: `rigid`, `scaled` or `flexible`.

use glam::{DMat3, DVec3};

use crate::blend::palette;
use crate::skin::Skin;

/// Set of transforms that a bone can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BoneModel {
    /// Rotation and translation, 7 floats.
    Rigid,
    /// Rotation, translation and a scale along the axes of the rest space, no shear, 10 floats.
    Scaled,
    /// Any affine transform, 12 floats.
    #[default]
    Flexible,
}

impl BoneModel {
    /// Name of the model, as in options and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Scaled => "scaled",
            Self::Flexible => "flexible",
        }
    }

    /// Returns the simplest model that contains all bone transforms of `skin`.
    pub fn of_skin(skin: &Skin) -> Self {
        let mut model = Self::Rigid;
        for clip in skin.clips() {
            for frame in 0..clip.frame_count() {
                for bone in palette(skin.rig(), clip, frame) {
                    match of_linear(bone.matrix3) {
                        Self::Flexible => return Self::Flexible,
                        Self::Scaled => model = Self::Scaled,
                        Self::Rigid => {}
                    }
                }
            }
        }
        model
    }

    /// Numbers per bone and frame: the f of `compression`.
    pub fn float_count(self) -> usize {
        match self {
            Self::Rigid => 7,
            Self::Scaled => 10,
            Self::Flexible => 12,
        }
    }
}

fn of_linear(linear: DMat3) -> BoneModel {
    // Deviation from a right angle caused by single precision in a file.
    const ROUNDING: f64 = 1e-4;
    let square = linear.transpose() * linear;
    let size = (square.x_axis.x + square.y_axis.y + square.z_axis.z) / 3.0;
    let shear = square.x_axis.y.abs().max(square.x_axis.z.abs()).max(square.y_axis.z.abs());
    let diagonal = DVec3::new(square.x_axis.x, square.y_axis.y, square.z_axis.z);
    if shear > ROUNDING * size {
        BoneModel::Flexible
    } else if (diagonal - DVec3::ONE).abs().max_element() > ROUNDING {
        BoneModel::Scaled
    } else {
        BoneModel::Rigid
    }
}
