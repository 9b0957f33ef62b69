//! State of a fit as named arrays of numbers, so that a stored fit continues with bitwise identical results.

use std::collections::BTreeMap;

use dermis_math::lbfgs::Lbfgs;

use super::{CurvePoint, Method, SubjectOptions};
use crate::fit::scans::Scan;
use crate::layered::{Flesh, LayeredBody};

/// State of a fit after an iteration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FitState {
    /// Arrays by name.
    pub arrays: BTreeMap<String, Vec<f64>>,
}

impl FitState {
    /// The state before the first iteration.
    pub(super) fn new(body: &LayeredBody, scans: &[Scan], options: &SubjectOptions) -> Self {
        let mut state = Self::default();
        state.arrays.insert("fit".to_owned(), vec![fingerprint(body, scans, options)]);
        state
    }

    /// Returns true if `other` belongs to the same scans and options.
    pub(super) fn is_of_same_fit(&self, other: &Self) -> bool {
        self.arrays.get("fit") == other.arrays.get("fit")
    }

    pub(super) fn set(&mut self, name: &str, values: Vec<f64>) {
        self.arrays.insert(name.to_owned(), values);
    }

    pub(super) fn get(&self, name: &str) -> Option<&[f64]> {
        self.arrays.get(name).map(Vec::as_slice)
    }

    pub(super) fn set_flesh(&mut self, name: &str, flesh: &Flesh) {
        let numbers = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect();
        self.set(&format!("{name}.thickness"), numbers(&flesh.thickness));
        self.set(&format!("{name}.moduli"), numbers(&flesh.young_modulus_pa));
        let scalars = [flesh.poisson_ratio, flesh.density_kg_per_m3, flesh.damping_rate_per_s];
        self.set(&format!("{name}.scalars"), numbers(&scalars));
    }

    pub(super) fn flesh(&self, name: &str) -> Option<Flesh> {
        let numbers = |part: &str| -> Option<Vec<f32>> {
            Some(self.get(&format!("{name}.{part}"))?.iter().map(|&value| value as f32).collect())
        };
        let (thickness, young_modulus_pa) = (numbers("thickness")?, numbers("moduli")?);
        let [poisson_ratio, density_kg_per_m3, damping_rate_per_s] = numbers("scalars")?[..] else { return None };
        Some(Flesh { thickness, young_modulus_pa, poisson_ratio, density_kg_per_m3, damping_rate_per_s })
    }

    pub(super) fn set_minimization(&mut self, name: &str, of: &Lbfgs, converged: bool) {
        let counts = [of.iterations as f64, of.evaluations as f64, of.value, f64::from(u8::from(converged))];
        self.set(&format!("{name}.counts"), counts.to_vec());
        self.set(&format!("{name}.x"), of.x.clone());
        self.set(&format!("{name}.gradient"), of.gradient.clone());
        self.set(&format!("{name}.steps"), of.steps.concat());
        self.set(&format!("{name}.changes"), of.changes.concat());
    }

    pub(super) fn minimization(&self, name: &str) -> Option<Lbfgs> {
        let part = |part: &str| self.get(&format!("{name}.{part}")).map(<[f64]>::to_vec);
        let [iterations, evaluations, value, _] = part("counts")?[..] else { return None };
        let (x, gradient) = (part("x")?, part("gradient")?);
        let rows = |all: Vec<f64>| all.chunks_exact(x.len().max(1)).map(<[f64]>::to_vec).collect::<Vec<_>>();
        let (steps, changes) = (rows(part("steps")?), rows(part("changes")?));
        if gradient.len() != x.len() || steps.len() != changes.len() {
            return None;
        }
        let (iterations, evaluations) = (iterations as usize, evaluations as usize);
        Some(Lbfgs { x, value, gradient, iterations, evaluations, steps, changes })
    }

    pub(super) fn has_converged(&self, name: &str) -> bool {
        self.get(&format!("{name}.counts")).is_some_and(|counts| counts.get(3) == Some(&1.0))
    }

    pub(super) fn push_loss(&mut self, value: f64) {
        self.arrays.entry("losses".to_owned()).or_default().push(value);
    }

    pub(super) fn losses(&self) -> Vec<f64> {
        self.get("losses").unwrap_or_default().to_vec()
    }

    pub(super) fn push_curve(&mut self, point: CurvePoint) {
        let numbers = self.arrays.entry("curves".to_owned()).or_default();
        numbers.extend(point.numbers());
    }

    pub(super) fn curves(&self) -> Vec<CurvePoint> {
        self.get("curves").unwrap_or_default().chunks_exact(CurvePoint::WIDTH).map(CurvePoint::of_numbers).collect()
    }

    /// Iterations of all minimizations, or of Algorithm 1.
    pub(super) fn iterations(&self) -> usize {
        let of = |name: &str| self.get(name).and_then(|counts| counts.first()).copied().unwrap_or(0.0);
        (of("smooth.counts") + of("sharp.counts") + of("paper.counts")) as usize
    }
}

/// Hash of all inputs of a fit (FNV-1a, 1991), exactly representable as a double.
fn fingerprint(body: &LayeredBody, scans: &[Scan], options: &SubjectOptions) -> f64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bits: u64| hash = (hash ^ bits).wrapping_mul(0x0000_0100_0000_01b3);
    add(u64::from(options.method == Method::Paper));
    for byte in format!("{options:?}").bytes() {
        add(u64::from(byte));
    }
    for point in body.body().mesh().points().iter().chain(scans.iter().flat_map(|scan| scan.frames.iter().flatten())) {
        point.to_array().iter().for_each(|value| add(u64::from(value.to_bits())));
    }
    for value in body.flesh().thickness.iter().chain(&body.flesh().young_modulus_pa) {
        add(u64::from(value.to_bits()));
    }
    (hash >> 12) as f64
}
