//! Folds of compressed cloth by buckling: heights along the normal that restore the lengths of compressed edges.
//!
//! For an edge of the refined cloth with the length l on the coarse cloth and the rest length L, heights give the strain
//! `c = (l² + (hᵢ − hⱼ)²)/L² − 1`. Heights follow the gradient of the energy of stretch, bending and a foundation:
//! `dhᵢ/dt = mean_j c (hⱼ − hᵢ) − β ∇⁴h − α h + ν nᵢ`, with the mean over the neighbours of i. Compressed edges (c < 0)
//! amplify differences until their length is restored; stretched ones flatten them. Folds therefore run across the
//! compression, end at uncompressed cloth, and only follow the connections of the cloth: layers that are near in space do
//! not influence each other. A strain s grows fastest at the wavelength `π a √(2β/s)` for edges of length a, so stronger
//! compression gives finer folds; folds near the wavelength of [`WAVE_NUMBER`] at [`TYPICAL_STRAIN`] are just resolved.
//! The noise n makes flat cloth buckle; it is a hash of the point, so that the result is deterministic.
//!
//! Each frame continues from the last one by a few explicit steps, and the change of each height per frame is bounded, so
//! folds grow and fade without flashes. The mean of the heights is 0, so the cloth does not move as a whole.
//!
//! Deviation from the paper (§4), whose folds are convolution surfaces around curves (`field`): on simulated shirts
//! those were farther from the fine cloth than the coarse cloth is. `docs/algorithms/wrinkle.md` lists the measurements.

use glam::Vec3;
use rayon::prelude::*;

use super::refine::Refined;
use super::surface::SurfacePoint;

/// Strain c for which [`WAVE_NUMBER`] is the fastest growing one.
const TYPICAL_STRAIN: f32 = 0.04;
/// Eigenvalue of the Laplacian of neighbours (0 to about 1.5) of folds at the typical strain: wavelengths of 3.5 edges.
const WAVE_NUMBER: f32 = 0.8;
/// Strain c below which folds do not grow.
const CRITICAL_STRAIN: f32 = 0.02;
/// Bounds of the strain of an edge in a step, for stability.
const STRAIN_BOUNDS: [f32; 2] = [-0.12, 0.12];
/// Length of a step in time; with the bounds of the strain, all wavelengths are stable.
const TIME_STEP: f32 = 6.0;
/// Steps per frame.
const STEPS: usize = 6;
/// Maximum number of times that these steps are repeated in a frame whose folds are too low because the cloth moves fast.
const MAX_REPEATS: usize = 5;
/// Steps of the first frame, in which folds grow from flat cloth.
const FIRST_STEPS: usize = 90;
/// Height at which growth is damped, in mean lengths of edges.
const DAMPED_HEIGHT: f32 = 0.2;
/// Factor of the damping.
const DAMPING: f32 = 0.15;
/// Amplitude of the noise, in mean lengths of edges.
const NOISE: f32 = 0.05;
/// Maximum height, in mean lengths of edges.
const MAX_HEIGHT: f32 = 0.6;
/// Maximum change of a height in a frame, in mean lengths of edges.
const MAX_CHANGE: f32 = 0.3;
/// Fraction of the lost area below which the change is allowed to be larger: the cloth moves faster than its folds.
const MIN_RECOVERED: f64 = 0.55;
/// Factor of the maximum change for such frames, and the maximum number of times that it is applied.
const RELAXATION: f32 = 1.6;
const MAX_RELAXATIONS: usize = 4;
/// Maximum height, as a fraction of the distance to another layer of cloth.
const MAX_OF_GAP: f32 = 0.3;
/// Maximum fractions of the lost area that folds recover, and that smoothing between points recovers.
const RECOVERED: f64 = 0.9;
const SMOOTHED: f64 = 0.95;
/// Relative change of the area that is attributed to the rounding of positions.
const ROUNDED_AREA: f64 = 1e-5;
/// Bound of the factor by which heights are multiplied to recover the area.
const MAX_FACTOR: f32 = 8.0;
/// Maximum number of trials for the factor, and the ratio of two factors at which the last one is accurate.
const FACTOR_TRIALS: usize = 4;
const SMALL_STEP: f32 = 1.15;
/// Factor above which the relaxation is repeated.
const REPEATING_FACTOR: f32 = 2.5;

