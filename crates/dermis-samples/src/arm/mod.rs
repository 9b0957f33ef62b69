//! `sample:arm`: an arm with a rig, a clip that bends and twists it, and a sculpted shape for every frame.
//!
//! The rest pose extends along x from the shoulder to the fingers, with palm and biceps up (y); the elbow bends about z.
//! The rig has no twist bones: the hand alone carries the twist of the forearm. Linear skinning therefore collapses the
//! wrist (the candy-wrapper effect) and loses volume at the elbow; the target shapes ([`sculpt`]) have neither artefact.

mod sculpt;

use std::sync::Arc;

use glam::{DAffine3, DVec3};
use rayon::prelude::*;

use super::implicit::{Implicit, node};
use super::numeric::{eased, rotation_about, smooth_step};
use super::polygonize::{Surface, polygonize};
use super::remesh::remesh;
use super::{plain_material, scene_of, surface_mesh, to_single};
use dermis_mesh::clip::Clip;
use dermis_mesh::rig::{Joint, Rig, SkinWeights};
use dermis_mesh::scene::{Object, Scene};
use dermis_mesh::sequence::MeshSequence;
use sculpt::Sculptor;

const POINTS: usize = 2600;
const FRAMES: usize = 144;
const FRAME_RATE_HZ: f64 = 24.0;

/// Grid spacing of the polygonizer, metres: four cells across the thumb.
const CELL: f64 = 0.006;

/// Positions of the joints along x.
const SHOULDER: f64 = 0.0;
const ELBOW: f64 = 0.30;
const WRIST: f64 = 0.56;
const KNUCKLES: f64 = 0.655;

/// The joints after the fixed root: name, position along x, and range over which weights blend to it.
const JOINTS: [(&str, f64, [f64; 2]); 4] = [
    ("upper_arm", SHOULDER, [-0.045, 0.055]),
    ("forearm", ELBOW, [0.245, 0.355]),
    ("hand", WRIST, [0.44, 0.575]),
    ("fingers", KNUCKLES, [0.63, 0.685]),
];

/// Angles of all joints at one time, radians.
#[derive(Debug, Clone, Copy, Default)]
struct ArmPose {
    /// Shoulder, upwards.
    raise: f64,
    /// Elbow.
    bend: f64,
    /// Forearm about its axis.
    twist: f64,
    /// Wrist towards the palm.
    flex: f64,
    /// Wrist towards the thumb.
    tilt: f64,
    /// Fingers.
    curl: f64,
}

impl ArmPose {
    /// Pose at a time: first the bend, then the twist to 180°, then the wrist, then all together.
    fn at(seconds: f64) -> Self {
        let angle = |keys: &[(f64, f64)]| eased(keys, seconds).to_radians();
        Self {
            raise: angle(&[(4.3, 0.0), (5.0, 28.0), (6.0, 0.0)]),
            bend: angle(&[(0.0, 0.0), (0.8, 130.0), (1.6, 0.0), (4.2, 0.0), (5.0, 115.0), (6.0, 0.0)]),
            twist: angle(&[(1.5, 0.0), (2.3, 180.0), (3.1, 0.0), (4.3, 0.0), (5.1, 140.0), (6.0, 0.0)]),
            flex: angle(&[(3.0, 0.0), (3.3, 55.0), (3.65, -50.0), (4.0, 0.0), (4.5, 0.0), (5.1, 25.0), (6.0, 0.0)]),
            tilt: angle(&[(3.5, 0.0), (3.85, 18.0), (4.15, -24.0), (4.45, 0.0)]),
            curl: angle(&[
                (0.0, 0.0),
                (0.8, 60.0),
                (1.6, 0.0),
                (3.0, 0.0),
                (3.3, 20.0),
                (4.0, 0.0),
                (5.0, 50.0),
                (6.0, 0.0),
            ]),
        }
    }

    /// Rotations of the joints after the root, relative to their parents.
    fn rotations(&self) -> [glam::DQuat; 4] {
        let wrist = rotation_about(DVec3::X, self.twist)
            * rotation_about(DVec3::Y, self.tilt)
            * rotation_about(DVec3::Z, self.flex);
        [
            rotation_about(DVec3::Z, self.raise),
            rotation_about(DVec3::Z, self.bend),
            wrist,
            rotation_about(DVec3::Z, self.curl),
        ]
    }

    /// Transforms of all joints.
    fn transforms(&self) -> Vec<DAffine3> {
        let mut transforms = vec![DAffine3::from_translation(DVec3::X * SHOULDER)];
        let (mut parent, mut parent_at) = (transforms[0], SHOULDER);
        for ((_, at, _), rotation) in JOINTS.iter().zip(self.rotations()) {
            parent *= DAffine3::from_rotation_translation(rotation, DVec3::X * (at - parent_at));
            parent_at = *at;
            transforms.push(parent);
        }
        transforms
    }
}

