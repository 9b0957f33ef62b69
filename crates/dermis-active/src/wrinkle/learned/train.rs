//! Training of folds: ridge regression of the displacement of each point.
//!
//! For each point, rows are frames and columns the coordinates of the nearest control points (`feature`). With fewer frames
//! than columns, the dual form `w = Xᵀ (X Xᵀ + λ t I)⁻¹ y` is solved, with the mean variance t of the frames, so that λ has
//! no unit. λ is selected by cross-validation over blocks of consecutive frames. The relaxation after the regression
//! removes much of the noise of weak regularization, so the smallest λ with nearly the smallest error is used.

use std::sync::Arc;

use dermis_math::progress::Progress;
use dermis_mesh::MeshSequence;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::binding::{Binding, Cloth, Posed};
use super::lengths::{Anchors, Lengths, Links, relax};
use super::{BASE, FoldParts, FoldsError, LearnedFolds, feature};

/// Control points per point.
const CONTROLS: usize = 8;
/// Smallest number of frames.
const MIN_FRAMES: usize = 4;
/// Largest number of frames used; they are distributed uniformly.
const MAX_FRAMES: usize = 128;
/// Values of λ that are compared, in ascending order.
const SMOOTHNESSES: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 1024.0];
/// Error, relative to the smallest one, up to which a smaller λ is preferred.
const NEARLY_BEST: f64 = 1.03;
/// Blocks of frames and largest number of points of the cross-validation.
const BLOCKS: usize = 4;
const VALIDATED_POINTS: usize = 256;
/// Largest displacement, relative to that in the training.
const MAX_DISPLACEMENT: f64 = 1.5;
/// Anchoring above which the fine cloth is considered to pass through the points of the coarse one.
const EXACT_ANCHORING: f64 = 0.95;

/// Options of [`train_folds`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LearnOptions {
    /// Regularization λ; larger values give weaker but more reliable folds. `None` selects it by cross-validation.
    pub smoothness: Option<f64>,
}

/// Learned folds with statistics of the training.
#[derive(Debug, Clone)]
pub struct FoldTraining {
    /// The folds.
    pub folds: LearnedFolds,
    /// Number of frames used.
    pub frames: usize,
    /// RMS distance of the coarse cloth to the fine one.
    pub coarse_distance: f64,
    /// RMS distance of the relaxed cloth to the fine one, before the learned displacement.
    pub relaxed_distance: f64,
    /// RMS distance of the cloth with learned folds to the fine one, in the frames of the training.
    pub distance: f64,
    /// Values of λ with the RMS distance of held-out frames before the last relaxation; empty if λ was given.
    pub curve: Vec<(f64, f64)>,
}

/// Frame of the training.
struct Example {
    posed: Posed,
    /// Relaxed cloth.
    base: Vec<DVec3>,
    truth: Vec<DVec3>,
}

