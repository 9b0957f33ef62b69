//! The transform of a scene of any unit and up axis to glTF's metres and Y up.
//!
//! glTF has no other units. A scene in centimetres with Z up keeps its coordinates: a root node rotates and scales it
//! for viewers; a mark in its `extras` identifies it to the reader of dermis.

use dermis_mesh::{Units, UpAxis};
use glam::{DAffine3, DQuat, DVec3};

/// Rotation and scale that convert coordinates in `units` to metres with Y up; unknown units are not converted.
pub(super) fn upright(units: Units) -> (DQuat, f64) {
    let quarter = std::f64::consts::FRAC_PI_2;
    let rotation = match units.up_axis {
        Some(UpAxis::X) => DQuat::from_rotation_z(quarter),
        Some(UpAxis::Z) => DQuat::from_rotation_x(-quarter),
        Some(UpAxis::Y) | None => DQuat::IDENTITY,
    };
    (rotation, units.metres_per_unit.unwrap_or(1.0))
}

/// The same as a transform.
pub(super) fn upright_transform(units: Units) -> DAffine3 {
    let (rotation, scale) = upright(units);
    DAffine3::from_scale_rotation_translation(DVec3::splat(scale), rotation, DVec3::ZERO)
}

/// The name of an axis in the mark.
pub(super) fn axis_name(axis: UpAxis) -> &'static str {
    match axis {
        UpAxis::X => "X",
        UpAxis::Y => "Y",
        UpAxis::Z => "Z",
    }
}

/// The axis of a name in the mark.
pub(super) fn axis_of_name(name: &str) -> Option<UpAxis> {
    [UpAxis::X, UpAxis::Y, UpAxis::Z].into_iter().find(|axis| axis_name(*axis) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_up_axis_points_to_y() {
        for (axis, direction) in [(UpAxis::X, DVec3::X), (UpAxis::Y, DVec3::Y), (UpAxis::Z, DVec3::Z)] {
            let units = Units { metres_per_unit: Some(0.01), up_axis: Some(axis) };
            let up = upright_transform(units).transform_vector3(direction);
            assert!(up.distance(0.01 * DVec3::Y) < 1e-15, "{axis:?} points to {up}");
            assert_eq!(axis_of_name(axis_name(axis)), Some(axis));
        }
    }
}
