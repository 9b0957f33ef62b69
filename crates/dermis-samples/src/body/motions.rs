//! Motions of the body: loops of two seconds each.
//!
//! A motion defines the pelvis, the positions of the feet and the rotations of the upper body over time. The legs are
//! solved: the knee bends until the distance between hip and ankle is right, then the thigh rotates along the shortest
//! arc. Thus the feet stay in position while the pelvis moves.

use glam::{DAffine3, DQuat, DVec3};

use super::super::numeric::{cos_turns, rotation_about, smooth_step};
use super::skeleton::{ACROSS_ARM, mirrored, mirrored_rotation, posed};
use dermis_body::human_skeleton::{
    ANKLE, COLLAR, ELBOW, FOOT, HEAD, HIP, JOINTS, KNEE, NECK, PELVIS, SHOULDER, SPINE_1, SPINE_2, SPINE_3, WRIST,
};

/// Maximum bend of a knee, degrees.
const MAX_KNEE_DEGREES: f64 = 150.0;

/// Bisection steps of the knee angle; the final interval is below 1e-9 degrees.
const BISECTION_STEPS: usize = 38;

/// Displacement of the ankle from rest, and downward pitch of the toes in degrees.
#[derive(Debug, Clone, Copy, Default)]
struct Foot {
    shift: DVec3,
    pitch: f64,
}

/// Pose of the body at one time. The left element of a pair is the first.
#[derive(Debug, Clone)]
struct BodyPose {
    shift: DVec3,
    rotations: [DQuat; JOINTS],
    feet: [Foot; 2],
}

