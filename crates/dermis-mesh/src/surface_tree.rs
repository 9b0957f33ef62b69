//! Bounding-box tree over triangles for inside tests, distances and box queries.
//!
//! Inside tests use the generalized winding number `w(p) = Σ Ωₜ(p) / 4π` (Jacobson et al. 2013): 1 inside a closed
//! surface, 0 outside, and in between near holes. Distant groups of triangles are approximated by one dipole (Barill et
//! al. 2018, first order); the error is far below the threshold of one half that separates inside from outside.

use std::f64::consts::PI;

use glam::DVec3;

/// Maximum number of triangles in a leaf.
const MAX_LEAF_TRIANGLES: usize = 8;
/// Distance, in radii of a group, beyond which the group is approximated by a dipole.
const DIPOLE_RADII: f64 = 2.5;

/// Tree over the triangles of a surface.
#[derive(Debug, Clone)]
pub struct SurfaceTree {
    triangles: Vec<[DVec3; 3]>,
    /// Triangles in the order of the leaves.
    order: Vec<u32>,
    nodes: Vec<Node>,
}

/// Point of a surface that is nearest to another point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearest {
    /// Triangle of the point.
    pub triangle: u32,
    /// The point.
    pub point: DVec3,
    /// Its distance.
    pub distance: f64,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    low: DVec3,
    high: DVec3,
    /// Area centroid, sum of area vectors, and radius around the centroid.
    centre: DVec3,
    area: DVec3,
    radius: f64,
    /// Triangles `start..end` of `order`. The first child is the next node, the second is `second`, which is 0 for leaves.
    start: u32,
    end: u32,
    second: u32,
}

impl SurfaceTree {
    /// Builds the tree over `triangles` of `points`.
    pub fn new(points: &[DVec3], triangles: &[[u32; 3]]) -> Self {
        let triangles: Vec<[DVec3; 3]> = triangles.iter().map(|t| t.map(|p| points[p as usize])).collect();
        let mut tree = Self { order: (0..triangles.len() as u32).collect(), triangles, nodes: Vec::new() };
        if !tree.triangles.is_empty() {
            tree.build(0, tree.triangles.len());
        }
        tree
    }

    fn build(&mut self, start: usize, end: usize) {
        let node = self.nodes.len();
        let summary = self.summary(start, end);
        self.nodes.push(summary);
        if end - start <= MAX_LEAF_TRIANGLES {
            return;
        }
        let size = summary.high - summary.low;
        let axis = (0..3).max_by(|&a, &b| size[a].total_cmp(&size[b])).unwrap_or(0);
        let triangles = &self.triangles;
        let coordinate = |t: u32| triangles[t as usize].iter().map(|p| p[axis]).sum::<f64>();
        let middle = (end - start) / 2;
        self.order[start..end]
            .select_nth_unstable_by(middle, |&a, &b| coordinate(a).total_cmp(&coordinate(b)).then(a.cmp(&b)));
        self.build(start, start + middle);
        self.nodes[node].second = self.nodes.len() as u32;
        self.build(start + middle, end);
    }

    fn summary(&self, start: usize, end: usize) -> Node {
        let own = || self.order[start..end].iter().map(|&t| self.triangles[t as usize]);
        let (mut low, mut high, mut area) = (DVec3::MAX, DVec3::MIN, DVec3::ZERO);
        let (mut weighted, mut total) = (DVec3::ZERO, 0.0);
        for [a, b, c] in own() {
            (low, high) = (low.min(a.min(b).min(c)), high.max(a.max(b).max(c)));
            let vector = (b - a).cross(c - a) / 2.0;
            area += vector;
            weighted += (a + b + c) / 3.0 * vector.length();
            total += vector.length();
        }
        let centre = if total > 0.0 { weighted / total } else { (low + high) / 2.0 };
        let radius = own().flatten().map(|p| p.distance_squared(centre)).fold(0.0, f64::max).sqrt();
        Node { low, high, centre, area, radius, start: start as u32, end: end as u32, second: 0 }
    }