/// Learns the folds of `fine` from the corresponding frames of `coarse`.
pub fn train_folds(
    coarse: &MeshSequence,
    fine: &MeshSequence,
    options: &LearnOptions,
    progress: &dyn Progress,
) -> Result<FoldTraining, FoldsError> {
    check(coarse, fine, options)?;
    let report = |stage: &str, done: usize, total: usize| {
        if progress.report(stage, done, total).is_break() { Err(FoldsError::Stopped) } else { Ok(()) }
    };
    let count = fine.frame_count().min(MAX_FRAMES);
    let frames: Vec<usize> = (0..count).map(|k| k * fine.frame_count() / count).collect();
    let mesh = Arc::clone(fine.mesh());
    let cloth = Cloth { rest: coarse.mesh().points(), triangles: coarse.mesh().triangles() };
    let controls = cloth.rest.to_vec();
    let binding = Binding::new(cloth, Cloth { rest: mesh.points(), triangles: mesh.triangles() }, &controls)?;
    let links = Links::of(&mesh);
    let mut lengths = [vec![0.0; links.edges.len()], vec![0.0; links.spans.len()]];
    let mut squares = [0.0; 2];
    let mut examples = Vec::with_capacity(count);
    for (done, &frame) in frames.iter().enumerate() {
        report("reading frames", done, count)?;
        let truth: Vec<DVec3> = fine.frame(frame)?.iter().map(|point| point.as_dvec3()).collect();
        let posed = binding.pose(&coarse.frame(frame)?);
        for (sums, links) in lengths.iter_mut().zip([&links.edges, &links.spans]) {
            for (sum, &[a, b]) in sums.iter_mut().zip(links) {
                *sum += truth[a as usize].distance(truth[b as usize]) / count as f64;
            }
        }
        let at_anchors = binding.anchors.iter().zip(&posed.coarse);
        let at_anchors = at_anchors.filter_map(|(anchor, point)| Some(anchor.as_ref()?.blend(&truth).distance(*point)));
        squares[0] += mean_square(at_anchors);
        squares[1] += mean_square(posed.points.iter().zip(&truth).map(|(a, b)| a.distance(*b)));
        examples.push(Example { posed, base: Vec::new(), truth });
    }
    let anchoring = if squares[1] > 0.0 { (1.0 - (squares[0] / squares[1]).sqrt()).clamp(0.0, 1.0) } else { 1.0 };
    let anchoring = if anchoring > EXACT_ANCHORING { 1.0 } else { anchoring };
    let [edges, spans] = lengths.map(|lengths| lengths.into_iter().map(|length| length as f32).collect::<Vec<f32>>());
    let anchors = Anchors::new(&binding.anchors, mesh.point_count(), anchoring);
    report("relaxing", 0, 1)?;
    examples.par_iter_mut().for_each(|example| {
        example.base.clone_from(&example.posed.points);
        let lengths = Lengths { edges: &edges, spans: &spans };
        relax(&links, lengths, &anchors, &example.posed.coarse, &mut example.base, BASE);
    });
    let mut parts = FoldParts {
        neighbours: nearest_controls(mesh.points(), &controls),
        weights: Vec::new(),
        offsets: Vec::new(),
        limits: Vec::new(),
        edge_lengths: edges,
        span_lengths: spans,
        anchoring: anchoring as f32,
        smoothness: 0.0,
        controls,
        mesh,
    };
    let side = parts.edge_lengths.iter().map(|length| f64::from(*length)).sum::<f64>();
    let side = side / parts.edge_lengths.len().max(1) as f64;
    let regression = Regression { examples: &examples, parts: &parts, side };
    report("learning", 0, 1)?;
    let curve = if options.smoothness.is_some() { Vec::new() } else { regression.cross_validate() };
    let smoothness = options.smoothness.unwrap_or_else(|| selected(&curve));
    let all: Vec<usize> = (0..count).collect();
    let solved: Vec<Solved> = (0..parts.mesh.point_count())
        .into_par_iter()
        .map(|point| regression.rows(point, &all).solve(smoothness))
        .collect();
    for Solved { weights, offset, limit } in solved {
        let rounded = |column: DVec3| column.as_vec3();
        parts.weights.extend(weights.as_chunks::<3>().0.iter().map(|columns| columns.map(rounded)));
        parts.offsets.push(offset.as_vec3());
        parts.limits.push((MAX_DISPLACEMENT * limit) as f32);
    }
    parts.smoothness = smoothness;
    let folds = LearnedFolds::new(parts)?;
    let mut sums = [squares[1], 0.0, 0.0];
    for (done, (example, &frame)) in examples.iter().zip(&frames).enumerate() {
        report("measuring", done, count)?;
        let found = folds.frame(&binding, &anchors, &coarse.frame(frame)?);
        sums[1] += mean_square(example.base.iter().zip(&example.truth).map(|(a, b)| a.distance(*b)));
        sums[2] += mean_square(found.iter().zip(&example.truth).map(|(a, b)| a.distance(*b)));
    }
    let [coarse_distance, relaxed_distance, distance] = sums.map(|sum| (sum / count as f64).sqrt());
    Ok(FoldTraining { folds, frames: count, coarse_distance, relaxed_distance, distance, curve })
}

