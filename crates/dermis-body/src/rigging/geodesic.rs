//! Geodesic distance from points of a surface: `|∇d| = 1`, by fast marching (Kimmel & Sethian 1998).
//!
//! Points are settled in the order of their distance. A settled edge and the distances of its ends determine a virtual
//! source in the plane of the triangle. The distance of the third corner is that to the virtual source if the line to
//! it crosses the edge. Otherwise, and at obtuse corners, the path follows an edge, so that distances are never
//! underestimated except for rounding.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use dermis_mesh::adjacency::{Lists, point_triangles};
use glam::{DVec2, DVec3};

/// A triangulated surface with adjacency.
pub(super) struct Surface<'a> {
    pub(super) points: Vec<DVec3>,
    pub(super) triangles: &'a [[u32; 3]],
    around: Lists,
}

impl<'a> Surface<'a> {
    pub(super) fn new(points: Vec<DVec3>, triangles: &'a [[u32; 3]]) -> Self {
        let around = point_triangles(points.len(), triangles);
        Self { points, triangles, around }
    }

    /// Distance of each point from `sources`; infinite for unconnected points.
    pub(super) fn distances(&self, sources: &[u32]) -> Vec<f64> {
        let mut distances = vec![f64::INFINITY; self.points.len()];
        let mut settled = vec![false; self.points.len()];
        let mut front = BinaryHeap::new();
        for &source in sources {
            distances[source as usize] = 0.0;
            front.push(Reverse(Candidate { distance: 0.0, point: source }));
        }
        while let Some(Reverse(Candidate { point, .. })) = front.pop() {
            if std::mem::replace(&mut settled[point as usize], true) {
                continue;
            }
            for &triangle in self.around.of(point as usize) {
                let corners = self.triangles[triangle as usize];
                for &target in corners.iter().filter(|&&corner| !settled[corner as usize]) {
                    let other = corners.into_iter().find(|&corner| corner != target && corner != point);
                    let other = other.filter(|&other| settled[other as usize]);
                    let distance = self.distance_via(target, point, other, &distances);
                    if distance < distances[target as usize] {
                        distances[target as usize] = distance;
                        front.push(Reverse(Candidate { distance, point: target }));
                    }
                }
            }
        }
        distances
    }

    /// Distance of `target` via `point`, or via the edge to `other` if that is settled too.
    fn distance_via(&self, target: u32, point: u32, other: Option<u32>, distances: &[f64]) -> f64 {
        let at = |point: u32| self.points[point as usize];
        let along = distances[point as usize] + at(target).distance(at(point));
        let Some(other) = other else { return along };
        let across =
            across_edge([at(point), at(other), at(target)], distances[point as usize], distances[other as usize]);
        along.min(across.unwrap_or(f64::INFINITY))
    }
}

/// Distance of `target` from a virtual source at the distances `from_a` and `from_b` from the ends of an edge.
fn across_edge([a, b, target]: [DVec3; 3], from_a: f64, from_b: f64) -> Option<f64> {
    let (edge, side) = (b - a, target - a);
    let length = edge.length();
    let along = side.dot(edge) / length;
    let height = (side.length_squared() - along * along).max(0.0).sqrt();
    let source_along = (from_a * from_a - from_b * from_b + length * length) / (2.0 * length);
    let depth_squared = from_a * from_a - source_along * source_along;
    if depth_squared < 0.0 || length <= 0.0 {
        return None;
    }
    let source = DVec2::new(source_along, -depth_squared.sqrt());
    let target = DVec2::new(along, height);
    let fraction = -source.y / (target.y - source.y);
    let crossing = source.x + fraction * (target.x - source.x);
    (0.0..=length).contains(&crossing).then(|| source.distance(target))
}

/// A point with a tentative distance. Equal distances are ordered by index.
#[derive(PartialEq)]
struct Candidate {
    distance: f64,
    point: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.point.cmp(&other.point))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An `n × n` grid of unit squares in the plane, divided by diagonals.
    fn grid(n: u32) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let points = (0..=n).flat_map(|y| (0..=n).map(move |x| DVec3::new(f64::from(x), f64::from(y), 0.0))).collect();
        let at = move |x: u32, y: u32| y * (n + 1) + x;
        let squares = (0..n).flat_map(|y| (0..n).map(move |x| (x, y)));
        let halves = squares.flat_map(|(x, y)| {
            let [a, b, c, d] = [at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)];
            [[a, b, c], [a, c, d]]
        });
        (points, halves.collect())
    }

    #[test]
    fn distances_in_the_plane_are_euclidean() {
        let (points, triangles) = grid(20);
        let surface = Surface::new(points.clone(), &triangles);
        for (point, distance) in points.iter().zip(surface.distances(&[0])) {
            assert!(distance >= point.length() - 1e-9 && distance < 1.02 * point.length() + 0.1, "{point}: {distance}");
        }
    }

    #[test]
    fn distance_to_another_shell_is_infinite() {
        let points = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z, DVec3::ONE, DVec3::NEG_X];
        let triangles = [[0, 1, 2], [3, 4, 5]];
        let distances = Surface::new(points, &triangles).distances(&[0]);
        assert_eq!(&distances[..3], [0.0, 1.0, 1.0]);
        assert!(distances[3..].iter().all(|distance| distance.is_infinite()));
    }
}
