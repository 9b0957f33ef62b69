//! Packing of recorded frames as a skin: the skin with the smallest packed file within a distortion of the frames, or
//! with the smallest distortion within a size.
//!
//! More bones and corrections follow the frames better, which leaves more of the budget to quantization, but they take
//! space themselves. Skins differ in the bone model, the number of bones and the number of corrections. The search of
//! each model starts at the fewest bones whose distortion is within [`START_FRACTION`] of the limit and moves to the
//! best neighbour until none is better. Errors are measured on packed files, relative to the recorded frames.

use std::collections::BTreeMap;
use std::sync::Arc;

use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::{MeshSequence, Scene, Units};
use dermis_skin::{BoneModel, Bones, Corrections, Fit, FitOptions, Skin, measure};

use super::{PackBudget, PackOptions, PackedAsset, pack_scene};
use crate::error::{Error, PackError, Result};
use crate::files::ToScene;
use crate::fit_skin::fit_skin_with;

/// Numbers of bones that are tried.
const BONE_COUNTS: [usize; 9] = [4, 6, 9, 13, 19, 28, 40, 58, 84];
/// Numbers of corrections that are tried.
const RANKS: [usize; 4] = [0, 3, 6, 12];
/// Fraction of the allowed distortion that the first skin uses.
const START_FRACTION: f64 = 0.8;
/// Fraction of the allowed distortion above which a skin leaves too little to quantization.
const MAX_FRACTION: f64 = 0.98;
/// Bone models that are tried.
const MODELS: [BoneModel; 2] = [BoneModel::Rigid, BoneModel::Flexible];

/// Recorded frames, packed as a skin.
#[derive(Debug, Clone)]
pub struct PackedFrames {
    /// The packed skin; its errors are relative to the recorded frames.
    pub packed: PackedAsset,
    /// Model of its bones.
    pub bone_model: BoneModel,
    /// Number of its bones.
    pub bones: usize,
    /// Number of its corrections.
    pub rank: usize,
}

/// Packs recorded frames as a skin.
pub fn pack_frames(sequence: &MeshSequence, options: &PackOptions) -> Result<PackedFrames> {
    FramePacker::new(sequence).pack(options, &NoProgress)
}

/// Packs the same recorded frames with several budgets. Skins are kept between the calls.
#[derive(Debug)]
pub struct FramePacker<'a> {
    sequence: &'a MeshSequence,
    units: Units,
    fits: BTreeMap<(usize, usize), Arc<Fit>>,
    /// Distortion of each skin.
    errors: BTreeMap<Candidate, f64>,
}

/// A skin, as indices of its model, bone count and rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    model: usize,
    count: usize,
    rank: usize,
}

impl<'a> FramePacker<'a> {
    /// Prepares the packing of `sequence`.
    pub fn new(sequence: &'a MeshSequence) -> Self {
        Self { sequence, units: Units::default(), fits: BTreeMap::new(), errors: BTreeMap::new() }
    }

    /// Sets the units and the up axis of the frames, which the files keep.
    pub fn in_units(self, units: Units) -> Self {
        Self { units, ..self }
    }

    /// Packs the frames within a budget, with an observer.
    pub fn pack(&mut self, options: &PackOptions, progress: &dyn Progress) -> Result<PackedFrames> {
        options.budget.check()?;
        let mut best: Option<PackedFrames> = None;
        let mut reached = None;
        for model in 0..MODELS.len() {
            let Some(start) = self.start(model, options.budget, progress)? else { continue };
            self.descend(start, options, progress, &mut best, &mut reached)?;
        }
        best.ok_or_else(|| reached.unwrap_or_else(|| self.too_exact(options.budget)))
    }

    /// The first skin of a model; `None` if no skin of the model is within the budget.
    fn start(&mut self, model: usize, budget: PackBudget, progress: &dyn Progress) -> Result<Option<Candidate>> {
        let last = self.last_count();
        let PackBudget::Error(percent) = budget else {
            return Ok(Some(Candidate { model, count: last.min(BONE_COUNTS.len() / 2), rank: 0 }));
        };
        let mut is_within = |count: usize| -> Result<bool> {
            Ok(self.error(Candidate { model, count, rank: 0 }, progress)? <= START_FRACTION * percent)
        };
        // The distortion falls with the number of bones: bisection.
        let (mut below, mut above) = (0, last + 1);
        while below < above {
            let middle = usize::midpoint(below, above).min(last);
            if is_within(middle)? {
                above = middle;
            } else {
                below = middle + 1;
            }
            if below > last {
                break;
            }
        }
        if above <= last {
            return Ok(Some(Candidate { model, count: above, rank: 0 }));
        }
        for rank in 0..RANKS.len() {
            let candidate = Candidate { model, count: last, rank };
            if self.error(candidate, progress)? <= MAX_FRACTION * percent {
                return Ok(Some(candidate));
            }
        }
        Ok(None)
    }

