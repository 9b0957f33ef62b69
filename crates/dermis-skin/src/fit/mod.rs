//! Fitting a skin to mesh animations: from frames to bones, weights and corrections.
//!
//! The stages: gather the trajectories; find bones (mean shift as the paper does, or a partition into a given number);
//! influences and weights; refine all of it together; corrections of what is left; measure. Several animations of one
//! topology are fitted together: one rest pose and one set of weights, a clip for each.

mod options;

use std::time::Instant;

use dermis_math::progress::Progress;
use dermis_mesh::{MeshSequence, Note, SequenceError, TriMesh};

pub use self::options::{
    BoneCount, Corrections, DEFAULT_EPSILON, DEFAULT_INFLUENCES, DEFAULT_TSVD_THRESHOLD, FitOptions, MOST_INFLUENCES,
    WeightMethod,
};
use crate::corrections::{CorrectionError, correct};
use crate::measure::{Measures, compression, measure};
use crate::paper::bones::bones_of_clusters;
use crate::paper::clusters::{Clusters, find_clusters, find_clusters_for};
use crate::paper::rotation_sequences::{RotationSequences, rotation_sequences};
use crate::paper::weights::estimate_weights;
use crate::refine::seed::partition;
use crate::refine::{Refinement, State, refine, weigh_points};
use crate::skin::{ClipInfo, Skin, SkinError};
use crate::trajectories::Trajectories;

