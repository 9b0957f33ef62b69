//! Visibility of points from one direction: exact casts of parallel rays.
//!
//! All rays of a direction are parallel. Projected onto the plane perpendicular to the direction, a ray is a point, and
//! a triangle is still a triangle. Triangles are sorted into the cells of a grid in this plane, and a ray is tested
//! against those of its cell that reach above its origin. Unlike a bounding volume hierarchy, the grid is not
//! traversed. It is built in one pass over the triangles, which is worthwhile if there are about as many rays as
//! triangles.

use glam::{DVec3, Vec3};

/// Mean number of triangles per cell: with smaller cells the grid takes longer to fill, with larger cells rays take
/// longer.
const TRIANGLES_PER_CELL: f64 = 4.0;
/// End of the entries of a cell.
const NONE: u32 = u32::MAX;
/// Maximum number of cells along an axis.
const MAX_CELLS: usize = 1024;

/// Grid in the plane perpendicular to a direction. Its memory is reused for the next direction.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    low: [f32; 2],
    scale: [f32; 2],
    cells: [usize; 2],
    /// Highest corner of the triangles of each cell, and its last entry.
    heads: Vec<(f32, u32)>,
    /// Triangles of the cells, each with the entry before it in its cell.
    entries: Vec<[u32; 2]>,
    /// Coordinates of each point: two in the plane, one along the direction.
    points: Vec<[f32; 3]>,
    flat: Vec<Flat>,
}

/// A triangle in the plane: barycentric weights of the second and third corner, and height, as linear functions.
#[derive(Debug, Clone, Copy)]
struct Flat {
    origin: [f32; 3],
    v: [f32; 2],
    w: [f32; 2],
    rise: [f32; 2],
}

