//! Skin of the body: limbs around the joints, as on a mannequin.
//!
//! Paired parts are defined on the left and mirrored. Hands are mittens with a thumb: fingers would need a third of the
//! points.

use glam::DVec3;

use super::super::implicit::{Implicit, Node, node};
use super::skeleton::{ACROSS_ARM, mirrored};
use dermis_body::human_skeleton::{
    ANKLE, COLLAR, ELBOW, FOOT, HAND, HEAD, HIP, KNEE, NECK, PELVIS, SHOULDER, SPINE_1, SPINE_2, SPINE_3, WRIST,
};

const ROUND: (DVec3, f64) = (DVec3::Z, 1.0);

/// Implicit shape of the body.
pub(super) fn flesh() -> Implicit {
    let mut shape = Implicit { floor: 0.0, ..Implicit::default() };
    trunk(&mut shape);
    head(&mut shape);
    leg(&mut shape);
    arm(&mut shape);
    shape
}

/// Adds a limb on both sides; `bones` are those of the left side.
fn pair(shape: &mut Implicit, nodes: &[Node], flatten: (DVec3, f64), blend: f64, bones: &[usize]) {
    shape.limb(nodes, flatten, blend, bones);
    let nodes: Vec<Node> = nodes.iter().map(|&(centre, radius)| (mirrored(centre), radius)).collect();
    let right =
        |&bone: &usize| if [PELVIS, SPINE_1, SPINE_2, SPINE_3, NECK, HEAD].contains(&bone) { bone } else { bone + 1 };
    let bones: Vec<usize> = bones.iter().map(right).collect();
    shape.limb(&nodes, (mirrored(flatten.0), flatten.1), blend, &bones);
}

fn trunk(shape: &mut Implicit) {
    let core = [
        node(0.0, 0.985, 0.002, 0.150),
        node(0.0, 1.050, 0.004, 0.139),
        node(0.0, 1.130, 0.000, 0.131),
        node(0.0, 1.210, -0.006, 0.138),
        node(0.0, 1.295, -0.014, 0.146),
    ];
    shape.limb(&core, (DVec3::Z, 0.66), 0.04, &[PELVIS, SPINE_1, SPINE_2, SPINE_3]);
    let belly = [node(0.0, 0.985, 0.030, 0.078), node(0.0, 1.080, 0.030, 0.072)];
    shape.limb(&belly, (DVec3::X, 0.98), 0.06, &[SPINE_1]);
    let buttock = [node(0.078, 0.940, -0.046, 0.076), node(0.076, 0.885, -0.052, 0.078)];
    pair(shape, &buttock, ROUND, 0.05, &[PELVIS]);
    let back = [node(0.105, 1.335, -0.045, 0.058), node(0.080, 1.190, -0.034, 0.046)];
    pair(shape, &back, ROUND, 0.08, &[SPINE_3]);
    let chest = [node(0.066, 1.285, 0.040, 0.066), node(0.110, 1.335, 0.014, 0.060)];
    pair(shape, &chest, ROUND, 0.06, &[SPINE_3]);
    let yoke =
        [node(0.030, 1.440, -0.034, 0.046), node(0.090, 1.412, -0.030, 0.048), node(0.160, 1.388, -0.024, 0.050)];
    pair(shape, &yoke, ROUND, 0.05, &[COLLAR]);
}

fn head(shape: &mut Implicit) {
    let neck = [node(0.0, 1.390, -0.030, 0.064), node(0.0, 1.455, -0.022, 0.056), node(0.0, 1.540, -0.008, 0.057)];
    shape.limb(&neck, (DVec3::X, 0.96), 0.05, &[NECK]);
    let skull = [node(0.0, 1.612, -0.022, 0.088), node(0.0, 1.606, 0.010, 0.083)];
    shape.limb(&skull, (DVec3::X, 0.85), 0.025, &[HEAD]);
    let face = [node(0.0, 1.580, 0.030, 0.064), node(0.0, 1.535, 0.046, 0.050), node(0.0, 1.506, 0.060, 0.034)];
    shape.limb(&face, (DVec3::X, 0.90), 0.03, &[HEAD]);
    let nose = [node(0.0, 1.594, 0.088, 0.009), node(0.0, 1.562, 0.104, 0.013)];
    shape.limb(&nose, ROUND, 0.015, &[HEAD]);
    let ear = [node(0.074, 1.595, -0.012, 0.022), node(0.071, 1.570, -0.008, 0.016)];
    pair(shape, &ear, (DVec3::X, 0.55), 0.01, &[HEAD]);
}

fn leg(shape: &mut Implicit) {
    let leg = [
        node(0.094, 0.900, 0.004, 0.090),
        node(0.104, 0.790, 0.008, 0.084),
        node(0.114, 0.660, 0.010, 0.071),
        node(0.122, 0.545, 0.010, 0.058),
        node(0.125, 0.480, 0.008, 0.053),
        node(0.129, 0.430, 0.000, 0.050),
        node(0.135, 0.345, -0.014, 0.054),
        node(0.140, 0.255, -0.018, 0.047),
        node(0.145, 0.160, -0.024, 0.036),
        node(0.148, 0.085, -0.030, 0.034),
    ];
    pair(shape, &leg, ROUND, 0.035, &[HIP, HIP, HIP, HIP, KNEE, KNEE, KNEE, KNEE, KNEE]);
    let foot = [
        node(0.149, 0.025, -0.052, 0.036),
        node(0.151, 0.032, -0.010, 0.039),
        node(0.155, 0.031, 0.040, 0.042),
        node(0.160, 0.029, 0.085, 0.043),
        node(0.164, 0.021, 0.128, 0.034),
    ];
    pair(shape, &foot, (DVec3::Y, 0.75), 0.02, &[ANKLE, ANKLE, ANKLE, FOOT]);
    let instep = [node(0.148, 0.088, -0.026, 0.034), node(0.153, 0.060, 0.028, 0.030)];
    pair(shape, &instep, ROUND, 0.02, &[ANKLE]);
}

fn arm(shape: &mut Implicit) {
    let arm = [
        node(0.172, 1.386, -0.022, 0.057),
        node(0.235, 1.359, -0.024, 0.053),
        node(0.325, 1.318, -0.026, 0.046),
        node(0.418, 1.276, -0.030, 0.038),
        node(0.475, 1.250, -0.026, 0.041),
        node(0.560, 1.210, -0.022, 0.034),
        node(0.640, 1.172, -0.016, 0.026),
    ];
    pair(shape, &arm, ROUND, 0.04, &[SHOULDER, SHOULDER, SHOULDER, ELBOW]);
    let palm =
        [node(0.640, 1.172, -0.016, 0.028), node(0.672, 1.157, -0.010, 0.036), node(0.718, 1.136, -0.006, 0.042)];
    pair(shape, &palm, (ACROSS_ARM, 0.50), 0.015, &[WRIST]);
    let fingers =
        [node(0.718, 1.136, -0.006, 0.042), node(0.762, 1.115, -0.003, 0.037), node(0.804, 1.093, -0.001, 0.026)];
    pair(shape, &fingers, (ACROSS_ARM, 0.42), 0.010, &[HAND]);
    let thumb =
        [node(0.662, 1.158, 0.014, 0.018), node(0.700, 1.137, 0.048, 0.0145), node(0.730, 1.120, 0.066, 0.0115)];
    pair(shape, &thumb, ROUND, 0.015, &[WRIST, HAND]);
}
