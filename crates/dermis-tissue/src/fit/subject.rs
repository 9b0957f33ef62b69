//! Flesh of a subject from scans: moduli, layer field and damping by the adjoint gradient (beyond Kim et al. 2017, §5).
//!
//! Unknowns are, at representative points of the skin, the logarithm of Young's modulus and a factor on the depth of the
//! layer beyond σ, and the logarithm of the damping rate. Gaussian weights spread them over the skin; the harmonic
//! extensions of the layered body carry them inside. The loss is the mean squared distance of the simulated skin from the
//! scans, relative to the fitted pose, and weak priors: moduli close to their mean, depths close to those of the body.
//! Modulus and depth of a layer are almost exchangeable (its frequency depends on E/L²), which makes the priors necessary.
//!
//! A node is free or driven by a threshold, which has no derivative. The fit ties the nodes near the boundary to their
//! posed positions instead, with a stiffness that falls smoothly to zero as d rises from σ − w to σ + w.

use dermis_body::{BodyError, BodyPose};
use dermis_math::lbfgs::{Bounds, Lbfgs};
use dermis_math::progress::Progress;
use dermis_mesh::{TetMesh, UpAxis};
use dermis_tet::tetrahedra::lattice::LatticeOptions;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::amplitude::{deviation, mean_amplitudes};
use super::model::{Attachment, FitModel, Order};
use super::parameters::{Gradient, Parameters};
use super::poses::{PoseOptions, fit_poses, fit_shape, unpose};
use super::scans::Scan;
use super::step::{SolveOptions, State};
use super::trajectory::{Clip, TrajectoryOptions, gradient};
use crate::dynamics::{EARTH_GRAVITY, Force};
use crate::layered::{
    BodySimulation, BodySimulationOptions, BuildOptions, Flesh, LayeredBody, LayeredError, LayeredParts, Mesher,
    SkinBinding, Thickness, build,
};
use crate::layers::THRESHOLD;

/// Half width w of the boundary of the layer, in units of d.
const BOUNDARY: f64 = 0.12;
/// Squared angular frequency of a full tie, per second squared.
const TIE_PER_S2: f64 = 9e4;
/// Range of moduli in pascal (§5.5).
const MODULI_PA: [f64; 2] = [100.0, 3e4];
/// Range of factors on the depth of the layer.
const DEPTHS: [f64; 2] = [0.3, 1.8];
/// Range of damping rates, per second.
const RATES_PER_S: [f64; 2] = [0.1, 40.0];
/// Weights of the priors, in mm².
const MODULUS_PRIOR: f64 = 0.05;
const DEPTH_PRIOR: f64 = 0.3;
/// Weight of soft points in the estimation of poses; that of points over bones is 1.
const SOFT_WEIGHT: f64 = 0.02;
/// Settling steps before a sequence.
const SETTLING_STEPS: usize = 15;
/// Largest change of a variable in one iteration.
const MAX_STEP: f64 = 0.4;
/// Mean amplitude of the scans, relative to the height of the body, below which they are still.
const STILL_AMPLITUDE: f64 = 5e-4;
/// Largest part of frames that may be invalid and are interpolated.
const MAX_INVALID: f64 = 0.05;
/// Time in seconds for the flesh to settle before a validated sequence.
const VALIDATION_SETTLE_S: f32 = 1.0;

/// Options of [`fit_subject`].
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectOptions {
    /// Representative points. More resolve finer differences and need more motion.
    pub representative_points: usize,
    /// Lattice spacing of the fitted mesh relative to the diagonal of the body.
    pub spacing: f64,
    /// Steps per frame.
    pub substeps: usize,
    /// Maximum number of iterations.
    pub max_iterations: usize,
    /// Frames per training sequence that are fitted at most.
    pub max_frames: usize,
    /// Names of the training sequences; empty: the two with the largest mean amplitude (§5.1).
    pub train: Vec<String>,
}

impl Default for SubjectOptions {
    fn default() -> Self {
        Self {
            representative_points: 40,
            spacing: 0.03,
            substeps: 3,
            max_iterations: 20,
            max_frames: 75,
            train: Vec::new(),
        }
    }
}

