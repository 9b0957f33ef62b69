//! World transforms of prims: the product of the transform operations on a prim and its ancestors.
//!
//! `xformOpOrder` lists operations from the outermost to the innermost: the local transform is their product in that
//! order, applied to column vectors. `!invert!` inverts an operation; `!resetXformStack!` ignores all ancestors.

use glam::{DAffine3, DQuat, DVec3};

use super::prims::{Attribute, Prim, Prims};
use super::timing::{at, blend_quaternion};
use super::values;
use crate::error::Error;

/// The transform from the prim's space to the world's, at `time`.
pub(super) fn local_to_world(prims: &Prims, prim: usize, time: f64) -> Result<DAffine3, Error> {
    let mut world = DAffine3::IDENTITY;
    for ancestor in prims.upwards(prim) {
        let prim = &prims.all[ancestor];
        let (local, resets) = local(prim, time).map_err(|error| error.at(prim.path.clone()))?;
        world = local * world;
        if resets {
            break;
        }
    }
    Ok(world)
}

/// The attributes that [`local_to_world`] depends on.
pub(super) fn attributes_above(prims: &Prims, prim: usize) -> Vec<&Attribute> {
    let mut found = Vec::new();
    for ancestor in prims.upwards(prim) {
        let order = operations(&prims.all[ancestor]);
        let named = |name: &String| prims.all[ancestor].attribute(name.trim_start_matches("!invert!"));
        found.extend(order.iter().filter_map(named));
        if order.iter().any(|name| name == "!resetXformStack!") {
            break;
        }
    }
    found
}

fn operations(prim: &Prim) -> Vec<String> {
    prim.value("xformOpOrder").and_then(values::texts).unwrap_or_default()
}

/// The local transform of the prim, and whether it ignores those of its ancestors.
fn local(prim: &Prim, time: f64) -> Result<(DAffine3, bool), Error> {
    let mut order = operations(prim);
    let reset = order.iter().rposition(|name| name == "!resetXformStack!");
    if let Some(at) = reset {
        order.drain(..=at);
    }
    let mut local = DAffine3::IDENTITY;
    for name in &order {
        let (name, inverts) = name.strip_prefix("!invert!").map_or((name.as_str(), false), |name| (name, true));
        let operation = prim.attribute(name).map(|attribute| operation(name, attribute, time)).transpose()?.flatten();
        // An operation that is listed but has no value has no effect, as in USD.
        let operation = operation.unwrap_or(DAffine3::IDENTITY);
        local *= if inverts { operation.inverse() } else { operation };
    }
    if !local.is_finite() {
        return Err(Error::malformed("the prim's transform is singular or not finite"));
    }
    Ok((local, reset.is_some()))
}

fn operation(name: &str, attribute: &Attribute, time: f64) -> Result<Option<DAffine3>, Error> {
    let kind = name.strip_prefix("xformOp:").unwrap_or(name).split(':').next().unwrap_or_default();
    let vector = || at(attribute, time, values::vector3, DVec3::lerp);
    let number = || at(attribute, time, values::number, |a, b, t| a + (b - a) * t);
    let along = |axis: DVec3| Ok(number().map(|distance| DAffine3::from_translation(axis * distance)));
    let scaling = |axis: DVec3| Ok(number().map(|scale| DAffine3::from_scale(DVec3::ONE + axis * (scale - 1.0))));
    match kind {
        "translate" => Ok(vector().map(DAffine3::from_translation)),
        "translateX" => along(DVec3::X),
        "translateY" => along(DVec3::Y),
        "translateZ" => along(DVec3::Z),
        "scale" => Ok(vector().map(DAffine3::from_scale)),
        "scaleX" => scaling(DVec3::X),
        "scaleY" => scaling(DVec3::Y),
        "scaleZ" => scaling(DVec3::Z),
        "rotateX" | "rotateY" | "rotateZ" => Ok(number().map(|angle| axis_rotation(kind.as_bytes()[6], angle))),
        "rotateXYZ" | "rotateXZY" | "rotateYXZ" | "rotateYZX" | "rotateZXY" | "rotateZYX" => {
            Ok(vector().map(|angles| euler_rotation(&kind.as_bytes()[6..], angles)))
        }
        "orient" => Ok(at(attribute, time, values::quaternion, blend_quaternion).map(rotation)),
        "transform" => Ok(at(attribute, time, values::transform, blend_matrix)),
        _ => Err(Error::unsupported(format!("unknown transform operation '{name}'"))),
    }
}

