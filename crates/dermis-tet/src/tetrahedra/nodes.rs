//! Positions of inner nodes: along the bones at even intervals, and on a body-centred cubic lattice.
//!
//! The Delaunay tetrahedra of such a lattice are congruent, with dihedral angles of 60° and 90°. Lattice points have a
//! minimum distance from the skin and from the nodes of the bones. A jitter of a thousandth of the spacing avoids
//! degenerate configurations, in which predicates are slow.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::cone::rounded;
use super::delaunay::scramble;
use dermis_mesh::surface_tree::SurfaceTree;

/// Minimum distance of lattice points from the skin, in spacings.
const MIN_SKIN_DISTANCE: f64 = 0.5;
/// Minimum distance of lattice points from nodes of the bones, in spacings.
const MIN_BONE_DISTANCE: f64 = 0.6;
/// Minimum distance of nodes of the bones from the skin, in intervals.
const MIN_BONE_SKIN_DISTANCE: f64 = 0.15;
/// Maximum distance within which the skin is searched for, in spacings.
const MAX_SEARCH_DISTANCE: f64 = 6.0;
/// Maximum number of intervals per bone.
const MAX_PER_BONE: f64 = 10_000.0;
/// Maximum number of lattice cells.
const MAX_CELLS: f64 = 2e7;

/// Points along the bones.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct BonePoints {
    pub(super) positions: Vec<DVec3>,
    /// Points of each bone, from its head to its tail.
    pub(super) of_bones: Vec<Vec<u32>>,
    /// Number of points that were dropped because they are outside the skin or too close to it.
    pub(super) dropped: usize,
}

/// Samples points along `bones`, about `interval` apart; bones that meet at a joint share a point.
pub(super) fn bone_points(bones: &[(Vec3, Vec3)], interval: f64, tree: &SurfaceTree) -> BonePoints {
    let mut nodes = BonePoints::default();
    for &(head, tail) in bones {
        let (head, tail) = (head.as_dvec3(), tail.as_dvec3());
        let parts = (head.distance(tail) / interval).round().clamp(1.0, MAX_PER_BONE) as usize;
        let mut own = Vec::new();
        for k in 0..=parts {
            let position = rounded(head.lerp(tail, k as f64 / parts as f64));
            if !tree.is_inside(position) || tree.distance(position, interval) < MIN_BONE_SKIN_DISTANCE * interval {
                nodes.dropped += 1;
                continue;
            }
            // Bones that are close to each other share a point.
            let near = nodes.positions.iter().position(|p| p.distance(position) < 0.3 * interval);
            let node = near.unwrap_or_else(|| {
                nodes.positions.push(position);
                nodes.positions.len() - 1
            }) as u32;
            if !own.contains(&node) {
                own.push(node);
            }
        }
        nodes.of_bones.push(own);
    }
    nodes
}

/// Points of a body-centred cubic lattice inside the skin; `spacing` is the side of the cubes.
pub(super) fn lattice_nodes(low: DVec3, high: DVec3, spacing: f64, tree: &SurfaceTree, bones: &[DVec3]) -> Vec<DVec3> {
    let off_bones = |at: DVec3| bones.iter().all(|bone| bone.distance(at) >= MIN_BONE_DISTANCE * spacing);
    let inside = points_inside(low, high, spacing, tree).into_iter();
    inside
        .filter(|&(at, distance)| distance >= MIN_SKIN_DISTANCE * spacing && off_bones(at))
        .map(|(at, _)| at)
        .collect()
}

/// Finds the spacing of a lattice with about `target_count` points, between `min` and `max`, by bisection.
///
/// A lattice of spacing `s` has `2 V / s³` points, with `V` the volume that is far enough from the skin. This volume is
/// estimated from the distances of the points of one coarse lattice.
pub(super) fn spacing_for(low: DVec3, high: DVec3, tree: &SurfaceTree, target_count: f64, [min, max]: [f64; 2]) -> f64 {
    const BISECTION_STEPS: usize = 20;
    let sampling = max / 2.0;
    let samples = points_inside(low, high, sampling, tree);
    let count = |spacing: f64| {
        let far = samples.iter().filter(|&&(_, distance)| distance >= MIN_SKIN_DISTANCE * spacing).count();
        far as f64 * (sampling / spacing).powi(3)
    };
    let (mut fine, mut coarse) = (min, max);
    for _ in 0..BISECTION_STEPS {
        let middle = fine.midpoint(coarse);
        *(if count(middle) > target_count { &mut fine } else { &mut coarse }) = middle;
    }
    fine.midpoint(coarse)
}

/// Points of a lattice inside the skin and their distances from it; empty if the lattice has too many cells.
fn points_inside(low: DVec3, high: DVec3, spacing: f64, tree: &SurfaceTree) -> Vec<(DVec3, f64)> {
    if !fits(low, high, spacing) {
        return Vec::new();
    }
    let [nx, ny, nz] = ((high - low) / spacing).ceil().to_array().map(|n| n as usize + 1);
    let jitter = |seed: u64| (scramble(seed) >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    let layer = |z: usize| -> Vec<(DVec3, f64)> {
        let mut found = Vec::new();
        // A point closer to the previous point than the skin is on the same side of the skin.
        let mut known: Option<(DVec3, f64, bool)> = None;
        for k in 0..2 * nx * ny {
            let (x, y, half) = (k / 2 % nx, k / 2 / nx, 0.5 * (k % 2) as f64);
            let seed = 3 * (z * 2 * nx * ny + k) as u64;
            let noise = DVec3::new(jitter(seed), jitter(seed + 1), jitter(seed + 2)) * 2e-3;
            let at = rounded(low + (DVec3::new(x as f64, y as f64, z as f64) + half + noise) * spacing);
            let shared = known.filter(|&(from, distance, _)| from.distance(at) < distance);
            if shared.is_some_and(|(_, _, inside)| !inside) {
                continue;
            }
            let distance = tree.distance(at, MAX_SEARCH_DISTANCE * spacing);
            let inside = shared.map_or_else(|| tree.is_inside(at), |(_, _, inside)| inside);
            known = Some((at, distance, inside));
            if inside {
                found.push((at, distance));
            }
        }
        found
    };
    (0..nz).into_par_iter().flat_map_iter(layer).collect()
}

/// Returns true if a lattice does not exceed the maximum number of cells.
pub(super) fn fits(low: DVec3, high: DVec3, spacing: f64) -> bool {
    ((high - low) / spacing).ceil().element_product() <= MAX_CELLS
}
