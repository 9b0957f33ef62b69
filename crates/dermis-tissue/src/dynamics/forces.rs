//! Forces on a body (§6): gravity, pulling, poking, spinning, and what a caller adds to nodes.
//!
//! Each is a small description that can stand in a file. Springs and contact are taken implicitly: they add to the matrix
//! as well as to the right-hand side, and no stiffness makes a step unstable. The Coriolis force turns velocities by
//! −2ωΔt exactly and so does no work.

use dermis_mesh::UpAxis;
use glam::{Mat3A, Quat, Vec3A};
use serde::{Deserialize, Serialize};

use super::contact::{Body, Shape};

/// Gravity of the earth, in m/s².
pub const EARTH_GRAVITY: f32 = 9.81;
/// Stiffness of a pull on a node, at most, in node masses per squared time step.
const STIFFEST_PULL: f32 = 1e3;

/// A force on the free nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Force {
    /// The same acceleration everywhere.
    Gravity {
        /// In m/s².
        acceleration: [f32; 3],
    },
    /// A spring from a region of flesh to a point.
    Pull(Pull),
    /// A solid that the skin cannot enter.
    Collider(Collider),
    /// The inertia of a frame that spins.
    Spin(Spin),
    /// Forces on single nodes.
    Nodal(NodalForce),
}

/// A spring from a region of flesh to a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pull {
    /// The middle of the region, in the rest shape, in metres.
    pub center: [f32; 3],
    /// The region's radius in the rest shape, in metres; the pull fades towards it.
    pub radius: f32,
    /// Where the region's middle is pulled, in metres.
    pub target: [f32; 3],
    /// How the target moves from there.
    #[serde(default)]
    pub path: Vec<PathKey>,
    /// Stiffness of the whole spring, in N/m.
    pub stiffness_n_per_m: f32,
}

/// A solid that the skin cannot enter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Collider {
    /// The solid.
    #[serde(flatten)]
    pub shape: Shape,
    /// How it moves from its place.
    #[serde(default)]
    pub path: Vec<PathKey>,
    /// Coulomb's coefficient of friction; 0 slides freely.
    #[serde(default)]
    pub friction: f32,
}

/// The inertia of a frame that spins: centrifugal, Coriolis and Euler force.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spin {
    /// A point of the axis, in metres.
    #[serde(default)]
    pub origin: [f32; 3],
    /// ω in rad/s.
    pub angular_velocity: [f32; 3],
    /// Its change in rad/s².
    #[serde(default)]
    pub angular_acceleration: [f32; 3],
}

/// The same force on each of some nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodalForce {
    /// The mesh's nodes; those that are not free are passed over.
    pub nodes: Vec<u32>,
    /// On each of them, in newton.
    pub force_n: [f32; 3],
}

/// An offset at a time; in between it is interpolated, before and after it stays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathKey {
    /// In seconds of simulated time.
    pub time_s: f64,
    /// In metres.
    pub offset: [f32; 3],
}

/// A force that acts for a while: one entry of a file of forces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimedForce {
    /// The force.
    #[serde(flatten)]
    pub force: Force,
    /// When it begins, in seconds.
    #[serde(default)]
    pub from_s: f64,
    /// When it ends; never, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_s: Option<f64>,
}

impl Force {
    /// Gravity of `acceleration` m/s² towards what is down if `up` is up.
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
            _ if self.until_s.is_some_and(|until| until <= self.from_s) => Err("it ends before it begins"),
            Force::Pull(pull) if !is_size(pull.radius) => Err("the radius of a pull must be above 0"),
            Force::Pull(pull) if !is_size(pull.stiffness_n_per_m) => Err("the stiffness of a pull must be above 0"),
            Force::Collider(Collider {
                shape: Shape::Sphere { radius, .. } | Shape::Capsule { radius, .. }, ..
            }) if !is_size(*radius) => Err("the radius of its solid must be above 0"),
            Force::Collider(Collider { shape: Shape::Plane { normal, .. }, .. }) if *normal == [0.0; 3] => {
                Err("the normal of its plane has no direction")
            }
            _ if goes_back(path) => Err("the times of its path must not go back"),
            _ => Ok(()),
        }
    }
}

