//! How strong each wrinkle should be: every point of the cloth gives the area that it has lost to the nodes around it.
//!
//! Area over the distance of nodes is the length that a cross-section has lost, which its wrinkle must take up; that goes
//! with the square of its height. What cannot be given, because a curve ends or its folds are as high as they may be, is
//! taken up by the others, by one gain for all.

use super::grid::Grid;
use super::stretch::{Compression, RestTriangles};
use super::surface::Surface;
use super::track::{APART, Curve};

/// Passes that even out the lost length along a curve.
const EVENING: usize = 4;
/// The bounds of the gain: below, local folds would vanish where other places are stretched; above, few would be huge.
const GAINS: [f32; 2] = [0.25, 6.0];
/// Steps that find the gain.
const GAIN_STEPS: usize = 6;
/// Nodes over which a curve's end tapers.
const TAPER: f32 = 4.0;

/// The area that the nodes of each curve, in order, have to take up.
pub(super) struct Lost {
    nodes: Vec<Vec<f32>>,
    /// The area that is lost where the cloth is compressed.
    pub(super) total: f64,
}

/// Gives the area that each point has lost to the nodes around.
pub(super) fn lost(
    surface: &Surface,
    rest: &RestTriangles,
    field: &Compression,
    curves: &[Curve],
    radius: f32,
) -> Lost {
    let reach = APART * radius;
    let mut grid: Grid<(u32, u32)> = Grid::new(reach);
    let mut nodes: Vec<Vec<f32>> = Vec::new();
    for (index, curve) in curves.iter().enumerate() {
        nodes.push(vec![0.0; curve.nodes().count()]);
        for (at, node) in curve.nodes().enumerate().filter(|(_, node)| curve.keeps(node)) {
            grid.insert(surface.rest_of(node.spot), (index as u32, at as u32));
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
        // Weights that end at the border of what is seen let shares change smoothly.
        let weight = |apart: f32| (1.0 - apart / reach).powi(4).max(1e-6);
        near.clear();
        near.extend(grid.near(surface.rest[point], reach).map(|(apart, node)| (weight(apart), node)));
        let sum: f32 = near.iter().map(|(weight, _)| weight).sum();
        for &(weight, (curve, at)) in &near {
            nodes[curve as usize][at as usize] += lost * weight / sum;
        }
    }
    for line in &mut nodes {
        for _ in 0..EVENING {
            even_out(line);
        }
        taper(line);
    }
    Lost { nodes, total }
}

impl Lost {
    /// The strength that the nodes of each curve should have, 0 to 1, where a wrinkle takes up at most `most` of length
    /// and nodes are `step` apart.
    pub(super) fn strengths(&self, most: f32, step: f32) -> impl Iterator<Item = Vec<f32>> {
        let full = most * step;
        let gain = self.gain(full);
        self.nodes.iter().map(move |line| line.iter().map(|lost| (gain * lost / full).min(1.0).sqrt()).collect())
    }

    /// By how much more than their share wrinkles must take up, for all to be taken up.
    fn gain(&self, full: f32) -> f32 {
        let mut gain = GAINS[0];
        for _ in 0..GAIN_STEPS {
            let taken: f32 = self.nodes.iter().flatten().map(|lost| (gain * lost).min(full)).sum();
            let better = if taken > 0.0 { gain * self.total as f32 / taken } else { 1.0 };
            gain = better.clamp(GAINS[0], GAINS[1]);
        }
        gain
    }
}

/// Averages along a line; its sum stays.
fn even_out(values: &mut [f32]) {
    let before = values.to_vec();
    let last = before.len().saturating_sub(1);
    for (at, value) in values.iter_mut().enumerate() {
        *value = 0.25 * (before[at.saturating_sub(1)] + before[(at + 1).min(last)]) + 0.5 * before[at];
    }
}

/// Lets a line run out towards its ends.
fn taper(values: &mut [f32]) {
    let last = values.len().saturating_sub(1);
    for (at, value) in values.iter_mut().enumerate() {
        let t = (at.min(last - at) as f32 / TAPER).min(1.0);
        *value *= t * t * (3.0 - 2.0 * t);
    }
}