fn check(coarse: &MeshSequence, fine: &MeshSequence, options: &LearnOptions) -> Result<(), FoldsError> {
    if coarse.frame_count() != fine.frame_count() {
        return Err(FoldsError::Frames { coarse: coarse.frame_count(), fine: fine.frame_count() });
    }
    if fine.frame_count() < MIN_FRAMES {
        return Err(FoldsError::TooFewFrames { found: fine.frame_count(), needed: MIN_FRAMES });
    }
    if fine.point_count() <= coarse.point_count() {
        return Err(FoldsError::NotFiner { coarse: coarse.point_count(), fine: fine.point_count() });
    }
    match options.smoothness {
        Some(smoothness) if smoothness.is_nan() || smoothness <= 0.0 => Err(FoldsError::Smoothness(smoothness)),
        _ => Ok(()),
    }
}

/// Smallest λ with nearly the smallest error.
fn selected(curve: &[(f64, f64)]) -> f64 {
    let least = curve.iter().map(|(_, error)| *error).fold(f64::INFINITY, f64::min);
    let good = curve.iter().find(|(_, error)| *error <= NEARLY_BEST * least);
    good.map_or(SMOOTHNESSES[1], |(smoothness, _)| *smoothness)
}

fn mean_square(distances: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = distances.fold((0.0, 0usize), |(sum, count), distance| (sum + distance * distance, count + 1));
    sum / count.max(1) as f64
}

/// Nearest control points of each point, in ascending order of their distance.
fn nearest_controls(points: &[Vec3], controls: &[Vec3]) -> Vec<u32> {
    let count = CONTROLS.min(controls.len());
    let of_point = |point: &Vec3| {
        let mut order: Vec<(f32, u32)> =
            controls.iter().enumerate().map(|(at, control)| (control.distance_squared(*point), at as u32)).collect();
        let by_distance = |a: &(f32, u32), b: &(f32, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        if count < order.len() {
            order.select_nth_unstable_by(count, by_distance);
            order.truncate(count);
        }
        order.sort_by(by_distance);
        order.into_iter().map(|(_, at)| at).collect::<Vec<u32>>()
    };
    points.par_iter().map(of_point).collect::<Vec<_>>().concat()
}

struct Regression<'a> {
    examples: &'a [Example],
    parts: &'a FoldParts,
    side: f64,
}

/// Centred rows of the regression of one point.
struct Rows {
    columns: usize,
    x: Vec<f64>,
    y: Vec<DVec3>,
    mean_x: Vec<f64>,
    mean_y: DVec3,
    limit: f64,
}

/// Linear model of one point: a column per coordinate of the control points.
struct Solved {
    weights: Vec<DVec3>,
    offset: DVec3,
    limit: f64,
}

