//! Eigenvalues and eigenvectors of symmetric matrices: `A = V Λ Vᵀ`.
//!
//! Cyclic Jacobi rotations (Golub & Van Loan, *Matrix Computations*, §8.5): simple, and accurate to rounding for matrices
//! of up to a few hundred rows. The order of the rotations is fixed, so the result is deterministic.

/// Maximum number of sweeps; five to ten are enough in practice.
const MAX_SWEEPS: usize = 40;

/// Eigenvalues in descending order, and their unit eigenvectors.
#[derive(Debug, Clone, PartialEq)]
pub struct SymmetricEigen {
    /// Eigenvalues.
    pub values: Vec<f64>,
    /// The eigenvector of each eigenvalue.
    pub vectors: Vec<Vec<f64>>,
}

/// Decomposes the symmetric matrix `a` with `n` rows; only its upper triangle is used.
///
/// # Panics
/// If `a` does not have `n · n` numbers.
pub fn symmetric_eigen(a: &[f64], n: usize) -> SymmetricEigen {
    assert_eq!(a.len(), n * n, "the matrix must be square");
    let mut a = a.to_vec();
    for i in 0..n {
        for j in 0..i {
            a[i * n + j] = a[j * n + i];
        }
    }
    // Row k of `v` is the k-th eigenvector.
    let mut v = vec![0.0; n * n];
    (0..n).for_each(|i| v[i * n + i] = 1.0);
    let total: f64 = a.iter().map(|x| x * x).sum();
    for _ in 0..MAX_SWEEPS {
        let off: f64 = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).map(|(i, j)| a[i * n + j].powi(2)).sum();
        if off <= 1e-30 * total {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut v, n, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[j * n + j].total_cmp(&a[i * n + i]).then(i.cmp(&j)));
    SymmetricEigen {
        values: order.iter().map(|&i| a[i * n + i]).collect(),
        vectors: order.iter().map(|&i| v[i * n..(i + 1) * n].to_vec()).collect(),
    }
}

/// Applies the rotation that makes `a[p, q]` zero.
fn rotate(a: &mut [f64], v: &mut [f64], n: usize, p: usize, q: usize) {
    let apq = a[p * n + q];
    if apq == 0.0 {
        return;
    }
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
    let t = if theta == 0.0 { 1.0 } else { theta.signum() / (theta.abs() + (1.0 + theta * theta).sqrt()) };
    let c = 1.0 / (1.0 + t * t).sqrt();
    let s = t * c;
    for k in 0..n {
        let (x, y) = (a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..n {
        let (x, y) = (a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
        let (x, y) = (v[p * n + k], v[q * n + k]);
        (v[p * n + k], v[q * n + k]) = (c * x - s * y, s * x + c * y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_multiply_to_the_matrix() {
        const N: usize = 12;
        let a: Vec<f64> = (0..N * N)
            .map(|k| ((k / N) as f64 - (k % N) as f64).abs().sqrt() + f64::from(u8::from(k / N == k % N)))
            .collect();
        let SymmetricEigen { values, vectors } = symmetric_eigen(&a, N);
        assert!(values.is_sorted_by(|a, b| a >= b));
        for (i, a_row) in a.chunks_exact(N).enumerate() {
            for (j, expected) in a_row.iter().enumerate() {
                let product: f64 =
                    values.iter().zip(&vectors).map(|(value, vector)| value * vector[i] * vector[j]).sum();
                assert!((product - expected).abs() < 1e-12, "{i} {j}");
                let unit: f64 = vectors[i].iter().zip(&vectors[j]).map(|(x, y)| x * y).sum();
                assert!((unit - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }
}
