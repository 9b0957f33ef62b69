//! Joints of a human: names and hierarchy of SMPL.

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

/// Parent of a joint; `None` for the pelvis.
///
/// # Panics
/// If `joint` is not below [`JOINTS`].
pub fn parent(joint: usize) -> Option<usize> {
    (joint != PELVIS).then_some(PARENTS[joint])
}
