//! External forces (Kim et al. 2017, §6): gravity, pulls, colliders, spinning frames and forces on single nodes.
//!
//! Each force is a small serializable description. Springs and contact are integrated implicitly: they contribute to the
//! matrix as well as to the right-hand side, so that a step is stable for any stiffness. The Coriolis force rotates
//! velocities by exactly −2ωΔt and therefore does no work.

use dermis_mesh::UpAxis;
use glam::{Mat3A, Quat, Vec3A};
use serde::{Deserialize, Serialize};

use super::contact::{NodeState, Shape};

/// Gravity of the Earth, in m/s².
pub const EARTH_GRAVITY: f32 = 9.81;
/// Maximum stiffness of a pull on a node, in node masses per squared time step.
const MAX_PULL_STIFFNESS: f32 = 1e3;

/// A force on the free nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Force {
    /// A uniform acceleration.
    Gravity {
        /// Acceleration in m/s².
        acceleration: [f32; 3],
    },
    /// A spring from a region of flesh to a point.
    Pull(Pull),
    /// A solid shape that the skin cannot enter.
    Collider(Collider),
    /// Inertial forces of a spinning frame.
    Spin(Spin),
    /// Forces on single nodes.
    Nodal(NodalForce),
}

/// A spring from a region of flesh to a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pull {
    /// Centre of the region in the rest shape, in metres.
    pub center: [f32; 3],
    /// Radius of the region in the rest shape, in metres. The pull fades to zero at the radius.
    pub radius: f32,
    /// Point that the centre of the region is pulled to, in metres.
    pub target: [f32; 3],
    /// Motion of the target as offsets from `target`.
    #[serde(default)]
    pub path: Vec<PathKey>,
    /// Stiffness of the whole spring, in N/m.
    pub stiffness_n_per_m: f32,
}

/// A solid shape that the skin cannot enter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Collider {
    /// Shape of the collider at its initial position.
    #[serde(flatten)]
    pub shape: Shape,
    /// Motion of the collider as offsets from its initial position.
    #[serde(default)]
    pub path: Vec<PathKey>,
    /// Coulomb friction coefficient; 0 slides freely.
    #[serde(default)]
    pub friction: f32,
}

/// Inertial forces of a spinning frame: centrifugal, Coriolis and Euler force.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spin {
    /// A point on the axis, in metres.
    #[serde(default)]
    pub origin: [f32; 3],
    /// Angular velocity ω in rad/s.
    pub angular_velocity: [f32; 3],
    /// Angular acceleration in rad/s².
    #[serde(default)]
    pub angular_acceleration: [f32; 3],
}

/// The same force on each of several nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodalForce {
    /// Mesh nodes; nodes that are not free are ignored.
    pub nodes: Vec<u32>,
    /// Force on each node, in newtons.
    pub force_n: [f32; 3],
}

/// Offset at a time. A path is interpolated linearly between its keys and constant before the first and after the last.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathKey {
    /// Simulated time in seconds.
    pub time_s: f64,
    /// Offset in metres.
    pub offset: [f32; 3],
}

/// A force with a time interval: one entry of a force file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimedForce {
    /// The force.
    #[serde(flatten)]
    pub force: Force,
    /// Start time in seconds.
    #[serde(default)]
    pub from_s: f64,
    /// End time in seconds; without it, the force acts until the end of the simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_s: Option<f64>,
}

impl Force {
    /// Gravity of `acceleration` m/s², opposite to the direction `up`.
    pub fn gravity_down(up: UpAxis, acceleration: f32) -> Self {
        let down = match up {
            UpAxis::X => [-acceleration, 0.0, 0.0],
            UpAxis::Y => [0.0, -acceleration, 0.0],
            UpAxis::Z => [0.0, 0.0, -acceleration],
        };
        Self::Gravity { acceleration: down }
    }
}

impl TimedForce {
    /// Checks that the numbers describe a force.
    pub fn check(&self) -> Result<(), &'static str> {
        let is_size = |size: f32| size.is_finite() && size > 0.0;
        let goes_back = |keys: &[PathKey]| keys.windows(2).any(|pair| pair[1].time_s < pair[0].time_s);
        let path = match &self.force {
            Force::Pull(pull) => &pull.path[..],
            Force::Collider(collider) => &collider.path,
            _ => &[],
        };
        match &self.force {
            _ if self.until_s.is_some_and(|until| until <= self.from_s) => {
                Err("its end time must be after its start time")
            }
            Force::Pull(pull) if !is_size(pull.radius) => Err("the radius of a pull must be above 0"),
            Force::Pull(pull) if !is_size(pull.stiffness_n_per_m) => Err("the stiffness of a pull must be above 0"),
            Force::Collider(Collider {
                shape: Shape::Sphere { radius, .. } | Shape::Capsule { radius, .. }, ..
            }) if !is_size(*radius) => Err("the radius of its solid must be above 0"),
            Force::Collider(Collider { shape: Shape::Plane { normal, .. }, .. }) if *normal == [0.0; 3] => {
                Err("the normal of its plane must not be zero")
            }
            _ if goes_back(path) => Err("the times of its path must be ascending"),
            _ => Ok(()),
        }
    }
}

