//! Remeshing of an implicit surface to evenly shaped triangles with a given number of points.
//!
//! A fine mesh is simplified by collapsing the edge that is shortest relative to a target length, until the required
//! number of points remains. This is followed by rounds of edge flips towards valence 6 and of tangential smoothing, each
//! with a projection onto the surface (the operations of Botsch & Kobbelt 2004, with collapses first because the number of
//! points is given). An edge is collapsed only if its ends share exactly two neighbours (the link condition) and no
//! triangle flips, so a closed manifold keeps its topology. Ties are resolved in favour of the lowest index.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use glam::DVec3;
use rayon::prelude::*;

use super::implicit::{Implicit, PruningGrid};
use super::polygonize::Surface;

/// Rounds of flips and smoothing after the collapses.
const ROUNDS: usize = 6;

/// Maximum valence of a point created by a collapse.
const MAX_NEIGHBOURS: usize = 9;

/// Simplifies `fine` to `count` points; edge lengths are proportional to `target_length` of the shape's thickness.
pub(super) fn remesh(
    shape: &Implicit,
    fine: Surface,
    count: usize,
    target_length: impl Fn(f64) -> f64 + Sync,
) -> Surface {
    let nearby = PruningGrid::coarse(shape);
    let target = fine.points.par_iter().map(|&point| target_length(nearby.at(point).thickness(point))).collect();
    let mut mesh = Mesh::new(fine, target);
    mesh.collapse_to(count);
    let mut mesh = mesh.compacted();
    // Points move by at most a few edge lengths.
    let near = |point: usize| {
        let at = mesh.points[point];
        nearby.at(at).near(at, (4.0 * mesh.longest_edge(point as u32)).min(0.25 * nearby.spacing))
    };
    let near: Vec<Implicit> = (0..mesh.points.len()).into_par_iter().map(near).collect();
    for _ in 0..ROUNDS {
        mesh.flip_edges();
        mesh.relax(&near);
    }
    let points = mesh.points.par_iter().zip(&near).map(|(&point, near)| near.project(point)).collect();
    Surface { points, triangles: mesh.triangles.into_iter().flatten().collect() }
}

struct Mesh {
    points: Vec<DVec3>,
    /// Target length of the edges around each point.
    target: Vec<f64>,
    /// `None` if collapsed.
    triangles: Vec<Option<[u32; 3]>>,
    /// Triangles of each point; empty if the point was removed.
    around: Vec<Vec<u32>>,
}

impl Mesh {
    fn new(fine: Surface, target: Vec<f64>) -> Self {
        let mut around = vec![Vec::new(); fine.points.len()];
        for (index, triangle) in fine.triangles.iter().enumerate() {
            for &point in triangle {
                around[point as usize].push(index as u32);
            }
        }
        Self { points: fine.points, target, triangles: fine.triangles.into_iter().map(Some).collect(), around }
    }

    fn collapse_to(&mut self, count: usize) {
        let mut alive = self.points.len();
        let mut queue: BinaryHeap<Reverse<(u64, u32, u32)>> = BinaryHeap::new();
        for point in 0..self.points.len() as u32 {
            self.enqueue(point, |other| other > point, &mut queue);
        }
        while alive > count {
            let Some(Reverse((cost, keep, drop))) = queue.pop() else { return };
            // The entry is outdated if an end was removed or has moved; the current edge has its own entry.
            if !self.connected(keep, drop) || self.cost(keep, drop) != cost || !self.can_collapse(keep, drop) {
                continue;
            }
            self.collapse(keep, drop);
            self.enqueue(keep, |_| true, &mut queue);
            alive -= 1;
        }
    }

    fn enqueue(&self, point: u32, which: impl Fn(u32) -> bool, queue: &mut BinaryHeap<Reverse<(u64, u32, u32)>>) {
        for other in self.neighbours(point).into_iter().filter(|&other| which(other)) {
            let (a, b) = (point.min(other), point.max(other));
            queue.push(Reverse((self.cost(a, b), a, b)));
        }
    }

