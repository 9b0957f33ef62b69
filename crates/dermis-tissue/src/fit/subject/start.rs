//! Start of a fit: a uniform modulus, the size of the layer and the damping that reproduce the mean amplitudes best.
//!
//! The minimization needs a start whose oscillation has about the same phase as in the scans. One-dimensional sweeps of
//! the fast simulation of the body find it: modulus, fraction of flesh in the layer, modulus again, damping. The
//! thickness of the given body is kept unless another fraction reproduces the scans clearly better.

use dermis_body::BodyPose;
use dermis_math::progress::Progress;
use rayon::prelude::*;

use super::track::{Unposer, simulated};
use super::{SubjectError, report};
use crate::fit::amplitude::deviation;
use crate::fit::scans::Scan;
use crate::layered::{Flesh, LayeredBody};
use crate::layers::FleshOptions;

/// Uniform moduli that are tried, in pascals.
const MODULI_PA: [f32; 7] = [1e3, 1.6e3, 2.5e3, 4e3, 6.3e3, 1e4, 1.6e4];
/// Factors on the modulus that are tried afterwards.
const FINER: [f32; 2] = [0.8, 1.25];
/// Fractions of the elements in the layer that are tried.
const FRACTIONS: [f64; 5] = [0.18, 0.24, 0.3, 0.36, 0.42];
/// Damping rates that are tried, per second.
const RATES_PER_S: [f32; 4] = [2.0, 4.5, 7.0, 11.0];
/// Deviation relative to that of the given thickness below which another one is used.
const CLEARLY_BETTER: f64 = 0.97;

/// Training sequences with their captured mean amplitudes.
pub(super) struct Training<'a> {
    pub(super) scans: Vec<(&'a Scan, &'a [BodyPose])>,
    unposers: Vec<Unposer>,
    /// Mean amplitude of each point of each scan.
    captured: Vec<&'a [f64]>,
}

impl<'a> Training<'a> {
    pub(super) fn new(
        body: &LayeredBody,
        scans: Vec<(&'a Scan, &'a [BodyPose])>,
        captured: Vec<&'a [f64]>,
    ) -> Result<Self, SubjectError> {
        let unposers = scans.iter().map(|(_, poses)| Unposer::new(body.body(), poses)).collect::<Result<_, _>>()?;
        Ok(Self { scans, unposers, captured })
    }

    /// Mean amplitudes of the simulated body in every training sequence; sequences are simulated in parallel.
    pub(super) fn amplitudes(&self, body: &LayeredBody) -> Result<Vec<Vec<f64>>, SubjectError> {
        let of = |((scan, poses), unposer): (&(&Scan, &[BodyPose]), &Unposer)| -> Result<Vec<f64>, SubjectError> {
            Ok(unposer.amplitudes(&simulated(body, poses, scan.frame_rate_hz)?))
        };
        self.scans.par_iter().zip(&self.unposers).map(of).collect()
    }

    /// Mean amplitude deviation (Eq. 20) of given amplitudes, summed over the sequences.
    pub(super) fn deviation(&self, found: &[Vec<f64>]) -> f64 {
        self.captured.iter().zip(found).map(|(captured, found)| deviation(captured, found)).sum()
    }

    /// Signed deviation of each point (Eq. 19), summed over the sequences.
    pub(super) fn errors(&self, found: &[Vec<f64>]) -> Vec<f64> {
        let points = self.captured.first().map_or(0, |captured| captured.len());
        let error = |point: usize| self.captured.iter().zip(found).map(|(c, f)| c[point] - f[point]).sum();
        (0..points).map(error).collect()
    }

    /// Amplitudes of a body without flesh.
    pub(super) fn at_rest(&self) -> Vec<Vec<f64>> {
        self.captured.iter().map(|captured| vec![0.0; captured.len()]).collect()
    }

    /// Deviation of a body; infinite if it cannot be simulated with this flesh.
    pub(super) fn measure(&self, body: &LayeredBody) -> f64 {
        self.amplitudes(body).map_or(f64::INFINITY, |found| self.deviation(&found))
    }
}

/// The flesh to start from.
pub(super) fn start(
    body: &LayeredBody,
    training: &Training<'_>,
    progress: &dyn Progress,
) -> Result<Flesh, SubjectError> {
    let total = MODULI_PA.len() + FRACTIONS.len() + FINER.len() + RATES_PER_S.len() + 1;
    let own = body.flesh().clone();
    let mut sweep =
        Sweep { body: body.clone(), training, progress, done: 0, total, best: (f64::INFINITY, own.clone()) };
    sweep.attempt(own.clone(), 1.0)?;
    for modulus in MODULI_PA {
        sweep.attempt(Flesh { young_modulus_pa: vec![modulus; own.thickness.len()], ..own.clone() }, 1.0)?;
    }
    let best = sweep.best.1.clone();
    for element_fraction in FRACTIONS {
        let options = FleshOptions { element_fraction, ..FleshOptions::default() };
        let thickness = body.thickness_by_flesh(&options)?;
        sweep.attempt(Flesh { thickness, ..best.clone() }, CLEARLY_BETTER)?;
    }
    let best = sweep.best.1.clone();
    for factor in FINER {
        let young_modulus_pa = best.young_modulus_pa.iter().map(|modulus| modulus * factor).collect();
        sweep.attempt(Flesh { young_modulus_pa, ..best.clone() }, 1.0)?;
    }
    let best = sweep.best.1.clone();
    for damping_rate_per_s in RATES_PER_S {
        sweep.attempt(Flesh { damping_rate_per_s, ..best.clone() }, 1.0)?;
    }
    Ok(sweep.best.1)
}

/// The best flesh of a sweep so far.
struct Sweep<'a> {
    body: LayeredBody,
    training: &'a Training<'a>,
    progress: &'a dyn Progress,
    done: usize,
    total: usize,
    best: (f64, Flesh),
}

impl Sweep<'_> {
    /// Measures `flesh` and keeps it if its deviation is below `factor` times the best one.
    fn attempt(&mut self, flesh: Flesh, factor: f64) -> Result<(), SubjectError> {
        report(self.progress, "sweeping the start", self.done, self.total)?;
        self.done += 1;
        self.body.set_flesh(flesh.clone())?;
        let found = self.training.measure(&self.body);
        if found < factor * self.best.0 {
            self.best = (found, flesh);
        }
        Ok(())
    }
}