impl Grid {
    /// Sorts the triangles into the cells of the plane perpendicular to `direction`.
    pub(crate) fn fill(&mut self, points: &[Vec3], triangles: &[[u32; 3]], direction: DVec3) {
        let (u, v) = direction.any_orthonormal_pair();
        let [u, v, d] = [u, v, direction].map(glam::DVec3::as_vec3);
        self.points.clear();
        self.points.extend(points.iter().map(|point| [point.dot(u), point.dot(v), point.dot(d)]));
        let (mut low, mut high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
        for point in &self.points {
            for axis in 0..2 {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
        }
        let size = [0, 1].map(|axis| f64::from(high[axis] - low[axis]).max(1e-30));
        let count = triangles.len() as f64 / TRIANGLES_PER_CELL;
        let cell = (size[0] * size[1] / count.max(1.0)).sqrt();
        self.low = low;
        self.cells = size.map(|size| ((size / cell).ceil() as usize).clamp(1, MAX_CELLS));
        self.scale = [0, 1].map(|axis| (self.cells[axis] as f64 * (1.0 - 1e-6) / size[axis]) as f32);
        self.flat.clear();
        self.flat.extend(triangles.iter().map(|triangle| Flat::new(triangle.map(|p| self.points[p as usize]))));
        self.sort(triangles);
    }

    fn sort(&mut self, triangles: &[[u32; 3]]) {
        let cell_count = self.cells[0] * self.cells[1];
        self.heads.clear();
        self.heads.resize(cell_count, (f32::NEG_INFINITY, NONE));
        self.entries.clear();
        for (index, triangle) in triangles.iter().enumerate() {
            let ([[x0, y0], [x1, y1]], top) = self.range(triangle);
            for y in y0..=y1 {
                for head in &mut self.heads[y * self.cells[0] + x0..=y * self.cells[0] + x1] {
                    self.entries.push([index as u32, head.1]);
                    *head = (head.0.max(top), self.entries.len() as u32 - 1);
                }
            }
        }
    }

    /// First and last cell of a triangle, and its height.
    fn range(&self, triangle: &[u32; 3]) -> ([[usize; 2]; 2], f32) {
        let [a, b, c] = triangle.map(|point| self.points[point as usize]);
        let cell = |value: f32, axis: usize| {
            (((value - self.low[axis]) * self.scale[axis]).max(0.0) as usize).min(self.cells[axis] - 1)
        };
        let low = [0, 1].map(|axis| cell(a[axis].min(b[axis]).min(c[axis]), axis));
        let high = [0, 1].map(|axis| cell(a[axis].max(b[axis]).max(c[axis]), axis));
        ([low, high], a[2].max(b[2]).max(c[2]))
    }

    /// Returns true if no triangle lies above point `point` by more than `gap`; the triangles at the point are ignored.
    pub(crate) fn is_visible(&self, point: u32, triangles: &[[u32; 3]], gap: f32) -> bool {
        let [x, y, height] = self.points[point as usize];
        let cell = |value: f32, axis: usize| {
            (((value - self.low[axis]) * self.scale[axis]).max(0.0) as usize).min(self.cells[axis] - 1)
        };
        let cell = cell(y, 1) * self.cells[0] + cell(x, 0);
        let above = height + gap;
        let (top, mut next) = self.heads[cell];
        if top <= above {
            return true;
        }
        while next != NONE {
            let [triangle, before] = self.entries[next as usize];
            let is_above = self.flat[triangle as usize].is_above(x, y, above);
            if is_above && !triangles[triangle as usize].contains(&point) {
                return false;
            }
            next = before;
        }
        true
    }
}

impl Flat {
    fn new([a, b, c]: [[f32; 3]; 3]) -> Self {
        let (ab, ac) = ([b[0] - a[0], b[1] - a[1]], [c[0] - a[0], c[1] - a[1]]);
        let area = ab[0] * ac[1] - ab[1] * ac[0];
        // A triangle seen edge-on has infinite weights and contains no point.
        let inverse = 1.0 / area;
        let (v, w) = ([ac[1] * inverse, -ac[0] * inverse], [-ab[1] * inverse, ab[0] * inverse]);
        let rise = [0, 1].map(|axis| v[axis] * (b[2] - a[2]) + w[axis] * (c[2] - a[2]));
        Self { origin: a, v, w, rise }
    }

    fn is_above(&self, x: f32, y: f32, height: f32) -> bool {
        let (dx, dy) = (x - self.origin[0], y - self.origin[1]);
        let v = self.v[0] * dx + self.v[1] * dy;
        let w = self.w[0] * dx + self.w[1] * dy;
        v >= 0.0 && w >= 0.0 && v + w <= 1.0 && self.origin[2] + self.rise[0] * dx + self.rise[1] * dy > height
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Möller & Trumbore 1997.
    fn hits(origin: DVec3, direction: DVec3, [a, b, c]: [DVec3; 3]) -> Option<(f64, f64)> {
        let (ab, ac) = (b - a, c - a);
        let across = direction.cross(ac);
        let determinant = ab.dot(across);
        let from = origin - a;
        let (u, over) = (from.dot(across) / determinant, from.cross(ab));
        let v = direction.dot(over) / determinant;
        let margin = u.min(v).min(1.0 - u - v);
        margin.is_finite().then(|| (ac.dot(over) / determinant, margin))
    }

    proptest! {
        #[test]
        fn visibility_is_that_of_rays_against_all_triangles(
            corners in proptest::collection::vec(proptest::array::uniform3(-1.0..1.0_f32), 12..60),
            toward in proptest::array::uniform3(-1.0..1.0_f64),
        ) {
            let Some(direction) = DVec3::from(toward).try_normalize() else { return Ok(()) };
            let points: Vec<Vec3> = corners.into_iter().map(Vec3::from).collect();
            let triangles: Vec<[u32; 3]> = (0..points.len() as u32 / 3).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
            let mut grid = Grid::default();
            grid.fill(&points, &triangles, direction);
            for point in 0..points.len() as u32 {
                let origin = points[point as usize].as_dvec3();
                let others = triangles.iter().filter(|t| !t.contains(&point));
                let all: Vec<(f64, f64)> = others
                    .filter_map(|t| hits(origin, direction, t.map(|p| points[p as usize].as_dvec3())))
                    .collect();
                // Because of rounding, rays through an edge and origins on a triangle can have either result.
                if all.iter().any(|(t, margin)| margin.abs() < 1e-3 || t.abs() < 1e-3) {
                    continue;
                }
                let expected = !all.iter().any(|(t, margin)| *t > 0.0 && *margin > 0.0);
                prop_assert_eq!(grid.is_visible(point, &triangles, 0.0), expected, "point {}", point);
            }
        }
    }
}
