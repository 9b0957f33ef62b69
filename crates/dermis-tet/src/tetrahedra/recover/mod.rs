//! Boundary recovery: makes every edge and face of the skin an edge or face of the tetrahedra.
//!
//! 1. A missing edge is recovered by flips: faces that it crosses are flipped 2-3 and nearby edges are removed (see
//!    [`super::edge_removal`]) if that reduces the number of obstructing faces. If no flip does, a bounded number of random
//!    flips that do not increase it is made.
//! 2. A missing face whose edges are present is pierced by edges, which are removed in the same way.
//! 3. Edges and faces that flips cannot recover are split at a Steiner point, and their parts are recovered. The tetrahedra
//!    then conform to a skin with a few additional points. The number and depth of splits are bounded.
//! 4. After carving, [`super::suppress`] moves the Steiner points from the skin into the body.
//!
//! Recovered edges and faces are never removed again. Splitting first and moving the points inwards later follows George,
//! Borouchaki & Saltel 2003. All decisions use exact predicates.

mod constraints;
mod crossing;

use std::collections::VecDeque;

use glam::DVec3;

pub(super) use constraints::{Constraints, Split};
use crossing::{Crossing, Missing, crossings, has_face, piercing_edges};

use super::complex::{Complex, NONE, Ring, sorted};
use super::delaunay::{conflicts, locate, scramble};
use super::edge_removal::{MAX_RING, best_triangulation, fan_pair, fans};
use super::predicates::orient;

/// Maximum number of flips per edge or face.
const MAX_FLIPS: usize = 200;
/// Maximum number of random flips per edge or face.
const MAX_RANDOM_FLIPS: usize = 60;
/// Budget of random flips for any skin.
const BASE_RANDOM_FLIPS: usize = 10_000;
/// Additional budget of random flips per face of the skin.
const RANDOM_FLIPS_PER_FACE: usize = 5;
/// Maximum depth of repeated splits. Parts that are still missing at this depth would not be recovered by more splits.
const MAX_DEPTH: usize = 12;
/// Budget of splits for any skin.
const BASE_SPLITS: usize = 200;

/// Result of the recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Recovered {
    /// Number of skin edges that the Delaunay tetrahedra did not contain.
    pub(super) missing_edges: usize,
    /// Number of skin faces that were missing after all edges were recovered.
    pub(super) missing_faces: usize,
    /// Number of Steiner points on the skin.
    pub(super) splits: usize,
    /// True if all edges and faces of the skin are present.
    pub(super) complete: bool,
}

/// Recovers the edges and faces of the skin in `complex`, with at most about one Steiner point per eight faces.
pub(super) fn recover(complex: &mut Complex, skin: &mut Constraints) -> Recovered {
    let faces = skin.faces().count();
    let mut recovery = Recovery {
        given: complex.points.len() as u32,
        complex,
        skin,
        result: Recovered::default(),
        max_splits: BASE_SPLITS + faces / 8,
        random_flips_left: BASE_RANDOM_FLIPS + RANDOM_FLIPS_PER_FACE * faces,
        depths: Vec::new(),
    };
    let mut edges = recovery.skin.edges();
    for round in 0..=MAX_DEPTH {
        recovery.recover_edges(edges, round == 0);
        edges = recovery.recover_faces(round == 0);
        if edges.is_empty() {
            break;
        }
    }
    let Recovery { complex, skin, mut result, .. } = recovery;
    result.complete = skin.faces().all(|face| has_face(complex, face));
    result
}

struct Recovery<'a> {
    complex: &'a mut Complex,
    skin: &'a mut Constraints,
    result: Recovered,
    max_splits: usize,
    random_flips_left: usize,
    /// Number of points before the recovery.
    given: u32,
    /// Split depth of each Steiner point.
    depths: Vec<usize>,
}

