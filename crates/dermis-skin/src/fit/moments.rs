//! Moments of the bones, from which the weights of a point are computed without access to its frames.
//!
//! Let T (3S × 4B) contain the bones' transforms, frame after frame, and p̃ = (p̄, 1). Bone b predicts the trajectory
//! `T_b` p̃. The squared error of weights w is `‖p‖² − 2 cᵀw + wᵀGw` with `c_b = p̃ᵀ(T_bᵀp)` and `G_bb' =
//! p̃ᵀ(T_bᵀT_b')p̃`: the 4×4 moments `T_bᵀT_b'` of the bone pairs and the 4-vectors `T_bᵀp` are sufficient. The cost is
//! O(S·B) per point for c and O(1) per entry of G, instead of O(S·B²).

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use glam::DVec3;

/// Moments of all pairs of bones.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    pub(crate) bones: usize,
    /// `TᵀT`, 4B × 4B.
    pub(crate) pairs: Mat<f64>,
    /// The quadratic form of each pair over the ten monomials of p̃.
    forms: Vec<[f64; 10]>,
}

impl Moments {
    /// Computes the moments of the bones whose transforms are the columns of `transforms` (3S × 4B).
    pub(crate) fn new(transforms: &Mat<f64>) -> Self {
        let columns = transforms.ncols();
        let bones = columns / 4;
        let mut pairs = Mat::zeros(columns, columns);
        matmul(pairs.as_mut(), Accum::Replace, transforms.transpose(), transforms.as_ref(), 1.0, Par::Seq);
        let form = |a: usize, b: usize| {
            let m = |i: usize, j: usize| pairs[(4 * a + i, 4 * b + j)];
            let twice = |i: usize, j: usize| m(i, j) + m(j, i);
            let (xy, xz, yz) = (twice(0, 1), twice(0, 2), twice(1, 2));
            [m(0, 0), xy, xz, twice(0, 3), m(1, 1), yz, twice(1, 3), m(2, 2), twice(2, 3), m(3, 3)]
        };
        let forms = (0..bones * bones).map(|pair| form(pair / bones, pair % bones)).collect();
        Self { bones, pairs, forms }
    }

    /// One entry of G for the point with the given monomials.
    pub(crate) fn gram(&self, a: usize, b: usize, monomials: &[f64; 10]) -> f64 {
        let form = &self.forms[a * self.bones + b];
        // Four accumulators let the compiler use vector instructions.
        let part = |k: usize| form[k] * monomials[k];
        (part(0) + part(4) + part(8)) + (part(1) + part(5) + part(9)) + (part(2) + part(6)) + (part(3) + part(7))
    }
}

/// The ten products of two entries of p̃, in the order of [`Moments`].
pub(crate) fn monomials(p: DVec3) -> [f64; 10] {
    let DVec3 { x, y, z } = p;
    [x * x, x * y, x * z, x, y * y, y * z, y, z * z, z, 1.0]
}

/// `T_bᵀp` for all bones and a block of points: 4B × points.
pub(crate) fn correlate(transforms: &Mat<f64>, positions: &Mat<f64>, points: &std::ops::Range<usize>) -> Mat<f64> {
    let mut correlations = Mat::zeros(transforms.ncols(), points.len());
    let block = positions.as_ref().subcols(points.start, points.len());
    matmul(correlations.as_mut(), Accum::Replace, transforms.transpose(), block, 1.0, Par::Seq);
    correlations
}
