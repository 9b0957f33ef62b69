//! Removal of self-intersections by moving points near them.
//!
//! Scanned and modelled bodies often touch themselves between the thighs, fingers or lips. Each round moves the corners
//! of intersecting triangles slightly inwards along the normal and towards the mean of their neighbours, which
//! separates overlapping parts and smooths folds. The distance of each point from its original position is bounded.

use glam::DVec3;

use super::intersections::{Intersection, self_intersections};
use dermis_mesh::surface_tree::SurfaceTree;

/// Maximum number of rounds.
const MAX_ROUNDS: usize = 200;
/// Inward displacement per round, in mean edge lengths at the point.
const INWARD_STEP: f64 = 0.06;
/// Fraction of the distance to the mean of its neighbours by which a point moves per round.
const SMOOTHING: f64 = 0.2;

/// A separated skin.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Separated {
    pub(super) points: Vec<DVec3>,
    /// Number of moved points.
    pub(super) moved: usize,
    /// Largest displacement of a point.
    pub(super) max_distance: f64,
    /// Remaining intersections.
    pub(super) remaining: Vec<Intersection>,
}

/// Moves points by at most `limit` until no triangles intersect.
pub(super) fn separate(points: &[DVec3], triangles: &[[u32; 3]], limit: f64) -> Separated {
    let neighbours = neighbours(points.len(), triangles);
    let mut now = points.to_vec();
    let mut remaining = intersecting(&now, triangles);
    for _ in 0..MAX_ROUNDS {
        if remaining.is_empty() {
            break;
        }
        let mut corners: Vec<u32> =
            remaining.iter().flat_map(|pair| pair.triangles).flat_map(|t| triangles[t as usize]).collect();
        corners.sort_unstable();
        corners.dedup();
        let normals = normals(&now, triangles);
        let moved: Vec<DVec3> = corners
            .iter()
            .map(|&corner| {
                let (at, around) = (now[corner as usize], &neighbours[corner as usize]);
                let middle = around.iter().map(|&n| now[n as usize]).sum::<DVec3>() / around.len().max(1) as f64;
                let edge =
                    around.iter().map(|&n| now[n as usize].distance(at)).sum::<f64>() / around.len().max(1) as f64;
                let to = at + (middle - at) * SMOOTHING - normals[corner as usize] * (edge * INWARD_STEP);
                let start = points[corner as usize];
                (start + (to - start).clamp_length_max(limit)).as_vec3().as_dvec3()
            })
            .collect();
        for (&corner, to) in corners.iter().zip(moved) {
            now[corner as usize] = to;
        }
        remaining = intersecting(&now, triangles);
    }
    let distances = || now.iter().zip(points).map(|(a, b)| a.distance(*b));
    Separated {
        moved: distances().filter(|&distance| distance > 0.0).count(),
        max_distance: distances().fold(0.0, f64::max),
        points: now,
        remaining,
    }
}

fn intersecting(points: &[DVec3], triangles: &[[u32; 3]]) -> Vec<Intersection> {
    self_intersections(points, triangles, &SurfaceTree::new(points, triangles))
}

fn neighbours(count: usize, triangles: &[[u32; 3]]) -> Vec<Vec<u32>> {
    let mut neighbours = vec![Vec::new(); count];
    for &[a, b, c] in triangles {
        for [p, q] in [[a, b], [b, c], [c, a]] {
            neighbours[p as usize].push(q);
            neighbours[q as usize].push(p);
        }
    }
    for own in &mut neighbours {
        own.sort_unstable();
        own.dedup();
    }
    neighbours
}

fn normals(points: &[DVec3], triangles: &[[u32; 3]]) -> Vec<DVec3> {
    let mut normals = vec![DVec3::ZERO; points.len()];
    for triangle in triangles {
        let [a, b, c] = triangle.map(|p| points[p as usize]);
        for &corner in triangle {
            normals[corner as usize] += (b - a).cross(c - a);
        }
    }
    normals.into_iter().map(DVec3::normalize_or_zero).collect()
}
