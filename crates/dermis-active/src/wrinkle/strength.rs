//! Strength of each wrinkle: the area lost at each point of the cloth is distributed to the curve nodes around it.
//!
//! Area divided by the distance of nodes is the length lost in a cross-section, which its wrinkle must absorb. That
//! length is proportional to the square of the height. Area that cannot be absorbed, because a curve ends or its folds
//! have the maximum height, is compensated by the others with a common gain.

use super::grid::Grid;
use super::stretch::{Compression, RestTriangles};
use super::surface::Surface;
use super::track::{Curve, MIN_SPACING};

/// Number of smoothing passes of the lost length along a curve.
const SMOOTHING_PASSES: usize = 4;
/// Bounds of the gain. The lower one keeps local folds if other regions are stretched; the upper one prevents
/// oversized folds.
const GAIN_BOUNDS: [f32; 2] = [0.25, 6.0];
/// Number of iterations for the gain.
const GAIN_ITERATIONS: usize = 6;
/// Number of nodes over which the ends of a curve taper.
const TAPER_NODES: f32 = 4.0;

/// Area to be absorbed by the nodes of each curve.
pub(super) struct LostArea {
    nodes: Vec<Vec<f32>>,
    /// Area lost in compressed regions.
    pub(super) total: f64,
}

/// Distributes the area lost at each point to the nodes around it.
pub(super) fn distribute_lost_area(
    surface: &Surface,
    rest: &RestTriangles,
    field: &Compression,
    curves: &[Curve],
    radius: f32,
) -> LostArea {
    let reach = MIN_SPACING * radius;
    let mut grid: Grid<(u32, u32)> = Grid::new(reach);
    let mut nodes: Vec<Vec<f32>> = Vec::new();
    for (index, curve) in curves.iter().enumerate() {
        nodes.push(vec![0.0; curve.nodes().count()]);
        for (at, node) in curve.nodes().enumerate().filter(|(_, node)| curve.is_active(node)) {
            grid.insert(surface.rest_of(node.location), (index as u32, at as u32));
        }
    }
    let mut total = 0.0;
    let mut near = Vec::new();
    for (point, (&loss, &area)) in field.losses.iter().zip(&rest.point_areas).enumerate() {
        let lost = loss * area;
        if lost <= 0.0 {
            continue;
        }
        total += f64::from(lost);
        // The weights vanish at the search radius, so that the distribution changes smoothly.
        let weight = |apart: f32| (1.0 - apart / reach).powi(4).max(1e-6);
        near.clear();
        near.extend(grid.near(surface.rest[point], reach).map(|(apart, node)| (weight(apart), node)));
        let sum: f32 = near.iter().map(|(weight, _)| weight).sum();
        for &(weight, (curve, at)) in &near {
            nodes[curve as usize][at as usize] += lost * weight / sum;
        }
    }
    for line in &mut nodes {
        for _ in 0..SMOOTHING_PASSES {
            smooth(line);
        }
        taper(line);
    }
    LostArea { nodes, total }
}

impl LostArea {
    /// Required strength of the nodes of each curve, 0 to 1. `max_excess` is the maximum length that a wrinkle absorbs,
    /// and `step` is the distance of nodes.
    pub(super) fn strengths(&self, max_excess: f32, step: f32) -> impl Iterator<Item = Vec<f32>> {
        let full = max_excess * step;
        let gain = self.gain(full);
        self.nodes.iter().map(move |line| line.iter().map(|lost| (gain * lost / full).min(1.0).sqrt()).collect())
    }

    /// Gain at which the wrinkles absorb all of the lost area.
    fn gain(&self, full: f32) -> f32 {
        let mut gain = GAIN_BOUNDS[0];
        for _ in 0..GAIN_ITERATIONS {
            let taken: f32 = self.nodes.iter().flatten().map(|lost| (gain * lost).min(full)).sum();
            let better = if taken > 0.0 { gain * self.total as f32 / taken } else { 1.0 };
            gain = better.clamp(GAIN_BOUNDS[0], GAIN_BOUNDS[1]);
        }
        gain
    }
}

/// Smooths the values along a curve; their sum is preserved.
fn smooth(values: &mut [f32]) {
    let before = values.to_vec();
    let last = before.len().saturating_sub(1);
    for (at, value) in values.iter_mut().enumerate() {
        *value = 0.25 * (before[at.saturating_sub(1)] + before[(at + 1).min(last)]) + 0.5 * before[at];
    }
}

/// Tapers the values towards both ends of a curve.
fn taper(values: &mut [f32]) {
    let last = values.len().saturating_sub(1);
    for (at, value) in values.iter_mut().enumerate() {
        let t = (at.min(last - at) as f32 / TAPER_NODES).min(1.0);
        *value *= t * t * (3.0 - 2.0 * t);
    }
}
