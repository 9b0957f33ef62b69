//! Motions with known bones.

use std::sync::Arc;

use dermis_mesh::{MeshSequence, TriMesh};
use dermis_skin::Animation;
use glam::{Quat, Vec3};

/// A tube of `rings` rings of 12 points along x.
pub(crate) fn tube(rings: usize) -> TriMesh {
    const AROUND: u32 = 12;
    let point = |ring: usize, k: u32| {
        let turn = std::f32::consts::TAU * k as f32 / AROUND as f32;
        Vec3::new(ring as f32 * 0.1, 0.3 * turn.cos(), 0.3 * turn.sin())
    };
    let points = (0..rings).flat_map(|ring| (0..AROUND).map(move |k| point(ring, k))).collect();
    let quad = |ring: u32, k: u32| {
        let (a, b) = (ring * AROUND + k, ring * AROUND + (k + 1) % AROUND);
        [[a, b, a + AROUND], [b, b + AROUND, a + AROUND]]
    };
    let triangles = (0..rings as u32 - 1).flat_map(|ring| (0..AROUND).flat_map(move |k| quad(ring, k))).collect();
    TriMesh::new(points, triangles).expect("a valid mesh")
}

/// `mesh` with each point moved by `shape` in each of `frames` frames.
pub(crate) fn moving(mesh: TriMesh, frames: usize, shape: impl Fn(usize, Vec3) -> Vec3) -> MeshSequence {
    let positions = (0..frames).flat_map(|frame| mesh.points().iter().map(|&p| shape(frame, p)).collect::<Vec<_>>());
    let positions = positions.collect();
    MeshSequence::new(Arc::new(mesh), positions, 24.0).expect("the motion is finite")
}

/// An elbow at x = 2 that bends: two rigid halves.
pub(crate) fn elbow(frames: usize) -> MeshSequence {
    moving(tube(41), frames, |frame, p| {
        let joint = Vec3::X * 2.0;
        let turn = Quat::from_rotation_z(0.08 * frame as f32);
        if p.x > 2.0 { joint + turn * (p - joint) } else { p }
    })
}

pub(crate) fn animation(name: &str, sequence: &MeshSequence) -> Animation {
    Animation { name: name.to_owned(), sequence: sequence.clone() }
}
