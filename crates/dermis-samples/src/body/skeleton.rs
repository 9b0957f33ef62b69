//! The joints of the body: names and tree of SMPL, places of our own.
//!
//! The body stands with its soles on y = 0 and looks along z; its left is +x. Arms are lowered by about 25° from the
//! horizontal and the legs slightly apart, halfway between the poses that they move through. Joints stand unrotated,
//! as in SMPL, so a joint's transform at rest is its place alone.

use glam::{DAffine3, DQuat, DVec3};

/// How many joints there are.
pub const JOINTS: usize = 24;

/// The root.
pub const PELVIS: usize = 0;
/// The left hip; of this and all other pairs the right one is next.
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
/// Where the head sits on the neck.
pub const HEAD: usize = 15;
/// The left shoulder.
pub const SHOULDER: usize = 16;
/// The left elbow.
pub const ELBOW: usize = 18;
/// The left wrist.
pub const WRIST: usize = 20;
/// The middle of the left hand.
pub const HAND: usize = 22;

/// Names; of each pair the left one comes first, and the right one is next to it.
pub const NAMES: [&str; JOINTS] = [
    "pelvis",
    "left_hip",
    "right_hip",
    "spine1",
    "left_knee",
    "right_knee",
    "spine2",
    "left_ankle",
    "right_ankle",
    "spine3",
    "left_foot",
    "right_foot",
    "neck",
    "left_collar",
    "right_collar",
    "head",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
    "left_hand",
    "right_hand",
];

/// The parent of each joint but the pelvis; parents come first.
const PARENTS: [usize; JOINTS] = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19, 20, 21];

/// The joints of the middle and of the left side, in their order.
const PLACES: [(usize, DVec3); 15] = [
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

/// The unit vector across the left arm, which falls by 25°: the palm's normal, and the axis of the elbow.
pub(super) const ACROSS_ARM: DVec3 = DVec3::new(0.422_618_261_740_699_4, 0.906_307_787_036_649_9, 0.0);

/// The joint that a joint hangs from.
///
/// # Panics
/// If there is no such joint.
pub fn parent(joint: usize) -> Option<usize> {
    (joint != PELVIS).then_some(PARENTS[joint])
}

/// Where all joints stand at rest.
pub(super) fn places() -> [DVec3; JOINTS] {
    let mut places = [DVec3::ZERO; JOINTS];
    for (joint, place) in PLACES {
        places[joint] = place;
        if place.x != 0.0 {
            places[joint + 1] = mirrored(place);
        }
    }
    places
}

/// The same place on the other side.
pub(super) fn mirrored(place: DVec3) -> DVec3 {
    DVec3::new(-place.x, place.y, place.z)
}

/// The same turn on the other side.
pub(super) fn mirrored_turn(turn: DQuat) -> DQuat {
    DQuat::from_xyzw(turn.x, -turn.y, -turn.z, turn.w)
}

/// Where the joints stand when each is turned against its parent, and the pelvis moved by `shift`.
pub(super) fn posed(places: &[DVec3; JOINTS], turns: &[DQuat; JOINTS], shift: DVec3) -> [DAffine3; JOINTS] {
    let mut posed = [DAffine3::IDENTITY; JOINTS];
    for joint in 0..JOINTS {
        let turn = DAffine3::from_quat(turns[joint]);
        posed[joint] = match parent(joint) {
            None => DAffine3::from_translation(places[joint] + shift) * turn,
            Some(parent) => posed[parent] * DAffine3::from_translation(places[joint] - places[parent]) * turn,
        };
    }
    posed
}
