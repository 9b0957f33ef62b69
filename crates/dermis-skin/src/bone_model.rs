//! What a bone may do: `rigid`, `scaled` or `flexible`.

use dermis_math::polar::polar_rotation;
use glam::{DMat3, DVec3};

use crate::corrections::palette;
use crate::skin::Skin;

/// What a bone's transform may be.
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
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Scaled => "scaled",
            Self::Flexible => "flexible",
        }
    }

    /// The plainest model that can say what the bones of `skin` do.
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

    /// The numbers that one bone takes in one frame; the f of `compression`.
    pub fn float_count(self) -> usize {
        match self {
            Self::Rigid => 7,
            Self::Scaled => 10,
            Self::Flexible => 12,
        }
    }
}

fn of_linear(linear: DMat3) -> BoneModel {
    // What single precision in a file leaves of a right angle.
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

/// The linear part that minimises `tr(F H Fᵀ) − 2 tr(F Cᵀ)` under the model, given `C = Σ q pᵀ` and `H = Σ p pᵀ`, both
/// centred. `previous` settles what the data leave open.
pub(crate) fn best_linear(model: BoneModel, cross: DMat3, square: DMat3, previous: DMat3) -> DMat3 {
    match model {
        BoneModel::Flexible => cross * square.inverse(),
        BoneModel::Rigid => polar_rotation(cross),
        BoneModel::Scaled => {
            // R and the scales in turn: each has a closed form with the other fixed.
            let mut scale = DVec3::new(previous.x_axis.length(), previous.y_axis.length(), previous.z_axis.length());
            let mut rotation = DMat3::IDENTITY;
            for _ in 0..4 {
                rotation = polar_rotation(cross * DMat3::from_diagonal(scale));
                for axis in 0..3 {
                    let weight = square.col(axis)[axis];
                    if weight > 0.0 {
                        scale[axis] = (rotation.col(axis).dot(cross.col(axis)) / weight).clamp(0.01, 100.0);
                    }
                }
            }
            rotation * DMat3::from_diagonal(scale)
        }
    }
}
