//! Carving: which tetrahedra are the body.
//!
//! Where every face of the skin is there, these faces part the tetrahedra into regions, each of which is inside or
//! outside as a whole; the winding number at its largest tetrahedron tells which. Where faces are missing, each
//! tetrahedron is judged at its own centre.

use glam::DVec3;
use rayon::prelude::*;

use super::complex::{Complex, NONE};
use super::recover::Constraints;
use dermis_mesh::surface_tree::SurfaceTree;

/// The tetrahedra inside; with `by_region` the skin must be recovered completely.
pub(super) fn carve(complex: &Complex, skin: &Constraints, tree: &SurfaceTree, by_region: bool) -> Vec<[u32; 4]> {
    let alive: Vec<u32> = complex.alive().collect();
    let inside: Vec<bool> = if by_region {
        inside_by_region(complex, skin, tree)
    } else {
        let mut inside = vec![false; complex.tets.len()];
        let judged: Vec<bool> = alive.par_iter().map(|&tet| tree.is_inside(centre(complex, tet))).collect();
        for (&tet, judged) in alive.iter().zip(judged) {
            inside[tet as usize] = judged;
        }
        inside
    };
    alive.into_iter().filter(|&tet| inside[tet as usize]).map(|tet| complex.tet(tet)).collect()
}

fn centre(complex: &Complex, tet: u32) -> DVec3 {
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
        if tree.is_inside(centre(complex, largest)) {
            for tet in region {
                inside[tet as usize] = true;
            }
        }
    }
    inside
}