/// Returns the forces of `script` that act at `time_s`.
pub fn active_at(script: &[TimedForce], time_s: f64) -> Vec<Force> {
    let acts = |timed: &&TimedForce| timed.from_s <= time_s && timed.until_s.is_none_or(|until| time_s < until);
    script.iter().filter(acts).map(|timed| timed.force.clone()).collect()
}

/// State of the nodes of a body, free nodes first. Loads act on the free nodes.
pub(super) struct Nodes<'a> {
    pub(super) rest: &'a [Vec3A],
    pub(super) displacements: &'a [Vec3A],
    pub(super) velocities: &'a [Vec3A],
    pub(super) masses: &'a [f32],
    pub(super) skin: &'a [u32],
    /// Index in the mesh of each free node.
    pub(super) mesh_indices: &'a [u32],
    /// Maximum displacement per step. Forces that would exceed it are limited.
    pub(super) reach: f32,
}

/// Contribution of forces to the equation of a step.
#[derive(Debug, Clone)]
pub(super) struct Loads {
    /// Impulse Δt f of each free node.
    pub(super) impulses: Vec<Vec3A>,
    /// Matrices added to the diagonal blocks of nodes.
    pub(super) implicit: Vec<(u32, Mat3A)>,
    /// Rotation of all velocities.
    pub(super) rotation: Option<Quat>,
}

impl Loads {
    pub(super) fn new(free_count: usize) -> Self {
        Self { impulses: vec![Vec3A::ZERO; free_count], implicit: Vec::new(), rotation: None }
    }

    /// Replaces the loads by those of `forces` over the step of `dt` that starts at `time_s`.
    pub(super) fn collect(&mut self, nodes: &Nodes<'_>, forces: &[Force], time_s: f64, dt: f32) {
        self.impulses.fill(Vec3A::ZERO);
        self.implicit.clear();
        self.rotation = None;
        for force in forces {
            match force {
                Force::Gravity { acceleration } => self.accelerate(nodes, dt, |_| Vec3A::from(*acceleration)),
                Force::Pull(pull) => self.pull(nodes, pull, time_s, dt),
                Force::Collider(collider) => self.collide(nodes, collider, time_s, dt),
                Force::Spin(spin) => self.spin(nodes, spin, dt),
                Force::Nodal(nodal) => self.push(nodes, nodal, dt),
            }
        }
        self.limit(nodes, dt);
    }

    fn accelerate(&mut self, nodes: &Nodes<'_>, dt: f32, acceleration: impl Fn(usize) -> Vec3A) {
        for (node, (impulse, mass)) in self.impulses.iter_mut().zip(nodes.masses).enumerate() {
            *impulse += acceleration(node) * (dt * mass);
        }
    }

    fn pull(&mut self, nodes: &Nodes<'_>, pull: &Pull, time_s: f64, dt: f32) {
        let region = PulledRegion::new(pull, &nodes.rest[..self.impulses.len()]);
        if region.total <= 0.0 || pull.stiffness_n_per_m.is_nan() || pull.stiffness_n_per_m <= 0.0 {
            return;
        }
        let center = region.center(|node| nodes.position(node));
        let extension = Vec3A::from(pull.target) + offset_at(&pull.path, time_s + f64::from(dt)) - center;
        for (node, weight) in region.nodes {
            let max_stiffness = MAX_PULL_STIFFNESS * nodes.masses[node] / (dt * dt);
            let stiffness = (pull.stiffness_n_per_m * (weight / region.total)).min(max_stiffness);
            self.impulses[node] += extension * (dt * stiffness);
            self.implicit.push((node as u32, Mat3A::IDENTITY * (dt * dt * stiffness)));
        }
    }

    fn collide(&mut self, nodes: &Nodes<'_>, collider: &Collider, time_s: f64, dt: f32) {
        let end = offset_at(&collider.path, time_s + f64::from(dt));
        let moved = end - offset_at(&collider.path, time_s);
        for &node in nodes.skin {
            let at = node as usize;
            let state =
                NodeState { position: nodes.position(at), velocity: nodes.velocities[at], mass: nodes.masses[at] };
            if let Some(contact) = collider.shape.contact(&state, end, moved, collider.friction, dt) {
                self.impulses[at] += contact.impulse;
                self.implicit.push((node, contact.matrix));
            }
        }
    }

    fn spin(&mut self, nodes: &Nodes<'_>, spin: &Spin, dt: f32) {
        let (velocity, acceleration) = (Vec3A::from(spin.angular_velocity), Vec3A::from(spin.angular_acceleration));
        self.accelerate(nodes, dt, |node| {
            let arm = nodes.position(node) - Vec3A::from(spin.origin);
            -velocity.cross(velocity.cross(arm)) - acceleration.cross(arm)
        });
        let rotation = Quat::from_scaled_axis((velocity * (-2.0 * dt)).into());
        if rotation.is_finite() {
            self.rotation = Some(rotation * self.rotation.unwrap_or(Quat::IDENTITY));
        }
    }

