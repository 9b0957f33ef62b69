//! Options of the volume layer.

use dermis_mesh::Object;
use serde::{Deserialize, Serialize};

use super::effects::{Effects, painted};
use super::error::VolumeError;
use super::target::Target;

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

/// Options of [`super::VolumeLayer`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
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

impl VolumeOptions {
    /// The weights of the whole body's points.
    pub(super) fn body_weights(&self, object: &Object) -> Result<Vec<f64>, VolumeError> {
        match &self.body_attribute {
            Some(name) => painted(object, name),
            None => Ok(vec![1.0; object.mesh.point_count()]),
        }
    }
}
