//! Frames of a clip with multi-weights, evaluated when they are read.
//!
//! Multi-weights replace the linear skin of the rig. Contributions of blend shapes and earlier layers are preserved as
//! the offset of each point from its position under the linear skin alone. Points whose home bone is singular in a
//! frame, so that its transform has no inverse, use the linear skin. Beyond the range of the examples, multi-weights fade
//! to the linear skin (`range`).

use std::sync::Arc;

use dermis_mesh::deformer::multi_weights::{MultiWeights, MultiWeightsError, Precision};
use dermis_mesh::pose::pose_into;
use dermis_mesh::{Clip, MeshSequence, Rig, RigError, SequenceError, TriMesh};
use glam::{DAffine3, Vec3};

use super::evaluate::{MultiPose, MultiPoser};
use super::range::{Fading, TrainedRange, fade};

/// Error of [`play`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// The multi-weights are invalid, or belong to another mesh or rig.
    #[error(transparent)]
    Weights(#[from] MultiWeightsError),
    /// The clip does not belong to the rig.
    #[error(transparent)]
    Rig(#[from] RigError),
    /// The clip has no frames.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
}

/// Frames of `clip` with `weights` instead of the linear skin of `rig`. `below` are the same frames with the
/// contributions of the rig and of earlier layers, if these are more than the linear skin. Beyond `range`, the weights
/// fade to the linear skin.
pub fn play(
    weights: &MultiWeights,
    mesh: &Arc<TriMesh>,
    rig: &Arc<Rig>,
    clip: &Arc<Clip>,
    below: Option<&MeshSequence>,
    range: Option<TrainedRange>,
) -> Result<MeshSequence, PlayError> {
    let poser = MultiPoser::new(weights, mesh, rig.joints(), Precision::Single)?;
    let linear = Linear { mesh: Arc::clone(mesh), rig: Arc::clone(rig), bare: without_shapes(rig, clip)? };
    let fading = range.map(|range| Fading::new(range, weights, mesh, rig.joints()));
    let played = Played { poser, clip: Arc::clone(clip), linear, below: below.cloned(), fading };
    let read = move |frame: usize, out: &mut [Vec3]| played.read_into(frame, out);
    let sequence = MeshSequence::from_fn(Arc::clone(mesh), clip.frame_count(), clip.frame_rate_hz(), read)?;
    Ok(sequence.starting_at(clip.start_seconds()).named(clip.name()))
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
    linear: Linear,
    below: Option<MeshSequence>,
    fading: Option<Fading>,
}

/// Positions under the linear skin alone.
#[derive(Debug)]
struct Linear {
    mesh: Arc<TriMesh>,
    rig: Arc<Rig>,
    bare: Clip,
}

impl Played {
    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let transforms = self.clip.transforms(frame);
        let mut pose = MultiPose::default();
        self.poser.set_bones(&mut pose, transforms);
        self.poser.pose_into(&mut pose, out, None);
        let singular = self.poser.singular_points(transforms);
        let skinning = self.linear.skinning(transforms);
        let fading = self.fading.as_ref().filter(|fading| fading.leaves_range(&skinning));
        if singular.is_empty() && self.below.is_none() && fading.is_none() {
            return Ok(());
        }
        let linear = self.linear.frame(frame);
        for point in singular {
            out[point] = linear[point];
        }
        if let Some(parts) = fading.and_then(|fading| fading.parts(&skinning, out, |point| linear[point])) {
            fade(out, |point| linear[point], &parts);
        }
        if let Some(below) = &self.below {
            for ((out, below), linear) in out.iter_mut().zip(&*below.frame(frame)?).zip(&linear) {
                *out += *below - *linear;
            }
        }
        Ok(())
    }
}

impl Linear {
    /// Transforms of the joints, applied to the rest mesh.
    fn skinning(&self, transforms: &[DAffine3]) -> Vec<DAffine3> {
        let joints = self.rig.joints().iter().zip(transforms);
        joints.map(|(joint, transform)| *transform * joint.inverse_bind).collect()
    }

    fn frame(&self, frame: usize) -> Vec<Vec3> {
        let mut points = vec![Vec3::ZERO; self.mesh.point_count()];
        pose_into(&self.mesh, &self.rig, &self.bare, frame, &mut points);
        points
    }
}

#[cfg(test)]
mod tests {
    use dermis_mesh::{Joint, SkinWeights};
    use glam::DVec3;

    use super::*;

    #[test]
    fn points_of_a_singular_home_bone_use_the_linear_skin() {
        let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]]).unwrap());
        let joints = ["a", "b"].map(|name| Joint::at(name, None, DAffine3::IDENTITY)).to_vec();
        let halves = || SkinWeights::from_rows(vec![vec![(0, 0.5), (1, 0.5)]; 3]);
        let rig = Arc::new(Rig::new(&mesh, joints, halves(), vec![]).unwrap());
        // The linear skin as multi-weights; the home of the last point is the second bone.
        let entry = |point: Vec3| [[0.5 * point.x, 0.5 * point.y, 0.5 * point.z, 0.5]; 3];
        let weights = MultiWeights {
            home: vec![0, 0, 1],
            offsets: vec![0, 2, 4, 6],
            bones: vec![0, 1, 0, 1, 0, 1],
            weights: mesh.points().iter().flat_map(|&point| [entry(point); 2]).collect(),
            ..MultiWeights::default()
        };
        let moved = DAffine3::from_translation(DVec3::Z);
        let collapsed = DAffine3::from_scale(DVec3::ZERO);
        let clip = Arc::new(Clip::new(&rig, "", 24.0, vec![moved, collapsed], vec![]).unwrap());
        let played = play(&weights, &mesh, &rig, &clip, None, None).unwrap();
        let expected = Linear { bare: Clip::clone(&clip), mesh, rig }.frame(0);
        for (found, expected) in played.frame(0).unwrap().iter().zip(expected) {
            assert!(found.distance(expected) < 1e-6, "{found} {expected}");
        }
    }
}
