//! Training of multi-weights from examples: the process of MWE, §5.
//!
//! An underlying linear skin is given or solved (§4.5). Its residual is learned relative to each home bone, point by
//! point and coordinate by coordinate, by regularized least squares (§4.2–4.4) with a smoothness from
//! cross-validation. Points are independent and processed in fixed blocks, so the result does not depend on the number
//! of threads. The cost is linear in the number of points; the number of poses affects only training.

use std::ops::ControlFlow;

use dermis_math::progress::Progress;
use dermis_mesh::deformer::multi_weights::MultiWeights;
use dermis_mesh::{Note, Rig, SkinWeights, TriMesh};
use glam::{DVec3, Vec3};

use super::cross_validation::{Curve, cross_validate};
use super::design_matrix::DesignMatrix;
use super::examples::Examples;
use super::influences::{InfluenceMaps, MapOptions};
use super::linear::{Subset, best_linear, size_of};
use super::local_ridge::{DEFAULT_CUT_OFF, Ridge};
use super::solve::{Entry, solve_block};
use crate::blocks::in_blocks;
use crate::clock::Clock;

/// Smoothness used if there are too few poses for cross-validation.
pub const FEW_POSES_SMOOTHNESS: f64 = 1e-6;
/// Error of an underlying deformer, relative to that of the preferred one, below which it is selected instead.
const CLEARLY_BETTER: f64 = 0.9;
/// Number of points between two progress reports.
const POINTS_PER_REPORT: usize = 8192;

/// Deformer that multi-weights refine (MWE, §4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Underlying {
    /// Selects the deformer that predicts held-out poses best; the skin of the rig unless another is clearly better.
    Auto,
    /// Each point follows its strongest bone.
    Rigid,
    /// The linear blend skin of the rig.
    Rig,
    /// The best linear blend skin of the examples.
    #[default]
    Best,
}

/// Options of [`train`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainOptions {
    /// `s_f`, from 0 (fits the examples) to ∞ (the linear skin); `None` selects it by cross-validation.
    pub smoothness: Option<f64>,
    /// Minimum fraction of the variance in the retained principal components, 0 to 1; smaller is smoother.
    pub retained_variance: f64,
    /// Singular values below this fraction of the largest are dropped; larger is smoother.
    pub cut_off: f64,
    /// Deformer that is refined.
    pub underlying: Underlying,
    /// Maximum number of bones per point in the best linear skin; engines support 4.
    pub linear_influences: usize,
    /// Largest difference of matrix entries at which two poses are duplicates; translations are in radii of the model.
    pub duplicate_tolerance: f64,
    /// Number of blocks of poses that cross-validation holds out in turn; more blocks take longer.
    pub blocks: usize,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            smoothness: None,
            retained_variance: 1.0,
            cut_off: DEFAULT_CUT_OFF,
            underlying: Underlying::default(),
            linear_influences: crate::fit::DEFAULT_INFLUENCES,
            duplicate_tolerance: 1e-5,
            blocks: 8,
        }
    }
}

impl TrainOptions {
    pub(super) fn ridge(&self, smoothness: f64) -> Ridge {
        Ridge { smoothness, retained: self.retained_variance, cut_off: self.cut_off }
    }
}

/// Trained multi-weights with statistics of the training.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The multi-weights.
    pub weights: MultiWeights,
    /// Underlying linear skin.
    pub linear: SkinWeights,
    /// Deformer that is refined: never [`Underlying::Auto`].
    pub underlying: Underlying,
    /// RMS distance of held-out points for each underlying deformer that was compared.
    pub underlying_errors: Vec<(Underlying, f64)>,
    /// `s_f`.
    pub smoothness: f64,
    /// Result of the cross-validation, if `s_f` was selected by it.
    pub curve: Option<Curve>,
    /// Mean number of bones per point.
    pub mean_bones: f64,
    /// Time per stage in seconds, in order.
    pub seconds: Vec<(&'static str, f64)>,
    /// Notes for the user.
    pub notes: Vec<Note>,
}

/// Error of [`train`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// There are no examples.
    #[error("no examples to learn from")]
    NoPoses,
    /// The rig has no joints.
    #[error("the rig has no joints; multi-weights need a skeleton")]
    NoBones,
    /// A point has no influencing bone.
    #[error("no bone influences point {point}")]
    NoInfluence {
        /// Index of the point.
        point: usize,
    },
    /// The influence maps belong to another mesh.
    #[error("the influence maps have {found} points, but the mesh has {expected}")]
    OtherMesh {
        /// Number of points of the maps.
        found: usize,
        /// Number of points of the mesh.
        expected: usize,
    },
    /// An option is out of range.
    #[error("invalid {what} {value}: it must be {allowed}")]
    Option {
        /// Name of the option.
        what: &'static str,
        /// Value of the option.
        value: f64,
        /// Allowed values.
        allowed: &'static str,
    },
    /// The observer stopped the work.
    #[error("stopped before the result was complete")]
    Stopped,
}

