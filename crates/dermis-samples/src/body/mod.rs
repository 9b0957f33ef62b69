//! `sample:body`: a person of 1.7 m with the 24 joints of SMPL, six motions, shapes and pose shapes.
//!
//! The skin is an implicit surface of limbs, polygonized and remeshed; there is nothing of SMPL in it but the layout.

mod blend;
mod flesh;
mod motions;
pub mod skeleton;

use glam::{DAffine3, DVec3, Vec3};

use super::bind::bind;
use super::polygonize::{Surface, polygonize};
use super::remesh::remesh;
use super::{plain_material, scene_of, surface_mesh};
use dermis_mesh::clip::Clip;
use dermis_mesh::rig::{Joint, Rig, Shape, SkinWeights};
use dermis_mesh::scene::{Object, Scene};
use skeleton::JOINTS;

const POINTS: usize = 6900;
const FRAME_RATE_HZ: f64 = 60.0;
/// Frames of a motion; the one after the last is the first.
const FRAMES: usize = 120;

/// Grid spacing of the polygonizer, metres: finer than ears and thumbs.
const CELL: f64 = 0.009;

/// Rounds of weight diffusion.
const DIFFUSION: usize = 24;

/// The sample with all that a body model has.
#[derive(Debug, Clone)]
pub struct BodySample {
    /// The rigged mesh with its motions.
    pub object: Object,
    /// The ways in which people differ.
    pub shapes: Vec<Shape>,
    /// The pose shapes that are not zero, each with its number among SMPL's 9 (joints − 1).
    pub pose_shapes: Vec<(usize, Vec<Vec3>)>,
    /// For each joint, the points and weights whose mean it is.
    pub joint_regressor: Vec<Vec<(u32, f64)>>,
}

/// The body behind `sample:body`.
///
/// # Panics
/// Never: what it is made of fits.
pub fn body() -> BodySample {
    let places = skeleton::places();
    let shape = flesh::flesh();
    let surface = remesh(&shape, polygonize(&shape, CELL), POINTS, |thickness| (thickness + 0.05).sqrt());
    let weights = bind(&shape, &surface, JOINTS, DIFFUSION);
    let normals = normals(&surface);
    let mesh = surface_mesh(&surface, plain_material("skin", [0.80, 0.62, 0.52], 0.6), &[]);
    let joint = |joint: usize| {
        Joint::at(skeleton::NAMES[joint], skeleton::parent(joint), DAffine3::from_translation(places[joint]))
    };
    let rows = SkinWeights::from_rows(weights.strongest(4));
    let rig = Rig::new(&mesh, (0..JOINTS).map(joint).collect(), rows, Vec::new()).expect("weights name the joints");
    let clips = motions::MOTIONS.map(|motion| clip(&rig, &places, motion));
    BodySample {
        object: Object::of_rig("body", mesh, rig, clips.into()),
        shapes: blend::shapes(&surface, &normals, &weights),
        pose_shapes: blend::pose_shapes(&surface, &normals),
        joint_regressor: blend::regressor(&surface.points, &places),
    }
}

/// The scene of `sample:body`.
pub(super) fn build() -> Scene {
    scene_of(body().object)
}

/// The unit normals of the points, triangles counting by their area.
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

fn clip(rig: &Rig, places: &[DVec3; JOINTS], (name, at): motions::Motion) -> Clip {
    let transforms = (0..FRAMES).flat_map(|frame| at(places, frame as f64 / FRAMES as f64)).collect();
    Clip::new(rig, name, FRAME_RATE_HZ, transforms, Vec::new()).expect("whole, finite frames")
}
