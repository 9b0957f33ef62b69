//! Eight numbers at once, without intrinsics: loops of fixed length that the compiler turns into vector instructions
//! where the function around them is compiled for a processor that has them.
//!
//! `FMA` says whether products and sums are fused. It must only be set where the processor fuses them in one
//! instruction; elsewhere the standard library's exact fused product is a slow call.

#![allow(clippy::inline_always, reason = "a call per operation would cost more than the operation")]

use std::array::from_fn;
use std::ops::{Add, Mul, Neg, Sub};

/// The number of lanes.
pub(super) const LANES: usize = 8;

/// Eight numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(32))]
pub(super) struct F8<const FMA: bool>(pub(super) [f32; LANES]);

/// A 3×3 matrix in each lane, `m[row][column]`.
pub(super) type M3<const FMA: bool> = [[F8<FMA>; 3]; 3];

macro_rules! lanewise {
    ($trait:ident, $method:ident, $operator:tt) => {
        impl<const FMA: bool> $trait for F8<FMA> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(from_fn(|lane| self.0[lane] $operator other.0[lane]))
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
    fn neg(self) -> Self {
        Self(self.0.map(|x| -x))
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
    pub(super) fn mul_add(self, factor: Self, term: Self) -> Self {
        Self(from_fn(|lane| {
            if FMA {
                self.0[lane].mul_add(factor.0[lane], term.0[lane])
            } else {
                self.0[lane] * factor.0[lane] + term.0[lane]
            }
        }))
    }

    #[inline(always)]
    pub(super) fn reciprocal(self) -> Self {
        Self(self.0.map(|x| 1.0 / x))
    }

    #[inline(always)]
    pub(super) fn sqrt(self) -> Self {
        Self(self.0.map(f32::sqrt))
    }

    #[inline(always)]
    pub(super) fn abs(self) -> Self {
        Self(self.0.map(f32::abs))
    }

    /// The larger of each lane.
    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        Self(from_fn(|lane| if self.0[lane] > other.0[lane] { self.0[lane] } else { other.0[lane] }))
    }

    /// `yes` in the lanes where `self` exceeds `bound`, `no` in the others and where `self` is not a number.
    #[inline(always)]
    pub(super) fn select_above(self, bound: Self, yes: Self, no: Self) -> Self {
        Self(from_fn(|lane| if self.0[lane] > bound.0[lane] { yes.0[lane] } else { no.0[lane] }))
    }

    /// Whether all lanes are below `bound`.
    #[inline(always)]
    pub(super) fn all_below(self, bound: f32) -> bool {
        self.0.iter().fold(true, |all, &x| all & (x < bound))
    }
}

/// `a · b + term` of three-vectors.
#[inline(always)]
pub(super) fn dot<const FMA: bool>(a: [F8<FMA>; 3], b: [F8<FMA>; 3]) -> F8<FMA> {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

/// The matrix with rows and columns exchanged.
#[inline(always)]
pub(super) fn transpose<const FMA: bool>(m: M3<FMA>) -> M3<FMA> {
    from_fn(|row| from_fn(|column| m[column][row]))
}

/// `a bᵀ`.
#[inline(always)]
pub(super) fn times_transpose<const FMA: bool>(a: M3<FMA>, b: M3<FMA>) -> M3<FMA> {
    from_fn(|row| from_fn(|column| dot(a[row], b[column])))
}

/// `m v`.
#[inline(always)]
pub(super) fn times_vector<const FMA: bool>(m: M3<FMA>, v: [F8<FMA>; 3]) -> [F8<FMA>; 3] {
    m.map(|row| dot(row, v))
}
