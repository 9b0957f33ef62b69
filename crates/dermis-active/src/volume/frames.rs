//! The layer over a whole motion, and as a part of an asset.

use std::sync::Arc;

use dermis_mesh::{Clip, Deformer, FrameSource, MeshSequence, Object, SequenceError};
use glam::Vec3;
use serde::{Deserialize, Serialize};

use super::{VolumeError, VolumeLayer, VolumeOptions, Workspace};

/// What a deformer of this layer calls itself.
pub const TYPE: &str = "volume";

#[derive(Debug, Serialize, Deserialize)]
struct Settings {
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    options: VolumeOptions,
}

/// The layer as a part of an asset.
///
/// # Panics
/// Never: options are numbers and names, which JSON can say.
pub fn deformer(options: &VolumeOptions) -> Deformer {
    let settings = Settings { kind: TYPE.to_owned(), options: options.clone() };
    let settings = serde_json::to_string(&settings).expect("options are numbers and names");
    Deformer { settings, ..Deformer::default() }
}

/// The options of the volume layer among an object's deformers; `None` where it has none.
pub fn from_deformers(object: &Object) -> Result<Option<VolumeOptions>, VolumeError> {
    #[derive(Deserialize)]
    struct Kind {
        r#type: String,
    }
    let is_ours = |text: &str| serde_json::from_str::<Kind>(text).is_ok_and(|kind| kind.r#type == TYPE);
    let Some(found) = object.deformers.iter().find(|deformer| is_ours(&deformer.settings)) else { return Ok(None) };
    let settings: Settings =
        serde_json::from_str(&found.settings).map_err(|error| VolumeError::Effects(error.to_string()))?;
    settings.options.effects.check()?;
    Ok(Some(settings.options))
}

/// The frames of `motion` with `layer` on top, computed when they are read; `clip` poses the joints of the same frames.
pub fn corrected(
    layer: &Arc<VolumeLayer>,
    motion: &MeshSequence,
    clip: Option<&Arc<Clip>>,
) -> Result<MeshSequence, SequenceError> {
    let clip = clip.filter(|clip| clip.frame_count() == motion.frame_count()).cloned();
    let frames = Corrected { layer: Arc::clone(layer), motion: motion.clone(), clip };
    let sequence = MeshSequence::from_source(Arc::clone(motion.mesh()), Arc::new(frames), motion.frame_rate_hz())?;
    Ok(sequence.starting_at(motion.start_seconds()))
}

#[derive(Debug)]
struct Corrected {
    layer: Arc<VolumeLayer>,
    motion: MeshSequence,
    clip: Option<Arc<Clip>>,
}

impl FrameSource for Corrected {
    fn frame_count(&self) -> usize {
        self.motion.frame_count()
    }

    fn point_count(&self) -> usize {
        self.motion.point_count()
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        self.motion.read_into(frame, out)?;
        let transforms = self.clip.as_ref().map(|clip| clip.transforms(frame));
        let target = self.layer.target_of_frame(frame, &self.motion);
        self.layer.apply(out, transforms, target, &mut Workspace::default());
        Ok(())
    }
}

impl VolumeLayer {
    /// The factor of the rest volume that a frame of `motion` should reach; time runs from the motion's first frame.
    pub fn target_of_frame(&self, frame: usize, motion: &MeshSequence) -> f64 {
        self.options.target.at(frame as f64 / motion.frame_rate_hz())
    }
}
