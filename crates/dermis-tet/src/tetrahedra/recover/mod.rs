//! Boundary recovery: every edge and face of the skin becomes one of the tetrahedra, without a new point on the skin.
//!
//! 1. A missing edge is brought in by flips: faces that it crosses are flipped 2-3, edges near it are removed (n ring
//!    points, see [`super::edge_removal`]), whenever fewer faces are in its way afterwards. Where none gains, a bounded
//!    number of flips that leave as much in the way is taken by chance.
//! 2. A missing face whose edges are there is pierced by edges; these are removed alike.
//! 3. What flips cannot bring in is split at a new point, and its parts are recovered. The tetrahedra then conform to a
//!    skin with a few points too many. Splits of splits may go on for ever: their number and depth are bounded.
//! 4. After carving, [`super::suppress`] moves these points off the skin, into the body.
//!
//! Edges and faces that are there are never given up. The idea to split first and to push the points inwards
//! later is that of George, Borouchaki & Saltel 2003; all decisions are by exact predicates.

mod constraints;
mod crossing;

use std::collections::VecDeque;

use glam::DVec3;

pub(super) use constraints::{Constraints, Split};
use crossing::{Crossing, Missing, crossings, has_face, piercing_edges};

use super::complex::{Complex, NONE, Ring, sorted};
use super::delaunay::{conflicts, locate, scramble};
use super::edge_removal::{LARGEST_RING, best_triangulation, fan_pair, fans};
use super::predicates::orient;

/// Flips that one edge or face may take.
const MOST_FLIPS: usize = 200;
/// How many of them may leave as much in the way as before.
const MOST_WANDERS: usize = 60;
/// How many there may be in all, for any skin and per face.
const FEWEST_WANDERS: usize = 10_000;
const WANDERS_PER_FACE: usize = 5;
/// How often the parts of an edge or face may be split again: what resists that long would go on for ever.
const MOST_DEPTH: usize = 12;
/// Points that even a small skin may take.
const FEWEST_SPLITS: usize = 200;

/// How the recovery went.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Recovered {
    /// Edges of the skin that the Delaunay tetrahedra did not have.
    pub(super) missing_edges: usize,
    /// Faces of the skin that they still did not have when the edges were there.
    pub(super) missing_faces: usize,
    /// Points put on the skin.
    pub(super) splits: usize,
    /// Whether every part of the skin is there.
    pub(super) complete: bool,
}

