//! USD values as numbers, vectors, transforms and texts, whatever their precision.

use glam::{DAffine3, DMat3, DMat4, DQuat, DVec3, DVec4, Vec2, Vec3, Vec4};
use openusd::sdf::Value;

/// A number.
pub(super) fn number(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Double(v) => *v,
        Value::Float(v) => f64::from(*v),
        Value::Half(v) => v.to_f64(),
        Value::Int(v) => f64::from(*v),
        Value::Uint(v) => f64::from(*v),
        Value::Int64(v) => *v as f64,
        Value::Uint64(v) => *v as f64,
        Value::TimeCode(v) => v.0,
        _ => return None,
    })
}

/// A text: a token or a string.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Token(token) => Some(token.as_str().to_owned()),
        Value::String(string) => Some(string.clone()),
        _ => None,
    }
}

/// A list of texts.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::TokenVec(tokens) => Some(tokens.iter().map(|token| token.as_str().to_owned()).collect()),
        Value::StringVec(strings) => Some(strings.clone()),
        _ => None,
    }
}

/// A list of integers.
pub(super) fn integers(value: &Value) -> Option<Vec<i32>> {
    match value {
        Value::IntVec(values) => Some(values.clone()),
        Value::UintVec(values) => values.iter().map(|&value| i32::try_from(value).ok()).collect(),
        _ => None,
    }
}

/// A list of numbers.
pub(super) fn numbers(value: &Value) -> Option<Vec<f32>> {
    Some(match value {
        Value::FloatVec(values) => values.clone(),
        Value::DoubleVec(values) => values.iter().map(|&value| value as f32).collect(),
        Value::HalfVec(values) => values.iter().map(|value| value.to_f32()).collect(),
        _ => return None,
    })
}

/// A list of 2-vectors.
pub(super) fn vectors2(value: &Value) -> Option<Vec<Vec2>> {
    Some(match value {
        Value::Vec2fVec(values) => values.iter().map(|v| Vec2::new(v.x, v.y)).collect(),
        Value::Vec2dVec(values) => values.iter().map(|v| Vec2::new(v.x as f32, v.y as f32)).collect(),
        Value::Vec2hVec(values) => values.iter().map(|v| Vec2::new(v.x.to_f32(), v.y.to_f32())).collect(),
        _ => return None,
    })
}

/// A list of 3-vectors.
pub(super) fn vectors3(value: &Value) -> Option<Vec<Vec3>> {
    Some(match value {
        Value::Vec3fVec(values) => values.iter().map(|v| Vec3::new(v.x, v.y, v.z)).collect(),
        Value::Vec3dVec(values) => values.iter().map(|v| Vec3::new(v.x as f32, v.y as f32, v.z as f32)).collect(),
        Value::Vec3hVec(values) => values.iter().map(|v| Vec3::new(v.x.to_f32(), v.y.to_f32(), v.z.to_f32())).collect(),
        _ => return None,
    })
}

/// A list of colours; those without alpha are opaque.
pub(super) fn colors(value: &Value) -> Option<Vec<Vec4>> {
    match value {
        Value::Vec4fVec(values) => Some(values.iter().map(|v| Vec4::new(v.x, v.y, v.z, v.w)).collect()),
        other => Some(vectors3(other)?.into_iter().map(|color| color.extend(1.0)).collect()),
    }
}

/// A 3-vector.
pub(super) fn vector3(value: &Value) -> Option<DVec3> {
    Some(match value {
        Value::Vec3f(v) => DVec3::new(f64::from(v.x), f64::from(v.y), f64::from(v.z)),
        Value::Vec3d(v) => DVec3::new(v.x, v.y, v.z),
        Value::Vec3h(v) => DVec3::new(v.x.to_f64(), v.y.to_f64(), v.z.to_f64()),
        _ => return None,
    })
}

/// A 4-vector.
pub(super) fn vector4(value: &Value) -> Option<DVec4> {
    Some(match value {
        Value::Vec4f(v) => DVec4::new(f64::from(v.x), f64::from(v.y), f64::from(v.z), f64::from(v.w)),
        Value::Vec4d(v) => DVec4::new(v.x, v.y, v.z, v.w),
        other => vector3(other)?.extend(1.0),
    })
}

/// A rotation, as stored (not normalized).
pub(super) fn quaternion(value: &Value) -> Option<DQuat> {
    Some(match value {
        Value::Quatf(q) => DQuat::from_xyzw(f64::from(q.x), f64::from(q.y), f64::from(q.z), f64::from(q.w)),
        Value::Quatd(q) => DQuat::from_xyzw(q.x, q.y, q.z, q.w),
        Value::Quath(q) => DQuat::from_xyzw(q.x.to_f64(), q.y.to_f64(), q.z.to_f64(), q.w.to_f64()),
        _ => return None,
    })
}

/// A list of rotations, as stored (not normalized).
pub(super) fn quaternions(value: &Value) -> Option<Vec<DQuat>> {
    Some(match value {
        Value::QuatfVec(values) => values
            .iter()
            .map(|q| DQuat::from_xyzw(f64::from(q.x), f64::from(q.y), f64::from(q.z), f64::from(q.w)))
            .collect(),
        Value::QuatdVec(values) => values.iter().map(|q| DQuat::from_xyzw(q.x, q.y, q.z, q.w)).collect(),
        Value::QuathVec(values) => {
            values.iter().map(|q| DQuat::from_xyzw(q.x.to_f64(), q.y.to_f64(), q.z.to_f64(), q.w.to_f64())).collect()
        }
        _ => return None,
    })
}

/// A transform. USD multiplies row vectors, so the rows of its matrices are our columns.
pub(super) fn transform(value: &Value) -> Option<DAffine3> {
    match value {
        Value::Matrix4d(matrix) => Some(affine(&matrix.0)),
        _ => None,
    }
}

/// A list of transforms.
pub(super) fn transforms(value: &Value) -> Option<Vec<DAffine3>> {
    match value {
        Value::Matrix4dVec(matrices) => Some(matrices.iter().map(|matrix| affine(&matrix.0)).collect()),
        _ => None,
    }
}

fn affine(rows: &[f64; 16]) -> DAffine3 {
    let matrix = DMat4::from_cols_array(rows);
    DAffine3::from_mat3_translation(DMat3::from_mat4(matrix), matrix.w_axis.truncate())
}

/// Approximate memory of a value, in bytes.
pub(super) fn size(value: &Value) -> usize {
    const VALUE: usize = 64;
    VALUE
        + match value {
            Value::IntVec(v) => 4 * v.len(),
            Value::FloatVec(v) => 4 * v.len(),
            Value::DoubleVec(v) => 8 * v.len(),
            Value::TokenVec(v) => 32 * v.len(),
            Value::StringVec(v) => v.iter().map(|text| 24 + text.len()).sum(),
            Value::Vec2fVec(v) => 8 * v.len(),
            Value::Vec3fVec(v) => 12 * v.len(),
            Value::Vec3dVec(v) => 24 * v.len(),
            Value::Vec4fVec(v) => 16 * v.len(),
            Value::QuatfVec(v) => 16 * v.len(),
            Value::QuatdVec(v) => 32 * v.len(),
            Value::Matrix4dVec(v) => 128 * v.len(),
            _ => 0,
        }
}

/// The number of 3-vectors in a list.
pub(super) fn vector3_count(value: &Value) -> usize {
    match value {
        Value::Vec3fVec(values) => values.len(),
        Value::Vec3dVec(values) => values.len(),
        Value::Vec3hVec(values) => values.len(),
        _ => 0,
    }
}
