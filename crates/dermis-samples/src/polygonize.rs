//! Polygonization of an implicit surface: surface nets on a regular grid.
//!
//! Each grid cell crossed by the surface contains one point, the mean of the crossings on the edges of the cell (Gibson
//! 1998). Each crossed grid edge yields a quad between the points of its four cells, split along its shorter diagonal. The
//! result is closed by construction. If two sheets of the surface share a cell, which happens near grid planes tangent to
//! it, the sign at the corner nearest to the surface is flipped until no cell has two sheets; the result is then also a
//! manifold (the signs of the grid are well-composed, Latecki 1997).
//!
//! The field has a Lipschitz constant of 1. A block of the grid whose centre is farther from the surface than from its
//! corners therefore has a uniform sign, and other blocks evaluate only the cones near them.

use glam::{DVec3, UVec3};
use rayon::prelude::*;

use super::implicit::{Implicit, PruningGrid};

/// Points along each side of a block of the grid.
const BLOCK: u32 = 4;

/// Points and triangles, oriented outwards.
#[derive(Debug, Clone, Default)]
pub(super) struct Surface {
    pub(super) points: Vec<DVec3>,
    pub(super) triangles: Vec<[u32; 3]>,
}

/// Surface of `shape`, from a grid of spacing `cell`.
pub(super) fn polygonize(shape: &Implicit, cell: f64) -> Surface {
    let grid = Grid::new(shape, cell);
    let mut values = grid.sample(shape);
    grid.separate_sheets(&mut values);
    let mut surface = Surface::default();
    let cells = grid.crossed_cells(&values);
    let cell_points = grid.create_points(&values, &cells, &mut surface.points);
    grid.connect(&values, &cells, &cell_points, &mut surface);
    surface
}

struct Grid {
    origin: DVec3,
    cell: f64,
    /// Points along each axis, a multiple of the block size.
    size: UVec3,
}

impl Grid {
    fn new(shape: &Implicit, cell: f64) -> Self {
        let (low, high) = shape.bounds();
        let origin = low - DVec3::splat(2.0 * cell);
        let blocks = (((high - origin) / cell + 3.0) / f64::from(BLOCK)).ceil().as_uvec3();
        Self { origin, cell, size: blocks * BLOCK }
    }

    fn index(&self, at: UVec3) -> usize {
        ((at.z * self.size.y + at.y) * self.size.x + at.x) as usize
    }

    fn position(&self, at: UVec3) -> DVec3 {
        self.origin + at.as_dvec3() * self.cell
    }

    fn sample(&self, shape: &Implicit) -> Vec<f32> {
        let mut values = vec![0.0; (self.size.x * self.size.y * self.size.z) as usize];
        let slab = (self.size.x * self.size.y * BLOCK) as usize;
        let block = f64::from(BLOCK) * self.cell;
        let nearby = PruningGrid::new(shape, 3.0 * block, block);
        values.par_chunks_exact_mut(slab).enumerate().for_each(|(z, slab)| self.sample_slab(&nearby, z as u32, slab));
        values
    }

    /// Samples the blocks whose third coordinate is `z`.
    fn sample_slab(&self, shape: &PruningGrid, z: u32, values: &mut [f32]) {
        let half = 0.5 * self.cell * f64::from(BLOCK - 1);
        let radius = half * 3f64.sqrt();
        let blocks = self.size / BLOCK;
        for block in steps(UVec3::new(blocks.x, blocks.y, 1)) {
            let corner = (block + UVec3::Z * z) * BLOCK;
            let centre = self.position(corner) + DVec3::splat(half);
            let value = shape.at(centre).value(centre);
            let near = (value.abs() <= radius).then(|| shape.at(centre).near(centre, radius));
            for inner in steps(UVec3::splat(BLOCK)) {
                let exact = near.as_ref().map_or(value, |near| near.value(self.position(corner + inner)));
                values[self.index(block * BLOCK + inner)] = exact as f32;
            }
        }
    }

    /// Cells with corners on both sides of the surface.
    fn crossed_cells(&self, values: &[f32]) -> Vec<UVec3> {
        let (row, plane) = (self.size.x as usize, (self.size.x * self.size.y) as usize);
        let in_plane = |z: u32| {
            let mut cells = Vec::new();
            for y in 0..self.size.y - 1 {
                let start = self.index(UVec3::new(0, y, z));
                for x in 0..row - 1 {
                    let inside = |offset: usize| u32::from(values[start + x + offset] < 0.0);
                    let pair = |offset: usize| inside(offset) + inside(offset + 1);
                    let count = pair(0) + pair(row) + pair(plane) + pair(plane + row);
                    if count != 0 && count != 8 {
                        cells.push(UVec3::new(x as u32, y, z));
                    }
                }
            }
            cells
        };
        (0..self.size.z - 1).into_par_iter().flat_map_iter(in_plane).collect()
    }

    /// Flips signs until no face of a cell has corners with alternating signs, and no cell has only two opposite corners on
    /// one side.
    fn separate_sheets(&self, values: &mut [f32]) {
        const MAX_ROUNDS: usize = 16;
        for _ in 0..MAX_ROUNDS {
            let mut is_separated = true;
            for at in self.crossed_cells(values) {
                let cell = CORNERS.map(|corner| self.index(at + corner));
                if let Some(nearest) = touching_sheets(cell, values) {
                    // Moves the value just across the surface.
                    values[nearest] = -1e-6 * values[nearest].signum();
                    is_separated = false;
                }
            }
            if is_separated {
                return;
            }
        }
    }

