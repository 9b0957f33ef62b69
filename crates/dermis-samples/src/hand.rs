//! `sample:hand`: a right hand with a rig of 21 joints and four clips.
//!
//! The rest pose is a natural open hand: fingers up (y), palm to the front (z), thumb to the side (x). Finger joints
//! rotate about their own x axis to bend towards the palm and about their z axis to spread.

use glam::{DAffine3, DMat3, DQuat, DVec3};

use super::bind::bind;
use super::implicit::{Implicit, Node, node};
use super::numeric::{cos_turns, eased, rotation_about};
use super::polygonize::polygonize;
use super::remesh::remesh;
use super::{plain_material, scene_of, surface_mesh};
use dermis_mesh::clip::Clip;
use dermis_mesh::rig::{Joint, Rig, SkinWeights};
use dermis_mesh::scene::{Object, Scene};

const POINTS: usize = 5000;
const FRAME_RATE_HZ: f64 = 24.0;

/// Grid spacing of the polygonizer, metres: finer than the gaps between the fingers.
const CELL: f64 = 0.0018;

/// Rounds of weight diffusion.
const DIFFUSION: usize = 10;

const FOREARM: usize = 0;
const HAND: usize = 1;
/// First joint of each digit: thumb (3 joints), then index to little finger (4 each).
const DIGITS: [usize; 5] = [2, 5, 9, 13, 17];
const JOINTS: usize = 21;

const NAMES: [&str; JOINTS] = [
    "forearm", "hand", "thumb_1", "thumb_2", "thumb_3", "index_0", "index_1", "index_2", "index_3", "middle_0",
    "middle_1", "middle_2", "middle_3", "ring_0", "ring_1", "ring_2", "ring_3", "little_0", "little_1", "little_2",
    "little_3",
];

/// A finger: its knuckle, its tilt from vertical in degrees, the lengths of its three bones, and its radius.
struct Finger {
    knuckle: DVec3,
    lean: f64,
    lengths: [f64; 3],
    radius: f64,
}

const FINGERS: [Finger; 4] = [
    Finger { knuckle: DVec3::new(0.0310, 0.0970, 0.0), lean: -9.0, lengths: [0.043, 0.026, 0.019], radius: 0.0106 },
    Finger { knuckle: DVec3::new(0.0085, 0.1015, 0.0), lean: -2.0, lengths: [0.047, 0.030, 0.020], radius: 0.0109 },
    Finger { knuckle: DVec3::new(-0.0140, 0.0960, 0.0), lean: 5.0, lengths: [0.044, 0.028, 0.020], radius: 0.0104 },
    Finger { knuckle: DVec3::new(-0.0345, 0.0850, 0.0), lean: 14.0, lengths: [0.034, 0.021, 0.018], radius: 0.0093 },
];

/// Joints and tip of the thumb.
const THUMB: [DVec3; 4] = [
    DVec3::new(0.024, 0.020, 0.012),
    DVec3::new(0.053, 0.050, 0.022),
    DVec3::new(0.072, 0.076, 0.026),
    DVec3::new(0.084, 0.098, 0.027),
];

/// Bend of each finger joint towards the palm at rest, degrees.
const REST_BEND: f64 = 7.0;

/// Bend (1 is a fist) and spread (radians) of a digit.
#[derive(Debug, Clone, Copy, Default)]
struct Digit {
    bend: f64,
    spread: f64,
}

/// Builds the scene of `sample:hand`.
pub(super) fn build() -> Scene {
    let skeleton = Skeleton::new();
    let shape = skeleton.flesh();
    let surface = remesh(&shape, polygonize(&shape, CELL), POINTS, f64::sqrt);
    let mesh = surface_mesh(&surface, plain_material("skin", [0.80, 0.57, 0.45], 0.6), &[]);
    let rows = bind(&shape, &surface, JOINTS, DIFFUSION).strongest(4);
    let joints = (0..JOINTS).map(|joint| Joint::at(NAMES[joint], parent(joint), skeleton.bind[joint])).collect();
    let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(rows), Vec::new()).expect("weights refer to the joints");
    let clips = [("fist", 48, fist as Motion), ("wave", 72, wave), ("count", 144, count), ("spread", 48, spread)]
        .map(|(name, frames, motion)| skeleton.clip(&rig, name, frames, motion));
    scene_of(Object::of_rig("hand", mesh, rig, clips.into()))
}

/// Digits, thumb first, and bend of the wrist in radians, at a fraction of a clip.
type Motion = fn(f64) -> ([Digit; 5], f64);

