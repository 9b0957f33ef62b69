//! Anatomy of the animal at rest: its joints and the limbs of its skin.
//!
//! Units are metres; x is forward, y up and z to its right. Proportions follow a horse of 1.6 m at the withers, with legs
//! slightly thicker than in nature, so that 8,000 points represent them as round. The right side mirrors the left.

use glam::DVec3;

use super::super::implicit::{Implicit, Node, node};
use super::super::numeric::smooth_step;

pub(super) const BARREL: usize = 0;
pub(super) const LOIN: usize = 1;
pub(super) const PELVIS: usize = 2;
pub(super) const CHEST: usize = 3;
pub(super) const NECK_LOW: usize = 4;
pub(super) const NECK_HIGH: usize = 5;
pub(super) const HEAD: usize = 6;
pub(super) const JAW: usize = 7;
/// Left, then right.
pub(super) const EARS: usize = 8;
pub(super) const TAIL: usize = 10;
pub(super) const TAIL_BONES: usize = TAIL_NODES.len() - 1;
pub(super) const LEGS: usize = TAIL + TAIL_BONES;
pub(super) const BONES_PER_LEG: usize = 5;
pub(super) const BONES: usize = LEGS + 4 * BONES_PER_LEG;

/// Joints of the trunk and head.
pub(super) const LOIN_JOINT: DVec3 = DVec3::new(-0.18, 1.30, 0.0);
pub(super) const CROUP_JOINT: DVec3 = DVec3::new(-0.40, 1.34, 0.0);
pub(super) const CHEST_JOINT: DVec3 = DVec3::new(0.28, 1.28, 0.0);
pub(super) const NECK_JOINT: DVec3 = DVec3::new(0.56, 1.34, 0.0);
pub(super) const CREST_JOINT: DVec3 = DVec3::new(0.86, 1.64, 0.0);
pub(super) const POLL_JOINT: DVec3 = DVec3::new(1.05, 1.86, 0.0);
pub(super) const JAW_JOINT: DVec3 = DVec3::new(1.13, 1.78, 0.0);
pub(super) const EAR_JOINT: DVec3 = DVec3::new(1.055, 1.92, -0.055);

/// Joints of the tail and radius of its hair.
pub(super) const TAIL_NODES: [Node; 7] = [
    (DVec3::new(-0.72, 1.42, 0.0), 0.055),
    (DVec3::new(-0.83, 1.39, 0.0), 0.050),
    (DVec3::new(-0.92, 1.27, 0.0), 0.060),
    (DVec3::new(-0.96, 1.09, 0.0), 0.074),
    (DVec3::new(-0.98, 0.90, 0.0), 0.076),
    (DVec3::new(-0.98, 0.71, 0.0), 0.058),
    (DVec3::new(-0.97, 0.52, 0.0), 0.018),
];

/// Joints of a left leg: top of shoulder blade or croup, shoulder or hip, elbow or stifle, knee or hock, fetlock, and the
/// sole of the hoof.
pub(super) const FRONT_LEG: [DVec3; 6] = [
    DVec3::new(0.40, 1.46, -0.09),
    DVec3::new(0.66, 1.10, -0.17),
    DVec3::new(0.47, 0.94, -0.175),
    DVec3::new(0.50, 0.525, -0.155),
    DVec3::new(0.49, 0.195, -0.15),
    DVec3::new(0.56, 0.0, -0.15),
];
pub(super) const HIND_LEG: [DVec3; 6] = [
    DVec3::new(-0.46, 1.42, -0.10),
    DVec3::new(-0.54, 1.22, -0.17),
    DVec3::new(-0.36, 0.92, -0.19),
    DVec3::new(-0.70, 0.60, -0.155),
    DVec3::new(-0.665, 0.20, -0.15),
    DVec3::new(-0.59, 0.0, -0.15),
];

/// First bone of a leg: legs 0 and 1 are the left and right front legs, 2 and 3 the hind legs.
pub(super) fn leg_bones(leg: usize) -> usize {
    LEGS + leg * BONES_PER_LEG
}

