//! Poses of scans by Levenberg–Marquardt (Kim et al. 2017, Eq. 17), shape coefficients, and unposing (Eq. 16).
//!
//! A rotation of joint j by ω moves point i by `ω × s_ij` with `s_ij = Σ_k w_ik (A_k x̄_i − p_j)`, summed over the
//! joints k that j carries. These are the exact derivatives of linear blend skinning. The small derivatives of the pose
//! shapes are neglected, which the iteration corrects. Frames are solved in order, each starting from the previous pose.
//!
//! Soft parts move by centimetres. In addition to the weights of parts, points far from the model therefore get a lower
//! weight (after Geman and `McClure`, 1987): the squared distance r² is replaced by `r²/(1 + r²/s²)`.

use dermis_body::{BodyError, BodyModel, BodyPose, ShapedBody};
use glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};

/// Maximum number of points of the skin that are used.
const MAX_POINTS: usize = 1500;
/// Initial damping of the iteration, relative to the diagonal.
const INITIAL_DAMPING: f64 = 1e-3;
/// Ridge that holds joints without skin, relative to the mean diagonal.
const RIDGE: f64 = 1e-9;
/// Rounds of shape and pose.
const SHAPE_ROUNDS: usize = 12;
/// Ridge of the equations for pose and shape, relative to the mean diagonal.
const SHAPE_RIDGE: f64 = 1e-8;
/// Distance s in metres from which points get a lower weight.
const ROBUST_M: f64 = 6e-3;

/// Options of [`fit_poses`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoseOptions {
    /// Maximum number of iterations per frame.
    pub max_iterations: usize,
    /// Length of the last step in radians and metres at which a frame is solved.
    pub tolerance: f64,
}

impl Default for PoseOptions {
    fn default() -> Self {
        Self { max_iterations: 30, tolerance: 1e-5 }
    }
}

/// Poses of all `frames`, weighted by `weights` per point: high on skin that follows the bones, low on soft parts.
pub fn fit_poses<F: std::borrow::Borrow<Vec<Vec3>>>(
    body: &BodyModel,
    betas: &[f64],
    frames: &[F],
    weights: &[f64],
    options: &PoseOptions,
) -> Result<Vec<BodyPose>, BodyError> {
    let shaped = body.shaped(betas)?;
    let solver = Solver::new(&shaped, weights);
    let mut pose = BodyPose::rest(body.joints().len());
    let mut poses = Vec::with_capacity(frames.len());
    for frame in frames.iter().map(std::borrow::Borrow::borrow) {
        if poses.is_empty() {
            pose = solver.placed(frame, pose);
        }
        // Limbs move farther between frames than the distance at which points get a lower weight.
        pose = solver.solve(frame, pose, f64::INFINITY, options)?;
        pose = solver.solve(frame, pose, ROBUST_M, options)?;
        poses.push(pose.clone());
    }
    Ok(poses)
}

/// Shape coefficients of the subject: each of `frames` is solved for pose and shape together, and the results are
/// averaged.
pub fn fit_shape(
    body: &BodyModel,
    frames: &[&Vec<Vec3>],
    weights: &[f64],
    options: &PoseOptions,
) -> Result<Vec<f64>, BodyError> {
    let count = body.shapes().len();
    let mut mean = vec![0.0; count];
    for frame in frames.iter().filter(|_| count > 0) {
        let mut betas = vec![0.0; count];
        let mut pose = fit_poses(body, &betas, &[*frame], weights, options)?.remove(0);
        for round in 0..SHAPE_ROUNDS {
            let shaped = body.shaped(&betas)?;
            let solver = Solver::new(&shaped, weights);
            let unknowns = 3 * body.joints().len() + 3 + count;
            let robust = if round < SHAPE_ROUNDS / 2 { f64::INFINITY } else { ROBUST_M };
            let (mut matrix, mut step, joints) = solver.normal_equations(&pose, frame, robust, unknowns)?;
            let diagonal = (0..unknowns).map(|k| matrix[k * unknowns + k]).sum::<f64>() / unknowns as f64;
            (0..unknowns).for_each(|k| matrix[k * unknowns + k] += SHAPE_RIDGE * diagonal);
            solve_positive(&mut matrix, &mut step);
            pose = solver.moved(&pose, &joints, &step);
            betas.iter_mut().zip(&step[unknowns - count..]).for_each(|(beta, change)| *beta += change);
        }
        mean.iter_mut().zip(&betas).for_each(|(mean, beta)| *mean += beta / frames.len() as f64);
    }
    Ok(mean)
}

