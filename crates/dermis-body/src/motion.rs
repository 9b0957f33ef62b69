//! Clips of a rig as joint angles over time, and back.
//!
//! A clip's transform of joint j times its inverse bind is what moves the skin, `A_j`. With the joints of a body unrotated
//! at rest, `R(θ_j)` is the rotation of `A_parent⁻¹ A_j`, and the translation is what the clip does to the places of
//! the joints beyond that, in the mean over the skin that they move: where hips are moved against a root, the body goes along.
//! A body's bones keep their length: what a clip scales or pulls apart is lost, and a note says how much.

use std::sync::Arc;

use dermis_math::polar::polar_rotation;
use dermis_mesh::{Clip, Note, Object, Rig};
use glam::{DAffine3, DMat3, DQuat, DVec3};

use super::model::{BodyError, BodyModel, expect_count};
use super::pose::{BodyPose, ShapedBody};

/// A joint that lands farther from where its clip has it is worth a note, relative to the body's size.
const WORTH_A_NOTE: f64 = 1e-3;

/// Poses at a fixed rate.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyMotion {
    /// The motion's name; may be empty.
    pub name: String,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// A pose per frame.
    pub poses: Vec<BodyPose>,
    /// What could not be kept.
    pub notes: Vec<Note>,
}

/// The motion that `clip`, of a rig with the joints of `model` in the same order, is for `model`.
pub fn motion_of_clip(model: &BodyModel, rig: &Rig, clip: &Clip) -> Result<BodyMotion, BodyError> {
    expect_count("joints of the clip's rig", rig.joints().len(), model.joints().len())?;
    let body = model.shaped(&[])?;
    let (mut turns, shares) = (vec![DQuat::IDENTITY; model.joints().len()], shares_of(model));
    let (mut poses, mut farthest) = (Vec::with_capacity(clip.frame_count()), 0.0f64);
    for frame in 0..clip.frame_count() {
        let moved = |(joint, transform): (&dermis_mesh::Joint, &DAffine3)| *transform * joint.inverse_bind;
        let moves: Vec<DAffine3> = rig.joints().iter().zip(clip.transforms(frame)).map(moved).collect();
        let pose = pose_of(&body, &shares, &moves, &mut turns);
        for (joint, place) in body
            .joint_transforms(&pose)?
            .iter()
            .zip(body.joints())
            .zip(&moves)
            .map(|((joint, place), moved)| (joint.translation, moved.transform_point3(*place)))
        {
            farthest = farthest.max(joint.distance(place));
        }
        poses.push(pose);
    }
    let mut notes = Vec::new();
    if farthest > WORTH_A_NOTE * f64::from(model.mesh().diagonal()) {
        let lost = format!("bones keep their length: a joint is up to {farthest:.3} away from where the clip has it");
        notes.push(Note::at(clip.name(), lost));
    }
    Ok(BodyMotion { name: clip.name().to_owned(), frame_rate_hz: clip.frame_rate_hz(), poses, notes })
}

/// The pose in which joints move the skin as `moves`; `turns` are those of the frame before, and then of this one.
fn pose_of(body: &ShapedBody<'_>, shares: &[f64], moves: &[DAffine3], turns: &mut [DQuat]) -> BodyPose {
    let model = body.model();
    let rotations: Vec<DMat3> = moves.iter().map(|moved| polar_rotation(moved.matrix3)).collect();
    let mut angles = Vec::with_capacity(moves.len());
    for (joint, before) in turns.iter_mut().enumerate() {
        let above = model.joints()[joint].parent.map_or(DMat3::IDENTITY, |parent| rotations[parent]);
        let turn = DQuat::from_mat3(&(above.transpose() * rotations[joint])).normalize();
        // Of q and −q the one that continues the motion: angles then do not jump at half a turn.
        let turn = if turn.dot(*before) < 0.0 { -turn } else { turn };
        *before = turn;
        angles.push(turn.to_scaled_axis());
    }
    let mut pose = BodyPose { angles, translation: DVec3::ZERO };
    if let Ok(joints) = body.joint_transforms(&pose) {
        let way = |joint: usize| moves[joint].transform_point3(body.joints()[joint]) - joints[joint].translation;
        let weighted: DVec3 = shares.iter().enumerate().map(|(joint, share)| *share * way(joint)).sum();
        pose.translation = if weighted.is_finite() { weighted } else { DVec3::ZERO };
    }
    pose
}

/// How much of the skin each joint moves; they sum to 1.
fn shares_of(model: &BodyModel) -> Vec<f64> {
    let mut shares = vec![0.0; model.joints().len()];
    for (joint, weight) in model.weights().rows().flatten() {
        shares[joint as usize] += f64::from(weight);
    }
    let sum: f64 = shares.iter().sum();
    if sum > 0.0 {
        for share in &mut shares {
            *share /= sum;
        }
    } else {
        shares[model.root()] = 1.0;
    }
    shares
}

impl ShapedBody<'_> {
    /// The body as a rigged object that moves by `motions`. Pose shapes are left out: a rig has none.
    pub fn to_object(&self, name: &str, motions: &[BodyMotion]) -> Result<Object, BodyError> {
        let model = self.model();
        let points = self.points().iter().map(|point: &DVec3| point.as_vec3()).collect();
        let mesh = model.mesh().with_points(points).map_err(|_| BodyError::NotFinite { what: "shape", index: 0 })?;
        let rig = model.rig_at(self.joints())?;
        let mut clips = Vec::with_capacity(motions.len());
        for motion in motions {
            let mut transforms = Vec::with_capacity(motion.poses.len() * model.joints().len());
            for pose in &motion.poses {
                transforms.extend(self.joint_transforms(pose)?);
            }
            clips.push(Clip::new(&rig, motion.name.clone(), motion.frame_rate_hz, transforms, Vec::new())?);
        }
        Ok(Object::of_rig(name, Arc::new(mesh), rig, clips))
    }
}