/// Influence maps for a rig without skin weights, from the best linear skin of the examples.
pub fn automatic_influences(mesh: &TriMesh, rig: &Rig, examples: &Examples, options: &MapOptions) -> InfluenceMaps {
    let none = SkinWeights::from_rows(vec![Vec::new(); mesh.point_count()]);
    let open = InfluenceMaps { maps: none.clone(), homes: none };
    let (points, poses) = everything(mesh, examples);
    let part = Subset { rest: mesh.points(), examples, poses: &poses, points: &points };
    let weights = best_linear(&part, &open, crate::fit::DEFAULT_INFLUENCES);
    InfluenceMaps::from_weights(mesh, rig, &weights, options)
}

/// Trains the multi-weights of `mesh` and `rig` from `examples`.
pub fn train(
    mesh: &TriMesh,
    rig: &Rig,
    influences: &InfluenceMaps,
    examples: &Examples,
    options: &TrainOptions,
    progress: &dyn Progress,
) -> Result<Trained, TrainError> {
    check(mesh, rig, influences, examples, options)?;
    let (points, poses) = everything(mesh, examples);
    let part = Subset { rest: mesh.points(), examples, poses: &poses, points: &points };
    let mut clock = Clock::start();
    let candidates = candidates(rig, options.underlying);
    let mut compared: Vec<(Underlying, Option<Curve>)> = Vec::new();
    if options.smoothness.is_none() || candidates.len() > 1 {
        for &underlying in &candidates {
            let skin = UnderlyingSkin { rig, underlying, max_influences: options.linear_influences };
            match cross_validate(&part, influences, &skin, options, progress) {
                ControlFlow::Break(()) => return Err(TrainError::Stopped),
                ControlFlow::Continue(curve) => compared.push((underlying, curve)),
            }
        }
    }
    clock.stage("smoothness");
    let underlying_errors: Vec<(Underlying, f64)> =
        compared.iter().filter_map(|(underlying, curve)| Some((*underlying, curve.as_ref()?.least()))).collect();
    let chosen = chosen(&underlying_errors).unwrap_or(candidates[0]);
    let curve = compared.into_iter().find(|(underlying, _)| *underlying == chosen).and_then(|(_, curve)| curve);
    let curve = curve.filter(|_| options.smoothness.is_none());
    let best = || curve.as_ref().map_or(FEW_POSES_SMOOTHNESS, Curve::best);
    let smoothness = options.smoothness.unwrap_or_else(best);
    let underlying = UnderlyingSkin { rig, underlying: chosen, max_influences: options.linear_influences };
    let linear = underlying.rows_of(&part, influences);
    clock.stage("linear skin");
    let mut work = Work { part, influences, linear: &linear, ridge: options.ridge(smoothness), notes: Vec::new() };
    let weights = work.solve(options.duplicate_tolerance, progress)?;
    clock.stage("multi-weights");
    let mut notes = work.notes;
    if options.smoothness.is_none() {
        notes.extend(note_on(smoothness, curve.as_ref()));
    }
    let mean_bones = influences.mean_bones();
    let (underlying, seconds) = (chosen, clock.stages);
    Ok(Trained { weights, linear, underlying, underlying_errors, smoothness, curve, mean_bones, seconds, notes })
}

/// Underlying deformers to be compared, the preferred one first. A rig without weights on every point has no skin.
fn candidates(rig: &Rig, underlying: Underlying) -> Vec<Underlying> {
    let has_skin = rig.weights().rows().all(|mut row| row.any(|(_, weight)| weight > 0.0));
    match underlying {
        Underlying::Auto if has_skin => vec![Underlying::Rig, Underlying::Best, Underlying::Rigid],
        Underlying::Auto => vec![Underlying::Best, Underlying::Rigid],
        given => vec![given],
    }
}

/// The deformer with the smallest error, unless the first one is nearly as good.
fn chosen(errors: &[(Underlying, f64)]) -> Option<Underlying> {
    let &(first, error) = errors.first()?;
    let best = errors.iter().copied().fold((first, error), |best, next| if next.1 < best.1 { next } else { best });
    Some(if best.1 < CLEARLY_BETTER * error { best.0 } else { first })
}

