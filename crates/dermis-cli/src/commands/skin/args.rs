//! The arguments of `dermis skin`.

use std::path::PathBuf;

use clap::ValueEnum;
use dermis::FrameRange;
use dermis::skin::fit::{
    Bones, Corrections, DEFAULT_EPSILON, DEFAULT_INFLUENCES, DEFAULT_NEGATIVE_BOUND, DEFAULT_TSVD_THRESHOLD,
    FitOptions, WeightMethod,
};
use dermis::skin::refine::RefineOptions;

use crate::args::EXIT_CODES;
use crate::commands::convert::frame_rate;
use crate::report::Report;

const EXAMPLES: &str = "Examples:
  dermis skin sample:gallop -o gallop.glb                 as many bones as the motion has near-rigid parts
  dermis skin horse.abc -o horse.glb --bones 30 --rank 5  30 bones and 5 corrections
  dermis skin horse.abc -o horse.glb --error 2            the fewest bones within 2 % distortion
  dermis skin walk.abc run.abc -o both.glb                two animations on one skin
  dermis skin horse.abc --from horse.glb                  how well an asset plays its sequence
  dermis skin horse.abc --table                           the paper's table for this input

The output's ending says what is written: .glb, .gltf, .usda and .npz hold the whole
skin, all other formats get the frames that it plays.";

/// Turn mesh animations into one skinned asset: bones, weights and corrections
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The animations, of one topology: files, folders or numbered files, or sample:NAME
    #[arg(required = true, value_name = "INPUT")]
    pub(super) inputs: Vec<String>,
    /// The file to write [default: only measure]
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Replace outputs that exist
    #[arg(long)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) part: Part,
    #[command(flatten)]
    pub(super) bones: Bones,
    #[command(flatten)]
    pub(super) skin: Skinning,
    /// Measure this asset against the inputs instead of fitting one; clips of the same name, or else in order
    #[arg(long, value_name = "ASSET", conflicts_with_all = ["table", "rig", "Bones", "Skinning"])]
    pub(super) from: Option<String>,
    /// Measure the paper's variants and the refined fit: rigid and flexible bones, TSVD and NNLS weights, rank 0 and 10
    #[arg(long, conflicts_with_all = ["output", "rig", "bone_model", "weights", "rank", "rank_error", "refine"])]
    pub(super) table: bool,
}

/// Which part of the inputs is fitted, over which rest pose.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input")]
pub(crate) struct Part {
    /// Fit only these clips: names or numbers from 0 [default: all]
    #[arg(long = "clip", value_name = "NAME")]
    pub(super) clips: Vec<String>,
    /// Fit only this mesh: its name or path, a part that no other has, or a pattern [default: all, as one]
    #[arg(long, value_name = "NAME")]
    pub(super) mesh: Option<String>,
    /// Fit only these frames: half-open and from 0, as a slice in Python
    #[arg(long, value_name = "A:B[:STEP]", allow_hyphen_values = true)]
    pub(super) frames: Option<FrameRange>,
    /// Sample animation at this rate, in frames per second; it is also taken where a file states none
    #[arg(long, value_name = "HZ", value_parser = frame_rate, allow_hyphen_values = true)]
    pub(super) fps: Option<f64>,
    /// The mesh whose faces a point cache (pc2, mdd) moves [default: the OBJ of the same name]
    #[arg(long, value_name = "FILE")]
    pub(super) topology: Option<PathBuf>,
    /// Deform the shape in this file [default: the rest pose of the first input]
    #[arg(long, value_name = "FILE", conflicts_with = "rest_frame")]
    pub(super) rest: Option<String>,
    /// Deform this frame of the first animation; negative numbers count from the end
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    pub(super) rest_frame: Option<isize>,
}

/// How many bones, or which.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Bones")]
#[group(id = "Bones", multiple = false)]
pub(crate) struct Bones {
    #[arg(long, value_name = "E", help = format!("Rotation tolerance of a near-rigid part; larger gives fewer bones [default: {DEFAULT_EPSILON}]"))]
    pub(super) epsilon: Option<f64>,
    /// Exactly so many bones
    #[arg(long = "bones", value_name = "N")]
    pub(super) count: Option<usize>,
    /// The fewest bones whose distortion is at most so many percent
    #[arg(long, value_name = "PCT")]
    pub(super) error: Option<f64>,
    /// The joints of this rig, moved by its clips: only weights are solved
    #[arg(long, value_name = "FILE")]
    pub(super) rig: Option<String>,
}

