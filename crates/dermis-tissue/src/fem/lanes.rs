//! Vectors and matrices of four elements at once: each entry is a [`Vec4`] with one lane per element.
//!
//! glam compiles four lanes to vector instructions on every processor that it supports, so that no version per processor
//! is needed. Arrays of eight numbers compiled for AVX2 were tried; half of the generated code was scalar.

#![allow(clippy::inline_always, reason = "a call per operation would cost more than the operation")]
#![allow(clippy::large_types_passed_by_value, reason = "all of it is inlined into one kernel and lives in registers")]

use glam::{Mat4, Vec4};

/// Number of lanes.
pub(super) const LANES: usize = 4;

/// A vector in each lane.
pub(super) type V3 = [Vec4; 3];
/// A 3×3 matrix in each lane, `m[row][column]`.
pub(super) type M3 = [V3; 3];

/// `a · b`.
#[inline(always)]
pub(super) fn dot(a: V3, b: V3) -> Vec4 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// `factor · v`.
#[inline(always)]
pub(super) fn scaled(v: V3, factor: Vec4) -> V3 {
    [v[0] * factor, v[1] * factor, v[2] * factor]
}

/// `a − b` of matrices.
#[inline(always)]
pub(super) fn difference(mut a: M3, b: M3) -> M3 {
    for (a, b) in a.as_flattened_mut().iter_mut().zip(b.as_flattened()) {
        *a -= *b;
    }
    a
}

/// `mᵀ`.
#[inline(always)]
pub(super) fn transpose([a, b, c]: M3) -> M3 {
    [[a[0], b[0], c[0]], [a[1], b[1], c[1]], [a[2], b[2], c[2]]]
}

/// `a bᵀ`.
#[inline(always)]
pub(super) fn times_transpose(a: M3, b: M3) -> M3 {
    [times_vector(b, a[0]), times_vector(b, a[1]), times_vector(b, a[2])]
}

/// `m v`.
#[inline(always)]
pub(super) fn times_vector(m: M3, v: V3) -> V3 {
    [dot(m[0], v), dot(m[1], v), dot(m[2], v)]
}

/// `m + I`.
#[inline(always)]
pub(super) fn plus_identity(mut m: M3) -> M3 {
    for (k, row) in m.iter_mut().enumerate() {
        row[k] += Vec4::ONE;
    }
    m
}

/// Selects `yes` in lanes with `x > bound`, and `no` in all others, including those with a NaN.
#[inline(always)]
pub(super) fn select_above(x: Vec4, bound: Vec4, yes: Vec4, no: Vec4) -> Vec4 {
    Vec4::select(x.cmpgt(bound), yes, no)
}

/// Transposes lanes: the k-th result holds lane k of each argument.
#[inline(always)]
pub(super) fn exchange([a, b, c, d]: [Vec4; 4]) -> [Vec4; 4] {
    let exchanged = Mat4::from_cols(a, b, c, d).transpose();
    [exchanged.x_axis, exchanged.y_axis, exchanged.z_axis, exchanged.w_axis]
}

/// `det m`.
#[inline(always)]
pub(super) fn determinant([a, b, c]: M3) -> Vec4 {
    let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    dot(cross, c)
}