/// Joints of a leg.
pub(super) fn leg_joints(leg: usize) -> [DVec3; 6] {
    let left = if leg < 2 { FRONT_LEG } else { HIND_LEG };
    if leg.is_multiple_of(2) { left } else { left.map(mirrored) }
}

/// Mirror image of a position.
pub(super) fn mirrored(position: DVec3) -> DVec3 {
    position * DVec3::new(1.0, 1.0, -1.0)
}

/// Implicit shape of the animal.
pub(super) fn animal() -> Implicit {
    let mut shape = Implicit { floor: 0.0, ..Implicit::default() };
    add_trunk(&mut shape);
    add_neck(&mut shape);
    add_head(&mut shape);
    add_tail(&mut shape);
    for side in 0..2 {
        add_ear(&mut Side { shape: &mut shape, side });
        add_front_leg(&mut Side { shape: &mut shape, side });
        add_hind_leg(&mut Side { shape: &mut shape, side });
    }
    shape
}

/// Lightness of the coat at a point of the surface, 0 to 1, given the bone weights of the point: the mane, tail, muzzle
/// and lower legs of a bay horse are nearly black.
pub(super) fn coat(at: DVec3, weights: &[f64]) -> f64 {
    const DARK: f64 = 0.12;
    let tail: f64 = weights[TAIL + 1..TAIL + TAIL_BONES].iter().sum();
    let legs: f64 =
        (0..4).map(|leg| weights[leg_bones(leg) + 2..leg_bones(leg) + BONES_PER_LEG].iter().sum::<f64>()).sum();
    let stocking = legs * smooth_step(0.72, 0.42, at.y);
    let muzzle = 0.8 * (weights[HEAD] + weights[JAW]) * smooth_step(1.36, 1.46, at.x - 0.5 * (at.y - 1.45));
    let along_mane = ((at.x - 0.42) / 0.64).clamp(0.0, 1.0);
    let crest = 1.60 + 0.37 * along_mane - 0.10 * (2.0 * along_mane - 1.0).powi(2) * (1.0 - along_mane);
    let on_neck = weights[NECK_LOW] + weights[NECK_HIGH] + weights[HEAD];
    let mane = on_neck * smooth_step(crest - 0.03, crest + 0.005, at.y) * smooth_step(0.055, 0.035, at.z.abs());
    let dark = [tail, stocking, muzzle, mane].into_iter().fold(0.0, f64::max).clamp(0.0, 1.0);
    1.0 + dark * (DARK - 1.0)
}

/// One half of the shape: limbs are given for the left side, side 0.
struct Side<'a> {
    shape: &'a mut Implicit,
    side: usize,
}

impl Side<'_> {
    fn limb(&mut self, nodes: &[Node], flatten: (DVec3, f64), blend: f64, bones: &[usize]) {
        if self.side == 0 {
            return self.shape.limb(nodes, flatten, blend, bones);
        }
        let nodes: Vec<Node> = nodes.iter().map(|&(centre, radius)| (mirrored(centre), radius)).collect();
        self.shape.limb(&nodes, (mirrored(flatten.0), flatten.1), blend, bones);
    }
}

fn slim(thickness: f64) -> (DVec3, f64) {
    (DVec3::Z, thickness)
}

fn add_trunk(shape: &mut Implicit) {
    let trunk = [
        node(-0.66, 1.275, 0.0, 0.18),
        node(-0.50, 1.275, 0.0, 0.235),
        node(-0.28, 1.235, 0.0, 0.262),
        node(0.00, 1.170, 0.0, 0.312),
        node(0.22, 1.155, 0.0, 0.333),
        node(0.44, 1.160, 0.0, 0.305),
        node(0.62, 1.150, 0.0, 0.20),
    ];
    shape.limb(&trunk, slim(0.84), 0.1, &[PELVIS, PELVIS, LOIN, BARREL, CHEST, CHEST]);
    let withers = [node(0.02, 1.385, 0.0, 0.08), node(0.20, 1.455, 0.0, 0.075), node(0.36, 1.50, 0.0, 0.07)];
    shape.limb(&withers, slim(1.0), 0.14, &[CHEST]);
    let croup = [node(-0.22, 1.37, 0.0, 0.10), node(-0.44, 1.415, 0.0, 0.115), node(-0.66, 1.375, 0.0, 0.10)];
    shape.limb(&croup, slim(1.0), 0.12, &[PELVIS]);
}

