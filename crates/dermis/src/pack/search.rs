//! Choice of the precision of each kind of numbers.
//!
//! Quantization errors of different kinds of numbers are independent, so their squares add, and so do the bytes that
//! they save. Each kind is measured on its own over a ladder of precisions, with all others at their finest; the choice
//! is then the separable Lagrangian `min Σ bytes + λ Σ error²` (Shoham & Gersho 1988), with λ by bisection.

use std::collections::BTreeMap;

use dermis_io::{PackedGlb, Packing, pack_glb};
use dermis_math::progress::Progress;
use dermis_mesh::MeshSequence;
use rayon::prelude::*;

use super::reference::{PackedError, Reference};
use super::{PackBudget, PackOptions};
use crate::error::{PackError, Result};

/// Frames of each object that are evaluated while searching.
const SEARCH_FRAMES: usize = 12;
/// Range of the ratio of the error of a kind to the budget in which its ladder is measured.
const MEASURED: [f64; 2] = [0.04, 1.2];
/// Number of corrections of the budget after the chosen file is measured.
const MAX_TRIALS: usize = 6;
/// Fraction of the budget at which the search stops.
const USED: f64 = 0.97;
/// Number of kinds that are coarsened further if a file does not use its budget.
const MAX_FILLS: usize = 4;
/// Maximum distortion for a size limit, in percent.
const MAX_ERROR_PERCENT: f64 = 50.0;

/// Kinds of numbers with a precision of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Knob {
    Position,
    Weight,
    Translation,
    Rotation,
    Scale,
    ShapeWeight,
    Keys,
}

/// The search over the precisions of one asset.
pub(super) struct Search<'a> {
    glb: &'a [u8],
    recorded: Option<&'a MeshSequence>,
    progress: &'a dyn Progress,
    sampled: Reference,
    knobs: Vec<Knob>,
    finest: Packing,
    base: Trial,
    known: BTreeMap<(Knob, usize), Trial>,
}

/// Size and squared error of a trial.
#[derive(Debug, Clone, Copy)]
struct Trial {
    bytes: f64,
    square: f64,
    percent: f64,
}

/// The chosen file.
pub(super) struct Found {
    /// Level of each kind.
    levels: Vec<usize>,
    pub glb: Vec<u8>,
    pub json_bytes: usize,
    pub packing: Packing,
    pub error: PackedError,
}

impl<'a> Search<'a> {
    /// Prepares the search for the file `glb`, whose errors are relative to `recorded` frames if there are any.
    pub(super) fn new(
        glb: &'a [u8],
        recorded: Option<&'a MeshSequence>,
        options: &PackOptions,
        progress: &'a dyn Progress,
    ) -> Result<Self> {
        let sampled = Reference::new(glb, recorded, SEARCH_FRAMES)?;
        let mut knobs = vec![Knob::Position];
        if sampled.has_joints {
            knobs.push(Knob::Weight);
        }
        if sampled.has_joints && sampled.has_motion {
            knobs.extend([Knob::Translation, Knob::Rotation, Knob::Scale]);
        }
        if sampled.has_shapes && sampled.has_motion {
            knobs.push(Knob::ShapeWeight);
        }
        if sampled.has_motion {
            knobs.push(Knob::Keys);
        }
        let size = if sampled.diagonal > 0.0 { sampled.diagonal } else { 1.0 };
        let finest = Packing {
            position_step: size / f64::from(1 << 16),
            weight_bits: 16,
            translation_exponent: size.log2().floor() as i32 - 18,
            scale_exponent: -16,
            rotation_bits: 16,
            shape_weight_exponent: -16,
            key_tolerance: 0.0,
            normal_bits: 8,
            shape_normals: options.shape_normals,
            keep_order: options.keep_order,
        };
        let base = trial(glb, &finest, &sampled)?;
        Ok(Self { glb, recorded, progress, sampled, knobs, finest, base, known: BTreeMap::new() })
    }

    /// The smallest or most accurate file within `budget`.
    pub(super) fn run(&mut self, budget: PackBudget) -> Result<Found> {
        let full = Reference::new(self.glb, self.recorded, usize::MAX)?;
        match budget {
            PackBudget::Error(percent) => self.within_error(percent, &full),
            PackBudget::Size(bytes) => self.within_size(bytes, &full),
        }
    }

