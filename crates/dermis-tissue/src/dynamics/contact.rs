//! Simple solids that flesh rests on or is poked with, and the forces of contact.
//!
//! A skin node that would be inside at the end of the step is pulled to the surface by a spring along the normal, taken
//! implicitly: stiff, yet stable at any step. Friction is Coulomb's, as an implicit drag against sliding that is at
//! most friction · normal force over the sliding speed, both as they were at the start of the step.

use glam::{Mat3A, Vec3A};
use serde::{Deserialize, Serialize};

/// Stiffness of contact in node masses per squared time step; what is left of a penetration is its inverse.
const STIFFNESS: f32 = 30.0;
/// A node that is suddenly deep inside is let out at this speed, in m/s, and not shot out.
const LET_OUT_M_PER_S: f32 = 3.0;
/// Sliding speeds below this, in m/s, count as this: friction then holds without jitter.
const CREEP_M_PER_S: f32 = 1e-3;

/// A solid.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// All within `radius` of a point.
    Sphere {
        /// Its centre, in metres.
        center: [f32; 3],
        /// Its radius, in metres.
        radius: f32,
    },
    /// All within `radius` of a segment.
    Capsule {
        /// One end of the segment, in metres.
        start: [f32; 3],
        /// The other end.
        end: [f32; 3],
        /// Its radius, in metres.
        radius: f32,
    },
    /// All below a plane.
    Plane {
        /// A point of the plane, in metres.
        point: [f32; 3],
        /// The direction that is outside, of any length.
        normal: [f32; 3],
    },
}

/// What a contact adds to a node's equation: Δt f and the matrix on its velocity.
pub(super) struct Contact {
    pub(super) impulse: Vec3A,
    pub(super) matrix: Mat3A,
}

/// A node as contact sees it.
pub(super) struct Body {
    pub(super) position: Vec3A,
    pub(super) velocity: Vec3A,
    pub(super) mass: f32,
}

impl Shape {
    /// The distance of `position` from the surface, negative inside, and the direction out.
    pub(super) fn distance(&self, position: Vec3A) -> (f32, Vec3A) {
        let from = |center: Vec3A, radius: f32| {
            let offset = position - center;
            (offset.length() - radius.max(0.0), offset.normalize_or(Vec3A::Y))
        };
        match *self {
            Self::Sphere { center, radius } => from(center.into(), radius),
            Self::Capsule { start, end, radius } => {
                let (start, end) = (Vec3A::from(start), Vec3A::from(end));
                let axis = end - start;
                let share = (position - start).dot(axis) / axis.length_squared();
                from(start + axis * if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }, radius)
            }
            Self::Plane { point, normal } => {
                let normal = Vec3A::from(normal).normalize_or(Vec3A::Y);
                ((position - Vec3A::from(point)).dot(normal), normal)
            }
        }
    }

    /// The contact of a node with the solid, which moves by `moved` over the step and ends at `moved_by` from its place.
    pub(super) fn contact(
        &self,
        node: &Body,
        moved_by: Vec3A,
        moved: Vec3A,
        friction: f32,
        dt: f32,
    ) -> Option<Contact> {
        let (ahead, _) = self.distance(node.position + node.velocity * dt - moved_by);
        let (distance, normal) = self.distance(node.position - moved_by);
        if !(ahead.min(distance) < 0.0 && distance.is_finite()) {
            return None;
        }
        let stiffness = STIFFNESS * node.mass;
        let depth = (-distance).min(LET_OUT_M_PER_S * dt + moved.dot(normal).max(0.0));
        let outer = Mat3A::from_cols(normal * normal.x, normal * normal.y, normal * normal.z);
        let mut contact = Contact { impulse: normal * (stiffness * depth / dt), matrix: outer * stiffness };
        if friction > 0.0 {
            let sliding = node.velocity - moved / dt;
            let speed = (sliding - normal * sliding.dot(normal)).length().max(CREEP_M_PER_S);
            // What the spring gives at rest, and what stops a node that arrives.
            let push = stiffness * depth.max(0.0) / dt + node.mass * (-sliding.dot(normal)).max(0.0);
            let drag = (friction * push / speed).min(stiffness);
            let across = Mat3A::IDENTITY - outer;
            contact.impulse += across * (moved * (drag / dt));
            contact.matrix += across * drag;
        }
        Some(contact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_negative_inside_and_point_out() {
        let capsule = Shape::Capsule { start: [0.0; 3], end: [2.0, 0.0, 0.0], radius: 0.5 };
        assert_eq!(capsule.distance(Vec3A::new(1.0, 0.25, 0.0)), (-0.25, Vec3A::Y));
        assert_eq!(capsule.distance(Vec3A::new(3.0, 0.0, 0.0)), (0.5, Vec3A::X));
        let plane = Shape::Plane { point: [0.0, 1.0, 0.0], normal: [0.0, 2.0, 0.0] };
        assert_eq!(plane.distance(Vec3A::new(5.0, 0.5, 0.0)), (-0.5, Vec3A::Y));
    }

    #[test]
    fn solids_without_extent_still_have_a_direction_out() {
        let point = Shape::Capsule { start: [1.0; 3], end: [1.0; 3], radius: 0.0 };
        assert_eq!(point.distance(Vec3A::ONE), (0.0, Vec3A::Y));
        assert_eq!(Shape::Plane { point: [0.0; 3], normal: [0.0; 3] }.distance(Vec3A::Y), (1.0, Vec3A::Y));
    }

    #[test]
    fn a_node_outside_that_stays_outside_is_free() {
        let sphere = Shape::Sphere { center: [0.0; 3], radius: 1.0 };
        let node = Body { position: Vec3A::X * 1.1, velocity: Vec3A::Y, mass: 1.0 };
        assert!(sphere.contact(&node, Vec3A::ZERO, Vec3A::ZERO, 0.5, 0.01).is_none());
        let falling = Body { velocity: Vec3A::X * -20.0, ..node };
        assert!(sphere.contact(&falling, Vec3A::ZERO, Vec3A::ZERO, 0.5, 0.01).is_some());
    }
}