/// Error of [`fit_subject`] and [`validate_subject`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SubjectError {
    /// The body is invalid or cannot be simulated.
    #[error(transparent)]
    Layered(#[from] LayeredError),
    /// A scan has another number of points.
    #[error("the scan '{scan}' has {found} points in frame {frame}, and the body has {expected}: another topology")]
    Topology {
        /// Name of the scan.
        scan: String,
        /// The frame.
        frame: usize,
        /// Its number of points.
        found: usize,
        /// Number of points of the body.
        expected: usize,
    },
    /// Frame rates differ.
    #[error("the scan '{scan}' has {found} frames per second, the first scan {expected}")]
    FrameRate {
        /// Name of the scan.
        scan: String,
        /// Its rate.
        found: f64,
        /// The rate of the first scan.
        expected: f64,
    },
    /// Too many frames are not finite.
    #[error("{invalid} of {frames} frames of the scan '{scan}' are dropped or not finite")]
    InvalidFrames {
        /// Name of the scan.
        scan: String,
        /// Number of invalid frames.
        invalid: usize,
        /// Number of frames.
        frames: usize,
    },
    /// No sequence has the name.
    #[error("no scan is called '{name}'")]
    NoSuchScan {
        /// The name.
        name: String,
    },
    /// There are no scans or too few frames.
    #[error("the scan '{scan}' has {frames} frames; at least {min} are required")]
    TooShort {
        /// Name of the scan.
        scan: String,
        /// Number of frames.
        frames: usize,
        /// Required number.
        min: usize,
    },
    /// The scans do not move.
    #[error("the flesh in the scan '{scan}' does not move (mean amplitude {amplitude_mm:.2} mm): nothing to learn")]
    Still {
        /// Name of the scan.
        scan: String,
        /// Mean amplitude in millimetres.
        amplitude_mm: f64,
    },
    /// The scans do not have the size of the body.
    #[error("the scan '{scan}' is {found:.3} m in size and the body {expected:.3} m: another unit or another subject")]
    Size {
        /// Name of the scan.
        scan: String,
        /// Its size.
        found: f64,
        /// The size of the body.
        expected: f64,
    },
    /// The observer stopped the work.
    #[error("stopped before the fit was complete")]
    Stopped,
}

impl From<BodyError> for SubjectError {
    fn from(error: BodyError) -> Self {
        Self::Layered(error.into())
    }
}

/// Result of [`fit_subject`].
#[derive(Debug, Clone)]
pub struct SubjectFit {
    /// The body in the shape of the subject with the fitted flesh.
    pub body: LayeredBody,
    /// Shape coefficients.
    pub betas: Vec<f64>,
    /// Representative points of the skin.
    pub representative_points: Vec<u32>,
    /// Young's modulus at each.
    pub young_modulus_pa: Vec<f64>,
    /// Indices of the training scans.
    pub training: Vec<usize>,
    /// Value of the loss before each iteration and after the last, in mm².
    pub losses: Vec<f64>,
    /// Iterations of the minimization.
    pub iterations: usize,
}

/// Validation of one sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceValidation {
    /// Name of the sequence.
    pub name: String,
    /// Mean amplitude deviation of the pure pose model (Eq. 20), in metres.
    pub deviation_pose_model: f64,
    /// That of the simulated body.
    pub deviation_fit: f64,
    /// Root mean square distance of the posed points over bones from the scan, in metres.
    pub rigid_rms_m: f64,
    /// Deviation of each point of the skin, in metres.
    pub of_points: Vec<f64>,
}