impl Recovery<'_> {
    /// Recovers edges by flips or splits.
    fn recover_edges(&mut self, edges: Vec<[u32; 2]>, count: bool) {
        // Splits can help other edges, so that flips are tried for all edges first.
        let mut stubborn = VecDeque::new();
        for [a, c] in edges {
            if !self.is_missing([a, c]) {
                continue;
            }
            self.result.missing_edges += usize::from(count);
            if !self.recover_by_flips(Missing::Edge([a, c])) {
                stubborn.push_back([a, c]);
            }
        }
        while let Some([a, c]) = stubborn.pop_front() {
            if !self.is_missing([a, c]) || self.recover_by_flips(Missing::Edge([a, c])) {
                continue;
            }
            if let Some(point) = self.insert(self.edge_split_position(a, c), &[a, c]) {
                stubborn.extend(self.skin.split_edge([a, c], point));
            }
        }
    }

    fn is_missing(&mut self, [a, c]: [u32; 2]) -> bool {
        self.skin.has_edge(a, c) && self.complex.tet_at_edge(a, c).is_none()
    }

    /// Recovers faces by flips or splits; returns the new edges.
    fn recover_faces(&mut self, count: bool) -> Vec<[u32; 2]> {
        let faces: Vec<[u32; 3]> = self.skin.faces().collect();
        let mut new = Vec::new();
        let mut stubborn = Vec::new();
        for face in faces {
            if has_face(self.complex, face) {
                continue;
            }
            self.result.missing_faces += usize::from(count);
            if !self.recover_by_flips(Missing::Face(face)) {
                stubborn.push(face);
            }
        }
        for face in stubborn {
            if has_face(self.complex, face) || self.recover_by_flips(Missing::Face(face)) {
                continue;
            }
            let at = self.face_split_position(face);
            if let Some(point) = self.insert(at, &face) {
                new.extend(self.skin.split_face(face, point));
            }
        }
        new
    }

    /// Random position near the middle of an edge. Exact midpoints would coincide in regular meshes.
    fn edge_split_position(&self, a: u32, c: u32) -> DVec3 {
        const SPREAD: f64 = 0.1;
        let random = (scramble(u64::from(a) << 32 | u64::from(c)) >> 11) as f64 / (1u64 << 53) as f64;
        self.complex.point(a).lerp(self.complex.point(c), 0.5 + SPREAD * (random - 0.5))
    }

    /// Flips until the missing edge or face is present; returns true on success.
    ///
    /// Each flip reduces the number of obstructions. If none does, a few random flips that keep it can enable one that
    /// does.
    fn recover_by_flips(&mut self, missing: Missing) -> bool {
        let mut random_flips = 0;
        for _ in 0..MAX_FLIPS {
            if missing.is_recovered(self.complex) {
                return true;
            }
            if self.reducing_flip(missing) {
                continue;
            }
            if random_flips == MAX_RANDOM_FLIPS
                || self.random_flips_left == 0
                || !self.random_flip(missing, random_flips)
            {
                return false;
            }
            random_flips += 1;
            self.random_flips_left -= 1;
        }
        false
    }

    /// Makes one flip that reduces the number of obstructions.
    fn reducing_flip(&mut self, missing: Missing) -> bool {
        let mut edges: Vec<[u32; 2]> = Vec::new();
        match missing {
            Missing::Face(face) => edges = piercing_edges(self.complex, face),
            Missing::Edge([a, c]) => {
                let crossed = crossings(self.complex, a, c);
                for &crossing in &crossed {
                    match crossing {
                        Crossing::Edge(edge) => edges.push(edge),
                        Crossing::Face { tet, slot } => {
                            if self.flip_face(tet, slot, missing, 0.0) {
                                return true;
                            }
                        }
                    }
                }
                for &crossing in &crossed {
                    if let Crossing::Face { tet, slot } = crossing {
                        let [p, q, r] = self.complex.face(tet, slot);
                        edges.extend([sorted([p, q]), sorted([q, r]), sorted([r, p])]);
                    }
                }
            }
        }
        let mut tried = Vec::new();
        edges.into_iter().any(|edge| {
            let new = !tried.contains(&edge);
            tried.push(edge);
            new && self.remove_edge(edge, missing, 0.0)
        })
    }

    /// Makes a random flip near the missing edge or face that does not increase the number of obstructions.
    fn random_flip(&mut self, missing: Missing, step: usize) -> bool {
        /// Four faces and six edges.
        const FLIPS_PER_TET: usize = 10;
        const EDGES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
        let near = self.obstructing_tets(missing);
        let count = FLIPS_PER_TET * near.len();
        let first = scramble(step as u64 ^ scramble(u64::from(missing.corner()))) as usize % count.max(1);
        (0..count).map(|k| (k + first) % count).any(|k| {
            let tet = near[k / FLIPS_PER_TET];
            match k % FLIPS_PER_TET {
                slot @ 0..4 => self.flip_face(tet, slot, missing, 1.0),
                edge => self.remove_edge(EDGES[edge - 4].map(|corner| self.complex.tet(tet)[corner]), missing, 1.0),
            }
        })
    }

    /// Tetrahedra that obstruct a missing edge or face, ascending.
    fn obstructing_tets(&mut self, missing: Missing) -> Vec<u32> {
        let mut near = Vec::new();
        let mut edges = Vec::new();
        match missing {
            Missing::Face(face) => edges = piercing_edges(self.complex, face),
            Missing::Edge([a, c]) => {
                for crossing in crossings(self.complex, a, c) {
                    match crossing {
                        Crossing::Edge(edge) => edges.push(edge),
                        Crossing::Face { tet, slot } => near.extend([tet, self.complex.neighbour(tet, slot)]),
                    }
                }
            }
        }
        for [p, q] in edges {
            if let Some(tet) = self.complex.tet_at_edge(p, q) {
                near.extend(self.complex.ring(p, q, tet).tets);
            }
        }
        near.retain(|&tet| tet != NONE);
        near.sort_unstable();
        near.dedup();
        near
    }

    /// Makes the 2-3 flip of a face if it is valid and the number of obstructions grows by less than `slack`.
    fn flip_face(&mut self, tet: u32, slot: usize, missing: Missing, slack: f64) -> bool {
        let face = self.complex.face(tet, slot);
        let Some((old, new)) = self.complex.flip_2_3(tet, slot) else { return false };
        if self.skin.has_face(face) || new.iter().any(|&tet| self.complex.orient(tet) <= 0.0) {
            return false;
        }
        let complex = &*self.complex;
        let before = missing.obstructed_by_face(complex, face);
        let [_, _, below, above] = new[0];
        let faces: f64 =
            new.iter().map(|&[corner, ..]| missing.obstructed_by_face(complex, [below, above, corner])).sum();
        if faces + missing.obstructed_by_edge(complex, below, above) >= before + slack {
            return false;
        }
        self.complex.replace(&old, &new);
        true
    }

    /// Removes an edge if that is valid and the number of obstructions grows by less than `slack`.
    fn remove_edge(&mut self, [p, q]: [u32; 2], missing: Missing, slack: f64) -> bool {
        if self.skin.has_edge(p, q) {
            return false;
        }
        let Some(tet) = self.complex.tet_at_edge(p, q) else { return false };
        let Ring { points, tets, closed } = self.complex.ring(p, q, tet);
        let count = points.len();
        if !closed || !(3..=MAX_RING).contains(&count) {
            return false;
        }
        let complex = &*self.complex;
        let before = missing.obstructed_by_edge(complex, p, q)
            + points.iter().map(|&r| missing.obstructed_by_face(complex, [p, q, r])).sum::<f64>();
        let score = |triangle: [usize; 3]| {
            let corners = triangle.map(|k| points[k]);
            if fan_pair(p, q, corners).iter().any(|&tet| complex.orient(tet) <= 0.0) {
                return None;
            }
            let mut obstructions = missing.obstructed_by_face(complex, corners);
            let [i, _, k] = triangle;
            if !(i == 0 && k == count - 1) {
                let [r, _, s] = corners;
                obstructions +=
                    missing.obstructed_by_face(complex, [p, r, s]) + missing.obstructed_by_face(complex, [q, r, s]);
                obstructions += missing.obstructed_by_edge(complex, r, s);
            }
            Some(-obstructions)
        };
        match best_triangulation(count, score, |a, b| a + b, 0.0) {
            Some((triangles, score)) if -score < before + slack => {
                self.complex.replace(&tets, &fans(p, q, &points, &triangles));
                true
            }
            _ => false,
        }
    }

    /// Position at which an edge pierces the face, moved away from its boundary; the centre if no edge does.
    fn face_split_position(&mut self, face: [u32; 3]) -> DVec3 {
        const MIN_COORDINATE: f64 = 0.15;
        let [a, b, c] = face.map(|corner| self.complex.point(corner));
        let Some(&[p, q]) = piercing_edges(self.complex, face).first() else { return (a + b + c) / 3.0 };
        let (p, q) = (self.complex.point(p), self.complex.point(q));
        // The volumes at the three edges are proportional to the barycentric coordinates of the intersection.
        let volumes = [orient(p, b, c, q), orient(p, c, a, q), orient(p, a, b, q)];
        let total: f64 = volumes.iter().sum();
        let weights = volumes.map(|v| (v / total).max(MIN_COORDINATE));
        let total: f64 = weights.iter().sum();
        (a * weights[0] + b * weights[1] + c * weights[2]) / total
    }

    /// Inserts a Steiner point between `corners` without removing recovered edges and faces.
    fn insert(&mut self, position: DVec3, corners: &[u32]) -> Option<u32> {
        let depth_of = |&corner: &u32| corner.checked_sub(self.given).map_or(0, |added| self.depths[added as usize]);
        let depth = 1 + corners.iter().map(depth_of).max().unwrap_or(0);
        if self.result.splits >= self.max_splits || depth > MAX_DEPTH {
            return None;
        }
        let from = self.complex.tet_of[corners[0] as usize];
        let containing = locate(self.complex, position, from)?;
        if self.complex.tet(containing).iter().any(|&corner| self.complex.point(corner) == position) {
            return None;
        }
        let core = self.core(containing, position);
        let mut cavity = self.grown(&core, position);
        if !self.keeps_skin(&cavity) {
            cavity.clone_from(&core);
            if !self.keeps_skin(&cavity) {
                return None;
            }
        }
        let point = self.complex.add_point(position);
        let new = self.complex.cone(&cavity, point);
        self.complex.replace(&cavity, &new);
        self.result.splits += 1;
        self.depths.push(depth);
        Some(point)
    }

    /// Tetrahedra that contain `position`, inside or on a face.
    fn core(&mut self, containing: u32, position: DVec3) -> Vec<u32> {
        self.complex.clear_marks();
        self.complex.set_mark(containing);
        let mut core = vec![containing];
        let mut next = 0;
        while let Some(&tet) = core.get(next) {
            next += 1;
            for slot in 0..4 {
                let [a, b, c] = self.complex.face(tet, slot).map(|corner| self.complex.point(corner));
                let neighbour = self.complex.neighbour(tet, slot);
                if neighbour != NONE && !self.complex.is_marked(neighbour) && orient(a, b, c, position) == 0.0 {
                    self.complex.set_mark(neighbour);
                    core.push(neighbour);
                }
            }
        }
        core
    }

    /// The core and the surrounding tetrahedra that are visible from `position` and whose circumspheres contain it.
    fn grown(&mut self, core: &[u32], position: DVec3) -> Vec<u32> {
        self.complex.clear_marks();
        for &tet in core {
            self.complex.set_mark(tet);
        }
        let mut cavity = core.to_vec();
        let mut next = 0;
        while let Some(&tet) = cavity.get(next) {
            next += 1;
            for slot in 0..4 {
                let neighbour = self.complex.neighbour(tet, slot);
                if neighbour != NONE
                    && !self.complex.is_marked(neighbour)
                    && !self.skin.has_face(self.complex.face(tet, slot))
                    && conflicts(self.complex, neighbour, position)
                {
                    self.complex.set_mark(neighbour);
                    cavity.push(neighbour);
                }
            }
        }
        self.drop_hidden(&mut cavity, core.len(), position);
        cavity
    }

    /// Drops tetrahedra from a cavity until all its faces are visible from `position`; the first `core` are kept.
    fn drop_hidden(&mut self, cavity: &mut Vec<u32>, core: usize, position: DVec3) {
        loop {
            let hidden = cavity[core..].iter().rposition(|&tet| {
                (0..4).any(|slot| {
                    let neighbour = self.complex.neighbour(tet, slot);
                    let outer = neighbour == NONE || !self.complex.is_marked(neighbour);
                    let [a, b, c] = self.complex.face(tet, slot).map(|corner| self.complex.point(corner));
                    outer && orient(a, b, c, position) <= 0.0
                })
            });
            let Some(hidden) = hidden else { return };
            let tet = cavity.remove(core + hidden);
            self.complex.unset_mark(tet);
        }
    }

    /// Returns true if filling a cavity around one point keeps all points and all edges and faces of the skin.
    fn keeps_skin(&mut self, cavity: &[u32]) -> bool {
        self.complex.clear_marks();
        for &tet in cavity {
            self.complex.set_mark(tet);
        }
        let complex = &*self.complex;
        let mut outer_edges = Vec::new();
        for &tet in cavity {
            for slot in 0..4 {
                let face = complex.face(tet, slot);
                let neighbour = complex.neighbour(tet, slot);
                if neighbour == NONE || !complex.is_marked(neighbour) {
                    outer_edges.extend([[face[0], face[1]], [face[1], face[2]], [face[2], face[0]]].map(sorted));
                } else if self.skin.has_face(face) {
                    return false;
                }
            }
        }
        outer_edges.sort_unstable();
        outer_edges.dedup();
        let is_outer = |edge: [u32; 2]| outer_edges.binary_search(&sorted(edge)).is_ok();
        cavity.iter().all(|&tet| {
            let t = complex.tet(tet);
            let edges = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]].map(|[i, j]: [usize; 2]| [t[i], t[j]]);
            let on_outside = |corner: &u32| outer_edges.iter().any(|edge| edge.contains(corner));
            edges.into_iter().all(|edge| is_outer(edge) || !self.skin.has_edge(edge[0], edge[1]))
                && t.iter().all(on_outside)
        })
    }
}