    /// Length of an edge relative to its target; the bits of positive floats sort like the floats.
    fn cost(&self, a: u32, b: u32) -> u64 {
        let (a, b) = (a as usize, b as usize);
        (self.points[a].distance(self.points[b]) / (self.target[a] + self.target[b])).to_bits()
    }

    fn corners(&self, triangle: u32) -> [u32; 3] {
        self.triangles[triangle as usize].unwrap_or_default()
    }

    fn neighbours(&self, point: u32) -> Vec<u32> {
        let mut result = Vec::with_capacity(self.around[point as usize].len());
        for &triangle in &self.around[point as usize] {
            let corners = self.corners(triangle);
            let at = corners.iter().position(|&corner| corner == point).unwrap_or(0);
            // On a closed manifold each neighbour follows the point in exactly one triangle.
            result.push(corners[(at + 1) % 3]);
        }
        result
    }

    fn longest_edge(&self, point: u32) -> f64 {
        let length = |other: u32| self.points[point as usize].distance(self.points[other as usize]);
        self.neighbours(point).into_iter().map(length).fold(0.0, f64::max)
    }

    fn connected(&self, a: u32, b: u32) -> bool {
        self.around[a as usize].iter().any(|&triangle| self.corners(triangle).contains(&b))
    }

    fn area(&self, corners: [u32; 3]) -> DVec3 {
        let [a, b, c] = corners.map(|point| self.points[point as usize]);
        (b - a).cross(c - a)
    }

    fn can_collapse(&self, keep: u32, drop: u32) -> bool {
        let (ours, theirs) = (self.neighbours(keep), self.neighbours(drop));
        let shared = ours.iter().filter(|&&point| theirs.contains(&point)).count();
        if shared != 2 || ours.len() + theirs.len() - 4 > MAX_NEIGHBOURS {
            return false;
        }
        let middle = 0.5 * (self.points[keep as usize] + self.points[drop as usize]);
        [(keep, drop), (drop, keep)].into_iter().all(|(end, other)| {
            self.around[end as usize].iter().map(|&triangle| self.corners(triangle)).all(|corners| {
                corners.contains(&other) || {
                    let before = self.area(corners);
                    let [a, b, c] =
                        corners.map(|point| if point == end { middle } else { self.points[point as usize] });
                    let after = (b - a).cross(c - a);
                    after.dot(before) > 0.5 * after.length() * before.length()
                }
            })
        })
    }

    fn collapse(&mut self, keep: u32, drop: u32) {
        self.points[keep as usize] = 0.5 * (self.points[keep as usize] + self.points[drop as usize]);
        self.target[keep as usize] = 0.5 * (self.target[keep as usize] + self.target[drop as usize]);
        for triangle in std::mem::take(&mut self.around[drop as usize]) {
            let corners = self.corners(triangle);
            if corners.contains(&keep) {
                self.triangles[triangle as usize] = None;
                for point in corners.into_iter().filter(|&point| point != drop) {
                    self.around[point as usize].retain(|&other| other != triangle);
                }
            } else {
                let moved = corners.map(|point| if point == drop { keep } else { point });
                self.triangles[triangle as usize] = Some(moved);
                self.around[keep as usize].push(triangle);
            }
        }
    }

    /// The same mesh without removed points and triangles.
    fn compacted(self) -> Self {
        let alive: Vec<usize> = (0..self.points.len()).filter(|&point| !self.around[point].is_empty()).collect();
        let mut numbers = vec![0; self.points.len()];
        for (number, &point) in alive.iter().enumerate() {
            numbers[point] = number as u32;
        }
        let renumbered = |triangle: [u32; 3]| triangle.map(|point| numbers[point as usize]);
        let triangles = self.triangles.into_iter().flatten().map(renumbered).collect();
        let points = alive.iter().map(|&point| self.points[point]).collect();
        Self::new(Surface { points, triangles }, alive.iter().map(|&point| self.target[point]).collect())
    }

