//! The motion of a rig at another frame rate.
//!
//! Frame k of the result is at time k / rate, as in `MeshSequence::resample`. Between frames each joint moves
//! relative to its parent: rotations along the shorter arc, translations and scales linearly, so that limbs keep their
//! lengths. A transform with shear, and a joint below a collapsed parent, is interpolated as a matrix. Times that
//! coincide with a frame return that frame exactly.

use dermis_mesh::glam::DAffine3;
use dermis_mesh::{Clip, Rig, RigError};

/// Distance of a time from a frame, in frames, below which that frame is used.
const SNAP: f64 = 1e-5;
/// Tolerance of scale · rotation relative to the largest entry, for a matrix without shear.
const SHEAR_TOLERANCE: f64 = 1e-6;

/// Number of frames at `to_hz` of a motion with `frames` frames at `from_hz`.
pub fn resampled_count(frames: usize, from_hz: f64, to_hz: f64) -> usize {
    let last = frames.saturating_sub(1) as f64;
    // A frame past the end by rounding only is counted.
    (last * to_hz / from_hz + 1e-6).floor() as usize + 1
}

/// `clip`, a motion of `rig`, sampled at `frame_rate_hz`.
///
/// # Panics
/// If `clip` does not belong to `rig`.
pub fn resample_clip(rig: &Rig, clip: &Clip, frame_rate_hz: f64) -> Result<Clip, RigError> {
    if !(frame_rate_hz.is_finite() && frame_rate_hz > 0.0) {
        return Err(RigError::FrameRate(frame_rate_hz));
    }
    let order = rig.parents_first();
    let last = clip.frame_count() - 1;
    let mut transforms = Vec::new();
    let mut shape_weights = Vec::new();
    for frame in 0..resampled_count(clip.frame_count(), clip.frame_rate_hz(), frame_rate_hz) {
        let at = (frame as f64 * clip.frame_rate_hz() / frame_rate_hz).min(last as f64);
        let nearest = at.round();
        if (at - nearest).abs() < SNAP {
            transforms.extend_from_slice(clip.transforms(nearest as usize));
            shape_weights.extend_from_slice(clip.shape_weights(nearest as usize));
            continue;
        }
        let (before, t) = (at.floor() as usize, at.fract());
        transforms.extend(blend_poses(rig, &order, clip.transforms(before), clip.transforms(before + 1), t));
        let weights = clip.shape_weights(before).iter().zip(clip.shape_weights(before + 1));
        shape_weights.extend(weights.map(|(a, b)| a + (b - a) * t as f32));
    }
    Ok(Clip::new(rig, clip.name(), frame_rate_hz, transforms, shape_weights)?.starting_at(clip.start_seconds()))
}

fn blend_poses(rig: &Rig, order: &[usize], from: &[DAffine3], to: &[DAffine3], t: f64) -> Vec<DAffine3> {
    let mut blended = vec![DAffine3::IDENTITY; from.len()];
    for &joint in order {
        let parent = rig.joints()[joint].parent;
        let to_local = parent.map(|parent| (parent, from[parent].inverse(), to[parent].inverse()));
        blended[joint] = match to_local {
            Some((parent, from_parent, to_parent)) if from_parent.is_finite() && to_parent.is_finite() => {
                blended[parent] * blend(from_parent * from[joint], to_parent * to[joint], t)
            }
            _ => blend(from[joint], to[joint], t),
        };
    }
    blended
}