impl Regression<'_> {
    /// Features of a point in a frame.
    fn features(&self, point: usize, frame: usize) -> impl Iterator<Item = f64> {
        let FoldParts { mesh, controls, neighbours, .. } = self.parts;
        let per_point = neighbours.len() / mesh.point_count();
        let posed = &self.examples[frame].posed;
        let inverse = posed.rotations[point].inverse();
        neighbours[point * per_point..(point + 1) * per_point].iter().flat_map(move |&control| {
            let control = control as usize;
            let rest = (controls[control] - mesh.points()[point]).as_dvec3();
            let now = inverse * (posed.controls[control] - posed.points[point]);
            feature(rest, now, self.side).to_array()
        })
    }

    /// Displacement of a point in a frame, relative to the relaxed cloth.
    fn displacement(&self, point: usize, frame: usize) -> DVec3 {
        let Example { posed, base, truth } = &self.examples[frame];
        posed.rotations[point].inverse() * (truth[point] - base[point])
    }

    fn rows(&self, point: usize, frames: &[usize]) -> Rows {
        let mut x: Vec<f64> = frames.iter().flat_map(|&frame| self.features(point, frame)).collect();
        let mut y: Vec<DVec3> = frames.iter().map(|&frame| self.displacement(point, frame)).collect();
        let (columns, count) = (x.len() / frames.len(), frames.len() as f64);
        let mut mean_x = vec![0.0; columns];
        for row in x.chunks_exact(columns) {
            mean_x.iter_mut().zip(row).for_each(|(mean, value)| *mean += value / count);
        }
        for row in x.chunks_exact_mut(columns) {
            row.iter_mut().zip(&mean_x).for_each(|(value, mean)| *value -= mean);
        }
        let limit = y.iter().map(|y| y.length()).fold(0.0, f64::max);
        let mean_y = y.iter().sum::<DVec3>() / count;
        for y in &mut y {
            *y -= mean_y;
        }
        Rows { columns, x, y, mean_x, mean_y, limit }
    }

    /// RMS distance of held-out frames for each λ.
    fn cross_validate(&self) -> Vec<(f64, f64)> {
        let frames = self.examples.len();
        let blocks = BLOCKS.min(frames);
        let points = self.parts.mesh.point_count();
        let tested = points.min(VALIDATED_POINTS);
        let of_point = |index: usize| {
            let point = index * points / tested;
            let mut sums = [0.0; SMOOTHNESSES.len()];
            for block in 0..blocks {
                let held = block * frames / blocks..(block + 1) * frames / blocks;
                let others: Vec<usize> = (0..frames).filter(|frame| !held.contains(frame)).collect();
                let rows = self.rows(point, &others);
                for (sum, &smoothness) in sums.iter_mut().zip(&SMOOTHNESSES) {
                    let Solved { weights, offset, .. } = rows.solve(smoothness);
                    for frame in held.clone() {
                        let terms = self.features(point, frame).zip(&weights).map(|(x, weight)| *weight * x);
                        let found = offset + terms.sum::<DVec3>();
                        *sum += found.distance_squared(self.displacement(point, frame));
                    }
                }
            }
            sums
        };
        let sums: Vec<[f64; SMOOTHNESSES.len()]> = (0..tested).into_par_iter().map(of_point).collect();
        let total = |at: usize| (sums.iter().map(|sums| sums[at]).sum::<f64>() / (tested * frames) as f64).sqrt();
        SMOOTHNESSES.iter().enumerate().map(|(at, &smoothness)| (smoothness, total(at))).collect()
    }
}

impl Rows {
    fn solve(&self, smoothness: f64) -> Solved {
        let count = self.y.len();
        let row = |at: usize| &self.x[at * self.columns..(at + 1) * self.columns];
        let mut gram = vec![0.0; count * count];
        for a in 0..count {
            for b in 0..=a {
                gram[a * count + b] = row(a).iter().zip(row(b)).map(|(a, b)| a * b).sum();
            }
        }
        let variance = (0..count).map(|at| gram[at * count + at]).sum::<f64>() / count as f64;
        let mut weights = vec![DVec3::ZERO; self.columns];
        if variance > 0.0 {
            (0..count).for_each(|at| gram[at * count + at] += smoothness * variance);
            let solution = cholesky_solved(&mut gram, &self.y);
            for (at, solution) in solution.iter().enumerate() {
                weights.iter_mut().zip(row(at)).for_each(|(weight, x)| *weight += *solution * *x);
            }
        }
        let at_mean: DVec3 = weights.iter().zip(&self.mean_x).map(|(weight, mean)| *weight * *mean).sum();
        Solved { weights, offset: self.mean_y - at_mean, limit: self.limit }
    }
}

/// Solves a positive definite system, given by its lower triangle, which is overwritten by its Cholesky factor.
fn cholesky_solved(matrix: &mut [f64], right: &[DVec3]) -> Vec<DVec3> {
    let n = right.len();
    for j in 0..n {
        for i in j..n {
            let dot: f64 = (0..j).map(|k| matrix[i * n + k] * matrix[j * n + k]).sum();
            matrix[i * n + j] -= dot;
        }
        let pivot = matrix[j * n + j].max(f64::MIN_POSITIVE).sqrt();
        (j..n).for_each(|i| matrix[i * n + j] /= pivot);
    }
    let mut x = right.to_vec();
    for i in 0..n {
        let sum: DVec3 = (0..i).map(|k| x[k] * matrix[i * n + k]).sum();
        x[i] = (x[i] - sum) / matrix[i * n + i];
    }
    for i in (0..n).rev() {
        let sum: DVec3 = (i + 1..n).map(|k| x[k] * matrix[k * n + i]).sum();
        x[i] = (x[i] - sum) / matrix[i * n + i];
    }
    x
}