    /// Flips each edge if the flip brings the valences around it closer to 6.
    fn flip_edges(&mut self) {
        for triangle in 0..self.triangles.len() as u32 {
            for side in 0..3 {
                if self.triangles[triangle as usize].is_some() {
                    self.flip_if_better(triangle, side);
                }
            }
        }
    }

    fn flip_if_better(&mut self, triangle: u32, side: usize) {
        let corners = self.corners(triangle);
        let [a, b, c] = [corners[side], corners[(side + 1) % 3], corners[(side + 2) % 3]];
        let has_edge = |&other: &u32| other != triangle && self.corners(other).contains(&b);
        let Some(across) = self.around[a as usize].iter().copied().find(has_edge) else { return };
        let Some(d) = self.corners(across).into_iter().find(|&point| point != a && point != b) else { return };
        let valence = |point: u32| self.around[point as usize].len() as i32;
        let defect = |point: u32, change: i32| (valence(point) + change - 6).pow(2);
        let now = defect(a, 0) + defect(b, 0) + defect(c, 0) + defect(d, 0);
        let then = defect(a, -1) + defect(b, -1) + defect(c, 1) + defect(d, 1);
        let flipped = [[a, d, c], [d, b, c]];
        let normal = self.area([a, b, c]) + self.area([b, a, d]);
        let keeps_orientation = |corners| {
            let area = self.area(corners);
            area.dot(normal) > 0.7 * area.length() * normal.length()
        };
        if then >= now
            || valence(a) <= 3
            || valence(b) <= 3
            || self.connected(c, d)
            || !flipped.into_iter().all(keeps_orientation)
        {
            return;
        }
        self.triangles[triangle as usize] = Some(flipped[0]);
        self.triangles[across as usize] = Some(flipped[1]);
        self.around[a as usize].retain(|&other| other != across);
        self.around[b as usize].retain(|&other| other != triangle);
        self.around[c as usize].push(across);
        self.around[d as usize].push(triangle);
    }

    /// Moves each point along the surface towards the weighted centre of its triangles, and projects it onto the surface.
    /// Triangles with a large target size have a small weight.
    fn relax(&mut self, near: &[Implicit]) {
        let moved = |point: usize| {
            let at = self.points[point];
            let (mut sum, mut total, mut normal) = (DVec3::ZERO, 0.0, DVec3::ZERO);
            for &triangle in &self.around[point] {
                let corners = self.corners(triangle);
                let area = self.area(corners);
                let [a, b, c] = corners.map(|corner| self.points[corner as usize]);
                let target: f64 = corners.iter().map(|&corner| self.target[corner as usize]).sum();
                let weight = area.length() / (target * target);
                sum += (a + b + c) * (weight / 3.0);
                total += weight;
                normal += area;
            }
            let (normal, step) = (normal.normalize_or_zero(), sum / total - at);
            near[point].project(at + 0.8 * (step - normal * normal.dot(step)))
        };
        let points = (0..self.points.len()).into_par_iter().map(moved).collect();
        self.points = points;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::implicit::node;
    use crate::polygonize::polygonize;

    #[test]
    fn yields_the_requested_number_of_points_and_even_triangles() {
        let mut shape = Implicit::default();
        shape.limb(&[node(0.0, 0.0, 0.0, 0.3), node(1.0, 0.2, 0.0, 0.1)], (DVec3::Z, 1.0), 0.1, &[0]);
        let even = remesh(&shape, polygonize(&shape, 0.03), 500, |_| 1.0);
        assert_eq!((even.points.len(), even.triangles.len()), (500, 996));
        for &point in &even.points {
            assert!(shape.value(point).abs() < 1e-6);
        }
        for triangle in &even.triangles {
            let [a, b, c] = triangle.map(|point| even.points[point as usize]);
            let sides = [a.distance(b), b.distance(c), c.distance(a)];
            let longest = sides.iter().copied().fold(0.0, f64::max);
            let height = (b - a).cross(c - a).length() / longest;
            assert!(height > 0.3 * longest, "a triangle of sides {sides:?}");
        }
    }
}