fn blend(from: DAffine3, to: DAffine3, t: f64) -> DAffine3 {
    let (from_scale, from_rotation, from_translation) = from.to_scale_rotation_translation();
    let (to_scale, to_rotation, to_translation) = to.to_scale_rotation_translation();
    let rebuilt = |scale, rotation, translation, whole: DAffine3| {
        let difference =
            DAffine3::from_scale_rotation_translation(scale, rotation, translation).matrix3 - whole.matrix3;
        let largest = |columns: [f64; 9]| columns.into_iter().fold(0.0, |most: f64, entry| most.max(entry.abs()));
        let error = largest(difference.to_cols_array());
        error <= SHEAR_TOLERANCE * largest(whole.matrix3.to_cols_array())
    };
    let translation = from_translation.lerp(to_translation, t);
    if rebuilt(from_scale, from_rotation, from_translation, from) && rebuilt(to_scale, to_rotation, to_translation, to)
    {
        let rotation = from_rotation.slerp(to_rotation, t);
        return DAffine3::from_scale_rotation_translation(from_scale.lerp(to_scale, t), rotation, translation);
    }
    DAffine3 { matrix3: from.matrix3 * (1.0 - t) + to.matrix3 * t, translation }
}

#[cfg(test)]
mod tests {
    use dermis_mesh::glam::{DMat3, DQuat, DVec3, Vec3};
    use dermis_mesh::{Joint, SkinWeights, TriMesh};

    use super::*;

    /// An upper and a lower arm of length 1; frame k bends both by k right angles.
    fn bending_arm(frames: usize) -> (Rig, Clip) {
        let mesh = TriMesh::new(vec![Vec3::ZERO], vec![]).unwrap();
        let elbow = DAffine3::from_translation(DVec3::X);
        let joints = vec![Joint::at("shoulder", None, DAffine3::IDENTITY), Joint::at("elbow", Some(0), elbow)];
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows([[(1, 1.0)]]), vec![]).unwrap();
        let turn = |k: usize| DAffine3::from_rotation_z(k as f64 * 90f64.to_radians());
        let transforms = (0..frames).flat_map(|k| [turn(k), turn(k) * elbow * turn(k)]).collect();
        let clip = Clip::new(&rig, "bend", 10.0, transforms, vec![]).unwrap();
        (rig, clip)
    }

    #[test]
    fn limbs_keep_their_length_between_frames() {
        let (rig, clip) = bending_arm(3);
        let fine = resample_clip(&rig, &clip, 40.0).unwrap();
        assert_eq!(fine.frame_count(), 9);
        for frame in 0..9 {
            let elbow = fine.transforms(frame)[1].translation;
            let angle = frame as f64 * 22.5f64.to_radians();
            assert!(elbow.distance(DVec3::new(angle.cos(), angle.sin(), 0.0)) < 1e-12, "frame {frame}: {elbow}");
        }
    }

    #[test]
    fn frames_at_sample_times_are_unchanged() {
        let (rig, clip) = bending_arm(5);
        let fine = resample_clip(&rig, &clip, 30.0).unwrap();
        let coarse = resample_clip(&rig, &clip, 5.0).unwrap();
        assert_eq!((fine.frame_count(), coarse.frame_count()), (13, 3));
        assert_eq!(fine.transforms(3), clip.transforms(1));
        assert_eq!(coarse.transforms(2), clip.transforms(4));
        assert_eq!(coarse.frame_rate_hz(), 5.0);
    }

    #[test]
    fn a_sheared_transform_is_interpolated_as_a_matrix() {
        let shear = |amount: f64| {
            let columns = DMat3::from_cols(DVec3::X, DVec3::new(amount, 1.0, 0.0), DVec3::Z);
            DAffine3 { matrix3: columns * DMat3::from_quat(DQuat::from_rotation_z(0.3)), translation: DVec3::ZERO }
        };
        let middle = blend(shear(0.0), shear(1.0), 0.5);
        let difference = middle.matrix3 - shear(0.5).matrix3;
        assert!(difference.to_cols_array().iter().all(|entry| entry.abs() < 1e-12));
    }

    #[test]
    fn rejects_a_rate_that_is_not_positive() {
        let (rig, clip) = bending_arm(2);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(resample_clip(&rig, &clip, rate), Err(RigError::FrameRate(_))));
        }
    }
}
