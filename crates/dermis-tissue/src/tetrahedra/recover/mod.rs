//! Boundary recovery: every edge and face of the skin becomes one of the tetrahedra, without a new point on the skin.
//!
//! 1. A missing edge is brought in by flips: faces that it crosses are flipped 2-3, edges near it are removed (n ring
//!    points, see [`super::edge_removal`]), whenever fewer faces are in its way afterwards.
//! 2. A missing face whose edges are there is pierced by edges; these are removed alike.
//! 3. What flips cannot bring in is split at a new point, and its parts are recovered. Shorter edges and smaller faces are
//!    nearer to Delaunay, so this ends. The tetrahedra now conform to a skin with a few points too many.
//! 4. After carving, [`super::suppress`] moves these points off the skin, into the body.
//!
//! Edges and faces that are there are never given up. The idea to split first and to push the points inwards
//! later is that of George, Borouchaki & Saltel 2003; all decisions are by exact predicates.

mod constraints;
mod crossing;

use glam::DVec3;

pub(super) use constraints::{Constraints, Split};
use crossing::{Crossing, crossings, meets, piercing_edges};

use super::complex::{Complex, NONE, Ring, sorted};
use super::delaunay::{conflicts, locate, scramble};
use super::edge_removal::{LARGEST_RING, best_triangulation, fan_pair, fans};
use super::predicates::orient;

/// Flips that one edge or face may take.
const MOST_FLIPS: usize = 200;

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

/// Makes the skin's edges and faces those of `complex`, splitting at most `most_splits` of them.
pub(super) fn recover(complex: &mut Complex, skin: &mut Constraints, most_splits: usize) -> Recovered {
    let mut recovery = Recovery { complex, skin, result: Recovered::default(), most_splits };
    let mut edges = recovery.skin.edges();
    let mut faces: Vec<[u32; 3]> = recovery.skin.faces().collect();
    let mut round = 0;
    loop {
        recovery.recover_edges(edges, round == 0);
        edges = recovery.recover_faces(&faces, round == 0);
        if edges.is_empty() || recovery.result.splits >= most_splits {
            break;
        }
        faces = recovery.skin.faces().collect();
        round += 1;
    }
    let Recovery { complex, skin, mut result, .. } = recovery;
    result.complete = skin.faces().all(|face| has_face(complex, face));
    result
}

/// Whether a tetrahedron has this face.
pub(super) fn has_face(complex: &mut Complex, [a, b, c]: [u32; 3]) -> bool {
    complex.star(a).into_iter().any(|tet| {
        let corners = complex.tet(tet);
        corners.contains(&b) && corners.contains(&c)
    })
}

struct Recovery<'a> {
    complex: &'a mut Complex,
    skin: &'a mut Constraints,
    result: Recovered,
    most_splits: usize,
}