/// Makes the skin's edges and faces those of `complex`, as far as that takes no more than a point per eight faces.
pub(super) fn recover(complex: &mut Complex, skin: &mut Constraints) -> Recovered {
    let faces = skin.faces().count();
    let mut recovery = Recovery {
        given: complex.points.len() as u32,
        complex,
        skin,
        result: Recovered::default(),
        most_splits: FEWEST_SPLITS + faces / 8,
        wanders_left: FEWEST_WANDERS + WANDERS_PER_FACE * faces,
        depths: Vec::new(),
    };
    let mut edges = recovery.skin.edges();
    for round in 0..=MOST_DEPTH {
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
    most_splits: usize,
    wanders_left: usize,
    /// How many points there were.
    given: u32,
    /// For each point put in, how many splits led to it.
    depths: Vec<usize>,
}

impl Recovery<'_> {
    /// Recovers edges, or splits them.
    fn recover_edges(&mut self, edges: Vec<[u32; 2]>, count: bool) {
        // A split may well help other edges, so what resists flips waits until all have had a try.
        let mut stubborn = VecDeque::new();
        for [a, c] in edges {
            if !self.is_missing([a, c]) {
                continue;
            }
            self.result.missing_edges += usize::from(count);
            if !self.flip_in(Missing::Edge([a, c])) {
                stubborn.push_back([a, c]);
            }
        }
        while let Some([a, c]) = stubborn.pop_front() {
            if !self.is_missing([a, c]) || self.flip_in(Missing::Edge([a, c])) {
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

    /// Recovers faces, or splits them; returns the edges that are new.
    fn recover_faces(&mut self, count: bool) -> Vec<[u32; 2]> {
        let faces: Vec<[u32; 3]> = self.skin.faces().collect();
        let mut new = Vec::new();
        let mut stubborn = Vec::new();
        for face in faces {
            if has_face(self.complex, face) {
                continue;
            }
            self.result.missing_faces += usize::from(count);
            if !self.flip_in(Missing::Face(face)) {
                stubborn.push(face);
            }
        }
        for face in stubborn {
            if has_face(self.complex, face) || self.flip_in(Missing::Face(face)) {
                continue;
            }
            let at = self.face_split_position(face);
            if let Some(point) = self.insert(at, &face) {
                new.extend(self.skin.split_face(face, point));
            }
        }
        new
    }

    /// About the middle of an edge: exact middles would meet each other in regular meshes.
    fn edge_split_position(&self, a: u32, c: u32) -> DVec3 {
        const SPREAD: f64 = 0.1;
        let random = (scramble(u64::from(a) << 32 | u64::from(c)) >> 11) as f64 / (1u64 << 53) as f64;
        self.complex.point(a).lerp(self.complex.point(c), 0.5 + SPREAD * (random - 0.5))
    }

    /// Flips until what is missing is there; whether that came about.
    ///
    /// Each flip leaves less in the way. Where none does, a few that leave as much may open the way for one that does.
    fn flip_in(&mut self, missing: Missing) -> bool {
        let mut wanders = 0;
        for _ in 0..MOST_FLIPS {
            if missing.is_there(self.complex) {
                return true;
            }
            if self.clear_way(missing) {
                continue;
            }
            if wanders == MOST_WANDERS || self.wanders_left == 0 || !self.wander(missing, wanders) {
                return false;
            }
            wanders += 1;
            self.wanders_left -= 1;
        }
        false
    }

    /// Makes one flip after which less is in the way.
    fn clear_way(&mut self, missing: Missing) -> bool {
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

    /// Makes a flip near what is missing that leaves no more in the way, which one is left to chance.
    fn wander(&mut self, missing: Missing, step: usize) -> bool {
        const WAYS: usize = 10;
        const EDGES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
        let near = self.near(missing);
        let ways = WAYS * near.len();
        let turn = scramble(step as u64 ^ scramble(u64::from(missing.corner()))) as usize % ways.max(1);
        (0..ways).map(|k| (k + turn) % ways).any(|k| {
            let tet = near[k / WAYS];
            match k % WAYS {
                slot @ 0..4 => self.flip_face(tet, slot, missing, 1.0),
                edge => self.remove_edge(EDGES[edge - 4].map(|corner| self.complex.tet(tet)[corner]), missing, 1.0),
            }
        })
    }

    /// The tetrahedra that are in the way.
    fn near(&mut self, missing: Missing) -> Vec<u32> {
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

    /// The 2-3 flip of a face, if it is possible and what is in the way becomes less, or at most grows by less than `slack`.
    fn flip_face(&mut self, tet: u32, slot: usize, missing: Missing, slack: f64) -> bool {
        let face = self.complex.face(tet, slot);
        let Some((old, new)) = self.complex.flip_2_3(tet, slot) else { return false };
        if self.skin.has_face(face) || new.iter().any(|&tet| self.complex.orient(tet) <= 0.0) {
            return false;
        }
        let complex = &*self.complex;
        let before = missing.by_face(complex, face);
        let [_, _, below, above] = new[0];
        let faces: f64 = new.iter().map(|&[corner, ..]| missing.by_face(complex, [below, above, corner])).sum();
        if faces + missing.by_edge(complex, below, above) >= before + slack {
            return false;
        }
        self.complex.replace(&old, &new);
        true
    }

    /// Removes an edge, if less is in the way afterwards, or at most more by less than `slack`.
    fn remove_edge(&mut self, [p, q]: [u32; 2], missing: Missing, slack: f64) -> bool {
        if self.skin.has_edge(p, q) {
            return false;
        }
        let Some(tet) = self.complex.tet_at_edge(p, q) else { return false };
        let Ring { points, tets, closed } = self.complex.ring(p, q, tet);
        let count = points.len();
        if !closed || !(3..=LARGEST_RING).contains(&count) {
            return false;
        }
        let complex = &*self.complex;
        let before =
            missing.by_edge(complex, p, q) + points.iter().map(|&r| missing.by_face(complex, [p, q, r])).sum::<f64>();
        let score = |triangle: [usize; 3]| {
            let corners = triangle.map(|k| points[k]);
            if fan_pair(p, q, corners).iter().any(|&tet| complex.orient(tet) <= 0.0) {
                return None;
            }
            let mut in_way = missing.by_face(complex, corners);
            let [i, _, k] = triangle;
            if !(i == 0 && k == count - 1) {
                let [r, _, s] = corners;
                in_way += missing.by_face(complex, [p, r, s]) + missing.by_face(complex, [q, r, s]);
                in_way += missing.by_edge(complex, r, s);
            }
            Some(-in_way)
        };
        match best_triangulation(count, score, |a, b| a + b, 0.0) {
            Some((triangles, score)) if -score < before + slack => {
                self.complex.replace(&tets, &fans(p, q, &points, &triangles));
                true
            }
            _ => false,
        }
    }

    /// Where an edge pierces the face, kept off its border; else its middle.
    fn face_split_position(&mut self, face: [u32; 3]) -> DVec3 {
        const FROM_BORDER: f64 = 0.15;
        let [a, b, c] = face.map(|corner| self.complex.point(corner));
        let Some(&[p, q]) = piercing_edges(self.complex, face).first() else { return (a + b + c) / 3.0 };
        let (p, q) = (self.complex.point(p), self.complex.point(q));
        // The volumes at the three edges are the barycentric coordinates of the point of intersection.
        let volumes = [orient(p, b, c, q), orient(p, c, a, q), orient(p, a, b, q)];
        let total: f64 = volumes.iter().sum();
        let weights = volumes.map(|v| (v / total).max(FROM_BORDER));
        let total: f64 = weights.iter().sum();
        (a * weights[0] + b * weights[1] + c * weights[2]) / total
    }

    /// Puts a new point between `corners` into the complex, without touching what has been recovered.
    fn insert(&mut self, position: DVec3, corners: &[u32]) -> Option<u32> {
        let depth_of = |&corner: &u32| corner.checked_sub(self.given).map_or(0, |added| self.depths[added as usize]);
        let depth = 1 + corners.iter().map(depth_of).max().unwrap_or(0);
        if self.result.splits >= self.most_splits || depth > MOST_DEPTH {
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

    /// The tetrahedra that contain `position`, inside or on a face.
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

    /// The core and the tetrahedra around it with `position` in their spheres, as far as it sees them.
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
        self.prune(&mut cavity, core.len(), position);
        cavity
    }

    /// Takes tetrahedra out of a cavity until all its faces are seen from `position`; the first `core` stay.
    fn prune(&mut self, cavity: &mut Vec<u32>, core: usize, position: DVec3) {
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

    /// Whether filling a cavity around one point keeps the skin's edges and faces and all points.
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
