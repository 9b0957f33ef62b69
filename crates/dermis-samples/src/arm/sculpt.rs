//! Sculpted shapes of the arm: volume is preserved, muscles bulge, and the elbow has a crease.
//!
//! Each joint rotates a point about the joint's centre by a fraction of its angle that increases along the arm. This
//! preserves distances from the centre, which linear skinning does not. At the elbow the fraction is
//! `(1 + s/√(s² + w²))/2` for the position s along the arm: if `w ≥ θu/2`, skin at distance u on the inner side never
//! folds over. The twist is distributed over the whole forearm. Muscles are displaced before the joints rotate. Finally
//! the volume of the rest pose is restored by moving points along their normals around the bent and twisted parts.

use glam::DVec3;

use super::super::implicit::Implicit;
use super::super::numeric::{bump, rotation_about, sin_cos, smooth_step};
use super::super::polygonize::Surface;
use super::{ArmPose, ELBOW, KNUCKLES, SHOULDER, WRIST};

/// Softness w of the elbow, and range of its bend along the arm, metres.
const ELBOW_SOFTNESS: f64 = 0.056;
const ELBOW_REACH: f64 = 0.20;

/// Rounds of volume correction; the error after the second is below 0.1 %.
const VOLUME_ROUNDS: usize = 2;

/// The rest shape with data used by all frames.
pub(super) struct Sculptor<'a> {
    surface: &'a Surface,
    normals: Vec<DVec3>,
    volume: f64,
}

impl<'a> Sculptor<'a> {
    pub(super) fn new(shape: &Implicit, surface: &'a Surface) -> Self {
        let normals = surface.points.iter().map(|&point| shape.normal(point)).collect();
        Self { surface, normals, volume: volume(&surface.points, &surface.triangles) }
    }

    /// Surface of the arm in a pose.
    pub(super) fn shape(&self, pose: &ArmPose) -> Vec<DVec3> {
        let rest = &self.surface.points;
        let mut points: Vec<DVec3> = rest
            .iter()
            .zip(&self.normals)
            .map(|(&point, &normal)| rotated(bulged(point, normal, pose), pose))
            .collect();
        for _ in 0..VOLUME_ROUNDS {
            self.restore_volume(&mut points);
        }
        points
    }

    fn restore_volume(&self, points: &mut [DVec3]) {
        let triangles = &self.surface.triangles;
        let mut areas = vec![DVec3::ZERO; points.len()];
        for corners in triangles {
            let [a, b, c] = corners.map(|point| points[point as usize]);
            let area = (b - a).cross(c - a) / 6.0;
            for &point in corners {
                areas[point as usize] += area;
            }
        }
        let weight: Vec<f64> = self.surface.points.iter().map(|&point| correction_weight(point)).collect();
        let missing = self.volume - volume(points, triangles);
        let total: f64 = areas.iter().zip(&weight).map(|(area, weight)| area.length() * weight).sum();
        for ((point, area), weight) in points.iter_mut().zip(areas).zip(weight) {
            *point += area.normalize_or_zero() * (weight * missing / total);
        }
    }
}

fn volume(points: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    let signed = |corners: &[u32; 3]| {
        let [a, b, c] = corners.map(|point| points[point as usize]);
        a.cross(b).dot(c) / 6.0
    };
    triangles.iter().map(signed).sum()
}

/// Weight of the volume correction: large around the elbow and along the forearm.
fn correction_weight(rest: DVec3) -> f64 {
    bump(((rest.x - ELBOW) / 0.16).powi(2)) + 0.4 * bump(((rest.x - 0.46) / 0.14).powi(2)) + 0.02
}

/// Displacement of active muscles on the straight arm.
fn bulged(rest: DVec3, normal: DVec3, pose: &ArmPose) -> DVec3 {
    let activation = 0.5 - 0.5 * sin_cos(pose.bend).1;
    let swell =
        |centre: f64, reach: f64, side: f64| bump(((rest.x - centre) / reach).powi(2)) * (side * normal.y).max(0.0);
    // The biceps contracts towards the shoulder as it bulges; the triceps flattens.
    let biceps = 0.020 * activation * swell(0.17 - 0.015 * activation, 0.10, 1.0);
    let triceps = -0.007 * activation * swell(0.17, 0.12, -1.0);
    let flexors = 0.007 * activation * swell(0.37, 0.07, 1.0);
    let crease = -0.006 * activation * swell(ELBOW, 0.022, 1.0);
    let supination = 0.5 - 0.5 * sin_cos(pose.twist).1;
    let supinator = 0.005 * supination * bump(((rest.x - 0.37) / 0.08).powi(2)) * (-normal.z).max(0.0);
    rest + normal * (biceps + triceps + flexors + crease + supinator)
}

/// Joint rotations, from the fingers to the shoulder.
fn rotated(rest: DVec3, pose: &ArmPose) -> DVec3 {
    let fraction = |low: f64, high: f64| smooth_step(low, high, rest.x);
    let about = |centre: f64, axis: DVec3, angle: f64, point: DVec3| {
        let centre = DVec3::X * centre;
        centre + rotation_about(axis, angle) * (point - centre)
    };
    let curled = about(KNUCKLES, DVec3::Z, pose.curl * fraction(KNUCKLES - 0.03, KNUCKLES + 0.05), rest);
    let hand = fraction(WRIST - 0.035, WRIST + 0.03);
    let flexed = about(WRIST, DVec3::Z, pose.flex * hand, curled);
    let tilted = about(WRIST, DVec3::Y, pose.tilt * hand, flexed);
    let twist = pose.twist * twist_fraction(rest.x);
    let twisted = about(WRIST, DVec3::X, twist, tilted);
    let bent = about(ELBOW, DVec3::Z, pose.bend * bend_fraction(rest.x - ELBOW), twisted);
    about(SHOULDER, DVec3::Z, pose.raise * fraction(SHOULDER - 0.06, SHOULDER + 0.07), bent)
}

/// Fraction of the twist: the bones of the forearm rotate about each other, so it increases evenly from elbow to wrist.
fn twist_fraction(x: f64) -> f64 {
    let even = ((x - (ELBOW + 0.02)) / (WRIST - 0.02 - ELBOW)).clamp(0.0, 1.0);
    0.5 * (even + smooth_step(0.0, 1.0, even))
}

fn bend_fraction(along: f64) -> f64 {
    let sigmoid = |s: f64| s / (s * s + ELBOW_SOFTNESS * ELBOW_SOFTNESS).sqrt();
    0.5 + 0.5 * sigmoid(along.clamp(-ELBOW_REACH, ELBOW_REACH)) / sigmoid(ELBOW_REACH)
}
