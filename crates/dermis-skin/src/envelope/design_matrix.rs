//! Design matrix A of MWE, Eq. 5, in the frame of one home bone; shared by all points of that home.
//!
//! Columns are the entries of `M_k = H⁻¹ T_k` (row j for coordinate j). The origin is the centre of the home's points
//! and translations are divided by the size of the model, so the result does not depend on units and location. Rows
//! are poses. Poses that are equal relative to the home are averaged (§4), and pose weights scale rows (§4.2). A is
//! centred, so the mean pose and the mean shape need no weights, and the covariance of §4.3 remains.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use glam::{DAffine3, DMat3, DVec3};

use super::examples::Examples;

/// Number of entries of a bone's matrix.
const ENTRIES: usize = 12;

/// Number of rows up to which products of all bones cost less than the points that share them.
const FEW_ROWS: usize = 48;

/// Design matrices of the three coordinates.
#[derive(Debug)]
pub(super) struct DesignMatrix {
    pub(super) home: u32,
    pub(super) centre: DVec3,
    pub(super) size: f64,
    /// Bones in ascending order, without the home bone, whose matrix is constant.
    pub(super) bones: Vec<u32>,
    /// Rows × 4 columns per bone, centred and weighted, for each coordinate.
    pub(super) a: [Mat<f64>; 3],
    /// Mean that was subtracted from each column.
    pub(super) means: [Vec<f64>; 3],
    /// ‖column‖², the variance of each column.
    pub(super) variances: [Vec<f64>; 3],
    /// `AᵀA`, if computed.
    pub(super) covariances: Option<[Mat<f64>; 3]>,
    /// Rows of `A_k A_kᵀ` of each bone k, if there are few poses.
    pub(super) bone_products: Option<[Vec<f64>; 3]>,
    /// Poses with their rows, fractions of these rows, and transforms to the home's frame.
    entries: Vec<PoseEntry>,
    /// Weight of each row; the squares sum to 1.
    row_weights: Vec<f64>,
    /// Number of poses that were averaged with others.
    pub(super) duplicates: usize,
    /// Number of unused poses, in which the home bone is singular or whose weight is 0.
    pub(super) unused: usize,
}

#[derive(Debug)]
struct PoseEntry {
    pose: usize,
    row: usize,
    fraction: f64,
    inverse: DMat3,
}

impl DesignMatrix {
    /// Builds A for `poses` of `examples` relative to `home`. Poses whose entries differ by at most `tolerance` share
    /// a row.
    pub(super) fn new(
        examples: &Examples,
        poses: &[usize],
        (home, centre, size): (u32, DVec3, f64),
        bones: Vec<u32>,
        tolerance: f64,
    ) -> Self {
        let visible: Vec<(usize, DAffine3)> = poses
            .iter()
            .filter_map(|&pose| Some((pose, inverse_of(examples.transforms(pose)[home as usize])?)))
            .filter(|&(pose, _)| examples.weight(pose) > 0.0)
            .collect();
        let width = ENTRIES * bones.len();
        let mut features = vec![0.0; width * visible.len()];
        for ((pose, inverse), out) in visible.iter().zip(features.chunks_exact_mut(width.max(1))) {
            fill(out, examples.transforms(*pose), inverse, &bones, centre, size);
        }
        let rows = row_of_each(&features, width, visible.len(), tolerance);
        let count = rows.iter().max().map_or(0, |last| last + 1);
        let mut members = vec![0.0; count];
        for &row in &rows {
            members[row] += 1.0;
        }
        let entry = |(&(pose, inverse), &row): (&(usize, DAffine3), &usize)| PoseEntry {
            pose,
            row,
            fraction: 1.0 / members[row],
            inverse: inverse.matrix3,
        };
        let entries: Vec<PoseEntry> = visible.iter().zip(&rows).map(entry).collect();
        let mut design = Self {
            home,
            centre,
            size,
            a: std::array::from_fn(|_| Mat::zeros(count, 4 * bones.len())),
            means: std::array::from_fn(|_| vec![0.0; 4 * bones.len()]),
            variances: std::array::from_fn(|_| vec![0.0; 4 * bones.len()]),
            covariances: None,
            bone_products: None,
            row_weights: row_weights(examples, &entries, count),
            duplicates: visible.len() - count,
            unused: poses.len() - visible.len(),
            bones,
            entries,
        };
        design.fill_matrices(&features, width);
        design
    }

