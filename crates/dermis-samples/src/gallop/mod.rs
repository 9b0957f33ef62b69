//! `sample:gallop`: a horse-like animal at a gallop, as a raw mesh sequence.
//!
//! An implicit body ([`anatomy`]) is polygonized into one closed surface. An internal skeleton moves it ([`gait`]) by dual
//! quaternion skinning with smooth weights; muscles, breath and soft parts ([`flesh`]) ensure that no part is exactly
//! rigid. The cycle loops: frame 48 would equal frame 0.

mod anatomy;
mod flesh;
mod gait;

use glam::DVec3;
use rayon::prelude::*;

use super::bind::{DualQuat, Weights, bind, blend_dual};
use super::numeric::cos_turns;
use super::polygonize::{Surface, polygonize};
use super::remesh::remesh;
use super::{plain_material, sequence_scene, surface_mesh};
use anatomy::{BONES, animal, coat};
use dermis_mesh::scene::Scene;
use flesh::{Flesh, wave};

const POINTS: usize = 8000;
const FRAMES: usize = 48;
const FRAME_RATE_HZ: f64 = 30.0;

/// Grid spacing of the polygonizer, metres: four cells across an ear.
const CELL: f64 = 0.016;

/// Rounds of weight diffusion: joints blend over three or four rings of triangles.
const DIFFUSION: usize = 14;

/// Builds the scene of `sample:gallop`.
pub(super) fn build() -> Scene {
    let shape = animal();
    // Edge lengths grow with the square root of the thickness, so that legs are represented as well as the trunk.
    let surface = remesh(&shape, polygonize(&shape, CELL), POINTS, f64::sqrt);
    let normals: Vec<DVec3> = surface.points.par_iter().map(|&point| shape.normal(point)).collect();
    let weights = bind(&shape, &surface, BONES, DIFFUSION);
    let frames = animate(&surface, &normals, &weights);
    let shades: Vec<f64> = surface.points.iter().enumerate().map(|(point, &at)| coat(at, weights.row(point))).collect();
    let mesh = surface_mesh(&surface, plain_material("bay", [0.40, 0.19, 0.08], 0.55), &shades);
    sequence_scene("horse", mesh, &frames, FRAME_RATE_HZ)
}

/// Positions of all frames, concatenated.
fn animate(surface: &Surface, normals: &[DVec3], weights: &Weights) -> Vec<DVec3> {
    let flesh = Flesh::new(&surface.points);
    let skinned: Vec<Vec<DVec3>> = (0..FRAMES)
        .into_par_iter()
        .map(|frame| skin(surface, normals, weights, &flesh, frame as f64 / FRAMES as f64))
        .collect();
    let points = surface.points.len();
    let lags: Vec<Vec<DVec3>> = (0..points)
        .into_par_iter()
        .map(|point| {
            let path: Vec<DVec3> = skinned.iter().map(|frame| frame[point]).collect();
            flesh.lag(point, &path, FRAMES as f64 / FRAME_RATE_HZ)
        })
        .collect();
    let at = |frame: usize, point: usize| skinned[frame][point] + lags[point][frame];
    (0..FRAMES * points).map(|index| at(index / points, index % points)).collect()
}

/// Positions of all points, without the lag of soft parts.
fn skin(surface: &Surface, normals: &[DVec3], weights: &Weights, flesh: &Flesh, cycle: f64) -> Vec<DVec3> {
    let bones: Vec<DualQuat> = gait::pose(cycle).iter().map(DualQuat::new).collect();
    let swelling = flesh.swelling(cycle);
    // The trunk rolls over the loaded legs, which stay in position.
    let roll = 0.018 * cos_turns(2.0 * cycle - 0.2);
    let position = |point: usize| {
        let rest = surface.points[point];
        let swollen = rest + normals[point] * swelling[point] + wave(rest, cycle);
        let posed = blend_dual(&bones, weights.row(point)).transform_point3(swollen);
        posed + DVec3::Z * (roll * posed.y)
    };
    (0..surface.points.len()).map(position).collect()
}
