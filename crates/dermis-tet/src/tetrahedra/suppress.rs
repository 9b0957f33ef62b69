//! Suppression of Steiner points: points that split edges and faces of the skin are moved inside, which restores the
//! original faces.
//!
//! The tetrahedra around such a point `s` form its star. If `s` moves inwards by a small enough step, they remain
//! positive, and the gap between `s` and the faces before the split is filled with one tetrahedron per face. Splits are
//! undone in reverse order, so that each finds the skin in the state right after it.

use glam::DVec3;

use super::complex::{Complex, NONE};
use super::cone::Cone;
use super::recover::Split;

/// Candidate lengths of the inward step, in mean distances to the neighbours.
const STEPS: [f64; 12] = [0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.06, 0.03, 0.01, 0.003, 1e-3, 1e-4];

/// Undoes splits, the last first; returns those that could not be undone, in their original order.
pub(super) fn suppress(complex: &mut Complex, splits: &[Split]) -> Vec<Split> {
    let mut uses = vec![0; complex.points.len()];
    for corner in complex.alive().flat_map(|tet| complex.tet(tet)) {
        uses[corner as usize] += 1;
    }
    // If faces of the skin are missing, parts of the body can touch at a point, which must then remain.
    let connected: Vec<bool> =
        splits.iter().map(|split| complex.star(split.point).len() == uses[split.point as usize]).collect();
    let mut remaining: Vec<Split> = Vec::new();
    for (split, connected) in splits.iter().zip(connected).rev() {
        if !connected || !push_in(complex, split.point, &split.before) {
            remaining.push(split.clone());
        }
    }
    remaining.reverse();
    remaining
}

/// Moves `point` inwards and fills the gap to the faces `before`.
fn push_in(complex: &mut Complex, point: u32, before: &[[u32; 3]]) -> bool {
    let star = complex.star(point);
    let boundary = boundary_faces_at(complex, &star, point);
    if boundary.is_empty() {
        // The point is already inside because a shell inside the body was split, or it was removed.
        return true;
    }
    let is_part = |part: &[u32; 3]| before.iter().any(|face| part.iter().all(|c| *c == point || face.contains(c)));
    // A split face has three parts; a split edge divides each of its faces into two.
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

/// Boundary faces at `point`.
fn boundary_faces_at(complex: &Complex, star: &[u32], point: u32) -> Vec<[u32; 3]> {
    let faces = star.iter().flat_map(|&tet| (0..4).map(move |slot| (tet, slot)));
    let outer = faces.filter(|&(tet, slot)| complex.neighbour(tet, slot) == NONE);
    outer.map(|(tet, slot)| complex.face(tet, slot)).filter(|face| face.contains(&point)).collect()
}

/// Inward directions: against the normals of the faces, and to the centres of the tetrahedra of the star.
fn directions(complex: &Complex, star: &[u32], point: u32, before: &[[u32; 3]]) -> Vec<DVec3> {
    let from = complex.point(point);
    let normal = |face: &[u32; 3]| {
        let [a, b, c] = face.map(|corner| complex.point(corner));
        (b - a).cross(c - a).normalize_or_zero()
    };
    let normals: DVec3 = before.iter().map(normal).sum();
    let to_center = |tet: &u32| complex.tet(*tet).iter().map(|&corner| complex.point(corner) - from).sum::<DVec3>();
    let to_centers: Vec<DVec3> = star.iter().map(to_center).collect();
    let mut directions = vec![-normals, to_centers.iter().sum()];
    directions.extend(to_centers);
    directions.into_iter().map(DVec3::normalize_or_zero).collect()
}
