//! Eight numbers at once, without intrinsics: loops of fixed length that the compiler turns into vector instructions
//! where the function around them is compiled for a processor that has them.
//!
//! No closures: one handed to a function of the standard library is compiled for the least processor, and its fused
//! products become calls (measured: ten times slower). `FMA` says whether products and sums are fused. It must only be
//! set where the processor does that in one instruction.

#![allow(clippy::inline_always, reason = "a call per operation would cost more than the operation")]
#![allow(clippy::large_types_passed_by_value, reason = "all of it is inlined into one kernel and lives in registers")]

use std::ops::{Add, Mul, Neg, Sub};

/// The number of lanes.
pub(super) const LANES: usize = 8;

/// Eight numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(32))]
pub(super) struct F8<const FMA: bool>(pub(super) [f32; LANES]);

/// A vector in each lane.
pub(super) type V3<const FMA: bool> = [F8<FMA>; 3];
/// A 3×3 matrix in each lane, `m[row][column]`.
pub(super) type M3<const FMA: bool> = [V3<FMA>; 3];

macro_rules! lanewise {
    ($trait:ident, $method:ident, $operator:tt) => {
        impl<const FMA: bool> $trait for F8<FMA> {
            type Output = Self;

            #[inline(always)]
            fn $method(mut self, other: Self) -> Self {
                for (x, y) in self.0.iter_mut().zip(other.0) {
                    *x = *x $operator y;
                }
                self
            }
        }
    };
}
lanewise!(Add, add, +);
lanewise!(Sub, sub, -);
lanewise!(Mul, mul, *);

impl<const FMA: bool> Neg for F8<FMA> {
    type Output = Self;

    #[inline(always)]
    fn neg(mut self) -> Self {
        for x in &mut self.0 {
            *x = -*x;
        }
        self
    }
}

impl<const FMA: bool> F8<FMA> {
    pub(super) const ZERO: Self = Self([0.0; LANES]);
    pub(super) const ONE: Self = Self([1.0; LANES]);

    #[inline(always)]
    pub(super) fn splat(x: f32) -> Self {
        Self([x; LANES])
    }

    /// `self · factor + term`.
    #[inline(always)]
    pub(super) fn mul_add(mut self, factor: Self, term: Self) -> Self {
        for ((x, factor), term) in self.0.iter_mut().zip(factor.0).zip(term.0) {
            *x = if FMA { x.mul_add(factor, term) } else { *x * factor + term };
        }
        self
    }

    #[inline(always)]
    pub(super) fn reciprocal(mut self) -> Self {
        for x in &mut self.0 {
            *x = 1.0 / *x;
        }
        self
    }

    #[inline(always)]
    pub(super) fn sqrt(mut self) -> Self {
        for x in &mut self.0 {
            *x = x.sqrt();
        }
        self
    }

    #[inline(always)]
    pub(super) fn abs(mut self) -> Self {
        for x in &mut self.0 {
            *x = x.abs();
        }
        self
    }

    /// The larger of each lane.
    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        self.select_above(other, self, other)
    }

    /// `yes` in the lanes where `self` exceeds `bound`, `no` in the others and where `self` is not a number.
    #[inline(always)]
    pub(super) fn select_above(self, bound: Self, yes: Self, mut no: Self) -> Self {
        for (((result, x), bound), yes) in no.0.iter_mut().zip(self.0).zip(bound.0).zip(yes.0) {
            *result = if x > bound { yes } else { *result };
        }
        no
    }

    /// The largest lane.
    #[inline(always)]
    pub(super) fn largest(self) -> f32 {
        let mut largest = self.0[0];
        for x in self.0 {
            largest = if x > largest { x } else { largest };
        }
        largest
    }
}

/// `a · b`.
#[inline(always)]
pub(super) fn dot<const FMA: bool>(a: V3<FMA>, b: V3<FMA>) -> F8<FMA> {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

/// `factor · v`.
#[inline(always)]
pub(super) fn scaled<const FMA: bool>(v: V3<FMA>, factor: F8<FMA>) -> V3<FMA> {
    [v[0] * factor, v[1] * factor, v[2] * factor]
}

/// `a − b` of matrices.
#[inline(always)]
pub(super) fn difference<const FMA: bool>(mut a: M3<FMA>, b: M3<FMA>) -> M3<FMA> {
    for (a, b) in a.as_flattened_mut().iter_mut().zip(b.as_flattened()) {
        *a = *a - *b;
    }
    a
}

/// The matrix with rows and columns exchanged.
#[inline(always)]
pub(super) fn transpose<const FMA: bool>([a, b, c]: M3<FMA>) -> M3<FMA> {
    [[a[0], b[0], c[0]], [a[1], b[1], c[1]], [a[2], b[2], c[2]]]
}

/// `a bᵀ`.
#[inline(always)]
pub(super) fn times_transpose<const FMA: bool>(a: M3<FMA>, b: M3<FMA>) -> M3<FMA> {
    [times_vector(b, a[0]), times_vector(b, a[1]), times_vector(b, a[2])]
}

/// `m v`.
#[inline(always)]
pub(super) fn times_vector<const FMA: bool>(m: M3<FMA>, v: V3<FMA>) -> V3<FMA> {
    [dot(m[0], v), dot(m[1], v), dot(m[2], v)]
}
