//! Fitting a skin to mesh animations: from frames to bones, weights and corrections.
//!
//! Stages: gather the trajectories; find bones (mean shift as in the paper, or a partition into a given number);
//! compute influences and weights; refine all of them together; compute corrections of the remaining error; measure.
//! Several animations of one topology are fitted together: one rest pose and one set of weights, and a clip for each.

mod assemble;
pub(crate) mod best_linear;
mod check;
mod corrections;
mod error;
mod fewest_bones;
mod given_rig;
pub(crate) mod influences;
pub(crate) mod moments;
mod motion;
mod options;
mod pivot;
mod plausible;
pub mod refine;
mod shading_normals;
mod skeleton;
pub mod sma;
pub(crate) mod state;
pub(crate) mod surface;
pub mod trajectories;
pub(crate) mod transforms;

use std::sync::Arc;

use dermis_math::progress::Progress;
use dermis_mesh::{Clip, Joint, MeshSequence, Note, Rig, TriMesh};
use faer::Mat;
use glam::DAffine3;

use self::assemble::{ClipInfo, assemble};
use self::check::check;
pub use self::corrections::{CorrectionError, correct};
use self::corrections::{NORMAL_WEIGHT, correct_weighted};
pub use self::error::{Animation, FitError};
pub use self::given_rig::{RigOptions, RigReport, fit_rig};
pub use self::motion::fit_motion;
pub use self::options::{
    Bones, Corrections, DEFAULT_EPSILON, DEFAULT_INFLUENCES, DEFAULT_NEGATIVE_BOUND, DEFAULT_TSVD_THRESHOLD,
    FitOptions, MAX_INFLUENCES, WeightMethod,
};
use self::refine::local_weights::{LocalOptions, weigh_locally};
use self::refine::seed::partition;
use self::refine::untangle::untangle;
use self::refine::{Refinement, refine, weigh_points};
use self::shading_normals::with_shading_normals;
use self::skeleton::{FixedOffsets, Skeleton, find_mirror, find_skeleton, solve_fixed_offsets};
pub use self::skeleton::{SkeletonKind, SkeletonReport};
use self::sma::cluster_bones::{Cores, bones_of_clusters};
use self::sma::mean_shift_clusters::{Clusters, find_clusters, find_clusters_for};
use self::sma::rotation_sequences::{RotationSequences, rotation_sequences};
use self::sma::weights::estimate_weights;
use self::state::State;
use self::surface::Surface;
use self::trajectories::Trajectories;
use self::transforms::set_affine;
use crate::blend::palette;
use crate::bone_model::BoneModel;
use crate::clock::Clock;
use crate::measure::{Measures, RigQuality, compression, measure, rig_quality};
use crate::skin::Skin;

/// Error in percent of the diagonal of the rest pose above which [`Fit::validated`] rejects a fit.
pub const MAX_ERROR_PERCENT: f64 = 100.0;
/// Number of bones at the start of a skeleton, relative to the requested number.
const SPARE_BONES: usize = 2;
/// Maximum number of alternations between rotations and weights of a skeleton with fixed offsets.
const MAX_SKELETON_ITERATIONS: usize = 90;
/// Number of these iterations after which the rest pose is refined as well.
const SKELETON_REST_ITERATIONS: usize = 9;

/// A fitted skin and a report of the fit.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Fitted skin.
    pub skin: Skin,
    /// Distortion of the skin at full rank.
    pub measures: Measures,
    /// Quality of its weights, rest pose, normals and cross-fades.
    pub quality: RigQuality,
    /// η, if the bones were found by mean shift.
    pub near_rigid_fraction: Option<f64>,
    /// ε, if the bones were found by mean shift.
    pub epsilon: Option<f64>,
    /// See [`compression`].
    pub compression: f64,
    /// Report of the refinement.
    pub refinement: Refinement,
    /// Report of the joint tree, if one was requested.
    pub skeleton: Option<SkeletonReport>,
    /// Report of the given rig, if there is one.
    pub rig: Option<RigReport>,
    /// Time per stage in seconds, in order.
    pub seconds: Vec<(&'static str, f64)>,
    /// Notes for the user.
    pub notes: Vec<Note>,
}

