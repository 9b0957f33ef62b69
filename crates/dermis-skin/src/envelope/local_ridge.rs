//! Local ridge regression (MWE, Eq. 7–9) of one point and coordinate.
//!
//! With the principal components E of the covariance `V = AᵀA` and their variances v, Eq. 8 and 9 are a filter:
//! `w = Σ_h e_h φ(v_h) e_hᵀ g`, `g = Aᵀb`, `φ(v) = v / (v² + s_f t²)`. t is the total variance, which makes `s_f`
//! independent of units and of the size of the maps. Since `φ(v) = Re 1/(v + iτ)` with `τ = t √s_f`, the components
//! need not be computed: `w = Re (V + iτI)⁻¹ g` is one complex symmetric factorization, at a tenth of the cost of
//! eigenvectors. Both parts of `V + iτI` are definite, so no pivoting is needed (Higham 1998), and its condition
//! number is only `1/√s_f`. With fewer poses than unknowns the same holds for `K = AAᵀ`: `w = Aᵀ Re (K + iτI)⁻¹ b`.
//!
//! If components are to be dropped (by a threshold on the retained variance, §4.3, or a cut-off of small singular
//! values, §4.4), or `s_f` is 0, the eigenvectors are computed.

use faer::{Mat, MatRef, Side};
use multiversion::multiversion;

/// Minimum `s_f` of the factorization; its condition number `1/√s_f` would be too large below.
const MIN_FACTORED_SMOOTHNESS: f64 = 1e-18;
/// Default cut-off. Smaller singular values are rounding errors, which any smoothness damps.
pub(super) const DEFAULT_CUT_OFF: f64 = 1e-7;

/// Regularization: dropped components and smoothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ridge {
    /// `s_f`.
    pub(super) smoothness: f64,
    /// Minimum fraction of the variance in the retained components.
    pub(super) retained: f64,
    /// Singular values below this fraction of the largest are dropped.
    pub(super) cut_off: f64,
}

impl Ridge {
    /// Returns true if the factorization is sufficient, without the components.
    pub(super) fn is_plain(&self) -> bool {
        self.retained >= 1.0 && self.smoothness >= MIN_FACTORED_SMOOTHNESS && self.cut_off <= DEFAULT_CUT_OFF
    }

    /// Replaces `b` by `φ(V) b` for the symmetric matrix V in `scratch`, with `total` as the total variance.
    pub(super) fn apply(&self, scratch: &mut Symmetric, total: f64, b: &mut [f64]) {
        if total <= 0.0 {
            b.fill(0.0);
        } else if self.is_plain() {
            let shift = total * self.smoothness.sqrt();
            solve_shifted(scratch.order, &mut scratch.re, &mut scratch.im, shift, b, &mut scratch.column);
        } else {
            let components = Components::of(scratch);
            let filter = components.filter(self, total);
            components.apply(&filter, b);
        }
    }
}

/// Symmetric matrix in row order, of which only the lower triangle is used, with memory for its factorization.
#[derive(Debug, Default)]
pub(super) struct Symmetric {
    pub(super) order: usize,
    pub(super) re: Vec<f64>,
    im: Vec<f64>,
    column: Vec<f64>,
}

impl Symmetric {
    /// Resets to a zero matrix.
    pub(super) fn reset(&mut self, order: usize) {
        self.order = order;
        self.re.clear();
        self.re.resize(order * order, 0.0);
    }

    /// Entries of row i up to the diagonal.
    pub(super) fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.re[i * self.order..][..=i]
    }
}

/// Principal components: eigenvectors with their variances, in ascending order.
#[derive(Debug)]
pub(super) struct Components {
    pub(super) vectors: Mat<f64>,
    pub(super) variances: Vec<f64>,
}

impl Components {
    /// Components of a covariance matrix.
    pub(super) fn of(matrix: &Symmetric) -> Self {
        let n = matrix.order;
        // A point that only its home bone influences has no columns.
        if n == 0 {
            return Self { vectors: Mat::zeros(0, 0), variances: Vec::new() };
        }
        let lower = MatRef::from_row_major_slice(&matrix.re, n, n);
        // The decomposition converges for finite numbers. If it fails nevertheless, an empty result is valid.
        match lower.self_adjoint_eigen(Side::Lower) {
            Ok(eigen) => {
                let variances = (0..n).map(|k| eigen.S()[k].max(0.0)).collect();
                Self { vectors: eigen.U().to_owned(), variances }
            }
            Err(_) => Self { vectors: Mat::zeros(n, 0), variances: Vec::new() },
        }
    }

