//! Bones that move the weighted rest pose closest to the frames, in closed form.
//!
//! Φ (4B × N) contains `w_ib p̃_i`, so the squared error is ‖P − TΦ‖². Its normal matrix `A = ΦΦᵀ` (4B × 4B) is the same
//! for all frames and coordinates, the right-hand side is `R = PΦᵀ` (3S × 4B).
//!
//! Flexible bones: `T A = R` by one Cholesky factor, with a small weight on the rigid part of the previous transform,
//! which resolves underdetermined cases (few or flat points). A bone that collapses, stretches or mirrors space beyond
//! [`MAX_CONDITION`] gets a larger weight, as long as the error increases by less than [`MAX_INCREASE`]: the data then do
//! not determine that stretch. Rigid and scaled bones: block by block (Gauss–Seidel).
//! The residual of the other bones for bone b in frame t is `Q = R_b − Σ_{b'≠b} T_b' A_b'b`, and its best transform
//! depends on Q and `A_bb` alone, so a sweep costs O(B²·S) and does not access any points.

use dermis_math::polar::polar_rotation;
use dermis_math::svd3::svd3;
use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use glam::{DMat3, DVec3};
use multiversion::multiversion;
use rayon::prelude::*;

use crate::bone_model::BoneModel;
use crate::fit::best_linear::best_linear;
use crate::fit::influences::Influences;
use crate::fit::trajectories::Trajectories;
use crate::fit::transforms::{Affine, affine_at, set_affine};

/// Pull of flexible bones towards rigid ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hold {
    /// Weight of the rigid part of the previous transform, relative to the bone's own points.
    strength: f64,
    /// Increases the weight of bones beyond [`MAX_CONDITION`].
    is_bounded: bool,
}

/// Pull that only resolves underdetermined cases.
pub(crate) const HOLD: Hold = Hold { strength: 1e-6, is_bounded: false };
/// Pull for smooth weights: bones have fewer points that distinguish them from rigid ones, and are better conditioned.
pub(crate) const SMOOTH_HOLD: Hold = Hold { strength: 1e-5, is_bounded: true };
/// Largest ratio of the stretches of a bone that the data do not determine.
const MAX_CONDITION: f64 = 8.0;
/// Maximum increase of the squared error by the bound of one bone, relative to the mean error per bone. It is multiplied
/// by the condition relative to [`MAX_CONDITION`], up to [`MAX_EXCESS`]: a bone that collapses may cost more.
const MAX_INCREASE: f64 = 0.05;
/// See [`MAX_INCREASE`].
const MAX_EXCESS: f64 = 20.0;
/// Factor of the weight of a bone beyond [`MAX_CONDITION`], and the maximum number of times that it is applied.
const STRONGER: (f64, usize) = (10.0, 5);
/// Number of sweeps over bones that are not flexible; each reduces the error.
const SWEEPS: usize = 3;

/// Replaces `transforms` (3S × 4B) by the best ones of `model` for the given weights and rest pose.
pub(crate) fn update_bones(
    trajectories: &Trajectories,
    influences: &[Influences],
    rest: &[DVec3],
    model: BoneModel,
    hold: Hold,
    transforms: &mut Mat<f64>,
) {
    let (normal, right) = normal_equations(trajectories, influences, rest, transforms.ncols());
    match model {
        BoneModel::Flexible => {
            let flexible = Flexible { normal: &normal, right: &right, before: transforms };
            let squared_norm = trajectories.squared_norms.iter().sum();
            if let Some(solution) = flexible.solve(hold, squared_norm) {
                *transforms = solution;
            }
        }
        BoneModel::Rigid | BoneModel::Scaled => {
            for _ in 0..SWEEPS {
                sweep(&normal, &right, model, transforms);
            }
        }
    }
}

/// A (4B × 4B) and R (3S × 4B).
pub(crate) fn normal_equations(
    trajectories: &Trajectories,
    influences: &[Influences],
    rest: &[DVec3],
    columns: usize,
) -> (Mat<f64>, Mat<f64>) {
    // A fixed number of groups, summed in order: the same bits for any number of threads.
    const GROUPS: usize = 16;
    let points = influences.len();
    let rows = trajectories.positions.nrows();
    let group_size = points.div_ceil(GROUPS).max(1);
    let parts: Vec<(Mat<f64>, Mat<f64>)> = (0..points.div_ceil(group_size))
        .into_par_iter()
        .map(|group| {
            let mut normal = Mat::zeros(columns, columns);
            let mut right = Mat::zeros(rows, columns);
            for point in group * group_size..((group + 1) * group_size).min(points) {
                add_point(trajectories.of(point), &influences[point], rest[point], &mut normal, &mut right);
            }
            (normal, right)
        })
        .collect();
    let mut parts = parts.into_iter();
    let first = parts.next().unwrap_or_else(|| (Mat::zeros(columns, columns), Mat::zeros(rows, columns)));
    parts.fold(first, |(normal, right), (more_normal, more_right)| (normal + more_normal, right + more_right))
}

