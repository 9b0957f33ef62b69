//! Self-intersections of a triangle mesh: pairs of triangles that cross other than at common points.
//!
//! Candidates are found in a hashed grid of bounding boxes. Triangles with a common edge do not count: they can only
//! overlap if they are coplanar. Coordinates are those of `f32` positions, so `f64` decides reliably except for triangles
//! that merely touch.
//!
//! Cost: linear in the triangles for meshes of uniform density.

use glam::{DVec3, IVec3, Vec3};

/// Size of the cells, in mean extents of boxes.
const CELL: f64 = 1.5;
/// Maximum number of cells of a box; larger ones are compared with all others.
const MAX_CELLS: i64 = 512;

/// Returns the pairs of triangles that intersect, in ascending order.
pub fn intersecting_pairs(points: &[Vec3], triangles: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let points: Vec<DVec3> = points.iter().map(|point| point.as_dvec3()).collect();
    let mut boxes = Boxes::default();
    boxes.fill(triangles, &points, |_| true);
    let extents = boxes.items.iter().map(|(_, low, high)| (*high - *low).max_element());
    let cell = CELL * extents.sum::<f64>() / boxes.items.len().max(1) as f64;
    let mut pairs = Vec::new();
    boxes.overlapping(cell, |first, second| {
        if intersect([first, second].map(|triangle| triangles[triangle as usize]), |point| points[point as usize]) {
            pairs.push([first.min(second), first.max(second)]);
        }
    });
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Bounding boxes of triangles in a hashed grid, with buffers that are reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Boxes {
    /// Triangles with their lower and upper corners.
    items: Vec<(u32, DVec3, DVec3)>,
    /// Hash of a cell and the index of a box in it.
    entries: Vec<(u32, u32)>,
    starts: Vec<u32>,
    sorted: Vec<u32>,
    /// Boxes of too many cells.
    large: Vec<u32>,
}

impl Boxes {
    /// Stores the boxes of the triangles with a point for which `is_relevant` holds.
    pub(crate) fn fill(&mut self, triangles: &[[u32; 3]], points: &[DVec3], is_relevant: impl Fn(usize) -> bool) {
        self.items.clear();
        for (index, triangle) in triangles.iter().enumerate() {
            if triangle.iter().any(|&point| is_relevant(point as usize)) {
                let [a, b, c] = triangle.map(|point| points[point as usize]);
                self.items.push((index as u32, a.min(b).min(c), a.max(b).max(c)));
            }
        }
    }

    /// Like [`Boxes::fill`], with boxes around the triangles in two positions.
    pub(crate) fn fill_swept(
        &mut self,
        triangles: &[[u32; 3]],
        points: &[DVec3],
        moved: &[DVec3],
        is_relevant: impl Fn(usize) -> bool,
    ) {
        self.fill(triangles, points, is_relevant);
        for (triangle, low, high) in &mut self.items {
            let [a, b, c] = triangles[*triangle as usize].map(|point| moved[point as usize]);
            (*low, *high) = (low.min(a).min(b).min(c), high.max(a).max(b).max(c));
        }
    }

    /// Calls `found` for the pairs of triangles whose boxes overlap; a pair may be found several times.
    pub(crate) fn overlapping(&mut self, cell: f64, mut found: impl FnMut(u32, u32)) {
        if !(cell > 0.0 && cell.is_finite()) || self.items.len() < 2 {
            return;
        }
        self.sort_into_cells(cell);
        let overlap = |first: usize, second: usize| {
            let ((_, low, high), (_, other_low, other_high)) = (&self.items[first], &self.items[second]);
            !low.cmpgt(*other_high).any() && !other_low.cmpgt(*high).any()
        };
        for bucket in self.starts.windows(2) {
            let members = &self.sorted[bucket[0] as usize..bucket[1] as usize];
            for (at, &first) in members.iter().enumerate() {
                for &second in members[at + 1..].iter().filter(|&&second| second != first) {
                    if overlap(first as usize, second as usize) {
                        found(self.items[first as usize].0, self.items[second as usize].0);
                    }
                }
            }
        }
        for &first in &self.large {
            for second in (0..self.items.len()).filter(|&second| second != first as usize) {
                if overlap(first as usize, second) {
                    found(self.items[first as usize].0, self.items[second].0);
                }
            }
        }
    }

    /// Counting sort of the boxes by the hashes of their cells.
    fn sort_into_cells(&mut self, cell: f64) {
        let size = (2 * self.items.len()).next_power_of_two();
        let cell_of = |position: DVec3| (position / cell).floor().as_ivec3();
        self.entries.clear();
        self.large.clear();
        for (index, &(_, low, high)) in self.items.iter().enumerate() {
            let (low, high) = (cell_of(low), cell_of(high));
            let count = (0..3).map(|axis| i64::from(high[axis]) - i64::from(low[axis]) + 1);
            if count.fold(1i64, i64::saturating_mul) > MAX_CELLS {
                self.large.push(index as u32);
                continue;
            }
            for x in low.x..=high.x {
                for y in low.y..=high.y {
                    for z in low.z..=high.z {
                        self.entries.push((hash(IVec3::new(x, y, z), size), index as u32));
                    }
                }
            }
        }
        self.starts.clear();
        self.starts.resize(size + 1, 0);
        for &(cell, _) in &self.entries {
            self.starts[cell as usize] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.sorted.clear();
        self.sorted.resize(self.entries.len(), 0);
        for &(cell, index) in self.entries.iter().rev() {
            // The ends of the cells become their starts.
            self.starts[cell as usize] -= 1;
            self.sorted[self.starts[cell as usize] as usize] = index;
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