const BENDING: f32 = TYPICAL_STRAIN / (2.0 * WAVE_NUMBER);
const FOUNDATION: f32 = CRITICAL_STRAIN * CRITICAL_STRAIN / (4.0 * BENDING);

/// Edges of a refined cloth, prepared for buckling.
#[derive(Debug, Clone)]
pub(super) struct Buckling {
    edges: Vec<[u32; 2]>,
    /// 1 / L²; 0 for edges without length.
    inverse_squares: Vec<f32>,
    /// 1 / number of neighbours.
    inverse_degrees: Vec<f32>,
    /// Mean rest length of the edges.
    side: f32,
    noise: Vec<f32>,
}

/// State that is continued from frame to frame.
#[derive(Debug, Clone, Default)]
pub(super) struct Buckled {
    /// Heights of the relaxation.
    relaxed: Vec<f32>,
    /// Heights of the last frame.
    pub(super) heights: Vec<f32>,
    factor: Option<f32>,
    stretch: Vec<f32>,
    laplacian: Vec<f32>,
}

/// Refined cloth of a frame: on the triangles of the coarse cloth, smoothed, and with unit normals.
#[derive(Debug, Clone, Default)]
pub(super) struct Base {
    pub(super) flat: Vec<Vec3>,
    pub(super) smooth: Vec<Vec3>,
    pub(super) normals: Vec<Vec3>,
    /// Distance of each point to another layer of cloth.
    pub(super) gaps: Vec<f32>,
    /// Fraction of the smoothing that is used, 0 to 1.
    pub(super) smoothing: f32,
}

/// Areas that heights of a frame depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Areas {
    pub(super) rest: f64,
    pub(super) coarse: f64,
}

impl Buckling {
    /// Prepares the edges of `refined`. `corners` are the corners of the coarse triangles in the rest shape, and
    /// `area_ratio` is the area of the true rest shape relative to that of the coarse triangles.
    pub(super) fn new(refined: &Refined, coarse: &[[u32; 3]], corners: &[[Vec3; 3]], area_ratio: f32) -> Self {
        let triangles = refined.mesh.triangles();
        let mut sides: Vec<([u32; 2], f32)> = Vec::with_capacity(3 * triangles.len());
        for (triangle, &origin) in triangles.iter().zip(&refined.origins) {
            let rest = &corners[origin as usize];
            let place = |point: u32| {
                let weights = weights_in(refined.locations[point as usize], origin, coarse);
                rest[0] * weights[0] + rest[1] * weights[1] + rest[2] * weights[2]
            };
            let placed = triangle.map(place);
            for (a, b) in [(0, 1), (1, 2), (2, 0)] {
                let ends = [triangle[a].min(triangle[b]), triangle[a].max(triangle[b])];
                sides.push((ends, placed[a].distance_squared(placed[b])));
            }
        }
        sides.sort_unstable_by_key(|(ends, _)| *ends);
        let (mut edges, mut squares): (Vec<[u32; 2]>, Vec<(f32, f32)>) = (Vec::new(), Vec::new());
        for (ends, square) in sides {
            if edges.last() == Some(&ends) {
                let last = squares.len() - 1;
                squares[last] = (squares[last].0 + square, squares[last].1 + 1.0);
            } else {
                edges.push(ends);
                squares.push((square, 1.0));
            }
        }
        let squares: Vec<f32> = squares.iter().map(|(sum, count)| area_ratio * sum / count).collect();
        let mean = squares.iter().map(|square| square.sqrt()).sum::<f32>() / squares.len().max(1) as f32;
        let least = (1e-3 * mean).powi(2);
        let mut degrees = vec![0.0f32; refined.mesh.point_count()];
        edges.iter().flatten().for_each(|&point| degrees[point as usize] += 1.0);
        Self {
            inverse_squares: squares.iter().map(|&square| if square > least { 1.0 / square } else { 0.0 }).collect(),
            inverse_degrees: degrees.iter().map(|&count| if count > 0.0 { 1.0 / count } else { 0.0 }).collect(),
            noise: (0..degrees.len()).map(noise).collect(),
            edges,
            side: mean,
        }
    }

