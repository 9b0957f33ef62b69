//! Selection of the smoothness `s_f` by cross-validation over held-out blocks of poses. The paper leaves it to the
//! user.
//!
//! The poses are divided into blocks of consecutive poses, because single frames held out of a clip would only test
//! interpolation. Each block is predicted from the others, including the linear skin, for all `s_f` of a grid at once:
//! with known principal components, a value costs only a filter. A few hundred uniformly distributed points represent
//! all. The value with the smallest squared error is selected. If the linear skin alone has a smaller error, the model
//! is the linear skin (`s_f` = ∞), so that uninformative examples do not make the model worse.

use std::ops::ControlFlow;

use dermis_math::progress::Progress;
use faer::Mat;
use glam::DVec3;
use rayon::prelude::*;

use super::design_matrix::DesignMatrix;
use super::influences::InfluenceMaps;
use super::linear::{Subset, skinned};
use super::local_ridge::{Components, Ridge, Symmetric};
use super::solve::Columns;
use super::train::{Homes, TrainOptions, UnderlyingSkin};

/// Exponents of the tested powers of ten.
const EXPONENTS: std::ops::RangeInclusive<i32> = -14..=0;
/// Maximum number of points used.
const MAX_POINTS: usize = 256;
/// Minimum number of poses for cross-validation.
const MIN_POSES: usize = 4;

/// Prediction error of held-out poses for each smoothness.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// Pairs of `s_f` and the RMS distance of held-out points, in ascending order of `s_f`.
    pub errors: Vec<(f64, f64)>,
    /// RMS distance of held-out points for the underlying linear skin alone.
    pub linear_error: f64,
    /// Number of held-out blocks.
    pub blocks: usize,
    /// Held-out poses, with the poses from which they were predicted.
    pub(super) held_out: Vec<HeldOutPose>,
}

/// Errors of one held-out pose.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct HeldOutPose {
    pub(super) pose: usize,
    /// Block of the pose.
    pub(super) block: usize,
    /// Squared errors for each smoothness, followed by that of the linear skin.
    squares: Vec<f64>,
}

impl Curve {
    /// Smoothness with the smallest error; ∞ if the linear skin alone is best.
    pub fn best(&self) -> f64 {
        let linear = (f64::INFINITY, self.linear_error);
        self.errors.iter().copied().fold(linear, |best, next| if next.1 < best.1 { next } else { best }).0
    }
}

impl Curve {
    /// Held-out poses with the squared errors of multi-weights of a smoothness and of the linear skin.
    pub(super) fn held_out(&self, smoothness: f64) -> impl Iterator<Item = (&HeldOutPose, [f64; 2])> {
        let at = self.errors.iter().position(|(tested, _)| *tested == smoothness).unwrap_or(self.errors.len());
        self.held_out.iter().map(move |held| (held, [held.squares[at], held.squares[self.errors.len()]]))
    }

    /// Smallest error of all values and of the linear skin.
    pub fn least(&self) -> f64 {
        self.errors.iter().map(|(_, error)| *error).fold(self.linear_error, f64::min)
    }
}

