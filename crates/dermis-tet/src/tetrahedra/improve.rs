//! Improvement of tetrahedra: local changes increase the smallest sine of the dihedral angles.
//!
//! The worst tetrahedra are processed first. Around each, edges are removed, faces are flipped 2-3, and free points are
//! moved, collapsed or inserted. A change is kept if the worst affected tetrahedron improves (hill climbing as in
//! Freitag & Ollivier-Gooch 1997 and Klingner & Shewchuk 2007). Faces of the skin and fixed nodes do not change.

use std::collections::HashSet;

use glam::DVec3;

use super::complex::{Complex, NONE, Ring};
use super::cone::{Cone, rounded};
use super::delaunay::conflicts;
use super::edge_removal::{MAX_RING, best_triangulation, fan_pair, fans};
use super::predicates::orient;
use super::quality::smallest_sine;

/// Minimum improvement of a change, which guarantees termination.
const MIN_GAIN: f64 = 1e-4;
/// Quality, relative to the goal, at which the position of a point is not improved further.
const SUFFICIENT_QUALITY: f64 = 1.5;

/// Options of [`improve`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ImproveOptions {
    /// Sine below which tetrahedra are improved.
    pub(super) goal: f64,
    /// Sine below which points are inserted into tetrahedra that cannot be improved otherwise.
    pub(super) insert_below: f64,
    /// Maximum number of passes.
    pub(super) passes: usize,
}

/// Improves `complex`. `free` marks points that can be moved or removed; inserted points are free.
pub(super) fn improve(complex: &mut Complex, free: &mut Vec<bool>, options: &ImproveOptions) {
    let mut improver = Improver::new(complex, free, options.goal, options.insert_below);
    let max_points = improver.complex.points.len() * 2;
    for pass in 0..options.passes {
        improver.moved.clear();
        let bad = improver.below(options.goal);
        let mut changes = 0;
        for (_, tet, corners) in bad {
            if improver.complex.tet(tet) == corners
                && improver.is_new(tet, Attempt::Change)
                && improver.improve_around(tet, corners, pass)
            {
                changes += 1;
            }
        }
        let stubborn = if pass > 0 { improver.below(options.insert_below) } else { Vec::new() };
        for (_, tet, corners) in stubborn {
            if improver.complex.tet(tet) == corners
                && improver.is_new(tet, Attempt::Insert)
                && improver.complex.points.len() < max_points
                && improver.insert_at(tet)
            {
                changes += 1;
            }
        }
        if changes == 0 {
            break;
        }
    }
}

/// Collapses each of `points` onto a neighbour if no tetrahedron gets worse than `goal` or than the previous worst, and
/// returns the number of removed points.
pub(super) fn remove_points(complex: &mut Complex, free: &mut Vec<bool>, points: &[u32], goal: f64) -> usize {
    let mut improver = Improver::new(complex, free, goal, goal);
    points.iter().filter(|&&point| improver.collapse(point, Some(goal))).count()
}

/// Rounds the points after the first `fixed` to stored precision, except points that would invert a tetrahedron.
pub(super) fn round_positions(complex: &mut Complex, fixed: usize) {
    for point in fixed..complex.points.len() {
        let before = complex.points[point];
        let star = if rounded(before) == before { Vec::new() } else { complex.star(point as u32) };
        complex.points[point] = rounded(before);
        if star.iter().any(|&tet| complex.orient(complex.tet(tet)) <= 0.0) {
            complex.points[point] = before;
        }
    }
}

struct Improver<'a> {
    complex: &'a mut Complex,
    free: &'a mut Vec<bool>,
    goal: f64,
    urgent_below: f64,
    /// Points moved in this pass. They are not moved again unless one of their tetrahedra is below `urgent_below`.
    moved: HashSet<u32>,
    /// Number of changes, used as a time stamp.
    clock: u32,
    /// Time of the last change at each point.
    changed: Vec<u32>,
    /// Time of the last attempt at each tetrahedron, by kind. Attempts are repeated only after a change nearby.
    tried: [Vec<u32>; 2],
}

/// Kind of an attempt.
#[derive(Clone, Copy)]
enum Attempt {
    Change,
    Insert,
}

impl<'a> Improver<'a> {
    fn new(complex: &'a mut Complex, free: &'a mut Vec<bool>, goal: f64, urgent_below: f64) -> Self {
        let moved = HashSet::new();
        let tried = [Vec::new(), Vec::new()];
        Self { complex, free, goal, urgent_below, moved, clock: 1, changed: Vec::new(), tried }
    }