    fn within_error(&mut self, percent: f64, full: &Reference) -> Result<Found> {
        let mut target = percent;
        let mut best: Option<Found> = None;
        let mut reached = f64::INFINITY;
        for _ in 0..MAX_TRIALS {
            let levels = self.choose(target)?;
            let found = self.packed(levels, full)?;
            let error = found.error.distortion_percent();
            reached = reached.min(error);
            let fits = error <= percent;
            if fits && best.as_ref().is_none_or(|best| found.glb.len() <= best.glb.len()) {
                best = Some(found);
            }
            if fits && error >= USED * percent {
                break;
            }
            let factor = if error > 0.0 { f64::midpoint(USED, 1.0) * percent / error } else { 2.0 };
            target *= factor.clamp(0.25, 2.0);
        }
        if best.is_none() {
            // All kinds at their finest precision.
            let found = self.packed(vec![0; self.knobs.len()], full)?;
            reached = reached.min(found.error.distortion_percent());
            best = (found.error.distortion_percent() <= percent).then_some(found);
        }
        match best {
            Some(best) => self.filled(best, percent, full),
            None => Err(PackError::TooExact { asked: percent, reached }.into()),
        }
    }

    /// Coarsens one kind at a time, the one that saves most, as long as the error stays within `percent`.
    fn filled(&self, mut best: Found, percent: f64, full: &Reference) -> Result<Found> {
        for _ in 0..MAX_FILLS {
            let coarser = |knob: usize| {
                let mut levels = best.levels.clone();
                levels[knob] += 1;
                self.packed(levels, full)
            };
            let has_next = |&knob: &usize| best.levels[knob] + 1 < level_count(self.knobs[knob]);
            let knobs: Vec<usize> = (0..self.knobs.len()).filter(has_next).collect();
            let found = knobs.into_par_iter().map(coarser).collect::<Result<Vec<Found>>>()?;
            let is_better =
                |found: &Found| found.error.distortion_percent() <= percent && found.glb.len() < best.glb.len();
            match found.into_iter().filter(is_better).min_by_key(|found| found.glb.len()) {
                Some(found) => best = found,
                None => break,
            }
        }
        Ok(best)
    }

    fn within_size(&mut self, bytes: usize, full: &Reference) -> Result<Found> {
        let (mut low, mut high) = (1e-3_f64, MAX_ERROR_PERCENT);
        let mut best: Option<Found> = None;
        let mut reached = usize::MAX;
        for step in 0..12 {
            let target = if step == 0 { high } else { (low * high).sqrt() };
            let levels = self.choose(target)?;
            let found = self.packed(levels, full)?;
            reached = reached.min(found.glb.len());
            if found.glb.len() <= bytes {
                let is_better = |best: &Found| found.error.square < best.error.square;
                if best.as_ref().is_none_or(is_better) {
                    best = Some(found);
                }
                high = target;
            } else if step == 0 {
                break;
            } else {
                low = target;
            }
            if high / low < 1.02 {
                break;
            }
        }
        best.ok_or_else(|| PackError::TooSmall { asked: bytes, reached }.into())
    }

    fn packed(&self, levels: Vec<usize>, full: &Reference) -> Result<Found> {
        let knobs = self.knobs.iter().zip(&levels);
        let diagonal = self.sampled.diagonal;
        let packing = knobs.fold(self.finest, |packing, (&knob, &level)| coarsened(packing, knob, level, diagonal));
        let packed = pack_glb(self.glb, &packing)?;
        let error = full.measure(&packed)?;
        let PackedGlb { bytes, json_bytes, .. } = packed;
        Ok(Found { levels, glb: bytes, json_bytes, packing, error })
    }

    /// Levels of all kinds that save the most bytes within a distortion of `percent`.
    fn choose(&mut self, percent: f64) -> Result<Vec<usize>> {
        let ladders = self.ladders(percent)?;
        let budget = self.square_of(percent) - self.base.square;
        let pick = |lambda: f64| -> Vec<usize> {
            let best = |ladder: &Vec<(usize, Trial)>| {
                let cost = |trial: &Trial| trial.bytes + lambda * (trial.square - self.base.square).max(0.0);
                let found = ladder.iter().min_by(|a, b| cost(&a.1).total_cmp(&cost(&b.1)));
                found.map_or(0, |(level, _)| *level)
            };
            ladders.iter().map(best).collect()
        };
        let square = |levels: &[usize]| -> f64 {
            let of = |(ladder, level): (&Vec<(usize, Trial)>, &usize)| {
                let trial = ladder.iter().find(|(known, _)| known == level).map_or(self.base, |(_, trial)| *trial);
                (trial.square - self.base.square).max(0.0)
            };
            ladders.iter().zip(levels).map(of).sum()
        };
        // Bisection of λ in powers of two, between the smallest and the most accurate file.
        let (mut small, mut exact) = (-80.0_f64, 80.0_f64);
        let mut levels = pick(2.0_f64.powf(exact));
        for _ in 0..60 {
            let middle = f64::midpoint(small, exact);
            let found = pick(2.0_f64.powf(middle));
            if square(&found) <= budget {
                exact = middle;
                levels = found;
            } else {
                small = middle;
            }
        }
        Ok(levels)
    }

