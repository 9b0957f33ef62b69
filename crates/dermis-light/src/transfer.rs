//! Diffuse radiance transfer with shadows (Sloan, Kautz & Snyder 2002, Eq. 1).
//!
//! The transfer vector of a point with normal n is `t_i = 1/π ∫ V(ω) max(0, n·ω) Y_i(ω) dω`, with the visibility V and
//! the spherical harmonics Y in the axes of the scene. Under light with the coefficients l, a white surface reflects
//! `Σ_i t_i l_i`. The integral is approximated by a sum over directions that are spread evenly over the sphere; rays
//! that reach the ground plane are blocked. Frames are independent of each other, so the result does not depend on the
//! number of threads.

use dermis_math::progress::Progress;
use dermis_mesh::geometry::point_normals;
use dermis_mesh::tri_mesh::bounds;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::LightError;
use crate::harmonics::{MAX_COEFFICIENTS, MAX_ORDER, basis, directions};
use crate::visibility::{Grid, Heading};

/// Distance between the origin of a ray and the surface, relative to the diagonal.
const GAP: f32 = 1e-5;
/// Maximum total size of the transfer vectors.
const MAX_BYTES: usize = 8 << 30;
/// Frames per block, after which progress is reported.
const BLOCK: usize = 8;

/// Options of [`transfer()`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LightOptions {
    /// Order n of the spherical harmonics, which have n² coefficients; a larger order gives sharper shadows.
    pub order: usize,
    /// Number of rays in the hemisphere of a point; more rays give less noise and take proportionally longer.
    pub rays: usize,
    /// Axis that points up.
    pub up: DVec3,
    /// Height of the ground along `up`, which blocks light from below; `None` if there is no ground.
    pub ground: Option<f64>,
}

impl Default for LightOptions {
    fn default() -> Self {
        Self { order: 4, rays: 256, up: DVec3::Y, ground: None }
    }
}

/// Transfer vectors of all points in all frames.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfer {
    /// Number of points.
    pub point_count: usize,
    /// Number of frames.
    pub frame_count: usize,
    /// Number of coefficients of a vector.
    pub coefficients: usize,
    /// The vectors: frame by frame, point by point.
    pub vectors: Vec<f32>,
    /// Unblocked fraction of the hemisphere of each point, weighted by the cosine, frame by frame.
    pub ambient: Vec<f32>,
}

impl Transfer {
    /// Transfer vector of a point in a frame.
    pub fn vector(&self, frame: usize, point: usize) -> &[f32] {
        let first = (frame * self.point_count + point) * self.coefficients;
        &self.vectors[first..first + self.coefficients]
    }

    /// Light that each point reflects under light with the given coefficients, at least 0, frame by frame.
    pub fn lit(&self, light: &[f64]) -> Vec<f32> {
        let reflected = |vector: &[f32]| -> f64 { vector.iter().zip(light).map(|(t, l)| f64::from(*t) * l).sum() };
        self.vectors.chunks_exact(self.coefficients).map(|vector| reflected(vector).max(0.0) as f32).collect()
    }

    /// Unblocked fraction of the hemisphere of each point, averaged over all frames.
    pub fn mean_ambient(&self) -> Vec<f32> {
        let mean = |point: usize| {
            let values = (0..self.frame_count).map(|frame| f64::from(self.ambient[frame * self.point_count + point]));
            (values.sum::<f64>() / self.frame_count.max(1) as f64) as f32
        };
        (0..self.point_count).map(mean).collect()
    }
}

