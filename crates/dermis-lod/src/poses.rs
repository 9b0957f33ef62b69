//! Key poses: the poses over which the error of a collapse is summed.
//!
//! The bind pose, and frames evenly spaced over all clips. A rig without clips gets poses in which every joint is
//! rotated relative to its parent, by axes and angles from a fixed sequence. Each blend shape that no key pose uses
//! gets a separate pose, with weight 1.

use dermis_mesh::{Object, Rig};
use glam::{DAffine3, DQuat, DVec3};

/// Number of poses of a rig without clips.
const BENT_POSES: usize = 8;
/// Maximum angle of a joint in these poses, in radians.
const BENT_ANGLE: f64 = 0.7;
/// Maximum number of poses for shapes that no clip uses.
const MAX_SHAPE_POSES: usize = 16;

/// Poses of an object: for each pose, a skinning transform per joint and a weight per shape.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyPoses {
    joint_count: usize,
    shape_count: usize,
    pose_count: usize,
    /// Transform of points of the rest mesh by each joint, pose by pose.
    palette: Vec<DAffine3>,
    shape_weights: Vec<f64>,
}

impl KeyPoses {
    /// Creates at most about `max_count` poses of `object`; the first is the bind pose.
    pub(crate) fn new(object: &Object, max_count: usize) -> Self {
        let Some(rig) = &object.rig else { return Self { pose_count: 1, ..Self::default() } };
        let (joint_count, shape_count) = (rig.joints().len(), rig.shapes().len());
        let mut poses = Self { joint_count, shape_count, ..Self::default() };
        poses.push(std::iter::repeat_n(DAffine3::IDENTITY, joint_count), std::iter::repeat_n(0.0, shape_count));
        for (clip, frame) in key_frames(object, max_count.saturating_sub(1).max(1)) {
            let clip = &object.clips[clip];
            let joints = rig.joints().iter().zip(clip.transforms(frame));
            let moved = joints.map(|(joint, transform)| *transform * joint.inverse_bind);
            poses.push(moved, clip.shape_weights(frame).iter().map(|&weight| f64::from(weight)));
        }
        if object.clips.is_empty() && joint_count > 0 {
            (0..BENT_POSES.min(max_count)).for_each(|pose| poses.push_bent(rig, pose));
        }
        poses.push_unused_shapes();
        poses
    }

    /// Number of poses.
    pub(crate) fn len(&self) -> usize {
        self.pose_count
    }

    /// Blended transform of a point with the weights `row` in a pose.
    pub(crate) fn blend(&self, pose: usize, row: &[(u32, f64)]) -> DAffine3 {
        if self.joint_count == 0 {
            return DAffine3::IDENTITY;
        }
        let palette = &self.palette[pose * self.joint_count..];
        let mut sum = DAffine3::ZERO;
        for &(joint, weight) in row {
            let transform = &palette[joint as usize];
            sum.matrix3 += transform.matrix3 * weight;
            sum.translation += transform.translation * weight;
        }
        sum
    }

    /// Weighted sum of the shape offsets in a pose; `offset` returns the offset of one shape.
    pub(crate) fn shaped(&self, pose: usize, offset: impl Fn(usize) -> DVec3) -> DVec3 {
        let weights = &self.shape_weights[pose * self.shape_count..(pose + 1) * self.shape_count];
        let active = weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
        active.map(|(shape, &weight)| weight * offset(shape)).sum()
    }

    fn push(&mut self, joints: impl Iterator<Item = DAffine3>, shapes: impl Iterator<Item = f64>) {
        self.palette.extend(joints);
        self.shape_weights.extend(shapes);
        self.pose_count += 1;
    }

    /// Adds a pose in which every joint, together with its descendants, is rotated about its origin.
    fn push_bent(&mut self, rig: &Rig, pose: usize) {
        let mut moved = vec![DAffine3::IDENTITY; rig.joints().len()];
        for joint in rig.parents_first() {
            let bind = Some(rig.joints()[joint].bind()).filter(DAffine3::is_finite).unwrap_or_default();
            let above = rig.joints()[joint].parent.map_or(DAffine3::IDENTITY, |parent| moved[parent]);
            let about = DAffine3::from_translation(bind.translation)
                * DAffine3::from_quat(bent_rotation(pose, joint))
                * DAffine3::from_translation(-bind.translation);
            moved[joint] = above * about;
        }
        let shape_count = self.shape_count;
        self.push(moved.into_iter(), std::iter::repeat_n(0.0, shape_count));
    }

    fn push_unused_shapes(&mut self) {
        let used: Vec<bool> = (0..self.shape_count)
            .map(|shape| (0..self.pose_count).any(|pose| self.shape_weights[pose * self.shape_count + shape] != 0.0))
            .collect();
        let unused: Vec<usize> = (0..self.shape_count).filter(|&shape| !used[shape]).collect();
        let step = unused.len().div_ceil(MAX_SHAPE_POSES).max(1);
        for &shape in unused.iter().step_by(step) {
            let (joints, shapes) = (self.joint_count, self.shape_count);
            let weights = (0..shapes).map(|other| if other == shape { 1.0 } else { 0.0 });
            self.push(std::iter::repeat_n(DAffine3::IDENTITY, joints), weights);
        }
    }
}

/// At most `max_count` frames evenly spaced over all clips, as pairs of clip and frame.
pub(crate) fn key_frames(object: &Object, max_count: usize) -> Vec<(usize, usize)> {
    let frames = object.clips.iter().enumerate();
    let frames = frames.flat_map(|(clip, motion)| (0..motion.frame_count()).map(move |frame| (clip, frame)));
    let total: usize = object.clips.iter().map(|clip| clip.frame_count()).sum();
    let count = total.min(max_count);
    let mut chosen = (0..count).map(|k| (2 * k + 1) * total / (2 * count)).peekable();
    let mut is_chosen = |at: usize| chosen.next_if(|&next| next == at).is_some();
    frames.enumerate().filter(|(at, _)| is_chosen(*at)).map(|(_, frame)| frame).collect()
}

/// Rotation of a joint in one of the bent poses: an additive recurrence with irrational steps, which
/// covers axes and angles evenly.
fn bent_rotation(pose: usize, joint: usize) -> DQuat {
    const STEPS: [f64; 3] = [0.819_172_513_396_164_4, 0.671_043_606_703_789_2, 0.549_700_477_901_902_7];
    let at = (1 + pose * 131 + joint) as f64;
    let [x, y, z] = STEPS.map(|step| 2.0 * (at * step).fract() - 1.0);
    DQuat::from_scaled_axis(BENT_ANGLE * DVec3::new(x, y, z))
}
