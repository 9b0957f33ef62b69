//! How smooth: `s_f` by cross-validation over held-out blocks of poses. Beyond the paper, which leaves it to the user.
//!
//! The poses are cut into blocks of neighbours in time, since single frames left out of a clip would only test
//! interpolation. Each block is predicted by what the others teach, linear skin included, for every `s_f` of a grid at
//! once: with the principal components known, a value costs a filter. Some hundred points, evenly spread, stand for all.
//! The smallest squared error wins; if that is the linear skin's, the model is the linear skin (`s_f` = ∞), so that
//! shrinkage falls back to it where the examples say nothing.

use std::ops::ControlFlow;

use dermis_math::progress::Progress;
use faer::Mat;
use glam::DVec3;
use rayon::prelude::*;

use super::influences::Influences;
use super::linear::{Part, skinned};
use super::local_ridge::{Components, Ridge, Symmetric};
use super::seen::Seen;
use super::solve::Columns;
use super::train::{Homes, TrainOptions, Underlayer};

/// The values tried: powers of ten from 10^first to 10^last.
const EXPONENTS: std::ops::RangeInclusive<i32> = -14..=0;
/// How many points stand for all.
const POINTS: usize = 256;
/// Fewer poses than this cannot be held out in turn.
const LEAST_POSES: usize = 4;

/// How well each smoothness predicts poses that were held out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// `s_f` and the RMS distance of held-out points, ascending in `s_f`.
    pub errors: Vec<(f64, f64)>,
    /// The same of the underlying linear skin alone.
    pub linear_error: f64,
    /// How many blocks of poses were held out in turn.
    pub blocks: usize,
}

impl Curve {
    /// The smoothness with the least error; ∞, the linear skin alone, where nothing is better than that.
    pub fn best(&self) -> f64 {
        let linear = (f64::INFINITY, self.linear_error);
        self.errors.iter().copied().fold(linear, |best, next| if next.1 < best.1 { next } else { best }).0
    }
}

/// The curve, or `None` where there are too few poses; stops where `progress` asks for it.
pub(super) fn cross_validate(
    part: &Part<'_>,
    influences: &Influences,
    underlayer: &Underlayer<'_>,
    options: &TrainOptions,
    progress: &dyn Progress,
) -> ControlFlow<(), Option<Curve>> {
    if part.poses.len() < LEAST_POSES {
        return ControlFlow::Continue(None);
    }
    let points = spread(part.points);
    let blocks = options.blocks.clamp(2, part.poses.len());
    let smoothnesses: Vec<f64> = EXPONENTS.map(|exponent| 10f64.powi(exponent)).collect();
    let mut sums = vec![0.0; smoothnesses.len() + 1];
    for block in 0..blocks {
        progress.report("choosing the smoothness", block, blocks)?;
        let cut = |block: usize| block * part.poses.len() / blocks;
        let held = &part.poses[cut(block)..cut(block + 1)];
        let others: Vec<usize> = part.poses.iter().copied().filter(|pose| !held.contains(pose)).collect();
        let trained = Part { poses: &others, points: &points, ..*part };
        let fold = Fold::new(&trained, held, influences, underlayer, options);
        let errors: Vec<Vec<f64>> =
            (0..points.len()).into_par_iter().map(|place| fold.squared_errors(place, &smoothnesses)).collect();
        for errors in errors {
            sums.iter_mut().zip(errors).for_each(|(sum, error)| *sum += error);
        }
    }
    let rms = |sum: &f64| (sum / (points.len() * part.poses.len()) as f64).sqrt();
    let errors = smoothnesses.into_iter().zip(sums.iter().map(rms)).collect();
    ControlFlow::Continue(Some(Curve { errors, linear_error: rms(&sums[sums.len() - 1]), blocks }))
}

/// At most [`POINTS`] of the points, evenly spread in their order.
fn spread(points: &[u32]) -> Vec<u32> {
    let count = points.len().min(POINTS);
    (0..count).map(|k| points[k * points.len() / count]).collect()
}

/// One block held out.
struct Fold<'a> {
    part: Part<'a>,
    held: &'a [usize],
    influences: &'a Influences,
    linear: dermis_mesh::SkinWeights,
    homes: Vec<HeldOut>,
    options: &'a TrainOptions,
}

/// A home's view of the training poses and of the held-out ones.
struct HeldOut {
    seen: Seen,
    /// The rows of A of the held-out poses, transposed: one column per pose.
    rows: [Mat<f64>; 3],
    turns: Vec<glam::DMat3>,
}

