//! Conversion between clips of a rig and joint angles over time.
//!
//! The transform of joint j in a clip times its inverse bind transform is its skinning transform `A_j`. The joints of a
//! body are unrotated at rest, so that `R(θ_j)` is the rotation of `A_parent⁻¹ A_j`. The translation is the remaining
//! displacement of the joints, averaged with the fraction of the skin that each joint moves; the body thus follows hips
//! that move relative to a root. The bones of a body have constant length: scaling and stretching in a clip are lost,
//! which is reported in a note.

use std::sync::Arc;

use dermis_math::polar::polar_rotation;
use dermis_mesh::{Clip, Note, Object, Rig};
use glam::{DAffine3, DMat3, DQuat, DVec3};

use super::model::{BodyError, BodyModel, expect_count};
use super::pose::{BodyPose, ShapedBody};

/// Position error of a joint, relative to the size of the body, above which it is reported.
const REPORTED_ERROR: f64 = 1e-3;

/// Poses at a fixed frame rate.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyMotion {
    /// Name of the motion; can be empty.
    pub name: String,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// One pose per frame.
    pub poses: Vec<BodyPose>,
    /// Notes about lost scaling and stretching.
    pub notes: Vec<Note>,
}

/// Converts `clip` to a motion of `model`. The joints of `rig` must be those of `model`, in the same order.
pub fn motion_of_clip(model: &BodyModel, rig: &Rig, clip: &Clip) -> Result<BodyMotion, BodyError> {
    expect_count("joints of the clip's rig", rig.joints().len(), model.joints().len())?;
    let body = model.shaped(&[])?;
    let (mut rotations, fractions) = (vec![DQuat::IDENTITY; model.joints().len()], skin_fractions(model));
    let (mut poses, mut max_error) = (Vec::with_capacity(clip.frame_count()), 0.0f64);
    for frame in 0..clip.frame_count() {
        let moved = |(joint, transform): (&dermis_mesh::Joint, &DAffine3)| *transform * joint.inverse_bind;
        let skinning: Vec<DAffine3> = rig.joints().iter().zip(clip.transforms(frame)).map(moved).collect();
        let pose = pose_of(&body, &fractions, &skinning, &mut rotations);
        for (found, expected) in body
            .joint_transforms(&pose)?
            .iter()
            .zip(body.joints())
            .zip(&skinning)
            .map(|((joint, rest), moved)| (joint.translation, moved.transform_point3(*rest)))
        {
            max_error = max_error.max(found.distance(expected));
        }
        poses.push(pose);
    }
    let mut notes = Vec::new();
    if max_error > REPORTED_ERROR * f64::from(model.mesh().diagonal()) {
        let message = format!(
            "the clip stretches bones, which a body model does not support: joints differ by up to {max_error:.3}"
        );
        notes.push(Note::at(clip.name(), message));
    }
    Ok(BodyMotion { name: clip.name().to_owned(), frame_rate_hz: clip.frame_rate_hz(), poses, notes })
}

/// Pose with the given skinning transforms. `previous` are the joint rotations of the previous frame, updated to this
/// one.
fn pose_of(body: &ShapedBody<'_>, fractions: &[f64], skinning: &[DAffine3], previous: &mut [DQuat]) -> BodyPose {
    let model = body.model();
    let rotations: Vec<DMat3> = skinning.iter().map(|moved| polar_rotation(moved.matrix3)).collect();
    let mut angles = Vec::with_capacity(skinning.len());
    for (joint, previous) in previous.iter_mut().enumerate() {
        let above = model.joints()[joint].parent.map_or(DMat3::IDENTITY, |parent| rotations[parent]);
        let rotation = DQuat::from_mat3(&(above.transpose() * rotations[joint])).normalize();
        // Of q and −q, the one closer to the previous frame is used, so that angles do not jump at half a turn.
        let rotation = if rotation.dot(*previous) < 0.0 { -rotation } else { rotation };
        *previous = rotation;
        angles.push(rotation.to_scaled_axis());
    }
    let mut pose = BodyPose { angles, translation: DVec3::ZERO };
    if let Ok(joints) = body.joint_transforms(&pose) {
        let displacement =
            |joint: usize| skinning[joint].transform_point3(body.joints()[joint]) - joints[joint].translation;
        let weighted: DVec3 =
            fractions.iter().enumerate().map(|(joint, fraction)| *fraction * displacement(joint)).sum();
        pose.translation = if weighted.is_finite() { weighted } else { DVec3::ZERO };
    }
    pose
}

/// Fraction of the skin that each joint moves; the fractions sum to 1.
fn skin_fractions(model: &BodyModel) -> Vec<f64> {
    let mut fractions = vec![0.0; model.joints().len()];
    for (joint, weight) in model.weights().rows().flatten() {
        fractions[joint as usize] += f64::from(weight);
    }
    let sum: f64 = fractions.iter().sum();
    if sum > 0.0 {
        for fraction in &mut fractions {
            *fraction /= sum;
        }
    } else {
        fractions[model.root()] = 1.0;
    }
    fractions
}

impl ShapedBody<'_> {
    /// Converts the body to a rigged object with `motions` as clips. Pose shapes are dropped because a rig has none.
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
