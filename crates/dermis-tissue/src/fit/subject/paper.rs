//! The method of the paper: Algorithms 1 and 2 (Kim et al. 2017, §5.2–5.5).
//!
//! Algorithm 1 alternates between the layer field, the rest shape, the moduli at representative points, and a grid search
//! for damping and Poisson's ratio. Notation: `d|S` is `thickness`, η [`LAYER_STEP`], ε₁ and ε₂ [`ERROR_M`] and
//! [`CHANGE_M`], `C_i` `clusters`, γ [`GAIN_PA_PER_M`].
//!
//! Deviations: the initialization sweep runs in the first iteration only, because later ones would discard the moduli
//! found before; steps of moduli are limited to the 0.15 kPa that the paper reports; the best moduli are kept. Damping c
//! is a factor per step of the simulation and stored as the rate −ln c/Δt.

use super::representatives::Representatives;
use super::{RestReport, RestShape, SubjectError, Work, report, rest};
use crate::layered::{Flesh, LayeredBody, STEP_S};
use crate::layers::{NodeRole, SmoothOptions, THRESHOLD, smooth};

/// Initial modulus, Poisson's ratio and damping factor.
const START_PA: f32 = 2e3;
const START_POISSON: f32 = 0.3;
const START_DAMPING: f64 = 0.99;
/// Increase η of the layer field per step of Algorithm 2, and its largest value.
const LAYER_STEP: f64 = 0.1;
const MAX_LAYER: f64 = 2.0;
/// Error ε₁, and change ε₂ of the error, below which a point has converged, in metres.
const ERROR_M: f64 = 5e-4;
const CHANGE_M: f64 = 2e-5;
/// Maximum number of steps of Algorithm 2.
const MAX_LAYER_STEPS: usize = 12;
/// Uniform moduli of the initialization: first, last and interval, in pascals.
const SWEEP_PA: [f64; 3] = [1e3, 4e3, 500.0];
/// Gain γ and largest step of the update rule.
const GAIN_PA_PER_M: f64 = 30_000.0;
const MAX_UPDATE_PA: f64 = 150.0;
/// Bounds of the moduli in pascals.
const MODULI_PA: [f64; 2] = [100.0, 7e3];
/// Maximum number of steps of the update rule, and number of steps without improvement after which it ends.
const MAX_UPDATES: usize = 12;
const PATIENCE: usize = 3;
/// Damping factors and Poisson's ratios of the grid search: first, last and interval.
const DAMPINGS: [f64; 3] = [0.98, 0.998, 0.002];
const POISSONS: [f64; 3] = [0.2, 0.4, 0.02];
/// Relative change of the deviation at which Algorithm 1 has converged.
const CONVERGED: f64 = 0.01;
/// Largest distance of a point from its mirror image, relative to the size of the body.
const MIRROR_DISTANCE: f64 = 0.01;

/// Step after which a point of a curve is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CurveStep {
    /// Algorithm 2.
    Layers,
    /// Initialization of the moduli.
    Initialization,
    /// One step of the update rule.
    Update,
    /// Grid search for damping and Poisson's ratio.
    Search,
}

/// A point of the curves of Figures 8 and 9.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Iteration of Algorithm 1, from 1.
    pub iteration: usize,
    /// Step after which it is measured.
    pub step: CurveStep,
    /// Mean amplitude deviation (Eq. 20) over the training sequences, in metres.
    pub deviation_m: f64,
    /// Mean modulus at the representative points, in pascals.
    pub mean_modulus_pa: f64,
    /// Number of free nodes.
    pub fem_nodes: usize,
}

impl CurvePoint {
    /// Number of values of a stored point.
    pub(super) const WIDTH: usize = 5;

    pub(super) fn numbers(self) -> [f64; Self::WIDTH] {
        let [iteration, step, nodes] = [self.iteration, self.step as usize, self.fem_nodes].map(|number| number as f64);
        [iteration, step, self.deviation_m, self.mean_modulus_pa, nodes]
    }

    pub(super) fn of_numbers(numbers: &[f64]) -> Self {
        let steps = [CurveStep::Layers, CurveStep::Initialization, CurveStep::Update, CurveStep::Search];
        Self {
            iteration: numbers[0] as usize,
            step: steps[(numbers[1] as usize).min(3)],
            deviation_m: numbers[2],
            mean_modulus_pa: numbers[3],
            fem_nodes: numbers[4] as usize,
        }
    }
}

