//! The volume layer applied to the frames of a motion when they are read.

use std::sync::Arc;

use dermis_mesh::{Clip, MeshSequence, SequenceError};

use super::{VolumeLayer, Workspace};

/// Returns the frames of `motion` with `layer` applied, computed when they are read. `clip` provides the joint
/// transforms of the same frames.
pub fn corrected(
    layer: &Arc<VolumeLayer>,
    motion: &MeshSequence,
    clip: Option<&Arc<Clip>>,
) -> Result<MeshSequence, SequenceError> {
    let clip = clip.filter(|clip| clip.frame_count() == motion.frame_count()).cloned();
    let (layer, below) = (Arc::clone(layer), motion.clone());
    motion.map(move |frame, positions| {
        let transforms = clip.as_ref().map(|clip| clip.transforms(frame));
        let target = layer.target_of_frame(frame, &below);
        layer.apply_separated(positions, transforms, target, &mut Workspace::default());
        Ok(())
    })
}

impl VolumeLayer {
    /// Target of a frame of `motion`, relative to the rest volume. Time starts at the first frame of the motion.
    pub fn target_of_frame(&self, frame: usize, motion: &MeshSequence) -> f64 {
        self.options.target.at(frame as f64 / motion.frame_rate_hz())
    }
}
