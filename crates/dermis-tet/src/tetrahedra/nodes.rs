//! Where nodes stand inside the body: along the bones at even intervals, and on a body-centred cubic lattice.
//!
//! The Delaunay tetrahedra of such a lattice are all alike, with dihedral angles of 60° and 90° only. Its points keep half a
//! spacing off the skin and most of one off the nodes of the bones. A jitter of a thousandth keeps the lattice
//! from being degenerate, where predicates are slow.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::cone::place;
use super::delaunay::scramble;
use dermis_mesh::surface_tree::SurfaceTree;

/// How near lattice points come to the skin, in spacings.
const FROM_SKIN: f64 = 0.5;
/// How near lattice points come to nodes of the bones, in spacings.
const FROM_BONES: f64 = 0.6;
/// How near nodes of the bones come to the skin, in intervals.
const BONES_FROM_SKIN: f64 = 0.15;
/// How far the skin is looked for, in spacings.
const MOST_DISTANCE: f64 = 6.0;
/// Nodes of one bone, at most.
const MOST_PER_BONE: f64 = 10_000.0;
/// Cells of the lattice, at most.
const MOST_CELLS: f64 = 2e7;

/// Nodes along the bones.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct BoneNodes {
    pub(super) positions: Vec<DVec3>,
    /// The nodes of each bone, in order from its head to its tail.
    pub(super) of_bones: Vec<Vec<u32>>,
    /// How many were left out, since they are outside the skin or almost on it.
    pub(super) left_out: usize,
}

/// Nodes along `bones`, about `interval` apart; bones that meet in a joint share its node.
pub(super) fn bone_nodes(bones: &[(Vec3, Vec3)], interval: f64, tree: &SurfaceTree) -> BoneNodes {
    let mut nodes = BoneNodes::default();
    for &(head, tail) in bones {
        let (head, tail) = (head.as_dvec3(), tail.as_dvec3());
        let parts = (head.distance(tail) / interval).round().clamp(1.0, MOST_PER_BONE) as usize;
        let mut own = Vec::new();
        for k in 0..=parts {
            let position = place(head.lerp(tail, k as f64 / parts as f64));
            if !tree.is_inside(position) || tree.distance(position, interval) < BONES_FROM_SKIN * interval {
                nodes.left_out += 1;
                continue;
            }
            // Two bones may run close to each other: one node serves both.
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

/// The points of a body-centred lattice inside the skin; cubes have sides of `spacing`.
pub(super) fn lattice_nodes(low: DVec3, high: DVec3, spacing: f64, tree: &SurfaceTree, bones: &[DVec3]) -> Vec<DVec3> {
    let off_bones = |at: DVec3| bones.iter().all(|bone| bone.distance(at) >= FROM_BONES * spacing);
    let inside = points_inside(low, high, spacing, tree).into_iter();
    inside.filter(|&(at, distance)| distance >= FROM_SKIN * spacing && off_bones(at)).map(|(at, _)| at).collect()
}

/// The spacing of a lattice with about `wanted` points, between `least` and `most`.
///
/// A lattice of spacing `s` has `2 V / s³` points, with `V` the volume that is far enough from the skin. Points of one
/// coarse lattice, with their distances, stand for that volume.
pub(super) fn spacing_for(low: DVec3, high: DVec3, tree: &SurfaceTree, wanted: f64, [least, most]: [f64; 2]) -> f64 {
    const HALVINGS: usize = 20;
    let sampling = most / 2.0;
    let samples = points_inside(low, high, sampling, tree);
    let count = |spacing: f64| {
        let far = samples.iter().filter(|&&(_, distance)| distance >= FROM_SKIN * spacing).count();
        far as f64 * (sampling / spacing).powi(3)
    };
    let (mut fine, mut coarse) = (least, most);
    for _ in 0..HALVINGS {
        let middle = fine.midpoint(coarse);
        *(if count(middle) > wanted { &mut fine } else { &mut coarse }) = middle;
    }
    fine.midpoint(coarse)
}

/// The points of a lattice inside the skin, and how far from it they are; none where it has too many cells.
fn points_inside(low: DVec3, high: DVec3, spacing: f64, tree: &SurfaceTree) -> Vec<(DVec3, f64)> {
    if !fits(low, high, spacing) {
        return Vec::new();
    }
    let [nx, ny, nz] = ((high - low) / spacing).ceil().to_array().map(|n| n as usize + 1);
    let jitter = |seed: u64| (scramble(seed) >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
    let layer = |z: usize| -> Vec<(DVec3, f64)> {
        let mut found = Vec::new();
        // The skin cannot be crossed within the distance to it: most points share the side of the one before.
        let mut known: Option<(DVec3, f64, bool)> = None;
        for k in 0..2 * nx * ny {
            let (x, y, half) = (k / 2 % nx, k / 2 / nx, 0.5 * (k % 2) as f64);
            let seed = 3 * (z * 2 * nx * ny + k) as u64;
            let noise = DVec3::new(jitter(seed), jitter(seed + 1), jitter(seed + 2)) * 2e-3;
            let at = place(low + (DVec3::new(x as f64, y as f64, z as f64) + half + noise) * spacing);
            let shared = known.filter(|&(from, distance, _)| from.distance(at) < distance);
            if shared.is_some_and(|(_, _, inside)| !inside) {
                continue;
            }
            let distance = tree.distance(at, MOST_DISTANCE * spacing);
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

/// Whether a lattice has few enough cells.
pub(super) fn fits(low: DVec3, high: DVec3, spacing: f64) -> bool {
    ((high - low) / spacing).ceil().element_product() <= MOST_CELLS
}
