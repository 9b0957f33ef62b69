//! Polar decomposition of a 3×3 matrix: `M = R S`, a proper rotation times a symmetric stretch.
//!
//! From `M = U Σ Vᵀ`: `R = U D Vᵀ` and `S = V D Σ Vᵀ` with `D = diag(1, 1, det(U Vᵀ))`. Among all rotations of
//! determinant 1, `R` is nearest to `M` in the Frobenius norm (Kabsch 1978, Umeyama 1991). If `M` contains a reflection,
//! `D` flips the direction of the smallest stretch, and `S` has one negative eigenvalue.

use glam::{DMat3, DVec3};

use crate::svd3::{Svd3, svd3};

/// Rotation nearest to `m`. Its determinant is 1 even if `m` is singular or contains a reflection.
///
/// If several rotations are equally near (rank 1 or 0), the choice is deterministic. Zero and non-finite matrices yield
/// the identity.
pub fn polar_rotation(m: DMat3) -> DMat3 {
    rotation_of(&svd3(m)).0
}

/// Factors `(R, S)` of `m = R S`; `S` is NaN if `m` is not finite.
pub fn polar(m: DMat3) -> (DMat3, DMat3) {
    let svd = svd3(m);
    let (rotation, sign) = rotation_of(&svd);
    let stretch = svd.v * DMat3::from_diagonal(svd.sigma * sign) * svd.v.transpose();
    (rotation, (stretch + stretch.transpose()) * 0.5)
}

fn rotation_of(svd: &Svd3) -> (DMat3, DVec3) {
    let mirrored = svd.u.determinant() * svd.v.determinant() < 0.0;
    let sign = DVec3::new(1.0, 1.0, if mirrored { -1.0 } else { 1.0 });
    (svd.u * DMat3::from_diagonal(sign) * svd.v.transpose(), sign)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_matrices::{matrix, rotation};

    const TOLERANCE: f64 = 1e-14;

    fn distance(a: DMat3, b: DMat3) -> f64 {
        (a - b).to_cols_array().into_iter().fold(0.0, |largest: f64, x| largest.max(x.abs()))
    }

    fn assert_rotation(r: DMat3) {
        assert!(distance(r.transpose() * r, DMat3::IDENTITY) < TOLERANCE, "not orthonormal: {r}");
        assert!((r.determinant() - 1.0).abs() < TOLERANCE, "determinant {}", r.determinant());
    }

    #[test]
    fn singular_and_reflecting_matrices_yield_a_proper_rotation() {
        for m in [
            DMat3::from_diagonal(DVec3::new(1.0, 1.0, 0.0)),
            DMat3::from_diagonal(DVec3::new(0.0, 2.0, 0.0)),
            DMat3::from_diagonal(DVec3::new(3.0, -2.0, 1.0)),
            -DMat3::IDENTITY,
            DMat3::from_cols_array(&[1.0; 9]),
        ] {
            assert_rotation(polar_rotation(m));
        }
    }

    #[test]
    fn a_reflection_flips_the_direction_of_smallest_stretch() {
        let (rotation, stretch) = polar(DMat3::from_diagonal(DVec3::new(3.0, 2.0, -1.0)));
        assert!(distance(rotation, DMat3::IDENTITY) < TOLERANCE);
        assert!(distance(stretch, DMat3::from_diagonal(DVec3::new(3.0, 2.0, -1.0))) < TOLERANCE);
    }

    #[test]
    fn zero_and_non_finite_matrices_yield_the_identity() {
        assert_eq!(polar_rotation(DMat3::ZERO), DMat3::IDENTITY);
        assert_eq!(polar_rotation(DMat3::NAN), DMat3::IDENTITY);
        assert!(polar(DMat3::NAN).1.is_nan());
    }

    proptest! {
        #[test]
        fn factors_multiply_to_the_matrix(m in matrix()) {
            let (rotation, stretch) = polar(m);
            assert_rotation(rotation);
            prop_assert_eq!(stretch, stretch.transpose());
            prop_assert!(distance(rotation * stretch, m) < TOLERANCE);
        }

        #[test]
        fn recovers_a_rotation_from_a_positive_stretch(r in rotation(), d in proptest::array::uniform3(0.5..2.0_f64), v in rotation()) {
            let stretch = v * DMat3::from_diagonal(d.into()) * v.transpose();
            prop_assert!(distance(polar_rotation(r * stretch), r) < 1e-13);
        }

        #[test]
        fn no_other_rotation_is_nearer(m in matrix(), other in rotation()) {
            let squared = |r: DMat3| (r - m).to_cols_array().into_iter().map(|x| x * x).sum::<f64>();
            prop_assert!(squared(polar_rotation(m)) <= squared(other) + TOLERANCE);
        }
    }
}
