//! Singular value decomposition of a 3×3 matrix: `M = U Σ Vᵀ`.
//!
//! One-sided Jacobi (Hestenes 1958): plane rotations from the right make the columns of `A = M V` orthogonal; their
//! lengths are `Σ` and their directions `U`. `MᵀM` is never formed, so small singular values keep their precision, and
//! repeated or zero values need no special case. The matrix is first divided by a power of two, which is exact, so that
//! squares neither overflow nor underflow.
//!
//! Finally `U` is completed by orthogonalization: if a column of `A` is zero or rounding noise, any direction orthogonal
//! to the other columns is valid. The order of the rotations is fixed and their number bounded, so the result is
//! deterministic.

use glam::{DMat3, DVec3};

/// Maximum number of sweeps of three rotations each; six are enough in practice, as convergence is quadratic.
const MAX_SWEEPS: usize = 16;
/// Cosine of the angle between two columns below which they are orthogonal.
const ORTHOGONAL: f64 = f64::EPSILON;

/// Factors of `M = U Σ Vᵀ`; see [`svd3`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Svd3 {
    /// Left singular vectors as columns; orthonormal, with determinant 1 or −1.
    pub u: DMat3,
    /// Singular values, non-negative and descending.
    pub sigma: DVec3,
    /// Right singular vectors as columns; orthonormal, with determinant 1 or −1.
    pub v: DMat3,
}

impl Svd3 {
    /// Product `U Σ Vᵀ`.
    pub fn product(&self) -> DMat3 {
        self.u * DMat3::from_diagonal(self.sigma) * self.v.transpose()
    }
}

/// Decomposes `m`. If `m` contains NaN or infinity, `u` and `v` are the identity and `sigma` is NaN; a singular value
/// beyond the range of `f64` is infinite.
pub fn svd3(m: DMat3) -> Svd3 {
    if !m.is_finite() {
        return Svd3 { u: DMat3::IDENTITY, sigma: DVec3::NAN, v: DMat3::IDENTITY };
    }
    let largest = m.to_cols_array().into_iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let scale = power_of_two_below(largest);
    let mut a = [m.x_axis / scale, m.y_axis / scale, m.z_axis / scale];
    let mut v = [DVec3::X, DVec3::Y, DVec3::Z];
    for _ in 0..MAX_SWEEPS {
        let rotated = [(0, 1), (0, 2), (1, 2)].map(|(p, q)| orthogonalize(&mut a, &mut v, p, q));
        if rotated == [false; 3] {
            break;
        }
    }
    sort_by_length(&mut a, &mut v);
    let lengths = DVec3::from(a.map(DVec3::length));
    Svd3 { u: orthonormal_directions(a), sigma: lengths * scale, v: DMat3::from_cols(v[0], v[1], v[2]) }
}

/// Largest power of two not greater than `x`, but at least the smallest normal number.
fn power_of_two_below(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    f64::from_bits(x.to_bits() & EXPONENT).max(f64::MIN_POSITIVE)
}

/// Rotates columns `p` and `q` in their plane until they are orthogonal; returns false if they already are.
fn orthogonalize(a: &mut [DVec3; 3], v: &mut [DVec3; 3], p: usize, q: usize) -> bool {
    let (alpha, beta, gamma) = (a[p].length_squared(), a[q].length_squared(), a[p].dot(a[q]));
    if gamma.abs() <= ORTHOGONAL * (alpha * beta).sqrt() {
        return false;
    }
    let zeta = (beta - alpha) / (2.0 * gamma);
    // The smaller root is the rotation by at most 45°, with which the sweeps converge.
    let t = 1.0_f64.copysign(zeta) / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
    let c = 1.0 / (1.0 + t * t).sqrt();
    let s = c * t;
    for columns in [a, v] {
        (columns[p], columns[q]) = (columns[p] * c - columns[q] * s, columns[p] * s + columns[q] * c);
    }
    true
}

/// Sorts by descending length; columns of equal length keep their order.
fn sort_by_length(a: &mut [DVec3; 3], v: &mut [DVec3; 3]) {
    for (i, j) in [(0, 1), (1, 2), (0, 1)] {
        if a[i].length_squared() < a[j].length_squared() {
            a.swap(i, j);
            v.swap(i, j);
        }
    }
}

/// Directions of orthogonal columns sorted by descending length; undetermined directions are completed.
fn orthonormal_directions([a0, a1, a2]: [DVec3; 3]) -> DMat3 {
    let u0 = a0.try_normalize().unwrap_or(DVec3::X);
    let u1 = direction_orthogonal_to(a1, u0).unwrap_or_else(|| u0.any_orthonormal_vector());
    let u2 = u0.cross(u1);
    DMat3::from_cols(u0, u1, if a2.dot(u2) < 0.0 { -u2 } else { u2 })
}

/// Direction of `a`, orthogonalized against `u0`; `None` if `a` is zero or rounding noise along `u0`.
fn direction_orthogonal_to(a: DVec3, u0: DVec3) -> Option<DVec3> {
    let direction = a.try_normalize()?;
    let rest = direction - u0 * direction.dot(u0);
    if rest.length_squared() < 0.5 {
        return None;
    }
    let once = rest.normalize();
    Some((once - u0 * once.dot(u0)).normalize())
}

#[cfg(test)]
mod tests {
    use glam::DQuat;
    use proptest::prelude::*;

    use super::*;
    use crate::test_matrices::{matrix, rotation};

    /// A few dozen rounding errors of relative size 1.1e-16 each.
    const TOLERANCE: f64 = 1e-14;

    fn largest(m: DMat3) -> f64 {
        m.to_cols_array().into_iter().fold(0.0, |largest: f64, x| largest.max(x.abs()))
    }