/// What bones, weights and corrections may be.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Skin")]
#[group(id = "Skinning", multiple = true)]
pub(crate) struct Skinning {
    #[arg(long, value_name = "N", help = format!("The most bones that move one point [default: {DEFAULT_INFLUENCES}]"))]
    pub(super) influences: Option<usize>,
    /// What a bone may do [default: flexible]
    #[arg(long, value_name = "MODEL")]
    pub(super) bone_model: Option<BoneModel>,
    /// How weights are solved; tsvd and bounded may be negative and are not refined [default: nnls]
    #[arg(long, value_name = "METHOD")]
    pub(super) weights: Option<Weights>,
    #[arg(long, value_name = "T", default_value_t = DEFAULT_TSVD_THRESHOLD, help = "TSVD: singular values below this share of the largest are left out")]
    pub(super) tsvd_threshold: f64,
    #[arg(long, value_name = "D", default_value_t = DEFAULT_NEGATIVE_BOUND, help = "Bounded: weights are at least −D")]
    pub(super) negative_bound: f64,
    /// So many corrections [default: 0]
    #[arg(long, value_name = "R", conflicts_with = "rank_error")]
    pub(super) rank: Option<usize>,
    /// The fewest corrections whose distortion is at most so many percent
    #[arg(long, value_name = "PCT")]
    pub(super) rank_error: Option<f64>,
    #[arg(long, value_name = "N", help = format!("The most iterations of the refinement; 0 is the paper's method [default: {}]", RefineOptions::default().max_iterations))]
    pub(super) refine: Option<usize>,
    #[arg(long, value_name = "T", default_value_t = RefineOptions::default().tolerance, help = "Stop when an iteration gains less than this share of the distortion")]
    pub(super) tolerance: f64,
    /// Keep the given rest pose instead of refining it
    #[arg(long)]
    pub(super) keep_rest: bool,
}

/// What a bone may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum BoneModel {
    /// Turn and move
    Rigid,
    /// Scale along its axes as well
    Scaled,
    /// Any affine transform
    Flexible,
}

/// How weights are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Weights {
    /// Never negative
    Nnls,
    /// Truncated singular value decomposition, any sign
    Tsvd,
    /// Negative down to a bound
    Bounded,
}

impl From<BoneModel> for dermis::skin::BoneModel {
    fn from(model: BoneModel) -> Self {
        match model {
            BoneModel::Rigid => Self::Rigid,
            BoneModel::Scaled => Self::Scaled,
            BoneModel::Flexible => Self::Flexible,
        }
    }
}

impl Args {
    /// The options of the fit.
    pub(super) fn fit_options(&self) -> Result<FitOptions, Report> {
        let defaults = FitOptions::default();
        let skin = &self.skin;
        let bones = match (self.bones.epsilon, self.bones.count, self.bones.error) {
            (Some(epsilon), _, _) => Bones::Tolerance(epsilon),
            (_, Some(count), _) => Bones::Count(count),
            (_, _, Some(percent)) => Bones::Distortion(percent),
            _ => defaults.bones,
        };
        let corrections = match (skin.rank, skin.rank_error) {
            (_, Some(percent)) => Corrections::ForDistortion { percent, most: usize::MAX },
            (Some(rank), _) => Corrections::Rank(rank),
            _ => defaults.corrections,
        };
        let weights = match skin.weights.unwrap_or(Weights::Nnls) {
            Weights::Nnls => WeightMethod::NonNegative,
            Weights::Tsvd => WeightMethod::Truncated { threshold: skin.tsvd_threshold },
            Weights::Bounded => WeightMethod::BoundedNegative { bound: skin.negative_bound },
        };
        let refinable = weights == WeightMethod::NonNegative;
        if !refinable && skin.refine.is_some_and(|iterations| iterations > 0) {
            let message = "only weights that are never negative can be refined";
            return Err(Report::new(message).hint("leave --refine out, or use --weights nnls"));
        }
        let max_iterations = if refinable { defaults.refine.max_iterations } else { 0 };
        Ok(FitOptions {
            bones,
            influences: skin.influences.unwrap_or(defaults.influences),
            bone_model: skin.bone_model.map_or(defaults.bone_model, Into::into),
            weights,
            corrections,
            refine: RefineOptions {
                max_iterations: skin.refine.unwrap_or(max_iterations),
                tolerance: skin.tolerance,
                keep_rest: skin.keep_rest,
            },
        })
    }
}