    /// Creates a point in each crossed cell; returns the index of the point of each cell, by its lowest corner.
    fn create_points(&self, values: &[f32], cells: &[UVec3], points: &mut Vec<DVec3>) -> Vec<u32> {
        let mut cell_points = vec![u32::MAX; values.len()];
        for &at in cells {
            let corner = |k: usize| at + CORNERS[k];
            let value = |k: usize| f64::from(values[self.index(corner(k))]);
            let (mut sum, mut crossings) = (DVec3::ZERO, 0);
            for [a, b] in EDGES {
                let (from, to) = (value(a), value(b));
                if (from < 0.0) != (to < 0.0) {
                    sum += self.position(corner(a)).lerp(self.position(corner(b)), from / (from - to));
                    crossings += 1;
                }
            }
            cell_points[self.index(at)] = points.len() as u32;
            points.push(sum / f64::from(crossings));
        }
        cell_points
    }

    /// Creates a quad across each crossed grid edge.
    fn connect(&self, values: &[f32], cells: &[UVec3], cell_points: &[u32], surface: &mut Surface) {
        const AXES: [UVec3; 3] = [UVec3::X, UVec3::Y, UVec3::Z];
        // A crossed edge starts at the lowest corner of a crossed cell.
        for &at in cells {
            for axis in 0..3 {
                let (along, u, v) = (AXES[axis], AXES[(axis + 1) % 3], AXES[(axis + 2) % 3]);
                let (inside, ahead) = (values[self.index(at)] < 0.0, values[self.index(at + along)] < 0.0);
                if inside == ahead {
                    continue;
                }
                // The boundary of the grid is outside of the shape, so a crossed edge has four cells.
                let quad = [at - u - v, at - v, at, at - u].map(|cell| cell_points[self.index(cell)]);
                let [a, b, c, d] = if inside { quad } else { [quad[3], quad[2], quad[1], quad[0]] };
                let position = |point: u32| surface.points[point as usize];
                let shorter = position(a).distance_squared(position(c)) <= position(b).distance_squared(position(d));
                let pair = if shorter { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] };
                surface.triangles.extend(pair);
            }
        }
    }
}

/// If two sheets touch in a cell, returns the corner of the contact that is nearest to the surface.
fn touching_sheets(cell: [usize; 8], values: &[f32]) -> Option<usize> {
    let inside = cell.map(|corner| values[corner] < 0.0);
    let count = inside.iter().filter(|inside| **inside).count();
    if count == 0 || count == 8 {
        return None;
    }
    let nearest = |corners: &[usize]| {
        let order = |a: &&usize, b: &&usize| values[cell[**a]].abs().total_cmp(&values[cell[**b]].abs());
        corners.iter().min_by(order).map(|&corner| cell[corner])
    };
    let alternates =
        |&&[a, b, c, d]: &&[usize; 4]| inside[a] == inside[c] && inside[b] == inside[d] && inside[a] != inside[b];
    if let Some(face) = FACES.iter().find(alternates) {
        return nearest(face);
    }
    let is_lone_pair = |&corner: &usize| inside[corner] == (count == 2) && inside[7 - corner] == (count == 2);
    let pair = (0..4).find(|corner| (count == 2 || count == 6) && is_lone_pair(corner))?;
    nearest(&[pair, 7 - pair])
}

const CORNERS: [UVec3; 8] = [
    UVec3::new(0, 0, 0),
    UVec3::new(1, 0, 0),
    UVec3::new(0, 1, 0),
    UVec3::new(1, 1, 0),
    UVec3::new(0, 0, 1),
    UVec3::new(1, 0, 1),
    UVec3::new(0, 1, 1),
    UVec3::new(1, 1, 1),
];

/// Corners around each face of a cell.
const FACES: [[usize; 4]; 6] = [[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]];

const EDGES: [[usize; 2]; 12] =
    [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];

/// All integer positions below `size`, x fastest.
fn steps(size: UVec3) -> impl Iterator<Item = UVec3> {
    (0..size.z).flat_map(move |z| (0..size.y).flat_map(move |y| (0..size.x).map(move |x| UVec3::new(x, y, z))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::implicit::node;

    #[test]
    fn a_ball_has_the_expected_volume() {
        let mut shape = Implicit::default();
        shape.limb(&[node(1.0, 1.0, 1.0, 0.5); 2], (DVec3::Z, 1.0), 0.1, &[0]);
        let surface = polygonize(&shape, 0.05);
        let volume: f64 = surface
            .triangles
            .iter()
            .map(|t| {
                let [a, b, c] = t.map(|point| surface.points[point as usize] - DVec3::ONE);
                a.cross(b).dot(c) / 6.0
            })
            .sum();
        let exact = 4.0 / 3.0 * std::f64::consts::PI * 0.125;
        // The points are inside of the surface: a few percent at ten cells per radius.
        assert!(volume > 0.95 * exact && volume < exact, "{volume} of {exact}");
        assert_eq!(surface.points.len() * 2 - 4, surface.triangles.len(), "a ball has Euler characteristic 2");
    }
}