/// Computes the transfer vectors of the points of `triangles` in each of `frames`.
///
/// # Panics
/// If a triangle refers to a point that a frame does not have, or if frames have different numbers of points.
pub fn transfer(
    frames: &[Vec<Vec3>],
    triangles: &[[u32; 3]],
    options: &LightOptions,
    progress: &dyn Progress,
) -> Result<Transfer, LightError> {
    if !(1..=MAX_ORDER).contains(&options.order) {
        return Err(LightError::Order(options.order));
    }
    if !(1..=65_536).contains(&options.rays) {
        return Err(LightError::Rays(options.rays));
    }
    if triangles.is_empty() || frames.is_empty() {
        return Err(LightError::NoTriangles);
    }
    let (point_count, frame_count) = (frames[0].len(), frames.len());
    assert!(frames.iter().all(|frame| frame.len() == point_count), "all frames have the same points");
    let coefficients = options.order * options.order;
    let bytes = point_count.saturating_mul(frame_count).saturating_mul(4 * coefficients);
    if bytes > MAX_BYTES {
        return Err(LightError::TooLarge { points: point_count, frames: frame_count, bytes });
    }
    let rays = Rays::new(options);
    let mut vectors = vec![0.0; point_count * frame_count * coefficients];
    let mut ambient = vec![0.0; point_count * frame_count];
    let blocks = frames.chunks(BLOCK).zip(vectors.chunks_mut(BLOCK * point_count * coefficients));
    for (block, ((frames, vectors), ambient)) in blocks.zip(ambient.chunks_mut(BLOCK * point_count)).enumerate() {
        if progress.report("casting rays", block * BLOCK, frame_count).is_break() {
            return Err(LightError::Stopped);
        }
        let outputs = vectors.par_chunks_mut(point_count * coefficients).zip(ambient.par_chunks_mut(point_count));
        frames.par_iter().zip(outputs).for_each(|(points, (vectors, ambient))| {
            of_frame(points, triangles, &rays, coefficients, vectors, ambient);
        });
    }
    Ok(Transfer { point_count, frame_count, coefficients, vectors, ambient })
}

/// Directions of the rays, each with the opposite one, and the ground.
struct Rays {
    pairs: Vec<[Direction; 2]>,
    /// Weight of a ray: its solid angle over π.
    weight: f32,
    up: DVec3,
    ground: Option<f64>,
}

struct Direction {
    towards: Vec3,
    heading: Heading,
    /// Values of the basis functions.
    basis: [f32; MAX_COEFFICIENTS],
    /// The ground blocks all rays.
    is_blocked: bool,
}

impl Rays {
    fn new(options: &LightOptions) -> Self {
        // One of a pair of opposite directions is in the hemisphere of a point.
        let weight = (2.0 / options.rays as f64) as f32;
        let up = options.up.normalize_or(DVec3::Y);
        let direction = |towards: DVec3, heading: Heading| Direction {
            towards: towards.as_vec3(),
            heading,
            basis: basis(towards).map(|value| value as f32),
            is_blocked: options.ground.is_some() && towards.dot(up) <= 0.0,
        };
        let half = directions(2 * options.rays).into_iter().take(options.rays);
        let pairs = half.map(|d| [direction(d, Heading::Along), direction(-d, Heading::Against)]).collect();
        Self { pairs, weight, up, ground: options.ground }
    }
}

fn of_frame(
    points: &[Vec3],
    triangles: &[[u32; 3]],
    rays: &Rays,
    coefficients: usize,
    vectors: &mut [f32],
    ambient: &mut [f32],
) {
    let normals = point_normals(points, triangles);
    let (low, high) = bounds(points);
    let gap = GAP * low.distance(high);
    // Points below the ground receive no light through it.
    let up = rays.up.as_vec3();
    let is_above = |point: &Vec3| rays.ground.is_none_or(|ground| f64::from(point.dot(up)) > ground - f64::from(gap));
    let above: Vec<bool> = points.iter().map(is_above).collect();
    let mut grid = Grid::default();
    let mut totals = vec![0.0_f32; points.len()];
    for pair in &rays.pairs {
        if pair.iter().any(|direction| !direction.is_blocked) {
            grid.fill(points, triangles, pair[0].towards);
        }
        for (point, normal) in normals.iter().enumerate() {
            let cosine = normal.dot(pair[0].towards);
            let Direction { heading, basis, is_blocked, .. } = &pair[usize::from(cosine < 0.0)];
            let cosine = cosine.abs();
            totals[point] += cosine;
            if *is_blocked || !above[point] || !grid.is_visible(point as u32, triangles, gap, *heading) {
                continue;
            }
            ambient[point] += cosine;
            let weight = rays.weight * cosine;
            let vector = &mut vectors[point * coefficients..(point + 1) * coefficients];
            for (sum, value) in vector.iter_mut().zip(basis) {
                *sum += weight * value;
            }
        }
    }
    for (ambient, total) in ambient.iter_mut().zip(totals) {
        // Points without a normal are not darkened.
        *ambient = if total > 0.0 { *ambient / total } else { 1.0 };
    }
}
