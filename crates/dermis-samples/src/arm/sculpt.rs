//! Shapes of the arm as a sculptor would make them: nothing collapses, muscles bulge, the elbow has a crease.
//!
//! Each joint turns a point by a part of its angle that grows along the arm, about the joint's own centre, so that
//! distances from the centre are kept where linear skinning cuts through. At the elbow the part is
//! `(1 + s/√(s² + w²))/2`, s along the arm: with `w ≥ θu/2` skin at distance u on the inner side never turns over.
//! The twist is spread over the whole forearm. Muscles are pushed out before the joints turn. What is then missing
//! or too much of the rest pose's volume is shared out along the normals around the bent and twisted parts.

use glam::DVec3;

use super::super::implicit::Implicit;
use super::super::numeric::{bump, sin_cos, smooth_step, turn};
use super::super::polygonize::Surface;
use super::{ELBOW, KNUCKLES, Pose, SHOULDER, WRIST};

/// The w of the elbow's turn, and how far along the arm it reaches, metres.
const ELBOW_SOFTNESS: f64 = 0.056;
const ELBOW_REACH: f64 = 0.20;

/// Rounds of volume correction: the second one meets it to a part in a thousand.
const VOLUME_ROUNDS: usize = 2;

/// The rest shape with what all frames need of it.
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

    /// The arm's surface in a pose.
    pub(super) fn shape(&self, pose: &Pose) -> Vec<DVec3> {
        let rest = &self.surface.points;
        let mut points: Vec<DVec3> =
            rest.iter().zip(&self.normals).map(|(&point, &normal)| turned(bulged(point, normal, pose), pose)).collect();
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
        let share: Vec<f64> = self.surface.points.iter().map(|&point| filling(point)).collect();
        let missing = self.volume - volume(points, triangles);
        let total: f64 = areas.iter().zip(&share).map(|(area, share)| area.length() * share).sum();
        for ((point, area), share) in points.iter_mut().zip(areas).zip(share) {
            *point += area.normalize_or_zero() * (share * missing / total);
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

/// Where flesh gives way: around the elbow and along the forearm.
fn filling(rest: DVec3) -> f64 {
    bump(((rest.x - ELBOW) / 0.16).powi(2)) + 0.4 * bump(((rest.x - 0.46) / 0.14).powi(2)) + 0.02
}

/// The muscles at work, on the straight arm.
fn bulged(rest: DVec3, normal: DVec3, pose: &Pose) -> DVec3 {
    let at_work = 0.5 - 0.5 * sin_cos(pose.bend).1;
    let swell =
        |centre: f64, reach: f64, side: f64| bump(((rest.x - centre) / reach).powi(2)) * (side * normal.y).max(0.0);
    // The biceps shortens towards the shoulder as it swells; the triceps is drawn flat.
    let biceps = 0.020 * at_work * swell(0.17 - 0.015 * at_work, 0.10, 1.0);
    let triceps = -0.007 * at_work * swell(0.17, 0.12, -1.0);
    let flexors = 0.007 * at_work * swell(0.37, 0.07, 1.0);
    let crease = -0.006 * at_work * swell(ELBOW, 0.022, 1.0);
    let turned_in = 0.5 - 0.5 * sin_cos(pose.twist).1;
    let supinator = 0.005 * turned_in * bump(((rest.x - 0.37) / 0.08).powi(2)) * (-normal.z).max(0.0);
    rest + normal * (biceps + triceps + flexors + crease + supinator)
}

/// The joints' turns, from the fingers up.
fn turned(rest: DVec3, pose: &Pose) -> DVec3 {
    let part = |low: f64, high: f64| smooth_step(low, high, rest.x);
    let about = |centre: f64, axis: DVec3, angle: f64, point: DVec3| {
        let centre = DVec3::X * centre;
        centre + turn(axis, angle) * (point - centre)
    };
    let curled = about(KNUCKLES, DVec3::Z, pose.curl * part(KNUCKLES - 0.03, KNUCKLES + 0.05), rest);
    let hand = part(WRIST - 0.035, WRIST + 0.03);
    let flexed = about(WRIST, DVec3::Z, pose.flex * hand, curled);
    let tilted = about(WRIST, DVec3::Y, pose.tilt * hand, flexed);
    let twist = pose.twist * twisted_part(rest.x);
    let twisted = about(WRIST, DVec3::X, twist, tilted);
    let bent = about(ELBOW, DVec3::Z, pose.bend * bent_part(rest.x - ELBOW), twisted);
    about(SHOULDER, DVec3::Z, pose.raise * part(SHOULDER - 0.06, SHOULDER + 0.07), bent)
}

/// The forearm's bones turn about each other: the twist grows evenly from elbow to wrist.
fn twisted_part(x: f64) -> f64 {
    let even = ((x - (ELBOW + 0.02)) / (WRIST - 0.02 - ELBOW)).clamp(0.0, 1.0);
    0.5 * (even + smooth_step(0.0, 1.0, even))
}

fn bent_part(along: f64) -> f64 {
    let turn = |s: f64| s / (s * s + ELBOW_SOFTNESS * ELBOW_SOFTNESS).sqrt();
    0.5 + 0.5 * turn(along.clamp(-ELBOW_REACH, ELBOW_REACH)) / turn(ELBOW_REACH)
}
