//! Values of options of `dermis skin`.

use clap::ValueEnum;
use dermis::Engine;
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
    /// Rotations at joints of fixed offset; only roots move
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

/// The engine that plays the asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum EngineName {
    /// Unreal Engine 5
    Unreal,
    /// Unity 2022 or later
    Unity,
    /// Godot 4
    Godot,
    /// three.js
    Three,
    /// Bevy
    Bevy,
    /// Blender 4 or later
    Blender,
    /// Viewers in browsers and on mobile devices
    Web,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Self {
        match name {
            EngineName::Unreal => Self::Unreal,
            EngineName::Unity => Self::Unity,
            EngineName::Godot => Self::Godot,
            EngineName::Three => Self::Three,
            EngineName::Bevy => Self::Bevy,
            EngineName::Blender => Self::Blender,
            EngineName::Web => Self::Web,
        }
    }
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
