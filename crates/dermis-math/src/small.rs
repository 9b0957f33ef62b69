//! Dense systems of a handful of unknowns, on the stack: a point has few bones, but there are many points.

/// The most unknowns.
pub const MOST: usize = 8;

/// A symmetric matrix of at most [`MOST`] unknowns; entries beyond the unknowns are not read.
pub type Gram = [[f64; MOST]; MOST];

/// Σ a·b.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves `a x = b` for the leading `n` unknowns of a positive definite `a`; `x` holds b before and the solution after.
///
/// Overwrites `a` with its Cholesky factor. Pivots that rounding has made negative are lifted to the smallest positive
/// number, so a singular system gives a huge answer rather than NaN: callers add a ridge.
pub fn cholesky_solve(a: &mut Gram, x: &mut [f64; MOST], n: usize) {
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