    fn push(&mut self, nodes: &Nodes<'_>, nodal: &NodalForce, dt: f32) {
        let mut pushed = nodal.nodes.clone();
        pushed.sort_unstable();
        for (impulse, mesh_node) in self.impulses.iter_mut().zip(nodes.mesh_indices) {
            if pushed.binary_search(mesh_node).is_ok() {
                *impulse += Vec3A::from(nodal.force_n) * dt;
            }
        }
    }

    /// Limits impulses that would exceed the maximum displacement, and drops contributions that are not finite.
    fn limit(&mut self, nodes: &Nodes<'_>, dt: f32) {
        for (impulse, mass) in self.impulses.iter_mut().zip(nodes.masses) {
            let max_impulse = nodes.reach / dt * mass;
            *impulse = super::simulation::limited(*impulse, max_impulse);
        }
        self.implicit.retain(|(_, matrix)| matrix.is_finite());
    }
}

/// Region of flesh that a pull acts on.
pub(super) struct PulledRegion {
    /// Free nodes and their weights.
    nodes: Vec<(usize, f32)>,
    /// Sum of the weights.
    pub(super) total: f32,
}

impl PulledRegion {
    /// Selects the region among the free nodes, given their rest positions.
    pub(super) fn new(pull: &Pull, rest: &[Vec3A]) -> Self {
        let weight = |at: &Vec3A| falloff(at.distance(pull.center.into()) / pull.radius);
        let nodes: Vec<(usize, f32)> =
            rest.iter().map(weight).enumerate().filter(|(_, weight)| *weight > 0.0).collect();
        Self { total: nodes.iter().map(|(_, weight)| weight).sum(), nodes }
    }

    /// Weighted mean of the positions of the nodes.
    pub(super) fn center(&self, position: impl Fn(usize) -> Vec3A) -> Vec3A {
        self.nodes.iter().fold(Vec3A::ZERO, |sum, &(node, weight)| sum + position(node) * (weight / self.total))
    }
}

impl Nodes<'_> {
    fn position(&self, node: usize) -> Vec3A {
        self.rest[node] + self.displacements[node]
    }
}

/// Smooth falloff from 1 at the centre to 0, with zero slope, at a relative distance of 1 and beyond.
fn falloff(distance: f32) -> f32 {
    let rest = 1.0 - distance * distance;
    if rest > 0.0 { rest * rest } else { 0.0 }
}

/// Offset of a path at a time.
fn offset_at(path: &[PathKey], time_s: f64) -> Vec3A {
    let next = path.partition_point(|key| key.time_s <= time_s);
    let (Some(before), Some(after)) = (path.get(next.wrapping_sub(1)), path.get(next)) else {
        return path.get(next.saturating_sub(1)).map_or(Vec3A::ZERO, |key| key.offset.into());
    };
    let fraction = ((time_s - before.time_s) / (after.time_s - before.time_s)) as f32;
    Vec3A::from(before.offset).lerp(after.offset.into(), fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_round_trip_through_serialization() {
        let script = vec![
            TimedForce { force: Force::Gravity { acceleration: [0.0, -9.81, 0.0] }, from_s: 0.0, until_s: None },
            TimedForce {
                force: Force::Collider(Collider {
                    shape: Shape::Sphere { center: [0.0, 1.0, 0.0], radius: 0.1 },
                    path: vec![PathKey { time_s: 1.0, offset: [0.0, 0.0, 0.5] }],
                    friction: 0.4,
                }),
                from_s: 0.5,
                until_s: Some(2.0),
            },
        ];
        let text = serde_json::to_string(&script).unwrap();
        assert_eq!(serde_json::from_str::<Vec<TimedForce>>(&text).unwrap(), script);
        assert_eq!(active_at(&script, 0.0).len(), 1);
        assert_eq!(active_at(&script, 1.0).len(), 2);
        assert_eq!(active_at(&script, 2.0).len(), 1);
    }

    #[test]
    fn optional_keys_have_defaults() {
        let text = r#"[{"kind": "spin", "angular_velocity": [0, 6, 0], "until_s": 3},
            {"kind": "pull", "center": [0,1,0], "radius": 0.1, "target": [0,1,0.3], "stiffness_n_per_m": 50},
            {"kind": "collider", "shape": "plane", "point": [0,0,0], "normal": [0,1,0]}]"#;
        let script: Vec<TimedForce> = serde_json::from_str(text).unwrap();
        assert!(matches!(&script[0].force, Force::Spin(spin) if spin.origin == [0.0; 3]));
        assert!(matches!(&script[2].force, Force::Collider(collider) if collider.friction == 0.0));
    }

    #[test]
    fn paths_are_interpolated_and_constant_beyond_their_ends() {
        let key = |time_s, x| PathKey { time_s, offset: [x, 0.0, 0.0] };
        let path = [key(1.0, 1.0), key(3.0, 5.0)];
        for (time, x) in [(0.0, 1.0), (1.0, 1.0), (2.0, 3.0), (3.0, 5.0), (9.0, 5.0)] {
            assert_eq!(offset_at(&path, time), Vec3A::new(x, 0.0, 0.0), "at {time}");
        }
        assert_eq!(offset_at(&[], 1.0), Vec3A::ZERO);
    }
}
