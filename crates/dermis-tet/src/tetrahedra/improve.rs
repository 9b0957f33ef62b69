//! Improvement of the tetrahedra inside: the smallest sine of the dihedral angles is raised by local changes.
//!
//! The worst tetrahedra come first. Around each, edges are removed, faces are flipped 2-3, free points are moved, joined
//! with a neighbour or put in anew; a change is kept if the worst tetrahedron that it touches gets better (hill climbing
//! as by Freitag & Ollivier-Gooch 1997 and Klingner & Shewchuk 2007). The skin's faces and fixed nodes stay.

use std::collections::HashSet;

use glam::DVec3;

use super::complex::{Complex, NONE, Ring};
use super::cone::{Cone, place};
use super::delaunay::conflicts;
use super::edge_removal::{LARGEST_RING, best_triangulation, fan_pair, fans};
use super::predicates::orient;
use super::quality::smallest_sine;

/// A change must gain this much, or it could go on for ever.
const LEAST_GAIN: f64 = 1e-4;
/// Points are not moved beyond this many times the goal.
const ENOUGH: f64 = 1.5;

/// Options of [`improve`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ImproveOptions {
    /// Tetrahedra with a smaller sine are worked on.
    pub(super) goal: f64,
    /// Points are put in where a tetrahedron stays below this sine.
    pub(super) insert_below: f64,
    pub(super) passes: usize,
}

