//! Samples of the cloth, lifted onto the wrinkles.
//!
//! Samples do not move over the cloth, so they are sorted once: into cells of the rest shape, and in each so that those
//! that lie together follow each other. In a frame each segment is entered into the cells that its field reaches, and
//! eight samples at a time ask only those of their cell that reach them. Cells are independent, so the result does not
//! depend on the number of threads. Cost: samples × segments near them.
//!
//! Where we deviate: folds go to the outer side of bends. In the inside they would make the cloth smaller instead of larger.

use glam::Vec3;
use rayon::prelude::*;

use super::field::{HIGHEST, LANES, REACH, Rays, Segment, heights};
use super::grid::{CellMap, cell_of, cells_between};
use super::surface::{Patch, Spot, Surface};

/// The size of a cell, in radii.
const CELL: f32 = 2.0;
/// How much longer than now the rest shape may be, where the reach of a field is looked up.
const SLACK: f32 = 1.25;
/// Parts of a cell's side that order its samples.
const PARTS: u32 = 8;

/// Places on the cloth whose heights are wanted.
#[derive(Debug, Clone)]
pub struct Samples {
    spots: Vec<Spot>,
    radius: f32,
    /// The samples of each cell, near ones after each other.
    cells: Vec<Vec<u32>>,
    cell_numbers: CellMap<u32>,
}

/// Where samples lie on the smooth cloth, and how wrinkles lift them.
#[derive(Debug, Clone, Default)]
pub(super) struct Lifted {
    pub(super) bases: Vec<Vec3>,
    pub(super) normals: Vec<Vec3>,
    /// Negative where folds go against the normal.
    pub(super) heights: Vec<f32>,
}

impl Lifted {
    fn of(count: usize) -> Self {
        let places = vec![Vec3::ZERO; count];
        Self { bases: places.clone(), normals: places, heights: vec![0.0; count] }
    }
}

/// The coarse cloth in a frame.
pub(super) struct Pose<'a> {
    pub(super) surface: &'a Surface,
    pub(super) positions: &'a [Vec3],
    pub(super) normals: &'a [Vec3],
    /// To which side wrinkles go.
    pub(super) sides: &'a [f32],
}

impl Samples {
    pub(super) fn new(surface: &Surface, spots: Vec<Spot>, radius: f32) -> Self {
        let size = CELL * radius;
        let mut samples = Self { spots, radius, cells: Vec::new(), cell_numbers: CellMap::default() };
        let places: Vec<Vec3> = samples.spots.iter().map(|spot| surface.rest_of(*spot)).collect();
        for (index, place) in places.iter().enumerate() {
            let next = samples.cells.len() as u32;
            let number = *samples.cell_numbers.entry(cell_of(*place, size)).or_insert(next);
            if number == next {
                samples.cells.push(Vec::new());
            }
            samples.cells[number as usize].push(index as u32);
        }
        let within = |sample: &u32| {
            let part = places[*sample as usize] / size;
            interleaved(((part - part.floor()) * PARTS as f32).as_uvec3().to_array())
        };
        for cell in &mut samples.cells {
            cell.sort_by_cached_key(within);
        }
        samples
    }

    /// The places.
    pub fn spots(&self) -> &[Spot] {
        &self.spots
    }

    /// All samples in a frame, on the wrinkles of `segments`.
    pub(super) fn lifted(&self, pose: &Pose<'_>, segments: &[(Segment, [Vec3; 2])]) -> Lifted {
        let near = self.segments_of_cells(segments);
        let patch = |triangle: &[u32; 3]| Patch::new(*triangle, pose.positions, pose.normals);
        let patches: Vec<Patch> = pose.surface.triangles.iter().map(patch).collect();
        let cells = self.cells.par_iter().zip(&near).with_min_len(8);
        let cells: Vec<Vec<(Vec3, Vec3, f32)>> =
            cells.map(|(cell, near)| self.cell(cell, pose, &patches, near, segments)).collect();
        let triangles = &pose.surface.triangles;
        let mut lifted = Lifted::of(self.spots.len());
        for (cell, values) in self.cells.iter().zip(cells) {
            for (&sample, (base, normal, height)) in cell.iter().zip(values) {
                lifted.bases[sample as usize] = base;
                lifted.normals[sample as usize] = normal;
                let side = if height > 0.0 { self.spots[sample as usize].blend(triangles, pose.sides) } else { 0.0 };
                lifted.heights[sample as usize] = side * height;
            }
        }
        lifted
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

    /// Base, normal and height of each sample of a cell.
    fn cell(
        &self,
        cell: &[u32],
        pose: &Pose<'_>,
        patches: &[Patch],
        near: &[u32],
        segments: &[(Segment, [Vec3; 2])],
    ) -> Vec<(Vec3, Vec3, f32)> {
        let triangles = &pose.surface.triangles;
        let spot = |sample: u32| self.spots[sample as usize];
        let smooth = |&sample: &u32| {
            let Spot { triangle, weights } = spot(sample);
            let normal = spot(sample).blend(triangles, pose.normals).normalize_or_zero();
            (patches[triangle as usize].at(weights), normal, 0.0)
        };
        let mut values: Vec<(Vec3, Vec3, f32)> = cell.iter().map(smooth).collect();
        if near.is_empty() {
            return values;
        }
        let highest = HIGHEST * self.radius;
        let mut close = Vec::with_capacity(near.len());
        for group in values.chunks_mut(LANES) {
            let (rays, middle, farthest) = rays_of(group, highest);
            close.clear();
            let reaching = near.iter().map(|&segment| segments[segment as usize].0);
            close.extend(reaching.filter(|segment| segment.reaches(middle, farthest)));
            if !close.is_empty() {
                for (value, height) in group.iter_mut().zip(heights(&close, &rays, highest)) {
                    value.2 = height;
                }
            }
        }
        values
    }
}

/// The samples side by side, the last repeated where there are fewer, and a ball around all places they may be lifted to.
fn rays_of(samples: &[(Vec3, Vec3, f32)], highest: f32) -> (Rays, Vec3, f32) {
    let mut rays = Rays::default();
    for lane in 0..LANES {
        let (base, normal, _) = samples[lane.min(samples.len() - 1)];
        rays.set(lane, base, normal);
    }
    let half_way = |&(base, normal, _): &(Vec3, Vec3, f32)| base + normal * (0.5 * highest);
    let middle = samples.iter().map(half_way).sum::<Vec3>() / samples.len() as f32;
    let farthest = samples.iter().map(|sample| half_way(sample).distance(middle)).fold(0.0, f32::max);
    (rays, middle, farthest + 0.5 * highest)
}

/// The bits of three small numbers in turn, so that near places get near numbers.
fn interleaved(place: [u32; 3]) -> u32 {
    (0..PARTS.ilog2()).flat_map(|bit| (0..3).map(move |axis| (place[axis] >> bit & 1) << (3 * bit + axis as u32))).sum()
}
