//! The layer over a whole motion, frame by frame as it is read.

use std::sync::Arc;

use dermis_mesh::{Clip, MeshSequence, SequenceError};

use super::{VolumeLayer, Workspace};

/// The frames of `motion` with `layer` on top, computed when they are read; `clip` poses the joints of the same frames.
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
        layer.apply(positions, transforms, target, &mut Workspace::default());
        Ok(())
    })
}

impl VolumeLayer {
    /// The factor of the rest volume that a frame of `motion` should reach; time runs from the motion's first frame.
    pub fn target_of_frame(&self, frame: usize, motion: &MeshSequence) -> f64 {
        self.options.target.at(frame as f64 / motion.frame_rate_hz())
    }
}
