//! New self-intersections of a corrected pose.
//!
//! Skin near creases, contacts and other shells can be pushed through them by a correction that is smooth and small. For
//! each pair of triangles that intersect after the correction, but not before, the largest fraction of the displacement
//! without intersection follows from bisection. A pair that just begins
//! to intersect has the fraction 1. A pair that intersects before has the fraction of the displacement after which it no
//! longer does: 1 if it barely touches, 0 if it remains intersecting. The fractions are therefore continuous in the pose.
//!
//! Cost: a search for overlapping boxes of all displaced triangles.

use glam::DVec3;

use crate::intersections::{Boxes, intersect};

/// Steps of the bisection of a displacement.
const BISECTIONS: usize = 10;
/// Safety margin at half of the displacement, which allows for displacements of neighbours; it vanishes at both ends.
const MARGIN: f64 = 0.2;

/// Search for new intersections, with buffers that are reused for all frames.
#[derive(Debug, Clone, Default)]
pub(super) struct Crossings {
    moved: Vec<DVec3>,
    boxes: Boxes,
    /// Corners of the pairs that intersect, and whether they do so before and after the correction.
    pairs: Vec<([[u32; 3]; 2], [bool; 2])>,
}

/// Stage of the search: pairs that intersect before the correction are treated in the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    First,
    Middle,
    Last,
}

/// Triangles of the mesh without caps, and their points in the pose.
#[derive(Debug, Clone, Copy)]
pub(super) struct PosedSkin<'a> {
    pub(super) triangles: &'a [[u32; 3]],
    pub(super) points: &'a [DVec3],
}

impl Crossings {
    /// Lowers `scales` to the fraction of the displacement `u` of each point at which no new pair of triangles
    /// intersects, or to 0 in the last stage. Returns true if displacements are reduced.
    pub(super) fn limit(&mut self, skin: &PosedSkin<'_>, u: &[DVec3], stage: Stage, scales: &mut [f64]) -> bool {
        let PosedSkin { triangles, points } = *skin;
        self.moved.clear();
        // Rounded like the result.
        self.moved.extend(points.iter().zip(u).map(|(point, u)| (*point + *u).as_vec3().as_dvec3()));
        self.boxes.fill_swept(triangles, points, &self.moved);
        self.pairs.clear();
        let (moved, pairs) = (&self.moved, &mut self.pairs);
        let is_moved =
            |corners: &[[u32; 3]; 2]| corners.as_flattened().iter().any(|&point| u[point as usize] != DVec3::ZERO);
        self.boxes.overlapping(|first, second| {
            let corners = [first, second].map(|triangle| triangles[triangle as usize]);
            if !is_moved(&corners) {
                return;
            }
            let before = intersect(corners, |point| points[point as usize]);
            let after = intersect(corners, |point| moved[point as usize]);
            if after && !before || before && stage == Stage::First {
                pairs.push((corners, [before, after]));
            }
        });
        for &(corners, [before, after]) in &self.pairs {
            let fraction = match (before, after) {
                (true, true) => 0.0,
                (true, false) => 1.0 - change_fraction(corners, points, u, true),
                _ if stage == Stage::Last => 0.0,
                _ => change_fraction(corners, points, u, false),
            };
            let fraction = fraction * (1.0 - MARGIN * (1.0 - fraction));
            for &point in corners.as_flattened() {
                scales[point as usize] = scales[point as usize].min(fraction);
            }
        }
        !self.pairs.is_empty()
    }
}

/// Fraction of `u` at which two triangles begin to intersect, or cease to if they intersect `before`, by bisection.
fn change_fraction(pair: [[u32; 3]; 2], points: &[DVec3], u: &[DVec3], before: bool) -> f64 {
    let (mut unchanged, mut changed) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (unchanged + changed);
        if intersect(pair, |point| points[point as usize] + middle * u[point as usize]) == before {
            unchanged = middle;
        } else {
            changed = middle;
        }
    }
    unchanged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_intersection_limits_the_displacement_of_its_points() {
        let triangles = [[0, 1, 2], [3, 4, 5]];
        let flat = [DVec3::ZERO, DVec3::X, DVec3::Y];
        let tip = [DVec3::new(0.2, 0.2, 0.4), DVec3::new(0.3, 0.2, 1.0), DVec3::new(0.2, 0.3, 1.0)];
        let points = [flat, tip].concat();
        let down: Vec<DVec3> = (0..6).map(|k| if k < 3 { DVec3::ZERO } else { DVec3::NEG_Z * 0.8 }).collect();
        let skin = PosedSkin { triangles: &triangles, points: &points };
        let mut crossings = Crossings::default();
        let mut scales = vec![1.0; 6];
        assert!(crossings.limit(&skin, &down, Stage::First, &mut scales));
        // The tip reaches the plane at half of the displacement.
        assert!(scales.iter().all(|scale| (0.4..=0.5).contains(scale)), "{scales:?}");
        let scaled: Vec<DVec3> = down.iter().map(|u| *u * scales[3]).collect();
        assert!(!crossings.limit(&skin, &scaled, Stage::First, &mut scales));
        // Pairs that intersect without the displacement are not displaced.
        let crossing: Vec<DVec3> = points.iter().zip(&down).map(|(point, u)| *point + *u).collect();
        let skin = PosedSkin { points: &crossing, ..skin };
        assert!(crossings.limit(&skin, &[DVec3::Z * 0.01; 6], Stage::First, &mut scales));
        assert_eq!(scales, [0.0; 6]);
        assert!(!crossings.limit(&skin, &[DVec3::ZERO; 6], Stage::First, &mut scales));
    }
}