impl Fit {
    /// The fit itself; an error if its largest error exceeds [`MAX_ERROR_PERCENT`], which indicates a failed fit.
    pub fn validated(self) -> Result<Self, FitError> {
        let Measures { max_error_percent, distortion_percent, .. } = self.measures;
        if max_error_percent <= MAX_ERROR_PERCENT && distortion_percent.is_finite() {
            return Ok(self);
        }
        Err(FitError::Invalid { max_error_percent })
    }
}

/// Fits one skin to all `animations` of the mesh whose rest pose is `rest`.
pub fn fit(
    rest: &TriMesh,
    animations: &[Animation],
    options: &FitOptions,
    progress: &dyn Progress,
) -> Result<Fit, FitError> {
    check(rest, animations, options)?;
    let sequences: Vec<MeshSequence> = animations.iter().map(|animation| animation.sequence.clone()).collect();
    let mut clock = Clock::start();
    let trajectories = Trajectories::gather(&sequences, rest.points())?;
    clock.stage("gather");
    let mut work = Work {
        rest,
        sequences: &sequences,
        trajectories: &trajectories,
        surface: is_smooth(options).then(|| Surface::new(rest)),
        options,
        progress,
        clock,
        notes: vec![],
    };
    let (mut state, mut found) = work.find_skin()?;
    let joints = work.joints(&mut state, &mut found);
    work.finish(animations, &state, joints.as_deref(), &found)
}

/// Returns true if weights and rest pose are regularized; the paper's method does not regularize them.
fn is_smooth(options: &FitOptions) -> bool {
    options.refine.max_iterations > 0 && options.refine.smoothness > 0.0
}

/// Fits only the weights and the corrections to given bones: clip k of `rig` contains their motion in animation k. With
/// refinement the influences are selected jointly and solved exactly, otherwise as in the paper. The rest pose is not
/// changed.
pub fn fit_weights(
    rest: &TriMesh,
    animations: &[Animation],
    rig: &Rig,
    clips: &[Arc<Clip>],
    options: &FitOptions,
    progress: &dyn Progress,
) -> Result<Fit, FitError> {
    fit_rig(rest, animations, (rig, clips), options, &RigOptions::default(), progress)
}

/// Normalized transforms of given bones: with p = s `p_n` + c, `F p + v` becomes `F p_n + (v + F c − c)/s`.
fn given_bones(trajectories: &Trajectories, rig: &Rig, clips: &[Arc<Clip>]) -> Mat<f64> {
    let (centre, scale) = (trajectories.centre, trajectories.scale);
    let mut transforms = Mat::zeros(3 * trajectories.frame_count(), 4 * rig.joints().len());
    let frames = clips.iter().flat_map(|clip| (0..clip.frame_count()).map(move |frame| (clip, frame)));
    for (row, (clip, frame)) in frames.enumerate() {
        for (bone, DAffine3 { matrix3: f, translation }) in palette(rig, clip, frame).into_iter().enumerate() {
            let columns = [f.x_axis, f.y_axis, f.z_axis, (translation + f * centre - centre) / scale];
            set_affine(&mut transforms, row, bone, columns);
        }
    }
    transforms
}

fn clip_info(animation: &Animation) -> ClipInfo {
    ClipInfo {
        name: animation.name.clone(),
        frame_count: animation.sequence.frame_count(),
        frame_rate_hz: animation.sequence.frame_rate_hz(),
        start_seconds: animation.sequence.start_seconds(),
    }
}

/// Intermediate results for the report.
#[derive(Default)]
struct Found {
    clusters: Option<Clusters>,
    refinement: Refinement,
    skeleton: Option<SkeletonReport>,
}

