//! What a skin must be to get tetrahedra: closed, manifold, consistently oriented, without degenerate triangles and points
//! in the same place, and free of self-intersections.

use std::collections::HashMap;

use dermis_mesh::adjacency::Edges;
use dermis_mesh::boundary::{boundary_edges, inconsistent_edges, non_manifold_edges};
use glam::DVec3;

use super::TetError;
use super::intersections::self_intersections;
use super::predicates::collinear;
use super::separate::{Separated, separate};
use dermis_mesh::surface_tree::SurfaceTree;

/// How many self-intersections an error lists.
const MOST_LISTED: usize = 20;

/// Refuses skins that cannot be filled.
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
    let turned = inconsistent_edges(&edges);
    if let Some(&edge) = turned.first() {
        let [a, b] = edges.ends()[edge];
        return Err(TetError::Inconsistent { count: turned.len(), edge: [a, b], position: position(a) });
    }
    Ok(())
}

/// Refuses skins that meet themselves, or parts them, if points may move as far as `limit`.
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
        let parted = separate(points, triangles, limit);
        if parted.left.is_empty() {
            return Ok(Some(parted));
        }
        pairs = parted.left;
    }
    let count = pairs.len();
    pairs.truncate(MOST_LISTED);
    Err(TetError::SelfIntersecting { count, pairs })
}

fn check_points(points: &[DVec3], triangles: &[[u32; 3]]) -> Result<(), TetError> {
    let mut used = vec![false; points.len()];
    for &point in triangles.iter().flatten() {
        used[point as usize] = true;
    }
    let mut first_at: HashMap<[u64; 3], u32> = HashMap::new();
    for (point, position) in points.iter().enumerate().filter(|&(point, _)| used[point]) {
        // Adding zero makes one zero of the two.
        let key = (*position + DVec3::ZERO).to_array().map(f64::to_bits);
        if let Some(&first) = first_at.get(&key) {
            return Err(TetError::SamePlace { points: [first, point as u32], position: position.as_vec3() });
        }
        first_at.insert(key, point as u32);
    }
    Ok(())
}

/// The mean length of the edges of triangles.
pub(super) fn mean_edge(points: &[DVec3], triangles: &[[u32; 3]]) -> f64 {
    let sides = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let total: f64 = sides.map(|[a, b]| points[a as usize].distance(points[b as usize])).sum();
    total / (3 * triangles.len().max(1)) as f64
}