/// Unposed points of a frame: the inverse of the blended transform, less the pose shapes (Eq. 16).
pub fn unpose(body: &ShapedBody<'_>, pose: &BodyPose, points: &[Vec3]) -> Result<Vec<DVec3>, BodyError> {
    let model = body.model();
    let joints = body.joint_transforms(pose)?;
    let coefficients = model.pose_coefficients(pose)?;
    let skinning: Vec<DAffine3> =
        joints.iter().zip(body.joints()).map(|(joint, rest)| *joint * DAffine3::from_translation(-*rest)).collect();
    let unposed = |(point, at): (usize, &Vec3)| {
        let (mut matrix, mut translation) = (DMat3::ZERO, DVec3::ZERO);
        for (joint, weight) in model.weights().row(point) {
            let transform = &skinning[joint as usize];
            matrix += transform.matrix3 * f64::from(weight);
            translation += transform.translation * f64::from(weight);
        }
        let mut rest = matrix.inverse() * (at.as_dvec3() - translation); // Eq. 16
        for (shape, coefficient) in model.pose_shapes().iter().zip(&coefficients) {
            rest -= shape.offsets[point].as_dvec3() * *coefficient;
        }
        rest
    };
    Ok(points.iter().enumerate().map(unposed).collect())
}

/// Points and joints of a body, prepared for Eq. 17.
struct Solver<'a> {
    shaped: &'a ShapedBody<'a>,
    points: Vec<(usize, f64)>,
    /// True at j · joints + k if joint j carries joint k.
    carries: Vec<bool>,
}

impl<'a> Solver<'a> {
    fn new(shaped: &'a ShapedBody<'a>, weights: &[f64]) -> Self {
        let model = shaped.model();
        let joints = model.joints().len();
        let mut carries = vec![false; joints * joints];
        for joint in 0..joints {
            let mut above = Some(joint);
            while let Some(ancestor) = above {
                carries[ancestor * joints + joint] = true;
                above = model.joints()[ancestor].parent;
            }
        }
        let stride = model.point_count().div_ceil(MAX_POINTS).max(1);
        let points = (0..model.point_count()).step_by(stride).map(|p| (p, weights[p])).filter(|(_, w)| *w > 0.0);
        Self { shaped, points: points.collect(), carries }
    }

    /// Translation to the centre of the frame.
    fn placed(&self, frame: &[Vec3], mut pose: BodyPose) -> BodyPose {
        let total: f64 = self.points.iter().map(|(_, w)| w).sum();
        let offset = |&(p, w): &(usize, f64)| (frame[p].as_dvec3() - self.shaped.points()[p]) * w;
        pose.translation = self.points.iter().map(offset).sum::<DVec3>() / total;
        pose
    }