/// Name of a motion, and joint transforms at a fraction of its loop.
pub(super) type NamedMotion = (&'static str, fn(&[DVec3; JOINTS], f64) -> [DAffine3; JOINTS]);

/// All motions.
pub(super) const MOTIONS: [NamedMotion; 6] = [
    ("jumping_jacks", |positions, fraction| jumping_jacks(fraction).posed(positions)),
    ("running", |positions, fraction| running(fraction).posed(positions)),
    ("hips", |positions, fraction| hips(fraction).posed(positions)),
    ("one_leg_hops", |positions, fraction| one_leg_hops(fraction).posed(positions)),
    ("arm_circles", |positions, fraction| arm_circles(fraction).posed(positions)),
    ("punching", |positions, fraction| punching(fraction).posed(positions)),
];

/// Two jumping jacks.
fn jumping_jacks(fraction: f64) -> BodyPose {
    let (open, air) = (rise(2.0 * fraction), rise(4.0 * fraction));
    let crouch = 1.0 - air;
    let mut pose = BodyPose::standing(DVec3::Y * (0.10 * air - 0.045 * crouch - 0.055 * open));
    for side in 0..2 {
        pose.feet[side].shift = outwards(side, -0.05 + 0.26 * open) + DVec3::Y * (0.085 * air);
        pose.feet[side].pitch = 38.0 * air;
        pose.raise_arm(side, -50.0 + 148.0 * open);
        pose.bend_elbow(side, 16.0 * rise(4.0 * fraction));
    }
    pose.lean_forward(6.0 * crouch);
    pose
}

/// Six steps in place.
fn running(fraction: f64) -> BodyPose {
    let stride = 3.0 * fraction;
    let bounce = rise(2.0 * stride + 0.25);
    let mut pose = BodyPose::standing(DVec3::Y * (0.045 * bounce - 0.035));
    for side in 0..2 {
        let phase = stride + 0.5 * side as f64;
        // The foot is in the air for most of the half cycle with a positive sine.
        let lift = smooth_step(-0.5, 1.0, sine(phase));
        let (height, back) = (0.30 * lift + 0.035 * bounce * (1.0 - lift), -0.05 * lift - 0.09 * cos_turns(phase));
        pose.feet[side] = Foot { shift: outwards(side, -0.05) + DVec3::new(0.0, height, back), pitch: 48.0 * lift };
        let swing = 34.0 * sine(phase) - 6.0;
        pose.rotate(COLLAR, side, rotation_z(-6.0));
        pose.rotate(SHOULDER, side, rotation_x(swing) * rotation_z(-44.0));
        pose.bend_elbow(side, 84.0 + 14.0 * sine(phase));
    }
    let sway = sine(stride);
    pose.rotations[PELVIS] = rotation_y(7.0 * sway) * rotation_z(3.0 * sway);
    pose.rotations[SPINE_1] = rotation_x(3.0) * rotation_y(-6.0 * sway);
    pose.rotations[SPINE_3] = rotation_x(3.0) * rotation_y(-7.0 * sway);
    pose
}

/// Two circles of the hips.
fn hips(fraction: f64) -> BodyPose {
    let round = 2.0 * fraction;
    let (aside, ahead) = (cos_turns(round), sine(round));
    let mut pose = BodyPose::standing(DVec3::new(0.085 * aside, -0.03, 0.07 * ahead));
    pose.rotations[PELVIS] = rotation_z(9.0 * aside) * rotation_x(-9.0 * ahead);
    pose.rotations[SPINE_1] = rotation_z(-8.0 * aside) * rotation_x(7.0 * ahead);
    pose.rotations[SPINE_2] = rotation_z(-6.0 * aside) * rotation_x(5.0 * ahead);
    pose.rotations[SPINE_3] = rotation_z(-2.0 * aside) * rotation_x(2.0 * ahead);
    for side in 0..2 {
        pose.feet[side].shift = outwards(side, 0.02);
        pose.rotate(COLLAR, side, rotation_z(-3.0));
        pose.rotate(SHOULDER, side, rotation_y(14.0) * rotation_z(-26.0));
        pose.bend_elbow(side, 72.0);
    }
    pose
}

/// Four hops on the left leg.
fn one_leg_hops(fraction: f64) -> BodyPose {
    let air = rise(4.0 * fraction + 0.5);
    let crouch = 1.0 - air;
    let mut pose = BodyPose::standing(DVec3::new(0.105, 0.09 * air - 0.06 * crouch, -0.01));
    pose.rotations[PELVIS] = rotation_z(-4.0);
    pose.feet[0] = Foot { shift: DVec3::new(-0.02, 0.085 * air, 0.0), pitch: 40.0 * air };
    pose.feet[1] = Foot { shift: DVec3::new(0.08, 0.32 + 0.05 * air, -0.06), pitch: 30.0 };
    for side in 0..2 {
        pose.raise_arm(side, -34.0 + 34.0 * rise(4.0 * fraction + 0.4));
        pose.bend_elbow(side, 48.0);
    }
    pose.lean_forward(8.0 * crouch);
    pose
}

/// Two circles of the straight arms.
fn arm_circles(fraction: f64) -> BodyPose {
    let round = 2.0 * fraction;
    let mut pose = BodyPose::standing(DVec3::Y * -0.008);
    for side in 0..2 {
        let (up, ahead) = (cos_turns(round), sine(round));
        pose.rotate(COLLAR, side, rotation_y(-7.0 * ahead) * rotation_z(6.0 + 9.0 * up));
        pose.rotate(SHOULDER, side, rotation_y(-34.0 * ahead) * rotation_z(16.0 + 32.0 * up));
        pose.bend_elbow(side, 6.0);
    }
    pose.rotations[SPINE_3] = rotation_x(-2.0 * cos_turns(round));
    pose
}

/// Alternating punches: left, right, left, right.
fn punching(fraction: f64) -> BodyPose {
    let beat = 2.0 * fraction;
    let reach = [0, 1].map(|side| smooth_step(-0.5, 1.0, sine(beat + 0.5 * f64::from(side))));
    let twist = reach[1] - reach[0];
    let mut pose = BodyPose::standing(DVec3::new(0.0, -0.055 - 0.012 * (reach[0] + reach[1]), 0.01));
    pose.feet[0].shift = DVec3::new(0.02, 0.0, 0.13);
    pose.feet[1].shift = DVec3::new(-0.03, 0.0, -0.13);
    pose.rotations[PELVIS] = rotation_y(10.0 * twist);
    pose.rotations[SPINE_1] = rotation_x(4.0) * rotation_y(7.0 * twist);
    pose.rotations[SPINE_2] = rotation_y(7.0 * twist);
    pose.rotations[SPINE_3] = rotation_x(2.0) * rotation_y(6.0 * twist);
    pose.rotations[NECK] = rotation_y(-14.0 * twist);
    pose.rotations[HEAD] = rotation_y(-14.0 * twist);
    for (side, reach) in reach.into_iter().enumerate() {
        let between = |guard: f64, far: f64| guard + (far - guard) * reach;
        pose.rotate(COLLAR, side, rotation_y(between(-4.0, -18.0)) * rotation_z(between(-4.0, 4.0)));
        pose.rotate(SHOULDER, side, rotation_y(between(-12.0, -64.0)) * rotation_z(between(-40.0, 18.0)));
        pose.bend_elbow(side, between(122.0, 8.0));
        pose.rotate(WRIST, side, rotation_x(between(-20.0, 0.0)));
    }
    pose
}

impl BodyPose {
    /// Both feet on the ground, with the pelvis displaced by `shift`.
    fn standing(shift: DVec3) -> Self {
        Self { shift, rotations: [DQuat::IDENTITY; JOINTS], feet: [Foot::default(); 2] }
    }

    /// Rotates one joint of a pair; `rotation` is that of the left side.
    fn rotate(&mut self, joint: usize, side: usize, rotation: DQuat) {
        self.rotations[joint + side] = if side == 0 { rotation } else { mirrored_rotation(rotation) };
    }

    /// Raises an arm from rest, with the collar bone following the upper arm.
    fn raise_arm(&mut self, side: usize, degrees: f64) {
        let collar = -6.0 + 34.0 * smooth_step(-60.0, 110.0, degrees);
        self.rotate(COLLAR, side, rotation_z(collar));
        self.rotate(SHOULDER, side, rotation_z(degrees - collar));
    }

    /// Bends an elbow; the forearm bends to the front at rest.
    fn bend_elbow(&mut self, side: usize, degrees: f64) {
        self.rotate(ELBOW, side, rotation_about(-ACROSS_ARM, degrees.to_radians()));
    }

    /// Leans the trunk forward and keeps the head upright.
    fn lean_forward(&mut self, degrees: f64) {
        self.rotations[PELVIS] *= rotation_x(degrees);
        self.rotations[SPINE_1] = rotation_x(0.5 * degrees);
        self.rotations[SPINE_2] = rotation_x(0.5 * degrees);
        self.rotations[NECK] = rotation_x(-0.8 * degrees);
        self.rotations[HEAD] = rotation_x(-0.6 * degrees);
    }

    /// Joint transforms, with the legs solved.
    fn posed(mut self, positions: &[DVec3; JOINTS]) -> [DAffine3; JOINTS] {
        for side in 0..2 {
            self.solve_leg(positions, side);
        }
        posed(positions, &self.rotations, self.shift)
    }

    fn solve_leg(&mut self, positions: &[DVec3; JOINTS], side: usize) {
        let Foot { shift, pitch } = self.feet[side];
        let [hip, knee, ankle] = [HIP, KNEE, ANKLE].map(|joint| positions[joint + side]);
        let pelvis = self.rotations[PELVIS];
        let span = ankle + shift - (positions[PELVIS] + self.shift + pelvis * (hip - positions[PELVIS]));
        let bent = |degrees: f64| (knee - hip) + rotation_x(degrees) * (ankle - knee);
        let (mut low, mut high) = (0.0, MAX_KNEE_DEGREES);
        for _ in 0..BISECTION_STEPS {
            let middle = 0.5 * (low + high);
            if bent(middle).length() > span.length() { low = middle } else { high = middle }
        }
        let thigh = DQuat::from_rotation_arc(bent(low).normalize(), span.normalize());
        let shin = thigh * rotation_x(low);
        self.rotations[HIP + side] = pelvis.inverse() * thigh;
        self.rotations[KNEE + side] = rotation_x(low);
        self.rotations[ANKLE + side] = shin.inverse() * rotation_x(pitch);
        // The toes stay as flat as possible if the heel is raised.
        self.rotations[FOOT + side] = rotation_x(-0.6 * pitch);
    }
}

/// Sideways displacement away from the midline.
fn outwards(side: usize, by: f64) -> DVec3 {
    if side == 0 { DVec3::X * by } else { mirrored(DVec3::X * by) }
}

/// From 0 to 1 and back in one turn.
fn rise(turns: f64) -> f64 {
    0.5 - 0.5 * cos_turns(turns)
}

fn sine(turns: f64) -> f64 {
    cos_turns(turns - 0.25)
}

fn rotation_x(degrees: f64) -> DQuat {
    rotation_about(DVec3::X, degrees.to_radians())
}

fn rotation_y(degrees: f64) -> DQuat {
    rotation_about(DVec3::Y, degrees.to_radians())
}

fn rotation_z(degrees: f64) -> DQuat {
    rotation_about(DVec3::Z, degrees.to_radians())
}