fn add_neck(shape: &mut Implicit) {
    let neck = [
        node(0.46, 1.26, 0.0, 0.235),
        node(0.64, 1.41, 0.0, 0.195),
        node(0.80, 1.58, 0.0, 0.153),
        node(0.94, 1.735, 0.0, 0.124),
        node(1.05, 1.835, 0.0, 0.105),
    ];
    shape.limb(&neck, slim(0.62), 0.10, &[NECK_LOW, NECK_LOW, NECK_HIGH, NECK_HIGH]);
    let mane = [
        node(0.36, 1.545, 0.0, 0.022),
        node(0.56, 1.63, 0.0, 0.040),
        node(0.74, 1.765, 0.0, 0.046),
        node(0.90, 1.895, 0.0, 0.042),
        node(1.04, 1.965, 0.0, 0.026),
        node(1.12, 1.945, 0.0, 0.016),
    ];
    shape.limb(&mane, slim(0.62), 0.035, &[NECK_LOW, NECK_LOW, NECK_HIGH, NECK_HIGH, HEAD]);
}

fn add_head(shape: &mut Implicit) {
    let face = [
        node(1.07, 1.845, 0.0, 0.098),
        node(1.165, 1.795, 0.0, 0.096),
        node(1.255, 1.685, 0.0, 0.082),
        node(1.335, 1.57, 0.0, 0.066),
        node(1.405, 1.475, 0.0, 0.062),
        node(1.435, 1.435, 0.0, 0.058),
    ];
    shape.limb(&face, slim(0.80), 0.05, &[HEAD]);
    let cheek = [node(1.12, 1.755, 0.0, 0.095), node(1.145, 1.70, 0.0, 0.098)];
    shape.limb(&cheek, slim(0.72), 0.04, &[JAW]);
    let jaw = [
        node(1.145, 1.675, 0.0, 0.075),
        node(1.25, 1.56, 0.0, 0.050),
        node(1.335, 1.465, 0.0, 0.040),
        node(1.38, 1.412, 0.0, 0.040),
    ];
    shape.limb(&jaw, slim(0.80), 0.04, &[JAW]);
    for side in [-1.0, 1.0] {
        let brow = [node(1.165, 1.822, 0.060 * side, 0.028), node(1.20, 1.775, 0.062 * side, 0.026)];
        shape.limb(&brow, slim(1.0), 0.025, &[HEAD]);
        let nostril = [node(1.44, 1.475, 0.026 * side, 0.028), node(1.462, 1.435, 0.030 * side, 0.026)];
        shape.limb(&nostril, slim(0.9), 0.025, &[HEAD]);
    }
}

fn add_ear(side: &mut Side<'_>) {
    let across = DVec3::new(0.85, -0.3, -0.42).normalize();
    let ear = [
        node(1.05, 1.895, -0.05, 0.030),
        node(1.055, 1.965, -0.064, 0.036),
        node(1.07, 2.025, -0.071, 0.024),
        node(1.09, 2.075, -0.073, 0.007),
    ];
    let bone = EARS + side.side;
    side.limb(&ear, (across, 0.6), 0.025, &[bone]);
}

fn add_tail(shape: &mut Implicit) {
    let bones: Vec<usize> = (TAIL..TAIL + TAIL_BONES).collect();
    shape.limb(&TAIL_NODES, slim(0.8), 0.06, &bones);
}

