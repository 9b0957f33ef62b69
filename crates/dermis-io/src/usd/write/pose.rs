//! Clips in the form of `UsdSkel`: translation, rotation and scale of each joint relative to its parent.
//!
//! Translations and rotations are stored in single, scales in *half* precision. Joint transforms M can be changed by
//! any constant C if the inverse binds change with them, `M B⁻¹ = (M C)(C⁻¹ B⁻¹)`: C removes the scale of the first
//! frame, so that constant scales (a figure in centimetres) lose no precision. Each joint is decomposed relative to its
//! rounded parent, so that errors do not accumulate along chains. The rounded transforms are then compared with the
//! exact ones on the corners of the bounding box of the mesh, to detect shear, or a scale that half precision cannot
//! represent.

use std::collections::HashSet;
use std::sync::Arc;

use dermis_mesh::{Clip, Rig, TriMesh};
use glam::{DAffine3, DVec3, Quat, Vec3};
use openusd::gf::f16;

/// Maximum error of a corner of the box, relative to the diagonal of the box: half of a visible error.
const TOLERANCE: f64 = 5e-6;

/// A rig's joints and clips, ready to be written.
pub(super) struct Posable {
    /// The joints, each after its parent.
    pub(super) order: Vec<usize>,
    /// Bind transforms, in that order.
    pub(super) bind: Vec<DAffine3>,
    /// Transforms of the stored pose relative to the parent, in that order.
    pub(super) rest: Vec<DAffine3>,
    /// The frames of each clip.
    pub(super) clips: Vec<Vec<Pose>>,
    /// The joints that are not helper joints, if there are helper joints.
    pub(super) bones: Option<Vec<usize>>,
}

/// All joints in one frame, relative to their parents.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pose {
    pub(super) translations: Vec<Vec3>,
    pub(super) rotations: Vec<Quat>,
    pub(super) scales: Vec<Vec3>,
}

/// The clips of `rig` without its constant scales; `None` if they cannot be expressed within the tolerance.
pub(super) fn posable(mesh: &TriMesh, rig: &Rig, clips: &[Arc<Clip>]) -> Option<Posable> {
    let scales: Vec<DVec3> = (0..rig.joints().len()).map(|joint| constant_scale(rig, clips, joint)).collect();
    with_scales(mesh, rig, clips, &scales)
}

/// The clips of `rig` with all its scales.
pub(super) fn posable_as_given(mesh: &TriMesh, rig: &Rig, clips: &[Arc<Clip>]) -> Option<Posable> {
    with_scales(mesh, rig, clips, &vec![DVec3::ONE; rig.joints().len()])
}

fn with_scales(mesh: &TriMesh, rig: &Rig, clips: &[Arc<Clip>], scales: &[DVec3]) -> Option<Posable> {
    let order = rig.parents_first();
    let inverse_bind = |joint: usize| DAffine3::from_scale(scales[joint]) * rig.joints()[joint].inverse_bind;
    let bind_of = |joint: usize| inverse_bind(joint).inverse();
    let bind: Vec<DAffine3> = order.iter().map(|&joint| bind_of(joint)).collect();
    let rest_of = |joint: usize| match rig.stored_pose() {
        Some(pose) => pose.transforms[joint] * DAffine3::from_scale(scales[joint].recip()),
        None => bind_of(joint),
    };
    let above = |joint: usize| match rig.stored_pose() {
        Some(_) => rest_of(joint).inverse(),
        None => inverse_bind(joint),
    };
    let local =
        |&joint: &usize| rig.joints()[joint].parent.map_or(rest_of(joint), |parent| above(parent) * rest_of(joint));
    let rest: Vec<DAffine3> = order.iter().map(local).collect();
    if !bind.iter().chain(&rest).all(DAffine3::is_finite) {
        return None;
    }
    let check = Check::new(mesh, rig);
    let clips = clips
        .iter()
        .map(|clip| {
            let frames = 0..clip.frame_count();
            frames.map(|frame| pose(rig, &order, scales, clip.transforms(frame), &check)).collect::<Option<Vec<Pose>>>()
        })
        .collect::<Option<Vec<_>>>()?;
    Some(Posable { order, bind, rest, clips, bones: None })
}

/// The scale that C removes from a joint.
fn constant_scale(rig: &Rig, clips: &[Arc<Clip>], joint: usize) -> DVec3 {
    const UNIT: f64 = 1e-6;
    let first = clips.first().map_or_else(|| rig.joints()[joint].bind(), |clip| clip.transforms(0)[joint]);
    let (scale, _, _) = first.to_scale_rotation_translation();
    let is_usable = scale.is_finite() && scale.abs().min_element() > UNIT;
    if !is_usable || scale.abs_diff_eq(DVec3::ONE, UNIT) { DVec3::ONE } else { scale }
}

