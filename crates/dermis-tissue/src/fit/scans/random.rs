//! Random numbers and fields of generated subjects.

use glam::{DVec3, Vec3};

/// Bumps of a random field and their radius relative to the height.
const BUMPS: usize = 14;
const BUMP_RADIUS: f64 = 0.09;

/// Deterministic random numbers (xorshift).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03 | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Uniform in −1..1.
    pub(super) fn symmetric(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Normal with the given deviation per coordinate, as the sum of uniform numbers.
    pub(super) fn vector(&mut self, deviation: f64) -> DVec3 {
        // Four uniform numbers in −1..1 have a variance of 4/3.
        let scale = deviation / (4.0f64 / 3.0).sqrt();
        let mut normal = || (0..4).map(|_| self.symmetric()).sum::<f64>() * scale;
        DVec3::new(normal(), normal(), normal())
    }

    /// A smooth field over points: random bumps, with a standard deviation of 1 and a mean of 0.
    pub(super) fn field(&mut self, points: &[Vec3], height: f64) -> Vec<f64> {
        let bumps: Vec<(Vec3, f64)> =
            (0..BUMPS).map(|_| (points[self.next() as usize % points.len()], self.symmetric())).collect();
        let width = 2.0 * (BUMP_RADIUS * height).powi(2);
        let value = |at: &Vec3| -> f64 {
            bumps.iter().map(|(centre, size)| size * (-f64::from(at.distance_squared(*centre)) / width).exp()).sum()
        };
        let values: Vec<f64> = points.iter().map(value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
        values.iter().map(|v| (v - mean) / deviation.max(f64::MIN_POSITIVE)).collect()
    }
}