fn note_on(smoothness: f64, curve: Option<&Curve>) -> Option<Note> {
    match curve {
        None => {
            Some(Note::new(format!("too few poses for cross-validation: the smoothness is {FEW_POSES_SMOOTHNESS:e}")))
        }
        Some(_) if smoothness.is_infinite() => {
            Some(Note::new("the linear skin alone predicts held-out poses best; the model is the linear skin"))
        }
        Some(_) => None,
    }
}

fn everything(mesh: &TriMesh, examples: &Examples) -> (Vec<u32>, Vec<usize>) {
    ((0..mesh.point_count() as u32).collect(), (0..examples.pose_count()).collect())
}

fn check(
    mesh: &TriMesh,
    rig: &Rig,
    influences: &InfluenceMaps,
    examples: &Examples,
    options: &TrainOptions,
) -> Result<(), TrainError> {
    let weighted = (0..examples.pose_count()).any(|pose| examples.weight(pose) > 0.0);
    if !weighted || mesh.point_count() == 0 {
        return Err(TrainError::NoPoses);
    }
    if rig.joints().is_empty() {
        return Err(TrainError::NoBones);
    }
    let (found, expected) = (influences.point_count(), mesh.point_count());
    if found != expected {
        return Err(TrainError::OtherMesh { found, expected });
    }
    if let Some(point) = influences.uninfluenced_point() {
        return Err(TrainError::NoInfluence { point });
    }
    let wrong = |what, value, allowed| Err(TrainError::Option { what, value, allowed });
    match options {
        TrainOptions { smoothness: Some(s), .. } if s.is_nan() || *s < 0.0 => wrong("smoothness", *s, "0 or more"),
        TrainOptions { retained_variance: r, .. } if !(*r > 0.0 && *r <= 1.0) => {
            wrong("retained variance", *r, "above 0 and at most 1")
        }
        TrainOptions { cut_off: c, .. } if !(*c >= 0.0 && *c < 1.0) => wrong("cut-off", *c, "at least 0 and below 1"),
        TrainOptions { duplicate_tolerance: t, .. } if !(*t >= 0.0 && t.is_finite()) => {
            wrong("duplicate tolerance", *t, "0 or more")
        }
        TrainOptions { linear_influences: n, .. } if !(1..=crate::fit::MAX_INFLUENCES).contains(n) => {
            wrong("number of influences", *n as f64, "1 to 8")
        }
        _ => Ok(()),
    }
}

/// The underlying deformer.
pub(super) struct UnderlyingSkin<'a> {
    rig: &'a Rig,
    underlying: Underlying,
    max_influences: usize,
}

impl UnderlyingSkin<'_> {
    /// Linear weights of the points of the subset, in their order.
    pub(super) fn rows_of(&self, part: &Subset<'_>, influences: &InfluenceMaps) -> SkinWeights {
        match self.underlying {
            Underlying::Best | Underlying::Auto => best_linear(part, influences, self.max_influences),
            Underlying::Rig => {
                let weights = self.rig.weights().normalized(usize::MAX);
                SkinWeights::from_rows(part.points.iter().map(|&point| {
                    let mut row: Vec<(u32, f32)> = weights.row(point as usize).collect();
                    row.sort_by_key(|(bone, _)| *bone);
                    row
                }))
            }
            Underlying::Rigid => SkinWeights::from_rows(part.points.iter().map(|&point| {
                let homes = influences.homes.row(point as usize);
                let strongest = homes.fold((0, 0.0), |best, next| if next.1 > best.1 { next } else { best });
                [(strongest.0, 1.0)]
            })),
        }
    }
}

/// Home bone with its points and the bones that influence them.
pub(super) struct Home {
    bone: u32,
    centre: DVec3,
    size: f64,
    bones: Vec<u32>,
    /// Points with this home bone.
    points: Vec<u32>,
    /// Index of each point's part among all parts.
    parts: Vec<usize>,
}

/// All home bones in ascending order, and the number of parts.
pub(super) struct Homes(pub(super) Vec<Home>, usize);

impl Homes {
    pub(super) fn of(part: &Subset<'_>, influences: &InfluenceMaps) -> Self {
        let size = size_of(part.rest);
        let empty = |bone| Home { bone, centre: DVec3::ZERO, size, bones: vec![], points: vec![], parts: vec![] };
        let mut homes: Vec<Home> = (0..part.examples.bone_count() as u32).map(empty).collect();
        let mut count = 0;
        for &point in part.points {
            for (home, _) in influences.homes.row(point as usize) {
                homes[home as usize].points.push(point);
                homes[home as usize].parts.push(count);
                count += 1;
            }
        }
        homes.retain(|home| !home.points.is_empty());
        for home in &mut homes {
            home.gather(part.rest, part.examples.bone_count(), influences);
        }
        Self(homes, count)
    }
}

