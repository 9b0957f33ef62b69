//! Motion under precomputed light with soft shadows, from a sun that rotates about the vertical axis, and a sky.

use std::sync::Arc;
use std::time::Instant;

use dermis::light::harmonics::light_from;
use dermis::mesh::glam::{DQuat, DVec3};
use dermis::mesh::{MeshSequence, SequenceError, UpAxis};

use super::{LiveDeformer, LiveFrame, Parameter, Scalar};
use crate::light::StoredLight;

/// Sharpness of the sun and of the sky, as powers of a cosine.
const SUN_SHARPNESS: i32 = 16;
const SKY_SHARPNESS: i32 = 1;
const SPINS: [f64; 2] = [-3.0, 3.0];
const ELEVATIONS: [f64; 2] = [0.0, 90.0];
const SKIES: [f64; 2] = [0.0, 1.0];
/// Maximum time by which a request rotates the sun, in seconds.
const MAX_ADVANCE_S: f64 = 0.25;

/// Streams a motion with the light that its points reflect.
#[derive(Debug)]
pub struct LitMotion {
    motion: MeshSequence,
    light: Arc<StoredLight>,
    up: DVec3,
    rank: usize,
    azimuth_deg: f64,
    elevation_deg: f64,
    spin_rad_per_s: f64,
    sky: f64,
    shown: Option<Instant>,
    clip: usize,
}

impl LitMotion {
    /// Creates the deformer for the motion of clip number `clip` and its light. Fails if they do not have the same points and frames.
    pub fn new(motion: MeshSequence, clip: usize, light: Arc<StoredLight>, up: UpAxis) -> Result<Self, String> {
        let sizes = [("points", light.points, motion.point_count()), ("frames", light.frames, motion.frame_count())];
        if let Some((what, found, expected)) = sizes.into_iter().find(|(_, found, expected)| found != expected) {
            return Err(format!("the stored light has {found} {what}, but the motion has {expected}"));
        }
        let up = match up {
            UpAxis::X => DVec3::X,
            UpAxis::Y => DVec3::Y,
            UpAxis::Z => DVec3::Z,
        };
        let rank = light.rank;
        let (azimuth_deg, elevation_deg) = (30.0, 45.0);
        let (spin_rad_per_s, sky) = (0.6, 0.3);
        Ok(Self { motion, light, up, rank, azimuth_deg, elevation_deg, spin_rad_per_s, sky, shown: None, clip })
    }

    fn light(&self) -> Vec<f64> {
        let side = if self.up.x == 1.0 { DVec3::Y } else { DVec3::X };
        let towards = DQuat::from_axis_angle(self.up, self.azimuth_deg.to_radians()) * side;
        let (sine, cosine) = self.elevation_deg.to_radians().sin_cos();
        let sun = light_from(towards * cosine + self.up * sine, SUN_SHARPNESS);
        let sky = light_from(self.up, SKY_SHARPNESS);
        sun.iter().zip(sky).map(|(sun, sky)| (1.0 - self.sky) * sun + self.sky * sky).collect()
    }
}

impl LiveDeformer for LitMotion {
    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::slider("spin", "Rotation (rad/s)", SPINS, 0.1, self.spin_rad_per_s),
            Parameter::slider("elevation", "Elevation (°)", ELEVATIONS, 1.0, self.elevation_deg),
            Parameter::slider("sky", "Sky", SKIES, 0.05, self.sky),
            Parameter::slider("rank", "Rank", [1.0, self.light.rank as f64], 1.0, self.rank as f64),
        ]
    }

    fn set(&mut self, name: &str, value: f64) -> bool {
        match name {
            "spin" => self.spin_rad_per_s = value.clamp(SPINS[0], SPINS[1]),
            "elevation" => self.elevation_deg = value.clamp(ELEVATIONS[0], ELEVATIONS[1]),
            "azimuth" => self.azimuth_deg = value.rem_euclid(360.0),
            "sky" => self.sky = value.clamp(SKIES[0], SKIES[1]),
            "rank" => self.rank = value.clamp(1.0, self.light.rank as f64) as usize,
            // The light belongs to one clip.
            "clip" => return value == self.clip as f64,
            _ => return false,
        }
        true
    }

    fn frame_count(&self) -> usize {
        self.motion.frame_count()
    }

    fn scalar(&self) -> Option<Scalar> {
        Some(Scalar { label: "reflected light", unit: String::new(), signed: false, range: Some([0.0, 1.0]) })
    }

    fn continuous(&self) -> bool {
        true
    }

    fn pose(&mut self, frame: usize) -> Result<LiveFrame, SequenceError> {
        let now = Instant::now();
        let passed = self.shown.map_or(0.0, |then| (now - then).as_secs_f64().min(MAX_ADVANCE_S));
        self.shown = Some(now);
        self.azimuth_deg = (self.azimuth_deg + (self.spin_rad_per_s * passed).to_degrees()).rem_euclid(360.0);
        let positions = self.motion.frame(frame)?.into_owned();
        let scalars = self.light.reflected(frame, self.rank, &self.light());
        let status = format!("sun at {:.0}°, rank {} of {}", self.azimuth_deg, self.rank, self.light.rank);
        Ok(LiveFrame { positions, scalars, status, ..LiveFrame::default() })
    }
}