/// Phases of an iteration of Algorithm 1, in order.
const LAYERS: usize = 0;
const MODULI: usize = 1;
const PHASES: usize = 3;

fn grid([first, last, interval]: [f64; 3]) -> impl Iterator<Item = f64> {
    let count = ((last - first) / interval).round() as usize;
    (0..=count).map(move |k| first + interval * k as f64)
}

fn rate_of(damping: f64) -> f32 {
    (-damping.ln() / STEP_S) as f32
}

impl Work<'_> {
    /// Algorithm 1.
    pub(super) fn paper(&mut self) -> Result<(Representatives, Option<RestReport>), SubjectError> {
        let original = self.body.clone();
        let pinned = original.end_effectors();
        let unpinned = (0..pinned.len() as u32).filter(|&point| !pinned[point as usize]).collect();
        let representatives = Representatives::among(&original, unpinned, self.options)?;
        let points = original.body().point_count();
        let mut moduli = vec![f64::from(START_PA); representatives.count()];
        let mut flesh = Flesh {
            thickness: vec![THRESHOLD as f32; points],
            young_modulus_pa: vec![START_PA; points],
            poisson_ratio: START_POISSON,
            damping_rate_per_s: rate_of(START_DAMPING),
            ..original.flesh().clone()
        };
        let mut counts = [0, 0];
        let mut rest = None;
        if let (Some(&[iteration, phase, converged]), Some(stored), Some(values)) =
            (self.state.get("paper.counts"), self.state.flesh("paper"), self.state.get("paper.representatives"))
        {
            (counts, flesh, moduli) = ([iteration as usize, phase as usize], stored, values.to_vec());
            if let Some(sagging) = self.state.flesh("paper.rest") {
                rest = self.unsag(&original, &sagging)?;
            }
            if converged == 1.0 {
                counts = [self.options.iterations(), 0];
            }
        }
        let mut before = self.state.curves().iter().rev().find(|p| p.step == CurveStep::Search).map(|p| p.deviation_m);
        while counts[0] < self.options.iterations() {
            let [iteration, phase] = counts;
            let mut converged = false;
            match phase {
                LAYERS => {
                    flesh = self.layers(flesh, &pinned, iteration, &moduli)?;
                    rest = self.unsag(&original, &flesh)?;
                    self.state.set_flesh("paper.rest", &flesh);
                }
                MODULI => flesh = self.moduli(flesh, &mut moduli, &representatives, iteration)?,
                _ => {
                    let (found, deviation) = self.search(flesh, iteration, &moduli)?;
                    flesh = found;
                    converged = before.is_some_and(|before: f64| (before - deviation).abs() < CONVERGED * before);
                    before = Some(deviation);
                    rest = self.unsag(&original, &flesh)?;
                    self.state.set_flesh("paper.rest", &flesh);
                }
            }
            counts = if phase + 1 == PHASES { [iteration + 1, LAYERS] } else { [iteration, phase + 1] };
            let [iterations, phases] = counts.map(|count| count as f64);
            self.state.set("paper.counts", vec![iterations, phases, f64::from(u8::from(converged))]);
            self.state.set("paper.representatives", moduli.clone());
            self.state.set_flesh("paper", &flesh);
            (self.checkpoint)(&self.state);
            if converged {
                break;
            }
        }
        self.body.set_flesh(flesh)?;
        Ok((representatives, rest))
    }

    /// Replaces the body by the original with the rest shape for `flesh` (§5.3).
    fn unsag(&mut self, original: &LayeredBody, flesh: &Flesh) -> Result<Option<RestReport>, SubjectError> {
        let mut body = original.clone();
        body.set_flesh(flesh.clone())?;
        let method = self.options.rest_shape();
        let has_layer = body.layers().roles.contains(&NodeRole::Free);
        let Some(standing) = self.at_rest.as_ref().filter(|_| has_layer && method != RestShape::Unchanged) else {
            self.body = body;
            return Ok(None);
        };
        let (body, found) = rest::corrected(&body, standing, method, self.progress)?;
        self.body = body;
        Ok(found)
    }

    /// Algorithm 2.
    fn layers(
        &mut self,
        mut flesh: Flesh,
        pinned: &[bool],
        iteration: usize,
        moduli: &[f64],
    ) -> Result<Flesh, SubjectError> {
        let (points, triangles) =
            (self.body.body().mesh().points().to_vec(), self.body.body().mesh().triangles().to_vec());
        let mirrored = if self.options.symmetric { mirror_points(&self.body) } else { Vec::new() };
        let smoothing = SmoothOptions { delta: 0.5, rounds: 1 };
        let mut depths = vec![THRESHOLD; points.len()]; // line 1
        let mut finished = pinned.to_vec(); // line 2
        let mut previous: Option<Vec<f64>> = None;
        let mut best: Option<(f64, Vec<f32>)> = None;
        for step in 0..MAX_LAYER_STEPS {
            report(self.progress, "Algorithm 2: layers", step, MAX_LAYER_STEPS)?;
            depths = smooth(&points, &triangles, &depths, pinned, &smoothing); // line 4
            flesh.thickness = depths.iter().map(|&depth| depth as f32).collect();
            self.body.set_flesh(flesh.clone())?; // line 5
            let is_simulated = self.body.layers().roles.contains(&NodeRole::Free);
            let found = if is_simulated {
                self.training.amplitudes(&self.body)? // line 6
            } else {
                self.training.at_rest()
            };
            let deviation = self.training.deviation(&found);
            // Moduli require flesh: a body without flesh is not a valid result.
            if is_simulated && best.as_ref().is_none_or(|(least, _)| deviation < *least) {
                best = Some((deviation, flesh.thickness.clone()));
            }
            let mut errors = self.training.errors(&found); // line 7
            if !mirrored.is_empty() {
                errors = (0..errors.len()).map(|point| 0.5 * (errors[point] + errors[mirrored[point]])).collect();
            }
            for (point, error) in errors.iter().enumerate().filter(|(point, _)| !pinned[*point]) {
                let change = previous.as_ref().map_or(f64::INFINITY, |before| (before[point] - error).abs());
                if *error < ERROR_M || change < CHANGE_M {
                    finished[point] = true; // line 8
                } else if !finished[point] {
                    depths[point] = (depths[point] + LAYER_STEP).min(MAX_LAYER); // line 9
                }
            }
            if finished.iter().all(|&finished| finished) {
                break;
            }
            previous = Some(errors); // line 12
        }
        if let Some((deviation, thickness)) = best {
            flesh.thickness = thickness;
            self.body.set_flesh(flesh.clone())?;
            self.push(iteration, CurveStep::Layers, deviation, moduli);
        }
        Ok(flesh)
    }

    /// Initialization sweep and update rule of the moduli (§5.5).
    fn moduli(
        &mut self,
        mut flesh: Flesh,
        moduli: &mut Vec<f64>,
        representatives: &Representatives,
        iteration: usize,
    ) -> Result<Flesh, SubjectError> {
        let (clusters, count) = (representatives.clusters(), representatives.count());
        let set = |work: &mut Self, flesh: &mut Flesh, moduli: &[f64]| -> Result<Vec<Vec<f64>>, SubjectError> {
            let value = |point: usize| representatives.at(point, moduli) as f32;
            flesh.young_modulus_pa = (0..clusters.len()).map(value).collect();
            work.body.set_flesh(flesh.clone())?;
            work.training.amplitudes(&work.body)
        };
        let of_clusters = |errors: &[f64], signed: bool| -> Vec<f64> {
            let mut sums = vec![0.0; count];
            for (&cluster, error) in clusters.iter().zip(errors) {
                sums[cluster] += if signed { *error } else { error.abs() }; // Eq. 21
            }
            sums
        };
        if iteration == 0 {
            let mut least = vec![f64::INFINITY; count];
            let tried: Vec<f64> = grid(SWEEP_PA).collect();
            for (index, &modulus) in tried.iter().enumerate() {
                report(self.progress, "initialization of the moduli", index, tried.len())?;
                let found = set(self, &mut flesh, &vec![modulus; count])?;
                for (cluster, error) in of_clusters(&self.training.errors(&found), false).into_iter().enumerate() {
                    if error < least[cluster] {
                        (least[cluster], moduli[cluster]) = (error, modulus);
                    }
                }
            }
        }
        let mut best = (f64::INFINITY, moduli.clone());
        let mut without = 0;
        for update in 0..=MAX_UPDATES {
            report(self.progress, "update of the moduli", update, MAX_UPDATES)?;
            let found = set(self, &mut flesh, moduli)?;
            let deviation = self.training.deviation(&found);
            let step = if update == 0 && iteration == 0 { CurveStep::Initialization } else { CurveStep::Update };
            self.push(iteration, step, deviation, moduli);
            without += 1;
            if deviation < best.0 {
                (best, without) = ((deviation, moduli.clone()), 0);
            }
            if without >= PATIENCE {
                break;
            }
            let errors = of_clusters(&self.training.errors(&found), true);
            for (modulus, error) in moduli.iter_mut().zip(errors) {
                let step = (GAIN_PA_PER_M * error).clamp(-MAX_UPDATE_PA, MAX_UPDATE_PA);
                *modulus = (*modulus - step).clamp(MODULI_PA[0], MODULI_PA[1]);
            }
        }
        *moduli = best.1;
        let value = |point: usize| representatives.at(point, moduli) as f32;
        flesh.young_modulus_pa = (0..clusters.len()).map(value).collect();
        Ok(flesh)
    }

    /// Grid search for damping and Poisson's ratio; also returns the deviation.
    fn search(&mut self, flesh: Flesh, iteration: usize, moduli: &[f64]) -> Result<(Flesh, f64), SubjectError> {
        let dampings = grid(DAMPINGS).map(|c| (Some(rate_of(c)), None));
        let poissons = grid(POISSONS).map(|nu| (None, Some(nu as f32)));
        let tried: Vec<(Option<f32>, Option<f32>)> = dampings.chain(poissons).collect();
        self.body.set_flesh(flesh.clone())?;
        let mut best = (self.training.measure(&self.body), flesh);
        for (index, &(rate, nu)) in tried.iter().enumerate() {
            report(self.progress, "search for damping and Poisson's ratio", index, tried.len())?;
            let mut next = best.1.clone();
            next.damping_rate_per_s = rate.unwrap_or(next.damping_rate_per_s);
            next.poisson_ratio = nu.unwrap_or(next.poisson_ratio);
            self.body.set_flesh(next.clone())?;
            let deviation = self.training.measure(&self.body);
            if deviation < best.0 {
                best = (deviation, next);
            }
        }
        let (deviation, flesh) = best;
        self.body.set_flesh(flesh.clone())?;
        self.push(iteration, CurveStep::Search, deviation, moduli);
        Ok((flesh, deviation))
    }

    fn push(&mut self, iteration: usize, step: CurveStep, deviation_m: f64, moduli: &[f64]) {
        let mean_modulus_pa = moduli.iter().sum::<f64>() / moduli.len().max(1) as f64;
        let fem_nodes = self.body.layers().count(NodeRole::Free);
        self.state.push_curve(CurvePoint { iteration: iteration + 1, step, deviation_m, mean_modulus_pa, fem_nodes });
    }
}

/// Mirror image of each point across the plane x = 0; points without one are mapped to themselves.
fn mirror_points(body: &LayeredBody) -> Vec<usize> {
    let mesh = body.body().mesh();
    let limit = (MIRROR_DISTANCE * f64::from(mesh.diagonal())) as f32;
    let mirror = |(point, at): (usize, &glam::Vec3)| {
        let image = glam::Vec3::new(-at.x, at.y, at.z);
        let nearest = crate::fit::locate::nearest_point(mesh.points(), image) as usize;
        if mesh.points()[nearest].distance(image) < limit { nearest } else { point }
    };
    mesh.points().iter().enumerate().map(mirror).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_round_trip_through_storage_and_grids_include_their_ends() {
        let point = CurvePoint {
            iteration: 2,
            step: CurveStep::Update,
            deviation_m: 3.25,
            mean_modulus_pa: 2100.0,
            fem_nodes: 77,
        };
        assert_eq!(CurvePoint::of_numbers(&point.numbers()), point);
        let found: Vec<f64> = grid(DAMPINGS).collect();
        assert_eq!((found.len(), grid(POISSONS).count(), grid(SWEEP_PA).count()), (10, 11, 7));
        assert!((found[9] - 0.998).abs() < 1e-12);
    }
}
