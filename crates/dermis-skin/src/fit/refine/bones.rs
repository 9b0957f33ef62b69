//! Bones that move the weighted rest pose closest to the frames, in closed form.
//!
//! With Φ (4B × N) holding `w_ib p̃_i`, the squared error is ‖P − TΦ‖². Its normal matrix `A = ΦΦᵀ` (4B × 4B) is the same
//! for all frames and coordinates, the right-hand side is `R = PΦᵀ` (3S × 4B).
//!
//! Flexible bones: `T A = R` by one Cholesky factor, with a small weight on the rigid part of the previous transform,
//! which resolves underdetermined cases (few or flat points). Rigid and scaled bones: block by block (Gauss–Seidel).
//! The residual of the other bones for bone b in frame t is `Q = R_b − Σ_{b'≠b} T_b' A_b'b`, and its best transform
//! depends on Q and `A_bb` alone, so a sweep costs O(B²·S) and does not access any points.

use dermis_math::polar::polar_rotation;
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

/// Weight of the rigid part of the previous transform, relative to the bone's own points.
pub(crate) const HOLD: f64 = 1e-6;
/// The same for smooth weights: bones have fewer points that distinguish them from rigid ones, and are better
/// conditioned.
pub(crate) const SMOOTH_HOLD: f64 = 1e-5;
/// Number of sweeps over bones that are not flexible; each reduces the error.
const SWEEPS: usize = 3;

/// Replaces `transforms` (3S × 4B) by the best ones of `model` for the given weights and rest pose.
pub(crate) fn update_bones(
    trajectories: &Trajectories,
    influences: &[Influences],
    rest: &[DVec3],
    model: BoneModel,
    hold: f64,
    transforms: &mut Mat<f64>,
) {
    let (normal, right) = normal_equations(trajectories, influences, rest, transforms.ncols());
    match model {
        BoneModel::Flexible => solve_flexible(normal, right, hold, transforms),
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

fn solve_flexible(mut normal: Mat<f64>, right: Mat<f64>, strength: f64, transforms: &mut Mat<f64>) {
    let columns = normal.ncols();
    let mut solution = right;
    for bone in 0..columns / 4 {
        let trace: f64 = (0..4).map(|k| normal[(4 * bone + k, 4 * bone + k)]).sum();
        // A bone without points keeps its transform for any factor.
        let hold = if trace > 0.0 { strength * trace } else { 1.0 };
        for column in 4 * bone..4 * bone + 4 {
            normal[(column, column)] += hold;
        }
        for frame in 0..transforms.nrows() / 3 {
            let affine = affine_at(transforms, frame, bone);
            let rigid = polar_rotation(DMat3::from_cols(affine[0], affine[1], affine[2]));
            let held = [rigid.x_axis, rigid.y_axis, rigid.z_axis, affine[3]];
            for (k, column) in held.into_iter().enumerate() {
                let sums = &mut solution.col_as_slice_mut(4 * bone + k)[3 * frame..3 * frame + 3];
                sums.iter_mut().zip(column.to_array()).for_each(|(sum, held)| *sum += hold * held);
            }
        }
    }
    let mut transposed = solution.transpose().to_owned();
    // A sum of squares plus a positive diagonal is positive definite except for rounding, in which case the bones are
    // unchanged.
    if let Ok(factor) = normal.llt(Side::Lower) {
        factor.solve_in_place(transposed.as_mut());
        *transforms = transposed.transpose().to_owned();
    }
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
