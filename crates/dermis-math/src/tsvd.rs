//! Least squares by truncated singular value decomposition, for a handful of unknowns.
//!
//! The eigenvectors of the normal matrix `G = AᵀA` are the right singular vectors of A, and its eigenvalues are the squared
//! singular values. Directions whose singular value is below a fraction of the largest are dropped (SMA, §5.2). The
//! eigenvectors are computed with cyclic Jacobi rotations in a fixed order.

use crate::small::{Gram, MAX_UNKNOWNS, dot};

/// Minimizer of `‖A x − b‖²` in the span of the kept singular vectors, given `G = AᵀA` and `h = Aᵀb`.
///
/// # Panics
/// If there are more than [`MAX_UNKNOWNS`] unknowns.
pub fn tsvd(gram: &Gram, h: &[f64], threshold: f64) -> [f64; MAX_UNKNOWNS] {
    let n = h.len();
    assert!(n <= MAX_UNKNOWNS, "at most {MAX_UNKNOWNS} unknowns are supported");
    let (values, vectors) = eigen(gram, n);
    let largest = values[..n].iter().fold(0.0f64, |largest, value| largest.max(*value));
    let mut x = [0.0; MAX_UNKNOWNS];
    for (value, vector) in values.iter().zip(&vectors).take(n) {
        if *value > largest * threshold * threshold && *value > 0.0 {
            let factor = dot(&vector[..n], h) / value;
            for i in 0..n {
                x[i] += factor * vector[i];
            }
        }
    }
    x
}

/// Eigenvalues, and eigenvectors as rows.
fn eigen(gram: &Gram, n: usize) -> ([f64; MAX_UNKNOWNS], Gram) {
    /// Number of sweeps; convergence is quadratic, so a handful reaches rounding precision.
    const SWEEPS: usize = 12;
    let mut a = *gram;
    let mut vectors: Gram = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))));
    for _ in 0..SWEEPS {
        for p in 0..n {
            for q in p + 1..n {
                annihilate(&mut a, &mut vectors, p, q, n);
            }
        }
    }
    (std::array::from_fn(|i| a[i][i]), vectors)
}

/// Rotation that makes entry (p, q) zero.
fn annihilate(a: &mut Gram, vectors: &mut Gram, p: usize, q: usize, n: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let t = if theta == 0.0 { 1.0 } else { t };
    let c = 1.0 / t.hypot(1.0);
    let s = t * c;
    for row in &mut a[..n] {
        let (kp, kq) = (row[p], row[q]);
        row[p] = c * kp - s * kq;
        row[q] = s * kp + c * kq;
    }
    for k in 0..n {
        let (pk, qk) = (a[p][k], a[q][k]);
        a[p][k] = c * pk - s * qk;
        a[q][k] = s * pk + c * qk;
        let (vp, vq) = (vectors[p][k], vectors[q][k]);
        vectors[p][k] = c * vp - s * vq;
        vectors[q][k] = s * vp + c * vq;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_a_regular_system() {
        let mut gram: Gram = [[0.0; MAX_UNKNOWNS]; MAX_UNKNOWNS];
        gram[0][..3].copy_from_slice(&[4.0, 1.0, 0.5]);
        gram[1][..3].copy_from_slice(&[1.0, 3.0, -1.0]);
        gram[2][..3].copy_from_slice(&[0.5, -1.0, 2.0]);
        let expected = [1.0, -2.0, 0.5];
        let h: Vec<f64> = (0..3).map(|i| dot(&gram[i][..3], &expected)).collect();
        let x = tsvd(&gram, &h, 1e-5);
        assert!(x.iter().zip(expected).all(|(x, expected)| (x - expected).abs() < 1e-12), "{x:?}");
    }

    #[test]
    fn distributes_weight_evenly_between_equal_columns() {
        let mut gram: Gram = [[0.0; MAX_UNKNOWNS]; MAX_UNKNOWNS];
        gram[0][..2].copy_from_slice(&[2.0, 2.0]);
        gram[1][..2].copy_from_slice(&[2.0, 2.0]);
        let x = tsvd(&gram, &[2.0, 2.0], 1e-5);
        assert!((x[0] - 0.5).abs() < 1e-12 && (x[1] - 0.5).abs() < 1e-12);
    }
}
