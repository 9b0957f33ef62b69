//! The minimization problem of a subject: variables, loss and adjoint gradient on the tetrahedra of the body.
//!
//! Variables are, at representative points of the skin, the logarithm of Young's modulus and a factor on the depth of the
//! layer beyond σ, and the logarithm of the damping rate. The loss is the mean squared distance of the simulated skin
//! from the scans, with weak priors: moduli close to their mean, depths close to those of the start.
//!
//! A node is free or driven by a threshold, which has no derivative. While depths are variables, nodes near the boundary
//! are tied to their posed positions instead, with a stiffness that falls smoothly to zero as d rises from σ − w to
//! σ + w ([`Boundary::Smooth`]). Moduli and damping are then refined on exactly the simulated elements
//! ([`Boundary::Sharp`]).

use dermis_body::BodyPose;
use dermis_math::lbfgs::Bounds;
use dermis_mesh::UpAxis;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use super::representatives::Representatives;
use super::{SubjectError, SubjectOptions};
use crate::dynamics::EARTH_GRAVITY;
use crate::fit::model::{Attachment, FitModel, Order};
use crate::fit::parameters::{Gradient, Parameters};
use crate::fit::scans::Scan;
use crate::fit::step::{SolveOptions, State};
use crate::fit::trajectory::{Clip, TrajectoryOptions, gradient};
use crate::layered::{Flesh, LayeredBody, LayeredError, SkinBinding, steps_in, unfolded};
use crate::layers::{NodeRole, THRESHOLD};

/// Half width w of the boundary of the layer, in units of d.
const BOUNDARY: f64 = 0.06;
/// Squared angular frequency of a full tie, per second squared. At d = σ the tie is 1/16 of that, which still exceeds the
/// elastic coupling of a node to its neighbours (E/ρh², about 1e4); weaker ties would thicken the layer.
const TIE_PER_S2: f64 = 1e6;
/// Range of moduli in pascals.
const MODULI_PA: [f64; 2] = [100.0, 6e4];
/// Range of factors on the depth of the layer.
const DEPTHS: [f64; 2] = [0.4, 1.7];
/// Range of damping rates, per second.
const RATES_PER_S: [f64; 2] = [0.1, 40.0];
/// Weights of the priors, in mm².
const MODULUS_PRIOR: f64 = 0.05;
const DEPTH_PRIOR: f64 = 0.6;
/// Settling steps before a sequence.
const SETTLING_STEPS: usize = 12;
/// Maximum number of observed points of the skin.
const OBSERVED: usize = 900;
/// Residual of the linear solves.
const TOLERANCE: f64 = 1e-3;

/// Boundary between the posed inside and the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    /// Ties that depend smoothly on the depth, which is variable.
    Smooth,
    /// Free and driven nodes of the simulated body; the depth is fixed.
    Sharp,
}

/// A training sequence: motion of the nodes and displacement of observed points from their posed positions.
struct Sequence {
    clip: Clip,
    /// Posed positions of the observed points plus their scanned displacement.
    targets: Vec<Vec<DVec3>>,
}

/// Depth of the layer at the nodes, as a function of the variables.
struct Depths {
    /// Extension of the weights times the depth beyond σ, in rows per node.
    basis: Vec<f64>,
    /// Extension of σ.
    threshold: Vec<f64>,
}

/// The minimization problem of a subject.
pub(super) struct Problem<'a> {
    representatives: &'a Representatives,
    model: FitModel,
    base: Parameters,
    masses: Vec<f64>,
    /// Extension of the weights to the nodes of the model, as moduli, in rows per node.
    moduli: Vec<f64>,
    depths: Option<Depths>,
    observed: Vec<Attachment>,
    sequences: Vec<Sequence>,
}