fn add_front_leg(side: &mut Side<'_>) {
    let bone = leg_bones(side.side);
    let blade = [node(0.42, 1.36, -0.105, 0.09), node(0.55, 1.20, -0.125, 0.135), node(0.63, 1.09, -0.12, 0.105)];
    side.limb(&blade, slim(0.70), 0.10, &[bone]);
    let arm = [node(0.63, 1.09, -0.13, 0.10), node(0.55, 1.02, -0.145, 0.125), node(0.46, 0.96, -0.155, 0.115)];
    side.limb(&arm, slim(0.75), 0.08, &[bone + 1]);
    let leg = [
        node(0.475, 0.98, -0.160, 0.118),
        node(0.478, 0.86, -0.168, 0.098),
        node(0.486, 0.72, -0.162, 0.070),
        node(0.497, 0.60, -0.157, 0.051),
        node(0.503, 0.53, -0.155, 0.054),
        node(0.498, 0.46, -0.154, 0.042),
        node(0.494, 0.34, -0.152, 0.037),
        node(0.490, 0.24, -0.150, 0.040),
        node(0.487, 0.195, -0.150, 0.047),
    ];
    let bones = [bone + 2, bone + 2, bone + 2, bone + 2, bone + 3];
    side.limb(&leg, slim(0.88), 0.06, &bones);
    add_foot(side, FRONT_LEG[4], FRONT_LEG[5], bone + 4);
}

fn add_hind_leg(side: &mut Side<'_>) {
    let bone = leg_bones(2 + side.side);
    let haunch = [node(-0.42, 1.32, -0.09, 0.13), node(-0.54, 1.24, -0.105, 0.17), node(-0.66, 1.18, -0.10, 0.15)];
    side.limb(&haunch, slim(0.85), 0.12, &[bone]);
    let thigh = [node(-0.56, 1.20, -0.125, 0.18), node(-0.45, 1.03, -0.155, 0.16), node(-0.37, 0.93, -0.165, 0.115)];
    side.limb(&thigh, slim(0.72), 0.10, &[bone + 1]);
    let hamstring = [node(-0.69, 1.16, -0.10, 0.125), node(-0.64, 1.00, -0.13, 0.105), node(-0.58, 0.86, -0.15, 0.075)];
    side.limb(&hamstring, slim(0.75), 0.09, &[bone + 1]);
    let leg = [
        node(-0.39, 0.94, -0.170, 0.120),
        node(-0.46, 0.84, -0.172, 0.104),
        node(-0.57, 0.735, -0.165, 0.074),
        node(-0.66, 0.64, -0.158, 0.054),
        node(-0.695, 0.58, -0.155, 0.053),
        node(-0.690, 0.50, -0.154, 0.046),
        node(-0.680, 0.36, -0.152, 0.039),
        node(-0.671, 0.245, -0.150, 0.041),
        node(-0.667, 0.20, -0.150, 0.048),
    ];
    let bones = [bone + 2, bone + 2, bone + 2, bone + 2, bone + 3];
    side.limb(&leg, slim(0.86), 0.06, &bones);
    let heel_cord =
        [node(-0.62, 0.80, -0.158, 0.030), node(-0.69, 0.71, -0.156, 0.027), node(-0.735, 0.64, -0.155, 0.034)];
    side.limb(&heel_cord, slim(0.9), 0.035, &[bone + 2]);
    add_foot(side, HIND_LEG[4], HIND_LEG[5], bone + 4);
}

/// Adds pastern and hoof: the hoof widens towards the floor, which cuts it flat.
fn add_foot(side: &mut Side<'_>, fetlock: DVec3, sole: DVec3, bone: usize) {
    let crown = fetlock.lerp(sole, 0.58);
    let pastern = [(fetlock + DVec3::new(-0.006, 0.0, 0.0), 0.044), (fetlock.lerp(crown, 0.6), 0.037), (crown, 0.041)];
    side.limb(&pastern, slim(1.0), 0.03, &[bone]);
    let hoof = [(crown + DVec3::new(-0.01, 0.0, 0.0), 0.045), (sole + DVec3::new(-0.005, -0.015, 0.0), 0.066)];
    side.limb(&hoof, (DVec3::X, 0.98), 0.008, &[bone]);
}