    fn square_of(&self, percent: f64) -> f64 {
        if self.base.percent > 0.0 {
            self.base.square * (percent / self.base.percent).powi(2)
        } else {
            f64::MIN_POSITIVE
        }
    }

    /// Measured levels of each kind, around those with an error of `percent`.
    fn ladders(&mut self, percent: f64) -> Result<Vec<Vec<(usize, Trial)>>> {
        let mut ladders = Vec::new();
        for index in 0..self.knobs.len() {
            let knob = self.knobs[index];
            if self.progress.report("packing", index, self.knobs.len()).is_break() {
                return Err(PackError::Stopped.into());
            }
            ladders.push(self.ladder(knob, percent)?);
        }
        Ok(ladders)
    }

    fn ladder(&mut self, knob: Knob, percent: f64) -> Result<Vec<(usize, Trial)>> {
        let last = level_count(knob) - 1;
        // Errors grow with the level: bisection finds the first relevant level.
        let (mut below, mut above) = (0, last + 1);
        while above - below > 1 {
            let middle = usize::midpoint(below, above);
            let own = self.own_percent(knob, middle)?;
            if own < MEASURED[0] * percent { below = middle } else { above = middle }
        }
        let mut levels = vec![0, below];
        for level in below + 1..=last {
            levels.push(level);
            if self.own_percent(knob, level)? > MEASURED[1] * percent {
                break;
            }
        }
        levels.dedup();
        levels.into_iter().map(|level| Ok((level, self.trial(knob, level)?))).collect()
    }

    /// Distortion caused by one kind alone.
    fn own_percent(&mut self, knob: Knob, level: usize) -> Result<f64> {
        let trial = self.trial(knob, level)?;
        Ok((trial.percent.powi(2) - self.base.percent.powi(2)).max(0.0).sqrt())
    }

    fn trial(&mut self, knob: Knob, level: usize) -> Result<Trial> {
        if level == 0 {
            return Ok(self.base);
        }
        if let Some(known) = self.known.get(&(knob, level)) {
            return Ok(*known);
        }
        // The next level is measured as well, since it is needed next.
        let levels: Vec<usize> = (level..=(level + 1).min(level_count(knob) - 1)).collect();
        let diagonal = self.sampled.diagonal;
        let measured = levels
            .par_iter()
            .map(|&level| trial(self.glb, &coarsened(self.finest, knob, level, diagonal), &self.sampled));
        let measured = measured.collect::<Result<Vec<_>>>()?;
        for (&level, &trial) in levels.iter().zip(&measured) {
            self.known.insert((knob, level), trial);
        }
        Ok(measured[0])
    }
}

fn trial(glb: &[u8], packing: &Packing, sampled: &Reference) -> Result<Trial> {
    let packed = pack_glb(glb, packing)?;
    let error = sampled.measure(&packed)?;
    Ok(Trial { bytes: packed.bytes.len() as f64, square: error.square, percent: error.distortion_percent() })
}

/// Number of levels of a kind.
fn level_count(knob: Knob) -> usize {
    match knob {
        Knob::Position => 26,
        Knob::Weight => 7,
        Knob::Rotation => 12,
        Knob::Translation | Knob::Scale | Knob::ShapeWeight => 14,
        Knob::Keys => 13,
    }
}

/// `packing` with one kind coarsened to `level`; 0 leaves it unchanged.
fn coarsened(mut packing: Packing, knob: Knob, level: usize, diagonal: f64) -> Packing {
    if level == 0 {
        return packing;
    }
    let steps = level as i32;
    match knob {
        Knob::Position => packing.position_step *= 2.0_f64.powf(0.5 * level as f64),
        // 16 bits, then 8 to 3.
        Knob::Weight => packing.weight_bits = 9 - level as u32,
        Knob::Translation => packing.translation_exponent += steps,
        Knob::Rotation => packing.rotation_bits -= steps,
        Knob::Scale => packing.scale_exponent += steps,
        Knob::ShapeWeight => packing.shape_weight_exponent += steps,
        Knob::Keys => packing.key_tolerance = diagonal * 2.0_f64.powi(steps - 18),
    }
    packing
}
