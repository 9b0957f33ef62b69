//! `sample:towel`: a towel held at its two upper corners, which move together, apart, and swing.
//!
//! When they move together, the cloth between them is compressed; a fine cloth would fold there. The rest shape is the
//! flat pattern.

use std::sync::Arc;

use glam::{DVec3, UVec2};

use super::cloth::{Cloth, Environment, Fabric};
use super::numeric::{eased, sin_cos};
use super::{plain_material, sequence_scene};
use dermis_mesh::scene::Scene;

const QUADS: UVec2 = UVec2::new(24, 32);
const WIDTH: f64 = 0.75;
const HEIGHT: f64 = 1.0;
const TOP: f64 = 1.5;
const FRAMES: usize = 96;
const FRAME_RATE_HZ: f64 = 24.0;
/// Frames simulated before the first recorded one, until the towel is at rest.
const WARM_UP: usize = 24;

const FABRIC: Fabric = Fabric {
    density: 0.35,
    compression_compliance: 0.03,
    straightening: 0.06,
    air_resistance: 0.5,
    air_friction: 0.02,
};

/// Column from the side and row from the top of each held point.
const HELD: [(usize, usize); 3] = [(0, 0), (1, 0), (0, 1)];

/// Distance of the corners, as a fraction of the width, over time in seconds.
const SPREAD: [(f64, f64); 6] = [(0.0, 0.99), (0.3, 0.99), (1.5, 0.45), (2.1, 0.45), (3.2, 0.99), (4.0, 0.99)];
/// Swing of the corners forward and back, metres.
const SWING: [(f64, f64); 6] = [(0.0, 0.0), (0.8, 0.0), (1.4, 0.16), (2.1, -0.16), (2.7, 0.0), (4.0, 0.0)];

/// Builds the scene of `sample:towel`.
pub(super) fn build() -> Scene {
    let mut cloth = Cloth::new(QUADS, FABRIC, |u, v| DVec3::new(WIDTH * (u - 0.5), TOP - HEIGHT * v, 0.0));
    let mesh = cloth.mesh(plain_material("towel", [0.20, 0.42, 0.52], 0.9));
    let rest = cloth.points.clone();
    let count = rest.len();
    let is_held = |point: usize| {
        HELD.iter().any(|&(column, row)| {
            let row_start = row * (QUADS.x as usize + 1);
            point == row_start + column || point == row_start + QUADS.x as usize - column
        })
    };
    let held: Vec<usize> = (0..count).filter(|&point| is_held(point)).collect();
    cloth.hold(&held);
    let still = Environment { air: &|_, _| DVec3::ZERO, hold: &|point, time| corner(rest[point], time) };
    let mut frames = Vec::with_capacity(FRAMES * count);
    for frame in 0..WARM_UP + FRAMES {
        if frame >= WARM_UP {
            frames.extend_from_slice(&cloth.points);
        }
        let time = (frame as f64 - WARM_UP as f64) / FRAME_RATE_HZ;
        cloth.advance(time, 1.0 / FRAME_RATE_HZ, &still);
    }
    sequence_scene("towel", Arc::new(mesh), &frames, FRAME_RATE_HZ)
}

fn corner(rest: DVec3, time: f64) -> DVec3 {
    let (spread, swing) = (eased(&SPREAD, time), eased(&SWING, time));
    // The hands swing on an arc and do not compress the cloth that they hold.
    let (sine, cosine) = sin_cos(swing / 0.6);
    let inwards = rest.x.signum() * 0.5 * WIDTH * (spread - 1.0);
    DVec3::new(rest.x + inwards, rest.y - 0.6 * (1.0 - cosine), 0.6 * sine)
}
