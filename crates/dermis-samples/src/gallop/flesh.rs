//! Secondary motion of the animal: bulging muscles, breath, and jiggle of soft parts.
//!
//! Muscles and breath displace points along the normal, with an activation that depends on the phase of the cycle. Soft
//! parts follow a damped spring `y″ = −ω² y − 2ζω y′ − a` driven by the acceleration a of the skinned point. The spring is
//! simulated for several cycles before the recorded one, so that the result loops. A weak elastic wave travels through
//! the whole body including the hooves, because no part of a recorded animal is exactly rigid.

use glam::DVec3;

use super::super::numeric::{bump, cos_turns};
use super::anatomy::mirrored;
use super::gait::load;

/// Natural frequency of the soft parts, radians per second, and their damping ratio.
const SPRING_RATE: f64 = 21.0;
const SPRING_DAMPING: f64 = 0.22;

/// Spring substeps per frame, and number of simulated cycles: the transient decays by e⁻¹⁴.
const SPRING_STEPS: usize = 4;
const SPRING_CYCLES: usize = 3;

/// Elastic wave: height in metres, and spatial frequency in turns per metre.
const WAVE_HEIGHT: f64 = 0.0016;
const WAVE_TURNS: f64 = 1.7;

/// Activation of a muscle.
#[derive(Debug, Clone, Copy)]
enum Drive {
    /// Load on a leg.
    Load(usize),
    /// Phase of the stride, with a delay in turns.
    Stride(f64),
}

/// A bulging region: its centre at rest, radius, height and activation.
struct Muscle {
    centre: DVec3,
    radius: f64,
    height: f64,
    drive: Drive,
}

/// Influence of each muscle on each point, and softness of the flesh.
pub(super) struct Flesh {
    muscles: Vec<Muscle>,
    /// Influences per point, in the order of `muscles`.
    influences: Vec<Vec<f64>>,
    softness: Vec<f64>,
}

impl Flesh {
    /// Flesh at `points` of the rest shape.
    pub(super) fn new(points: &[DVec3]) -> Self {
        let muscles = muscles();
        let near = |point: DVec3, centre: DVec3, radius: f64| bump(point.distance_squared(centre) / (radius * radius));
        let influences =
            points.iter().map(|&p| muscles.iter().map(|m| near(p, m.centre, m.radius)).collect()).collect();
        let soft = |point: DVec3| {
            // Mirroring to the left side makes both sides soft.
            let left = DVec3::new(point.x, point.y, -point.z.abs());
            let softest = |softest: f64, &(centre, radius, softness): &(DVec3, f64, f64)| {
                softest.max(softness * near(left, centre, radius))
            };
            SOFT_PARTS.iter().fold(0.02, softest)
        };
        Self { muscles, influences, softness: points.iter().map(|&point| soft(point)).collect() }
    }

    /// Displacement of each point along its normal by muscles and breath.
    pub(super) fn swelling(&self, cycle: f64) -> Vec<f64> {
        let drives: Vec<f64> =
            self.muscles.iter().map(|muscle| muscle.height * strength(muscle.drive, cycle)).collect();
        self.influences
            .iter()
            .map(|influences| influences.iter().zip(&drives).map(|(influence, drive)| influence * drive).sum())
            .collect()
    }

    /// Lag of a soft point behind its `path`, one position per frame of a cycle of `seconds`.
    pub(super) fn lag(&self, point: usize, path: &[DVec3], seconds: f64) -> Vec<DVec3> {
        let frames = path.len();
        let frame_seconds = seconds / frames as f64;
        let step = frame_seconds / SPRING_STEPS as f64;
        let (mut offset, mut velocity) = (DVec3::ZERO, DVec3::ZERO);
        let mut result = vec![DVec3::ZERO; frames];
        for frame in (0..SPRING_CYCLES).flat_map(|_| 0..frames) {
            let (before, after) = (path[(frame + frames - 1) % frames], path[(frame + 1) % frames]);
            let acceleration = (before + after - 2.0 * path[frame]) / (frame_seconds * frame_seconds);
            result[frame] = self.softness[point] * offset;
            for _ in 0..SPRING_STEPS {
                let pull = offset * (SPRING_RATE * SPRING_RATE) + velocity * (2.0 * SPRING_DAMPING * SPRING_RATE);
                velocity -= step * (pull + acceleration);
                offset += step * velocity;
            }
        }
        result
    }
}

