//! Gait: transforms of all bones during the gallop.
//!
//! A transverse gallop on the right lead, in place as on a treadmill: left hind, right hind, left fore, right fore, then
//! all four legs gathered under the body in the air. Hooves follow closed paths that are flat on the ground during the
//! stance phase. The joints of a leg are solved: they all fold together by one amount that puts the fetlock at the right
//! distance, as in the reciprocal apparatus of a horse.
//!
//! The cycle consists of two strides. Tail, ears and neck sway once per cycle and the strides differ slightly, so that all
//! frames are distinct.

use glam::{DAffine3, DVec2, DVec3};

use super::super::numeric::{cos_turns, cyclic, rotation_about, sin_cos};
use super::anatomy::{
    BARREL, BONES, CHEST, CHEST_JOINT, CREST_JOINT, CROUP_JOINT, EAR_JOINT, EARS, HEAD, JAW, JAW_JOINT, LOIN,
    LOIN_JOINT, NECK_HIGH, NECK_JOINT, NECK_LOW, PELVIS, POLL_JOINT, TAIL, TAIL_BONES, TAIL_NODES, leg_bones,
    leg_joints, mirrored,
};

/// Strides in one cycle.
const STRIDES: f64 = 2.0;

/// Fraction of the stride at which each hoof lands: left and right fore, left and right hind.
const LANDINGS: [f64; 4] = [0.38, 0.52, 0.0, 0.13];

/// Centre of the pitch of the trunk.
const BODY_CENTRE: DVec3 = DVec3::new(0.1, 1.2, 0.0);

/// Key of a hoof's path: phase since landing; metres forward of and above its rest position; pitch in degrees, negative
/// for toe down.
type HoofKey = (f64, f64, f64, f64);

const FORE_PATH: [HoofKey; 9] = [
    (0.00, 0.46, 0.0, 0.0),
    (0.14, 0.02, 0.0, 0.0),
    (0.28, -0.42, 0.0, -14.0),
    (0.36, -0.58, 0.13, -62.0),
    (0.48, -0.44, 0.36, -118.0),
    (0.60, -0.04, 0.46, -112.0),
    (0.74, 0.44, 0.44, -62.0),
    (0.86, 0.68, 0.27, -14.0),
    (0.94, 0.62, 0.09, 4.0),
];

const HIND_PATH: [HoofKey; 9] = [
    (0.00, 0.52, 0.0, 0.0),
    (0.14, 0.08, 0.0, 0.0),
    (0.28, -0.38, 0.0, -16.0),
    (0.36, -0.58, 0.12, -60.0),
    (0.48, -0.48, 0.33, -96.0),
    (0.60, -0.10, 0.38, -84.0),
    (0.74, 0.38, 0.29, -46.0),
    (0.86, 0.66, 0.16, -10.0),
    (0.94, 0.64, 0.05, 4.0),
];

/// Transforms of all bones from rest after `cycle` cycles of the motion.
pub(super) fn pose(cycle: f64) -> Vec<DAffine3> {
    let stride = STRIDES * cycle;
    let mut bones = vec![DAffine3::IDENTITY; BONES];
    pose_trunk(&mut bones, cycle, stride);
    pose_tail(&mut bones, cycle, stride);
    for leg in 0..4 {
        pose_leg(&mut bones, leg, cycle, stride);
    }
    bones
}

/// Load on a hoof, 0 to 1.
pub(super) fn load(leg: usize, cycle: f64) -> f64 {
    let phase = STRIDES * cycle - LANDINGS[leg];
    let since = phase - phase.floor();
    if since < 0.28 { sin_cos(since / 0.28 * std::f64::consts::PI).0 } else { 0.0 }
}

fn swing(degrees: f64, phase: f64) -> f64 {
    degrees.to_radians() * cos_turns(phase)
}

/// `parent` followed by a joint that is rotated by `pitch` in the median plane and by `yaw` sideways.
fn jointed(parent: DAffine3, joint: DVec3, pitch: f64, yaw: f64) -> DAffine3 {
    let rotation = rotation_about(DVec3::Z, pitch) * rotation_about(DVec3::Y, yaw);
    parent * DAffine3::from_rotation_translation(rotation, joint - rotation * joint)
}

fn pose_trunk(bones: &mut [DAffine3], cycle: f64, stride: f64) {
    let bob = DVec3::new(0.025 * cos_turns(stride - 0.6), 0.05 * cos_turns(stride - 0.88) - 0.045, 0.0);
    let pitch = swing(3.8, stride - 0.10);
    bones[BARREL] = jointed(DAffine3::from_translation(bob), BODY_CENTRE, pitch, 0.0);
    let flex = swing(7.5, stride - 0.90) + 3f64.to_radians();
    bones[LOIN] = jointed(bones[BARREL], LOIN_JOINT, 0.6 * flex, swing(1.5, cycle));
    bones[PELVIS] = jointed(bones[LOIN], CROUP_JOINT, 0.9 * flex, swing(2.0, cycle));
    bones[CHEST] = jointed(bones[BARREL], CHEST_JOINT, -0.25 * flex, swing(1.5, cycle + 0.4));
    let nod = swing(9.0, stride - 0.02) - 13f64.to_radians();
    bones[NECK_LOW] = jointed(bones[CHEST], NECK_JOINT, 0.7 * nod, swing(2.5, cycle - 0.2));
    bones[NECK_HIGH] = jointed(bones[NECK_LOW], CREST_JOINT, 0.5 * nod, swing(2.5, cycle - 0.3));
    let head = 12f64.to_radians() - swing(7.0, stride - 0.10);
    bones[HEAD] = jointed(bones[NECK_HIGH], POLL_JOINT, head, swing(2.0, cycle - 0.4));
    bones[JAW] = jointed(bones[HEAD], JAW_JOINT, swing(1.2, stride - 0.3) - 1.2f64.to_radians(), 0.0);
    for side in 0..2 {
        let joint = if side == 0 { EAR_JOINT } else { mirrored(EAR_JOINT) };
        let back = 24f64.to_radians() + swing(9.0, stride - 0.2) + swing(6.0, cycle + 0.5 * side as f64);
        bones[EARS + side] = jointed(bones[HEAD], joint, back, 0.0);
    }
}