/// Computes the curve; `None` if there are too few poses. Stops if `progress` requests it.
pub(super) fn cross_validate(
    subset: &Subset<'_>,
    influences: &InfluenceMaps,
    underlying: &UnderlyingSkin<'_>,
    options: &TrainOptions,
    progress: &dyn Progress,
) -> ControlFlow<(), Option<Curve>> {
    if subset.poses.len() < MIN_POSES {
        return ControlFlow::Continue(None);
    }
    let points = spread(subset.points);
    let blocks = options.blocks.clamp(2, subset.poses.len());
    let smoothnesses: Vec<f64> = EXPONENTS.map(|exponent| 10f64.powi(exponent)).collect();
    let mut sums = vec![0.0; smoothnesses.len() + 1];
    let mut held_out = Vec::with_capacity(subset.poses.len());
    for block in 0..blocks {
        progress.report("choosing the smoothness", block, blocks)?;
        let cut = |block: usize| block * subset.poses.len() / blocks;
        let held = &subset.poses[cut(block)..cut(block + 1)];
        let others: Vec<usize> = subset.poses.iter().copied().filter(|pose| !held.contains(pose)).collect();
        let trained = Subset { poses: &others, points: &points, ..*subset };
        let fold = Fold::new(&trained, held, influences, underlying, options);
        let errors: Vec<Vec<f64>> =
            (0..points.len()).into_par_iter().map(|index| fold.squared_errors(index, &smoothnesses)).collect();
        let first = held_out.len();
        held_out.extend(held.iter().map(|&pose| HeldOutPose { pose, block, squares: vec![0.0; sums.len()] }));
        for errors in errors {
            for (at, of_poses) in errors.chunks_exact(held.len()).enumerate() {
                sums[at] += of_poses.iter().sum::<f64>();
                held_out[first..].iter_mut().zip(of_poses).for_each(|(held, square)| held.squares[at] += square);
            }
        }
    }
    let rms = |sum: &f64| (sum / (points.len() * subset.poses.len()) as f64).sqrt();
    let errors = smoothnesses.into_iter().zip(sums.iter().map(rms)).collect();
    ControlFlow::Continue(Some(Curve { errors, linear_error: rms(&sums[sums.len() - 1]), blocks, held_out }))
}

/// At most [`MAX_POINTS`] of the points, uniformly distributed in their order.
fn spread(points: &[u32]) -> Vec<u32> {
    let count = points.len().min(MAX_POINTS);
    (0..count).map(|k| points[k * points.len() / count]).collect()
}

/// Training data with one block held out.
struct Fold<'a> {
    subset: Subset<'a>,
    held: &'a [usize],
    influences: &'a InfluenceMaps,
    linear: dermis_mesh::SkinWeights,
    homes: Vec<HeldOut>,
    options: &'a TrainOptions,
}

/// Design matrix of a home bone, and the rows of the held-out poses.
struct HeldOut {
    design: DesignMatrix,
    /// Rows of A of the held-out poses, transposed: one column per pose.
    rows: [Mat<f64>; 3],
    rotations: Vec<glam::DMat3>,
}

impl<'a> Fold<'a> {
    fn new(
        subset: &Subset<'a>,
        held: &'a [usize],
        influences: &'a InfluenceMaps,
        underlying: &UnderlyingSkin<'_>,
        options: &'a TrainOptions,
    ) -> Self {
        let linear = underlying.rows_of(subset, influences);
        let homes = Homes::of(subset, influences).0;
        let homes = homes.into_par_iter().map(|home| {
            let design = home.design(subset, options.duplicate_tolerance).with_products();
            HeldOut::new(design, subset, held)
        });
        Self { subset: *subset, held, influences, linear, homes: homes.collect(), options }
    }

    /// Squared errors of one point in each held-out pose: for each smoothness, followed by those of the linear skin.
    fn squared_errors(&self, index: usize, smoothnesses: &[f64]) -> Vec<f64> {
        let point = self.subset.points[index];
        let missing = |pose: usize| {
            let (transforms, rest) =
                (self.subset.examples.transforms(pose), self.subset.rest[point as usize].as_dvec3());
            self.subset.examples.target(pose)[point as usize].as_dvec3()
                - skinned(self.linear.row(index), transforms, rest)
        };
        let targets: Vec<DVec3> = self.held.iter().map(|&pose| missing(pose)).collect();
        let mut predicted = vec![vec![DVec3::ZERO; self.held.len()]; smoothnesses.len()];
        for (home, fraction) in self.influences.homes.row(point as usize) {
            if let Ok(at) = self.homes.binary_search_by_key(&home, |held| held.design.home) {
                let columns = Columns::of(&self.homes[at].design, self.influences, point);
                self.homes[at].predict(&columns, missing, (self.options, smoothnesses), fraction, &mut predicted);
            }
        }
        let errors = predicted.iter().flat_map(|predicted| predicted.iter().zip(&targets));
        let errors = errors.map(|(predicted, target)| predicted.distance_squared(*target));
        errors.chain(targets.iter().map(|target| target.length_squared())).collect()
    }
}