/// Checks `scans` against the body and replaces invalid frames; returns a description of each replacement.
pub fn check_scans(body: &LayeredBody, scans: &mut [Scan]) -> Result<Vec<String>, SubjectError> {
    let expected = body.body().point_count();
    let rate = scans.first().map_or(0.0, |scan| scan.frame_rate_hz);
    let size = f64::from(body.body().mesh().diagonal());
    let mut notes = Vec::new();
    for scan in scans {
        let name = || scan.name.clone();
        if (scan.frame_rate_hz - rate).abs() > 1e-6 * rate.abs() {
            return Err(SubjectError::FrameRate { scan: name(), found: scan.frame_rate_hz, expected: rate });
        }
        if let Some(frame) = scan.frames.iter().position(|frame| frame.len() != expected) {
            return Err(SubjectError::Topology { scan: name(), frame, found: scan.frames[frame].len(), expected });
        }
        let frames = scan.frames.len();
        if frames < 10 {
            return Err(SubjectError::TooShort { scan: name(), frames, min: 10 });
        }
        let is_valid = |frame: &Vec<Vec3>| frame.iter().all(|point| point.is_finite());
        let valid: Vec<usize> = (0..frames).filter(|&frame| is_valid(&scan.frames[frame])).collect();
        let invalid = frames - valid.len();
        if invalid as f64 > MAX_INVALID * frames as f64 {
            return Err(SubjectError::InvalidFrames { scan: name(), invalid, frames });
        }
        for frame in (0..frames).filter(|frame| valid.binary_search(frame).is_err()) {
            let next = valid.partition_point(|&other| other < frame);
            let after = valid[next.min(valid.len() - 1)];
            let before = valid[next.saturating_sub(1)];
            let t = if after > before { (frame - before) as f32 / (after - before) as f32 } else { 0.0 };
            let between: Vec<Vec3> =
                scan.frames[before].iter().zip(&scan.frames[after]).map(|(a, b)| a.lerp(*b, t)).collect();
            notes.push(format!("frame {frame} of '{}' is invalid and interpolated", scan.name));
            scan.frames[frame] = between;
        }
        let (low, high) = dermis_mesh::tri_mesh::bounds(&scan.frames[0]);
        let found = f64::from((high - low).length());
        if !(0.6..1.6).contains(&(found / size)) {
            return Err(SubjectError::Size { scan: name(), found, expected: size });
        }
    }
    Ok(notes)
}

/// Weights of the skin's points for the estimation of poses: high over bones, low on the simulated layer.
fn part_weights(body: &LayeredBody) -> Vec<f64> {
    let weight = |&d: &f32| if f64::from(d) > THRESHOLD + 1e-3 { SOFT_WEIGHT } else { 1.0 };
    body.flesh().thickness.iter().map(weight).collect()
}

/// The body in the shape `betas`, with the same flesh.
fn in_shape(body: &LayeredBody, betas: &[f64]) -> Result<LayeredBody, SubjectError> {
    let parts = body.parts();
    let volume = parts.volume.fixed_shape(betas)?;
    let tets = TetMesh::new(volume.mesh().points().to_vec(), parts.tets.tetrahedra().to_vec());
    let tets = tets.map_err(LayeredError::from)?;
    let shaped = LayeredParts { body: parts.body.fixed_shape(betas)?, volume, tets, ..parts.clone() };
    Ok(LayeredBody::new(shaped)?)
}

/// Unposed frames of a scan (Eq. 16) and their mean amplitudes.
fn amplitudes(body: &LayeredBody, poses: &[BodyPose], frames: &[Vec<Vec3>]) -> Result<Vec<f64>, SubjectError> {
    let shaped = body.body().shaped(&[])?;
    let unposed: Result<Vec<_>, BodyError> =
        poses.iter().zip(frames).map(|(pose, frame)| unpose(&shaped, pose, frame)).collect();
    Ok(mean_amplitudes(&unposed?, body.body().mesh().triangles()))
}