    /// φ of each component (Eq. 8 and 9), 0 for dropped ones.
    pub(super) fn filter(&self, ridge: &Ridge, total: f64) -> Vec<f64> {
        let sum: f64 = self.variances.iter().sum();
        let largest = self.variances.iter().fold(0.0, |largest: f64, &v| largest.max(v));
        let min_variance = largest * ridge.cut_off * ridge.cut_off;
        let mut before = 0.0;
        let mut filter = vec![0.0; self.variances.len()];
        for (phi, &v) in filter.iter_mut().zip(&self.variances).rev() {
            // Components are added until the retained variance is reached.
            let is_retained = before < ridge.retained * sum || ridge.retained >= 1.0;
            if is_retained && v > min_variance && v > 0.0 {
                *phi = v / (v * v + ridge.smoothness * total * total); // Eq. 8 and 9
            }
            before += v;
        }
        filter
    }

    fn apply(&self, filter: &[f64], b: &mut [f64]) {
        let mut result = vec![0.0; b.len()];
        for (k, phi) in filter.iter().enumerate().filter(|(_, phi)| **phi != 0.0) {
            let vector = self.vectors.col(k);
            let along: f64 = phi * vector.iter().zip(&*b).map(|(e, b)| e * b).sum::<f64>();
            for (result, e) in result.iter_mut().zip(vector.iter()) {
                *result += along * e;
            }
        }
        b.copy_from_slice(&result);
    }
}

/// `b ← Re (V + i·shift·I)⁻¹ b` by `LDLᵀ` without pivoting, row by row from the left, overwriting V.
#[multiversion(targets("x86_64+avx2"))]
fn solve_shifted(n: usize, re: &mut [f64], im: &mut Vec<f64>, shift: f64, b: &mut [f64], column: &mut Vec<f64>) {
    im.clear();
    im.resize(n * n, 0.0);
    column.clear();
    column.resize(2 * n, 0.0);
    let (column_re, column_im) = column.split_at_mut(n);
    for k in 0..n {
        im[k * n + k] += shift; // V + iτI: Eq. 8 and 9 in closed form
        let (d_re, d_im) = inverse(re[k * n + k], im[k * n + k]);
        for i in k + 1..n {
            (column_re[i], column_im[i]) = (re[i * n + k], im[i * n + k]);
        }
        for i in k + 1..n {
            let (l_re, l_im) = times((column_re[i], column_im[i]), (d_re, d_im));
            let row = i * n + k + 1..i * n + i + 1;
            let columns = column_re[k + 1..=i].iter().zip(&column_im[k + 1..=i]);
            for ((re, im), (c_re, c_im)) in re[row.clone()].iter_mut().zip(&mut im[row]).zip(columns) {
                *re -= l_re * c_re - l_im * c_im;
                *im -= l_re * c_im + l_im * c_re;
            }
            (re[i * n + k], im[i * n + k]) = (l_re, l_im);
        }
        (re[k * n + k], im[k * n + k]) = (d_re, d_im);
    }
    substitute(n, re, im, b, column_im);
}

/// `b ← Re L⁻ᵀ D⁻¹ L⁻¹ b`; the diagonals contain the inverses of D.
fn substitute(n: usize, re: &[f64], im: &[f64], b: &mut [f64], b_im: &mut [f64]) {
    b_im.fill(0.0);
    for i in 0..n {
        let row = i * n..i * n + i;
        let (mut x_re, mut x_im) = (b[i], b_im[i]);
        for ((l_re, l_im), (y_re, y_im)) in re[row.clone()].iter().zip(&im[row]).zip(b.iter().zip(&*b_im)) {
            x_re -= l_re * y_re - l_im * y_im;
            x_im -= l_re * y_im + l_im * y_re;
        }
        (b[i], b_im[i]) = (x_re, x_im);
    }
    for i in 0..n {
        (b[i], b_im[i]) = times((b[i], b_im[i]), (re[i * n + i], im[i * n + i]));
    }
    for i in (0..n).rev() {
        let (x_re, x_im) = (b[i], b_im[i]);
        let row = i * n..i * n + i;
        for ((l_re, l_im), (y_re, y_im)) in re[row.clone()].iter().zip(&im[row]).zip(b.iter_mut().zip(&mut *b_im)) {
            *y_re -= l_re * x_re - l_im * x_im;
            *y_im -= l_re * x_im + l_im * x_re;
        }
    }
}

