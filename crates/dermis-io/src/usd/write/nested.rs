//! Joints whose motion one `UsdSkel` joint cannot express, as nested joints.
//!
//! A `UsdSkel` joint stores its scale in half precision and cannot represent shear. The transforms of nested joints are
//! multiplied, which removes both limits. A scale `s` becomes the product of two half-precision numbers, `s₁` in a
//! joint above and `s₂ ≈ s / s₁` below, with s₁ chosen among those near s so that the product is exact to a few 1e-6.
//! With the polar decomposition `F = R (V Σ Vᵀ)` of its local transform, a sheared joint becomes four joints: (v, R)
//! above (V, Σ₁) above Σ₂ above Vᵀ, as flexible bones are in glTF ([`polar_factors`]). The joint that moves points, and
//! that is the parent of others, is the lowest. The others are marked for the reader of dermis.

use std::sync::Arc;

use dermis_mesh::{Clip, Joint, Rig, RigPose, SkinWeights, TriMesh};
use dermis_skin::export::{PolarFactors, polar_factors};
use glam::{DAffine3, DMat3, DVec3};
use openusd::gf::f16;

use crate::error::Error;

/// Cosine below which columns are considered orthogonal, and relative change below which scales are considered
/// constant.
const ROUNDING: f64 = 1e-6;
/// Error of the product of two half-precision factors below which the search ends.
const EXACT: f64 = 1e-6;
/// Number of half-precision numbers that are tried on either side of a scale.
const NEIGHBOURS: i32 = 600;

/// A rig with additional joints that moves points in the same way.
pub(super) struct Nested {
    pub(super) rig: Rig,
    pub(super) clips: Vec<Arc<Clip>>,
    /// The joints that are joints of the other rig, in its order.
    pub(super) bones: Vec<usize>,
}

/// Requirements of a joint.
#[derive(Clone, Copy, PartialEq)]
enum Need {
    Nothing,
    Scale,
    Shear,
}

/// `rig` with the joints above its own that its `clips` need.
pub(super) fn nested(mesh: &TriMesh, rig: &Rig, clips: &[Arc<Clip>]) -> Result<Nested, Error> {
    let lengths: Vec<usize> = clips.iter().map(|clip| clip.frame_count()).collect();
    let mut joints: Vec<Joint> = Vec::new();
    let mut motions: Vec<Vec<DAffine3>> = Vec::new();
    let mut bones = vec![0; rig.joints().len()];
    // The joint of each helper, which has the same transform at rest.
    let mut owners = Vec::new();
    for joint in rig.parents_first() {
        let Joint { name, parent, inverse_bind } = &rig.joints()[joint];
        let own: Vec<DAffine3> = frames(clips).map(|pose| pose[joint]).collect();
        let above: Vec<DAffine3> =
            parent.map_or_else(|| vec![DAffine3::IDENTITY; own.len()], |parent| motions[bones[parent]].clone());
        let mut hangs_from = parent.map(|parent| bones[parent]);
        for (suffix, motion) in helpers(&own, &above, &lengths) {
            let name = format!("{name}.{suffix}");
            joints.push(Joint { name, parent: hangs_from, inverse_bind: *inverse_bind });
            owners.push(joint);
            hangs_from = Some(motions.len());
            motions.push(motion);
        }
        bones[joint] = motions.len();
        joints.push(Joint { name: name.clone(), parent: hangs_from, inverse_bind: *inverse_bind });
        owners.push(joint);
        motions.push(own);
    }
    let rows = rig.weights().rows().map(|row| row.map(|(joint, weight)| (bones[joint as usize] as u32, weight)));
    let mut nested = Rig::new(mesh, joints, SkinWeights::from_rows(rows), rig.shapes().to_vec())?;
    if let Some(RigPose { transforms, shape_weights }) = rig.stored_pose() {
        let transforms = Arc::new(owners.iter().map(|&joint| transforms[joint]).collect());
        nested = nested.with_stored_pose(RigPose { transforms, shape_weights: shape_weights.clone() })?;
    }
    let mut first = 0;
    let mut parts = Vec::with_capacity(clips.len());
    for clip in clips {
        let range = first..first + clip.frame_count();
        first = range.end;
        let transforms = range.flat_map(|frame| motions.iter().map(move |motion| motion[frame])).collect();
        let weights = (0..clip.frame_count()).flat_map(|frame| clip.shape_weights(frame).iter().copied()).collect();
        let part = Clip::new(&nested, clip.name(), clip.frame_rate_hz(), transforms, weights)?;
        parts.push(Arc::new(part.starting_at(clip.start_seconds())));
    }
    Ok(Nested { rig: nested, clips: parts, bones })
}