/// Learns the flesh of the subject in `scans`. `resume` continues from a stored state; `checkpoint` receives the state
/// after every iteration.
pub fn fit_subject(
    body: &LayeredBody,
    scans: &[Scan],
    options: &SubjectOptions,
    resume: Option<Lbfgs>,
    checkpoint: &mut dyn FnMut(&Lbfgs),
    progress: &dyn Progress,
) -> Result<SubjectFit, SubjectError> {
    let report = |stage: &str, done: usize, total: usize| {
        if progress.report(stage, done, total).is_break() { Err(SubjectError::Stopped) } else { Ok(()) }
    };
    let Some(first) = scans.first() else {
        return Err(SubjectError::TooShort { scan: "none".to_owned(), frames: 0, min: 10 });
    };
    let weights = part_weights(body);
    report("estimating shape and poses", 0, 1)?;
    let betas = fit_shape(body.body(), &first.frames[0], &weights, &PoseOptions::default())?;
    let mut shaped = in_shape(body, &betas)?;
    let poses: Vec<Vec<BodyPose>> = scans
        .par_iter()
        .map(|scan| fit_poses(shaped.body(), &[], &scan.frames, &weights, &PoseOptions::default()))
        .collect::<Result<_, _>>()?;
    let training = training_scans(&shaped, scans, &poses, &options.train)?;
    report("preparing the simulation", 0, 1)?;
    let problem = Problem::new(&shaped, scans, &poses, &training, options, progress)?;
    let bounds = problem.bounds();
    let mut evaluate = |x: &[f64]| problem.evaluate(x);
    let mut state = match resume {
        Some(state) if state.x.len() == bounds.low.len() => state,
        _ => Lbfgs::start(problem.start(&shaped), &bounds, &mut evaluate),
    };
    let mut losses = vec![state.value];
    while state.iterations < options.max_iterations {
        report("learning the flesh", state.iterations, options.max_iterations)?;
        let before = state.value;
        if !state.iterate(&bounds, MAX_STEP, &mut evaluate) {
            break;
        }
        losses.push(state.value);
        checkpoint(&state);
        if before - state.value < 1e-4 * before {
            break;
        }
    }
    let (flesh, young_modulus_pa) = problem.flesh(&state.x, shaped.flesh());
    shaped.set_flesh(flesh)?;
    Ok(SubjectFit {
        body: shaped,
        betas,
        representative_points: problem.representative.clone(),
        young_modulus_pa,
        training,
        losses,
        iterations: state.iterations,
    })
}

/// Training scans: the named ones, or the two with the largest mean amplitude (§5.1).
fn training_scans(
    body: &LayeredBody,
    scans: &[Scan],
    poses: &[Vec<BodyPose>],
    names: &[String],
) -> Result<Vec<usize>, SubjectError> {
    let size = f64::from(body.body().mesh().diagonal());
    let mean = |index: usize| -> Result<f64, SubjectError> {
        let found = amplitudes(body, &poses[index], &scans[index].frames)?;
        Ok(found.iter().sum::<f64>() / found.len().max(1) as f64)
    };
    let amplitudes: Vec<f64> = (0..scans.len()).into_par_iter().map(mean).collect::<Result<_, _>>()?;
    let mut chosen: Vec<usize> = (0..scans.len()).collect();
    if names.is_empty() {
        chosen.sort_by(|&a, &b| amplitudes[b].total_cmp(&amplitudes[a]).then(a.cmp(&b)));
        chosen.truncate(2);
    } else {
        let find = |name: &String| {
            scans.iter().position(|scan| scan.name == *name).ok_or(SubjectError::NoSuchScan { name: name.clone() })
        };
        chosen = names.iter().map(find).collect::<Result<_, _>>()?;
    }
    for &index in &chosen {
        if amplitudes[index] < STILL_AMPLITUDE * size {
            let amplitude_mm = 1e3 * amplitudes[index];
            return Err(SubjectError::Still { scan: scans[index].name.clone(), amplitude_mm });
        }
    }
    Ok(chosen)
}

