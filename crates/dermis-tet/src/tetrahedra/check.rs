//! Requirements on a skin: closed, manifold and consistently oriented, without degenerate triangles, coincident points
//! and self-intersections.

use std::collections::HashMap;

use dermis_mesh::adjacency::Edges;
use dermis_mesh::boundary::{boundary_edges, inconsistent_edges, non_manifold_edges};
use glam::DVec3;

use super::TetError;
use super::intersections::self_intersections;
use super::predicates::collinear;
use super::separate::{Separated, separate};
use dermis_mesh::surface_tree::SurfaceTree;

/// Maximum number of self-intersections listed in an error.
const MAX_LISTED: usize = 20;

/// Rejects skins that cannot be filled.
pub(super) fn check(points: &[DVec3], triangles: &[[u32; 3]]) -> Result<(), TetError> {
    if triangles.is_empty() {
        return Err(TetError::NoTriangles);
    }
    let position = |point: u32| points[point as usize].as_vec3();
    let flat = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|p| points[p as usize]);
        collinear(a, b, c)
    };
    if let Some(triangle) = triangles.iter().position(flat) {
        let count = triangles.iter().filter(|t| flat(t)).count();
        return Err(TetError::Degenerate { triangle, count, position: position(triangles[triangle][0]) });
    }
    check_points(points, triangles)?;
    let edges = Edges::new(points.len(), triangles);
    let open = boundary_edges(&edges);
    if let Some(&[a, b]) = open.first() {
        return Err(TetError::Open { count: open.len(), edge: [a, b], position: position(a) });
    }
    let branching = non_manifold_edges(&edges);
    if let Some(&edge) = branching.first() {
        let [a, b] = edges.ends()[edge];
        return Err(TetError::NonManifold { count: branching.len(), edge: [a, b], position: position(a) });
    }
    let inconsistent = inconsistent_edges(&edges);
    if let Some(&edge) = inconsistent.first() {
        let [a, b] = edges.ends()[edge];
        return Err(TetError::Inconsistent { count: inconsistent.len(), edge: [a, b], position: position(a) });
    }
    Ok(())
}

/// Rejects self-intersecting skins, or separates them by moving points by at most `limit`.
pub(super) fn check_intersections(
    points: &[DVec3],
    triangles: &[[u32; 3]],
    tree: &SurfaceTree,
    limit: f64,
) -> Result<Option<Separated>, TetError> {
    let mut pairs = self_intersections(points, triangles, tree);
    if pairs.is_empty() {
        return Ok(None);
    }
    if limit > 0.0 {
        let separated = separate(points, triangles, limit);
        if separated.remaining.is_empty() {
            return Ok(Some(separated));
        }
        pairs = separated.remaining;
    }
    let count = pairs.len();
    pairs.truncate(MAX_LISTED);
    Err(TetError::SelfIntersecting { count, pairs })
}

fn check_points(points: &[DVec3], triangles: &[[u32; 3]]) -> Result<(), TetError> {
    let mut used = vec![false; points.len()];
    for &point in triangles.iter().flatten() {
        used[point as usize] = true;
    }
    let mut first_at: HashMap<[u64; 3], u32> = HashMap::new();
    for (point, position) in points.iter().enumerate().filter(|&(point, _)| used[point]) {
        // Adding zero turns -0 into +0.
        let key = (*position + DVec3::ZERO).to_array().map(f64::to_bits);
        if let Some(&first) = first_at.get(&key) {
            return Err(TetError::CoincidentPoints { points: [first, point as u32], position: position.as_vec3() });
        }
        first_at.insert(key, point as u32);
    }
    Ok(())
}

/// Mean edge length of triangles.
pub(super) fn mean_edge(points: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    let sides = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let total: f64 = sides.map(|[a, b]| points[a as usize].distance(points[b as usize])).sum();
    total / (3 * triangles.len().max(1)) as f64
}