impl<'a> Problem<'a> {
    pub(super) fn new(
        body: &LayeredBody,
        scans: &[(&Scan, &[BodyPose])],
        representatives: &'a Representatives,
        boundary: Boundary,
        options: &SubjectOptions,
    ) -> Result<Self, SubjectError> {
        let (flesh, count, parts) = (body.flesh(), representatives.count(), body.parts());
        let all_moduli = body.extend_moduli(&representatives.spread, count);
        let (tets, _) = unfolded(&parts.tets, parts.tets.nodes())?;
        let mut all_depths = None;
        let free: Vec<bool> = match boundary {
            Boundary::Sharp => body.layers().roles.iter().map(|role| *role == NodeRole::Free).collect(),
            Boundary::Smooth => {
                let beyond =
                    |(k, weight): (usize, &f64)| weight * (f64::from(flesh.thickness[k / count]) - THRESHOLD).max(0.0);
                let beyond: Vec<f64> = representatives.spread.iter().enumerate().map(beyond).collect();
                let basis = body.extend_distance(&beyond, count);
                let threshold = body.extend_distance(&vec![THRESHOLD; flesh.thickness.len()], 1);
                let deepest =
                    |node: usize| threshold[node] + DEPTHS[1] * basis[node * count..][..count].iter().sum::<f64>();
                let free = (0..tets.nodes().len()).map(|node| deepest(node) > THRESHOLD + 1e-6).collect();
                all_depths = Some((basis, threshold));
                free
            }
        };
        let model = FitModel::new(&tets, &free, Order::Linear).map_err(LayeredError::from)?;
        let rows = |all: &[f64], width: usize| -> Vec<f64> {
            model.nodes.iter().flat_map(|&node| all[node as usize * width..][..width].iter().copied()).collect()
        };
        let moduli = rows(&all_moduli, count);
        let depths =
            all_depths.map(|(basis, threshold)| Depths { basis: rows(&basis, count), threshold: rows(&threshold, 1) });
        let mut base =
            Parameters::uniform(&model, 1e3, f64::from(flesh.poisson_ratio), f64::from(flesh.density_kg_per_m3));
        base.damping_rate_per_s = f64::from(flesh.damping_rate_per_s);
        let masses = base.prepare(&model).masses;
        let stride = representatives.soft.len().div_ceil(OBSERVED).max(1);
        let observed_points: Vec<u32> = representatives.soft.iter().copied().step_by(stride).collect();
        let observed = attachments(body, &model, &observed_points);
        let sequences: Vec<Sequence> = scans
            .par_iter()
            .map(|(scan, poses)| sequence(body, &model, scan, poses, &observed_points, &observed, options))
            .collect::<Result<_, _>>()?;
        Ok(Self { representatives, model, base, masses, moduli, depths, observed, sequences })
    }

    fn count(&self) -> usize {
        self.representatives.count()
    }

    pub(super) fn bounds(&self) -> Bounds {
        let of = |end: usize| {
            let mut bounds = vec![MODULI_PA[end].ln(); self.count()];
            if self.depths.is_some() {
                bounds.extend(vec![DEPTHS[end]; self.count()]);
            }
            bounds.push(RATES_PER_S[end].ln());
            bounds
        };
        Bounds { low: of(0), high: of(1) }
    }

    /// The variables that represent a flesh.
    pub(super) fn start(&self, flesh: &Flesh) -> Vec<f64> {
        let modulus = |&p: &u32| f64::from(flesh.young_modulus_pa[p as usize]).ln();
        let mut x: Vec<f64> = self.representatives.points.iter().map(modulus).collect();
        if self.depths.is_some() {
            x.extend(vec![1.0; self.count()]);
        }
        x.push(f64::from(flesh.damping_rate_per_s).max(RATES_PER_S[0]).ln());
        x
    }

    fn parameters(&self, x: &[f64]) -> Parameters {
        let count = self.count();
        let moduli: Vec<f64> = x[..count].iter().map(|x| x.exp()).collect();
        let mut parameters = self.base.clone();
        for (modulus, row) in parameters.young_modulus_pa.iter_mut().zip(self.moduli.chunks_exact(count)) {
            *modulus = row.iter().zip(&moduli).map(|(a, b)| a * b).sum::<f64>().max(1.0);
        }
        if let Some(depths) = &self.depths {
            for node in 0..self.model.free_count {
                let d = depths.at(node, &x[count..2 * count]);
                parameters.ties_n_per_m[node] = self.masses[node] * TIE_PER_S2 * tie(d).0;
            }
        }
        parameters.damping_rate_per_s = x[x.len() - 1].exp();
        parameters
    }