    /// Returns true if a tetrahedron has changed since the last attempt, and records a new attempt.
    fn is_new(&mut self, tet: u32, attempt: Attempt) -> bool {
        self.changed.resize(self.complex.points.len(), 1);
        let tried = &mut self.tried[attempt as usize];
        tried.resize(self.complex.tets.len(), 0);
        let last = std::mem::replace(&mut tried[tet as usize], self.clock);
        self.complex.tet(tet).iter().any(|&corner| self.changed[corner as usize] > last)
    }

    fn note_change(&mut self, tets: &[[u32; 4]]) {
        self.clock += 1;
        self.changed.resize(self.complex.points.len(), 1);
        for &corner in tets.iter().flatten() {
            self.changed[corner as usize] = self.clock;
        }
    }

    /// Tetrahedra with a quality below `goal`, the worst first.
    fn below(&self, goal: f64) -> Vec<(f64, u32, [u32; 4])> {
        let complex = &*self.complex;
        let mut bad: Vec<_> = complex
            .alive()
            .map(|tet| (self.quality(complex.tet(tet)), tet, complex.tet(tet)))
            .filter(|&(quality, ..)| quality < goal)
            .collect();
        bad.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        bad
    }

    fn quality(&self, tet: [u32; 4]) -> f64 {
        smallest_sine(tet.map(|corner| self.complex.point(corner)))
    }

    fn worst(&self, tets: &[u32]) -> f64 {
        tets.iter().map(|&tet| self.quality(self.complex.tet(tet))).fold(f64::MAX, f64::min)
    }

    fn is_free(&self, point: u32) -> bool {
        self.free[point as usize]
    }

    /// Tries all changes around one tetrahedron; returns true if one was made.
    fn improve_around(&mut self, tet: u32, corners: [u32; 4], pass: usize) -> bool {
        for i in 0..4 {
            for j in i + 1..4 {
                if self.remove_edge(corners[i], corners[j], tet) {
                    return true;
                }
            }
        }
        if (0..4).any(|slot| self.flip_face(tet, slot)) {
            return true;
        }
        let mut moved = false;
        let urgent = self.quality(corners) < self.urgent_below;
        for corner in corners {
            moved |= self.is_free(corner) && (self.moved.insert(corner) || urgent) && self.smooth(corner);
        }
        if moved || pass == 0 {
            return moved;
        }
        corners.into_iter().any(|corner| self.is_free(corner) && self.collapse(corner, None))
    }

    fn remove_edge(&mut self, p: u32, q: u32, tet: u32) -> bool {
        let Ring { points, tets, closed } = self.complex.ring(p, q, tet);
        if !closed || !(3..=MAX_RING).contains(&points.len()) {
            return false;
        }
        let required = self.worst(&tets) + MIN_GAIN;
        let score = |triangle: [usize; 3]| {
            let mut worst = f64::MAX;
            for tet in fan_pair(p, q, triangle.map(|k| points[k])) {
                worst = worst.min(self.quality(tet));
                if worst < required {
                    return None;
                }
            }
            Some(worst)
        };
        let Some((triangles, _)) = best_triangulation(points.len(), score, f64::min, f64::MAX) else { return false };
        self.replace_if_positive(&tets, &fans(p, q, &points, &triangles))
    }

    fn replace_if_positive(&mut self, old: &[u32], new: &[[u32; 4]]) -> bool {
        let positive = new.iter().all(|&tet| self.complex.orient(tet) > 0.0);
        if positive {
            self.complex.replace(old, new);
            self.note_change(new);
        }
        positive
    }

    fn flip_face(&mut self, tet: u32, slot: usize) -> bool {
        let Some((old, new)) = self.complex.flip_2_3(tet, slot) else { return false };
        let required = self.worst(&old) + MIN_GAIN;
        new.iter().all(|&tet| self.quality(tet) >= required) && self.replace_if_positive(&old, &new)
    }

    /// Moves a point to improve the worst tetrahedron around it.
    fn smooth(&mut self, point: u32) -> bool {
        let star = self.complex.star(point);
        let start = self.complex.point(point);
        let cone = Cone::of_star(self.complex, &star, point);
        let before = cone.quality(start, f64::MIN);
        let (at, quality) = cone.improved(start, before, SUFFICIENT_QUALITY * self.goal);
        if quality < before + MIN_GAIN {
            return false;
        }
        self.complex.points[point as usize] = at;
        let corners: Vec<[u32; 4]> = star.iter().map(|&tet| self.complex.tet(tet)).collect();
        if corners.iter().any(|&tet| self.complex.orient(tet) <= 0.0) {
            self.complex.points[point as usize] = start;
            return false;
        }
        self.note_change(&corners);
        true
    }

