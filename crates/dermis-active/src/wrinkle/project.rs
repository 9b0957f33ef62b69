//! Samples of the cloth, lifted onto the wrinkles.
//!
//! Samples do not move over the cloth, so the cell of each on the rest shape is found once; in a frame each segment is
//! entered into the cells that its field reaches, and each sample asks only those of its cell. Cells are independent:
//! the result does not depend on the number of threads.

use std::collections::HashMap;

use glam::{IVec3, Vec3};
use rayon::prelude::*;

use super::field::{Bundle, HIGHEST, REACH, Segment, height};
use super::grid::{cell_of, cells_between};
use super::surface::{Spot, Surface};

/// The size of a cell, in radii.
const CELL: f32 = 1.5;
/// How much longer than now the rest shape may be, where the reach of a field is looked up.
const SLACK: f32 = 1.25;

/// Places on the cloth whose heights are wanted.
#[derive(Debug, Clone)]
pub struct Samples {
    spots: Vec<Spot>,
    radius: f32,
    /// The samples of each cell.
    cells: Vec<Vec<u32>>,
    cell_numbers: HashMap<IVec3, u32>,
}

impl Samples {
    pub(super) fn new(surface: &Surface, spots: Vec<Spot>, radius: f32) -> Self {
        let mut samples = Self { spots, radius, cells: Vec::new(), cell_numbers: HashMap::new() };
        for (index, spot) in samples.spots.iter().enumerate() {
            let cell = cell_of(surface.rest_of(*spot), CELL * radius);
            let next = samples.cells.len() as u32;
            let number = *samples.cell_numbers.entry(cell).or_insert(next);
            if number == next {
                samples.cells.push(Vec::new());
            }
            samples.cells[number as usize].push(index as u32);
        }
        samples
    }

    /// The places.
    pub fn spots(&self) -> &[Spot] {
        &self.spots
    }

    /// The height of the wrinkles above each sample.
    pub(super) fn heights(
        &self,
        surface: &Surface,
        positions: &[Vec3],
        normals: &[Vec3],
        segments: &[(Segment, [Vec3; 2])],
    ) -> Vec<f32> {
        let near = self.segments_of_cells(segments);
        let highest = HIGHEST * self.radius;
        let of_cell = |(cell, near): (&Vec<u32>, &Vec<u32>)| -> Vec<f32> {
            let mut close = Bundle::default();
            let lift = |&sample: &u32| {
                let spot = self.spots[sample as usize];
                let point = spot.blend(&surface.triangles, positions);
                let normal = spot.blend(&surface.triangles, normals).normalize_or_zero();
                // Half-way up, so that all heights are equally near.
                let middle = point + normal * (0.5 * highest);
                close.clear();
                for &segment in near {
                    let segment = &segments[segment as usize].0;
                    if segment.reaches(middle, 0.5 * highest) {
                        close.push(segment);
                    }
                }
                if close.is_empty() { 0.0 } else { height(point, normal, highest, &close) }
            };
            if near.is_empty() { Vec::new() } else { cell.iter().map(lift).collect() }
        };
        let heights: Vec<Vec<f32>> = self.cells.par_iter().zip(&near).with_min_len(8).map(of_cell).collect();
        let mut all = vec![0.0; self.spots.len()];
        for (cell, heights) in self.cells.iter().zip(heights) {
            for (&sample, height) in cell.iter().zip(heights) {
                all[sample as usize] = height;
            }
        }
        all
    }

    fn segments_of_cells(&self, segments: &[(Segment, [Vec3; 2])]) -> Vec<Vec<u32>> {
        let mut near = vec![Vec::new(); self.cells.len()];
        for (index, (segment, ends)) in segments.iter().enumerate() {
            let reach = SLACK * REACH * segment.radius();
            let size = CELL * self.radius;
            let low = cell_of(ends[0].min(ends[1]) - reach, size);
            let high = cell_of(ends[0].max(ends[1]) + reach, size);
            for cell in cells_between(low, high) {
                if let Some(&number) = self.cell_numbers.get(&cell) {
                    near[number as usize].push(index as u32);
                }
            }
        }
        near
    }
}