fn fist(fraction: f64) -> ([Digit; 5], f64) {
    let bend = |digit: usize| {
        let late = 0.03 * digit as f64;
        eased(&[(0.02 + late, 0.0), (0.36 + late, 1.0), (0.56, 1.0), (0.98 - late, 0.0)], fraction)
    };
    // The thumb closes over the fingers: it is the last to close and the first to open.
    let thumb = eased(&[(0.22, 0.0), (0.48, 1.0), (0.54, 1.0), (0.78, 0.0)], fraction);
    let digits = [0, 4, 3, 2, 1].map(|digit| Digit { bend: if digit == 0 { thumb } else { bend(digit) }, spread: 0.0 });
    (digits, 0.18 * bend(1))
}

fn wave(fraction: f64) -> ([Digit; 5], f64) {
    let digit = |index: usize| {
        let phase = fraction - 0.11 * index as f64;
        Digit { bend: 0.30 - 0.30 * cos_turns(2.0 * phase), spread: 0.05 * cos_turns(phase) }
    };
    ([0, 1, 2, 3, 4].map(digit), 0.2 * cos_turns(fraction + 0.25))
}

fn count(fraction: f64) -> ([Digit; 5], f64) {
    // From the fist, one finger opens at each step: index, middle, ring, little, thumb.
    const OPENS: [f64; 5] = [0.76, 0.16, 0.30, 0.44, 0.60];
    let digits = OPENS.map(|opens| {
        let bend =
            eased(&[(0.0, 0.0), (0.09, 1.0), (opens, 1.0), (opens + 0.07, -0.05), (0.9, -0.05), (0.98, 0.0)], fraction);
        Digit { bend, spread: 0.0 }
    });
    (digits, 0.0)
}

fn spread(fraction: f64) -> ([Digit; 5], f64) {
    const WIDE: [f64; 5] = [-0.28, -0.20, -0.03, 0.13, 0.26];
    let wide = eased(&[(0.05, 0.0), (0.35, 1.0), (0.6, 1.0), (0.95, 0.0)], fraction);
    (WIDE.map(|spread| Digit { bend: -0.08 * wide, spread: spread * wide }), -0.15 * wide)
}

fn parent(joint: usize) -> Option<usize> {
    match joint {
        FOREARM => None,
        HAND => Some(FOREARM),
        _ if DIGITS.contains(&joint) => Some(HAND),
        _ => Some(joint - 1),
    }
}

/// Transforms of the joints at rest, and tips of the digits.
struct Skeleton {
    bind: [DAffine3; JOINTS],
    tips: [DVec3; 5],
}

impl Skeleton {
    fn new() -> Self {
        let mut bind = [DAffine3::IDENTITY; JOINTS];
        let mut tips = [THUMB[3]; 5];
        bind[FOREARM] = DAffine3::from_translation(DVec3::new(0.0, -0.09, 0.0));
        for joint in 0..3 {
            bind[DIGITS[0] + joint] = thumb_frame(joint);
        }
        for (finger, first) in FINGERS.iter().zip(&DIGITS[1..]) {
            let lean = rotation_about(DVec3::Z, finger.lean.to_radians());
            let wrist = DVec3::new(0.45 * finger.knuckle.x, 0.018, 0.0);
            bind[*first] = DAffine3::from_rotation_translation(lean, wrist);
            let (mut at, mut rotation) = (finger.knuckle, lean);
            for (bone, length) in finger.lengths.iter().enumerate() {
                rotation *= rotation_about(DVec3::X, REST_BEND.to_radians());
                bind[first + 1 + bone] = DAffine3::from_rotation_translation(rotation, at);
                at += rotation * DVec3::Y * *length;
            }
            tips[1 + (first - DIGITS[1]) / 4] = at;
        }
        Self { bind, tips }
    }

    fn position(&self, joint: usize) -> DVec3 {
        self.bind[joint].translation
    }

    fn flesh(&self) -> Implicit {
        let mut shape = Implicit::default();
        let (round, flat) = ((DVec3::Z, 1.0), (DVec3::Z, 0.72));
        let wrist = [
            node(0.0, -0.105, 0.0, 0.029),
            node(0.0, -0.055, 0.0, 0.0275),
            node(0.0, -0.010, 0.0, 0.0270),
            node(0.0, 0.020, 0.0, 0.0290),
        ];
        shape.limb(&wrist, flat, 0.01, &[FOREARM, FOREARM, HAND]);
        let palm = [node(0.0, 0.015, 0.0, 0.032), node(0.002, 0.045, 0.0, 0.041), node(0.001, 0.076, 0.0, 0.041)];
        shape.limb(&palm, (DVec3::Z, 0.34), 0.02, &[HAND]);
        shape.limb(&[node(-0.024, 0.022, 0.006, 0.014), node(-0.029, 0.056, 0.006, 0.013)], round, 0.02, &[HAND]);
        shape.limb(&[node(0.020, 0.022, 0.008, 0.016), node(0.040, 0.046, 0.013, 0.015)], round, 0.02, &[DIGITS[0]]);
        for (index, finger) in FINGERS.iter().enumerate() {
            self.add_finger(&mut shape, finger, index);
        }
        let thick = [0.0155, 0.0140, 0.0112, 0.0078];
        let mut thumb: Vec<Node> = (0..4).map(|k| (THUMB[k], thick[k])).collect();
        thumb.insert(3, (THUMB[2].lerp(THUMB[3], 0.6), 0.0108));
        shape.limb(&thumb, round, 0.012, &[DIGITS[0], DIGITS[0] + 1, DIGITS[0] + 2]);
        shape
    }

