//! Dense systems with a handful of unknowns. They are stored on the stack because one is solved per point of a mesh.

/// Maximum number of unknowns.
pub const MAX_UNKNOWNS: usize = 8;

/// Symmetric matrix of at most [`MAX_UNKNOWNS`] unknowns; entries beyond the number of unknowns are not read.
pub type Gram = [[f64; MAX_UNKNOWNS]; MAX_UNKNOWNS];

/// Dot product.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves `a x = b` for the leading `n` unknowns of a positive definite `a`; `x` contains b on entry and the solution on
/// return.
///
/// Overwrites `a` with its Cholesky factor. Pivots made negative by rounding are raised to the smallest positive number,
/// so a singular system yields huge values instead of NaN; callers add a ridge to avoid this.
pub fn cholesky_solve(a: &mut Gram, x: &mut [f64; MAX_UNKNOWNS], n: usize) {
    for i in 0..n {
        for j in 0..=i {
            let sum = a[i][j] - dot(&a[i][..j], &a[j][..j]);
            a[i][j] = if i == j { sum.max(f64::MIN_POSITIVE).sqrt() } else { sum / a[j][j] };
        }
    }
    for i in 0..n {
        x[i] = (x[i] - dot(&a[i][..i], &x[..i])) / a[i][i];
    }
    for i in (0..n).rev() {
        let below: f64 = (i + 1..n).map(|k| a[k][i] * x[k]).sum();
        x[i] = (x[i] - below) / a[i][i];
    }
}