fn times(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn inverse(re: f64, im: f64) -> (f64, f64) {
    let square = re * re + im * im;
    (re / square, -im / square)
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 13;

    /// A covariance matrix with variances over ten orders of magnitude, and a right-hand side.
    fn system() -> (Symmetric, Vec<f64>, f64) {
        let wave = |k: usize| ((k as f64 * 12.9898 + 0.2).sin() * 43758.5453).fract();
        let rows: Vec<Vec<f64>> = (0..N)
            .map(|r| (0..N).map(|c| wave(r * N + c) * 10f64.powf(-5.0 * c as f64 / N as f64)).collect())
            .collect();
        let mut matrix = Symmetric::default();
        matrix.reset(N);
        for i in 0..N {
            for j in 0..=i {
                matrix.row_mut(i)[j] = rows.iter().map(|row| row[i] * row[j]).sum();
            }
        }
        let total = (0..N).map(|i| matrix.re[i * N + i]).sum();
        (matrix, (0..N).map(|k| wave(7 * k)).collect(), total)
    }

    fn solved(ridge: &Ridge, by_components: bool) -> Vec<f64> {
        let (mut matrix, mut b, total) = system();
        if by_components {
            let components = Components::of(&matrix);
            let filter = components.filter(ridge, total);
            components.apply(&filter, &mut b);
        } else {
            ridge.apply(&mut matrix, total, &mut b);
        }
        b
    }

    #[test]
    fn factorization_matches_the_components() {
        for smoothness in [1.0, 1e-3, 1e-6, 1e-10, 1e-13] {
            let ridge = Ridge { smoothness, retained: 1.0, cut_off: 1e-9 };
            assert!(ridge.is_plain());
            let (plain, exact) = (solved(&ridge, false), solved(&ridge, true));
            let size = exact.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            // Accuracy in double precision at a condition number of 1/√s.
            let tolerance = 1e-12 / smoothness.sqrt().min(1e-2) * size;
            assert!(
                plain.iter().zip(&exact).all(|(a, b)| (a - b).abs() < tolerance),
                "{smoothness}: {plain:?} {exact:?}"
            );
        }
    }

    #[test]
    fn zero_smoothness_is_least_squares() {
        let ridge = Ridge { smoothness: 0.0, retained: 1.0, cut_off: 1e-12 };
        let w = solved(&ridge, false);
        let (matrix, b, _) = system();
        for (i, expected) in b.iter().enumerate() {
            let entry = |j: usize| matrix.re[i.max(j) * N + i.min(j)];
            let sum: f64 = (0..N).map(|j| entry(j) * w[j]).sum();
            assert!((sum - expected).abs() < 1e-4, "{i}: {sum} {expected}");
        }
    }

    #[test]
    fn drops_components_beyond_the_retained_variance() {
        let (matrix, _, total) = system();
        let components = Components::of(&matrix);
        let kept = |retained: f64| {
            let ridge = Ridge { smoothness: 1e-9, retained, cut_off: 0.0 };
            components.filter(&ridge, total).iter().filter(|phi| **phi > 0.0).count()
        };
        assert_eq!(kept(1.0), N);
        assert!(kept(0.99) < kept(0.9999) && kept(0.0) == 0, "{} {}", kept(0.99), kept(0.9999));
        let cut = Ridge { smoothness: 1e-9, retained: 1.0, cut_off: 1e-2 };
        assert!(components.filter(&cut, total).iter().filter(|phi| **phi > 0.0).count() < N);
    }
}
