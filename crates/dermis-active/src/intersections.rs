//! Self-intersections of a triangle mesh: pairs of triangles that cross other than at common points.
//!
//! Candidates are found in a tree of bounding boxes, so that meshes with very different sizes of triangles, such as fingers
//! on a coarse trunk, are searched as fast as uniform ones. Triangles with a common edge do not count: they can only
//! overlap if they are coplanar. Coordinates are those of `f32` positions, so `f64` decides reliably except for triangles
//! that merely touch.
//!
//! Cost: O(n log n) for n triangles with few overlaps. Tried and dropped: a hashed grid with cells of the mean size of a
//! triangle, which is as fast on uniform meshes, but took minutes per frame on a robot with 20,000 small triangles in its
//! joints, thousands of which fell into one cell.

use glam::{DVec3, IVec3, Vec3};

/// Boxes of a leaf of the tree.
const LEAF: usize = 4;

/// Returns the pairs of triangles that intersect, in ascending order.
pub fn intersecting_pairs(points: &[Vec3], triangles: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let points: Vec<DVec3> = points.iter().map(|point| point.as_dvec3()).collect();
    let mut boxes = Boxes::default();
    boxes.fill(triangles, &points);
    let mut pairs = Vec::new();
    boxes.overlapping(|first, second| {
        if intersect([first, second].map(|triangle| triangles[triangle as usize]), |point| points[point as usize]) {
            pairs.push([first.min(second), first.max(second)]);
        }
    });
    pairs.sort_unstable();
    pairs
}

/// Bounding boxes of triangles, with buffers that are reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Boxes {
    /// Boxes of triangles, in the order of the leaves once the tree is built.
    items: Vec<(u32, Bounds)>,
    nodes: Vec<Node>,
}

/// Axis-aligned box.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    low: DVec3,
    high: DVec3,
}

/// Node of the tree: a range of boxes. The first child follows its parent.
#[derive(Debug, Clone, Copy)]
struct Node {
    bounds: Bounds,
    first: u32,
    end: u32,
    /// Second child; 0 for leaves.
    second_child: u32,
}

impl Bounds {
    const EMPTY: Self = Self { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };

    fn around(corners: [DVec3; 3]) -> Self {
        let [a, b, c] = corners;
        Self { low: a.min(b).min(c), high: a.max(b).max(c) }
    }

    fn union(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn overlaps(&self, other: &Self) -> bool {
        !self.low.cmpgt(other.high).any() && !other.low.cmpgt(self.high).any()
    }

    /// Twice the centre.
    fn centre(&self) -> DVec3 {
        self.low + self.high
    }
}

impl Boxes {
    /// Stores the boxes of all triangles.
    pub(crate) fn fill(&mut self, triangles: &[[u32; 3]], points: &[DVec3]) {
        let bounds = |triangle: &[u32; 3]| Bounds::around(triangle.map(|point| points[point as usize]));
        self.items.clear();
        self.items.extend(triangles.iter().enumerate().map(|(index, triangle)| (index as u32, bounds(triangle))));
    }

    /// Like [`Boxes::fill`], with boxes around the triangles in two positions.
    pub(crate) fn fill_swept(&mut self, triangles: &[[u32; 3]], points: &[DVec3], moved: &[DVec3]) {
        self.fill(triangles, points);
        for (triangle, bounds) in &mut self.items {
            let corners = triangles[*triangle as usize].map(|point| moved[point as usize]);
            *bounds = bounds.union(Bounds::around(corners));
        }
    }

    /// Calls `found` once for each pair of triangles whose boxes overlap.
    pub(crate) fn overlapping(&mut self, mut found: impl FnMut(u32, u32)) {
        self.nodes.clear();
        if self.items.is_empty() {
            return;
        }
        self.build(0, self.items.len());
        let mut pending = vec![(0, 0)];
        while let Some((first, second)) = pending.pop() {
            self.descend(first, second, &mut pending, &mut found);
        }
    }