impl Recovery<'_> {
    /// Recovers edges, or splits them.
    fn recover_edges(&mut self, mut edges: Vec<[u32; 2]>, count: bool) {
        edges.reverse();
        // Splitting may well help the edges that come later, so what resists flips waits until all have had a try.
        let mut stubborn = Vec::new();
        while let Some([a, c]) = edges.pop() {
            if !self.skin.has_edge(a, c) || self.complex.tet_at_edge(a, c).is_some() {
                continue;
            }
            self.result.missing_edges += usize::from(count);
            if !self.flip_edge_in(a, c) {
                stubborn.push([a, c]);
            }
        }
        stubborn.reverse();
        while let Some([a, c]) = stubborn.pop() {
            if !self.skin.has_edge(a, c) || self.complex.tet_at_edge(a, c).is_some() || self.flip_edge_in(a, c) {
                continue;
            }
            if let Some(point) = self.insert(self.edge_split_position(a, c), a) {
                stubborn.extend(self.skin.split_edge([a, c], point));
            }
        }
    }

    /// Recovers faces, or splits them; returns the edges that are new.
    fn recover_faces(&mut self, faces: &[[u32; 3]], count: bool) -> Vec<[u32; 2]> {
        let mut new = Vec::new();
        let mut stubborn = Vec::new();
        for &face in faces {
            if has_face(self.complex, face) {
                continue;
            }
            self.result.missing_faces += usize::from(count);
            if !self.flip_face_in(face) {
                stubborn.push(face);
            }
        }
        for face in stubborn {
            if has_face(self.complex, face) || self.flip_face_in(face) {
                continue;
            }
            let at = self.face_split_position(face);
            if let Some(point) = self.insert(at, face[0]) {
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

    /// Flips until the edge from `a` to `c` is there; whether that came about.
    fn flip_edge_in(&mut self, a: u32, c: u32) -> bool {
        for _ in 0..MOST_FLIPS {
            if self.complex.tet_at_edge(a, c).is_some() {
                return true;
            }
            if !self.clear_way(a, c) {
                return false;
            }
        }
        false
    }

    /// Makes one flip after which fewer faces are in the way from `a` to `c`.
    fn clear_way(&mut self, a: u32, c: u32) -> bool {
        let crossed = crossings(self.complex, a, c);
        let mut edges: Vec<[u32; 2]> = Vec::new();
        for &crossing in &crossed {
            match crossing {
                Crossing::Edge(edge) => edges.push(edge),
                Crossing::Face { tet, slot } => {
                    if self.flip_face(tet, slot, |complex, face| meets(complex, a, c, face)) {
                        return true;
                    }
                }
            }
        }
        for &crossing in &crossed {
            if let Crossing::Face { tet, slot } = crossing {
                let [p, q, r] = self.complex.face(tet, slot);
                edges.extend([[p, q], [q, r], [r, p]]);
            }
        }
        let mut tried = Vec::new();
        edges.into_iter().any(|[p, q]| {
            let key = sorted([p, q]);
            if tried.contains(&key) {
                return false;
            }
            tried.push(key);
            self.remove_edge(p, q, |complex, face| meets(complex, a, c, face), |_, _, _| false)
        })
    }

    /// The 2-3 flip of a face, if it is possible and none of the new faces is in the way.
    fn flip_face(&mut self, tet: u32, slot: usize, in_way: impl Fn(&Complex, [u32; 3]) -> bool) -> bool {
        let face = self.complex.face(tet, slot);
        let Some((old, new)) = self.complex.flip_2_3(tet, slot) else { return false };
        if self.skin.has_face(face) || new.iter().any(|&tet| self.complex.orient(tet) <= 0.0) {
            return false;
        }
        if new.iter().any(|&[corner, _, below, above]| in_way(self.complex, [below, above, corner])) {
            return false;
        }
        self.complex.replace(&old, &new);
        true
    }

    /// Removes an edge, if fewer faces and edges are in the way afterwards.
    fn remove_edge(
        &mut self,
        p: u32,
        q: u32,
        face_in_way: impl Fn(&Complex, [u32; 3]) -> bool,
        edge_in_way: impl Fn(&Complex, u32, u32) -> bool,
    ) -> bool {
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
        let faces_before = points.iter().filter(|&&r| face_in_way(complex, [p, q, r])).count();
        let before = faces_before as f64 + f64::from(u8::from(edge_in_way(complex, p, q)));
        let score = |triangle: [usize; 3]| {
            let corners = triangle.map(|k| points[k]);
            if fan_pair(p, q, corners).iter().any(|&tet| complex.orient(tet) <= 0.0) {
                return None;
            }
            let mut in_way = u8::from(face_in_way(complex, corners));
            let [i, _, k] = triangle;
            if !(i == 0 && k == count - 1) {
                let [r, _, s] = corners;
                in_way += u8::from(face_in_way(complex, [p, r, s])) + u8::from(face_in_way(complex, [q, r, s]));
                in_way += u8::from(edge_in_way(complex, r, s));
            }
            Some(-f64::from(in_way))
        };
        match best_triangulation(count, score, |a, b| a + b, 0.0) {
            Some((triangles, score)) if -score < before => {
                self.complex.replace(&tets, &fans(p, q, &points, &triangles));
                true
            }
            _ => false,
        }
    }

    /// Removes the edges that pierce a face until it is there; whether that came about.
    fn flip_face_in(&mut self, face: [u32; 3]) -> bool {
        for _ in 0..MOST_FLIPS {
            if has_face(self.complex, face) {
                return true;
            }
            let pierces = |complex: &Complex, p: u32, q: u32| meets(complex, p, q, face);
            let piercing = piercing_edges(self.complex, face);
            if !piercing.into_iter().any(|[p, q]| self.remove_edge(p, q, |_, _| false, pierces)) {
                return false;
            }
        }
        false
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

    /// Puts a new point into the complex, without touching what has been recovered.
    fn insert(&mut self, position: DVec3, near: u32) -> Option<u32> {
        if self.result.splits >= self.most_splits {
            return None;
        }
        let from = self.complex.tet_of[near as usize];
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
