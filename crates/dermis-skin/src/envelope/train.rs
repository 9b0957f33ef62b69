//! Learning multi-weights from examples: the process of MWE, §5.
//!
//! An underlying linear skin is taken or solved (§4.5). What it misses is learned seen from each home bone, point by
//! point and coordinate by coordinate, by regularized least squares (§4.2–4.4); how smooth, cross-validation says. Points
//! are independent and blocks of them fixed, so the result does not depend on the number of threads. Cost is linear in
//! points; poses matter only for learning, not for playing.

use std::ops::ControlFlow;

use dermis_math::progress::Progress;
use dermis_mesh::deformer::multi_weights::MultiWeights;
use dermis_mesh::{Note, Rig, SkinWeights, TriMesh};
use glam::{DVec3, Vec3};

use super::cross_validation::{Curve, cross_validate};
use super::examples::Examples;
use super::influences::{Influences, MapOptions};
use super::linear::{Part, best_linear, size_of};
use super::local_ridge::{DEFAULT_CUT_OFF, Ridge};
use super::seen::Seen;
use super::solve::{Entry, solve_block};
use crate::blocks::in_blocks;
use crate::clock::Clock;

/// The smoothness where there are too few poses to choose one.
pub const FEW_POSES_SMOOTHNESS: f64 = 1e-6;
/// Points between two reports of progress.
const STEP: usize = 8192;

/// What multi-weights refine (MWE, §4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Underlying {
    /// Each point moves with its strongest bone.
    Rigid,
    /// The rig's own linear blend skin.
    Rig,
    /// The best linear blend skin of the examples.
    #[default]
    Best,
}

/// Options of [`train`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainOptions {
    /// `s_f`, from 0 (fit the examples) to ∞ (the linear skin); `None` chooses it by cross-validation.
    pub smoothness: Option<f64>,
    /// The share of the variance that the principal components kept have at least, 0 to 1; less is smoother.
    pub retained_variance: f64,
    /// Singular values below this share of the largest are left out; larger is smoother.
    pub cut_off: f64,
    /// What is refined.
    pub underlying: Underlying,
    /// The most bones of a point in the best linear skin; engines play 4.
    pub linear_influences: usize,
    /// Poses are one where no entry of a bone's matrix differs by more; translations in radii of the model.
    pub duplicate_tolerance: f64,
    /// Blocks of poses that cross-validation holds out in turn; more take longer.
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