impl HeldOut {
    fn new(design: DesignMatrix, subset: &Subset<'_>, held: &[usize]) -> Self {
        let width = 4 * design.bones.len();
        let mut rows: [Mat<f64>; 3] = std::array::from_fn(|_| Mat::zeros(width, held.len()));
        let mut rotations = vec![glam::DMat3::ZERO; held.len()];
        for (at, &pose) in held.iter().enumerate() {
            // Poses in which this home bone is singular keep the linear skin.
            if let Some((new, rotation)) = design.row_of(subset.examples.transforms(pose)) {
                rotations[at] = rotation;
                for (rows, new) in rows.iter_mut().zip(new) {
                    rows.col_as_slice_mut(at).copy_from_slice(&new);
                }
            }
        }
        Self { design, rows, rotations }
    }

    /// Adds the prediction of this home bone for the held-out poses of one point.
    fn predict(
        &self,
        columns: &Columns,
        missing: impl Fn(usize) -> DVec3,
        (options, smoothnesses): (&TrainOptions, &[f64]),
        fraction: f32,
        predicted: &mut [Vec<DVec3>],
    ) {
        let (b, means) = self.design.right_hand_sides(1, |pose, _| missing(pose));
        let total = columns.total_variance(&self.design);
        let mut product = Symmetric::default();
        let mut local = vec![vec![means[0]; self.rotations.len()]; smoothnesses.len()];
        for j in 0..3 {
            columns.product(&self.design, j, &mut product);
            let components = Components::of(&product);
            let (along, rows) = self.along_components(columns, j, b[j].col_as_slice(0), &components);
            for (local, &smoothness) in local.iter_mut().zip(smoothnesses) {
                let ridge = Ridge { smoothness, ..options.ridge(smoothness) };
                let filter = components.filter(&ridge, total);
                let weights: Vec<f64> = filter.iter().zip(&along).map(|(phi, along)| phi * along).collect();
                for (at, local) in local.iter_mut().enumerate() {
                    let row = rows.col_as_slice(at);
                    local[j] += row.iter().zip(&weights).map(|(a, w)| a * w).sum::<f64>();
                }
            }
        }
        for (predicted, local) in predicted.iter_mut().zip(local) {
            for ((predicted, rotation), local) in predicted.iter_mut().zip(&self.rotations).zip(local) {
                *predicted += f64::from(fraction) * (*rotation * local);
            }
        }
    }

    /// Projections of the right-hand side and of the held-out rows (as columns) onto the components.
    fn along_components(
        &self,
        columns: &Columns,
        j: usize,
        b: &[f64],
        components: &Components,
    ) -> (Vec<f64>, Mat<f64>) {
        let a = &self.design.a[j];
        let held = Mat::from_fn(columns.len(), self.rotations.len(), |_, _| 0.0);
        let (mut held, mut trained) = (held, Mat::zeros(columns.len(), a.nrows()));
        for (k, (column, mu)) in columns.iter().enumerate() {
            (0..held.ncols()).for_each(|at| held[(k, at)] = mu * self.rows[j][(column, at)]);
            (0..a.nrows()).for_each(|row| trained[(k, row)] = mu * a[(row, column)]);
        }
        let vectors = components.vectors.as_ref();
        let b = faer::ColRef::from_slice(b);
        let (along, rows) = if columns.is_overdetermined(&self.design) {
            (vectors.transpose() * (&trained * b), vectors.transpose() * &held)
        } else {
            (vectors.transpose() * b, vectors.transpose() * (trained.transpose() * &held))
        };
        (along.iter().copied().collect(), rows)
    }
}