    /// A finger from the wrist to the tip, slightly thicker at the joints than between them.
    fn add_finger(&self, shape: &mut Implicit, finger: &Finger, index: usize) {
        let (first, tip, r) = (DIGITS[1 + index], self.tips[1 + index], finger.radius);
        let [wrist, knuckle, middle, last] = [0, 1, 2, 3].map(|bone| self.position(first + bone));
        let nodes = [
            (wrist, 1.05 * r),
            (wrist.lerp(knuckle, 0.6) - DVec3::Z * 0.002, 1.10 * r),
            (knuckle - DVec3::Z * 0.0015, 1.16 * r),
            (knuckle.lerp(middle, 0.55), 0.97 * r),
            (middle, 0.98 * r),
            (middle.lerp(last, 0.5), 0.89 * r),
            (last, 0.89 * r),
            (last.lerp(tip, 0.6), 0.82 * r),
            (tip, 0.62 * r),
        ];
        let bones = [first, first, first + 1, first + 1, first + 2, first + 2, first + 3];
        shape.limb(&nodes, (DVec3::Z, 0.95), 0.006, &bones);
    }

    fn clip(&self, rig: &Rig, name: &str, frames: usize, motion: Motion) -> Clip {
        let transforms = (0..frames).flat_map(|frame| {
            let (digits, wrist) = motion(frame as f64 / (frames - 1) as f64);
            self.pose(&digits, wrist)
        });
        Clip::new(rig, name, FRAME_RATE_HZ, transforms.collect(), Vec::new()).expect("frames are complete and finite")
    }

    fn pose(&self, digits: &[Digit; 5], wrist: f64) -> Vec<DAffine3> {
        let mut rotations = [DQuat::IDENTITY; JOINTS];
        rotations[HAND] = rotation_about(DVec3::X, wrist);
        pose_thumb(digits[0], &mut rotations);
        for (&first, digit) in DIGITS[1..].iter().zip(&digits[1..]) {
            // The palm cups least at the index finger and most at the little finger.
            let cup = 4.0 * (first - DIGITS[1]) as f64 / 12.0;
            rotations[first] = rotation_about(DVec3::X, (cup * digit.bend).to_radians());
            rotations[first + 1] =
                rotation_about(DVec3::Z, digit.spread) * rotation_about(DVec3::X, (78.0 * digit.bend).to_radians());
            rotations[first + 2] = rotation_about(DVec3::X, (96.0 * digit.bend).to_radians());
            rotations[first + 3] = rotation_about(DVec3::X, (58.0 * digit.bend).to_radians());
        }
        let mut posed: Vec<DAffine3> = Vec::with_capacity(JOINTS);
        for (joint, rotation) in rotations.iter().enumerate() {
            // Parents precede their children.
            let local =
                parent(joint).map_or(self.bind[joint], |at| posed[at] * self.bind[at].inverse() * self.bind[joint]);
            posed.push(local * DAffine3::from_quat(*rotation));
        }
        posed
    }
}

/// Frame of a thumb joint: y along the bone, x the axis about which it bends over the palm.
fn thumb_frame(joint: usize) -> DAffine3 {
    let along = (THUMB[joint + 1] - THUMB[joint]).normalize();
    let across = along.cross(DVec3::new(-0.75, 0.0, 0.66)).normalize();
    DAffine3::from_mat3_translation(DMat3::from_cols(across, along, across.cross(along)), THUMB[joint])
}

fn pose_thumb(digit: Digit, rotations: &mut [DQuat; JOINTS]) {
    let [base, middle, last] = [0, 1, 2].map(|joint| DIGITS[0] + joint);
    let bend = |degrees: f64| rotation_about(DVec3::X, (degrees * digit.bend).to_radians());
    rotations[base] = rotation_about(DVec3::Z, digit.spread)
        * bend(34.0)
        * rotation_about(DVec3::Y, (40.0 * digit.bend).to_radians());
    rotations[middle] = bend(38.0);
    rotations[last] = bend(52.0);
}