/// A fitted skin and how it was reached.
#[derive(Debug, Clone)]
pub struct Fit {
    /// The skin.
    pub skin: Skin,
    /// Its quality at full rank.
    pub measures: Measures,
    /// `distortion_percent` at rank 0, 1, …, r.
    pub distortion_percent_by_rank: Vec<f64>,
    /// η, where mean shift found the bones.
    pub near_rigid_fraction: Option<f64>,
    /// ε, where mean shift found the bones.
    pub epsilon: Option<f64>,
    /// See [`compression`].
    pub compression: f64,
    /// How the refinement went.
    pub refinement: Refinement,
    /// Seconds per stage, in order.
    pub seconds: Vec<(&'static str, f64)>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// Why a fit cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// There is nothing to learn from.
    #[error("there are {frames} frames in all; a fit needs at least 2")]
    TooFewFrames {
        /// How many there are.
        frames: usize,
    },
    /// There is nothing to move.
    #[error("the mesh has no points")]
    NoPoints,
    /// The animations do not belong to one mesh.
    #[error("animation {index} has {found} points, but the rest pose has {expected}")]
    OtherMesh {
        /// The offending animation.
        index: usize,
        /// Its number of points.
        found: usize,
        /// The number of points of the rest pose.
        expected: usize,
    },
    /// An option is out of range.
    #[error("{what} is {value}; it must be {allowed}")]
    Option {
        /// Which option.
        what: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// A frame cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The corrections cannot be made.
    #[error(transparent)]
    Corrections(#[from] CorrectionError),
    /// The result is not a skin.
    #[error(transparent)]
    Skin(#[from] SkinError),
    /// The observer stopped the work before there was a result.
    #[error("stopped before there was a result")]
    Stopped,
}

/// One animation to fit: its name and its frames.
#[derive(Debug, Clone)]
pub struct Animation {
    /// What the clip is called.
    pub name: String,
    /// The frames.
    pub sequence: MeshSequence,
}

/// Fits one skin to all `animations` of the mesh whose rest pose is `rest`.
pub fn fit(
    rest: &TriMesh,
    animations: &[Animation],
    options: &FitOptions,
    progress: &dyn Progress,
) -> Result<Fit, FitError> {
    let sequences: Vec<MeshSequence> = animations.iter().map(|animation| animation.sequence.clone()).collect();
    check(rest, &sequences, options)?;
    let mut clock = Clock::start();
    let trajectories = Trajectories::gather(&sequences, rest.points())?;
    clock.stage("gather");
    let mut work =
        Work { rest, sequences: &sequences, trajectories: &trajectories, options, progress, clock, notes: vec![] };
    let (state, found) = work.find_skin()?;
    let infos: Vec<ClipInfo> = animations.iter().map(clip_info).collect();
    let bare = Skin::from_state(rest, &trajectories, &state, &infos)?;
    let Work { mut clock, mut notes, .. } = work;
    let (skin, distortions) = corrected(&bare, &sequences, options.corrections, &mut clock, &mut notes)?;
    let measures = measure(&skin, &sequences)?;
    clock.stage("measure");
    let frames = trajectories.frame_count();
    let influences = skin.rig().weights().max_influences().max(1);
    let compression = compression(
        rest.point_count(),
        frames,
        skin.bone_count(),
        influences.max(options.influences),
        options.bone_model,
    );
    Ok(Fit {
        measures,
        distortion_percent_by_rank: distortions,
        near_rigid_fraction: found.clusters.as_ref().map(|clusters| clusters.near_rigid_fraction),
        epsilon: found.clusters.as_ref().map(|clusters| clusters.epsilon),
        compression,
        refinement: found.refinement,
        seconds: clock.stages,
        notes,
        skin,
    })
}

fn check(rest: &TriMesh, sequences: &[MeshSequence], options: &FitOptions) -> Result<(), FitError> {
    let expected = rest.point_count();
    if expected == 0 {
        return Err(FitError::NoPoints);
    }
    if let Some((index, other)) = sequences.iter().enumerate().find(|(_, s)| s.point_count() != expected) {
        return Err(FitError::OtherMesh { index, found: other.point_count(), expected });
    }
    let frames = sequences.iter().map(MeshSequence::frame_count).sum();
    if frames < 2 {
        return Err(FitError::TooFewFrames { frames });
    }
    let wrong = |what, value: String, allowed: &str| Err(FitError::Option { what, value, allowed: allowed.to_owned() });
    if !(1..=MOST_INFLUENCES).contains(&options.influences) {
        return wrong("the number of influences", options.influences.to_string(), &format!("1 to {MOST_INFLUENCES}"));
    }
    match options.bones {
        BoneCount::Tolerance(epsilon) if !(epsilon > 0.0 && epsilon <= 2.0) => {
            wrong("the rotation tolerance", epsilon.to_string(), "above 0 and at most 2")
        }
        BoneCount::Exactly(count) if count == 0 || count > expected => {
            wrong("the number of bones", count.to_string(), &format!("1 to {expected}, the number of points"))
        }
        BoneCount::ForDistortion(percent) if !(percent > 0.0 && percent.is_finite()) => {
            wrong("the distortion to reach", percent.to_string(), "a positive number of percent")
        }
        _ => Ok(()),
    }
}

fn clip_info(animation: &Animation) -> ClipInfo {
    ClipInfo {
        name: animation.name.clone(),
        frame_count: animation.sequence.frame_count(),
        frame_rate_hz: animation.sequence.frame_rate_hz(),
        start_seconds: animation.sequence.start_seconds(),
    }
}

/// What was found on the way.
#[derive(Default)]
struct Found {
    clusters: Option<Clusters>,
    refinement: Refinement,
}

struct Work<'a> {
    rest: &'a TriMesh,
    sequences: &'a [MeshSequence],
    trajectories: &'a Trajectories,
    options: &'a FitOptions,
    progress: &'a dyn Progress,
    clock: Clock,
    notes: Vec<Note>,
}

impl Work<'_> {
    fn find_skin(&mut self) -> Result<(State, Found), FitError> {
        // Relative to the size of the rest pose, which is 1.
        let still = self.trajectories.variation <= 1e-14 * self.trajectories.positions.ncols() as f64;
        if still {
            self.notes.push(Note::new("nothing moves: one bone plays it exactly"));
            return Ok((self.partitioned(1), Found::default()));
        }
        let refined = self.options.refine.max_iterations > 0;
        match self.options.bones {
            BoneCount::Exactly(count) if refined => Ok(self.refined(self.partitioned(count))),
            BoneCount::ForDistortion(percent) if refined => Ok(self.fewest_bones(percent)),
            BoneCount::ForDistortion(percent) => self.fewest_clusters(percent),
            BoneCount::Tolerance(epsilon) => {
                let rotations = self.rotations()?;
                let clusters = find_clusters(&rotations, epsilon, self.progress).ok_or(FitError::Stopped)?;
                Ok(self.from_clusters(&rotations, clusters))
            }
            BoneCount::Exactly(count) => {
                let rotations = self.rotations()?;
                let clusters = find_clusters_for(&rotations, count, self.progress).ok_or(FitError::Stopped)?;
                if clusters.bones.len() != count {
                    let found = clusters.bones.len();
                    self.notes
                        .push(Note::new(format!("no rotation tolerance gives {count} bones; {found} come closest")));
                }
                Ok(self.from_clusters(&rotations, clusters))
            }
        }
    }

    fn rotations(&mut self) -> Result<RotationSequences, FitError> {
        let rotations = rotation_sequences(self.rest, self.sequences)?;
        self.clock.stage("rotations");
        if rotations.degenerate > 0 {
            let count = rotations.degenerate;
            self.notes
                .push(Note::new(format!("{count} triangles without area, at rest or in a frame, are not clustered")));
        }
        Ok(rotations)
    }

    /// The paper's skin on these clusters, refined if asked for.
    fn from_clusters(&mut self, rotations: &RotationSequences, clusters: Clusters) -> (State, Found) {
        self.clock.stage("mean shift");
        if clusters.bones.is_empty() {
            self.notes.push(Note::new("no near-rigid part is large enough to be a bone: one bone moves everything"));
            let (state, mut found) = self.refined(self.partitioned(1));
            found.clusters = Some(clusters);
            return (state, found);
        }
        let state = self.paper_skin(rotations, &clusters);
        let (state, mut found) =
            if self.options.refine.max_iterations > 0 { self.refined(state) } else { (state, Found::default()) };
        found.clusters = Some(clusters);
        (state, found)
    }

    fn paper_skin(&mut self, rotations: &RotationSequences, clusters: &Clusters) -> State {
        let model = self.options.bone_model;
        let transforms = bones_of_clusters(self.rest, self.trajectories, rotations, &clusters.bones, model);
        self.clock.stage("bones");
        let state = estimate_weights(self.trajectories, transforms, self.options.influences, self.options.weights);
        self.clock.stage("weights");
        state
    }

    fn partitioned(&self, bones: usize) -> State {
        partition(self.trajectories, bones, self.options.bone_model)
    }

    fn refined(&mut self, mut state: State) -> (State, Found) {
        self.clock.stage("bones");
        weigh_points(self.trajectories, &mut state, self.options.influences, true, true);
        let refinement = refine(
            self.trajectories,
            &mut state,
            self.options.influences,
            self.options.bone_model,
            &self.options.refine,
            self.progress,
        );
        self.clock.stage("refine");
        if let BoneCount::Exactly(count) = self.options.bones {
            let found = state.bone_count();
            if found < count {
                self.notes.push(Note::new(format!(
                    "{found} bones play the motion exactly or leave too few points to split: {count} could not be used"
                )));
            }
        }
        if refinement.stopped {
            self.notes.push(Note::new("the refinement was stopped; this is the best result so far"));
        }
        (state, Found { clusters: None, refinement })
    }

    /// The fewest bones whose refined skin reaches the distortion: doubled until it does, then bisected.
    fn fewest_bones(&mut self, percent: f64) -> (State, Found) {
        let most = (self.trajectories.point_count() / 4).clamp(1, 512);
        let mut try_bones = |count: usize| {
            let result = self.refined(self.partitioned(count));
            let reached = self.trajectories.distortion_percent(result.0.squared_error()) <= percent;
            let done = reached || result.1.refinement.stopped;
            (result, done)
        };
        let (mut low, mut count) = (0, 1);
        let mut best = loop {
            let (result, reached) = try_bones(count);
            if reached || count == most {
                break result;
            }
            low = count;
            count = (2 * count).min(most);
        };
        let mut high = count;
        while high - low > 1 {
            let middle = low.midpoint(high);
            let (result, reached) = try_bones(middle);
            if reached {
                (high, best) = (middle, result);
            } else {
                low = middle;
            }
        }
        self.note_distortion(&best.0, percent);
        best
    }

    /// The largest tolerance, and so the fewest bones, whose paper skin reaches the distortion.
    fn fewest_clusters(&mut self, percent: f64) -> Result<(State, Found), FitError> {
        const ROUNDS: usize = 10;
        let rotations = self.rotations()?;
        let (mut low, mut high) = (0.002f64.ln(), 0.5f64.ln());
        let mut best: Option<(State, Found)> = None;
        for _ in 0..ROUNDS {
            let middle = f64::midpoint(low, high);
            let clusters = find_clusters(&rotations, middle.exp(), self.progress).ok_or(FitError::Stopped)?;
            let result = self.from_clusters(&rotations, clusters);
            let reached = self.trajectories.distortion_percent(result.0.squared_error()) <= percent;
            if reached {
                low = middle;
            } else {
                high = middle;
            }
            if reached || best.is_none() {
                best = Some(result);
            }
        }
        let best = best.ok_or(FitError::Stopped)?;
        self.note_distortion(&best.0, percent);
        Ok(best)
    }

    fn note_distortion(&mut self, state: &State, percent: f64) {
        let reached = self.trajectories.distortion_percent(state.squared_error());
        if reached > percent {
            self.notes.push(Note::new(format!(
                "a distortion of {percent} % was not reached: {reached:.3} % with {} bones",
                state.bone_count()
            )));
        }
    }
}

/// The skin with the corrections asked for, and its distortion at each rank.
fn corrected(
    bare: &Skin,
    sequences: &[MeshSequence],
    corrections: Corrections,
    clock: &mut Clock,
    notes: &mut Vec<Note>,
) -> Result<(Skin, Vec<f64>), FitError> {
    let most = match corrections {
        Corrections::Rank(rank) => rank,
        Corrections::ForDistortion { most, .. } => most,
    };
    let full = correct(bare, sequences, most)?;
    let mut distortions = Vec::with_capacity(full.rank() + 1);
    for rank in 0..=full.rank() {
        let distortion = measure(&full.with_rank(rank)?, sequences)?.distortion_percent;
        distortions.push(distortion);
        match corrections {
            Corrections::ForDistortion { percent, .. } if distortion <= percent => break,
            _ => {}
        }
    }
    clock.stage("corrections");
    let rank = distortions.len() - 1;
    if let Corrections::ForDistortion { percent, most } = corrections
        && distortions[rank] > percent
    {
        notes.push(Note::new(format!("{} corrections (of {most} allowed) do not reach {percent} %", full.rank())));
    }
    Ok((full.with_rank(rank)?, distortions))
}

/// Seconds per stage.
#[derive(Debug, Clone)]
struct Clock {
    last: Instant,
    stages: Vec<(&'static str, f64)>,
}

impl Clock {
    fn start() -> Self {
        Self { last: Instant::now(), stages: Vec::new() }
    }

    /// Ends a stage; the time is added to an earlier stage of the same name.
    fn stage(&mut self, name: &'static str) {
        let seconds = self.last.elapsed().as_secs_f64();
        match self.stages.iter_mut().find(|(known, _)| *known == name) {
            Some((_, total)) => *total += seconds,
            None => self.stages.push((name, seconds)),
        }
        self.last = Instant::now();
    }
}
