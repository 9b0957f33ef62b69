//! Positions of the joints of the body ([`dermis_body::human_skeleton`]) and poses of them.
//!
//! The soles of the body are on y = 0 and it faces +z; its left is +x. The arms are about 25° below horizontal and the
//! legs slightly apart, in the middle of their range of motion. As in SMPL, joints have no rotation at rest, so the rest
//! transform of a joint is its position alone.

use dermis_body::human_skeleton::{
    ANKLE, COLLAR, ELBOW, FOOT, HAND, HEAD, HIP, JOINTS, KNEE, NECK, PELVIS, SHOULDER, SPINE_1, SPINE_2, SPINE_3,
    WRIST, parent,
};
use glam::{DAffine3, DQuat, DVec3};

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