fn add_point(trajectory: &[f64], influences: &Influences, rest: DVec3, normal: &mut Mat<f64>, right: &mut Mat<f64>) {
    let p = [rest.x, rest.y, rest.z, 1.0];
    for (bone, weight) in influences.iter() {
        for (k, &coordinate) in p.iter().enumerate() {
            let factor = weight * coordinate;
            add_scaled(right.col_as_slice_mut(4 * bone + k), trajectory, factor);
            for (other, other_weight) in influences.iter() {
                let column = normal.col_as_slice_mut(4 * bone + k);
                for (l, &other_coordinate) in p.iter().enumerate() {
                    column[4 * other + l] += factor * other_weight * other_coordinate;
                }
            }
        }
    }
}

#[multiversion(targets = "simd")]
fn add_scaled(sums: &mut [f64], numbers: &[f64], factor: f64) {
    for (sum, number) in sums.iter_mut().zip(numbers) {
        *sum += factor * number;
    }
}

/// Least-squares problem of flexible bones.
struct Flexible<'a> {
    normal: &'a Mat<f64>,
    right: &'a Mat<f64>,
    /// Transforms of the previous update.
    before: &'a Mat<f64>,
}

impl Flexible<'_> {
    fn bone_count(&self) -> usize {
        self.normal.ncols() / 4
    }

    /// Best transforms; `None` if the system is singular, which only rounding can cause.
    fn solve(&self, hold: Hold, squared_norm: f64) -> Option<Mat<f64>> {
        let mut strengths = vec![hold.strength; self.bone_count()];
        let solution = self.solve_held(&strengths)?;
        if !hold.is_bounded {
            return Some(solution);
        }
        let max_increase = MAX_INCREASE * self.squared_error(&solution, squared_norm) / self.bone_count().max(1) as f64;
        self.bounded(solution, &mut strengths, max_increase)
    }

    /// `solution` with a larger weight on the rigid part of bones beyond [`MAX_CONDITION`].
    fn bounded(&self, mut solution: Mat<f64>, strengths: &mut [f64], max_increase: f64) -> Option<Mat<f64>> {
        let mut determined = vec![false; strengths.len()];
        for _ in 0..STRONGER.1 {
            let excess: Vec<f64> =
                (0..strengths.len()).map(|bone| condition(&solution, bone) / MAX_CONDITION).collect();
            let ill: Vec<usize> =
                (0..strengths.len()).filter(|&bone| !determined[bone] && excess[bone] > 1.0).collect();
            if ill.is_empty() {
                break;
            }
            for &bone in &ill {
                strengths[bone] *= STRONGER.0;
            }
            let next = self.solve_held(strengths)?;
            let is_costly =
                |bone: usize| self.increase(&solution, &next, bone) > max_increase * excess[bone].min(MAX_EXCESS);
            let rejected: Vec<usize> = ill.iter().copied().filter(|&bone| is_costly(bone)).collect();
            for &bone in &rejected {
                determined[bone] = true;
                strengths[bone] /= STRONGER.0;
            }
            solution = if rejected.is_empty() { next } else { self.solve_held(strengths)? };
        }
        Some(solution)
    }

    fn solve_held(&self, strengths: &[f64]) -> Option<Mat<f64>> {
        let mut normal = self.normal.clone();
        let mut solution = self.right.clone();
        for (bone, strength) in strengths.iter().enumerate() {
            let trace: f64 = (0..4).map(|k| normal[(4 * bone + k, 4 * bone + k)]).sum();
            // A bone without points keeps its transform for any factor.
            let hold = if trace > 0.0 { strength * trace } else { 1.0 };
            for column in 4 * bone..4 * bone + 4 {
                normal[(column, column)] += hold;
            }
            for frame in 0..self.before.nrows() / 3 {
                let affine = affine_at(self.before, frame, bone);
                let rigid = polar_rotation(DMat3::from_cols(affine[0], affine[1], affine[2]));
                let held = [rigid.x_axis, rigid.y_axis, rigid.z_axis, affine[3]];
                for (k, column) in held.into_iter().enumerate() {
                    let sums = &mut solution.col_as_slice_mut(4 * bone + k)[3 * frame..3 * frame + 3];
                    sums.iter_mut().zip(column.to_array()).for_each(|(sum, held)| *sum += hold * held);
                }
            }
        }
        let mut transposed = solution.transpose().to_owned();
        // A sum of squares plus a positive diagonal is positive definite except for rounding.
        let factor = normal.llt(Side::Lower).ok()?;
        factor.solve_in_place(transposed.as_mut());
        Some(transposed.transpose().to_owned())
    }

    /// `‖P‖² + tr(T A Tᵀ) − 2 tr(T Rᵀ)`.
    fn squared_error(&self, transforms: &Mat<f64>, squared_norm: f64) -> f64 {
        let product = transforms * self.normal;
        let dot = |column: usize| -> f64 {
            let sides = product.col_as_slice(column).iter().zip(self.right.col_as_slice(column));
            sides.zip(transforms.col_as_slice(column)).map(|((product, right), t)| t * (product - 2.0 * right)).sum()
        };
        (squared_norm + (0..transforms.ncols()).map(dot).sum::<f64>()).max(0.0)
    }

    /// `tr(Δ A Δᵀ)` of the change Δ of one bone: the increase of the squared error from its minimum.
    fn increase(&self, from: &Mat<f64>, to: &Mat<f64>, bone: usize) -> f64 {
        let change = |column: usize, row: usize| to[(row, column)] - from[(row, column)];
        let columns = 4 * bone..4 * bone + 4;
        let entry = |row: usize| -> f64 {
            let pairs = columns.clone().flat_map(|a| columns.clone().map(move |b| (a, b)));
            pairs.map(|(a, b)| change(a, row) * self.normal[(a, b)] * change(b, row)).sum()
        };
        (0..from.nrows()).map(entry).sum()
    }
}

