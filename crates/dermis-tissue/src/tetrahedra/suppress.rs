//! Moves points that split the skin's edges and faces off the skin, so that the skin has its own faces again.
//!
//! The tetrahedra around such a point `s` fill a star. When `s` moves inwards, they stay positive for a small enough
//! step, and between `s` and the faces that were there before the split opens a gap which one tetrahedron per face fills.
//! Splits are undone from the last to the first, so that each finds the skin as it was just after it.

use glam::DVec3;

use super::complex::Complex;
use super::improve::{place, star_quality};
use super::quality::smallest_sine;
use super::recover::Constraints;

/// Lengths of the step inwards that are tried, in mean distances to the neighbours.
const STEPS: [f64; 12] = [0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.06, 0.03, 0.01, 0.003, 1e-3, 1e-4];

/// Undoes the splits; returns the points that could not be moved off the skin.
pub(super) fn suppress(complex: &mut Complex, skin: &Constraints) -> Vec<u32> {
    let mut left = Vec::new();
    for split in skin.splits.iter().rev() {
        // A split that an unmoved one stands on, or that is inside a nested shell, stays.
        let blocked = split.before.iter().flatten().any(|corner| left.contains(corner));
        if blocked || !push_in(complex, split.point, &split.before) {
            left.push(split.point);
        }
    }
    left
}

/// Moves `point` inwards and fills the gap to the faces `before`.
fn push_in(complex: &mut Complex, point: u32, before: &[[u32; 3]]) -> bool {
    let star = complex.star(point);
    let boundary = boundary_faces(complex, &star, point);
    // Each of the two or three parts of a face must be on the boundary.
    let parts = if before.len() == 1 && boundary == 3 { true } else { boundary == 2 * before.len() };
    if star.is_empty() || !parts {
        return boundary == 0 && !star.is_empty();
    }
    let from = complex.point(point);
    let (inwards, reach) = direction(complex, &star, point, before);
    let gaps: Vec<[u32; 4]> = before.iter().map(|&[a, b, c]| [c, b, a, point]).collect();
    let best = STEPS
        .iter()
        .flat_map(|step| inwards.map(|direction| place(from + direction * (reach * step))))
        .map(|at| (quality_at(complex, &star, &gaps, point, at), at))
        .filter(|&(quality, _)| quality > 0.0)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, at)) = best else { return false };
    complex.points[point as usize] = at;
    let mut new: Vec<[u32; 4]> = star.iter().map(|&tet| complex.tet(tet)).collect();
    new.extend(&gaps);
    if new.iter().any(|&tet| complex.orient(tet) <= 0.0) {
        complex.points[point as usize] = from;
        return false;
    }
    complex.replace(&star, &new);
    true
}

fn boundary_faces(complex: &Complex, star: &[u32], point: u32) -> usize {
    let at = |tet: u32, slot: usize| complex.face(tet, slot).contains(&point);
    let faces = star.iter().flat_map(|&tet| (0..4).map(move |slot| (tet, slot)));
    faces.filter(|&(tet, slot)| complex.neighbour(tet, slot) == super::complex::NONE && at(tet, slot)).count()
}

/// Two ways inwards, against the normals of the faces and to the middle of the star, and the mean distance there.
fn direction(complex: &Complex, star: &[u32], point: u32, before: &[[u32; 3]]) -> ([DVec3; 2], f64) {
    let from = complex.point(point);
    let normal: DVec3 = before
        .iter()
        .map(|face| {
            let [a, b, c] = face.map(|corner| complex.point(corner));
            (b - a).cross(c - a).normalize_or_zero()
        })
        .sum();
    let (mut middle, mut reach, mut count) = (DVec3::ZERO, 0.0, 0.0);
    for &corner in star.iter().flat_map(|&tet| &complex.tets[tet as usize]).filter(|&&corner| corner != point) {
        middle += complex.point(corner) - from;
        reach += complex.point(corner).distance(from);
        count += 1.0;
    }
    ([-normal.normalize_or_zero(), middle.normalize_or_zero()], reach / f64::max(count, 1.0))
}

fn quality_at(complex: &Complex, star: &[u32], gaps: &[[u32; 4]], point: u32, at: DVec3) -> f64 {
    let corners = |tet: [u32; 4]| tet.map(|corner| if corner == point { at } else { complex.point(corner) });
    let gap = gaps.iter().map(|&tet| smallest_sine(corners(tet))).fold(f64::MAX, f64::min);
    gap.min(star_quality(complex, star, point, at, f64::MIN))
}
