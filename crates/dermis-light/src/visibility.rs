//! Visibility of points from a direction and from the opposite one: exact casts of parallel rays.
//!
//! All rays of a direction are parallel. Projected onto the plane perpendicular to the direction, a ray is a point, and
//! a triangle is still a triangle. Triangles are sorted into the cells of a grid in this plane, and a ray is tested
//! against those of its cell that reach beyond its origin. Unlike a bounding volume hierarchy, the grid is not
//! traversed. It is built in one pass over the triangles, which is worthwhile if there are about as many rays as
//! triangles. Rays of the opposite direction have the same projection and use the same grid.

use glam::Vec3;

/// Mean number of triangles per cell: with smaller cells the grid takes longer to fill, with larger cells rays take
/// longer.
const TRIANGLES_PER_CELL: f64 = 4.0;
/// End of the entries of a cell.
const NONE: u32 = u32::MAX;
/// Maximum number of cells along an axis.
const MAX_CELLS: usize = 1024;

/// Direction of a ray relative to the direction of its grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heading {
    Along,
    Against,
}

/// Grid in the plane perpendicular to a direction. Its memory is reused for the next direction.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    low: [f32; 2],
    scale: [f32; 2],
    cells: [usize; 2],
    /// Last entry of each cell.
    heads: Vec<u32>,
    /// Triangles of the cells.
    entries: Vec<Entry>,
    /// Coordinates of each point: two in the plane, one along the direction.
    points: Vec<[f32; 3]>,
    flat: Vec<Flat>,
}

/// A triangle of a cell.
#[derive(Debug, Clone, Copy)]
struct Entry {
    triangle: u32,
    /// The entry before this one in its cell.
    before: u32,
    /// Lowest and highest corner.
    heights: [f32; 2],
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
    pub(crate) fn fill(&mut self, points: &[Vec3], triangles: &[[u32; 3]], direction: Vec3) {
        let (u, v) = direction.any_orthonormal_pair();
        self.points.clear();
        self.points.extend(points.iter().map(|point| [point.dot(u), point.dot(v), point.dot(direction)]));
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
        self.heads.clear();
        self.heads.resize(self.cells[0] * self.cells[1], NONE);
        self.entries.clear();
        for (index, triangle) in triangles.iter().enumerate() {
            let corners = triangle.map(|point| self.points[point as usize]);
            let [low, high] = [f32::min, f32::max].map(|extreme| {
                [0, 1, 2].map(|axis| extreme(extreme(corners[0][axis], corners[1][axis]), corners[2][axis]))
            });
            let (first, last) = (self.cell_of(low), self.cell_of(high));
            for y in first[1]..=last[1] {
                for head in &mut self.heads[y * self.cells[0] + first[0]..=y * self.cells[0] + last[0]] {
                    self.entries.push(Entry { triangle: index as u32, before: *head, heights: [low[2], high[2]] });
                    *head = self.entries.len() as u32 - 1;
                }
            }
        }
    }

    /// Column and row of the cell that contains a point.
    fn cell_of(&self, point: [f32; 3]) -> [usize; 2] {
        [0, 1].map(|axis| {
            (((point[axis] - self.low[axis]) * self.scale[axis]).max(0.0) as usize).min(self.cells[axis] - 1)
        })
    }

    /// Returns true if no triangle lies beyond point `point` by more than `gap`, along the direction of the grid or
    /// along the opposite one. The triangles at the point are ignored.
    pub(crate) fn is_visible(&self, point: u32, triangles: &[[u32; 3]], gap: f32, heading: Heading) -> bool {
        match heading {
            Heading::Along => self.is_free(point, triangles, gap, |heights, limit| heights[1] > limit, |a, b| a > b),
            Heading::Against => self.is_free(point, triangles, -gap, |heights, limit| heights[0] < limit, |a, b| a < b),
        }
    }

    /// Returns true if no triangle at the projection of `point` is `beyond` the height of the point plus `offset`.
    fn is_free(
        &self,
        point: u32,
        triangles: &[[u32; 3]],
        offset: f32,
        reaches: impl Fn([f32; 2], f32) -> bool,
        beyond: impl Fn(f32, f32) -> bool,
    ) -> bool {
        let at = self.points[point as usize];
        let (limit, [column, row]) = (at[2] + offset, self.cell_of(at));
        let mut next = self.heads[row * self.cells[0] + column];
        while next != NONE {
            let entry = self.entries[next as usize];
            if reaches(entry.heights, limit)
                && self.flat[entry.triangle as usize]
                    .height_at(at[0], at[1])
                    .is_some_and(|height| beyond(height, limit))
                && !triangles[entry.triangle as usize].contains(&point)
            {
                return false;
            }
            next = entry.before;
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

    /// Height of the triangle at a point of the plane; `None` outside of the triangle.
    fn height_at(&self, x: f32, y: f32) -> Option<f32> {
        let (dx, dy) = (x - self.origin[0], y - self.origin[1]);
        let v = self.v[0] * dx + self.v[1] * dy;
        let w = self.w[0] * dx + self.w[1] * dy;
        let is_inside = v >= 0.0 && w >= 0.0 && v + w <= 1.0;
        is_inside.then(|| self.origin[2] + self.rise[0] * dx + self.rise[1] * dy)
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;
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
            grid.fill(&points, &triangles, direction.as_vec3());
            for (point, heading) in (0..points.len() as u32).flat_map(|p| [(p, Heading::Along), (p, Heading::Against)]) {
                let direction = if heading == Heading::Along { direction } else { -direction };
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
                prop_assert_eq!(grid.is_visible(point, &triangles, 0.0, heading), expected, "point {}", point);
            }
        }
    }
}
