//! Visibility by rasterization in tiles.
//!
//! Every pixel has [`SAMPLES`] samples, at the points of the Hammersley set. No two samples share a row or a column, so
//! horizontal and vertical edges have as many levels of coverage as there are samples. Each sample keeps the nearest
//! triangle. Inverse depth is linear in the picture, so it is interpolated exactly; the shading intersects the ray with
//! the triangle, which makes attributes perspective-correct. Edge functions of two triangles at a shared edge are exact
//! negatives of each other, and a sample on an edge belongs to one side only: closed surfaces have no gaps. Tiles are
//! independent, and triangles are drawn in their order, so the result does not depend on the number of threads.

use glam::Vec3;
use rayon::prelude::*;

use crate::camera::Projection;
use crate::surface::Geometry;

/// Samples per pixel.
pub(crate) const SAMPLES: usize = 16;
/// Width and height of a tile in pixels.
pub(crate) const TILE: usize = 32;
/// Identifier of a sample without a triangle.
pub(crate) const NOTHING: u32 = u32::MAX;

/// Offsets of the samples from the centre of the pixel.
pub(crate) const OFFSETS: [[f32; 2]; SAMPLES] = hammersley();

const fn hammersley() -> [[f32; 2]; SAMPLES] {
    let mut offsets = [[0.0; 2]; SAMPLES];
    let mut at = 0;
    while at < SAMPLES {
        let reversed = (at as u32).reverse_bits() >> (u32::BITS - SAMPLES.trailing_zeros());
        offsets[at] = [(at as f32 + 0.5) / SAMPLES as f32 - 0.5, (reversed as f32 + 0.5) / SAMPLES as f32 - 0.5];
        at += 1;
    }
    offsets
}

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rect {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// A triangle in the picture: pixel coordinates and inverse depth of its corners.
#[derive(Debug, Clone, Copy)]
struct ScreenTriangle {
    corners: [Vec3; 3],
    id: u32,
}

/// The triangles of a geometry in the picture, sorted by tiles.
#[derive(Debug)]
pub(crate) struct Bins {
    triangles: Vec<ScreenTriangle>,
    /// Triangles of each tile.
    tiles: Vec<Vec<u32>>,
    rect: Rect,
    columns: usize,
}

impl Bins {
    pub(crate) fn new(geometry: &Geometry<'_>, projection: Projection, rect: Rect) -> Self {
        let at: Vec<Vec3> = geometry.positions.par_iter().map(|&point| projection.to_camera(point)).collect();
        let (columns, rows) = (rect.width.div_ceil(TILE), rect.height.div_ceil(TILE));
        let mut bins = Self { triangles: Vec::new(), tiles: vec![Vec::new(); columns * rows], rect, columns };
        for (id, triangle) in geometry.triangles.iter().enumerate() {
            let corners = triangle.map(|corner| at[corner as usize]);
            for corners in clipped(corners, projection.camera.near) {
                bins.add(corners.map(|corner| projection.to_pixel(corner)), id as u32);
            }
        }
        bins
    }

    fn add(&mut self, corners: [Vec3; 3], id: u32) {
        let [a, b, c] = corners;
        let (low, high) = (a.min(b).min(c), a.max(b).max(c));
        let Rect { x, y, width, height } = self.rect;
        let (left, top) = (x as f32, y as f32);
        let is_outside = high.x < left || high.y < top || low.x > left + width as f32 || low.y > top + height as f32;
        if is_outside || !(low.is_finite() && high.is_finite()) {
            return;
        }
        let tile = |at: f32, first: f32, size: usize| ((at - first).clamp(0.0, size as f32 - 1.0)) as usize / TILE;
        let number = self.triangles.len() as u32;
        self.triangles.push(ScreenTriangle { corners, id });
        for row in tile(low.y, top, height)..=tile(high.y, top, height) {
            for column in tile(low.x, left, width)..=tile(high.x, left, width) {
                self.tiles[row * self.columns + column].push(number);
            }
        }
    }

    pub(crate) fn tile_count(&self) -> usize {
        self.tiles.len()
    }

    /// Pixels of a tile.
    pub(crate) fn tile_rect(&self, tile: usize) -> Rect {
        let (column, row) = (tile % self.columns, tile / self.columns);
        let (x, y) = (column * TILE, row * TILE);
        let (width, height) = (TILE.min(self.rect.width - x), TILE.min(self.rect.height - y));
        Rect { x: self.rect.x + x, y: self.rect.y + y, width, height }
    }

    /// Draws the triangles of a tile. `coverage` returns the samples of a pixel that a triangle can cover, as bits.
    pub(crate) fn draw(&self, tile: usize, coverage: impl Fn(u32, usize, usize) -> u32) -> Tile {
        let mut drawn = Tile::new(self.tile_rect(tile));
        for &number in &self.tiles[tile] {
            drawn.fill(&self.triangles[number as usize], &coverage);
        }
        drawn
    }
}

/// Clips a triangle at the near plane: none, one or two triangles remain.
fn clipped(corners: [Vec3; 3], near: f32) -> impl Iterator<Item = [Vec3; 3]> {
    let is_visible = corners.map(|corner| corner.z >= near);
    let count = is_visible.iter().filter(|visible| **visible).count();
    let mut polygon = [Vec3::ZERO; 4];
    let mut size = 0;
    if count == 3 {
        polygon[..3].copy_from_slice(&corners);
        size = 3;
    } else if count > 0 {
        for corner in 0..3 {
            let (here, next) = (corners[corner], corners[(corner + 1) % 3]);
            if is_visible[corner] {
                polygon[size] = here;
                size += 1;
            }
            if is_visible[corner] != is_visible[(corner + 1) % 3] {
                polygon[size] = here + (next - here) * ((near - here.z) / (next.z - here.z));
                size += 1;
            }
        }
    }
    (2..size).map(move |last| [polygon[0], polygon[last - 1], polygon[last]])
}

/// Samples of one tile.
#[derive(Debug)]
pub(crate) struct Tile {
    pub(crate) rect: Rect,
    /// Nearest triangle of each sample.
    pub(crate) ids: Vec<[u32; SAMPLES]>,
    /// Inverse depth of each sample.
    depths: Vec<[f32; SAMPLES]>,
}

/// Linear function of the location in a tile: value at its corner, change per column and per row.
#[derive(Debug, Clone, Copy)]
struct Linear {
    at: f32,
    x: f32,
    y: f32,
}

impl Linear {
    fn value(self, x: f32, y: f32) -> f32 {
        self.x * x + self.y * y + self.at
    }

    fn offsets(self) -> [f32; SAMPLES] {
        OFFSETS.map(|[x, y]| self.x * x + self.y * y)
    }
}

impl Tile {
    fn new(rect: Rect) -> Self {
        let count = rect.width * rect.height;
        Self { rect, ids: vec![[NOTHING; SAMPLES]; count], depths: vec![[0.0; SAMPLES]; count] }
    }

    fn fill(&mut self, triangle: &ScreenTriangle, coverage: &impl Fn(u32, usize, usize) -> u32) {
        let [mut a, mut b, c] = triangle.corners.map(|corner| {
            let (x, y) = (f64::from(corner.x) - self.rect.x as f64, f64::from(corner.y) - self.rect.y as f64);
            [x, y, f64::from(corner.z)]
        });
        let mut area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
        if area == 0.0 {
            return;
        }
        if area < 0.0 {
            std::mem::swap(&mut a, &mut b);
            area = -area;
        }
        let corners = [a, b, c];
        // Edge function of the edge opposite to each corner: positive inside.
        let edges = [(b, c), (c, a), (a, b)].map(|(from, to)| {
            let [x, y] = [from[1] - to[1], to[0] - from[0]];
            [from[0] * to[1] - to[0] * from[1], x, y]
        });
        let plane = |part: usize| (0..3).map(|corner| edges[corner][part] * corners[corner][2]).sum::<f64>() / area;
        let depth = Linear { at: plane(0) as f32, x: plane(1) as f32, y: plane(2) as f32 };
        let edges = edges.map(|[at, x, y]| Linear { at: at as f32, x: x as f32, y: y as f32 });
        // A sample on an edge belongs to the triangle on one side of it.
        let least =
            edges.map(|edge| if edge.x > 0.0 || (edge.x == 0.0 && edge.y > 0.0) { 0.0 } else { f32::MIN_POSITIVE });
        let reach = edges.map(|edge| 0.5 * (edge.x.abs() + edge.y.abs()));
        let edge_offsets = edges.map(Linear::offsets);
        let depth_offsets = depth.offsets();
        let range = |axis: usize, size: usize| {
            let low = corners.iter().map(|corner| corner[axis]).fold(f64::INFINITY, f64::min);
            let high = corners.iter().map(|corner| corner[axis]).fold(f64::NEG_INFINITY, f64::max);
            (low.floor().clamp(0.0, size as f64) as usize)..(high.ceil().clamp(0.0, size as f64) as usize)
        };
        for row in range(1, self.rect.height) {
            for column in range(0, self.rect.width) {
                let (x, y) = (column as f32 + 0.5, row as f32 + 0.5);
                let at = edges.map(|edge| edge.value(x, y));
                if (0..3).any(|edge| at[edge] < -reach[edge]) {
                    continue;
                }
                let mask = coverage(triangle.id, self.rect.x + column, self.rect.y + row);
                let pixel = row * self.rect.width + column;
                let (ids, depths) = (&mut self.ids[pixel], &mut self.depths[pixel]);
                let center = depth.value(x, y);
                // Free of branches, so that the compiler vectorizes it.
                let mut inside = [true; SAMPLES];
                for edge in (0..3).filter(|&edge| at[edge] < reach[edge]) {
                    for (inside, offset) in inside.iter_mut().zip(&edge_offsets[edge]) {
                        *inside &= at[edge] + offset >= least[edge];
                    }
                }
                if mask != u32::MAX {
                    inside.iter_mut().enumerate().for_each(|(sample, inside)| *inside &= mask >> sample & 1 == 1);
                }
                for sample in 0..SAMPLES {
                    let z = center + depth_offsets[sample];
                    let is_nearer = inside[sample] && (z > depths[sample]);
                    depths[sample] = if is_nearer { z } else { depths[sample] };
                    ids[sample] = if is_nearer { triangle.id } else { ids[sample] };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tile(triangles: &[[[f32; 3]; 3]]) -> Tile {
        let mut tile = Tile::new(Rect { x: 0, y: 0, width: TILE, height: TILE });
        for (id, corners) in triangles.iter().enumerate() {
            tile.fill(&ScreenTriangle { corners: corners.map(Vec3::from), id: id as u32 }, &|_, _, _| u32::MAX);
        }
        tile
    }

    fn samples_of(tile: &Tile, id: u32) -> usize {
        tile.ids.as_flattened().iter().filter(|found| **found == id).count()
    }

    #[test]
    fn coverage_is_the_area_of_a_triangle() {
        let drawn = tile(&[[[2.0, 3.0, 1.0], [29.0, 5.0, 1.0], [11.0, 30.0, 1.0]]]);
        let area = 0.5 * (27.0 * 27.0 - 2.0 * 9.0_f64);
        let found = samples_of(&drawn, 0) as f64 / SAMPLES as f64;
        assert!((found - area).abs() < 1.0, "{found} of {area}");
    }

    #[test]
    fn triangles_at_a_shared_edge_cover_each_sample_once() {
        let corners = [[1.0, 1.0, 1.0], [31.0, 2.5, 1.0], [30.0, 29.3, 1.0], [2.3, 30.7, 1.0], [13.7, 15.1, 1.0]];
        let fan: Vec<_> = (0..4).map(|at| [corners[4], corners[at], corners[(at + 1) % 4]]).collect();
        let (both, alone) = (tile(&fan), (0..4).map(|at| samples_of(&tile(&fan[at..=at]), 0)).sum::<usize>());
        let together: usize = (0..4).map(|id| samples_of(&both, id)).sum();
        assert_eq!(together, alone);
        let whole = tile(&[[corners[0], corners[1], corners[2]], [corners[0], corners[2], corners[3]]]);
        assert_eq!(together, samples_of(&whole, 0) + samples_of(&whole, 1));
    }

    #[test]
    fn the_nearest_triangle_is_visible_in_any_order_and_winding() {
        let far = [[0.0, 0.0, 0.1], [32.0, 0.0, 0.1], [0.0, 32.0, 0.1]];
        let near = [[0.0, 0.0, 0.9], [0.0, 32.0, 0.9], [32.0, 0.0, 0.9]];
        let (first, second) = (tile(&[near, far]), tile(&[far, near]));
        assert!(samples_of(&first, 1) == 0 && samples_of(&second, 0) == 0);
        // Of two intersecting triangles, the nearer one is visible at each sample.
        let steep = [[0.0, 0.0, 0.5], [32.0, 0.0, 0.0], [0.0, 32.0, 0.5]];
        let level = [[0.0, 0.0, 0.25], [32.0, 0.0, 0.25], [0.0, 32.0, 0.25]];
        let crossed = tile(&[steep, level]);
        assert!(crossed.ids[2][0] == 0 && crossed.ids[28][0] == 1);
    }

    #[test]
    fn triangles_behind_the_camera_are_cut() {
        let near = 1.0;
        let count = |z: [f32; 3]| {
            let corners = [Vec3::new(0.0, 0.0, z[0]), Vec3::new(1.0, 0.0, z[1]), Vec3::new(0.0, 1.0, z[2])];
            clipped(corners, near).inspect(|cut| assert!(cut.iter().all(|corner| corner.z >= near - 1e-6))).count()
        };
        assert_eq!([[2.0, 2.0, 2.0], [2.0, 2.0, 0.5], [2.0, 0.5, -1.0], [0.0, 0.5, -1.0]].map(count), [1, 2, 1, 0]);
    }
}