/// Improves `complex`; `free` says which points may move or vanish. Points put in are free.
pub(super) fn improve(complex: &mut Complex, free: &mut Vec<bool>, options: &ImproveOptions) {
    let mut improver = Improver::new(complex, free, options.goal, options.insert_below);
    let most_points = improver.complex.points.len() * 2;
    for pass in 0..options.passes {
        improver.moved.clear();
        let bad = improver.below(options.goal);
        let mut changes = 0;
        for (_, tet, corners) in bad {
            if improver.complex.tet(tet) == corners
                && improver.is_new(tet, Try::Change)
                && improver.work_on(tet, corners, pass)
            {
                changes += 1;
            }
        }
        let stubborn = if pass > 0 { improver.below(options.insert_below) } else { Vec::new() };
        for (_, tet, corners) in stubborn {
            if improver.complex.tet(tet) == corners
                && improver.is_new(tet, Try::Insert)
                && improver.complex.points.len() < most_points
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

/// Joins each of `points` with a neighbour where no tetrahedron gets worse than `goal` or than the worst before.
pub(super) fn remove_points(complex: &mut Complex, free: &mut Vec<bool>, points: &[u32], goal: f64) -> usize {
    let mut improver = Improver::new(complex, free, goal, goal);
    points.iter().filter(|&&point| improver.join_with_neighbour(point, Some(goal))).count()
}

/// Puts the points behind the first `fixed` where they will be stored; one that would turn a tetrahedron over stays.
pub(super) fn round_positions(complex: &mut Complex, fixed: usize) {
    for point in fixed..complex.points.len() {
        let before = complex.points[point];
        let star = if place(before) == before { Vec::new() } else { complex.star(point as u32) };
        complex.points[point] = place(before);
        if star.iter().any(|&tet| complex.orient(complex.tet(tet)) <= 0.0) {
            complex.points[point] = before;
        }
    }
}

struct Improver<'a> {
    complex: &'a mut Complex,
    free: &'a mut Vec<bool>,
    goal: f64,
    least: f64,
    /// Which points were moved in this pass: once is enough, unless they are at a tetrahedron below `least`.
    moved: HashSet<u32>,
    /// Counts changes.
    clock: u32,
    /// When something changed at each point.
    changed: Vec<u32>,
    /// When each tetrahedron was last tried, by what was tried: it need not be again until something changes.
    tried: [Vec<u32>; 2],
}

/// What was tried.
#[derive(Clone, Copy)]
enum Try {
    Change,
    Insert,
}

impl<'a> Improver<'a> {
    fn new(complex: &'a mut Complex, free: &'a mut Vec<bool>, goal: f64, least: f64) -> Self {
        let moved = HashSet::new();
        Self { complex, free, goal, least, moved, clock: 1, changed: Vec::new(), tried: [Vec::new(), Vec::new()] }
    }

    /// Whether something changed at a tetrahedron since the last try, which this counts as.
    fn is_new(&mut self, tet: u32, what: Try) -> bool {
        self.changed.resize(self.complex.points.len(), 1);
        let tried = &mut self.tried[what as usize];
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

    /// The tetrahedra of smaller quality, the worst first.
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

    /// Tries all changes around one tetrahedron; whether one was made.
    fn work_on(&mut self, tet: u32, corners: [u32; 4], pass: usize) -> bool {
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
        let urgent = self.quality(corners) < self.least;
        for corner in corners {
            moved |= self.is_free(corner) && (self.moved.insert(corner) || urgent) && self.smooth(corner);
        }
        if moved || pass == 0 {
            return moved;
        }
        corners.into_iter().any(|corner| self.is_free(corner) && self.join_with_neighbour(corner, None))
    }

    fn remove_edge(&mut self, p: u32, q: u32, tet: u32) -> bool {
        let Ring { points, tets, closed } = self.complex.ring(p, q, tet);
        if !closed || !(3..=LARGEST_RING).contains(&points.len()) {
            return false;
        }
        let least = self.worst(&tets) + LEAST_GAIN;
        let score = |triangle: [usize; 3]| {
            let mut worst = f64::MAX;
            for tet in fan_pair(p, q, triangle.map(|k| points[k])) {
                worst = worst.min(self.quality(tet));
                if worst < least {
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
        let least = self.worst(&old) + LEAST_GAIN;
        new.iter().all(|&tet| self.quality(tet) >= least) && self.replace_if_positive(&old, &new)
    }

    /// Moves a point to where the worst tetrahedron around it is better.
    fn smooth(&mut self, point: u32) -> bool {
        let star = self.complex.star(point);
        let start = self.complex.point(point);
        let cone = Cone::of_star(self.complex, &star, point);
        let before = cone.quality(start, f64::MIN);
        let (at, quality) = cone.improved(start, before, ENOUGH * self.goal);
        if quality < before + LEAST_GAIN {
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

    /// Joins a free point with the neighbour for which the worst tetrahedron is best.
    ///
    /// With a `goal`, this may make things worse, down to the goal; without, it must make them better.
    fn join_with_neighbour(&mut self, point: u32, goal: Option<f64>) -> bool {
        let star = self.complex.star(point);
        let before = self.worst(&star);
        let least = goal.map_or(before + LEAST_GAIN, |goal| goal.min(before));
        let mut neighbours: Vec<u32> = star.iter().flat_map(|&tet| self.complex.tet(tet)).collect();
        neighbours.sort_unstable();
        neighbours.dedup();
        let joined = |onto: u32| -> Vec<[u32; 4]> {
            let others = star.iter().map(|&tet| self.complex.tet(tet)).filter(|tet| !tet.contains(&onto));
            others.map(|tet| tet.map(|corner| if corner == point { onto } else { corner })).collect()
        };
        let rated = neighbours.into_iter().filter(|&onto| onto != point).map(|onto| {
            let mut worst = f64::MAX;
            for tet in joined(onto) {
                worst = worst.min(self.quality(tet));
                if worst < least {
                    break;
                }
            }
            (worst, onto)
        });
        let best = rated.filter(|&(worst, _)| worst >= least).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((_, onto)) = best else { return false };
        let new = joined(onto);
        self.replace_if_positive(&star, &new)
    }

    /// Puts a new point into a tetrahedron and some around it, where that helps.
    fn insert_at(&mut self, tet: u32) -> bool {
        let corners = self.complex.tet(tet);
        let middle = place(corners.iter().map(|&corner| self.complex.point(corner)).sum::<DVec3>() / 4.0);
        if (0..4).all(|slot| self.side(tet, slot, middle) > 0.0) {
            let cavity = self.cavity(tet, middle);
            if self.insert(&cavity, middle) {
                return true;
            }
        }
        // The middle of an edge sees all of its ring.
        let edges = (0..4).flat_map(|i| (i + 1..4).map(move |j| (i, j)));
        for (p, q) in edges.map(|(i, j)| (corners[i], corners[j])) {
            let ring = self.complex.ring(p, q, tet);
            let middle = place(self.complex.point(p).midpoint(self.complex.point(q)));
            if ring.closed && self.insert(&ring.tets, middle) {
                return true;
            }
        }
        false
    }

    /// Fills a cavity around a new point in its best place, if that gains something.
    fn insert(&mut self, cavity: &[u32], at: DVec3) -> bool {
        let before = self.worst(cavity);
        let point = self.complex.points.len() as u32;
        let new = self.complex.cone(cavity, point);
        let cone = Cone::new(self.complex, new.iter().map(|&[a, b, c, _]| [a, b, c]));
        let (at, quality) = cone.improved(at, cone.quality(at, f64::MIN), ENOUGH * self.goal);
        if quality < before + LEAST_GAIN {
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

    /// The tetrahedra around `first` whose spheres contain `at`, as far as it sees their outer faces.
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
                if self.can_take_in(&cavity, neighbour, at) {
                    self.complex.set_mark(neighbour);
                    cavity.push(neighbour);
                }
            }
        }
        cavity
    }

    /// Whether a cavity with `tet` is still a ball with every point on its outside, all of which `at` sees.
    fn can_take_in(&self, cavity: &[u32], tet: u32, at: DVec3) -> bool {
        let is_shared = |slot: &usize| self.complex.is_marked_neighbour(tet, *slot);
        let (shared, outer): (Vec<usize>, Vec<usize>) = (0..4).partition(is_shared);
        let corners = self.complex.tet(tet);
        // With one common face the opposite corner must be new, with two the edge between their opposite corners.
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
