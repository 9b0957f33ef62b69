//! Parts a skin that meets itself, by moving points near the places where it does.
//!
//! Scanned and modelled bodies often touch themselves between the thighs, fingers or lips. Each round moves the corners of the
//! triangles that meet, a little inwards along the normal and to the middle of their neighbours, so that parts that
//! press on each other give way and folds are smoothed out. The distance that a point may move is bounded.

use glam::DVec3;

use super::intersections::{Intersection, self_intersections};
use dermis_mesh::surface_tree::SurfaceTree;

/// Rounds, at most.
const MOST_ROUNDS: usize = 200;
/// How far a round moves a point inwards, in mean lengths of its edges.
const INWARDS: f64 = 0.06;
/// How much of the way to the middle of its neighbours a round moves a point.
const SMOOTHING: f64 = 0.2;

/// A skin that was parted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Separated {
    pub(super) points: Vec<DVec3>,
    /// How many points were moved.
    pub(super) moved: usize,
    /// The longest way.
    pub(super) farthest: f64,
    /// What still meets.
    pub(super) left: Vec<Intersection>,
}

/// Moves points by at most `limit` until no triangles meet.
pub(super) fn separate(points: &[DVec3], triangles: &[[u32; 3]], limit: f64) -> Separated {
    let neighbours = neighbours(points.len(), triangles);
    let mut now = points.to_vec();
    let mut left = meeting(&now, triangles);
    for _ in 0..MOST_ROUNDS {
        if left.is_empty() {
            break;
        }
        let mut corners: Vec<u32> =
            left.iter().flat_map(|pair| pair.triangles).flat_map(|t| triangles[t as usize]).collect();
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
                let to = at + (middle - at) * SMOOTHING - normals[corner as usize] * (edge * INWARDS);
                let start = points[corner as usize];
                (start + (to - start).clamp_length_max(limit)).as_vec3().as_dvec3()
            })
            .collect();
        for (&corner, to) in corners.iter().zip(moved) {
            now[corner as usize] = to;
        }
        left = meeting(&now, triangles);
    }
    let ways = || now.iter().zip(points).map(|(a, b)| a.distance(*b));
    Separated {
        moved: ways().filter(|&way| way > 0.0).count(),
        farthest: ways().fold(0.0, f64::max),
        points: now,
        left,
    }
}

fn meeting(points: &[DVec3], triangles: &[[u32; 3]]) -> Vec<Intersection> {
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
