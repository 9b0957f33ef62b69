//! Projection of samples of the cloth onto the wrinkles.
//!
//! The locations of samples on the cloth are fixed, so they are sorted once: into cells of the rest shape, and
//! spatially within each cell. In each frame a segment is entered into the cells that its field reaches, and eight
//! samples at a time evaluate those of their cell that reach them. Cells are independent, so the result does not
//! depend on the number of threads. Cost: number of samples times number of segments nearby.
//!
//! Deviation from the paper: folds are on the outer side of bends. On the inner side they would reduce the area of the
//! cloth.

use glam::Vec3;
use rayon::prelude::*;

use super::field::{LANES, MAX_HEIGHT, REACH, Rays, Segment, heights};
use super::grid::{CellMap, cell_of, cells_between};
use super::surface::{Patch, Surface, SurfacePoint};

/// Size of a cell, in radii.
const CELL_SIZE: f32 = 2.0;
/// Maximum length of the rest shape relative to the posed cloth when the reach of a field is determined.
const MAX_LENGTH_RATIO: f32 = 1.25;
/// Subdivisions of a cell's side for the spatial order of its samples.
const SUBDIVISIONS: u32 = 8;

/// Locations on the cloth at which heights are evaluated.
#[derive(Debug, Clone)]
pub struct Samples {
    locations: Vec<SurfacePoint>,
    radius: f32,
    /// Samples of each cell in spatial order.
    cells: Vec<Vec<u32>>,
    cell_numbers: CellMap<u32>,
}

/// Samples on the smooth cloth with their heights.
#[derive(Debug, Clone, Default)]
pub(super) struct Lifted {
    pub(super) bases: Vec<Vec3>,
    pub(super) normals: Vec<Vec3>,
    /// Height along the normal; negative for folds on the other side.
    pub(super) heights: Vec<f32>,
}

impl Lifted {
    fn of(count: usize) -> Self {
        let zeros = vec![Vec3::ZERO; count];
        Self { bases: zeros.clone(), normals: zeros, heights: vec![0.0; count] }
    }
}

/// Coarse cloth in a frame.
pub(super) struct Pose<'a> {
    pub(super) surface: &'a Surface,
    pub(super) positions: &'a [Vec3],
    pub(super) normals: &'a [Vec3],
    /// Side of the cloth on which wrinkles are, per point.
    pub(super) sides: &'a [f32],
}

impl Samples {
    pub(super) fn new(surface: &Surface, locations: Vec<SurfacePoint>, radius: f32) -> Self {
        let size = CELL_SIZE * radius;
        let mut samples = Self { locations, radius, cells: Vec::new(), cell_numbers: CellMap::default() };
        let positions: Vec<Vec3> = samples.locations.iter().map(|location| surface.rest_of(*location)).collect();
        for (index, position) in positions.iter().enumerate() {
            let next = samples.cells.len() as u32;
            let number = *samples.cell_numbers.entry(cell_of(*position, size)).or_insert(next);
            if number == next {
                samples.cells.push(Vec::new());
            }
            samples.cells[number as usize].push(index as u32);
        }
        let within = |sample: &u32| {
            let part = positions[*sample as usize] / size;
            morton_code(((part - part.floor()) * SUBDIVISIONS as f32).as_uvec3().to_array())
        };
        for cell in &mut samples.cells {
            cell.sort_by_cached_key(within);
        }
        samples
    }

    /// Locations of the samples.
    pub fn locations(&self) -> &[SurfacePoint] {
        &self.locations
    }

    /// Projects all samples in a frame onto the wrinkles of `segments`.
    pub(super) fn lifted(&self, pose: &Pose<'_>, segments: &[(Segment, [Vec3; 2])]) -> Lifted {
        let near = self.segments_of_cells(segments);
        let patch = |triangle: &[u32; 3]| Patch::new(*triangle, pose.positions, pose.normals);
        let patches: Vec<Patch> = pose.surface.triangles.iter().map(patch).collect();
        let cells = self.cells.par_iter().zip(&near).with_min_len(8);
        let cells: Vec<Vec<(Vec3, Vec3, f32)>> =
            cells.map(|(cell, near)| self.cell(cell, pose, &patches, near, segments)).collect();
        let triangles = &pose.surface.triangles;
        let mut lifted = Lifted::of(self.locations.len());
        for (cell, values) in self.cells.iter().zip(cells) {
            for (&sample, (base, normal, height)) in cell.iter().zip(values) {
                lifted.bases[sample as usize] = base;
                lifted.normals[sample as usize] = normal;
                let side =
                    if height > 0.0 { self.locations[sample as usize].blend(triangles, pose.sides) } else { 0.0 };
                lifted.heights[sample as usize] = side * height;
            }
        }
        lifted
    }

    fn segments_of_cells(&self, segments: &[(Segment, [Vec3; 2])]) -> Vec<Vec<u32>> {
        let mut near = vec![Vec::new(); self.cells.len()];
        for (index, (segment, ends)) in segments.iter().enumerate() {
            let reach = MAX_LENGTH_RATIO * REACH * segment.radius();
            let size = CELL_SIZE * self.radius;
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
        let location = |sample: u32| self.locations[sample as usize];
        let smooth = |&sample: &u32| {
            let SurfacePoint { triangle, weights } = location(sample);
            let normal = location(sample).blend(triangles, pose.normals).normalize_or_zero();
            (patches[triangle as usize].at(weights), normal, 0.0)
        };
        let mut values: Vec<(Vec3, Vec3, f32)> = cell.iter().map(smooth).collect();
        if near.is_empty() {
            return values;
        }
        let max_height = MAX_HEIGHT * self.radius;
        let mut close = Vec::with_capacity(near.len());
        for group in values.chunks_mut(LANES) {
            let (rays, middle, radius) = rays_of(group, max_height);
            close.clear();
            let reaching = near.iter().map(|&segment| segments[segment as usize].0);
            close.extend(reaching.filter(|segment| segment.reaches(middle, radius)));
            if !close.is_empty() {
                for (value, height) in group.iter_mut().zip(heights(&close, &rays, max_height)) {
                    value.2 = height;
                }
            }
        }
        values
    }
}

/// Packs the samples into lanes, repeating the last one, and returns a bounding sphere of all possible positions.
fn rays_of(samples: &[(Vec3, Vec3, f32)], max_height: f32) -> (Rays, Vec3, f32) {
    let mut rays = Rays::default();
    for lane in 0..LANES {
        let (base, normal, _) = samples[lane.min(samples.len() - 1)];
        rays.set(lane, base, normal);
    }
    let half_way = |&(base, normal, _): &(Vec3, Vec3, f32)| base + normal * (0.5 * max_height);
    let middle = samples.iter().map(half_way).sum::<Vec3>() / samples.len() as f32;
    let radius = samples.iter().map(|sample| half_way(sample).distance(middle)).fold(0.0, f32::max);
    (rays, middle, radius + 0.5 * max_height)
}

/// Interleaves the bits of three small numbers (Morton order), so that nearby cells have similar numbers.
fn morton_code(cell: [u32; 3]) -> u32 {
    (0..SUBDIVISIONS.ilog2())
        .flat_map(|bit| (0..3).map(move |axis| (cell[axis] >> bit & 1) << (3 * bit + axis as u32)))
        .sum()
}