    /// Bounding box of all triangles.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        self.nodes.first().map_or((DVec3::ZERO, DVec3::ZERO), |root| (root.low, root.high))
    }

    /// Generalized winding number at `p`.
    pub fn winding(&self, p: DVec3) -> f64 {
        let mut sum = 0.0;
        self.visit(|node| {
            let to = node.centre - p;
            let far = to.length_squared() > (DIPOLE_RADII * node.radius).powi(2);
            if far {
                sum += node.area.dot(to) / to.length().powi(3);
            } else if node.second == 0 {
                sum += self.of(node).map(|t| solid_angle(self.triangles[t as usize], p)).sum::<f64>();
            }
            !far
        });
        sum / (4.0 * PI) // w(p)
    }

    /// Returns true if `p` is inside: its winding number is above one half.
    pub fn is_inside(&self, p: DVec3) -> bool {
        self.winding(p) > 0.5
    }

    /// Distance from `p` to the surface, at most `max_distance`.
    pub fn distance(&self, p: DVec3, max_distance: f64) -> f64 {
        let mut squared = max_distance * max_distance;
        self.visit(|node| {
            if (p - p.clamp(node.low, node.high)).length_squared() >= squared {
                return false;
            }
            if node.second == 0 {
                for t in self.of(node) {
                    squared = squared.min(closest_point(self.triangles[t as usize], p).distance_squared(p));
                }
            }
            true
        });
        squared.sqrt()
    }

    /// Point of the surface nearest to `p`; `None` if there are no triangles. Of equal distances, the first triangle in the
    /// order of the tree is returned.
    pub fn nearest(&self, p: DVec3) -> Option<Nearest> {
        let to_box = |node: &Node| (p - p.clamp(node.low, node.high)).length_squared();
        let (mut squared, mut found) = (f64::INFINITY, None);
        let mut open = vec![(0.0, 0_u32)];
        while let Some((distance, index)) = open.pop() {
            if distance >= squared || self.nodes.is_empty() {
                continue;
            }
            let node = &self.nodes[index as usize];
            if node.second == 0 {
                for triangle in self.of(node) {
                    let point = closest_point(self.triangles[triangle as usize], p);
                    if point.distance_squared(p) < squared {
                        squared = point.distance_squared(p);
                        found = Some(Nearest { triangle, point, distance: squared.sqrt() });
                    }
                }
                continue;
            }
            let mut children = [index + 1, node.second].map(|child| (to_box(&self.nodes[child as usize]), child));
            // The nearer child is visited first.
            children.sort_by(|a, b| b.0.total_cmp(&a.0));
            open.extend(children);
        }
        found
    }

    /// Triangles whose bounding boxes intersect the box from `low` to `high`, in the order of the tree.
    pub fn in_box(&self, low: DVec3, high: DVec3, found: &mut Vec<u32>) {
        found.clear();
        self.visit(|node| {
            let meets = node.low.cmple(high).all() && low.cmple(node.high).all();
            if meets && node.second == 0 {
                found.extend(self.of(node).filter(|&t| {
                    let [a, b, c] = self.triangles[t as usize];
                    a.min(b).min(c).cmple(high).all() && low.cmple(a.max(b).max(c)).all()
                }));
            }
            meets
        });
    }

    /// Calls `enter` on nodes from the root down; the children of a node are skipped if it returns false.
    fn visit(&self, mut enter: impl FnMut(&Node) -> bool) {
        let mut open = Vec::with_capacity(64);
        if !self.nodes.is_empty() {
            open.push(0);
        }
        while let Some(index) = open.pop() {
            let node = &self.nodes[index as usize];
            if enter(node) && node.second != 0 {
                open.extend([node.second, index + 1]);
            }
        }
    }

    fn of(&self, node: &Node) -> impl Iterator<Item = u32> + '_ {
        self.order[node.start as usize..node.end as usize].iter().copied()
    }
}

/// Signed solid angle of a triangle (van Oosterom & Strackee 1983).
fn solid_angle([a, b, c]: [DVec3; 3], p: DVec3) -> f64 {
    let (a, b, c) = (a - p, b - p, c - p);
    let (la, lb, lc) = (a.length(), b.length(), c.length());
    let denominator = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
    2.0 * a.dot(b.cross(c)).atan2(denominator)
}

/// Convex weights of the corners of a triangle at its point `p`; the nearest corner alone if the triangle is degenerate.
pub fn barycentric([a, b, c]: [DVec3; 3], p: DVec3) -> [f64; 3] {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let normal = ab.cross(ac);
    let squared = normal.length_squared();
    let weights = [0.0, ap.cross(ac).dot(normal) / squared, ab.cross(ap).dot(normal) / squared];
    if weights.iter().all(|weight| weight.is_finite()) {
        let [_, v, w] = weights.map(|weight| weight.clamp(0.0, 1.0));
        let w = w.min(1.0 - v);
        return [1.0 - v - w, v, w];
    }
    let nearest = [a, b, c].map(|corner| corner.distance_squared(p));
    let first = (0..3).min_by(|&i, &j| nearest[i].total_cmp(&nearest[j])).unwrap_or(0);
    std::array::from_fn(|k| if k == first { 1.0 } else { 0.0 })
}

/// Point of a triangle closest to `p` (Ericson 2005, 5.1.5).
pub fn closest_point([a, b, c]: [DVec3; 3], p: DVec3) -> DVec3 {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let (d3, d4) = (ab.dot(p - b), ac.dot(p - b));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return a + ab * (d1 / (d1 - d3));
    }
    let (d5, d6) = (ab.dot(p - c), ac.dot(p - c));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return a + ac * (d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        return b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6)));
    }
    let scale = 1.0 / (va + vb + vc);
    a + ab * (vb * scale) + ac * (vc * scale)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_shapes::{beside, cube, sphere};

    proptest! {
        #[test]
        fn the_nearest_point_is_that_of_all_triangles_and_its_weights_are_convex(
            p in proptest::array::uniform3(-2.0..2.0_f64)
        ) {
            let (points, triangles) = beside(cube(), sphere(3));
            let points: Vec<DVec3> = points.iter().map(|point| point.as_dvec3()).collect();
            let (tree, p) = (SurfaceTree::new(&points, &triangles), DVec3::from(p));
            let corners = |t: &[u32; 3]| t.map(|corner| points[corner as usize]);
            let all = triangles.iter().map(|t| closest_point(corners(t), p).distance(p));
            let expected = all.fold(f64::MAX, f64::min);
            let found = tree.nearest(p).unwrap();
            prop_assert!((found.distance - expected).abs() < 1e-12);
            let triangle = corners(&triangles[found.triangle as usize]);
            let weights = barycentric(triangle, found.point);
            prop_assert!(weights.iter().all(|weight| *weight >= 0.0) && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let again: DVec3 = triangle.iter().zip(weights).map(|(corner, weight)| *corner * weight).sum();
            prop_assert!(again.distance(found.point) < 1e-6);
        }
    }

    #[test]
    fn a_degenerate_triangle_has_the_weights_of_a_corner() {
        let line = [DVec3::ZERO, DVec3::X, DVec3::X * 2.0];
        assert_eq!(barycentric(line, DVec3::X * 1.9), [0.0, 0.0, 1.0]);
        assert!(SurfaceTree::new(&[], &[]).nearest(DVec3::ZERO).is_none());
    }
}