impl Home {
    fn gather(&mut self, rest: &[Vec3], bone_count: usize, influences: &InfluenceMaps) {
        let sum: DVec3 = self.points.iter().map(|&point| rest[point as usize].as_dvec3()).sum();
        self.centre = sum / self.points.len() as f64;
        let mut used = vec![false; bone_count];
        for &point in &self.points {
            influences.maps.row(point as usize).for_each(|(bone, _)| used[bone as usize] = true);
        }
        self.bones = (0..bone_count as u32).filter(|&bone| used[bone as usize] && bone != self.bone).collect();
    }

    pub(super) fn design(&self, part: &Subset<'_>, tolerance: f64) -> DesignMatrix {
        DesignMatrix::new(part.examples, part.poses, (self.bone, self.centre, self.size), self.bones.clone(), tolerance)
    }
}

struct Work<'a> {
    part: Subset<'a>,
    influences: &'a InfluenceMaps,
    linear: &'a SkinWeights,
    ridge: Ridge,
    notes: Vec<Note>,
}

impl Work<'_> {
    fn solve(&mut self, tolerance: f64, progress: &dyn Progress) -> Result<MultiWeights, TrainError> {
        let Homes(homes, part_count) = Homes::of(&self.part, self.influences);
        let mut entries: Vec<Vec<Entry>> = vec![Vec::new(); part_count];
        let mut done = 0;
        let (mut duplicates, mut unused, mut underdetermined) = (0, 0, 0);
        for home in &homes {
            let design = home.design(&self.part, tolerance);
            duplicates = duplicates.max(design.duplicates);
            unused = unused.max(design.unused);
            let widest = home.points.iter().map(|&point| 4 * self.influences.maps.row(point as usize).count());
            underdetermined += widest.filter(|&unknowns| unknowns > design.row_count() + 4).count();
            let design = design.with_products();
            let part = Subset { points: &home.points, ..self.part };
            for first in (0..home.points.len()).step_by(POINTS_PER_REPORT) {
                if progress.report("solving", done + first, part_count).is_break() {
                    return Err(TrainError::Stopped);
                }
                let count = POINTS_PER_REPORT.min(home.points.len() - first);
                let blocks = in_blocks(count, |range| {
                    let range = first + range.start..first + range.end;
                    solve_block(&part, &design, self.influences, self.linear, &self.ridge, range)
                });
                for (index, row) in blocks.into_iter().flatten().enumerate() {
                    entries[home.parts[first + index]] = row;
                }
            }
            done += home.points.len();
        }
        self.note(duplicates, unused, underdetermined, part_count);
        Ok(self.assembled(&homes, entries))
    }

    fn note(&mut self, duplicates: usize, unused: usize, underdetermined: usize, parts: usize) {
        if duplicates > 0 {
            let message =
                format!("up to {duplicates} poses are duplicates relative to a home bone: their shapes are averaged");
            self.notes.push(Note::new(message));
        }
        if unused > 0 {
            let message =
                format!("up to {unused} poses are not used, because a bone is singular or the pose has weight 0");
            self.notes.push(Note::new(message));
        }
        if underdetermined > 0 && self.ridge.smoothness.is_finite() {
            let percent = 100.0 * underdetermined as f64 / parts as f64;
            let message = format!(
                "{percent:.0} % of the points have more unknowns than there are poses: the smallest weights are used"
            );
            self.notes.push(Note::new(message));
        }
    }

    fn assembled(&self, homes: &[Home], entries: Vec<Vec<Entry>>) -> MultiWeights {
        let mut weights = MultiWeights { home: vec![0; entries.len()], offsets: vec![0], ..MultiWeights::default() };
        for home in homes {
            home.parts.iter().for_each(|&part| weights.home[part] = home.bone);
        }
        for row in entries {
            for (bone, rows) in row {
                weights.bones.push(bone);
                weights.weights.push(rows);
            }
            weights.offsets.push(weights.bones.len() as u32);
        }
        if weights.home.len() > self.part.points.len() {
            let mut parts = 0;
            weights.parts.push(0);
            for &point in self.part.points {
                let fractions = self.influences.homes.row(point as usize).map(|(_, fraction)| fraction);
                weights.fractions.extend(fractions);
                parts = weights.fractions.len().max(parts);
                weights.parts.push(parts as u32);
            }
        }
        weights
    }
}
