//! Self-intersections: pairs of triangles that cross or touch other than at shared points and edges.
//!
//! Candidates are found with a bounding volume tree and decided by exact predicates. Two triangles intersect if an edge
//! of one intersects the other; coplanar triangles are compared in their plane. Triangles with a common edge intersect
//! if they are folded onto each other.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::predicates::{orient, orient_2d};
use dermis_mesh::surface_tree::SurfaceTree;

/// Two intersecting triangles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Intersection {
    /// Indices of the two triangles, ascending.
    pub triangles: [u32; 2],
    /// A point near the intersection.
    pub position: Vec3,
}

/// Maximum number of pairs per triangle, which bounds memory for invalid skins.
const MAX_PER_TRIANGLE: usize = 64;

/// Returns the pairs of intersecting triangles of a surface, in order.
pub fn intersecting_pairs(points: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Intersection> {
    let points: Vec<DVec3> = points.iter().map(|point| point.as_dvec3()).collect();
    self_intersections(&points, triangles, &SurfaceTree::new(&points, triangles))
}

/// Returns the pairs of intersecting triangles, in order.
pub(super) fn self_intersections(points: &[DVec3], triangles: &[[u32; 3]], tree: &SurfaceTree) -> Vec<Intersection> {
    let of_triangle = |first: usize| -> Vec<Intersection> {
        let corners = triangles[first].map(|p| points[p as usize]);
        let [a, b, c] = corners;
        let mut near = Vec::new();
        tree.in_box(a.min(b).min(c), a.max(b).max(c), &mut near);
        near.retain(|&second| second as usize > first);
        near.sort_unstable();
        let pairs = near.into_iter().filter(|&second| intersect(points, triangles[first], triangles[second as usize]));
        pairs
            .take(MAX_PER_TRIANGLE)
            .map(|second| {
                let other = triangles[second as usize].map(|p| points[p as usize]);
                Intersection { triangles: [first as u32, second], position: overlap_center(corners, other) }
            })
            .collect()
    };
    (0..triangles.len()).into_par_iter().flat_map_iter(of_triangle).collect()
}

/// Centre of the overlap of the bounding boxes of two triangles.
fn overlap_center([a, b, c]: [DVec3; 3], [d, e, f]: [DVec3; 3]) -> Vec3 {
    let low = a.min(b).min(c).max(d.min(e).min(f));
    let high = a.max(b).max(c).min(d.max(e).max(f));
    ((low + high) / 2.0).as_vec3()
}

fn intersect(points: &[DVec3], first: [u32; 3], second: [u32; 3]) -> bool {
    let own =
        |face: [u32; 3], other: [u32; 3]| -> Vec<u32> { face.into_iter().filter(|c| !other.contains(c)).collect() };
    let position = |corner: u32| points[corner as usize];
    let [t, u] = [first, second].map(|face| face.map(position));
    match (&own(first, second)[..], &own(second, first)[..]) {
        ([], _) | (_, []) => true,
        (&[p], &[q]) => {
            let edge: Vec<DVec3> = first.into_iter().filter(|&c| c != p).map(position).collect();
            folded(position(p), position(q), &edge)
        }
        (&[p, q], &[r, s]) => {
            segment_intersects([p, q].map(position), u) || segment_intersects([r, s].map(position), t)
        }
        _ => {
            let edges = |[a, b, c]: [DVec3; 3]| [[a, b], [b, c], [c, a]];
            edges(t).into_iter().any(|edge| segment_intersects(edge, u))
                || edges(u).into_iter().any(|edge| segment_intersects(edge, t))
        }
    }
}

/// Returns true if two triangles with a common edge are coplanar and on the same side of the edge.
fn folded(p: DVec3, q: DVec3, edge: &[DVec3]) -> bool {
    let &[a, b] = edge else { return true };
    if orient(a, b, p, q) != 0.0 {
        return false;
    }
    (0..3).any(|dropped| orient_2d(a, b, p, dropped) * orient_2d(a, b, q, dropped) > 0.0)
}

/// Returns true if a segment and a triangle have a common point.
fn segment_intersects([p, q]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> bool {
    let (from, to) = (orient(a, b, c, p), orient(a, b, c, q));
    if from == 0.0 && to == 0.0 {
        return coplanar_segment_intersects([p, q], [a, b, c]);
    }
    if (from > 0.0 && to > 0.0) || (from < 0.0 && to < 0.0) {
        return false;
    }
    let signs = [[a, b], [b, c], [c, a]].map(|[u, v]| orient(p, u, v, q));
    signs.iter().all(|&t| t >= 0.0) || signs.iter().all(|&t| t <= 0.0)
}

fn coplanar_segment_intersects([p, q]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> bool {
    let Some(dropped) = (0..3).find(|&dropped| orient_2d(a, b, c, dropped) != 0.0) else { return false };
    let side = |u, v, w| orient_2d(u, v, w, dropped);
    let signs = [side(a, b, p), side(b, c, p), side(c, a, p)];
    if signs.iter().all(|&t| t >= 0.0) || signs.iter().all(|&t| t <= 0.0) {
        return true;
    }
    [[a, b], [b, c], [c, a]].into_iter().any(|[u, v]| {
        let opposite = |x: f64, y: f64| !((x > 0.0 && y > 0.0) || (x < 0.0 && y < 0.0));
        let (s, t) = (side(u, v, p), side(u, v, q));
        // Collinear segments intersect if their bounding boxes do.
        if s == 0.0 && t == 0.0 {
            return p.min(q).cmple(u.max(v)).all() && u.min(v).cmple(p.max(q)).all();
        }
        opposite(s, t) && opposite(side(p, q, u), side(p, q, v))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [DVec3; 3] = [DVec3::ZERO, DVec3::X, DVec3::Y];

    #[test]
    fn segments_intersect_a_triangle_across_and_in_its_plane() {
        let at = |x: f64, y: f64, z: f64| DVec3::new(x, y, z);
        let cases = [
            ([at(0.2, 0.2, -1.0), at(0.2, 0.2, 1.0)], true),
            ([at(0.2, 0.2, 0.5), at(0.2, 0.2, 1.0)], false),
            ([at(0.8, 0.8, -1.0), at(0.8, 0.8, 1.0)], false),
            ([at(0.2, 0.2, 0.0), at(0.2, 0.2, 1.0)], true),
            ([at(-1.0, 0.5, 0.0), at(2.0, 0.5, 0.0)], true),
            ([at(-1.0, 2.0, 0.0), at(2.0, 2.0, 0.0)], false),
            ([at(0.1, 0.1, 0.0), at(0.2, 0.2, 0.0)], true),
            ([at(2.0, 0.0, 0.0), at(3.0, 0.0, 0.0)], false),
            ([at(0.5, 0.0, 0.0), at(3.0, 0.0, 0.0)], true),
        ];
        for (segment, expected) in cases {
            assert_eq!(segment_intersects(segment, A), expected, "{segment:?}");
        }
    }

    #[test]
    fn neighbours_intersect_only_when_folded() {
        let points = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::new(1.0, 1.0, 0.0), DVec3::new(0.2, 0.2, 0.0), DVec3::Z];
        assert!(!intersect(&points, [0, 1, 2], [2, 1, 3]));
        assert!(intersect(&points, [0, 1, 2], [2, 1, 4]));
        assert!(!intersect(&points, [0, 1, 2], [2, 1, 5]));
        assert!(!intersect(&points, [0, 1, 5], [5, 3, 2]));
    }
}
