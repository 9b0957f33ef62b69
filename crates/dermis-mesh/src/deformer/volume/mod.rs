//! Settings of the layer that preserves a skin's volume.

mod effects;
mod target;

use serde::{Deserialize, Serialize};

pub use effects::{Effect, Effects, EffectsError, JointEffect, Profile};
pub use target::{Target, TargetError};

/// Accuracy and extent of the correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Near the joints that changed the volume, exact to rounding.
    #[default]
    Exact,
    /// Near the joints, from their own partial volumes and one gradient each (§5): fastest, with an error of a few
    /// thousandths.
    Fast,
    /// Over the whole body, exact to rounding, without a rig.
    Global,
}

/// Options of a volume layer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VolumeOptions {
    /// Accuracy and extent of the correction.
    pub mode: Mode,
    /// Closes holes virtually, for the computation of the volume only.
    pub cap: bool,
    /// Target volume, as a multiple of the rest volume.
    pub target: Target,
    /// Effects by joint; the default is a plain bulge everywhere.
    pub effects: Effects,
    /// Name of the attribute that weights the correction of the whole body per point; `None`: uniform.
    pub body_attribute: Option<String>,
}
