//! Linear part of a bone that fits weighted points best, for each bone model.

use dermis_math::polar::polar_rotation;
use glam::{DMat3, DVec3};

use crate::bone_model::BoneModel;

/// Returns the linear part that minimizes `tr(F H Fᵀ) − 2 tr(F Cᵀ)` under the model, given `C = Σ q pᵀ` and `H = Σ p
/// pᵀ`, both centred. `previous` determines the directions that the data do not.
pub(crate) fn best_linear(model: BoneModel, cross: DMat3, square: DMat3, previous: DMat3) -> DMat3 {
    match model {
        BoneModel::Flexible => cross * square.inverse(),
        BoneModel::Rigid => polar_rotation(cross),
        BoneModel::Scaled => {
            // R and the scales alternate: each has a closed form with the other fixed.
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