    fn assert_orthonormal(m: DMat3) {
        let error = largest(m.transpose() * m - DMat3::IDENTITY);
        assert!(error < TOLERANCE, "not orthonormal by {error:e}: {m}");
    }

    fn assert_decomposes(m: DMat3) -> Svd3 {
        let svd = svd3(m);
        assert_orthonormal(svd.u);
        assert_orthonormal(svd.v);
        assert!(svd.sigma.x >= svd.sigma.y && svd.sigma.y >= svd.sigma.z && svd.sigma.z >= 0.0, "{}", svd.sigma);
        let error = largest(svd.product() - m);
        assert!(error <= TOLERANCE * largest(m), "off by {error:e} of {}: {m}", largest(m));
        svd
    }

    #[test]
    fn singular_values_of_a_diagonal_matrix_are_its_sorted_magnitudes() {
        let svd = assert_decomposes(DMat3::from_diagonal(DVec3::new(1.0, -5.0, 3.0)));
        assert_eq!(svd.sigma, DVec3::new(5.0, 3.0, 1.0));
    }

    #[test]
    fn zero_and_identity_decompose_without_rotation() {
        for m in [DMat3::ZERO, DMat3::IDENTITY] {
            let svd = assert_decomposes(m);
            assert_eq!((svd.u, svd.v), (DMat3::IDENTITY, DMat3::IDENTITY));
        }
    }

    #[test]
    fn decomposes_matrices_of_rank_one_and_two() {
        let (a, b) = (DVec3::new(1.0, 2.0, 3.0), DVec3::new(-2.0, 0.5, 1.0));
        let line = assert_decomposes(DMat3::from_cols(a, a * 2.0, a * -3.0));
        assert!(line.sigma.y < TOLERANCE * line.sigma.x);
        let plane = assert_decomposes(DMat3::from_cols(a, b, a + b));
        assert!(plane.sigma.z < TOLERANCE * plane.sigma.x && plane.sigma.y > 0.1);
        assert_decomposes(DMat3::from_cols(DVec3::ZERO, DVec3::ZERO, a));
        assert_decomposes(DMat3::from_cols(DVec3::ONE, DVec3::ONE, DVec3::ONE));
    }

    #[test]
    fn decomposes_matrices_at_the_limits_of_the_number_range() {
        let m = DMat3::from_cols_array(&[0.1, 0.5, -0.3, 0.7, -0.2, 0.4, 0.3, 0.3, 0.2]);
        let sigma = svd3(m).sigma;
        for scale in [1e-300, 1e-150, 1e150, 1e307] {
            let scaled = assert_decomposes(m * scale).sigma / scale;
            assert!((scaled - sigma).abs().max_element() < TOLERANCE, "{scaled} at {scale:e}");
        }
        let tiniest = svd3(DMat3::from_diagonal(DVec3::splat(f64::from_bits(1))));
        assert_eq!(tiniest.sigma, DVec3::splat(f64::from_bits(1)));
        assert!(svd3(DMat3::from_cols_array(&[f64::MAX; 9])).sigma.x.is_infinite());
    }

    #[test]
    fn small_singular_values_keep_their_precision() {
        let rotation = DMat3::from_quat(DQuat::from_xyzw(0.1, 0.7, -0.3, 0.5).normalize());
        let svd = assert_decomposes(rotation * DMat3::from_diagonal(DVec3::new(1.0, 1e-9, 1e-18)));
        assert!((svd.sigma.y / 1e-9 - 1.0).abs() < TOLERANCE && (svd.sigma.z / 1e-18 - 1.0).abs() < TOLERANCE);
    }

    #[test]
    fn columns_of_wildly_different_length_stay_orthonormal() {
        let a = DVec3::new(1.0, 2.0, 3.0);
        for tiny in [1e-16, 1e-100, 1e-160, 1e-200, 1e-300] {
            assert_decomposes(DMat3::from_cols(a, (a + DVec3::X) * tiny, DVec3::new(tiny, 0.0, 0.0)));
        }
    }

    #[test]
    fn non_finite_matrices_yield_nan_singular_values_and_identity_rotations() {
        for bad in [f64::NAN, f64::INFINITY] {
            let svd = svd3(DMat3::from_cols_array(&[1.0, 2.0, bad, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]));
            assert!(svd.sigma.is_nan());
            assert_eq!((svd.u, svd.v), (DMat3::IDENTITY, DMat3::IDENTITY));
        }
    }

    proptest! {
        #[test]
        fn any_matrix_is_the_product_of_its_factors(m in matrix()) {
            assert_decomposes(m);
        }

        #[test]
        fn decomposes_nearly_equal_columns(m in matrix(), power in 1..20_i32) {
            let near = m.x_axis + m.y_axis * 10.0_f64.powi(-power);
            assert_decomposes(DMat3::from_cols(m.x_axis, near, m.z_axis));
            assert_decomposes(DMat3::from_cols(near, m.x_axis, near));
        }

        #[test]
        fn recovers_given_singular_values(u in rotation(), v in rotation(), sigma in proptest::array::uniform3(0.0..4.0_f64)) {
            let mut expected = sigma;
            expected.sort_by(|a, b| b.total_cmp(a));
            let found = assert_decomposes(u * DMat3::from_diagonal(sigma.into()) * v.transpose()).sigma;
            prop_assert!((found - DVec3::from(expected)).abs().max_element() <= TOLERANCE * expected[0]);
        }

        #[test]
        fn decomposes_repeated_singular_values(u in rotation(), v in rotation(), twice in 0.0..2.0_f64) {
            assert_decomposes(u * DMat3::from_diagonal(DVec3::new(twice, 1.0, twice)) * v);
            assert_decomposes(u * v * twice);
        }
    }
}