/// Learned multi-weights, and how they were reached.
#[derive(Debug, Clone)]
pub struct Trained {
    /// The multi-weights.
    pub weights: MultiWeights,
    /// The linear skin below them.
    pub linear: SkinWeights,
    /// `s_f`.
    pub smoothness: f64,
    /// How `s_f` was chosen, where it was.
    pub curve: Option<Curve>,
    /// The mean number of bones per point.
    pub mean_bones: f64,
    /// Seconds per stage, in order.
    pub seconds: Vec<(&'static str, f64)>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// Why nothing can be learned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// There are no examples.
    #[error("there are no examples to learn from")]
    NoPoses,
    /// There is no skeleton.
    #[error("the rig has no joints: multi-weights follow a skeleton")]
    NoBones,
    /// No bone moves a point.
    #[error("no bone influences point {point}")]
    NoInfluence {
        /// The offending point.
        point: usize,
    },
    /// The maps are of another mesh.
    #[error("the influence maps have {found} points, but the mesh has {expected}")]
    OtherMesh {
        /// How many points the maps have.
        found: usize,
        /// How many the mesh has.
        expected: usize,
    },
    /// An option is out of range.
    #[error("{what} is {value}; it must be {allowed}")]
    Option {
        /// Which option.
        what: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// The observer stopped the work.
    #[error("stopped before there was a result")]
    Stopped,
}

/// Influence maps for a rig without skin weights: those of the linear skin that the examples ask for.
pub fn automatic_influences(mesh: &TriMesh, rig: &Rig, examples: &Examples, options: &MapOptions) -> Influences {
    let none = SkinWeights::from_rows(vec![Vec::new(); mesh.point_count()]);
    let open = Influences { maps: none.clone(), homes: none };
    let (points, poses) = everything(mesh, examples);
    let part = Part { rest: mesh.points(), examples, poses: &poses, points: &points };
    let weights = best_linear(&part, &open, crate::fit::DEFAULT_INFLUENCES);
    Influences::from_weights(mesh, rig, &weights, options)
}

/// Learns the multi-weights of `mesh` on `rig` from `examples`.
pub fn train(
    mesh: &TriMesh,
    rig: &Rig,
    influences: &Influences,
    examples: &Examples,
    options: &TrainOptions,
    progress: &dyn Progress,
) -> Result<Trained, TrainError> {
    check(mesh, rig, influences, examples, options)?;
    let (points, poses) = everything(mesh, examples);
    let part = Part { rest: mesh.points(), examples, poses: &poses, points: &points };
    let mut clock = Clock::start();
    let underlayer = Underlayer { rig, underlying: options.underlying, most: options.linear_influences };
    let linear = underlayer.rows_of(&part, influences);
    clock.stage("linear skin");
    let (smoothness, curve) = match options.smoothness {
        Some(smoothness) => (smoothness, None),
        None => match cross_validate(&part, influences, &underlayer, options, progress) {
            ControlFlow::Break(()) => return Err(TrainError::Stopped),
            ControlFlow::Continue(curve) => (curve.as_ref().map_or(FEW_POSES_SMOOTHNESS, Curve::best), curve),
        },
    };
    clock.stage("smoothness");
    let mut work = Work { part, influences, linear: &linear, ridge: options.ridge(smoothness), notes: Vec::new() };
    let weights = work.solve(options.duplicate_tolerance, progress)?;
    clock.stage("multi-weights");
    let mut notes = work.notes;
    if options.smoothness.is_none() {
        notes.extend(note_on(smoothness, curve.as_ref()));
    }
    let mean_bones = influences.mean_bones();
    Ok(Trained { weights, linear, smoothness, curve, mean_bones, seconds: clock.stages, notes })
}

fn note_on(smoothness: f64, curve: Option<&Curve>) -> Option<Note> {
    match curve {
        None => Some(Note::new(format!("too few poses to choose the smoothness from: it is {FEW_POSES_SMOOTHNESS:e}"))),
        Some(_) if smoothness.is_infinite() => {
            Some(Note::new("held-out poses are predicted best by the linear skin alone, which the model therefore is"))
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
    influences: &Influences,
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
        TrainOptions { smoothness: Some(s), .. } if s.is_nan() || *s < 0.0 => wrong("the smoothness", *s, "0 or more"),
        TrainOptions { retained_variance: r, .. } if !(*r > 0.0 && *r <= 1.0) => {
            wrong("the retained variance", *r, "above 0 and at most 1")
        }
        TrainOptions { cut_off: c, .. } if !(*c >= 0.0 && *c < 1.0) => {
            wrong("the cut-off", *c, "at least 0 and below 1")
        }
        TrainOptions { duplicate_tolerance: t, .. } if !(*t >= 0.0 && t.is_finite()) => {
            wrong("the tolerance of duplicates", *t, "0 or more")
        }
        TrainOptions { linear_influences: n, .. } if !(1..=crate::fit::MOST_INFLUENCES).contains(n) => {
            wrong("the number of influences", *n as f64, "1 to 8")
        }
        _ => Ok(()),
    }
}

/// The deformer below.
pub(super) struct Underlayer<'a> {
    rig: &'a Rig,
    underlying: Underlying,
    most: usize,
}

impl Underlayer<'_> {
    /// The linear weights of the part's points, in their order.
    pub(super) fn rows_of(&self, part: &Part<'_>, influences: &Influences) -> SkinWeights {
        match self.underlying {
            Underlying::Best => best_linear(part, influences, self.most),
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

/// A home bone and what its points need of it.
pub(super) struct Home {
    bone: u32,
    centre: DVec3,
    size: f64,
    bones: Vec<u32>,
    /// The points that are seen from it.
    points: Vec<u32>,
    /// The part of each, counted over all points.
    parts: Vec<usize>,
}

/// All homes, ascending, and the number of parts.
pub(super) struct Homes(pub(super) Vec<Home>, usize);

impl Homes {
    pub(super) fn of(part: &Part<'_>, influences: &Influences) -> Self {
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
    fn gather(&mut self, rest: &[Vec3], bone_count: usize, influences: &Influences) {
        let sum: DVec3 = self.points.iter().map(|&point| rest[point as usize].as_dvec3()).sum();
        self.centre = sum / self.points.len() as f64;
        let mut used = vec![false; bone_count];
        for &point in &self.points {
            influences.maps.row(point as usize).for_each(|(bone, _)| used[bone as usize] = true);
        }
        self.bones = (0..bone_count as u32).filter(|&bone| used[bone as usize] && bone != self.bone).collect();
    }

    pub(super) fn seen(&self, part: &Part<'_>, tolerance: f64) -> Seen {
        Seen::new(part.examples, part.poses, (self.bone, self.centre, self.size), self.bones.clone(), tolerance)
    }
}

struct Work<'a> {
    part: Part<'a>,
    influences: &'a Influences,
    linear: &'a SkinWeights,
    ridge: Ridge,
    notes: Vec<Note>,
}

impl Work<'_> {
    fn solve(&mut self, tolerance: f64, progress: &dyn Progress) -> Result<MultiWeights, TrainError> {
        let Homes(homes, part_count) = Homes::of(&self.part, self.influences);
        let mut entries: Vec<Vec<Entry>> = vec![Vec::new(); part_count];
        let mut done = 0;
        let (mut duplicates, mut hidden, mut underdetermined) = (0, 0, 0);
        for home in &homes {
            let seen = home.seen(&self.part, tolerance);
            duplicates = duplicates.max(seen.duplicates);
            hidden = hidden.max(seen.hidden);
            let widest = home.points.iter().map(|&point| 4 * self.influences.maps.row(point as usize).count());
            underdetermined += widest.filter(|&unknowns| unknowns > seen.row_count() + 4).count();
            let seen = seen.with_products();
            let part = Part { points: &home.points, ..self.part };
            for first in (0..home.points.len()).step_by(STEP) {
                if progress.report("solving", done + first, part_count).is_break() {
                    return Err(TrainError::Stopped);
                }
                let count = STEP.min(home.points.len() - first);
                let blocks = in_blocks(count, |range| {
                    let range = first + range.start..first + range.end;
                    solve_block(&part, &seen, self.influences, self.linear, &self.ridge, range)
                });
                for (place, row) in blocks.into_iter().flatten().enumerate() {
                    entries[home.parts[first + place]] = row;
                }
            }
            done += home.points.len();
        }
        self.note(duplicates, hidden, underdetermined, part_count);
        Ok(self.assembled(&homes, entries))
    }

    fn note(&mut self, duplicates: usize, hidden: usize, underdetermined: usize, parts: usize) {
        if duplicates > 0 {
            let message =
                format!("up to {duplicates} poses look like others to the bones nearby: their shapes are averaged");
            self.notes.push(Note::new(message));
        }
        if hidden > 0 {
            let message =
                format!("in up to {hidden} poses a bone is collapsed or the pose has weight 0: not learned from");
            self.notes.push(Note::new(message));
        }
        if underdetermined > 0 && self.ridge.smoothness.is_finite() {
            let percent = 100.0 * underdetermined as f64 / parts as f64;
            let message = format!(
                "{percent:.0} % of the points have more unknowns than there are poses: the smallest weights are taken"
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
                let shares = self.influences.homes.row(point as usize).map(|(_, share)| share);
                weights.shares.extend(shares);
                parts = weights.shares.len().max(parts);
                weights.parts.push(parts as u32);
            }
        }
        weights
    }
}
