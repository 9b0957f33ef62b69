//! Rotations about joints with fixed offsets: the motion of a skeleton that reproduces the frames best.
//!
//! Each bone has a rotation `R_b` per frame; its joint `c_b` is fixed in its parent p: `v_b = T_p c_b − R_b c_b`. Only
//! roots and bones without a joint have translations. With all other rotations fixed, `R_b` moves the points by `R_b q_i`
//! with `q_i = w_ib (p̄_i − c_b) + Σ_k W_ik (c_k − c_b)`, over the children k of b and the sums `W_ik` of the weights of all
//! bones below them, so the best `R_b` is a polar factor (Procrustes). With the products `w_ia p̃_i` in `Φ` and `q = M_b Φ`,
//! its cross matrix is `(P Φᵀ − T Φ Φᵀ) M_bᵀ + R_b M_b Φ Φᵀ M_bᵀ`: points are not accessed, and a sweep costs O(B²) per
//! frame.

use dermis_math::polar::polar_rotation;
use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

use super::Skeleton;
use crate::fit::refine::bones::normal_equations;
use crate::fit::state::State;
use crate::fit::trajectories::Trajectories;
use crate::fit::transforms::{Affine, affine_at, set_affine};

/// Number of sweeps over the bones; each reduces the error.
const SWEEPS: usize = 4;
/// Weight of the former position of a joint, relative to the curvature of the error.
const HOLD: f64 = 1e-2;
/// Weight of the rotation of the parent, relative to the curvature of the error.
const UNDETERMINED: f64 = 1e-6;
/// Largest distance of a joint from its initial position, relative to the RMS radius of the rest pose.
const MAX_DISTANCE: f64 = 0.1;

/// Parts of the problem that are the same in all frames.
pub(in crate::fit) struct FixedOffsets<'a> {
    skeleton: &'a mut Skeleton,
    order: Vec<usize>,
    /// The joints at the start.
    found: Vec<DVec3>,
    /// For each bone, all bones below it.
    below: Vec<Vec<usize>>,
}

impl<'a> FixedOffsets<'a> {
    pub(in crate::fit) fn new(skeleton: &'a mut Skeleton) -> Self {
        let order = skeleton.parents_first();
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
        for &bone in order.iter().rev() {
            if let Some(parent) = skeleton.attached_to(bone) {
                let mut reached = below[bone].clone();
                reached.push(bone);
                below[parent].extend(reached);
            }
        }
        let found = skeleton.positions.clone();
        Self { skeleton, order, found, below }
    }

    /// The columns `(row of Φ, vector)` of `M_b`.
    fn map(&self, bone: usize) -> Vec<(usize, DVec3)> {
        let own = self.skeleton.positions[bone];
        let mut columns: Vec<(usize, DVec3)> = (0..3).map(|k| (4 * bone + k, DMat3::IDENTITY.col(k))).collect();
        columns.push((4 * bone + 3, -own));
        for child in (0..self.order.len()).filter(|&child| self.skeleton.attached_to(child) == Some(bone)) {
            let arm = self.skeleton.positions[child] - own;
            columns.push((4 * child + 3, arm));
            columns.extend(self.below[child].iter().map(|&bone| (4 * bone + 3, arm)));
        }
        columns
    }

    /// Sets the translations of all bones except roots so that their joints move with their parents.
    fn attach(&self, bones: &mut [Affine]) {
        for &bone in &self.order {
            if let Some(parent) = self.skeleton.attached_to(bone) {
                let joint = self.skeleton.positions[bone];
                bones[bone][3] =
                    moved_point(&bones[parent], joint) - (moved_point(&bones[bone], joint) - bones[bone][3]);
            }
        }
    }
}

fn moved_point([x, y, z, v]: &Affine, p: DVec3) -> DVec3 {
    *x * p.x + *y * p.y + *z * p.z + *v
}

/// One bone's part of the problem: `M_b` as columns, `Φ Φᵀ M_bᵀ` (4B × 3) and `M_b Φ Φᵀ M_bᵀ`.
struct BoneProblem {
    map: Vec<(usize, DVec3)>,
    product: Vec<DVec3>,
    square: DMat3,
}

