//! The arguments of `dermis skin`.

use dermis::skin::fit::{
    Bones, Corrections, DEFAULT_EPSILON, DEFAULT_INFLUENCES, DEFAULT_NEGATIVE_BOUND, DEFAULT_TSVD_THRESHOLD,
    FitOptions, MAX_INFLUENCES, WeightMethod,
};
use dermis::skin::refine::{DEFAULT_SMOOTHNESS, RefineOptions};

use super::given::RigArgs;
use super::inputs::Part;
use super::kinds::{BoneModel, Skeleton, Weights};
use crate::args::EXIT_CODES;
use crate::diagnostic::Diagnostic;
use crate::engine_name::EngineName;
use crate::options::{BoneForm, OptionalOutput, count, count_or_none, expect_effect, fraction, non_negative, positive};

const EXAMPLES: &str = "Examples:
  dermis skin sample:gallop -o gallop.glb                 one bone per near-rigid part
  dermis skin horse.abc -o horse.glb --bones 30 --rank 5  30 bones and 5 corrections
  dermis skin horse.abc -o horse.glb --error 2            the fewest bones within 2 % distortion
  dermis skin walk.abc run.abc -o both.glb                two animations on one skin
  dermis skin walk.abc -o walk.glb --bones 20 --skeleton  20 bones in a joint tree
  dermis skin sim.abc -o hero.glb --rig hero.glb --helpers 8 --lock-weights
                                                          8 helper bones for a rig
  dermis skin walk.abc -o walk.fbx --engine unreal        limits and conventions of an engine
  dermis skin horse.abc --from horse.glb                  measure an asset against its sequence
  dermis skin horse.abc --table                           Table 1 of James & Twigg (2005) for this input

The extension of the output selects the contents: glTF, USD, FBX and .npz files store the
whole skin; all other formats store its posed frames.";

/// Convert mesh animations to a skinned asset: bones, weights and corrections
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Animations with the same topology: files, folders, numbered files, or sample:NAME
    #[arg(required = true, value_name = "INPUT")]
    pub(super) inputs: Vec<String>,
    #[command(flatten)]
    pub(super) output: OptionalOutput,
    #[command(flatten)]
    pub(super) form: BoneForm,
    /// Apply the bone model, influences, limits, units and axes of this engine, and report any limits that the result exceeds [default: none]
    #[arg(long, value_name = "ENGINE", conflicts_with_all = ["from", "table"])]
    pub(super) engine: Option<EngineName>,
    /// Measure this asset against the inputs instead of fitting one; clips are matched by name, then by order
    #[arg(long, value_name = "ASSET", conflicts_with_all = ["table", "Bones", "Skinning"])]
    pub(super) from: Option<String>,
    /// Compare the method of James & Twigg (2005) with the refined fit: rigid and flexible bones, TSVD and NNLS weights, rank 0 and 10
    #[arg(long, conflicts_with_all = ["output", "rig", "bone_model", "weights", "tsvd_threshold", "negative_bound", "rank", "rank_error", "refine"])]
    pub(super) table: bool,
    #[command(flatten)]
    pub(super) part: Part,
    #[command(flatten)]
    pub(super) bones: BoneArgs,
    #[command(flatten)]
    pub(super) given: RigArgs,
    #[command(flatten)]
    pub(super) skin: Skinning,
}

/// Selection of the bones.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Bones")]
#[group(id = "Bones", multiple = false)]
pub(crate) struct BoneArgs {
    #[arg(long, value_name = "E", value_parser = positive, help = format!("Set the rotation tolerance of near-rigid parts (unitless); larger values give fewer bones [default: {DEFAULT_EPSILON}]"))]
    pub(super) epsilon: Option<f64>,
    /// Use exactly N bones [default: one per near-rigid part]
    #[arg(long = "bones", value_name = "N", value_parser = count)]
    pub(super) count: Option<usize>,
    /// Use the fewest bones that keep the distortion without corrections within PCT percent
    #[arg(long, value_name = "PCT", value_parser = positive)]
    pub(super) error: Option<f64>,
    /// Use the joints and clips of this rig, and solve only for weights and corrections
    #[arg(long, value_name = "FILE")]
    pub(super) rig: Option<String>,
}

