//! Moves points that split the skin's edges and faces off the skin, so that the skin has its own faces again.
//!
//! The tetrahedra around such a point `s` fill a star. When `s` moves inwards, they stay positive for a small enough
//! step, and between `s` and the faces that were there before the split opens a gap which one tetrahedron per face fills.
//! Splits are undone from the last to the first, so that each finds the skin as it was just after it.

use glam::DVec3;

use super::complex::{Complex, NONE};
use super::cone::Cone;
use super::recover::Split;

/// Lengths of the step inwards that are tried, in mean distances to the neighbours.
const STEPS: [f64; 12] = [0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.06, 0.03, 0.01, 0.003, 1e-3, 1e-4];

/// Undoes splits, the last first; returns those that could not be undone, in the same order.
pub(super) fn suppress(complex: &mut Complex, splits: &[Split]) -> Vec<Split> {
    let mut uses = vec![0; complex.points.len()];
    for corner in complex.alive().flat_map(|tet| complex.tet(tet)) {
        uses[corner as usize] += 1;
    }
    // Where faces of the skin are missing, parts of the body may meet in a point, which then must stay.
    let whole: Vec<bool> =
        splits.iter().map(|split| complex.star(split.point).len() == uses[split.point as usize]).collect();
    let mut left: Vec<Split> = Vec::new();
    for (split, whole) in splits.iter().zip(whole).rev() {
        if !whole || !push_in(complex, split.point, &split.before) {
            left.push(split.clone());
        }
    }
    left.reverse();
    left
}

/// Moves `point` inwards and fills the gap to the faces `before`.
fn push_in(complex: &mut Complex, point: u32, before: &[[u32; 3]]) -> bool {
    let star = complex.star(point);
    let boundary = boundary_faces(complex, &star, point);
    if boundary.is_empty() {
        // Inside already: a shell within the body was split, or the point is gone.
        return true;
    }
    let is_part = |part: &[u32; 3]| before.iter().any(|face| part.iter().all(|c| *c == point || face.contains(c)));
    // A face falls into three parts, the faces at an edge into two each.
    let parts = if before.len() == 1 { 3 } else { 2 * before.len() };
    if boundary.len() != parts || !boundary.iter().all(is_part) {
        return false;
    }
    let from = complex.point(point);
    let gaps: Vec<[u32; 4]> = before.iter().map(|&[a, b, c]| [c, b, a, point]).collect();
    let mut cone = Cone::of_star(complex, &star, point);
    for &[a, b, c, _] in &gaps {
        cone.push([a, b, c].map(|corner| complex.point(corner)));
    }
    let (inwards, reach) = (directions(complex, &star, point, before), cone.reach(from));
    let best = STEPS
        .iter()
        .flat_map(|step| inwards.iter().map(move |&direction| from + direction * (reach * step)))
        .map(|at| (cone.quality(at, 0.0), at))
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

/// The faces of the boundary at `point`.
fn boundary_faces(complex: &Complex, star: &[u32], point: u32) -> Vec<[u32; 3]> {
    let faces = star.iter().flat_map(|&tet| (0..4).map(move |slot| (tet, slot)));
    let outer = faces.filter(|&(tet, slot)| complex.neighbour(tet, slot) == NONE);
    outer.map(|(tet, slot)| complex.face(tet, slot)).filter(|face| face.contains(&point)).collect()
}

/// Ways inwards: against the normals of the faces, and to the middles of the star's tetrahedra.
fn directions(complex: &Complex, star: &[u32], point: u32, before: &[[u32; 3]]) -> Vec<DVec3> {
    let from = complex.point(point);
    let normal = |face: &[u32; 3]| {
        let [a, b, c] = face.map(|corner| complex.point(corner));
        (b - a).cross(c - a).normalize_or_zero()
    };
    let normals: DVec3 = before.iter().map(normal).sum();
    let to_middle = |tet: &u32| complex.tet(*tet).iter().map(|&corner| complex.point(corner) - from).sum::<DVec3>();
    let middles: Vec<DVec3> = star.iter().map(to_middle).collect();
    let mut ways = vec![-normals, middles.iter().sum()];
    ways.extend(middles);
    ways.into_iter().map(DVec3::normalize_or_zero).collect()
}
