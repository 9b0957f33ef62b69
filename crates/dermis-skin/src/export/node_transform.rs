//! Transform of a node as players compute it: translation, rotation and scale, rounded to f32.

use dermis_math::svd3::svd3;
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// Largest deviation of a node's world transform from the joint's: linear part relative to its size, translation
/// relative to the largest in the rig. Rounding to f32 stays well below.
pub(super) const TOLERANCE: f64 = 2e-6;

/// Transform of a node relative to its parent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NodeTransform {
    /// Translation.
    pub translation: DVec3,
    /// Rotation.
    pub rotation: DQuat,
    /// Scale along the node's own axes.
    pub scale: DVec3,
}

impl NodeTransform {
    /// The transform that does nothing.
    pub(super) const ORIGIN: Self = Self { translation: DVec3::ZERO, rotation: DQuat::IDENTITY, scale: DVec3::ONE };

    /// Transform halfway to `other`, as players blend: rotations along the shorter arc.
    #[must_use]
    pub fn middle(&self, other: &Self) -> Self {
        let (a, b) = (self.rotation, other.rotation);
        let sum = if a.dot(b) < 0.0 { a - b } else { a + b };
        Self {
            translation: self.translation.midpoint(other.translation),
            rotation: if sum.length_squared() > 0.0 { sum.normalize() } else { a },
            scale: self.scale.midpoint(other.scale),
        }
    }

    /// The transform as a matrix.
    pub fn transform(&self) -> DAffine3 {
        DAffine3::from_scale_rotation_translation(self.scale, self.rotation.normalize(), self.translation)
    }

    /// Translation of `transform` and the rotation nearest to it, rounded to f32.
    pub(super) fn unscaled(transform: DAffine3) -> Self {
        let mut svd = svd3(transform.matrix3);
        if svd.u.determinant() * svd.v.determinant() < 0.0 {
            svd.u.z_axis = -svd.u.z_axis;
        }
        let rotation = DQuat::from_mat3(&(svd.u * svd.v.transpose())).normalize();
        Self {
            translation: rounded_vector(transform.translation),
            rotation: rounded_rotation(rotation),
            ..Self::ORIGIN
        }
    }
}

/// Returns whether two world transforms agree up to [`TOLERANCE`]; `extent` is the largest translation in the rig.
pub(super) fn is_close(found: DAffine3, expected: DAffine3, extent: f64) -> bool {
    let size = |matrix: DMat3| matrix.to_cols_array().iter().fold(0.0, |size: f64, number| size.max(number.abs()));
    let linear = size(found.matrix3 - expected.matrix3);
    let translation = (found.translation - expected.translation).length();
    linear <= TOLERANCE * size(expected.matrix3) && translation <= TOLERANCE * extent
}

pub(super) fn rounded_vector(vector: DVec3) -> DVec3 {
    vector.as_vec3().as_dvec3()
}

pub(super) fn rounded_rotation(rotation: DQuat) -> DQuat {
    rotation.as_quat().normalize().as_dquat()
}

/// Lengths and directions of the columns; a reflection becomes a negative first scale.
pub(super) fn scale_and_rotation(matrix: DMat3) -> Option<(DVec3, DQuat)> {
    let mirror = if matrix.determinant() < 0.0 { -1.0 } else { 1.0 };
    let scale = DVec3::new(mirror * matrix.x_axis.length(), matrix.y_axis.length(), matrix.z_axis.length());
    let [x, y, z] = [matrix.x_axis / scale.x, matrix.y_axis / scale.y, matrix.z_axis / scale.z];
    let rotation = DQuat::from_mat3(&DMat3::from_cols(x, y, z)).normalize();
    rotation.is_finite().then_some((scale, rotation))
}
