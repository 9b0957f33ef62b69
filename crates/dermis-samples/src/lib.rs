//! Procedurally generated inputs, so that every command can be tried without downloads.
//!
//! All samples are in metres with Y up, and are bitwise identical on every machine and for any number of threads: points
//! are computed independently of each other, sums have a fixed order, and sine and cosine are implemented here.

#![forbid(unsafe_code)]

mod arm;
mod bind;
mod body;
mod cloth;
mod flag;
mod gallop;
mod hand;
mod implicit;
mod numeric;
mod polygonize;
mod remesh;
mod towel;

use std::sync::Arc;

use glam::{DVec3, Vec3};

pub use body::{BodySample, body, body_model};
use dermis_mesh::layout::{Layout, Material};
use dermis_mesh::scene::{Object, Scene, Units, UpAxis};
use dermis_mesh::sequence::MeshSequence;
use dermis_mesh::tri_mesh::TriMesh;
use polygonize::Surface;

/// Name and description of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleInfo {
    /// Name, as in `sample:NAME`.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
}

/// All samples.
pub const SAMPLES: &[SampleInfo] = &[
    SampleInfo { name: "gallop", summary: "a horse at a gallop: a closed mesh sequence, 48 frames that loop, no rig" },
    SampleInfo {
        name: "arm",
        summary: "an arm: rig, one clip that bends and twists it, and a sculpted shape per frame",
    },
    SampleInfo { name: "hand", summary: "a hand: rig of 21 joints, clips fist, wave, count and spread" },
    SampleInfo {
        name: "body",
        summary: "a person: rig of 24 joints, six motions, and a body model with shapes and pose shapes",
    },
    SampleInfo { name: "flag", summary: "a flag in gusts of wind: coarse cloth that compresses instead of folding" },
    SampleInfo { name: "towel", summary: "a towel held at corners that move together: coarse cloth under compression" },
];

/// Names of all samples.
pub const NAMES: &[&str] = &{
    let mut names = [""; SAMPLES.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = SAMPLES[index].name;
        index += 1;
    }
    names
};

/// Builds the sample `name` (without the prefix `sample:`); `None` if it does not exist.
pub fn build(name: &str) -> Option<Scene> {
    match name {
        "gallop" => Some(gallop::build()),
        "arm" => Some(arm::build()),
        "hand" => Some(hand::build()),
        "body" => Some(body::build()),
        "flag" => Some(flag::build()),
        "towel" => Some(towel::build()),
        _ => None,
    }
}

/// Matte material of one colour.
fn plain_material(name: &str, color: [f32; 3], roughness: f32) -> Material {
    let [r, g, b] = color;
    Material { name: name.to_owned(), base_color: [r, g, b, 1.0], roughness, ..Material::default() }
}

/// Mesh with one material, darkened per point by `shades` unless that is empty.
fn surface_mesh(surface: &Surface, material: Material, shades: &[f64]) -> Arc<TriMesh> {
    let mesh = TriMesh::new(to_single(&surface.points), surface.triangles.clone())
        .expect("a polygonized surface has finite points and valid triangles");
    let color = |&shade: &f64| Vec3::splat(shade as f32).extend(1.0);
    let layout = Layout {
        colors: if shades.is_empty() { Vec::new() } else { vec![shades.iter().map(color).collect()] },
        materials: vec![material],
        triangle_materials: vec![0; mesh.triangle_count()],
        ..Layout::plain(&mesh)
    };
    Arc::new(mesh.with_layout(layout).expect("a plain layout with one material matches its mesh"))
}

fn to_single(points: &[DVec3]) -> Vec<Vec3> {
    points.iter().map(|point| point.as_vec3()).collect()
}

/// Scene with one recorded motion.
fn sequence_scene(name: &str, mesh: Arc<TriMesh>, frames: &[DVec3], frame_rate_hz: f64) -> Scene {
    let sequence = MeshSequence::new(mesh, to_single(frames), frame_rate_hz).expect("frames are complete and finite");
    scene_of(Object::of_sequence(name, sequence))
}

fn scene_of(object: Object) -> Scene {
    let units = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) };
    Scene { objects: vec![object], units, notes: Vec::new() }
}