/// Displacement of the elastic wave at a point of the rest shape.
pub(super) fn wave(at: DVec3, cycle: f64) -> DVec3 {
    let along = |x: f64, y: f64, z: f64| WAVE_TURNS * at.dot(DVec3::new(x, y, z)) - 2.0 * cycle;
    let turns = [along(1.0, 0.6, 0.3), along(0.4, 1.0, -0.7) + 0.3, along(0.8, -0.5, 1.0) + 0.6];
    WAVE_HEIGHT * DVec3::from_array(turns.map(cos_turns))
}

fn strength(drive: Drive, cycle: f64) -> f64 {
    match drive {
        Drive::Load(leg) => load(leg, cycle),
        Drive::Stride(delay) => cos_turns(2.0 * cycle - delay),
    }
}

/// Soft parts of the left side: centre, radius and softness.
const SOFT_PARTS: [(DVec3, f64, f64); 7] = [
    (DVec3::new(0.00, 0.92, -0.05), 0.46, 0.85),
    (DVec3::new(-0.60, 1.15, -0.20), 0.34, 0.70),
    (DVec3::new(0.54, 1.12, -0.20), 0.32, 0.60),
    (DVec3::new(0.62, 1.05, 0.00), 0.24, 0.70),
    (DVec3::new(0.78, 1.72, 0.00), 0.26, 0.60),
    (DVec3::new(1.18, 1.66, -0.05), 0.16, 0.35),
    (DVec3::new(-0.97, 0.70, 0.00), 0.36, 0.25),
];

fn muscles() -> Vec<Muscle> {
    let mut all = vec![
        Muscle { centre: DVec3::new(0.05, 1.0, 0.0), radius: 0.55, height: 0.014, drive: Drive::Stride(0.4) },
        Muscle { centre: DVec3::new(0.70, 1.45, 0.0), radius: 0.30, height: 0.008, drive: Drive::Stride(0.1) },
        Muscle { centre: DVec3::new(-0.30, 1.42, 0.0), radius: 0.30, height: 0.008, drive: Drive::Stride(0.45) },
        Muscle { centre: DVec3::new(1.45, 1.45, 0.0), radius: 0.10, height: 0.004, drive: Drive::Stride(0.6) },
    ];
    // Left legs: 0 is the front leg, 2 the hind leg.
    const OF_LEGS: [(usize, DVec3, f64, f64); 8] = [
        (0, DVec3::new(0.56, 1.16, -0.20), 0.24, 0.014),
        (0, DVec3::new(0.40, 1.04, -0.20), 0.17, 0.014),
        (0, DVec3::new(0.48, 0.84, -0.17), 0.15, 0.008),
        (0, DVec3::new(0.56, 0.00, -0.15), 0.13, 0.004),
        (2, DVec3::new(-0.60, 1.22, -0.22), 0.28, 0.018),
        (2, DVec3::new(-0.42, 1.00, -0.25), 0.20, 0.014),
        (2, DVec3::new(-0.50, 0.80, -0.17), 0.15, 0.009),
        (2, DVec3::new(-0.59, 0.00, -0.15), 0.13, 0.004),
    ];
    for (leg, centre, radius, height) in OF_LEGS {
        all.push(Muscle { centre, radius, height, drive: Drive::Load(leg) });
        all.push(Muscle { centre: mirrored(centre), radius, height, drive: Drive::Load(leg + 1) });
    }
    all
}
