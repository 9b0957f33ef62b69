//! Parameters of a simulated body, and the forces that result from them.

use dermis::mesh::UpAxis;
use dermis::mesh::glam::Vec3;
use dermis::tissue::dynamics::{Force, Spin};
use dermis::tissue::layered::steps_in;

use super::pace::DISPLAYED_HZ;
use crate::live::{Parameter, Scalar};

/// Range in m/s², about seven times the gravity of the Earth.
const GRAVITIES: [f64; 2] = [-70.0, 70.0];
const DIRECTIONS: [&str; 3] = ["down", "sideways", "backwards"];
const STIFFNESSES: [f64; 2] = [0.1, 10.0];
const DAMPINGS: [f64; 2] = [0.0, 20.0];
const SPINS: [f64; 2] = [-15.0, 15.0];
const SUBSTEPS: [f64; 2] = [1.0, 16.0];
const HEATS: [&str; 4] = ["displacement", "thickness", "stiffness", "none"];
/// Maximum thickness of the colour map; the simulated layer starts at its centre, at 1.
const MAX_THICKNESS: f32 = 2.0;

/// Quantity shown by the colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heat {
    Displacement,
    Thickness,
    Stiffness,
    None,
}

/// Settings of the user.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    gravity: f64,
    direction: usize,
    spin_rad_per_s: f64,
    /// Factor of Young's modulus.
    pub(super) stiffness: f64,
    pub(super) damping_rate_per_s: f64,
    /// Number of steps per sixtieth of a second.
    pub(super) substeps: usize,
    heat: usize,
}

impl Settings {
    pub(super) fn new(damping_rate_per_s: f32) -> Self {
        let damping_rate_per_s = f64::from(damping_rate_per_s);
        Self {
            gravity: 0.0,
            direction: 0,
            spin_rad_per_s: 0.0,
            stiffness: 1.0,
            damping_rate_per_s,
            substeps: steps_in(1.0 / DISPLAYED_HZ),
            heat: 0,
        }
    }

    pub(super) fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::choice("heat", "Colours", &HEATS, self.heat),
            Parameter::slider("gravity", "Gravity (m/s²)", GRAVITIES, 0.1, self.gravity),
            Parameter::choice("direction", "Gravity direction", &DIRECTIONS, self.direction),
            Parameter::factor("stiffness", "Stiffness ×", STIFFNESSES, 0.05, self.stiffness),
            Parameter::slider("damping", "Damping (1/s)", DAMPINGS, 0.1, self.damping_rate_per_s),
            Parameter::slider("spin", "Spin (rad/s)", SPINS, 0.5, self.spin_rad_per_s),
            Parameter::slider("substeps", "Sub-steps", SUBSTEPS, 1.0, self.substeps as f64),
        ]
    }

    /// Sets `name`, clamped to its range. Returns `None` if it does not exist, otherwise true if the flesh changes.
    pub(super) fn set(&mut self, name: &str, value: f64) -> Option<bool> {
        let within = |[low, high]: [f64; 2]| value.clamp(low, high);
        let chosen = |count: usize| (value.max(0.0) as usize).min(count - 1);
        match name {
            "heat" => self.heat = chosen(HEATS.len()),
            "gravity" => self.gravity = within(GRAVITIES),
            "direction" => self.direction = chosen(DIRECTIONS.len()),
            "stiffness" => self.stiffness = within(STIFFNESSES),
            "damping" => self.damping_rate_per_s = within(DAMPINGS),
            "spin" => self.spin_rad_per_s = within(SPINS),
            "substeps" => self.substeps = within(SUBSTEPS) as usize,
            _ => return None,
        }
        Some(matches!(name, "stiffness" | "damping"))
    }

    pub(super) fn heat(&self) -> Heat {
        [Heat::Displacement, Heat::Thickness, Heat::Stiffness, Heat::None][self.heat]
    }

    /// Description of the colours; `max_modulus_pa` is the largest Young's modulus in the file.
    pub(super) fn scalar(&self, max_modulus_pa: f32) -> Option<Scalar> {
        let (label, unit, range) = match self.heat() {
            Heat::Displacement => ("displacement from the pose", "m", None),
            Heat::Thickness => ("thickness d", "", Some([0.0, MAX_THICKNESS])),
            Heat::Stiffness => ("Young's modulus", "Pa", Some([0.0, 2.0 * max_modulus_pa])),
            Heat::None => return None,
        };
        Some(Scalar { label, unit: unit.to_owned(), signed: false, range })
    }

    /// Gravity and spin for a body whose axis passes through `origin`.
    pub(super) fn forces(&self, up: UpAxis, origin: Vec3) -> Vec<Force> {
        let (up, side, back) = match up {
            UpAxis::X => (Vec3::X, Vec3::Y, -Vec3::Z),
            UpAxis::Y => (Vec3::Y, Vec3::X, -Vec3::Z),
            UpAxis::Z => (Vec3::Z, Vec3::X, Vec3::Y),
        };
        let mut forces = Vec::new();
        if self.gravity != 0.0 {
            let direction = [-up, side, back][self.direction];
            let acceleration = (direction * self.gravity as f32).to_array();
            forces.push(Force::Gravity { acceleration });
        }
        if self.spin_rad_per_s != 0.0 {
            let angular_velocity = (up * self.spin_rad_per_s as f32).to_array();
            let spin = Spin { origin: origin.to_array(), angular_velocity, angular_acceleration: [0.0; 3] };
            forces.push(Force::Spin(spin));
        }
        forces
    }
}