/// Rotations about the named axes, the first one applied first.
fn euler_rotation(axes: &[u8], degrees: DVec3) -> DAffine3 {
    axes.iter().fold(DAffine3::IDENTITY, |turned, &axis| {
        let degrees = match axis {
            b'X' => degrees.x,
            b'Y' => degrees.y,
            _ => degrees.z,
        };
        axis_rotation(axis, degrees) * turned
    })
}

fn axis_rotation(axis: u8, degrees: f64) -> DAffine3 {
    let axis = match axis {
        b'X' => DVec3::X,
        b'Y' => DVec3::Y,
        _ => DVec3::Z,
    };
    DAffine3::from_quat(DQuat::from_axis_angle(axis, degrees.to_radians()))
}

/// A rotation; one of length zero has no effect.
pub(super) fn rotation(quaternion: DQuat) -> DAffine3 {
    let is_usable = quaternion.is_finite() && quaternion.length_squared() > 0.0;
    DAffine3::from_quat(if is_usable { quaternion.normalize() } else { DQuat::IDENTITY })
}

/// USD interpolates matrices entry by entry.
fn blend_matrix(a: DAffine3, b: DAffine3, t: f64) -> DAffine3 {
    let blend = |a: DVec3, b: DVec3| a.lerp(b, t);
    DAffine3 {
        matrix3: glam::DMat3::from_cols(
            blend(a.matrix3.x_axis, b.matrix3.x_axis),
            blend(a.matrix3.y_axis, b.matrix3.y_axis),
            blend(a.matrix3.z_axis, b.matrix3.z_axis),
        ),
        translation: blend(a.translation, b.translation),
    }
}

#[cfg(test)]
mod tests {
    use openusd::sdf::Value;

    use super::*;

    fn prim(operations: &[(&str, Value)]) -> Prim {
        let mut prim = Prim::default();
        let order = operations.iter().map(|(name, _)| (*name).to_owned()).collect();
        let names = operations.iter().map(|(name, value)| (name.trim_start_matches("!invert!"), value));
        for (name, value) in names {
            let attribute = Attribute { default: Some(value.clone()), ..Attribute::default() };
            prim.attributes.insert(name.to_owned(), attribute);
        }
        let order = Attribute { default: Some(Value::StringVec(order)), ..Attribute::default() };
        prim.attributes.insert("xformOpOrder".to_owned(), order);
        prim
    }

    #[test]
    fn operations_are_applied_from_the_last_to_the_first() {
        let turned = prim(&[("xformOp:translateX", Value::Double(1.0)), ("xformOp:rotateZ", Value::Float(90.0))]);
        let (local, resets) = local(&turned, 0.0).unwrap();
        assert!(local.transform_point3(DVec3::X).distance(DVec3::new(1.0, 1.0, 0.0)) < 1e-12);
        assert!(!resets);
    }

    #[test]
    fn an_operation_and_its_inverse_cancel() {
        let angle = || Value::Vec3f(openusd::gf::vec3f(10.0, 20.0, 30.0));
        let pivoted = prim(&[("xformOp:rotateXYZ", angle()), ("!invert!xformOp:rotateXYZ", angle())]);
        let (local, _) = local(&pivoted, 0.0).unwrap();
        assert!(local.abs_diff_eq(DAffine3::IDENTITY, 1e-12));
    }
}