    fn fill_matrices(&mut self, features: &[f64], width: usize) {
        for (entry, features) in self.entries.iter().zip(features.chunks_exact(width.max(1))) {
            for (index, matrix) in features.chunks_exact(ENTRIES).enumerate() {
                for (j, row) in matrix.chunks_exact(4).enumerate() {
                    for (i, value) in row.iter().enumerate() {
                        self.a[j][(entry.row, 4 * index + i)] += entry.fraction * value; // A of Eq. 5
                    }
                }
            }
        }
        for j in 0..3 {
            for column in 0..4 * self.bones.len() {
                let values = self.a[j].col_as_slice_mut(column);
                self.means[j][column] = centre(values, &self.row_weights);
                self.variances[j][column] = values.iter().map(|value| value * value).sum();
            }
        }
    }

    /// Computes `AᵀA`, and `A_k A_kᵀ` if there are few poses.
    pub(super) fn with_products(mut self) -> Self {
        if self.row_count() <= FEW_ROWS {
            self.bone_products = Some(std::array::from_fn(|j| {
                let product = |index: usize| {
                    let columns = self.a[j].as_ref().subcols(4 * index, 4);
                    let entry =
                        |row: usize, other: usize| (0..4).map(|i| columns[(row, i)] * columns[(other, i)]).sum::<f64>();
                    let rows = self.row_count();
                    (0..rows * rows).map(move |at| entry(at / rows, at % rows)).collect::<Vec<_>>()
                };
                (0..self.bones.len()).flat_map(product).collect()
            }));
        }
        self.covariances = Some(std::array::from_fn(|j| {
            let a = self.a[j].as_ref();
            let mut product = Mat::zeros(a.ncols(), a.ncols());
            matmul(product.as_mut(), Accum::Replace, a.transpose(), a, 1.0, Par::Seq);
            product
        }));
        self
    }

    /// Number of rows m.
    pub(super) fn row_count(&self) -> usize {
        self.row_weights.len()
    }

    /// Right-hand sides b of Eq. 5 for `count` points. `offset(pose, index)` is the residual of the underlying
    /// deformer in world space. The columns are averaged, centred and weighted like A; the subtracted means are
    /// returned too.
    pub(super) fn right_hand_sides(
        &self,
        count: usize,
        offset: impl Fn(usize, usize) -> DVec3,
    ) -> ([Mat<f64>; 3], Vec<DVec3>) {
        let mut b: [Mat<f64>; 3] = std::array::from_fn(|_| Mat::zeros(self.row_count(), count));
        for entry in &self.entries {
            for index in 0..count {
                let local = entry.fraction * (entry.inverse * offset(entry.pose, index));
                for (j, b) in b.iter_mut().enumerate() {
                    b.col_as_slice_mut(index)[entry.row] += local[j]; // b of Eq. 5
                }
            }
        }
        let means = (0..count).map(|index| {
            DVec3::from_array(std::array::from_fn(|j| centre(b[j].col_as_slice_mut(index), &self.row_weights)))
        });
        let means = means.collect();
        (b, means)
    }

    /// Row of A for a new pose and each coordinate, centred but not weighted, and the rotation to world space; `None`
    /// if the home bone is singular.
    pub(super) fn row_of(&self, transforms: &[DAffine3]) -> Option<([Vec<f64>; 3], DMat3)> {
        let home = transforms[self.home as usize];
        let inverse = inverse_of(home)?;
        let mut features = vec![0.0; ENTRIES * self.bones.len()];
        fill(&mut features, transforms, &inverse, &self.bones, self.centre, self.size);
        let entry = |j: usize, column: usize| features[ENTRIES * (column / 4) + 4 * j + column % 4];
        let rows = std::array::from_fn(|j| {
            self.means[j].iter().enumerate().map(|(column, mean)| entry(j, column) - mean).collect()
        });
        Some((rows, home.matrix3))
    }

