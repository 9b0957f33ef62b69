//! A clip played by multi-weights, frame by frame as it is read.
//!
//! Multi-weights stand for the rig's linear skin. What lies below besides it (blend shapes, earlier layers) is kept as
//! the offset of each point from where the linear skin alone would put it.

use std::sync::Arc;

use dermis_mesh::pose::pose_into;
use dermis_mesh::{Clip, FrameSource, MeshSequence, Rig, RigError, SequenceError, TriMesh};
use glam::Vec3;

use super::check::MultiWeightsError;
use super::evaluate::{MultiPose, MultiPoser, Precision};
use super::multi_weights::MultiWeights;

/// Why multi-weights cannot play a clip.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// They are not whole, or of another mesh or rig.
    #[error(transparent)]
    Weights(#[from] MultiWeightsError),
    /// The clip is not one of the rig.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// There are no frames.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
}

/// The frames of `clip` with `weights` in the place of the linear skin of `rig`. `below` are the same frames as the rig
/// and earlier layers give them, where that is more than the linear skin.
pub fn play(
    weights: &MultiWeights,
    mesh: &Arc<TriMesh>,
    rig: &Arc<Rig>,
    clip: &Arc<Clip>,
    below: Option<&MeshSequence>,
) -> Result<MeshSequence, PlayError> {
    let poser = MultiPoser::new(weights, mesh, rig.joints(), Precision::Single)?;
    let offsets = match below {
        Some(below) => Some(Offsets { rig: Arc::clone(rig), bare: without_shapes(rig, clip)?, below: below.clone() }),
        None => None,
    };
    let frames = Played { poser, clip: Arc::clone(clip), offsets };
    let sequence = MeshSequence::from_source(Arc::clone(mesh), Arc::new(frames), clip.frame_rate_hz())?;
    Ok(sequence.starting_at(clip.start_seconds()))
}

fn without_shapes(rig: &Rig, clip: &Clip) -> Result<Clip, RigError> {
    let frames = 0..clip.frame_count();
    let transforms = frames.flat_map(|frame| clip.transforms(frame).iter().copied()).collect();
    let weights = vec![0.0; rig.shapes().len() * clip.frame_count()];
    Clip::new(rig, clip.name(), clip.frame_rate_hz(), transforms, weights)
}

#[derive(Debug)]
struct Played {
    poser: MultiPoser,
    clip: Arc<Clip>,
    offsets: Option<Offsets>,
}

/// What lies below, and the linear skin that it is measured from.
#[derive(Debug)]
struct Offsets {
    rig: Arc<Rig>,
    bare: Clip,
    below: MeshSequence,
}

impl FrameSource for Played {
    fn frame_count(&self) -> usize {
        self.clip.frame_count()
    }

    fn point_count(&self) -> usize {
        self.poser.point_count()
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let mut pose = MultiPose::default();
        self.poser.set_bones(&mut pose, self.clip.transforms(frame));
        self.poser.pose_into(&mut pose, out, None);
        match &self.offsets {
            Some(offsets) => offsets.add(frame, out),
            None => Ok(()),
        }
    }
}

impl Offsets {
    fn add(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let below = self.below.frame(frame)?;
        let mut linear = vec![Vec3::ZERO; out.len()];
        pose_into(self.below.mesh(), &self.rig, &self.bare, frame, &mut linear);
        for ((out, below), linear) in out.iter_mut().zip(&*below).zip(&linear) {
            *out += *below - *linear;
        }
        Ok(())
    }
}