/// Simulates every scan's poses with `body`, which has the shape of the subject, and compares mean amplitudes.
pub fn validate_subject(
    body: &LayeredBody,
    scans: &[Scan],
    progress: &dyn Progress,
) -> Result<Vec<SequenceValidation>, SubjectError> {
    let weights = part_weights(body);
    let mut found = Vec::with_capacity(scans.len());
    for (index, scan) in scans.iter().enumerate() {
        if progress.report("validating", index, scans.len()).is_break() {
            return Err(SubjectError::Stopped);
        }
        let poses = fit_poses(body.body(), &[], &scan.frames, &weights, &PoseOptions::default())?;
        let frame_s = (1.0 / scan.frame_rate_hz) as f32;
        let substeps = crate::layered::steps_in(f64::from(frame_s));
        let gravity = [Force::gravity_down(body.parts().up, EARTH_GRAVITY)];
        let mut simulation = BodySimulation::new(body.clone(), BodySimulationOptions::default())?;
        simulation.start(&poses[0], VALIDATION_SETTLE_S, &gravity)?;
        if let Some(next) = poses.get(1) {
            simulation.launch(next, frame_s)?;
        }
        let (mut frames, mut posed) = (vec![simulation.skin().to_vec()], vec![simulation.posed_skin().to_vec()]);
        for pose in &poses[1..] {
            simulation.advance(pose, frame_s, substeps, &gravity)?;
            frames.push(simulation.skin().to_vec());
            posed.push(simulation.posed_skin().to_vec());
        }
        let [captured, simulated, pure] =
            [&scan.frames, &frames, &posed].map(|frames| amplitudes(body, &poses, frames));
        let (captured, simulated, pure) = (captured?, simulated?, pure?);
        let (mut squared, mut count) = (0.0, 0.0);
        for (scanned, posed) in scan.frames.iter().zip(&posed) {
            for ((a, b), weight) in scanned.iter().zip(posed).zip(&weights) {
                if *weight == 1.0 {
                    squared += f64::from(a.distance_squared(*b));
                    count += 1.0;
                }
            }
        }
        found.push(SequenceValidation {
            name: scan.name.clone(),
            deviation_pose_model: deviation(&captured, &pure),
            deviation_fit: deviation(&captured, &simulated),
            rigid_rms_m: (squared / f64::max(count, 1.0)).sqrt(),
            of_points: captured.iter().zip(&simulated).map(|(a, b)| (a - b).abs()).collect(),
        });
    }
    Ok(found)
}

/// A training sequence: motion of the nodes and displacement of observed points from their posed positions.
struct Sequence {
    clip: Clip,
    /// Posed positions of the observed points plus their scanned displacement.
    targets: Vec<Vec<DVec3>>,
}

/// The minimization problem of a subject.
struct Problem {
    model: FitModel,
    base: Parameters,
    masses: Vec<f64>,
    representative: Vec<u32>,
    /// Weight of each representative point at each point of the skin.
    spread: Vec<f64>,
    /// Extension of the weights to the nodes of the model, as moduli.
    modulus_basis: Vec<f64>,
    /// Extension of the weights times the depth beyond σ to the nodes, and of σ itself.
    depth_basis: Vec<f64>,
    threshold: Vec<f64>,
    observed: Vec<Attachment>,
    sequences: Vec<Sequence>,
}

