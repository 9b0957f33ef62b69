//! What makes the animal flesh and not a puppet: muscles that bulge, breath, and soft parts that swing after.
//!
//! Muscles and breath push points along the normal, with a drive for each moment of the cycle. Soft parts follow a
//! damped spring `y″ = −ω² y − 2ζω y′ − a` driven by the acceleration a of the skinned point itself, run for some
//! cycles before the one that is kept, so that it loops. A faint elastic wave runs through everything, hooves
//! included: nothing in a recorded animal is exactly rigid.

use glam::DVec3;

use super::super::numeric::{bump, cos_turns};
use super::anatomy::mirrored;
use super::gait::load;

/// The soft parts' own frequency, in radians per second, and their damping ratio.
const SPRING_RATE: f64 = 21.0;
const SPRING_DAMPING: f64 = 0.22;

/// Steps of the spring per frame, and cycles before the one that is kept: the transient fades by e⁻¹⁴.
const SPRING_STEPS: usize = 4;
const SPRING_CYCLES: usize = 3;

/// The elastic wave: metres high, and turns per metre.
const WAVE_HEIGHT: f64 = 0.0016;
const WAVE_TURNS: f64 = 1.7;

/// What swells a muscle.
#[derive(Debug, Clone, Copy)]
enum Drive {
    /// The weight on a leg.
    Load(usize),
    /// The stride, with a delay in turns.
    Stride(f64),
}

/// A place that swells: where its middle is at rest, how far it reaches, how high it gets.
struct Muscle {
    centre: DVec3,
    radius: f64,
    height: f64,
    drive: Drive,
}

/// How much each muscle and the softness of the flesh matter to a point.
pub(super) struct Flesh {
    muscles: Vec<Muscle>,
    /// Per point, in the order of `muscles`.
    shares: Vec<Vec<f64>>,
    softness: Vec<f64>,
}

impl Flesh {
    /// The flesh at `points` of the rest shape.
    pub(super) fn new(points: &[DVec3]) -> Self {
        let muscles = muscles();
        let near = |point: DVec3, centre: DVec3, radius: f64| bump(point.distance_squared(centre) / (radius * radius));
        let shares = points.iter().map(|&p| muscles.iter().map(|m| near(p, m.centre, m.radius)).collect()).collect();
        let soft = |point: DVec3| {
            // Folding the sides together makes each part soft on both.
            let left = DVec3::new(point.x, point.y, -point.z.abs());
            let most =
                |most: f64, &(centre, radius, how): &(DVec3, f64, f64)| most.max(how * near(left, centre, radius));
            SOFT_PARTS.iter().fold(0.02, most)
        };
        Self { muscles, shares, softness: points.iter().map(|&point| soft(point)).collect() }
    }

    /// How far muscles and breath push each point along its normal.
    pub(super) fn swelling(&self, cycle: f64) -> Vec<f64> {
        let drives: Vec<f64> =
            self.muscles.iter().map(|muscle| muscle.height * strength(muscle.drive, cycle)).collect();
        self.shares.iter().map(|shares| shares.iter().zip(&drives).map(|(share, drive)| share * drive).sum()).collect()
    }

    /// How far a soft point lags behind its `path`, one place per frame of a cycle of `seconds`.
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

/// The elastic wave at a place of the rest shape.
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

/// Parts of the left side that swing after: centre, radius, how soft.
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
    // Of a left leg: 0 front, 2 hind.
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
