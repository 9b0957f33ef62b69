//! Options of a fit.

use super::refine::RefineOptions;
use super::skeleton::SkeletonKind;
use crate::bone_model::BoneModel;

/// Default rotation tolerance ε of the mean shift (SMA, §4.2).
pub const DEFAULT_EPSILON: f64 = 0.05;
/// Default number of influences β per point, which all engines support.
pub const DEFAULT_INFLUENCES: usize = 4;
/// Maximum number of influences per point.
pub const MAX_INFLUENCES: usize = dermis_math::small::MAX_UNKNOWNS;

/// Options of [`crate::fit()`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitOptions {
    /// Number of bones.
    pub bones: Bones,
    /// Maximum number of bones per point (β), 1 to [`MAX_INFLUENCES`]. More follow the motion better and cost more to
    /// play.
    pub influences: usize,
    /// Set of transforms that a bone can have.
    pub bone_model: BoneModel,
    /// Solver of the weights if they are not refined.
    pub weights: WeightMethod,
    /// Number of corrections.
    pub corrections: Corrections,
    /// Refinement; none gives the paper's method.
    pub refine: RefineOptions,
    /// Joint tree of the bones; `None` gives bones without parents. Bones of a skeleton are rigid for any
    /// `bone_model`, and the weights must be refined.
    pub skeleton: Option<SkeletonKind>,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self {
            bones: Bones::Tolerance(DEFAULT_EPSILON),
            influences: DEFAULT_INFLUENCES,
            bone_model: BoneModel::default(),
            weights: WeightMethod::default(),
            corrections: Corrections::Rank(0),
            refine: RefineOptions::default(),
            skeleton: None,
        }
    }
}

/// Criterion for the number of bones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bones {
    /// Exactly this number of bones.
    Count(usize),
    /// The number of bones that mean shift finds at this rotation tolerance ε; larger gives fewer bones.
    Tolerance(f64),
    /// The smallest number whose distortion is at most this many percent.
    Distortion(f64),
}

/// Solver of the weights (SMA, §5.2).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum WeightMethod {
    /// Non-negative least squares, Eq. 10.
    #[default]
    NonNegative,
    /// Truncated singular value decomposition of Eq. 9: exact if possible, with weights of any size and sign.
    Truncated {
        /// Minimum singular value, relative to the largest; smaller ones are dropped. Larger gives smaller weights.
        threshold: f64,
    },
    /// Least squares with weights of at least −`bound`, Eq. 11.
    BoundedNegative {
        /// δ ≥ 0.
        bound: f64,
    },
}

/// The paper's δ of [`WeightMethod::BoundedNegative`].
pub const DEFAULT_NEGATIVE_BOUND: f64 = 0.5;
/// The paper's threshold of [`WeightMethod::Truncated`].
pub const DEFAULT_TSVD_THRESHOLD: f64 = 1e-5;

/// Criterion for the rank of the corrections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Corrections {
    /// This number of corrections, or fewer if the motion needs no more.
    Rank(usize),
    /// The smallest number, up to `max_rank`, whose distortion is at most `percent`.
    ForDistortion {
        /// Target distortion in percent.
        percent: f64,
        /// Maximum rank.
        max_rank: usize,
    },
}
