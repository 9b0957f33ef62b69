//! Joints of the body: names and hierarchy of SMPL, with its own positions.
//!
//! The soles of the body are on y = 0 and it faces +z; its left is +x. The arms are about 25° below horizontal and the
//! legs slightly apart, in the middle of their range of motion. As in SMPL, joints have no rotation at rest, so the rest
//! transform of a joint is its position alone.

use glam::{DAffine3, DQuat, DVec3};

/// Number of joints.
pub const JOINTS: usize = 24;

/// The root.
pub const PELVIS: usize = 0;
/// The left hip; for this and all other pairs, the right joint has the next index.
pub const HIP: usize = 1;
/// The lumbar spine.
pub const SPINE_1: usize = 3;
/// The left knee.
pub const KNEE: usize = 4;
/// The middle of the spine.
pub const SPINE_2: usize = 6;
/// The left ankle.
pub const ANKLE: usize = 7;
/// The chest.
pub const SPINE_3: usize = 9;
/// The ball of the left foot.
pub const FOOT: usize = 10;
/// The base of the neck.
pub const NECK: usize = 12;
/// The inner end of the left collar bone.
pub const COLLAR: usize = 13;
/// The top of the neck.
pub const HEAD: usize = 15;
/// The left shoulder.
pub const SHOULDER: usize = 16;
/// The left elbow.
pub const ELBOW: usize = 18;
/// The left wrist.
pub const WRIST: usize = 20;
/// The middle of the left hand.
pub const HAND: usize = 22;

/// Names of the joints; for each pair, the right joint follows the left one.
pub const NAMES: [&str; JOINTS] = [
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2", "left_ankle", "right_ankle",
    "spine3", "left_foot", "right_foot", "neck", "left_collar", "right_collar", "head", "left_shoulder",
    "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_hand", "right_hand",
];

/// Parent of each joint except the pelvis; parents precede their children.
const PARENTS: [usize; JOINTS] = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19, 20, 21];

/// Positions of the joints on the midline and on the left side.
const POSITIONS: [(usize, DVec3); 15] = [
    (PELVIS, DVec3::new(0.0, 0.955, -0.005)),
    (HIP, DVec3::new(0.088, 0.890, 0.0)),
    (SPINE_1, DVec3::new(0.0, 1.050, -0.015)),
    (KNEE, DVec3::new(0.125, 0.480, 0.002)),
    (SPINE_2, DVec3::new(0.0, 1.160, -0.020)),
    (ANKLE, DVec3::new(0.148, 0.078, -0.030)),
    (SPINE_3, DVec3::new(0.0, 1.255, -0.020)),
    (FOOT, DVec3::new(0.160, 0.026, 0.085)),
    (NECK, DVec3::new(0.0, 1.430, -0.025)),
    (COLLAR, DVec3::new(0.065, 1.375, -0.020)),
    (HEAD, DVec3::new(0.0, 1.520, -0.005)),
    (SHOULDER, DVec3::new(0.178, 1.388, -0.022)),
    (ELBOW, DVec3::new(0.418, 1.276, -0.030)),
    (WRIST, DVec3::new(0.640, 1.172, -0.016)),
    (HAND, DVec3::new(0.718, 1.136, -0.006)),
];

/// Unit vector across the left arm, which points 25° downwards: the normal of the palm and the axis of the elbow.
pub(super) const ACROSS_ARM: DVec3 = DVec3::new(0.422_618_261_740_699_4, 0.906_307_787_036_649_9, 0.0);

/// Parent of a joint; `None` for the pelvis.
///
/// # Panics
/// If `joint` is not below [`JOINTS`].
pub fn parent(joint: usize) -> Option<usize> {
    (joint != PELVIS).then_some(PARENTS[joint])
}

/// Positions of all joints at rest.
pub(super) fn positions() -> [DVec3; JOINTS] {
    let mut positions = [DVec3::ZERO; JOINTS];
    for (joint, position) in POSITIONS {
        positions[joint] = position;
        if position.x != 0.0 {
            positions[joint + 1] = mirrored(position);
        }
    }
    positions
}

/// Mirror image of a position.
pub(super) fn mirrored(position: DVec3) -> DVec3 {
    DVec3::new(-position.x, position.y, position.z)
}

/// Mirror image of a rotation.
pub(super) fn mirrored_rotation(rotation: DQuat) -> DQuat {
    DQuat::from_xyzw(rotation.x, -rotation.y, -rotation.z, rotation.w)
}

/// Transforms of the joints, given their rotations relative to their parents and the displacement of the pelvis.
pub(super) fn posed(positions: &[DVec3; JOINTS], rotations: &[DQuat; JOINTS], shift: DVec3) -> [DAffine3; JOINTS] {
    let mut posed = [DAffine3::IDENTITY; JOINTS];
    for joint in 0..JOINTS {
        let rotation = DAffine3::from_quat(rotations[joint]);
        posed[joint] = match parent(joint) {
            None => DAffine3::from_translation(positions[joint] + shift) * rotation,
            Some(parent) => posed[parent] * DAffine3::from_translation(positions[joint] - positions[parent]) * rotation,
        };
    }
    posed
}
