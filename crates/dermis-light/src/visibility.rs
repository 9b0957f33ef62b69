//! Visibility of points from a direction and from the opposite one: exact casts of parallel rays.
//!
//! All rays of a direction are parallel. Projected onto the plane perpendicular to the direction, a ray is a point, and
//! a triangle is still a triangle. Triangles are sorted into the cells of a grid in this plane, and a ray is tested
//! against those of its cell that reach beyond its origin. Columns and rows are narrow where many triangles are: small
//! triangles of a character on a wide floor would otherwise share a few cells. Unlike a bounding volume hierarchy, the
//! grid is not traversed. It is built in two passes over the triangles, which is worthwhile if there are about as many
//! rays as triangles. Rays of the opposite direction have the same projection and use the same grid.

use glam::Vec3;

/// Mean number of triangles per cell: with smaller cells the grid takes longer to fill, with larger cells rays take
/// longer.
const TRIANGLES_PER_CELL: f64 = 4.0;
/// Maximum number of cells along an axis.
const MAX_CELLS: usize = 1024;
/// Number of intervals along an axis, of which columns and rows consist.
const INTERVALS: usize = 2048;
/// Fraction of the columns and rows that have equal widths; the others follow the density of the triangles.
const EVEN_FRACTION: f64 = 0.1;

/// Direction of a ray relative to the direction of its grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heading {
    Along,
    Against,
}

/// Grid in the plane perpendicular to a direction. Its memory is reused for the next direction.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    axes: [Axis; 2],
    /// First entry of each cell, and the number of entries.
    starts: Vec<u32>,
    /// Triangles, cell by cell.
    entries: Vec<Entry>,
    /// Coordinates of each point: two in the plane, one along the direction.
    points: Vec<[f32; 3]>,
    flat: Vec<Flat>,
    /// First and last column and row of each triangle.
    covers: Vec<[[u16; 2]; 2]>,
}

/// Division of an axis of the plane into columns or rows.
#[derive(Debug, Default)]
struct Axis {
    low: f32,
    /// Intervals per unit of length.
    scale: f32,
    /// Number of columns or rows.
    count: usize,
    /// Column or row of each interval, ascending.
    cells: Vec<u16>,
}

/// A triangle of a cell.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    triangle: u32,
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
    /// Lowest and highest corner.
    heights: [f32; 2],
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
        self.flat.clear();
        self.flat.extend(triangles.iter().map(|triangle| Flat::new(triangle.map(|p| self.points[p as usize]))));
        let count = (triangles.len() as f64 / TRIANGLES_PER_CELL).sqrt().ceil() as usize;
        let count = count.clamp(1, MAX_CELLS);
        for (axis, division) in self.axes.iter_mut().enumerate() {
            division.divide(low[axis], high[axis], count, self.flat.iter().map(|flat| flat.origin[axis]));
        }
        self.sort(triangles);
    }

    /// Counting sort of the triangles by cell.
    fn sort(&mut self, triangles: &[[u32; 3]]) {
        let columns = self.axes[0].count;
        self.starts.clear();
        self.starts.resize(columns * self.axes[1].count + 1, 0);
        self.covers.clear();
        for triangle in triangles {
            let corners = triangle.map(|point| self.points[point as usize]);
            let cover @ [x, y] = [0, 1].map(|axis| {
                let along = corners.map(|corner| corner[axis]);
                let ends = [along[0].min(along[1]).min(along[2]), along[0].max(along[1]).max(along[2])];
                ends.map(|end| self.axes[axis].cell_of(end))
            });
            self.covers.push(cover);
            for_rows(x, y, columns, |cells| self.starts[cells].iter_mut().for_each(|count| *count += 1));
        }
        // Ends of the cells, which the second pass moves down to their starts.
        let mut end = 0;
        for count in &mut self.starts {
            end += *count;
            *count = end;
        }
        self.entries.clear();
        self.entries.resize(end as usize, Entry::default());
        for (index, (&[x, y], flat)) in self.covers.iter().zip(&self.flat).enumerate() {
            let entry = Entry { triangle: index as u32, heights: flat.heights };
            for_rows(x, y, columns, |cells| {
                for start in &mut self.starts[cells] {
                    *start -= 1;
                    self.entries[*start as usize] = entry;
                }
            });
        }
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
        let limit = at[2] + offset;
        let [column, row] = [0, 1].map(|axis| usize::from(self.axes[axis].cell_of(at[axis])));
        let cell = row * self.axes[0].count + column;
        let entries = &self.entries[self.starts[cell] as usize..self.starts[cell + 1] as usize];
        !entries.iter().any(|entry| {
            let triangle = entry.triangle as usize;
            reaches(entry.heights, limit)
                && self.flat[triangle].height_at(at[0], at[1]).is_some_and(|height| beyond(height, limit))
                && !triangles[triangle].contains(&point)
        })
    }
}

/// Calls `visit` with the cells of each row that a triangle covers.
fn for_rows(x: [u16; 2], y: [u16; 2], columns: usize, mut visit: impl FnMut(std::ops::RangeInclusive<usize>)) {
    for row in y[0]..=y[1] {
        let first = usize::from(row) * columns;
        visit(first + usize::from(x[0])..=first + usize::from(x[1]));
    }
}

impl Axis {
    /// Divides the range from `low` to `high` into `count` cells with about equal numbers of triangles, which are at
    /// `values`; a fraction of the cells is spread evenly.
    fn divide(&mut self, low: f32, high: f32, count: usize, values: impl ExactSizeIterator<Item = f32>) {
        self.low = low;
        self.scale = (INTERVALS as f64 * (1.0 - 1e-6) / f64::from(high - low).max(1e-30)) as f32;
        self.count = count;
        let total = values.len().max(1) as f64;
        let mut triangles = [0_u32; INTERVALS];
        values.for_each(|value| triangles[self.interval_of(value)] += 1);
        self.cells.clear();
        let mut before = 0_u32;
        self.cells.extend(triangles.iter().enumerate().map(|(interval, own)| {
            let even = interval as f64 / INTERVALS as f64;
            let position = EVEN_FRACTION * even + (1.0 - EVEN_FRACTION) * f64::from(before) / total;
            before += own;
            ((position * count as f64) as usize).min(count - 1) as u16
        }));
    }

    fn interval_of(&self, value: f32) -> usize {
        (((value - self.low) * self.scale).max(0.0) as usize).min(INTERVALS - 1)
    }

    /// Column or row of a coordinate.
    fn cell_of(&self, value: f32) -> u16 {
        self.cells[self.interval_of(value)]
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
        let heights = [a[2].min(b[2]).min(c[2]), a[2].max(b[2]).max(c[2])];
        Self { origin: a, v, w, rise, heights }
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
