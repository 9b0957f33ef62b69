//! Settings of the layer that keeps a skin's volume.

mod effects;
mod target;

use serde::{Deserialize, Serialize};

pub use effects::{Effect, Effects, EffectsError, JointEffect, Profile};
pub use target::{Target, TargetError};

/// How exactly and where the volume is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Near the joints that changed it, to rounding.
    #[default]
    Exact,
    /// Near the joints, from their own partial volumes and one gradient each (§5): fastest, right to a few thousandths.
    Fast,
    /// Over the whole body, to rounding, without a rig.
    Global,
}

/// Options of a volume layer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VolumeOptions {
    /// How exactly and where.
    pub mode: Mode,
    /// Whether holes are closed virtually, for the volume alone.
    pub cap: bool,
    /// The volume to reach, as a multiple of the rest volume.
    pub target: Target,
    /// What happens near which joints; the default is a plain bulge everywhere.
    pub effects: Effects,
    /// The attribute that says where the whole body gives way, per point; `None`: everywhere alike.
    pub body_attribute: Option<String>,
}