fn frames(clips: &[Arc<Clip>]) -> impl Iterator<Item = &[DAffine3]> {
    clips.iter().flat_map(|clip| (0..clip.frame_count()).map(|frame| clip.transforms(frame)))
}

/// Name suffixes and motions of the joints to be inserted between a joint with the motion `own` and its parent with the
/// motion `above`, in clips of `lengths` frames.
fn helpers(own: &[DAffine3], above: &[DAffine3], lengths: &[usize]) -> Vec<(&'static str, Vec<DAffine3>)> {
    let locals: Vec<DAffine3> = own.iter().zip(above).map(|(own, above)| above.inverse() * *own).collect();
    let without = |own: DAffine3, fine: DVec3| own * DAffine3::from_scale(fine.recip());
    match need(&locals) {
        Need::Nothing => Vec::new(),
        Need::Scale => {
            let fine = locals.iter().map(|local| fine_part(column_lengths(local.matrix3)));
            vec![("stretch", own.iter().zip(fine).map(|(own, fine)| without(*own, fine)).collect())]
        }
        Need::Shear => {
            let mut rest = locals.as_slice();
            let mut clips = Vec::with_capacity(lengths.len());
            for &length in lengths {
                let (clip, later) = rest.split_at(length);
                clips.push(clip.to_vec());
                rest = later;
            }
            let factors = polar_factors(&clips).concat();
            let rigid = above.iter().zip(&factors).map(|(above, PolarFactors { translation, r, .. })| {
                *above * DAffine3::from_rotation_translation(*r, *translation)
            });
            let unturned = own.iter().zip(&factors).map(|(own, PolarFactors { v, .. })| *own * DAffine3::from_quat(*v));
            let unturned: Vec<DAffine3> = unturned.collect();
            let fine = factors.iter().map(|factors| fine_part(factors.sigma));
            let stretch = unturned.iter().zip(fine).map(|(own, fine)| without(*own, fine)).collect();
            vec![("rigid", rigid.collect()), ("stretch", stretch), ("fine", unturned)]
        }
    }
}

fn need(locals: &[DAffine3]) -> Need {
    // Below a joint of zero scale the local transform is undefined.
    if !locals.iter().all(DAffine3::is_finite) {
        return Need::Nothing;
    }
    let lengths = || locals.iter().map(|local| column_lengths(local.matrix3));
    let sheared = |(local, lengths): (&DAffine3, DVec3)| {
        let DMat3 { x_axis, y_axis, z_axis } = local.matrix3;
        let cosines = [
            x_axis.dot(y_axis) / (lengths.x * lengths.y),
            y_axis.dot(z_axis) / (lengths.y * lengths.z),
            z_axis.dot(x_axis) / (lengths.z * lengths.x),
        ];
        !cosines.iter().all(|cosine| cosine.abs() <= ROUNDING)
    };
    if locals.iter().zip(lengths()).any(sheared) {
        return Need::Shear;
    }
    let is_one = |lengths: DVec3| lengths.abs_diff_eq(DVec3::ONE, ROUNDING);
    if lengths().all(is_one) { Need::Nothing } else { Need::Scale }
}

fn column_lengths(matrix: DMat3) -> DVec3 {
    DVec3::new(matrix.x_axis.length(), matrix.y_axis.length(), matrix.z_axis.length())
}

/// The factor of a scale, near 1, that is assigned to the lower joint.
fn fine_part(scale: DVec3) -> DVec3 {
    DVec3::from(scale.to_array().map(|scale| fine_half(scale.abs())))
}

fn fine_half(scale: f64) -> f64 {
    let nearest = i32::from(f16::from_f64(scale).to_bits());
    let mut best = (f64::INFINITY, 1.0);
    // From the nearest outwards, so that neighbouring frames have similar factors.
    for step in 0..2 * NEIGHBOURS {
        let offset = if step % 2 == 0 { step / 2 } else { -(step + 1) / 2 };
        let Ok(bits) = u16::try_from(nearest + offset) else { continue };
        let coarse = f16::from_bits(bits).to_f64();
        let fine = f16::from_f64(scale / coarse).to_f64();
        let error = (coarse * fine / scale - 1.0).abs();
        // A scale near zero is not divided.
        if fine > 0.5 && error < best.0 {
            best = (error, fine);
        }
        if best.0 <= EXACT {
            break;
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_half_precision_factors_represent_any_scale() {
        for k in 1..2000 {
            let scale = 0.003 * f64::from(k) + 1e-5;
            let fine = fine_half(scale);
            let product = f16::from_f64(scale / fine).to_f64() * fine;
            assert!((product / scale - 1.0).abs() < 8e-6, "{scale} is {product}");
            assert!((0.5..2.0).contains(&fine), "{fine}");
        }
        assert_eq!(fine_half(0.0), 1.0);
    }
}
