//! The motions of the body: each a loop of two seconds.
//!
//! A motion gives, for each moment, the pelvis, the places of the feet and the turns of the upper body. The legs follow
//! from these: the knee is bent until hip and ankle are as far apart as they must be, then the thigh is turned over the
//! shortest way. So feet stand where they should while the pelvis moves.

use glam::{DAffine3, DQuat, DVec3};

use super::super::numeric::{cos_turns, smooth_step, turn};
use super::skeleton::{
    ACROSS_ARM, ANKLE, COLLAR, ELBOW, FOOT, HEAD, HIP, JOINTS, KNEE, NECK, PELVIS, SHOULDER, SPINE_1, SPINE_2, SPINE_3,
    WRIST, mirrored, mirrored_turn, posed,
};

/// The most that a knee bends, in degrees.
const MOST_BEND: f64 = 150.0;

/// Halvings of the interval of knee angles: below 1e-9 degrees.
const HALVINGS: usize = 38;

/// A foot: where its ankle is, relative to rest, and how far its toes point down, in degrees.
#[derive(Debug, Clone, Copy, Default)]
struct Foot {
    shift: DVec3,
    pitch: f64,
}

/// What the body does at one moment. Of pairs, the left comes first.
#[derive(Debug, Clone)]
struct Moment {
    shift: DVec3,
    turns: [DQuat; JOINTS],
    feet: [Foot; 2],
}