    /// Moves from `start` to better neighbours until there are none.
    fn descend(
        &mut self,
        start: Candidate,
        options: &PackOptions,
        progress: &dyn Progress,
        best: &mut Option<PackedFrames>,
        reached: &mut Option<Error>,
    ) -> Result<()> {
        let mut tried = vec![start];
        let mut here = start;
        let mut value = self.value(start, options, progress, best, reached)?;
        loop {
            let mut next = None;
            for neighbour in neighbours(here, self.last_count()) {
                if tried.contains(&neighbour) {
                    continue;
                }
                tried.push(neighbour);
                let found = self.value(neighbour, options, progress, best, reached)?;
                if found < value {
                    (value, next) = (found, Some(neighbour));
                }
            }
            match next {
                Some(neighbour) => here = neighbour,
                None => return Ok(()),
            }
        }
    }

    /// Size or error of a packed skin, whichever the budget does not limit; infinite if it exceeds the budget. The
    /// best skin so far goes to `best`.
    fn value(
        &mut self,
        candidate: Candidate,
        options: &PackOptions,
        progress: &dyn Progress,
        best: &mut Option<PackedFrames>,
        reached: &mut Option<Error>,
    ) -> Result<f64> {
        if let PackBudget::Error(percent) = options.budget
            && self.error(candidate, progress)? > MAX_FRACTION * percent
        {
            return Ok(f64::INFINITY);
        }
        let skin = self.skin(candidate, progress)?;
        let scene = Scene { units: self.units, ..skin.to_scene() };
        let packed = match pack_scene(&scene, Some(self.sequence), options, progress) {
            Ok(packed) => packed,
            Err(error @ Error::Pack(PackError::TooExact { .. } | PackError::TooSmall { .. })) => {
                reached.get_or_insert(error);
                return Ok(f64::INFINITY);
            }
            Err(error) => return Err(error),
        };
        let value = |packed: &PackedAsset| match options.budget {
            PackBudget::Error(_) => packed.glb.len() as f64,
            PackBudget::Size(_) => packed.measures.distortion_percent,
        };
        let found = value(&packed);
        if best.as_ref().is_none_or(|best| found < value(&best.packed)) {
            let (bones, rank) = (skin.bone_count(), skin.rank());
            *best = Some(PackedFrames { packed, bone_model: MODELS[candidate.model], bones, rank });
        }
        Ok(found)
    }

    /// Distortion of a skin before packing, in percent.
    fn error(&mut self, candidate: Candidate, progress: &dyn Progress) -> Result<f64> {
        if let Some(&known) = self.errors.get(&candidate) {
            return Ok(known);
        }
        let skin = self.skin(candidate, progress)?;
        let found = measure(&skin, std::slice::from_ref(self.sequence))?.distortion_percent;
        self.errors.insert(candidate, found);
        Ok(found)
    }

    fn skin(&mut self, candidate: Candidate, progress: &dyn Progress) -> Result<Skin> {
        let Candidate { model, count, rank } = candidate;
        if !self.fits.contains_key(&(model, count)) {
            let options = FitOptions {
                bones: Bones::Count(BONE_COUNTS[count]),
                bone_model: MODELS[model],
                corrections: Corrections::Rank(RANKS[RANKS.len() - 1]),
                ..FitOptions::default()
            };
            let fit = fit_skin_with(std::slice::from_ref(self.sequence), &options, progress)?;
            self.fits.insert((model, count), Arc::new(fit));
        }
        Ok(self.fits[&(model, count)].skin.with_rank(RANKS[rank])?)
    }

    /// Index of the largest number of bones: a bone needs at least a few points.
    fn last_count(&self) -> usize {
        let points = self.sequence.point_count();
        BONE_COUNTS.iter().rposition(|&count| 4 * count <= points).unwrap_or(0)
    }

    fn too_exact(&self, budget: PackBudget) -> Error {
        let asked = match budget {
            PackBudget::Error(percent) => percent,
            PackBudget::Size(_) => 0.0,
        };
        let reached = self.errors.values().copied().fold(f64::INFINITY, f64::min);
        PackError::NoSkin { asked, reached }.into()
    }
}

/// Skins with one more or one less step of bones or corrections.
fn neighbours(Candidate { model, count, rank }: Candidate, last_count: usize) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut add = |count: Option<usize>, rank: Option<usize>| {
        if let (Some(count), Some(rank)) = (count, rank)
            && count <= last_count
            && rank < RANKS.len()
        {
            found.push(Candidate { model, count, rank });
        }
    };
    add(count.checked_sub(1), Some(rank));
    add(Some(count + 1), Some(rank));
    add(Some(count), Some(rank + 1));
    add(Some(count), rank.checked_sub(1));
    add(count.checked_sub(1), Some(rank + 1));
    found
}