/// Largest ratio of the stretches of a bone over all frames; infinite if it mirrors space.
fn condition(transforms: &Mat<f64>, bone: usize) -> f64 {
    let of_frame = |frame: usize| {
        let [x, y, z, _] = affine_at(transforms, frame, bone);
        let linear = DMat3::from_cols(x, y, z);
        let stretch = svd3(linear).sigma;
        if linear.determinant() > 0.0 { stretch.x / stretch.z } else { f64::INFINITY }
    };
    (0..transforms.nrows() / 3).map(of_frame).fold(1.0, f64::max)
}

fn sweep(normal: &Mat<f64>, right: &Mat<f64>, model: BoneModel, transforms: &mut Mat<f64>) {
    let bones = normal.ncols() / 4;
    let frames = right.nrows() / 3;
    let solved: Vec<Vec<Affine>> = (0..frames)
        .into_par_iter()
        .map(|frame| {
            let mut frame_bones: Vec<Affine> = (0..bones).map(|bone| affine_at(transforms, frame, bone)).collect();
            for bone in 0..bones {
                let left_over = left_over(normal, right, &frame_bones, frame, bone);
                frame_bones[bone] = best_affine(model, normal, bone, left_over, frame_bones[bone]);
            }
            frame_bones
        })
        .collect();
    for (frame, frame_bones) in solved.iter().enumerate() {
        for (bone, affine) in frame_bones.iter().enumerate() {
            set_affine(transforms, frame, bone, *affine);
        }
    }
}

/// Q = `R_b` − Σ_{b'≠b} `T_b`' `A_b`'b.
pub(crate) fn left_over(
    normal: &Mat<f64>,
    right: &Mat<f64>,
    frame_bones: &[Affine],
    frame: usize,
    bone: usize,
) -> Affine {
    let mut q = affine_at(right, frame, bone);
    for (other, affine) in frame_bones.iter().enumerate().filter(|(other, _)| *other != bone) {
        for (k, column) in q.iter_mut().enumerate() {
            let block = &normal.col_as_slice(4 * bone + k)[4 * other..4 * other + 4];
            // Most pairs of bones share no point.
            if block[3] != 0.0 {
                *column -= affine[0] * block[0] + affine[1] * block[1] + affine[2] * block[2] + affine[3] * block[3];
            }
        }
    }
    q
}

pub(crate) fn best_affine(model: BoneModel, normal: &Mat<f64>, bone: usize, q: Affine, former: Affine) -> Affine {
    let a = |i: usize, j: usize| normal[(4 * bone + i, 4 * bone + j)];
    let mass = a(3, 3);
    if mass <= 1e-12 {
        return former;
    }
    let mean_rest = DVec3::new(a(0, 3), a(1, 3), a(2, 3)) / mass;
    let mean_target = q[3] / mass;
    let cross_column = |k: usize| q[k] - q[3] * mean_rest[k];
    let square_column = |k: usize| DVec3::new(a(0, k), a(1, k), a(2, k)) - mass * mean_rest * mean_rest[k];
    let former_linear = DMat3::from_cols(former[0], former[1], former[2]);
    let square = DMat3::from_cols(square_column(0), square_column(1), square_column(2));
    // Flat or tiny clusters do not determine the rotation; the previous one resolves it.
    let hold = 1e-6 * (square.x_axis.x + square.y_axis.y + square.z_axis.z) + f64::MIN_POSITIVE;
    let square = square + DMat3::from_diagonal(DVec3::splat(hold));
    let cross = DMat3::from_cols(cross_column(0), cross_column(1), cross_column(2)) + former_linear * hold;
    let linear = best_linear(model, cross, square, former_linear);
    [linear.x_axis, linear.y_axis, linear.z_axis, mean_target - linear * mean_rest]
}