impl Problem {
    fn new(
        body: &LayeredBody,
        scans: &[Scan],
        poses: &[Vec<BodyPose>],
        training: &[usize],
        options: &SubjectOptions,
        progress: &dyn Progress,
    ) -> Result<Self, SubjectError> {
        let size = f64::from(body.body().mesh().diagonal());
        let flesh = body.flesh();
        let spacing = Some(options.spacing * size);
        let build_options = BuildOptions {
            mesher: Mesher::Lattice(LatticeOptions { spacing, ..LatticeOptions::default() }),
            thickness: Thickness::PerPoint(flesh.thickness.clone()),
            young_modulus_pa: flesh.young_modulus_pa.clone(),
            poisson_ratio: flesh.poisson_ratio,
            density_kg_per_m3: flesh.density_kg_per_m3,
            damping_rate_per_s: flesh.damping_rate_per_s,
            ..BuildOptions::default()
        };
        let (coarse, _) = build(body.body().clone(), Vec::new(), body.parts().up, &build_options, progress)?;
        let points = body.body().mesh().points();
        let soft: Vec<u32> =
            (0..points.len() as u32).filter(|&p| f64::from(flesh.thickness[p as usize]) > THRESHOLD + 0.02).collect();
        let representative = farthest_points(points, &soft, options.representative_points);
        let count = representative.len();
        let spread = spread(points, &representative);
        let beyond: Vec<f64> = spread
            .iter()
            .enumerate()
            .map(|(k, weight)| weight * (f64::from(flesh.thickness[k / count]) - THRESHOLD).max(0.0))
            .collect();
        let all_moduli = coarse.extend_moduli(&spread, count);
        let all_depths = coarse.extend_distance(&beyond, count);
        let all_thresholds = coarse.extend_distance(&vec![THRESHOLD; points.len()], 1);
        let deepest =
            |node: usize| all_thresholds[node] + DEPTHS[1] * all_depths[node * count..][..count].iter().sum::<f64>();
        let tets = &coarse.parts().tets;
        let free: Vec<bool> = (0..tets.nodes().len()).map(|node| deepest(node) > THRESHOLD + 1e-6).collect();
        let model = FitModel::new(tets, &free, Order::Linear).map_err(LayeredError::from)?;
        let rows = |all: &[f64], width: usize| -> Vec<f64> {
            model.nodes.iter().flat_map(|&node| all[node as usize * width..][..width].iter().copied()).collect()
        };
        let (modulus_basis, depth_basis) = (rows(&all_moduli, count), rows(&all_depths, count));
        let threshold = rows(&all_thresholds, 1);
        let mut base =
            Parameters::uniform(&model, 1e3, f64::from(flesh.poisson_ratio), f64::from(flesh.density_kg_per_m3));
        base.damping_rate_per_s = f64::from(flesh.damping_rate_per_s);
        let masses = base.prepare(&model).masses;
        let stride = soft.len().div_ceil(600).max(1);
        let observed_points: Vec<u32> = soft.iter().copied().step_by(stride).collect();
        let observed = attachments(&coarse, &model, &observed_points);
        let sequences: Vec<Sequence> = training
            .par_iter()
            .map(|&index| sequence(&coarse, &model, &scans[index], &poses[index], &observed_points, &observed, options))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            model,
            base,
            masses,
            representative,
            spread,
            modulus_basis,
            depth_basis,
            threshold,
            observed,
            sequences,
        })
    }

    fn count(&self) -> usize {
        self.representative.len()
    }

    fn bounds(&self) -> Bounds {
        let of = |end: usize| {
            let mut bounds = vec![MODULI_PA[end].ln(); self.count()];
            bounds.extend(vec![DEPTHS[end]; self.count()]);
            bounds.push(RATES_PER_S[end].ln());
            bounds
        };
        Bounds { low: of(0), high: of(1) }
    }

    /// The flesh of the body.
    fn start(&self, body: &LayeredBody) -> Vec<f64> {
        let flesh = body.flesh();
        let mut x: Vec<f64> =
            self.representative.iter().map(|&p| f64::from(flesh.young_modulus_pa[p as usize]).ln()).collect();
        x.extend(vec![1.0; self.count()]);
        x.push(f64::from(flesh.damping_rate_per_s).max(RATES_PER_S[0]).ln());
        x
    }

    fn parameters(&self, x: &[f64]) -> Parameters {
        let count = self.count();
        let moduli: Vec<f64> = x[..count].iter().map(|x| x.exp()).collect();
        let mut parameters = self.base.clone();
        for (modulus, row) in parameters.young_modulus_pa.iter_mut().zip(self.modulus_basis.chunks_exact(count)) {
            *modulus = row.iter().zip(&moduli).map(|(a, b)| a * b).sum::<f64>().max(1.0);
        }
        for node in 0..self.model.free_count {
            parameters.ties_n_per_m[node] = self.masses[node] * TIE_PER_S2 * tie(self.depth(node, x)).0;
        }
        parameters.damping_rate_per_s = x[2 * count].exp();
        parameters
    }

    /// Relative distance d of a node.
    fn depth(&self, node: usize, x: &[f64]) -> f64 {
        let count = self.count();
        let row = &self.depth_basis[node * count..][..count];
        self.threshold[node] + row.iter().zip(&x[count..2 * count]).map(|(a, b)| a * b).sum::<f64>()
    }

    /// Loss in mm² and its gradient.
    fn evaluate(&self, x: &[f64]) -> (f64, Vec<f64>) {
        let (count, parameters) = (self.count(), self.parameters(x));
        let solve = SolveOptions { tolerance: 1e-4, max_iterations: 200 };
        let options = TrajectoryOptions { solve, ..TrajectoryOptions::default() };
        let of = |sequence: &Sequence| -> (f64, Gradient) {
            let frames = sequence.targets.len() * self.sequences.len();
            let scale = 1e6 / (frames * self.observed.len()).max(1) as f64;
            let loss = |frame: usize, positions: &[DVec3], derivatives: &mut [DVec3]| {
                let mut total = 0.0;
                for (attachment, target) in self.observed.iter().zip(&sequence.targets[frame]) {
                    let difference = attachment.position(positions) - *target;
                    total += 0.5 * scale * difference.length_squared();
                    attachment.add_gradient(difference * scale, derivatives);
                }
                total
            };
            gradient(&self.model, &parameters, &sequence.clip, &loss, &options)
        };
        let found: Vec<(f64, Gradient)> = self.sequences.par_iter().map(of).collect();
        let mut value = 0.0;
        let mut result = vec![0.0; x.len()];
        for (loss, gradient) in &found {
            value += loss;
            for (row, of_node) in self.modulus_basis.chunks_exact(count).zip(&gradient.young_modulus_pa) {
                result[..count].iter_mut().zip(row).for_each(|(sum, weight)| *sum += weight * of_node);
            }
            for node in 0..self.model.free_count {
                let slope = gradient.ties[node] * self.masses[node] * TIE_PER_S2 * tie(self.depth(node, x)).1;
                let row = &self.depth_basis[node * count..][..count];
                result[count..2 * count].iter_mut().zip(row).for_each(|(sum, weight)| *sum += weight * slope);
            }
            result[2 * count] += gradient.damping_rate_per_s * parameters.damping_rate_per_s;
        }
        let mean = x[..count].iter().sum::<f64>() / count as f64;
        for k in 0..count {
            result[k] *= x[k].exp();
            value += 0.5 * MODULUS_PRIOR * (x[k] - mean).powi(2) / count as f64;
            result[k] += MODULUS_PRIOR * (x[k] - mean) / count as f64;
            value += 0.5 * DEPTH_PRIOR * (x[count + k] - 1.0).powi(2) / count as f64;
            result[count + k] += DEPTH_PRIOR * (x[count + k] - 1.0) / count as f64;
        }
        (value, result)
    }

    /// The flesh of the skin, and the modulus at each representative point.
    fn flesh(&self, x: &[f64], before: &Flesh) -> (Flesh, Vec<f64>) {
        let count = self.count();
        let moduli: Vec<f64> = x[..count].iter().map(|x| x.exp()).collect();
        let spread = |point: usize, values: &[f64]| -> f64 {
            self.spread[point * count..][..count].iter().zip(values).map(|(a, b)| a * b).sum()
        };
        let points = before.thickness.len();
        let young: Vec<f32> = (0..points).map(|point| spread(point, &moduli) as f32).collect();
        let depth = |point: usize| {
            let beyond = (f64::from(before.thickness[point]) - THRESHOLD).max(0.0);
            (THRESHOLD + beyond * spread(point, &x[count..2 * count])) as f32
        };
        let at_points = self.representative.iter().map(|&p| f64::from(young[p as usize])).collect();
        let flesh = Flesh {
            thickness: (0..points).map(depth).collect(),
            young_modulus_pa: young,
            damping_rate_per_s: x[2 * count].exp() as f32,
            ..before.clone()
        };
        (flesh, at_points)
    }
}

