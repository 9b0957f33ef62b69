//! Collision shapes and contact forces.
//!
//! A skin node that is inside a shape, or would be at the end of the step, is pulled to the surface by a spring along the
//! normal. The spring is integrated implicitly, so that it can be stiff and still stable for any time step. Coulomb
//! friction is an implicit drag against sliding, limited to coefficient · normal force / sliding speed, both at the
//! start of the step.

use glam::{Mat3A, Vec3A};
use serde::{Deserialize, Serialize};

/// Contact stiffness in node masses per squared time step. The remaining fraction of a penetration is its inverse.
const STIFFNESS: f32 = 30.0;
/// Maximum speed in m/s at which a penetration is resolved, so that deep nodes are not ejected.
const MAX_EXIT_SPEED_M_PER_S: f32 = 3.0;
/// Lower bound on the sliding speed in m/s, so that static friction does not jitter.
const MIN_SLIDING_SPEED_M_PER_S: f32 = 1e-3;

/// A solid collision shape.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// All points within `radius` of a centre.
    Sphere {
        /// Centre, in metres.
        center: [f32; 3],
        /// Radius, in metres.
        radius: f32,
    },
    /// All points within `radius` of a segment.
    Capsule {
        /// Start of the segment, in metres.
        start: [f32; 3],
        /// End of the segment, in metres.
        end: [f32; 3],
        /// Radius, in metres.
        radius: f32,
    },
    /// The half-space below a plane.
    Plane {
        /// A point on the plane, in metres.
        point: [f32; 3],
        /// Direction to the outside, of any length.
        normal: [f32; 3],
    },
}

/// Contribution of a contact to the equation of a node: the impulse Δt f and the matrix applied to its velocity.
pub(super) struct Contact {
    pub(super) impulse: Vec3A,
    pub(super) matrix: Mat3A,
}

/// State of a node that contact depends on.
pub(super) struct NodeState {
    pub(super) position: Vec3A,
    pub(super) velocity: Vec3A,
    pub(super) mass: f32,
}

impl Shape {
    /// Signed distance of `position` from the surface, negative inside, and the outward direction.
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
                let fraction = (position - start).dot(axis) / axis.length_squared();
                from(start + axis * if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 }, radius)
            }
            Self::Plane { point, normal } => {
                let normal = Vec3A::from(normal).normalize_or(Vec3A::Y);
                ((position - Vec3A::from(point)).dot(normal), normal)
            }
        }
    }

    /// Contact of a node with the shape, which moves by `moved` during the step and has the offset `end_offset` from its
    /// initial position at the end of the step.
    pub(super) fn contact(
        &self,
        node: &NodeState,
        end_offset: Vec3A,
        moved: Vec3A,
        friction: f32,
        dt: f32,
    ) -> Option<Contact> {
        let (ahead, _) = self.distance(node.position + node.velocity * dt - end_offset);
        let (distance, normal) = self.distance(node.position - end_offset);
        if !(ahead.min(distance) < 0.0 && distance.is_finite()) {
            return None;
        }
        let stiffness = STIFFNESS * node.mass;
        let depth = (-distance).min(MAX_EXIT_SPEED_M_PER_S * dt + moved.dot(normal).max(0.0));
        let outer = Mat3A::from_cols(normal * normal.x, normal * normal.y, normal * normal.z);
        let mut contact = Contact { impulse: normal * (stiffness * depth / dt), matrix: outer * stiffness };
        if friction > 0.0 {
            let sliding = node.velocity - moved / dt;
            let speed = (sliding - normal * sliding.dot(normal)).length().max(MIN_SLIDING_SPEED_M_PER_S);
            // Normal impulse: that of the spring at rest plus that which stops an approaching node.
            let normal_impulse = stiffness * depth.max(0.0) / dt + node.mass * (-sliding.dot(normal)).max(0.0);
            let drag = (friction * normal_impulse / speed).min(stiffness);
            let tangential = Mat3A::IDENTITY - outer;
            contact.impulse += tangential * (moved * (drag / dt));
            contact.matrix += tangential * drag;
        }
        Some(contact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_is_negative_inside_and_direction_points_outward() {
        let capsule = Shape::Capsule { start: [0.0; 3], end: [2.0, 0.0, 0.0], radius: 0.5 };
        assert_eq!(capsule.distance(Vec3A::new(1.0, 0.25, 0.0)), (-0.25, Vec3A::Y));
        assert_eq!(capsule.distance(Vec3A::new(3.0, 0.0, 0.0)), (0.5, Vec3A::X));
        let plane = Shape::Plane { point: [0.0, 1.0, 0.0], normal: [0.0, 2.0, 0.0] };
        assert_eq!(plane.distance(Vec3A::new(5.0, 0.5, 0.0)), (-0.5, Vec3A::Y));
    }

    #[test]
    fn degenerate_shapes_have_an_outward_direction() {
        let point = Shape::Capsule { start: [1.0; 3], end: [1.0; 3], radius: 0.0 };
        assert_eq!(point.distance(Vec3A::ONE), (0.0, Vec3A::Y));
        assert_eq!(Shape::Plane { point: [0.0; 3], normal: [0.0; 3] }.distance(Vec3A::Y), (1.0, Vec3A::Y));
    }

    #[test]
    fn node_that_stays_outside_has_no_contact() {
        let sphere = Shape::Sphere { center: [0.0; 3], radius: 1.0 };
        let node = NodeState { position: Vec3A::X * 1.1, velocity: Vec3A::Y, mass: 1.0 };
        assert!(sphere.contact(&node, Vec3A::ZERO, Vec3A::ZERO, 0.5, 0.01).is_none());
        let falling = NodeState { velocity: Vec3A::X * -20.0, ..node };
        assert!(sphere.contact(&falling, Vec3A::ZERO, Vec3A::ZERO, 0.5, 0.01).is_some());
    }
}
