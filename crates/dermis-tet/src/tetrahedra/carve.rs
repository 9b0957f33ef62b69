//! Carving: selection of the tetrahedra inside the body.
//!
//! If all faces of the skin are present, they divide the tetrahedra into regions that are entirely inside or outside,
//! classified by the winding number at the centre of the largest tetrahedron. If faces are missing, each tetrahedron is
//! classified at its own centre.

use glam::DVec3;
use rayon::prelude::*;

use super::complex::{Complex, NONE};
use super::recover::Constraints;
use dermis_mesh::surface_tree::SurfaceTree;

/// Returns the tetrahedra inside. `by_region` requires a completely recovered skin.
pub(super) fn carve(complex: &Complex, skin: &Constraints, tree: &SurfaceTree, by_region: bool) -> Vec<[u32; 4]> {
    let alive: Vec<u32> = complex.alive().collect();
    let inside: Vec<bool> = if by_region {
        inside_by_region(complex, skin, tree)
    } else {
        let mut inside = vec![false; complex.tets.len()];
        let classified: Vec<bool> = alive.par_iter().map(|&tet| tree.is_inside(center(complex, tet))).collect();
        for (&tet, classified) in alive.iter().zip(classified) {
            inside[tet as usize] = classified;
        }
        inside
    };
    alive.into_iter().filter(|&tet| inside[tet as usize]).map(|tet| complex.tet(tet)).collect()
}

fn center(complex: &Complex, tet: u32) -> DVec3 {
    complex.tet(tet).iter().map(|&corner| complex.point(corner)).sum::<DVec3>() / 4.0
}

fn inside_by_region(complex: &Complex, skin: &Constraints, tree: &SurfaceTree) -> Vec<bool> {
    let mut inside = vec![false; complex.tets.len()];
    let mut seen = vec![false; complex.tets.len()];
    for first in complex.alive() {
        if seen[first as usize] {
            continue;
        }
        seen[first as usize] = true;
        let mut region = vec![first];
        let mut next = 0;
        while let Some(&tet) = region.get(next) {
            next += 1;
            for slot in 0..4 {
                let neighbour = complex.neighbour(tet, slot);
                if neighbour != NONE && !seen[neighbour as usize] && !skin.has_face(complex.face(tet, slot)) {
                    seen[neighbour as usize] = true;
                    region.push(neighbour);
                }
            }
        }
        let volume = |tet: u32| complex.orient(complex.tet(tet));
        let largest = region.iter().copied().max_by(|&a, &b| volume(a).total_cmp(&volume(b))).unwrap_or(first);
        if tree.is_inside(center(complex, largest)) {
            for tet in region {
                inside[tet as usize] = true;
            }
        }
    }
    inside
}