/// Bone model, weights and corrections.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Skin")]
#[group(id = "Skinning", multiple = true)]
pub(crate) struct Skinning {
    #[arg(long, value_name = "N", value_parser = count, help = format!("Limit the number of bones per point, 1 to 8 [default: {DEFAULT_INFLUENCES}; 8 with --helpers]"))]
    pub(super) influences: Option<usize>,
    /// Select the bone model [default: flexible, or rigid for helper bones]
    #[arg(long, value_name = "MODEL")]
    pub(super) bone_model: Option<BoneModel>,
    /// Arrange rigid bones in a joint tree: joints with fixed offsets that only rotate (fixed, the default), or bones that keep their own translation (free)
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "fixed", conflicts_with_all = ["rig", "table"])]
    pub(super) skeleton: Option<Skeleton>,
    /// Select the weight solver; tsvd and bounded allow negative weights and are not refined [default: nnls]
    #[arg(long, value_name = "METHOD")]
    pub(super) weights: Option<Weights>,
    #[arg(long, value_name = "T", value_parser = fraction, requires = "weights", help = format!("With --weights tsvd: drop singular values below this fraction of the largest [default: {DEFAULT_TSVD_THRESHOLD}]"))]
    pub(super) tsvd_threshold: Option<f64>,
    #[arg(long, value_name = "D", value_parser = non_negative, requires = "weights", help = format!("With --weights bounded: allow weights down to −D [default: {DEFAULT_NEGATIVE_BOUND}]"))]
    pub(super) negative_bound: Option<f64>,
    /// Add R corrections [default: 0]
    #[arg(long, value_name = "R", conflicts_with = "rank_error", value_parser = count_or_none)]
    pub(super) rank: Option<usize>,
    /// Add the fewest corrections that keep the distortion within PCT percent
    #[arg(long, value_name = "PCT", value_parser = positive)]
    pub(super) rank_error: Option<f64>,
    #[arg(long, value_name = "N", value_parser = count_or_none, help = format!("Limit the number of refinement iterations; 0 gives the method of James & Twigg (2005) [default: {}]", RefineOptions::default().max_iterations))]
    pub(super) refine: Option<usize>,
    #[arg(long, value_name = "T", value_parser = non_negative, conflicts_with = "rig", help = format!("Stop when an iteration reduces the distortion by less than this fraction [default: {}]", RefineOptions::default().tolerance))]
    pub(super) tolerance: Option<f64>,
    #[arg(long, value_name = "S", value_parser = non_negative, help = format!("Smooth the weights and the rest pose by this factor (unitless); 0 minimizes only the distortion [default: {DEFAULT_SMOOTHNESS}]"))]
    pub(super) smoothness: Option<f64>,
    /// Keep the given rest pose instead of refining it
    #[arg(long, conflicts_with = "rig")]
    pub(super) keep_rest: bool,
}

impl Args {
    /// Options of the fit.
    pub(super) fn fit_options(&self) -> Result<FitOptions, Diagnostic> {
        let (defaults, skin) = (FitOptions::default(), &self.skin);
        let bones = match (self.bones.epsilon, self.bones.count, self.bones.error) {
            (Some(epsilon), _, _) => Bones::Tolerance(epsilon),
            (_, Some(count), _) => Bones::Count(count),
            (_, _, Some(percent)) => Bones::Distortion(percent),
            _ => defaults.bones,
        };
        let corrections = match (skin.rank, skin.rank_error) {
            (_, Some(percent)) => Corrections::ForDistortion { percent, max_rank: usize::MAX },
            (Some(rank), _) => Corrections::Rank(rank),
            _ => defaults.corrections,
        };
        let weights = match skin.weights.unwrap_or(Weights::Nnls) {
            Weights::Nnls => WeightMethod::NonNegative,
            Weights::Tsvd => {
                WeightMethod::Truncated { threshold: skin.tsvd_threshold.unwrap_or(DEFAULT_TSVD_THRESHOLD) }
            }
            Weights::Bounded => {
                WeightMethod::BoundedNegative { bound: skin.negative_bound.unwrap_or(DEFAULT_NEGATIVE_BOUND) }
            }
        };
        let profile = self.profile();
        let helpers = self.given.helpers.is_some();
        // With fewer influences, locked weights would leave no slots for helpers.
        let usual_influences = if helpers { MAX_INFLUENCES } else { defaults.influences };
        let usual_model = if helpers { dermis::skin::BoneModel::Rigid } else { defaults.bone_model };
        let usual = if weights == WeightMethod::NonNegative { defaults.refine.max_iterations } else { 0 };
        let max_iterations = skin.refine.unwrap_or(usual);
        self.skin.check(weights, max_iterations)?;
        self.check_rig()?;
        Ok(FitOptions {
            bones,
            influences: skin.influences.unwrap_or(profile.map_or(usual_influences, |profile| profile.influences)),
            bone_model: skin.bone_model.map_or_else(
                || profile.filter(|_| !helpers).map_or(usual_model, |profile| profile.bone_model),
                Into::into,
            ),
            weights,
            corrections,
            skeleton: skin.skeleton.map(Into::into),
            refine: RefineOptions {
                max_iterations,
                tolerance: skin.tolerance.unwrap_or(defaults.refine.tolerance),
                keep_rest: skin.keep_rest,
                smoothness: skin.smoothness.unwrap_or(defaults.refine.smoothness),
            },
        })
    }
}

impl Skinning {
    /// Rejects options that would have no effect.
    fn check(&self, weights: WeightMethod, max_iterations: usize) -> Result<(), Diagnostic> {
        if weights != WeightMethod::NonNegative && max_iterations > 0 {
            let message = "--refine requires non-negative weights";
            return Err(Diagnostic::new(message).hint("omit --refine, or use --weights nnls"));
        }
        if self.skeleton.is_some() && self.bone_model.is_some_and(|model| model != BoneModel::Rigid) {
            return Err(Diagnostic::new("--skeleton requires rigid bones").hint("omit --bone-model, or use rigid"));
        }
        let is_truncated = matches!(weights, WeightMethod::Truncated { .. });
        let is_bounded = matches!(weights, WeightMethod::BoundedNegative { .. });
        expect_effect([
            (self.tsvd_threshold.is_some(), is_truncated, "--tsvd-threshold", "with --weights tsvd"),
            (self.negative_bound.is_some(), is_bounded, "--negative-bound", "with --weights bounded"),
            (self.tolerance.is_some(), max_iterations > 0, "--tolerance", "if --refine is above 0"),
            (self.smoothness.is_some(), max_iterations > 0, "--smoothness", "if --refine is above 0"),
            (self.skeleton.is_some(), max_iterations > 0, "--skeleton", "if --refine is above 0"),
            (self.keep_rest, max_iterations > 0, "--keep-rest", "if --refine is above 0"),
        ])
    }
}