/// The forces of `script` that act at `time_s`.
pub fn active_at(script: &[TimedForce], time_s: f64) -> Vec<Force> {
    let acts = |timed: &&TimedForce| timed.from_s <= time_s && timed.until_s.is_none_or(|until| time_s < until);
    script.iter().filter(acts).map(|timed| timed.force.clone()).collect()
}

/// The nodes of a body: free ones, which come first, are loaded.
pub(super) struct Nodes<'a> {
    pub(super) rest: &'a [Vec3A],
    pub(super) displacements: &'a [Vec3A],
    pub(super) velocities: &'a [Vec3A],
    pub(super) masses: &'a [f32],
    pub(super) skin: &'a [u32],
    /// The mesh's node of each free one.
    pub(super) names: &'a [u32],
    /// Forces that would move a node further in a step are cut to that.
    pub(super) reach: f32,
}

/// What forces add to the equation of a step.
#[derive(Debug, Clone)]
pub(super) struct Loads {
    /// Δt f of each free node.
    pub(super) impulses: Vec<Vec3A>,
    /// What is added to the diagonal block of a node.
    pub(super) implicit: Vec<(u32, Mat3A)>,
    /// The turn of all velocities.
    pub(super) turn: Option<Quat>,
}

impl Loads {
    pub(super) fn new(free_count: usize) -> Self {
        Self { impulses: vec![Vec3A::ZERO; free_count], implicit: Vec::new(), turn: None }
    }

    /// Replaces all by the loads of `forces` over the step of `dt` from `time_s`.
    pub(super) fn collect(&mut self, nodes: &Nodes<'_>, forces: &[Force], time_s: f64, dt: f32) {
        self.impulses.fill(Vec3A::ZERO);
        self.implicit.clear();
        self.turn = None;
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
        let held = Held::new(pull, &nodes.rest[..self.impulses.len()]);
        if held.total <= 0.0 || pull.stiffness_n_per_m.is_nan() || pull.stiffness_n_per_m <= 0.0 {
            return;
        }
        let middle = held.middle(|node| nodes.position(node));
        let way = Vec3A::from(pull.target) + offset_at(&pull.path, time_s + f64::from(dt)) - middle;
        for (node, weight) in held.nodes {
            let most = STIFFEST_PULL * nodes.masses[node] / (dt * dt);
            let stiffness = (pull.stiffness_n_per_m * (weight / held.total)).min(most);
            self.impulses[node] += way * (dt * stiffness);
            self.implicit.push((node as u32, Mat3A::IDENTITY * (dt * dt * stiffness)));
        }
    }