/// Builds the scene of `sample:arm`.
pub(super) fn build() -> Scene {
    let shape = arm();
    let surface = remesh(&shape, polygonize(&shape, CELL), POINTS, f64::sqrt);
    let mesh = surface_mesh(&surface, plain_material("skin", [0.76, 0.52, 0.40], 0.6), &[]);
    let poses: Vec<ArmPose> = (0..FRAMES).map(|frame| ArmPose::at(frame as f64 / FRAME_RATE_HZ)).collect();
    let (rig, clip) = rig_and_clip(&surface, &mesh, &poses);
    let sculptor = Sculptor::new(&shape, &surface);
    let shapes: Vec<Vec<DVec3>> = poses.par_iter().map(|pose| sculptor.shape(pose)).collect();
    let targets = MeshSequence::new(Arc::clone(&mesh), to_single(&shapes.concat()), FRAME_RATE_HZ)
        .expect("sculpted frames are complete and finite");
    scene_of(Object { sequence: Some(targets), ..Object::of_rig("arm", mesh, rig, vec![clip]) })
}

fn rig_and_clip(surface: &Surface, mesh: &dermis_mesh::TriMesh, poses: &[ArmPose]) -> (Rig, Clip) {
    let bind = ArmPose::default().transforms();
    let names = ["shoulder"].into_iter().chain(JOINTS.iter().map(|joint| joint.0));
    let joint = |(index, name): (usize, &str)| Joint::at(name, index.checked_sub(1), bind[index]);
    let joints = names.enumerate().map(joint).collect();
    let weights = SkinWeights::from_rows(surface.points.iter().map(|&point| weights(point)));
    let rig =
        Rig::new(mesh, joints, weights, Vec::new()).expect("the joints are a chain and the weights refer to them");
    let transforms = poses.iter().flat_map(ArmPose::transforms).collect();
    let clip = Clip::new(&rig, "bend_and_twist", FRAME_RATE_HZ, transforms, Vec::new())
        .expect("frames are complete and finite");
    (rig, clip)
}

/// Skin weights of a point: each range of [`JOINTS`] blends from one joint to the next.
fn weights(point: DVec3) -> Vec<(u32, f32)> {
    let passed = |index: usize| match index.checked_sub(1).map(|joint| JOINTS.get(joint)) {
        None => 1.0,
        Some(Some((_, _, [low, high]))) => smooth_step(*low, *high, point.x),
        Some(None) => 0.0,
    };
    let mut row: Vec<(u32, f32)> = (0..=JOINTS.len())
        .map(|index| (index as u32, (passed(index) - passed(index + 1)) as f32))
        .filter(|(_, weight)| *weight > 0.0)
        .collect();
    row.sort_by(|a, b| b.1.total_cmp(&a.1));
    row
}

fn arm() -> Implicit {
    let mut shape = Implicit::default();
    let (round, flat) = ((DVec3::Y, 1.0), (DVec3::Y, 0.52));
    let upper = [
        node(-0.060, 0.000, 0.0, 0.044),
        node(-0.005, 0.006, 0.0, 0.062),
        node(0.070, 0.000, 0.0, 0.050),
        node(0.170, 0.000, 0.0, 0.041),
        node(0.260, 0.000, 0.0, 0.037),
        node(0.310, 0.000, 0.0, 0.038),
    ];
    shape.limb(&upper, round, 0.03, &[0]);
    shape.limb(
        &[node(0.075, 0.020, 0.0, 0.024), node(0.16, 0.026, 0.0, 0.035), node(0.25, 0.014, 0.0, 0.024)],
        round,
        0.04,
        &[0],
    );
    shape.limb(
        &[node(0.07, -0.020, 0.006, 0.030), node(0.15, -0.024, 0.004, 0.035), node(0.26, -0.012, 0.0, 0.026)],
        round,
        0.04,
        &[0],
    );
    let forearm = [
        node(0.290, 0.000, 0.000, 0.040),
        node(0.345, 0.001, 0.000, 0.046),
        node(0.400, 0.000, 0.000, 0.043),
        node(0.470, 0.000, 0.000, 0.035),
        node(0.530, 0.000, 0.000, 0.0285),
        node(0.580, 0.000, 0.000, 0.0300),
    ];
    shape.limb(&forearm, (DVec3::Y, 0.88), 0.02, &[0]);
    // The muscle on the side of the thumb and the tip of the elbow.
    shape.limb(
        &[node(0.285, 0.012, -0.024, 0.018), node(0.34, 0.012, -0.024, 0.026), node(0.43, 0.006, -0.014, 0.020)],
        round,
        0.03,
        &[0],
    );
    shape.limb(&[node(0.288, -0.030, 0.0, 0.015), node(0.312, -0.028, 0.0, 0.017)], round, 0.025, &[0]);
    let palm = [
        node(0.560, 0.000, 0.000, 0.030),
        node(0.600, 0.000, 0.000, 0.043),
        node(0.645, 0.001, 0.002, 0.048),
        node(0.695, 0.004, 0.003, 0.045),
        node(0.735, 0.010, 0.003, 0.038),
        node(0.765, 0.017, 0.003, 0.025),
    ];
    shape.limb(&palm, flat, 0.02, &[0]);
    let thumb = [
        node(0.580, 0.008, -0.026, 0.019),
        node(0.612, 0.014, -0.044, 0.0175),
        node(0.645, 0.016, -0.059, 0.0145),
        node(0.672, 0.017, -0.066, 0.0105),
    ];
    shape.limb(&thumb, round, 0.018, &[0]);
    shape
}