    /// Loss in mm² and its gradient.
    pub(super) fn evaluate(&self, x: &[f64]) -> (f64, Vec<f64>) {
        let (count, parameters) = (self.count(), self.parameters(x));
        let solve = SolveOptions { tolerance: TOLERANCE, max_iterations: 200 };
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
            for (row, of_node) in self.moduli.chunks_exact(count).zip(&gradient.young_modulus_pa) {
                result[..count].iter_mut().zip(row).for_each(|(sum, weight)| *sum += weight * of_node);
            }
            if let Some(depths) = &self.depths {
                for node in 0..self.model.free_count {
                    let d = depths.at(node, &x[count..2 * count]);
                    let slope = gradient.ties[node] * self.masses[node] * TIE_PER_S2 * tie(d).1;
                    let row = &depths.basis[node * count..][..count];
                    result[count..2 * count].iter_mut().zip(row).for_each(|(sum, weight)| *sum += weight * slope);
                }
            }
            result[x.len() - 1] += gradient.damping_rate_per_s * parameters.damping_rate_per_s;
        }
        let mean = x[..count].iter().sum::<f64>() / count as f64;
        for k in 0..count {
            result[k] *= x[k].exp();
            value += 0.5 * MODULUS_PRIOR * (x[k] - mean).powi(2) / count as f64;
            result[k] += MODULUS_PRIOR * (x[k] - mean) / count as f64;
            if self.depths.is_some() {
                value += 0.5 * DEPTH_PRIOR * (x[count + k] - 1.0).powi(2) / count as f64;
                result[count + k] += DEPTH_PRIOR * (x[count + k] - 1.0) / count as f64;
            }
        }
        (value, result)
    }

    /// The flesh of the variables; depths are relative to those of `before`.
    pub(super) fn flesh(&self, x: &[f64], before: &Flesh) -> Flesh {
        let (count, points) = (self.count(), before.thickness.len());
        let moduli: Vec<f64> = x[..count].iter().map(|x| x.exp()).collect();
        let depth = |point: usize| {
            let beyond = (f64::from(before.thickness[point]) - THRESHOLD).max(0.0);
            (THRESHOLD + beyond * self.representatives.at(point, &x[count..2 * count])) as f32
        };
        Flesh {
            thickness: match &self.depths {
                Some(_) => (0..points).map(depth).collect(),
                None => before.thickness.clone(),
            },
            young_modulus_pa: (0..points).map(|point| self.representatives.at(point, &moduli) as f32).collect(),
            damping_rate_per_s: x[x.len() - 1].exp() as f32,
            ..before.clone()
        }
    }
}

impl Depths {
    /// Relative depth d of a node.
    fn at(&self, node: usize, factors: &[f64]) -> f64 {
        let row = &self.basis[node * factors.len()..][..factors.len()];
        self.threshold[node] + row.iter().zip(factors).map(|(a, b)| a * b).sum::<f64>()
    }
}

/// Stiffness of a tie relative to the full one at relative depth d, and its derivative.
fn tie(d: f64) -> (f64, f64) {
    let t = ((THRESHOLD + BOUNDARY - d) / (2.0 * BOUNDARY)).clamp(0.0, 1.0);
    let slope = if t > 0.0 && t < 1.0 { -4.0 * t.powi(3) / (2.0 * BOUNDARY) } else { 0.0 };
    (t.powi(4), slope)
}

/// Observed points as combinations of nodes of the model.
fn attachments(body: &LayeredBody, model: &FitModel, points: &[u32]) -> Vec<Attachment> {
    let mut index = vec![None; body.parts().tets.nodes().len()];
    model.nodes.iter().enumerate().for_each(|(at, &node)| index[node as usize] = Some(at as u32));
    let of = |&point: &u32| {
        let weights: Vec<(u32, f64)> = match &body.parts().binding {
            SkinBinding::Nodes => vec![(point, 1.0)],
            SkinBinding::Embedded(embeddings) => {
                let embedding = &embeddings[point as usize];
                let corners = body.parts().tets.tetrahedra()[embedding.tetrahedron as usize];
                corners.into_iter().zip(embedding.weights.map(f64::from)).collect()
            }
        };
        // Nodes outside the model follow the pose: their displacement from it is zero.
        Attachment { weights: weights.iter().filter_map(|&(node, w)| index[node as usize].map(|at| (at, w))).collect() }
    };
    points.iter().map(of).collect()
}

fn sequence(
    body: &LayeredBody,
    model: &FitModel,
    scan: &Scan,
    poses: &[BodyPose],
    points: &[u32],
    observed: &[Attachment],
    options: &SubjectOptions,
) -> Result<Sequence, SubjectError> {
    let parts = body.parts();
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
        substeps: options.substeps.unwrap_or_else(|| steps_in(frame_s)),
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