fn pose_tail(bones: &mut [DAffine3], cycle: f64, stride: f64) {
    const LIFT_DEGREES: [f64; TAIL_BONES] = [-20.0, -20.0, -10.0, 4.0, 10.0, 12.0];
    let mut parent = bones[PELVIS];
    for bone in 0..TAIL_BONES {
        let lag = 0.12 * bone as f64;
        let wave = swing(5.0 + 1.5 * bone as f64, stride - 0.15 - lag);
        let sway = swing(5.0 + bone as f64, cycle - 0.7 * lag);
        let rotation =
            rotation_about(DVec3::X, sway) * rotation_about(DVec3::Z, LIFT_DEGREES[bone].to_radians() + wave);
        let joint = TAIL_NODES[bone].0;
        parent *= DAffine3::from_rotation_translation(rotation, joint - rotation * joint);
        bones[TAIL + bone] = parent;
    }
}

fn pose_leg(bones: &mut [DAffine3], leg: usize, cycle: f64, stride: f64) {
    let is_fore = leg < 2;
    let rest = leg_joints(leg);
    // The second stride is slightly shorter than the first.
    let reach = 1.0 + 0.04 * cos_turns(cycle - 0.25 * leg as f64);
    let phase = stride - LANDINGS[leg];
    let path = |pick: fn(&HoofKey) -> f64| {
        let keys = (if is_fore { &FORE_PATH } else { &HIND_PATH }).map(|key| (key.0, pick(&key)));
        cyclic(&keys, phase)
    };
    let hoof = rest[5] + DVec3::new(reach * path(|key| key.1), reach * path(|key| key.2).max(0.0), 0.0);
    let pitch = path(|key| key.3).to_radians();
    let fetlock = hoof + rotation_about(DVec3::Z, pitch) * (rest[4] - rest[5]);

    let (parent, fraction) = if is_fore { (bones[CHEST], 0.32) } else { (bones[PELVIS], 0.10) };
    let first = leg_bones(leg);
    bones[first] = jointed(parent, rest[0], fraction * (hoof.x - rest[5].x), 0.0);
    let top = bones[first].transform_point3(rest[1]);
    let angles = fold(is_fore, [rest[1], rest[2], rest[3], rest[4]].map(DVec3::truncate), (fetlock - top).truncate());
    let mut at = top;
    for (bone, angle) in angles.into_iter().enumerate() {
        let rotation = rotation_about(DVec3::Z, angle);
        let (from, to) = (rest[bone + 1], rest[bone + 2]);
        bones[first + 1 + bone] = DAffine3::from_rotation_translation(rotation, at - rotation * from);
        at += rotation * (to - from);
    }
    let rotation = rotation_about(DVec3::Z, pitch);
    bones[first + 4] = DAffine3::from_rotation_translation(rotation, at - rotation * rest[4]);
}

/// Angles from rest of the three bones between `joints` that put the last joint at `target` relative to the first, or as
/// close to it as the leg can reach.
fn fold(is_fore: bool, joints: [DVec2; 4], target: DVec2) -> [f64; 3] {
    // The knee of a loaded leg stays locked: shoulder and elbow bend first.
    const KNEE_LOCK: f64 = 0.28;
    let bend = |amount: f64| {
        if is_fore {
            [0.0, amount, amount - 1.95 * (amount - KNEE_LOCK).max(0.0)]
        } else {
            [0.0, -amount, -0.04 * amount]
        }
    };
    let reach = |amount: f64| {
        let angles = bend(amount);
        (0..3).fold(DVec2::ZERO, |at, k| at + rotated(joints[k + 1] - joints[k], angles[k]))
    };
    let (mut open, mut closed) = if is_fore { (-0.45, 1.45) } else { (-0.75, 1.1) };
    const STEPS: usize = 40;
    for _ in 0..STEPS {
        let middle = 0.5 * (open + closed);
        if reach(middle).length() > target.length() { open = middle } else { closed = middle }
    }
    let (angles, base) = (bend(open), angle_between(reach(open), target));
    angles.map(|angle| angle + base)
}

fn rotated(v: DVec2, angle: f64) -> DVec2 {
    let (sine, cosine) = sin_cos(angle);
    DVec2::new(cosine * v.x - sine * v.y, sine * v.x + cosine * v.y)
}

/// Angle from `from` to `to`, by bisection on [`sin_cos`]; the angles of legs are below half a turn.
fn angle_between(from: DVec2, to: DVec2) -> f64 {
    let (mut low, mut high) = (-3.0, 3.0);
    const STEPS: usize = 50;
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if rotated(from, middle).perp_dot(to) > 0.0 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}