struct Work<'a> {
    rest: &'a TriMesh,
    sequences: &'a [MeshSequence],
    trajectories: &'a Trajectories,
    options: &'a FitOptions,
    progress: &'a dyn Progress,
    surface: Option<Surface>,
    clock: Clock,
    notes: Vec<Note>,
}

impl Work<'_> {
    /// Skin of `state` in the units of the input, corrected and measured.
    fn finish(
        mut self,
        animations: &[Animation],
        state: &State,
        joints: Option<&[Joint]>,
        found: &Found,
    ) -> Result<Fit, FitError> {
        let infos: Vec<ClipInfo> = animations.iter().map(clip_info).collect();
        let mut bare = assemble(self.rest, self.trajectories, state, joints, &infos)?;
        if self.surface.is_some() {
            bare = with_shading_normals(&bare, self.sequences)?;
        }
        let (skin, measures) = self.corrected(&bare)?;
        let quality = rig_quality(&skin, self.rest.points(), self.sequences)?;
        self.clock.stage("quality");
        let compression = compression(
            self.rest.point_count(),
            self.trajectories.frame_count(),
            skin.bone_count(),
            self.options.influences,
            self.bone_model(),
        );
        let clusters = found.clusters.as_ref().map(|clusters| (clusters.epsilon, clusters.near_rigid_fraction));
        self.notes.extend(plausible::notes(clusters, measures.distortion_percent));
        Ok(Fit {
            measures,
            quality,
            near_rigid_fraction: found.clusters.as_ref().map(|clusters| clusters.near_rigid_fraction),
            epsilon: found.clusters.as_ref().map(|clusters| clusters.epsilon),
            compression,
            refinement: found.refinement,
            skeleton: found.skeleton,
            rig: None,
            seconds: self.clock.stages,
            notes: self.notes,
            skin,
        })
    }

    /// Adds the requested corrections to the skin and measures it.
    fn corrected(&mut self, bare: &Skin) -> Result<(Skin, Measures), FitError> {
        let corrections = self.options.corrections;
        let max_rank = match corrections {
            Corrections::Rank(rank) => rank,
            Corrections::ForDistortion { max_rank, .. } => max_rank,
        };
        let normal_weight = if self.surface.is_some() { NORMAL_WEIGHT } else { 0.0 };
        let full = correct_weighted(bare, self.sequences, max_rank, normal_weight)?;
        self.clock.stage("corrections");
        let measures = measure(&full, self.sequences)?;
        self.clock.stage("measure");
        let Corrections::ForDistortion { percent, .. } = corrections else { return Ok((full, measures)) };
        let reached = measures.distortion_percent_by_rank.iter().position(|&distortion| distortion <= percent);
        let Some(rank) = reached.filter(|&rank| rank < full.rank()) else {
            if reached.is_none() {
                let (rank, distortion) = (full.rank(), measures.distortion_percent);
                self.notes.push(Note::new(format!("{rank} corrections reach {distortion:.3} %, not {percent} %")));
            }
            return Ok((full, measures));
        };
        let cut = full.with_rank(rank)?;
        let measures = measure(&cut, self.sequences)?;
        self.clock.stage("measure");
        Ok((cut, measures))
    }

    /// Skin that moves the given rest pose with these bones.
    fn weights_of(&self, transforms: Mat<f64>) -> State {
        let mut state = estimate_weights(self.trajectories, transforms, self.options.influences, self.options.weights);
        if self.options.refine.max_iterations > 0 {
            weigh_points(self.trajectories, &mut state, self.options.influences, true, true);
        }
        state
    }

    fn find_skin(&mut self) -> Result<(State, Found), FitError> {
        // Relative to the size of the rest pose, which is 1.
        let still = self.trajectories.variation <= 1e-14 * self.trajectories.positions.ncols() as f64;
        if still {
            self.notes.push(Note::new("the input does not move: one bone reproduces it exactly"));
            return Ok((self.partitioned(1), Found::default()));
        }
        let refined = self.options.refine.max_iterations > 0;
        match self.options.bones {
            Bones::Count(count) if refined => Ok(self.refined_count(count)),
            Bones::Distortion(percent) if refined => Ok(self.fewest_bones(percent)),
            Bones::Distortion(percent) => self.fewest_clusters(percent),
            Bones::Tolerance(epsilon) => {
                let rotations = self.rotations()?;
                let cores = Cores::new(self.rest, self.trajectories, &rotations);
                let clusters = find_clusters(&cores, epsilon, self.progress).ok_or(FitError::Stopped)?;
                Ok(self.skin_of(&cores, clusters))
            }
            Bones::Count(count) => {
                let rotations = self.rotations()?;
                let cores = Cores::new(self.rest, self.trajectories, &rotations);
                let clusters = find_clusters_for(&cores, count, self.progress).ok_or(FitError::Stopped)?;
                if clusters.bones.len() < count {
                    let found = clusters.bones.len();
                    self.notes.push(Note::new(format!(
                        "no rotation tolerance gives {count} bones; the closest number is {found}"
                    )));
                }
                Ok(self.skin_of(&cores, clusters))
            }
        }
    }

    /// Joint tree of the bones, if requested; `state` then has its motion.
    fn joints(&mut self, state: &mut State, found: &mut Found) -> Option<Vec<Joint>> {
        let kind = self.options.skeleton?;
        let surface = self.surface.clone().unwrap_or_else(|| Surface::new(self.rest));
        let mirror = find_mirror(&self.trajectories.rest);
        let mut skeleton = find_skeleton(self.trajectories, state, &surface, mirror);
        let report = SkeletonReport {
            joints: state.bone_count(),
            roots: skeleton.root_count(),
            distortion_percent_free: self.trajectories.distortion_percent(state.squared_error()),
            without_joint: skeleton.without_joint(),
            is_symmetric: mirror.is_some(),
        };
        if kind == SkeletonKind::Fixed {
            self.fix_offsets(state, &mut skeleton, &surface);
        }
        self.note_skeleton(&report);
        found.skeleton = Some(report);
        self.clock.stage("skeleton");
        Some(skeleton.joints(self.trajectories, state, mirror))
    }

    /// Alternates between rotations and joints of a skeleton with fixed offsets, and weights and rest pose, until the gain
    /// is below the tolerance.
    fn fix_offsets(&self, state: &mut State, skeleton: &mut Skeleton, surface: &Surface) {
        let mut fixed = FixedOffsets::new(skeleton);
        let refine::RefineOptions { smoothness, tolerance, keep_rest, .. } = self.options.refine;
        let max_influences = self.options.influences;
        let mut last_checked = f64::INFINITY;
        for iteration in 0..MAX_SKELETON_ITERATIONS {
            solve_fixed_offsets(self.trajectories, state, &mut fixed);
            let reselect = iteration % refine::RESELECT_EVERY == 0;
            let keep_rest = keep_rest || iteration < SKELETON_REST_ITERATIONS;
            let local = LocalOptions { max_influences, smoothness, reselect, keep_rest };
            weigh_locally(self.trajectories, state, surface, &local);
            if reselect && iteration > SKELETON_REST_ITERATIONS {
                let error = state.squared_error().sqrt();
                if error >= last_checked * (1.0 - 0.5 * tolerance * refine::RESELECT_EVERY as f64) {
                    break;
                }
                last_checked = error;
            }
        }
        if !keep_rest {
            untangle(self.trajectories, state, surface);
        }
        // Rotations and weights of the final rest pose.
        solve_fixed_offsets(self.trajectories, state, &mut fixed);
        weigh_locally(
            self.trajectories,
            state,
            surface,
            &LocalOptions { max_influences, smoothness, reselect: false, keep_rest: true },
        );
    }

    fn note_skeleton(&mut self, report: &SkeletonReport) {
        let SkeletonReport { joints, roots, without_joint, .. } = *report;
        if joints == 1 {
            self.notes.push(Note::new("one bone moves all points: the skeleton has a single joint"));
            return;
        }
        if roots > 1 {
            self.notes
                .push(Note::new(format!("the skeleton is a forest of {roots} trees: their motions are independent")));
        }
        if without_joint > 0 {
            let links = joints - roots;
            self.notes.push(Note::new(format!(
                "{without_joint} of {links} bones do not rotate about a common point with a neighbour, as in cloth: they \
                 keep their own translation, and their parent is the nearest bone"
            )));
        }
        if !report.is_symmetric {
            self.notes.push(Note::new("no mirror plane was found: joint names have no left and right"));
        }
    }

    /// Surface on which weights are smooth; `None` without smoothness.
    fn surface(&self) -> Option<&Surface> {
        self.surface.as_ref()
    }

    /// The bone model; bones of a skeleton are rigid.
    fn bone_model(&self) -> BoneModel {
        if self.options.skeleton.is_some() { BoneModel::Rigid } else { self.options.bone_model }
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

    /// Skin of the paper's method for these clusters, refined if requested.
    fn skin_of(&mut self, cores: &Cores<'_>, clusters: Clusters) -> (State, Found) {
        self.clock.stage("mean shift");
        if clusters.bones.is_empty() {
            self.notes.push(Note::new("no near-rigid part is large enough to be a bone: one bone moves all points"));
            let (state, mut found) = self.refined_count(1);
            found.clusters = Some(clusters);
            return (state, found);
        }
        let state = self.paper_skin(cores, &clusters);
        let (state, mut found) = if self.options.refine.max_iterations > 0 {
            self.refined(state, usize::MAX)
        } else {
            (state, Found::default())
        };
        found.clusters = Some(clusters);
        (state, found)
    }

    fn paper_skin(&mut self, cores: &Cores<'_>, clusters: &Clusters) -> State {
        let transforms = bones_of_clusters(cores, &clusters.bones, self.bone_model());
        self.clock.stage("bones");
        let state = estimate_weights(self.trajectories, transforms, self.options.influences, self.options.weights);
        self.clock.stage("weights");
        state
    }

    fn partitioned(&self, bones: usize) -> State {
        // Scales could compensate for a wrong partition, which would then persist.
        let model = match self.bone_model() {
            BoneModel::Scaled => BoneModel::Rigid,
            model => model,
        };
        partition(self.trajectories, self.surface(), bones, model)
    }

    /// Refined skin of at most `count` bones. For a skeleton, the best of two: from `count` bones, and from more, of
    /// which those that contribute least are removed. The bones of the skin with the smaller error correspond better to
    /// the parts that rotate independently.
    fn refined_count(&mut self, count: usize) -> (State, Found) {
        let first = self.refined(self.partitioned(count), count);
        let spare = SPARE_BONES * count;
        let is_possible = self.surface.is_some() && spare <= self.trajectories.point_count() / 4;
        if self.options.skeleton.is_none() || count == 1 || !is_possible || first.1.refinement.stopped {
            return first;
        }
        let notes = self.notes.len();
        let second = self.refined(self.partitioned(spare), count);
        self.notes.truncate(notes);
        if second.0.squared_error() < first.0.squared_error() { second } else { first }
    }

    fn refined(&mut self, mut state: State, max_bones: usize) -> (State, Found) {
        self.clock.stage("bones");
        weigh_points(self.trajectories, &mut state, self.options.influences, true, true);
        let refinement = refine(
            self.trajectories,
            &mut state,
            self.surface(),
            (max_bones, self.options.influences),
            self.bone_model(),
            &self.options.refine,
            self.progress,
        );
        self.clock.stage("refine");
        if let Bones::Count(count) = self.options.bones {
            let found = state.bone_count();
            if found < count {
                self.notes.push(Note::new(format!(
                    "{count} bones were requested, but {found} reproduce the motion exactly or have too few points to be split"
                )));
            }
        }
        if refinement.stopped {
            self.notes.push(Note::new("the refinement was stopped; this is the best result so far"));
        }
        (state, Found { clusters: None, refinement, skeleton: None })
    }
}