/// Stiffness of a tie relative to the full one at relative distance d, and its derivative.
fn tie(d: f64) -> (f64, f64) {
    let t = ((THRESHOLD + BOUNDARY - d) / (2.0 * BOUNDARY)).clamp(0.0, 1.0);
    let slope = if t > 0.0 && t < 1.0 { -4.0 * t.powi(3) / (2.0 * BOUNDARY) } else { 0.0 };
    (t.powi(4), slope)
}

/// Observed points as combinations of nodes of the model.
fn attachments(coarse: &LayeredBody, model: &FitModel, points: &[u32]) -> Vec<Attachment> {
    let mut index = vec![None; coarse.parts().tets.nodes().len()];
    model.nodes.iter().enumerate().for_each(|(at, &node)| index[node as usize] = Some(at as u32));
    let of = |&point: &u32| {
        let weights: Vec<(u32, f64)> = match &coarse.parts().binding {
            SkinBinding::Nodes => vec![(point, 1.0)],
            SkinBinding::Embedded(embeddings) => {
                let embedding = &embeddings[point as usize];
                let corners = coarse.parts().tets.tetrahedra()[embedding.tetrahedron as usize];
                corners.into_iter().zip(embedding.weights.map(f64::from)).collect()
            }
        };
        // Nodes outside the model follow the pose: their displacement from it is zero.
        Attachment { weights: weights.iter().filter_map(|&(node, w)| index[node as usize].map(|at| (at, w))).collect() }
    };
    points.iter().map(of).collect()
}