    /// Index of a bone in `bones`.
    pub(super) fn index_of(&self, bone: u32) -> Option<usize> {
        self.bones.binary_search(&bone).ok()
    }
}

/// Inverse of a transform; `None` if it is numerically singular.
fn inverse_of(transform: DAffine3) -> Option<DAffine3> {
    // As in the evaluation: larger entries exceed the precision of `f32`.
    const MAX_ENTRY: f64 = 1e12;
    let inverse = transform.inverse();
    let usable = inverse.is_finite() && inverse.matrix3.to_cols_array().iter().all(|entry| entry.abs() < MAX_ENTRY);
    usable.then_some(inverse)
}

/// Entries of all bones in a pose: three rows of four per bone.
fn fill(out: &mut [f64], transforms: &[DAffine3], inverse: &DAffine3, bones: &[u32], centre: DVec3, size: f64) {
    for (&bone, out) in bones.iter().zip(out.chunks_exact_mut(ENTRIES)) {
        let relative = *inverse * transforms[bone as usize]; // Eq. 2
        let moved = (relative.transform_point3(centre) - centre) / size;
        for j in 0..3 {
            out[4 * j..4 * j + 4].copy_from_slice(&relative.matrix3.row(j).extend(moved[j]).to_array());
        }
    }
}

/// Row of each pose: that of the first earlier duplicate, otherwise a new one.
fn row_of_each(features: &[f64], width: usize, count: usize, tolerance: f64) -> Vec<usize> {
    let of = |pose: usize| &features[pose * width..(pose + 1) * width];
    let alike = |a: usize, b: usize| of(a).iter().zip(of(b)).all(|(a, b)| (a - b).abs() <= tolerance);
    // Duplicates have similar sums, so only poses with similar sums are compared.
    let sums: Vec<f64> = (0..count).map(|pose| of(pose).iter().sum()).collect();
    let reach = tolerance * width as f64 + 1e-12 * sums.iter().fold(0.0, |largest: f64, sum| largest.max(sum.abs()));
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| sums[a].total_cmp(&sums[b]).then(a.cmp(&b)));
    let mut rank = vec![0; count];
    order.iter().enumerate().for_each(|(at, &pose)| rank[pose] = at);
    let mut rows: Vec<Option<usize>> = vec![None; count];
    let mut next = 0;
    for pose in 0..count {
        if rows[pose].is_some() {
            continue;
        }
        rows[pose] = Some(next);
        let near = |other: &&usize| (sums[**other] - sums[pose]).abs() <= reach;
        let after = order[rank[pose] + 1..].iter().take_while(near);
        let before = order[..rank[pose]].iter().rev().take_while(near);
        for &other in after.chain(before) {
            if rows[other].is_none() && alike(pose, other) {
                rows[other] = Some(next);
            }
        }
        next += 1;
    }
    rows.into_iter().flatten().collect()
}

/// Mean weight of the poses of each row, scaled so that the squares sum to 1.
fn row_weights(examples: &Examples, entries: &[PoseEntry], count: usize) -> Vec<f64> {
    let mut weights = vec![0.0; count];
    for entry in entries {
        weights[entry.row] += entry.fraction * examples.weight(entry.pose);
    }
    let norm = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    for weight in &mut weights {
        *weight /= norm;
    }
    weights
}

/// Subtracts the mean and multiplies by the weights. Returns the mean.
fn centre(values: &mut [f64], weights: &[f64]) -> f64 {
    let mean: f64 = values.iter().zip(weights).map(|(value, weight)| value * weight * weight).sum();
    for (value, weight) in values.iter_mut().zip(weights) {
        *value = (*value - mean) * weight;
    }
    mean
}

/// `aᵀb`.
pub(super) fn correlated(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut product = Mat::zeros(a.ncols(), b.ncols());
    matmul(product.as_mut(), Accum::Replace, a.transpose(), b, 1.0, Par::Seq);
    product
}