    /// Collapses a free point onto the neighbour that gives the best worst tetrahedron.
    ///
    /// With a `goal`, the quality is allowed to decrease to the goal; without, it must increase.
    fn collapse(&mut self, point: u32, goal: Option<f64>) -> bool {
        let star = self.complex.star(point);
        let before = self.worst(&star);
        let required = goal.map_or(before + MIN_GAIN, |goal| goal.min(before));
        let mut neighbours: Vec<u32> = star.iter().flat_map(|&tet| self.complex.tet(tet)).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        let collapsed = |onto: u32| -> Vec<[u32; 4]> {
            let others = star.iter().map(|&tet| self.complex.tet(tet)).filter(|tet| !tet.contains(&onto));
            others.map(|tet| tet.map(|corner| if corner == point { onto } else { corner })).collect()
        };
        let rated = neighbours.into_iter().filter(|&onto| onto != point).map(|onto| {
            let mut worst = f64::MAX;
            for tet in collapsed(onto) {
                worst = worst.min(self.quality(tet));
                if worst < required {
                    break;
                }
            }
            (worst, onto)
        });
        let best = rated.filter(|&(worst, _)| worst >= required).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((_, onto)) = best else { return false };
        let new = collapsed(onto);
        self.replace_if_positive(&star, &new)
    }

    /// Inserts a point into a tetrahedron and its surroundings if that improves the quality.
    fn insert_at(&mut self, tet: u32) -> bool {
        let corners = self.complex.tet(tet);
        let middle = rounded(corners.iter().map(|&corner| self.complex.point(corner)).sum::<DVec3>() / 4.0);
        if (0..4).all(|slot| self.side(tet, slot, middle) > 0.0) {
            let cavity = self.cavity(tet, middle);
            if self.insert(&cavity, middle) {
                return true;
            }
        }
        // The ring of an edge is star-shaped as seen from the middle of the edge.
        let edges = (0..4).flat_map(|i| (i + 1..4).map(move |j| (i, j)));
        for (p, q) in edges.map(|(i, j)| (corners[i], corners[j])) {
            let ring = self.complex.ring(p, q, tet);
            let middle = rounded(self.complex.point(p).midpoint(self.complex.point(q)));
            if ring.closed && self.insert(&ring.tets, middle) {
                return true;
            }
        }
        false
    }

    /// Fills a cavity with tetrahedra around a new point at its best position, if that improves the quality.
    fn insert(&mut self, cavity: &[u32], at: DVec3) -> bool {
        let before = self.worst(cavity);
        let point = self.complex.points.len() as u32;
        let new = self.complex.cone(cavity, point);
        let cone = Cone::new(self.complex, new.iter().map(|&[a, b, c, _]| [a, b, c]));
        let (at, quality) = cone.improved(at, cone.quality(at, f64::MIN), SUFFICIENT_QUALITY * self.goal);
        if quality < before + MIN_GAIN {
            return false;
        }
        self.complex.add_point(at);
        self.free.push(true);
        self.replace_if_positive(cavity, &new)
    }

    fn side(&self, tet: u32, slot: usize, at: DVec3) -> f64 {
        let [a, b, c] = self.complex.face(tet, slot).map(|corner| self.complex.point(corner));
        orient(a, b, c, at)
    }

    /// Tetrahedra around `first` whose circumspheres contain `at` and whose outer faces are visible from `at`.
    fn cavity(&mut self, first: u32, at: DVec3) -> Vec<u32> {
        self.complex.clear_marks();
        self.complex.set_mark(first);
        let mut cavity = vec![first];
        let mut next = 0;
        while let Some(&tet) = cavity.get(next) {
            next += 1;
            for slot in 0..4 {
                let neighbour = self.complex.neighbour(tet, slot);
                if neighbour == NONE || self.complex.is_marked(neighbour) || !conflicts(self.complex, neighbour, at) {
                    continue;
                }
                if self.can_extend(&cavity, neighbour, at) {
                    self.complex.set_mark(neighbour);
                    cavity.push(neighbour);
                }
            }
        }
        cavity
    }

    /// Returns true if the cavity extended by `tet` remains a ball with all points on its surface, visible from `at`.
    fn can_extend(&self, cavity: &[u32], tet: u32, at: DVec3) -> bool {
        let is_shared = |slot: &usize| self.complex.is_marked_neighbour(tet, *slot);
        let (shared, outer): (Vec<usize>, Vec<usize>) = (0..4).partition(is_shared);
        let corners = self.complex.tet(tet);
        // With one shared face, the opposite corner must be new; with two, the edge between their opposite corners.
        let new = match shared[..] {
            [slot] => !cavity.iter().any(|&other| self.complex.tet(other).contains(&corners[slot])),
            [i, j] => !cavity.iter().any(|&other| {
                let other = self.complex.tet(other);
                other.contains(&corners[i]) && other.contains(&corners[j])
            }),
            _ => false,
        };
        new && outer.into_iter().all(|slot| self.side(tet, slot, at) > 0.0)
    }
}
