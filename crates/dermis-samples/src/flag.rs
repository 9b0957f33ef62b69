//! `sample:flag`: a flag on a pole in gusts of wind.
//!
//! Between gusts it sags and is compressed along the pole; a fine cloth would fold there. The rest shape is the flat
//! pattern.

use std::sync::Arc;

use glam::{DVec3, UVec2};

use super::cloth::{Cloth, Environment, Fabric};
use super::numeric::cos_turns;
use super::{plain_material, sequence_scene};
use dermis_mesh::scene::Scene;

const QUADS: UVec2 = UVec2::new(30, 20);
const WIDTH: f64 = 1.5;
const HEIGHT: f64 = 1.0;
/// Height of the upper edge of the flag.
const TOP: f64 = 3.0;
const FRAMES: usize = 120;
const FRAME_RATE_HZ: f64 = 30.0;
/// Frames simulated before the first recorded one, until the flag is flying.
const WARM_UP: usize = 90;

const FABRIC: Fabric = Fabric {
    density: 0.12,
    compression_compliance: 0.08,
    straightening: 0.09,
    air_resistance: 0.45,
    air_friction: 0.16,
};

/// Builds the scene of `sample:flag`.
pub(super) fn build() -> Scene {
    let mut cloth = Cloth::new(QUADS, FABRIC, |u, v| DVec3::new(WIDTH * u, TOP - HEIGHT * v, 0.0));
    let mesh = cloth.mesh(plain_material("flag", [0.72, 0.10, 0.09], 0.75));
    let rest = cloth.points.clone();
    let at_the_pole: Vec<usize> = (0..rest.len()).filter(|&point| rest[point].x == 0.0).collect();
    cloth.hold(&at_the_pole);
    let environment = Environment { air: &wind, hold: &|point, _| rest[point] };
    let mut frames = Vec::with_capacity(FRAMES * rest.len());
    for frame in 0..WARM_UP + FRAMES {
        if frame >= WARM_UP {
            frames.extend_from_slice(&cloth.points);
        }
        cloth.advance(frame as f64 / FRAME_RATE_HZ, 1.0 / FRAME_RATE_HZ, &environment);
    }
    sequence_scene("flag", Arc::new(mesh), &frames, FRAME_RATE_HZ)
}

/// Wind along x in gusts, with eddies that move with it and push the flag sideways.
fn wind(at: DVec3, time: f64) -> DVec3 {
    let gust = 0.5 - 0.5 * cos_turns(0.41 * time + 0.1 * cos_turns(0.23 * time));
    let speed = 5.0 + 7.0 * gust;
    let eddy =
        |turns_per_metre: f64, hertz: f64, lean: f64| cos_turns(turns_per_metre * (at.x + lean * at.y) - hertz * time);
    let sideways = 0.5 * eddy(0.6, 1.5, 0.25) + 0.3 * eddy(1.1, 2.6, -0.3) + 0.2 * eddy(0.25, 0.5, 0.6);
    DVec3::new(speed, 0.05 * speed * eddy(0.7, 2.1, 0.9), 0.4 * speed * sideways)
}