    fn solve(
        &self,
        frame: &[Vec3],
        mut pose: BodyPose,
        robust: f64,
        options: &PoseOptions,
    ) -> Result<BodyPose, BodyError> {
        let unknowns = 3 * self.shaped.joints().len() + 3;
        let mut damping = INITIAL_DAMPING;
        let mut value = self.value(&pose, frame, robust)?;
        for _ in 0..options.max_iterations {
            let (matrix, right, transforms) = self.normal_equations(&pose, frame, robust, unknowns)?;
            let mean = (0..unknowns).map(|k| matrix[k * unknowns + k]).sum::<f64>() / unknowns as f64;
            let mut length = 0.0;
            for _ in 0..8 {
                let (mut damped, mut step) = (matrix.clone(), right.clone());
                (0..unknowns).for_each(|k| damped[k * unknowns + k] *= 1.0 + damping);
                (0..unknowns).for_each(|k| damped[k * unknowns + k] += RIDGE * mean);
                solve_positive(&mut damped, &mut step);
                let next = self.moved(&pose, &transforms, &step);
                let found = self.value(&next, frame, robust)?;
                if found <= value {
                    length = step.iter().map(|x| x * x).sum::<f64>().sqrt();
                    (pose, value, damping) = (next, found, (damping * 0.2).max(1e-12));
                    break;
                }
                damping *= 8.0;
            }
            if length < options.tolerance {
                break;
            }
        }
        Ok(pose)
    }

    /// Eq. 17.
    fn value(&self, pose: &BodyPose, frame: &[Vec3], robust: f64) -> Result<f64, BodyError> {
        let (skinning, coefficients) = self.transforms(pose)?;
        let squared = |&(p, w): &(usize, f64)| {
            let squared = (self.posed(p, &skinning, &coefficients) - frame[p].as_dvec3()).length_squared();
            w * squared / (1.0 + squared / (robust * robust)) // Eq. 17 with a robust distance
        };
        Ok(self.points.iter().map(squared).sum())
    }

    fn transforms(&self, pose: &BodyPose) -> Result<(Vec<DAffine3>, Vec<f64>), BodyError> {
        let joints = self.shaped.joint_transforms(pose)?;
        let rest = self.shaped.joints().iter();
        let skinning = joints.iter().zip(rest).map(|(joint, rest)| *joint * DAffine3::from_translation(-*rest));
        Ok((skinning.collect(), self.shaped.model().pose_coefficients(pose)?))
    }

    fn unposed(&self, point: usize, coefficients: &[f64]) -> DVec3 {
        let shapes = self.shaped.model().pose_shapes().iter().zip(coefficients);
        shapes.fold(self.shaped.points()[point], |at, (shape, c)| at + shape.offsets[point].as_dvec3() * *c)
    }

    fn posed(&self, point: usize, skinning: &[DAffine3], coefficients: &[f64]) -> DVec3 {
        let rest = self.unposed(point, coefficients);
        let row = self.shaped.model().weights().row(point);
        row.map(|(joint, weight)| skinning[joint as usize].transform_point3(rest) * f64::from(weight)).sum()
    }

    #[allow(clippy::type_complexity, reason = "matrix, right-hand side and joint transforms of one iteration")]
    fn normal_equations(
        &self,
        pose: &BodyPose,
        frame: &[Vec3],
        robust: f64,
        unknowns: usize,
    ) -> Result<(Vec<f64>, Vec<f64>, Vec<DAffine3>), BodyError> {
        let joints = self.shaped.joint_transforms(pose)?;
        let (skinning, coefficients) = self.transforms(pose)?;
        let model = self.shaped.model();
        let count = joints.len();
        let (mut matrix, mut right) = (vec![0.0; unknowns * unknowns], vec![0.0; unknowns]);
        let mut columns: Vec<(usize, DVec3)> = Vec::new();
        // Motion of the joints per shape coefficient, if shapes are among the unknowns.
        let with_shapes = unknowns > 3 * count + 3;
        let shape_motion: Vec<Vec<DVec3>> = model
            .joint_offsets()
            .iter()
            .filter(|_| with_shapes)
            .map(|offsets| self.joint_motion(&joints, offsets))
            .collect();
        for &(point, weight) in &self.points {
            let rest = self.unposed(point, &coefficients);
            columns.clear();
            let mut at = DVec3::ZERO;
            let moved: Vec<(usize, DVec3, f64)> = model
                .weights()
                .row(point)
                .map(|(joint, w)| (joint as usize, skinning[joint as usize].transform_point3(rest), f64::from(w)))
                .collect();
            for (_, position, w) in &moved {
                at += *position * *w;
            }
            for (joint, transform) in joints.iter().enumerate() {
                let mut arm = DVec3::ZERO;
                let mut is_carried = false;
                for (carried, position, w) in &moved {
                    if self.carries[joint * count + carried] {
                        arm += (*position - transform.translation) * *w;
                        is_carried = true;
                    }
                }
                if is_carried {
                    // dx = ω × arm: the derivative along axis a is e_a × arm.
                    columns.extend((0..3).map(|axis| (3 * joint + axis, DVec3::AXES[axis].cross(arm))));
                }
            }
            columns.extend((0..3).map(|axis| (3 * count + axis, DVec3::AXES[axis])));
            for (shape, (moved_joints, offsets)) in shape_motion.iter().zip(model.joint_offsets()).enumerate() {
                let offset = model.shapes()[shape].offsets[point].as_dvec3();
                let of = |(joint, w): (u32, f32)| {
                    let joint = joint as usize;
                    (joints[joint].matrix3 * (offset - offsets[joint]) + moved_joints[joint]) * f64::from(w)
                };
                columns.push((3 * count + 3 + shape, model.weights().row(point).map(of).sum()));
            }
            let difference = frame[point].as_dvec3() - at;
            let weight = weight * robust_weight(difference.length_squared(), robust);
            for &(row, a) in &columns {
                right[row] += weight * a.dot(difference);
                for &(column, b) in &columns {
                    matrix[row * unknowns + column] += weight * a.dot(b);
                }
            }
        }
        Ok((matrix, right, joints))
    }

