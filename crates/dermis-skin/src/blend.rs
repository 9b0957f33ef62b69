//! Blended transform of a point: `Σ_b w_b T_b` (SMA, Eq. 2), in f64. [`crate::pose`] is its real-time counterpart.

use dermis_mesh::{Clip, Rig};
use glam::{DAffine3, DMat3, DVec3};

/// Transform of the rest pose into the frame, per bone.
pub(crate) fn palette(rig: &Rig, clip: &Clip, frame: usize) -> Vec<DAffine3> {
    rig.joints().iter().zip(clip.transforms(frame)).map(|(joint, transform)| *transform * joint.inverse_bind).collect()
}

/// `Σ_b w_b T_b` of one point.
pub(crate) fn blend(rig: &Rig, palette: &[DAffine3], point: usize) -> DAffine3 {
    let zero = DAffine3 { matrix3: DMat3::ZERO, translation: DVec3::ZERO };
    rig.weights().row(point).fold(zero, |sum, (bone, weight)| {
        let (weight, bone) = (f64::from(weight), &palette[bone as usize]);
        DAffine3 {
            matrix3: sum.matrix3 + bone.matrix3 * weight, // Eq. 2
            translation: sum.translation + bone.translation * weight,
        }
    })
}