fn pose(rig: &Rig, order: &[usize], scales: &[DVec3], transforms: &[DAffine3], check: &Check) -> Option<Pose> {
    let mut rounded = vec![DAffine3::IDENTITY; order.len()];
    let mut pose = Pose { translations: Vec::new(), rotations: Vec::new(), scales: Vec::new() };
    for &joint in order {
        let exact = transforms[joint] * DAffine3::from_scale(scales[joint].recip());
        let parent = rig.joints()[joint].parent.map_or(DAffine3::IDENTITY, |parent| rounded[parent]);
        let (scale, rotation, translation) = (parent.inverse() * exact).to_scale_rotation_translation();
        if !(scale.is_finite() && rotation.is_finite() && translation.is_finite()) {
            return None;
        }
        let scale = Vec3::from_array(scale.to_array().map(|scale| f16::from_f64(scale).to_f32()));
        let (rotation, translation) = (rotation.as_quat().normalize(), translation.as_vec3());
        let turned = DAffine3::from_quat(rotation.as_dquat().normalize());
        rounded[joint] = parent
            * DAffine3::from_translation(translation.as_dvec3())
            * turned
            * DAffine3::from_scale(scale.as_dvec3());
        pose.translations.push(translation);
        pose.rotations.push(rotation);
        pose.scales.push(scale);
    }
    let back = |joint: usize| rounded[joint] * DAffine3::from_scale(scales[joint]);
    check.passes(rig, transforms, back).then_some(pose)
}

/// The corners of the mesh's box, and the joints that move any point.
struct Check {
    corners: Vec<DVec3>,
    used: Vec<usize>,
}

impl Check {
    fn new(mesh: &TriMesh, rig: &Rig) -> Self {
        let (low, high) = mesh.bounds();
        let corner = |index: u32| {
            let pick = |axis: usize| if index >> axis & 1 == 1 { high[axis] } else { low[axis] };
            Vec3::new(pick(0), pick(1), pick(2)).as_dvec3()
        };
        let bound: HashSet<u32> = rig.weights().rows().flatten().filter(|(_, w)| *w != 0.0).map(|(j, _)| j).collect();
        let used = (0..rig.joints().len()).filter(|joint| bound.contains(&(*joint as u32))).collect();
        Self { corners: (0..8).map(corner).collect(), used }
    }

    fn passes(&self, rig: &Rig, exact: &[DAffine3], rounded: impl Fn(usize) -> DAffine3) -> bool {
        let (mut low, mut high, mut worst) = (DVec3::INFINITY, DVec3::NEG_INFINITY, 0f64);
        for &joint in &self.used {
            let inverse_bind = rig.joints()[joint].inverse_bind;
            let (exact, rounded) = (exact[joint] * inverse_bind, rounded(joint) * inverse_bind);
            for &corner in &self.corners {
                let (exact, rounded) = (exact.transform_point3(corner), rounded.transform_point3(corner));
                (low, high) = (low.min(exact), high.max(exact));
                worst = worst.max(exact.distance(rounded));
            }
        }
        self.used.is_empty() || worst <= TOLERANCE * (high - low).length()
    }
}

#[cfg(test)]
mod tests {
    use dermis_mesh::{Joint, SkinWeights};
    use glam::{DMat3, DQuat};

    use super::*;

    fn one_joint(transforms: Vec<DAffine3>) -> Option<Posable> {
        let mesh = TriMesh::new(vec![Vec3::ZERO, Vec3::ONE], vec![]).unwrap();
        let joints = vec![Joint::at("joint", None, DAffine3::IDENTITY)];
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows([[(0, 1.0)], [(0, 1.0)]]), vec![]).unwrap();
        let clip = Clip::new(&rig, "clip", 24.0, transforms, vec![]).unwrap();
        posable(&mesh, &rig, &[Arc::new(clip)])
    }

    #[test]
    fn a_constant_scale_is_removed() {
        let scaled = |angle: f64| {
            DAffine3::from_scale_rotation_translation(DVec3::splat(0.01), DQuat::from_rotation_x(angle), DVec3::Y)
        };
        let posable = one_joint(vec![scaled(0.0), scaled(1.0)]).unwrap();
        assert!(posable.clips[0].iter().all(|pose| pose.scales == [Vec3::ONE]));
    }

    #[test]
    fn shear_and_fine_scales_cannot_be_expressed() {
        let sheared = DMat3::from_cols(DVec3::X, DVec3::new(0.5, 1.0, 0.0), DVec3::Z);
        assert!(one_joint(vec![DAffine3::from_mat3(sheared)]).is_none());
        assert!(one_joint(vec![DAffine3::IDENTITY, DAffine3::from_scale(DVec3::splat(1.234_567))]).is_none());
        assert!(one_joint(vec![DAffine3::IDENTITY, DAffine3::from_scale(DVec3::splat(1.5))]).is_some());
    }
}