    /// Maximum height.
    pub(super) fn max_height(&self) -> f32 {
        MAX_HEIGHT * self.side
    }

    /// Typical wavelength of the folds.
    pub(super) fn wavelength(&self) -> f32 {
        std::f32::consts::PI * self.side / WAVE_NUMBER.sqrt()
    }

    /// Computes the heights of the next frame into `state`, and moves `base.smooth` towards the flat cloth if smoothing
    /// alone would make the cloth larger than its rest shape. `triangles` are those of the refined cloth.
    pub(super) fn advance(&self, state: &mut Buckled, base: &mut Base, areas: Areas, triangles: &[[u32; 3]]) {
        let is_first = state.relaxed.is_empty();
        state.relaxed.resize(self.noise.len(), 0.0);
        let squares: Vec<f32> = self.edges.iter().map(|&[a, b]| base.square(a, b)).collect();
        for _ in 0..if is_first { FIRST_STEPS } else { STEPS } {
            self.step(state, &squares);
        }
        let lost = (areas.rest - areas.coarse).max(0.0);
        let smooth = base.blend(areas.coarse + SMOOTHED * lost, areas.coarse, triangles);
        let needed = (areas.coarse + RECOVERED * lost - smooth).max(0.0);
        let mut factor = self.factor(state, base, needed, smooth, triangles);
        for _ in 0..MAX_REPEATS {
            if factor < REPEATING_FACTOR {
                break;
            }
            (0..STEPS).for_each(|_| self.step(state, &squares));
            factor = self.factor(state, base, needed, smooth, triangles);
        }
        state.factor = Some(factor);
        let last = if is_first { None } else { Some(std::mem::take(&mut state.heights)) };
        let enough = areas.coarse + MIN_RECOVERED * lost;
        let mut bound = MAX_CHANGE * self.side;
        for _ in 0..=MAX_RELAXATIONS {
            self.follow(state, base, factor, last.as_deref(), bound);
            if area(&base.lifted(&state.heights), triangles) >= enough {
                break;
            }
            bound *= RELAXATION;
        }
    }

    /// One step of the relaxation.
    fn step(&self, state: &mut Buckled, squares: &[f32]) {
        let count = state.relaxed.len();
        for sums in [&mut state.stretch, &mut state.laplacian] {
            sums.clear();
            sums.resize(count, 0.0);
        }
        let h = &state.relaxed;
        for ((&[a, b], inverse), square) in self.edges.iter().zip(&self.inverse_squares).zip(squares) {
            let (a, b) = (a as usize, b as usize);
            let apart = h[b] - h[a];
            let strain = if *inverse > 0.0 { (square + apart * apart) * inverse - 1.0 } else { 0.0 };
            let force = strain.clamp(STRAIN_BOUNDS[0], STRAIN_BOUNDS[1]) * apart;
            state.stretch[a] += force;
            state.stretch[b] -= force;
            state.laplacian[a] += apart;
            state.laplacian[b] -= apart;
        }
        for (value, inverse) in state.laplacian.iter_mut().zip(&self.inverse_degrees) {
            *value *= inverse;
        }
        for &[a, b] in &self.edges {
            let (a, b) = (a as usize, b as usize);
            let force = BENDING * (state.laplacian[b] - state.laplacian[a]);
            state.stretch[a] -= force;
            state.stretch[b] += force;
        }
        let damped = DAMPING / (DAMPED_HEIGHT * self.side).powi(2);
        let parts = state.stretch.iter().zip(&self.inverse_degrees).zip(&self.noise);
        for (h, ((force, inverse), noise)) in state.relaxed.iter_mut().zip(parts) {
            *h += TIME_STEP * (force * inverse + FOUNDATION * (NOISE * self.side * noise - *h));
            *h /= (1.0 + damped * *h * *h).sqrt();
        }
    }

