//! Skin from shape coefficients β and joint angles θ (Kim et al. 2017, Eq. 1 and 2; Loper et al. 2015, Eq. 2–10).
//!
//! ```text
//! S̄(β, θ) = S̄_μ + Σ β_k S_k + Σ (R_n(θ) − I_n) P_n                  (2)
//! G_j = G_parent · [R(θ_j) | J_j(β) − J_parent(β)]
//! S_i(β, θ) = Σ_j w_ij G_j [I | −J_j(β)] S̄_i + t                     (1)
//! ```
//!
//! `θ_j` are exponential coordinates (axis times angle) of joint j relative to its parent; R is Rodrigues' formula.
//! [`ShapedBody`] caches everything that depends only on β. Joints and sums are `f64`; points are rounded once at the
//! end. Points are independent of each other, so that the result does not depend on the number of threads.

use glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use rayon::prelude::*;

use super::model::{BodyError, BodyModel, expect_count};

/// Points per parallel task.
const BLOCK: usize = 512;

/// Rotations of the joints relative to their parents, and translation of the body.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyPose {
    /// Axis times angle in radians, per joint (θ).
    pub angles: Vec<DVec3>,
    /// Translation of the whole body (t).
    pub translation: DVec3,
}

impl BodyPose {
    /// Pose of the template of a body with `joints` joints.
    pub fn rest(joints: usize) -> Self {
        Self { angles: vec![DVec3::ZERO; joints], translation: DVec3::ZERO }
    }
}

/// A posed body.
#[derive(Debug, Clone, PartialEq)]
pub struct PosedBody {
    /// Points of the skin.
    pub points: Vec<Vec3>,
    /// Transforms of the joints, joint space to world.
    pub joints: Vec<DAffine3>,
    /// Skinning transforms of the unposed skin, `joints[j] · [I | −J_j]`, including `t`.
    pub skinning: Vec<DAffine3>,
}

/// A body of fixed shape that can be posed.
#[derive(Debug, Clone)]
pub struct ShapedBody<'a> {
    model: &'a BodyModel,
    points: Vec<DVec3>,
    joints: Vec<DVec3>,
}

impl BodyModel {
    /// Creates the body with the shape coefficients `betas`; missing coefficients are 0.
    pub fn shaped(&self, betas: &[f64]) -> Result<ShapedBody<'_>, BodyError> {
        let shapes = self.shapes().len();
        if betas.len() > shapes {
            return Err(BodyError::TooManyCoefficients { found: betas.len(), shapes });
        }
        if let Some(index) = betas.iter().position(|beta| !beta.is_finite()) {
            return Err(BodyError::NotFinite { what: "shape coefficient", index });
        }
        let mut points: Vec<DVec3> = self.mesh().points().iter().map(|point| point.as_dvec3()).collect();
        let mut joints = self.rest_joints().to_vec();
        for ((shape, offsets), &beta) in self.shapes().iter().zip(self.joint_offsets()).zip(betas) {
            // Eq. 2, shapes.
            points.iter_mut().zip(&shape.offsets).for_each(|(point, offset)| *point += beta * offset.as_dvec3());
            joints.iter_mut().zip(offsets).for_each(|(joint, offset)| *joint += beta * *offset);
        }
        Ok(ShapedBody { model: self, points, joints })
    }

    /// Computes the skin and joints of the shape `betas` in `pose`.
    pub fn pose(&self, betas: &[f64], pose: &BodyPose) -> Result<PosedBody, BodyError> {
        self.shaped(betas)?.pose(pose)
    }

    /// Computes the elements of `R(θ_j) − I` that drive the pose shapes, in their order.
    pub fn pose_coefficients(&self, pose: &BodyPose) -> Result<Vec<f64>, BodyError> {
        let rotations = joint_rotations(self, pose)?;
        let coefficient = |shape: &super::PoseShape| {
            let (joint, row, column) = shape.element();
            rotations[joint].col(column)[row] - f64::from(u8::from(row == column))
        };
        Ok(self.pose_shapes().iter().map(coefficient).collect())
    }
}

impl ShapedBody<'_> {
    /// Model of the body.
    pub fn model(&self) -> &BodyModel {
        self.model
    }

    /// Points of the skin in the pose of the template.
    pub fn points(&self) -> &[DVec3] {
        &self.points
    }

    /// Positions of the joints in the pose of the template.
    pub fn joints(&self) -> &[DVec3] {
        &self.joints
    }

    /// Computes the transforms G of the joints in `pose`, joint space to world.
    pub fn joint_transforms(&self, pose: &BodyPose) -> Result<Vec<DAffine3>, BodyError> {
        let rotations = joint_rotations(self.model, pose)?;
        let mut result = vec![DAffine3::IDENTITY; self.joints.len()];
        for &joint in self.model.parents_first() {
            let position = self.joints[joint];
            result[joint] = match self.model.joints()[joint].parent {
                None => DAffine3::from_mat3_translation(rotations[joint], position + pose.translation),
                Some(parent) => {
                    result[parent] * DAffine3::from_mat3_translation(rotations[joint], position - self.joints[parent])
                }
            };
        }
        Ok(result)
    }

    /// Computes the skin and joints in `pose`.
    pub fn pose(&self, pose: &BodyPose) -> Result<PosedBody, BodyError> {
        let joints = self.joint_transforms(pose)?;
        let coefficients = self.model.pose_coefficients(pose)?;
        let from_rest = |(joint, rest): (&DAffine3, &DVec3)| *joint * DAffine3::from_translation(-*rest);
        let skinning: Vec<DAffine3> = joints.iter().zip(&self.joints).map(from_rest).collect();
        let mut points = vec![Vec3::ZERO; self.points.len()];
        points.par_chunks_mut(BLOCK).enumerate().for_each(|(block, points)| {
            let first = block * BLOCK;
            let unposed = self.unposed_block(first, points.len(), &coefficients);
            for (offset, (point, unposed)) in points.iter_mut().zip(unposed).enumerate() {
                let moved = |(joint, weight): (u32, f32)| {
                    skinning[joint as usize].transform_point3(unposed) * f64::from(weight)
                };
                // Eq. 1.
                *point = self.model.weights().row(first + offset).map(moved).sum::<DVec3>().as_vec3();
            }
        });
        Ok(PosedBody { points, joints, skinning })
    }

    /// Evaluates Eq. 2 for `count` points starting at `first`.
    fn unposed_block(&self, first: usize, count: usize, coefficients: &[f64]) -> Vec<DVec3> {
        let mut unposed = self.points[first..first + count].to_vec();
        for (shape, &coefficient) in self.model.pose_shapes().iter().zip(coefficients) {
            if coefficient != 0.0 {
                for (point, offset) in unposed.iter_mut().zip(&shape.offsets[first..]) {
                    *point += coefficient * offset.as_dvec3(); // Eq. 2, pose shapes
                }
            }
        }
        unposed
    }
}

/// Rotation matrices of the joints by Rodrigues' formula.
fn joint_rotations(model: &BodyModel, pose: &BodyPose) -> Result<Vec<DMat3>, BodyError> {
    expect_count("joint angles of the pose", pose.angles.len(), model.joints().len())?;
    if let Some(index) = pose.angles.iter().position(|angle| !angle.is_finite()) {
        return Err(BodyError::NotFinite { what: "the angle of joint", index });
    }
    if !pose.translation.is_finite() {
        return Err(BodyError::NotFinite { what: "the translation of joint", index: model.root() });
    }
    Ok(pose.angles.iter().map(|&angle| DMat3::from_quat(DQuat::from_scaled_axis(angle))).collect())
}