    /// Motion of the posed joints if they are displaced by `offsets` at rest.
    fn joint_motion(&self, joints: &[DAffine3], offsets: &[DVec3]) -> Vec<DVec3> {
        let model = self.shaped.model();
        let mut motion = vec![DVec3::ZERO; joints.len()];
        for &joint in model.parents_first() {
            motion[joint] = match model.joints()[joint].parent {
                Some(parent) => motion[parent] + joints[parent].matrix3 * (offsets[joint] - offsets[parent]),
                None => offsets[joint],
            };
        }
        motion
    }

    /// Applies world rotations of the joints and a translation.
    fn moved(&self, pose: &BodyPose, joints: &[DAffine3], step: &[f64]) -> BodyPose {
        let model = self.shaped.model();
        let mut next = pose.clone();
        for (joint, angle) in next.angles.iter_mut().enumerate() {
            let rotation = DQuat::from_scaled_axis(DVec3::from_slice(&step[3 * joint..]));
            let above = match model.joints()[joint].parent {
                Some(parent) => DQuat::from_mat3(&joints[parent].matrix3).normalize(),
                None => DQuat::IDENTITY,
            };
            *angle =
                (above.inverse() * rotation * above * DQuat::from_scaled_axis(*angle)).normalize().to_scaled_axis();
        }
        next.translation += DVec3::from_slice(&step[3 * joints.len()..]);
        next
    }
}

/// Derivative of `r²/(1 + r²/s²)` with respect to r².
fn robust_weight(squared: f64, s: f64) -> f64 {
    (1.0 + squared / (s * s)).powi(-2)
}

/// Solves a positive definite system in place by Cholesky's method.
fn solve_positive(a: &mut [f64], x: &mut [f64]) {
    let n = x.len();
    for i in 0..n {
        for j in 0..=i {
            let sum = a[i * n + j] - (0..j).map(|k| a[i * n + k] * a[j * n + k]).sum::<f64>();
            a[i * n + j] = if i == j { sum.max(f64::MIN_POSITIVE).sqrt() } else { sum / a[j * n + j] };
        }
    }
    for i in 0..n {
        x[i] = (x[i] - (0..i).map(|k| a[i * n + k] * x[k]).sum::<f64>()) / a[i * n + i];
    }
    for i in (0..n).rev() {
        x[i] = (x[i] - (i + 1..n).map(|k| a[k * n + i] * x[k]).sum::<f64>()) / a[i * n + i];
    }
}
