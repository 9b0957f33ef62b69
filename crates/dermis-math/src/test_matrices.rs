//! Random 3×3 matrices for the tests of the decompositions.

use glam::{DMat3, DQuat};
use proptest::prelude::*;

/// Matrices with entries between −1 and 1.
pub(crate) fn matrix() -> impl Strategy<Value = DMat3> {
    proptest::array::uniform9(-1.0..1.0_f64).prop_map(|m| DMat3::from_cols_array(&m))
}

/// Rotations.
pub(crate) fn rotation() -> impl Strategy<Value = DMat3> {
    proptest::array::uniform4(-1.0..1.0_f64).prop_map(|[x, y, z, w]| {
        let q = DQuat::from_xyzw(x, y, z, w);
        DMat3::from_quat(if q.length_squared() > 1e-3 { q.normalize() } else { DQuat::IDENTITY })
    })
}
