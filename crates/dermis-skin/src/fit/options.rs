//! What a fit is asked for.

use super::refine::RefineOptions;
use crate::bone_model::BoneModel;

/// Rotation tolerance ε of the mean shift (SMA, §4.2).
pub const DEFAULT_EPSILON: f64 = 0.05;
/// Influences β per point, what engines play.
pub const DEFAULT_INFLUENCES: usize = 4;
/// The most influences per point.
pub const MOST_INFLUENCES: usize = dermis_math::small::MAX_UNKNOWNS;

/// Options of [`crate::fit()`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FitOptions {
    /// How many bones.
    pub bones: Bones,
    /// The most bones that move one point (β), 1 to [`MOST_INFLUENCES`]. More follow the motion better and cost more to play.
    pub influences: usize,
    /// What a bone's transform may be.
    pub bone_model: BoneModel,
    /// How weights are solved where they are not refined.
    pub weights: WeightMethod,
    /// How many corrections.
    pub corrections: Corrections,
    /// Refinement; none gives the paper's method.
    pub refine: RefineOptions,
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
        }
    }
}

/// How the number of bones is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bones {
    /// Exactly so many.
    Count(usize),
    /// As many as mean shift finds at this rotation tolerance ε; a larger one gives fewer bones.
    Tolerance(f64),
    /// The fewest whose distortion is at most so many percent.
    Distortion(f64),
}

/// How weights are solved (SMA, §5.2).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum WeightMethod {
    /// Non-negative least squares, Eq. 10.
    #[default]
    NonNegative,
    /// Truncated singular value decomposition of Eq. 9: exact where it can be, with weights of any size and sign.
    Truncated {
        /// Singular values below this share of the largest are left out; larger gives smaller weights.
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

/// How the rank of the corrections is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Corrections {
    /// So many, or fewer where the motion needs no more.
    Rank(usize),
    /// The fewest, up to `most`, whose distortion is at most `percent`.
    ForDistortion {
        /// The distortion to reach.
        percent: f64,
        /// Where to stop.
        most: usize,
    },
}