    fn collide(&mut self, nodes: &Nodes<'_>, collider: &Collider, time_s: f64, dt: f32) {
        let end = offset_at(&collider.path, time_s + f64::from(dt));
        let moved = end - offset_at(&collider.path, time_s);
        for &node in nodes.skin {
            let at = node as usize;
            let body = Body { position: nodes.position(at), velocity: nodes.velocities[at], mass: nodes.masses[at] };
            if let Some(contact) = collider.shape.contact(&body, end, moved, collider.friction, dt) {
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
        let turn = Quat::from_scaled_axis((velocity * (-2.0 * dt)).into());
        if turn.is_finite() {
            self.turn = Some(turn * self.turn.unwrap_or(Quat::IDENTITY));
        }
    }

    fn push(&mut self, nodes: &Nodes<'_>, nodal: &NodalForce, dt: f32) {
        let mut pushed = nodal.nodes.clone();
        pushed.sort_unstable();
        for (impulse, name) in self.impulses.iter_mut().zip(nodes.names) {
            if pushed.binary_search(name).is_ok() {
                *impulse += Vec3A::from(nodal.force_n) * dt;
            }
        }
    }

    /// Cuts what would carry a node out of reach, and drops what is not a number.
    fn limit(&mut self, nodes: &Nodes<'_>, dt: f32) {
        for (impulse, mass) in self.impulses.iter_mut().zip(nodes.masses) {
            let most = nodes.reach / dt * mass;
            *impulse = super::simulation::limited(*impulse, most);
        }
        self.implicit.retain(|(_, matrix)| matrix.is_finite());
    }
}

/// What a pull holds.
pub(super) struct Held {
    /// Free nodes and how much each of them counts.
    nodes: Vec<(usize, f32)>,
    pub(super) total: f32,
}

impl Held {
    /// Of the free nodes, which are at `rest` in the rest shape.
    pub(super) fn new(pull: &Pull, rest: &[Vec3A]) -> Self {
        let weight = |at: &Vec3A| fading(at.distance(pull.center.into()) / pull.radius);
        let nodes: Vec<(usize, f32)> =
            rest.iter().map(weight).enumerate().filter(|(_, weight)| *weight > 0.0).collect();
        Self { total: nodes.iter().map(|(_, weight)| weight).sum(), nodes }
    }

    /// The middle of nodes at `position`.
    pub(super) fn middle(&self, position: impl Fn(usize) -> Vec3A) -> Vec3A {
        self.nodes.iter().fold(Vec3A::ZERO, |sum, &(node, weight)| sum + position(node) * (weight / self.total))
    }
}

impl Nodes<'_> {
    fn position(&self, node: usize) -> Vec3A {
        self.rest[node] + self.displacements[node]
    }
}

/// 1 at the middle, 0 with a zero slope at a relative distance of 1 and beyond.
fn fading(distance: f32) -> f32 {
    let rest = 1.0 - distance * distance;
    if rest > 0.0 { rest * rest } else { 0.0 }
}

/// The offset of a path at a time.
fn offset_at(path: &[PathKey], time_s: f64) -> Vec3A {
    let next = path.partition_point(|key| key.time_s <= time_s);
    let (Some(before), Some(after)) = (path.get(next.wrapping_sub(1)), path.get(next)) else {
        return path.get(next.saturating_sub(1)).map_or(Vec3A::ZERO, |key| key.offset.into());
    };
    let share = ((time_s - before.time_s) / (after.time_s - before.time_s)) as f32;
    Vec3A::from(before.offset).lerp(after.offset.into(), share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_read_as_they_were_written() {
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
    fn a_file_needs_only_what_has_no_default() {
        let text = r#"[{"kind": "spin", "angular_velocity": [0, 6, 0], "until_s": 3},
            {"kind": "pull", "center": [0,1,0], "radius": 0.1, "target": [0,1,0.3], "stiffness_n_per_m": 50},
            {"kind": "collider", "shape": "plane", "point": [0,0,0], "normal": [0,1,0]}]"#;
        let script: Vec<TimedForce> = serde_json::from_str(text).unwrap();
        assert!(matches!(&script[0].force, Force::Spin(spin) if spin.origin == [0.0; 3]));
        assert!(matches!(&script[2].force, Force::Collider(collider) if collider.friction == 0.0));
    }

    #[test]
    fn paths_are_interpolated_and_stay_at_their_ends() {
        let key = |time_s, x| PathKey { time_s, offset: [x, 0.0, 0.0] };
        let path = [key(1.0, 1.0), key(3.0, 5.0)];
        for (time, x) in [(0.0, 1.0), (1.0, 1.0), (2.0, 3.0), (3.0, 5.0), (9.0, 5.0)] {
            assert_eq!(offset_at(&path, time), Vec3A::new(x, 0.0, 0.0), "at {time}");
        }
        assert_eq!(offset_at(&[], 1.0), Vec3A::ZERO);
    }
}