    /// Factor of the heights at which folds add `needed` to the area `smooth` of the smoothed cloth.
    fn factor(&self, state: &Buckled, base: &Base, needed: f64, smooth: f64, triangles: &[[u32; 3]]) -> f32 {
        if needed <= ROUNDED_AREA * smooth {
            return 0.0;
        }
        let mut tried = state.factor.filter(|factor| *factor > 0.1).unwrap_or(1.0);
        for _ in 0..FACTOR_TRIALS {
            let lifted: Vec<Vec3> = (0..state.relaxed.len())
                .into_par_iter()
                .with_min_len(8192)
                .map(|point| {
                    let height = self.bounded(tried * state.relaxed[point], base.gaps[point]);
                    base.smooth[point] + base.normals[point] * height
                })
                .collect();
            let added = area(&lifted, triangles) - smooth;
            // The area that folds add grows with the square of their height, less if heights are near their bounds.
            let step = if added > 0.0 { (needed / added).sqrt() as f32 } else { MAX_FACTOR / tried };
            tried = (tried * step).min(MAX_FACTOR);
            if (1.0 / SMALL_STEP..SMALL_STEP).contains(&step) || (step > 1.0 && tried == MAX_FACTOR) {
                break;
            }
        }
        tried
    }

    /// Height bounded smoothly by the maximum height and by the distance to other layers.
    fn bounded(&self, height: f32, gap: f32) -> f32 {
        let most = self.max_height().min(MAX_OF_GAP * gap);
        if most > 0.0 { height / (1.0 + (height / most).powi(2)).sqrt() } else { 0.0 }
    }

    /// Moves the heights of the last frame towards those of the relaxation, by steps of at most `bound`.
    fn follow(&self, state: &mut Buckled, base: &Base, factor: f32, last: Option<&[f32]>, bound: f32) {
        let wanted = |point: usize| self.bounded(factor * state.relaxed[point], base.gaps[point]);
        let height = |point: usize| match last {
            Some(last) => last[point] + (wanted(point) - last[point]).clamp(-bound, bound),
            None => wanted(point),
        };
        state.heights = (0..state.relaxed.len()).map(height).collect();
    }
}

impl Base {
    fn square(&self, a: u32, b: u32) -> f32 {
        self.flat[a as usize].distance_squared(self.flat[b as usize])
    }

    /// Moves the smoothed cloth towards the flat one until its area is at most `allowed`. Returns its area.
    fn blend(&mut self, allowed: f64, coarse: f64, triangles: &[[u32; 3]]) -> f64 {
        let smooth = area(&self.smooth, triangles);
        if smooth <= allowed {
            self.smoothing = 1.0;
            return smooth;
        }
        // The area that curvature adds grows with the square of its height.
        let part = ((allowed - coarse).max(0.0) / (smooth - coarse)).sqrt() as f32;
        self.smooth_partly(part);
        area(&self.smooth, triangles)
    }

    /// Uses only a fraction of the smoothing.
    pub(super) fn smooth_partly(&mut self, part: f32) {
        self.smoothing = part;
        self.smooth.iter_mut().zip(&self.flat).for_each(|(smooth, flat)| *smooth = *flat + (*smooth - *flat) * part);
    }

    /// Positions with heights.
    pub(super) fn lifted(&self, heights: &[f32]) -> Vec<Vec3> {
        self.smooth
            .iter()
            .zip(&self.normals)
            .zip(heights)
            .map(|((base, normal), height)| *base + *normal * *height)
            .collect()
    }
}

/// Barycentric coordinates of `location` in the triangle `origin`, which contains it.
pub(super) fn weights_in(location: SurfacePoint, origin: u32, triangles: &[[u32; 3]]) -> [f32; 3] {
    if location.triangle == origin {
        return location.weights;
    }
    let from = triangles[location.triangle as usize];
    triangles[origin as usize].map(|point| (0..3).filter(|&k| from[k] == point).map(|k| location.weights[k]).sum())
}

/// Noise of a point between −1 and 1, from a hash of its index.
fn noise(point: usize) -> f32 {
    let mut bits = (point as u32).wrapping_mul(0x9E37_79B9) ^ 0x85EB_CA6B;
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x2C1B_3C6D);
    bits = (bits ^ (bits >> 12)).wrapping_mul(0x297A_2D39);
    (bits ^ (bits >> 15)) as f32 / (u32::MAX / 2) as f32 - 1.0
}

/// Area of triangles, in a fixed order of summation.
fn area(points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    let double = |triangle: usize| {
        let [a, b, c] = triangles[triangle].map(|point| points[point as usize]);
        f64::from((b - a).cross(c - a).length())
    };
    0.5 * dermis_math::sum::sum(triangles.len(), double)
}
