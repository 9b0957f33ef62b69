//! Values of options of `dermis skin`.

use clap::ValueEnum;
use dermis::skin::fit::SkeletonKind;

/// The bone model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum BoneModel {
    /// Rotation and translation
    Rigid,
    /// Rotation, translation and scale
    Scaled,
    /// Any affine transform
    Flexible,
}

/// Motion that the joints of a skeleton allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Skeleton {
    /// Joints with fixed offsets that only rotate; only roots translate
    Fixed,
    /// Parents and pivots at joints; bones keep their own translation
    Free,
}

/// Solver of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Weights {
    /// Non-negative least squares
    Nnls,
    /// Truncated singular value decomposition, weights of any sign
    Tsvd,
    /// Least squares with weights down to a negative bound
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

impl From<Skeleton> for SkeletonKind {
    fn from(skeleton: Skeleton) -> Self {
        match skeleton {
            Skeleton::Fixed => Self::Fixed,
            Skeleton::Free => Self::Free,
        }
    }
}
