//! Skeletons as octahedra, as in 3D editors: each is thick near its joint and ends at the child.

use std::sync::Arc;

use glam::{Mat3, Vec3};

use crate::surface::{Paint, Surface, Topology};

/// A joint of a skeleton to draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DrawnJoint {
    /// Position in scene space with Y up.
    pub position: Vec3,
    /// Index of the parent.
    pub parent: Option<usize>,
    /// Linear colour of the bones that start here.
    pub color: [f32; 3],
}

/// Location of the thickest part of a bone along its length.
const WAIST: f32 = 0.14;
/// Half of the thickness of a bone, relative to its length.
const THICKNESS: f32 = 0.085;
/// Limits of half of the thickness, relative to the size of the shape.
const MIN_THICKNESS: f32 = 0.003;
const MAX_THICKNESS: f32 = 0.014;
/// Radius of a joint, relative to the size of the shape.
const JOINT_RADIUS: f32 = 0.0075;
/// Length, relative to the size of the shape, below which a bone is drawn only by its joints.
const MIN_LENGTH: f32 = 1e-4;

/// Surfaces of a skeleton of a shape whose diagonal is `size`.
pub fn skeleton(joints: &[DrawnJoint], size: f32) -> Surface {
    let mut surface = Surface::default();
    let mut topology = Topology { paints: vec![Paint::default()], ..Topology::default() };
    for joint in joints {
        let octahedron = Octahedron { center: joint.position, axes: Mat3::IDENTITY * (JOINT_RADIUS * size), low: -1.0 };
        octahedron.add(joint.color, &mut surface, &mut topology);
        let Some(parent) = joint.parent.and_then(|parent| joints.get(parent)) else { continue };
        let along = joint.position - parent.position;
        let length = along.length();
        if length.is_nan() || length <= MIN_LENGTH * size {
            continue;
        }
        let thickness = (THICKNESS * length).clamp(MIN_THICKNESS * size, MAX_THICKNESS * size);
        let direction = along / length;
        let (u, v) = direction.any_orthonormal_pair();
        // The upper tip is at the child; the lower one, closer to the waist, at the parent.
        let axes = Mat3::from_cols(u * thickness, along * (1.0 - WAIST), v * thickness);
        let octahedron = Octahedron { center: parent.position + along * WAIST, axes, low: -WAIST / (1.0 - WAIST) };
        octahedron.add(parent.color, &mut surface, &mut topology);
    }
    surface.topology = Arc::new(topology);
    surface
}

/// An octahedron with tips at `center + y` and `center + low·y`.
struct Octahedron {
    center: Vec3,
    axes: Mat3,
    low: f32,
}

impl Octahedron {
    fn add(&self, color: [f32; 3], surface: &mut Surface, topology: &mut Topology) {
        let first = surface.positions.len() as u32;
        let corners = [Vec3::Y, Vec3::Y * self.low, Vec3::X, Vec3::Z, Vec3::NEG_X, Vec3::NEG_Z];
        for corner in corners {
            surface.positions.push(self.center + self.axes * corner);
            surface.normals.push((self.axes * corner).normalize_or(Vec3::Y));
            surface.colors.push([color[0], color[1], color[2], 1.0]);
        }
        for side in 0..4 {
            let (here, next) = (first + 2 + side, first + 2 + (side + 1) % 4);
            topology.triangles.extend([[first, next, here], [first + 1, here, next]]);
        }
    }
}