/// The name of a motion and the joints' transforms at a part of its loop.
pub(super) type Motion = (&'static str, fn(&[DVec3; JOINTS], f64) -> [DAffine3; JOINTS]);

/// All motions.
pub(super) const MOTIONS: [Motion; 6] = [
    ("jumping_jacks", |places, part| jumping_jacks(part).posed(places)),
    ("running", |places, part| running(part).posed(places)),
    ("hips", |places, part| hips(part).posed(places)),
    ("one_leg_hops", |places, part| one_leg_hops(part).posed(places)),
    ("arm_circles", |places, part| arm_circles(part).posed(places)),
    ("punching", |places, part| punching(part).posed(places)),
];

/// Two jumps apart and two back.
fn jumping_jacks(part: f64) -> Moment {
    let (open, air) = (rise(2.0 * part), rise(4.0 * part));
    let crouch = 1.0 - air;
    let mut moment = Moment::standing(DVec3::Y * (0.10 * air - 0.045 * crouch - 0.055 * open));
    for side in 0..2 {
        moment.feet[side].shift = outwards(side, -0.05 + 0.26 * open) + DVec3::Y * (0.085 * air);
        moment.feet[side].pitch = 38.0 * air;
        moment.raise_arm(side, -50.0 + 148.0 * open);
        moment.bend_elbow(side, 16.0 * rise(4.0 * part));
    }
    moment.lean_forward(6.0 * crouch);
    moment
}

/// Six steps on the spot.
fn running(part: f64) -> Moment {
    let stride = 3.0 * part;
    let bounce = rise(2.0 * stride + 0.25);
    let mut moment = Moment::standing(DVec3::Y * (0.045 * bounce - 0.035));
    for side in 0..2 {
        let phase = stride + 0.5 * side as f64;
        // In the air for most of the half in which the sine is positive.
        let lift = smooth_step(-0.5, 1.0, sine(phase));
        let (height, back) = (0.30 * lift + 0.035 * bounce * (1.0 - lift), -0.05 * lift - 0.09 * cos_turns(phase));
        moment.feet[side] = Foot { shift: outwards(side, -0.05) + DVec3::new(0.0, height, back), pitch: 48.0 * lift };
        let swing = 34.0 * sine(phase) - 6.0;
        moment.turn(COLLAR, side, turn_z(-6.0));
        moment.turn(SHOULDER, side, turn_x(swing) * turn_z(-44.0));
        moment.bend_elbow(side, 84.0 + 14.0 * sine(phase));
    }
    let sway = sine(stride);
    moment.turns[PELVIS] = turn_y(7.0 * sway) * turn_z(3.0 * sway);
    moment.turns[SPINE_1] = turn_x(3.0) * turn_y(-6.0 * sway);
    moment.turns[SPINE_3] = turn_x(3.0) * turn_y(-7.0 * sway);
    moment
}

/// The hips go round in circles, twice.
fn hips(part: f64) -> Moment {
    let round = 2.0 * part;
    let (aside, ahead) = (cos_turns(round), sine(round));
    let mut moment = Moment::standing(DVec3::new(0.085 * aside, -0.03, 0.07 * ahead));
    moment.turns[PELVIS] = turn_z(9.0 * aside) * turn_x(-9.0 * ahead);
    moment.turns[SPINE_1] = turn_z(-8.0 * aside) * turn_x(7.0 * ahead);
    moment.turns[SPINE_2] = turn_z(-6.0 * aside) * turn_x(5.0 * ahead);
    moment.turns[SPINE_3] = turn_z(-2.0 * aside) * turn_x(2.0 * ahead);
    for side in 0..2 {
        moment.feet[side].shift = outwards(side, 0.02);
        moment.turn(COLLAR, side, turn_z(-3.0));
        moment.turn(SHOULDER, side, turn_y(14.0) * turn_z(-26.0));
        moment.bend_elbow(side, 72.0);
    }
    moment
}

/// Four hops on the left leg.
fn one_leg_hops(part: f64) -> Moment {
    let air = rise(4.0 * part + 0.5);
    let crouch = 1.0 - air;
    let mut moment = Moment::standing(DVec3::new(0.105, 0.09 * air - 0.06 * crouch, -0.01));
    moment.turns[PELVIS] = turn_z(-4.0);
    moment.feet[0] = Foot { shift: DVec3::new(-0.02, 0.085 * air, 0.0), pitch: 40.0 * air };
    moment.feet[1] = Foot { shift: DVec3::new(0.08, 0.32 + 0.05 * air, -0.06), pitch: 30.0 };
    for side in 0..2 {
        moment.raise_arm(side, -34.0 + 34.0 * rise(4.0 * part + 0.4));
        moment.bend_elbow(side, 48.0);
    }
    moment.lean_forward(8.0 * crouch);
    moment
}

/// Straight arms that go round, twice.
fn arm_circles(part: f64) -> Moment {
    let round = 2.0 * part;
    let mut moment = Moment::standing(DVec3::Y * -0.008);
    for side in 0..2 {
        let (up, ahead) = (cos_turns(round), sine(round));
        moment.turn(COLLAR, side, turn_y(-7.0 * ahead) * turn_z(6.0 + 9.0 * up));
        moment.turn(SHOULDER, side, turn_y(-34.0 * ahead) * turn_z(16.0 + 32.0 * up));
        moment.bend_elbow(side, 6.0);
    }
    moment.turns[SPINE_3] = turn_x(-2.0 * cos_turns(round));
    moment
}

/// Left, right, left, right.
fn punching(part: f64) -> Moment {
    let beat = 2.0 * part;
    let reach = [0, 1].map(|side| smooth_step(-0.5, 1.0, sine(beat + 0.5 * f64::from(side))));
    let twist = reach[1] - reach[0];
    let mut moment = Moment::standing(DVec3::new(0.0, -0.055 - 0.012 * (reach[0] + reach[1]), 0.01));
    moment.feet[0].shift = DVec3::new(0.02, 0.0, 0.13);
    moment.feet[1].shift = DVec3::new(-0.03, 0.0, -0.13);
    moment.turns[PELVIS] = turn_y(10.0 * twist);
    moment.turns[SPINE_1] = turn_x(4.0) * turn_y(7.0 * twist);
    moment.turns[SPINE_2] = turn_y(7.0 * twist);
    moment.turns[SPINE_3] = turn_x(2.0) * turn_y(6.0 * twist);
    moment.turns[NECK] = turn_y(-14.0 * twist);
    moment.turns[HEAD] = turn_y(-14.0 * twist);
    for (side, reach) in reach.into_iter().enumerate() {
        let between = |guard: f64, far: f64| guard + (far - guard) * reach;
        moment.turn(COLLAR, side, turn_y(between(-4.0, -18.0)) * turn_z(between(-4.0, 4.0)));
        moment.turn(SHOULDER, side, turn_y(between(-12.0, -64.0)) * turn_z(between(-40.0, 18.0)));
        moment.bend_elbow(side, between(122.0, 8.0));
        moment.turn(WRIST, side, turn_x(between(-20.0, 0.0)));
    }
    moment
}

impl Moment {
    /// Both feet on the ground, the pelvis moved by `shift`.
    fn standing(shift: DVec3) -> Self {
        Self { shift, turns: [DQuat::IDENTITY; JOINTS], feet: [Foot::default(); 2] }
    }

    /// Turns the joint of a pair; `turn` is the left one's.
    fn turn(&mut self, joint: usize, side: usize, turn: DQuat) {
        self.turns[joint + side] = if side == 0 { turn } else { mirrored_turn(turn) };
    }

    /// Raises an arm from rest, the collar bone taking its part when the arm goes up.
    fn raise_arm(&mut self, side: usize, degrees: f64) {
        let collar = -6.0 + 34.0 * smooth_step(-60.0, 110.0, degrees);
        self.turn(COLLAR, side, turn_z(collar));
        self.turn(SHOULDER, side, turn_z(degrees - collar));
    }

    /// Bends an elbow, the forearm towards the front at rest.
    fn bend_elbow(&mut self, side: usize, degrees: f64) {
        self.turn(ELBOW, side, turn(-ACROSS_ARM, degrees.to_radians()));
    }

    /// Leans the trunk forward and holds the head up.
    fn lean_forward(&mut self, degrees: f64) {
        self.turns[PELVIS] *= turn_x(degrees);
        self.turns[SPINE_1] = turn_x(0.5 * degrees);
        self.turns[SPINE_2] = turn_x(0.5 * degrees);
        self.turns[NECK] = turn_x(-0.8 * degrees);
        self.turns[HEAD] = turn_x(-0.6 * degrees);
    }

    /// The joints' transforms, the legs worked out.
    fn posed(mut self, places: &[DVec3; JOINTS]) -> [DAffine3; JOINTS] {
        for side in 0..2 {
            self.place_leg(places, side);
        }
        posed(places, &self.turns, self.shift)
    }

    fn place_leg(&mut self, places: &[DVec3; JOINTS], side: usize) {
        let Foot { shift, pitch } = self.feet[side];
        let [hip, knee, ankle] = [HIP, KNEE, ANKLE].map(|joint| places[joint + side]);
        let pelvis = self.turns[PELVIS];
        let way = ankle + shift - (places[PELVIS] + self.shift + pelvis * (hip - places[PELVIS]));
        let bent = |degrees: f64| (knee - hip) + turn_x(degrees) * (ankle - knee);
        let (mut low, mut high) = (0.0, MOST_BEND);
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if bent(middle).length() > way.length() { low = middle } else { high = middle }
        }
        let thigh = DQuat::from_rotation_arc(bent(low).normalize(), way.normalize());
        let shin = thigh * turn_x(low);
        self.turns[HIP + side] = pelvis.inverse() * thigh;
        self.turns[KNEE + side] = turn_x(low);
        self.turns[ANKLE + side] = shin.inverse() * turn_x(pitch);
        // The toes stay flat where the heel is up, as far as they can.
        self.turns[FOOT + side] = turn_x(-0.6 * pitch);
    }
}

/// A step away from the middle.
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

fn turn_x(degrees: f64) -> DQuat {
    turn(DVec3::X, degrees.to_radians())
}

fn turn_y(degrees: f64) -> DQuat {
    turn(DVec3::Y, degrees.to_radians())
}

fn turn_z(degrees: f64) -> DQuat {
    turn(DVec3::Z, degrees.to_radians())
}