/// Replaces the transforms of `state` by those of the skeleton, and its joints by better ones.
pub(in crate::fit) fn solve_fixed_offsets(
    trajectories: &Trajectories,
    state: &mut State,
    fixed: &mut FixedOffsets<'_>,
) {
    let columns = state.transforms.ncols();
    let (normal, right) = normal_equations(trajectories, &state.influences, &state.rest, columns);
    rotate(trajectories, state, fixed, &normal, &right);
    move_joints(state, fixed, &normal, &right);
    rotate(trajectories, state, fixed, &normal, &right);
}

/// Replaces the transforms of `state` by those of the skeleton without changing its joints.
pub(in crate::fit) fn solve_rotations(trajectories: &Trajectories, state: &mut State, fixed: &FixedOffsets<'_>) {
    let columns = state.transforms.ncols();
    let (normal, right) = normal_equations(trajectories, &state.influences, &state.rest, columns);
    rotate(trajectories, state, fixed, &normal, &right);
}

fn rotate(
    trajectories: &Trajectories,
    state: &mut State,
    fixed: &FixedOffsets<'_>,
    normal: &Mat<f64>,
    right: &Mat<f64>,
) {
    let problems: Vec<BoneProblem> = (0..state.bone_count()).map(|bone| problem(fixed.map(bone), normal)).collect();
    let solved: Vec<Vec<Affine>> = (0..trajectories.frame_count())
        .into_par_iter()
        .map(|frame| solve_frame(fixed, &problems, normal, right, &state.transforms, frame))
        .collect();
    for (frame, bones) in solved.iter().enumerate() {
        for (bone, affine) in bones.iter().enumerate() {
            set_affine(&mut state.transforms, frame, bone, *affine);
        }
    }
}

/// Moves the joints to the best positions for the rotations of all frames: with `D_a = R_p − R_a` of bone a and its
/// parent p, joint a moves the points by `W_ia D_a δc_a`, which is linear.
fn move_joints(state: &State, fixed: &mut FixedOffsets<'_>, normal: &Mat<f64>, right: &Mat<f64>) {
    let (bones, frames) = (state.bone_count(), state.transforms.nrows() / 3);
    let joints: Vec<(usize, usize)> =
        (0..bones).filter_map(|bone| Some((bone, fixed.skeleton.attached_to(bone)?))).collect();
    if joints.is_empty() {
        return;
    }
    let below = |bone: usize| fixed.below[bone].iter().copied().chain([bone]);
    // Σ_i W_ia W_ib.
    let masses = Mat::from_fn(joints.len(), joints.len(), |a, b| {
        let sum = |row: usize| below(joints[b].0).map(|column| normal[(4 * row + 3, 4 * column + 3)]).sum::<f64>();
        below(joints[a].0).map(sum).sum::<f64>()
    });
    let mut system: Mat<f64> = Mat::zeros(3 * joints.len(), 3 * joints.len());
    let mut step: Mat<f64> = Mat::zeros(3 * joints.len(), 1);
    for frame in 0..frames {
        let affines: Vec<Affine> = (0..bones).map(|bone| affine_at(&state.transforms, frame, bone)).collect();
        let linear = |bone: usize| DMat3::from_cols(affines[bone][0], affines[bone][1], affines[bone][2]);
        let arms: Vec<DMat3> = joints.iter().map(|&(bone, parent)| linear(parent) - linear(bone)).collect();
        // Σ_i w_ib r_i of each bone.
        let residuals: Vec<DVec3> = (0..bones)
            .map(|bone| {
                let column = normal.col_as_slice(4 * bone + 3);
                let played = affines.iter().enumerate().flat_map(|(other, affine)| {
                    affine.iter().enumerate().map(move |(k, part)| *part * column[4 * other + k])
                });
                DVec3::from_slice(&right.col_as_slice(4 * bone + 3)[3 * frame..3 * frame + 3]) - played.sum::<DVec3>()
            })
            .collect();
        for (a, arm) in arms.iter().enumerate() {
            let pull = arm.transpose() * below(joints[a].0).map(|bone| residuals[bone]).sum::<DVec3>();
            for k in 0..3 {
                step[(3 * a + k, 0)] += pull[k];
            }
            for (b, other) in arms.iter().enumerate().filter(|(b, _)| masses[(a, *b)] != 0.0) {
                let block = arm.transpose() * *other * masses[(a, b)];
                for (k, l) in (0..3).flat_map(|k| (0..3).map(move |l| (k, l))) {
                    system[(3 * a + k, 3 * b + l)] += block.col(l)[k];
                }
            }
        }
    }
    for a in 0..joints.len() {
        // Hinges do not determine the position along their axis.
        let hold = HOLD * (0..3).map(|k| system[(3 * a + k, 3 * a + k)]).sum::<f64>() + f64::MIN_POSITIVE;
        (0..3).for_each(|k| system[(3 * a + k, 3 * a + k)] += hold);
    }
    let Ok(factor) = system.llt(Side::Lower) else { return };
    factor.solve_in_place(step.as_mut());
    for (a, &(bone, _)) in joints.iter().enumerate() {
        let moved = DVec3::new(step[(3 * a, 0)], step[(3 * a + 1, 0)], step[(3 * a + 2, 0)]);
        if moved.is_finite() {
            let (found, joint) = (fixed.found[bone], &mut fixed.skeleton.positions[bone]);
            *joint = found + (*joint + moved - found).clamp_length_max(MAX_DISTANCE);
        }
    }
}