    /// Builds the tree of a range of boxes and returns its root. Ranges are halved across their longest side.
    fn build(&mut self, first: usize, end: usize) -> usize {
        let items = &mut self.items[first..end];
        let bounds = items.iter().fold(Bounds::EMPTY, |union, (_, bounds)| union.union(*bounds));
        let node = self.nodes.len();
        self.nodes.push(Node { bounds, first: first as u32, end: end as u32, second_child: 0 });
        if items.len() > LEAF {
            let centres = items.iter().map(|(_, bounds)| bounds.centre());
            let (low, high) =
                centres.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), c| (low.min(c), high.max(c)));
            let axis = (high - low).max_position();
            let middle = items.len() / 2;
            items.select_nth_unstable_by(middle, |(i, a), (j, b)| {
                a.centre()[axis].total_cmp(&b.centre()[axis]).then(i.cmp(j))
            });
            self.build(first, first + middle);
            self.nodes[node].second_child = self.build(first + middle, end) as u32;
        }
        node
    }

    /// Compares two nodes, or one with itself: reports the pairs of leaves, and adds the pairs of children to `pending`.
    fn descend(
        &self,
        first: usize,
        second: usize,
        pending: &mut Vec<(usize, usize)>,
        found: &mut impl FnMut(u32, u32),
    ) {
        let (a, b) = (&self.nodes[first], &self.nodes[second]);
        if first != second && !a.bounds.overlaps(&b.bounds) {
            return;
        }
        let children = |node: &Node, at: usize| [at + 1, node.second_child as usize];
        match (a.second_child != 0, b.second_child != 0) {
            (true, _) if first == second => {
                let [left, right] = children(a, first);
                pending.extend([(left, left), (right, right), (left, right)]);
            }
            (true, b_splits) if !b_splits || a.end - a.first >= b.end - b.first => {
                pending.extend(children(a, first).map(|child| (child, second)));
            }
            (_, true) => pending.extend(children(b, second).map(|child| (first, child))),
            _ => {
                for i in a.first..a.end {
                    let from = if first == second { i + 1 } else { b.first };
                    let (triangle, bounds) = &self.items[i as usize];
                    for (other, other_bounds) in &self.items[from as usize..b.end as usize] {
                        if bounds.overlaps(other_bounds) {
                            found(*triangle, *other);
                        }
                    }
                }
            }
        }
    }
}

/// Hash of a cell for a table of `size`, a power of two.
pub(crate) fn hash(cell: IVec3, size: usize) -> u32 {
    let mixed = (cell.x as u32).wrapping_mul(73_856_093)
        ^ (cell.y as u32).wrapping_mul(19_349_663)
        ^ (cell.z as u32).wrapping_mul(83_492_791);
    (mixed ^ (mixed >> 15)) & (size as u32 - 1)
}

/// Returns true if two triangles intersect other than at common points. Triangles with a common edge never do.
pub(crate) fn intersect([first, second]: [[u32; 3]; 2], at: impl Fn(u32) -> DVec3) -> bool {
    let common = first.iter().filter(|point| second.contains(point)).count();
    if common > 1 {
        return false;
    }
    let [t, s] = [first, second].map(|triangle| triangle.map(&at));
    if common == 0 && (separated(t, s) || separated(s, t)) {
        return false;
    }
    let edges = |triangle: [u32; 3], other: [u32; 3]| {
        let sides = [[0, 1], [1, 2], [2, 0]].map(|side| side.map(|corner: usize| triangle[corner]));
        sides.into_iter().filter(move |side| side.iter().all(|point| !other.contains(point)))
    };
    edges(first, second).any(|edge| segment_intersects(edge.map(&at), s))
        || edges(second, first).any(|edge| segment_intersects(edge.map(&at), t))
}

/// Returns true if all corners of `other` are on one side of the plane of `triangle`.
fn separated([a, b, c]: [DVec3; 3], other: [DVec3; 3]) -> bool {
    let normal = (b - a).cross(c - a);
    let sides = other.map(|corner| normal.dot(corner - a));
    sides.iter().all(|&side| side > 0.0) || sides.iter().all(|&side| side < 0.0)
}

/// Returns true if a segment crosses or touches a triangle. The point at which it meets the plane is compared with the
/// sides in the plane, which is reliable for triangles that are nearly coplanar, unlike the volumes of tetrahedra.
fn segment_intersects([p, q]: [DVec3; 2], [a, b, c]: [DVec3; 3]) -> bool {
    let normal = (b - a).cross(c - a);
    let (from, to) = (normal.dot(p - a), normal.dot(q - a));
    if from * to > 0.0 || from == to {
        return false;
    }
    let met = p + (q - p) * (from / (from - to));
    [[a, b], [b, c], [c, a]].iter().all(|&[u, v]| (v - u).cross(met - u).dot(normal) >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_crossing_sheets_intersect_along_a_line() {
        let sheet = |first: u32, place: fn(f32, f32) -> Vec3| {
            let points = (0..36).map(move |k| place((k % 6) as f32, (k / 6) as f32));
            let cells = (0..25).map(move |k| first + k % 5 + 6 * (k / 5));
            (points, cells.flat_map(|a| [[a, a + 1, a + 7], [a, a + 7, a + 6]]))
        };
        let (floor, floor_triangles) = sheet(0, |x, y| Vec3::new(x, y, 0.0));
        let (wall, wall_triangles) = sheet(36, |x, y| Vec3::new(2.3, x + 0.11, y - 2.4));
        let points: Vec<Vec3> = floor.chain(wall).collect();
        let triangles: Vec<[u32; 3]> = floor_triangles.chain(wall_triangles).collect();
        let mut expected = Vec::new();
        for first in 0..100u32 {
            for second in first + 1..100 {
                let pair = [first, second].map(|triangle| triangles[triangle as usize]);
                if intersect(pair, |point| points[point as usize].as_dvec3()) {
                    expected.push([first, second]);
                }
            }
        }
        let found = intersecting_pairs(&points, &triangles);
        assert!(found.len() >= 10, "{}", found.len());
        assert_eq!(found, expected);
        assert!(found.iter().all(|pair| pair[0] < 50 && pair[1] >= 50));
    }
}
