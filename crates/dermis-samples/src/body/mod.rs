//! `sample:body`: a person of 1.7 m with the 24 joints of SMPL, six motions, shapes and pose shapes.
//!
//! The skin is an implicit surface of limbs, polygonized and remeshed; only the layout is that of SMPL.

mod blend;
mod flesh;
mod model;
mod motions;
mod skeleton;

use glam::{DAffine3, DVec3, Vec3};

use super::bind::bind;
use super::polygonize::{Surface, polygonize};
use super::remesh::remesh;
use super::{plain_material, scene_of, surface_mesh};
use dermis_body::human_skeleton::{JOINTS, NAMES, parent};
use dermis_mesh::clip::Clip;
use dermis_mesh::rig::{Joint, Rig, Shape, SkinWeights};
use dermis_mesh::scene::{Object, Scene};
pub use model::body_model;

const POINTS: usize = 6900;
const FRAME_RATE_HZ: f64 = 60.0;
/// Frames of a motion; motions loop, so the frame after the last is the first.
const FRAMES: usize = 120;

/// Grid spacing of the polygonizer, metres: finer than ears and thumbs.
const CELL: f64 = 0.009;

/// Rounds of weight diffusion.
const DIFFUSION: usize = 24;

/// The body sample with all data of a body model.
#[derive(Debug, Clone)]
pub struct BodySample {
    /// Rigged mesh with its motions.
    pub object: Object,
    /// Identity shapes.
    pub shapes: Vec<Shape>,
    /// Non-zero pose shapes, each with its index among the 9 (joints − 1) of SMPL.
    pub pose_shapes: Vec<(usize, Vec<Vec3>)>,
    /// Points and weights of each joint, whose weighted mean is the joint.
    pub joint_regressor: Vec<Vec<(u32, f64)>>,
}

/// Builds the body of `sample:body`.
///
/// # Panics
/// Never: the generated data is consistent.
pub fn body() -> BodySample {
    let positions = skeleton::positions();
    let shape = flesh::flesh();
    let surface = remesh(&shape, polygonize(&shape, CELL), POINTS, |thickness| (thickness + 0.05).sqrt());
    let weights = bind(&shape, &surface, JOINTS, DIFFUSION);
    let normals = normals(&surface);
    let mesh = surface_mesh(&surface, plain_material("skin", [0.80, 0.62, 0.52], 0.6), &[]);
    let joint = |joint: usize| Joint::at(NAMES[joint], parent(joint), DAffine3::from_translation(positions[joint]));
    let rows = SkinWeights::from_rows(weights.strongest(4));
    let rig = Rig::new(&mesh, (0..JOINTS).map(joint).collect(), rows, Vec::new()).expect("weights refer to the joints");
    let clips = motions::MOTIONS.map(|motion| clip(&rig, &positions, motion));
    BodySample {
        object: Object::of_rig("body", mesh, rig, clips.into()),
        shapes: blend::shapes(&surface, &normals, &weights),
        pose_shapes: blend::pose_shapes(&surface, &normals),
        joint_regressor: blend::regressor(&surface.points, &positions),
    }
}

/// Builds the scene of `sample:body`.
pub(super) fn build() -> Scene {
    scene_of(body().object)
}

/// Unit normals of the points, weighted by triangle area.
fn normals(surface: &Surface) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; surface.points.len()];
    for triangle in &surface.triangles {
        let [a, b, c] = triangle.map(|point| surface.points[point as usize]);
        for &point in triangle {
            normals[point as usize] += (b - a).cross(c - a);
        }
    }
    normals.iter().map(|normal| normal.normalize_or_zero()).collect()
}

fn clip(rig: &Rig, positions: &[DVec3; JOINTS], (name, at): motions::NamedMotion) -> Clip {
    let transforms = (0..FRAMES).flat_map(|frame| at(positions, frame as f64 / FRAMES as f64)).collect();
    Clip::new(rig, name, FRAME_RATE_HZ, transforms, Vec::new()).expect("frames are complete and finite")
}