fn problem(map: Vec<(usize, DVec3)>, normal: &Mat<f64>) -> BoneProblem {
    let product: Vec<DVec3> =
        (0..normal.nrows()).map(|row| map.iter().map(|&(column, q)| normal[(row, column)] * q).sum()).collect();
    let outer =
        |&(row, q): &(usize, DVec3)| DMat3::from_cols(q * product[row].x, q * product[row].y, q * product[row].z);
    let square = map.iter().map(outer).fold(DMat3::ZERO, |sum, next| sum + next);
    BoneProblem { map, product, square }
}

fn solve_frame(
    fixed: &FixedOffsets<'_>,
    problems: &[BoneProblem],
    normal: &Mat<f64>,
    right: &Mat<f64>,
    transforms: &Mat<f64>,
    frame: usize,
) -> Vec<Affine> {
    let rigid = |bone: usize| {
        let [x, y, z, v] = affine_at(transforms, frame, bone);
        let rotation = polar_rotation(DMat3::from_cols(x, y, z));
        [rotation.x_axis, rotation.y_axis, rotation.z_axis, v]
    };
    let mut bones: Vec<Affine> = (0..problems.len()).map(rigid).collect();
    fixed.attach(&mut bones);
    let target = |row: usize| DVec3::from_slice(&right.col_as_slice(row)[3 * frame..3 * frame + 3]);
    for _ in 0..SWEEPS {
        for &bone in &fixed.order {
            let BoneProblem { map, product, square } = &problems[bone];
            let mut cross = DMat3::from_cols(bones[bone][0], bones[bone][1], bones[bone][2]) * *square;
            for &(row, q) in map {
                cross += outer(target(row), q);
            }
            for (row, product) in product.iter().enumerate() {
                cross -= outer(bones[row / 4][row % 4], *product);
            }
            // Points on a line, or none, do not determine a rotation: it is then that of the parent.
            let size = square.x_axis.x + square.y_axis.y + square.z_axis.z;
            let [x, y, z, _] = bones[fixed.skeleton.attached_to(bone).unwrap_or(bone)];
            cross += DMat3::from_cols(x, y, z) * (UNDETERMINED * size + f64::MIN_POSITIVE);
            let joint = fixed.skeleton.positions[bone];
            let held = moved_point(&bones[bone], joint);
            let rotation = polar_rotation(cross);
            bones[bone] = [rotation.x_axis, rotation.y_axis, rotation.z_axis, held - rotation * joint];
            fixed.attach(&mut bones);
            if fixed.skeleton.attached_to(bone).is_none() {
                move_root(fixed, normal, &target, &mut bones, bone);
            }
        }
    }
    bones
}

/// Finds the best translation of a whole tree.
fn move_root(
    fixed: &FixedOffsets<'_>,
    normal: &Mat<f64>,
    target: &impl Fn(usize) -> DVec3,
    bones: &mut [Affine],
    root: usize,
) {
    let rows = || fixed.below[root].iter().chain([&root]).map(|bone| 4 * bone + 3);
    let (mut residual, mut mass) = (DVec3::ZERO, 0.0);
    for row in rows() {
        residual += target(row);
        let column = normal.col_as_slice(row);
        for (other, affine) in bones.iter().enumerate() {
            for (k, part) in affine.iter().enumerate() {
                residual -= *part * column[4 * other + k];
            }
        }
        mass += rows().map(|other| column[other]).sum::<f64>();
    }
    if mass > 0.0 {
        bones[root][3] += residual / mass;
        fixed.attach(bones);
    }
}

fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}