fn sequence(
    coarse: &LayeredBody,
    model: &FitModel,
    scan: &Scan,
    poses: &[BodyPose],
    points: &[u32],
    observed: &[Attachment],
    options: &SubjectOptions,
) -> Result<Sequence, SubjectError> {
    let parts = coarse.parts();
    let nodes = parts.volume.of_points(&model.nodes);
    let skin = parts.body.of_points(points);
    let frames = scan.frames.len().min(options.max_frames).min(poses.len());
    let (mut driven, mut ties, mut targets) = (Vec::new(), Vec::new(), Vec::new());
    let mut all_posed: Vec<Vec<DVec3>> = Vec::with_capacity(frames);
    for (pose, frame) in poses.iter().zip(&scan.frames).take(frames) {
        let posed: Vec<DVec3> = nodes.pose(&[], pose)?.points.iter().map(|p| p.as_dvec3()).collect();
        let posed_skin = skin.pose(&[], pose)?.points;
        let target = |((attachment, &point), posed_at): ((&Attachment, &u32), &Vec3)| {
            attachment.position(&posed) + (frame[point as usize] - *posed_at).as_dvec3()
        };
        targets.push(observed.iter().zip(points).zip(&posed_skin).map(target).collect());
        ties.push(posed[..model.free_count].to_vec());
        driven.push(posed[model.free_count..].to_vec());
        all_posed.push(posed);
    }
    let frame_s = 1.0 / scan.frame_rate_hz;
    let launch = match &all_posed[..] {
        [first, second, ..] => first.iter().zip(second).map(|(a, b)| (*b - *a) / frame_s).collect(),
        _ => Vec::new(),
    };
    let up = match parts.up {
        UpAxis::X => DVec3::X,
        UpAxis::Y => DVec3::Y,
        UpAxis::Z => DVec3::Z,
    };
    let start = State { positions: all_posed[0].clone(), velocities: vec![DVec3::ZERO; model.nodes.len()] };
    let clip = Clip {
        frame_s,
        substeps: options.substeps,
        driven,
        ties,
        start,
        launch,
        settling_steps: SETTLING_STEPS,
        gravity: up * -f64::from(EARTH_GRAVITY),
        loads: Vec::new(),
    };
    Ok(Sequence { clip, targets })
}

/// Farthest-point sampling of `count` of the `candidates`.
fn farthest_points(points: &[Vec3], candidates: &[u32], count: usize) -> Vec<u32> {
    let mut chosen: Vec<u32> = candidates.first().copied().into_iter().collect();
    let mut distances: Vec<f32> = vec![f32::MAX; candidates.len()];
    while let Some(&last) = chosen.last().filter(|_| chosen.len() < count.min(candidates.len())) {
        for (distance, &candidate) in distances.iter_mut().zip(candidates) {
            *distance = distance.min(points[candidate as usize].distance_squared(points[last as usize]));
        }
        let farthest = (0..candidates.len()).fold(0, |best, k| if distances[k] > distances[best] { k } else { best });
        chosen.push(candidates[farthest]);
    }
    chosen
}

/// Normalized Gaussian weights of the representative points at every point; their width is the mean spacing.
fn spread(points: &[Vec3], representative: &[u32]) -> Vec<f64> {
    let at = |&p: &u32| points[p as usize];
    let nearest = |p: &u32| {
        let others = representative.iter().filter(|other| *other != p);
        f64::from(others.map(|other| at(other).distance(at(p))).fold(f32::MAX, f32::min))
    };
    let spacing = representative.iter().map(nearest).sum::<f64>() / representative.len().max(1) as f64;
    let width = 2.0 * (0.6 * spacing).powi(2);
    let row = |point: &Vec3| -> Vec<f64> {
        let squared: Vec<f64> = representative.iter().map(|p| f64::from(at(p).distance_squared(*point))).collect();
        let least = squared.iter().copied().fold(f64::MAX, f64::min);
        let weights: Vec<f64> = squared.iter().map(|d| (-(d - least) / width).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| w / sum).collect()
    };
    points.iter().flat_map(row).collect()
}