impl<'a> Fold<'a> {
    fn new(
        part: &Part<'a>,
        held: &'a [usize],
        influences: &'a Influences,
        underlayer: &Underlayer<'_>,
        options: &'a TrainOptions,
    ) -> Self {
        let linear = underlayer.rows_of(part, influences);
        let homes = Homes::of(part, influences).0;
        let homes = homes.into_par_iter().map(|home| {
            let seen = home.seen(part, options.duplicate_tolerance).with_products();
            HeldOut::new(seen, part, held)
        });
        Self { part: *part, held, influences, linear, homes: homes.collect(), options }
    }

    /// The squared errors of one point over all held-out poses: for each smoothness, and of the linear skin.
    fn squared_errors(&self, place: usize, smoothnesses: &[f64]) -> Vec<f64> {
        let point = self.part.points[place];
        let missing = |pose: usize| {
            let (transforms, rest) = (self.part.examples.transforms(pose), self.part.rest[point as usize].as_dvec3());
            self.part.examples.target(pose)[point as usize].as_dvec3()
                - skinned(self.linear.row(place), transforms, rest)
        };
        let wanted: Vec<DVec3> = self.held.iter().map(|&pose| missing(pose)).collect();
        let mut predicted = vec![vec![DVec3::ZERO; self.held.len()]; smoothnesses.len()];
        for (home, share) in self.influences.homes.row(point as usize) {
            if let Ok(at) = self.homes.binary_search_by_key(&home, |held| held.seen.home) {
                let columns = Columns::of(&self.homes[at].seen, self.influences, point);
                self.homes[at].predict(&columns, missing, (self.options, smoothnesses), share, &mut predicted);
            }
        }
        let error = |predicted: &[DVec3]| predicted.iter().zip(&wanted).map(|(p, w)| p.distance_squared(*w)).sum();
        let linear: f64 = wanted.iter().map(|w| w.length_squared()).sum();
        predicted.iter().map(|predicted| error(predicted)).chain([linear]).collect()
    }
}

impl HeldOut {
    fn new(seen: Seen, part: &Part<'_>, held: &[usize]) -> Self {
        let width = 4 * seen.bones.len();
        let mut rows: [Mat<f64>; 3] = std::array::from_fn(|_| Mat::zeros(width, held.len()));
        let mut turns = vec![glam::DMat3::ZERO; held.len()];
        for (at, &pose) in held.iter().enumerate() {
            // A pose that this home does not see keeps the linear skin.
            if let Some((new, turn)) = seen.row_of(part.examples.transforms(pose)) {
                turns[at] = turn;
                for (rows, new) in rows.iter_mut().zip(new) {
                    rows.col_as_slice_mut(at).copy_from_slice(&new);
                }
            }
        }
        Self { seen, rows, turns }
    }

    /// Adds what this home predicts for the held-out poses of one point.
    fn predict(
        &self,
        columns: &Columns,
        missing: impl Fn(usize) -> DVec3,
        (options, smoothnesses): (&TrainOptions, &[f64]),
        share: f32,
        predicted: &mut [Vec<DVec3>],
    ) {
        let (b, means) = self.seen.right_hand_sides(1, |pose, _| missing(pose));
        let total = columns.total_variance(&self.seen);
        let mut product = Symmetric::default();
        let mut local = vec![vec![means[0]; self.turns.len()]; smoothnesses.len()];
        for j in 0..3 {
            columns.product(&self.seen, j, &mut product);
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
            for ((predicted, turn), local) in predicted.iter_mut().zip(&self.turns).zip(local) {
                *predicted += f64::from(share) * (*turn * local);
            }
        }
    }

    /// The right-hand side along each component, and the held-out rows (as columns) along each.
    fn along_components(
        &self,
        columns: &Columns,
        j: usize,
        b: &[f64],
        components: &Components,
    ) -> (Vec<f64>, Mat<f64>) {
        let a = &self.seen.a[j];
        let held = Mat::from_fn(columns.len(), self.turns.len(), |_, _| 0.0);
        let (mut held, mut trained) = (held, Mat::zeros(columns.len(), a.nrows()));
        for (k, (column, mu)) in columns.iter().enumerate() {
            (0..held.ncols()).for_each(|at| held[(k, at)] = mu * self.rows[j][(column, at)]);
            (0..a.nrows()).for_each(|row| trained[(k, row)] = mu * a[(row, column)]);
        }
        let vectors = components.vectors.as_ref();
        let b = faer::ColRef::from_slice(b);
        let (along, rows) = if columns.is_overdetermined(&self.seen) {
            (vectors.transpose() * (&trained * b), vectors.transpose() * &held)
        } else {
            (vectors.transpose() * b, vectors.transpose() * (trained.transpose() * &held))
        };
        (along.iter().copied().collect(), rows)
    }
}
