//! End joints: joints without points that mark the end of their parent bone.
//!
//! Programs draw a bone from its joint to its children. They guess the length of a bone without children: Blender uses
//! that of its parent or, if it has none, its distance from the origin. Each such bone that moves points therefore gets
//! an end joint on its y axis, at the end of the points that it moves.

use std::sync::Arc;

use dermis_mesh::{Clip, Joint, Rig, RigError, RigPose, SkinWeights, TriMesh};
use glam::{DAffine3, DVec3};

/// Suffix of the names of end joints.
const SUFFIX: &str = "_end";
/// Fraction of the weight of a bone that lies within its length.
const WITHIN: f64 = 0.95;
/// Minimum length of a bone, relative to the diagonal of the mesh.
const MIN_LENGTH: f64 = 0.005;

/// Marks the end joints of `rig`: without joints below them and without points, with names of the form that
/// [`with_end_joints`] gives.
pub fn end_joints(rig: &Rig) -> Vec<bool> {
    let joints = rig.joints();
    let mut ends: Vec<bool> = joints.iter().map(|joint| joint.name.ends_with(SUFFIX)).collect();
    for parent in joints.iter().filter_map(|joint| joint.parent) {
        ends[parent] = false;
    }
    for (joint, _) in rig.weights().rows().flatten().filter(|(_, weight)| *weight != 0.0) {
        ends[joint as usize] = false;
    }
    ends
}

/// Bone of an end joint: its parent, or the bone of its name if a file has no joint above it, as for nested nodes.
pub(super) fn owner(rig: &Rig, end: usize) -> Option<usize> {
    let Joint { name, parent, .. } = &rig.joints()[end];
    parent.or_else(|| rig.joints().iter().position(|joint| Some(joint.name.as_str()) == name.strip_suffix(SUFFIX)))
}

/// Returns `rig` and `clips` with an end joint below each bone that moves points and has no joints below it.
pub fn with_end_joints(mesh: &TriMesh, rig: &Rig, clips: &[Arc<Clip>]) -> Result<(Arc<Rig>, Vec<Arc<Clip>>), RigError> {
    let lengths = lengths(mesh, rig);
    let mut joints = rig.joints().to_vec();
    let mut offsets = Vec::new();
    for (parent, length) in lengths.into_iter().enumerate().filter_map(|(joint, length)| Some((joint, length?))) {
        let offset = DAffine3::from_translation(DVec3::Y * length);
        let joint = &rig.joints()[parent];
        joints.push(Joint::at(unique_name(&joints, &joint.name), Some(parent), joint.bind() * offset));
        offsets.push((parent, offset));
    }
    let longer = |transforms: &[DAffine3]| -> Vec<DAffine3> {
        let ends = offsets.iter().map(|&(parent, offset)| transforms[parent] * offset);
        transforms.iter().copied().chain(ends).collect()
    };
    let mut result = Rig::new(mesh, joints, rig.weights().clone(), rig.shapes().to_vec())?;
    if let Some(RigPose { transforms, shape_weights }) = rig.stored_pose() {
        let transforms = Arc::new(longer(transforms));
        result = result.with_stored_pose(RigPose { transforms, shape_weights: shape_weights.clone() })?;
    }
    let clips = clips.iter().map(|clip| {
        let frames = 0..clip.frame_count();
        let transforms = frames.clone().flat_map(|frame| longer(clip.transforms(frame))).collect();
        let weights = frames.flat_map(|frame| clip.shape_weights(frame).iter().copied()).collect();
        let clip_with_ends = Clip::new(&result, clip.name(), clip.frame_rate_hz(), transforms, weights)?;
        Ok(Arc::new(clip_with_ends.starting_at(clip.start_seconds())))
    });
    let clips = clips.collect::<Result<Vec<_>, RigError>>()?;
    Ok((Arc::new(result), clips))
}

/// Returns `rig` and `clips` without end joints.
pub fn without_end_joints(
    mesh: &TriMesh,
    rig: &Rig,
    clips: &[Arc<Clip>],
) -> Result<(Arc<Rig>, Vec<Arc<Clip>>), RigError> {
    let ends = end_joints(rig);
    let kept: Vec<usize> = (0..ends.len()).filter(|&joint| !ends[joint]).collect();
    let place = |joint: usize| kept.binary_search(&joint).unwrap_or(0);
    let joint = |&joint: &usize| Joint { parent: rig.joints()[joint].parent.map(place), ..rig.joints()[joint].clone() };
    let joints = kept.iter().map(joint).collect();
    let row = |row: Vec<(u32, f32)>| -> Vec<(u32, f32)> {
        row.into_iter().map(|(joint, weight)| (place(joint as usize) as u32, weight)).collect()
    };
    let weights = SkinWeights::from_rows(rig.weights().rows().map(|entries| row(entries.collect())));
    let shorter = |transforms: &[DAffine3]| -> Vec<DAffine3> { kept.iter().map(|&joint| transforms[joint]).collect() };
    let mut result = Rig::new(mesh, joints, weights, rig.shapes().to_vec())?;
    if let Some(RigPose { transforms, shape_weights }) = rig.stored_pose() {
        let transforms = Arc::new(shorter(transforms));
        result = result.with_stored_pose(RigPose { transforms, shape_weights: shape_weights.clone() })?;
    }
    let clips = clips.iter().map(|clip| {
        let frames = 0..clip.frame_count();
        let transforms = frames.clone().flat_map(|frame| shorter(clip.transforms(frame))).collect();
        let weights = frames.flat_map(|frame| clip.shape_weights(frame).iter().copied()).collect();
        let shorter_clip = Clip::new(&result, clip.name(), clip.frame_rate_hz(), transforms, weights)?;
        Ok(Arc::new(shorter_clip.starting_at(clip.start_seconds())))
    });
    let clips = clips.collect::<Result<Vec<_>, RigError>>()?;
    Ok((Arc::new(result), clips))
}

/// Length of each bone that needs an end joint, in its own units.
fn lengths(mesh: &TriMesh, rig: &Rig) -> Vec<Option<f64>> {
    let joints = rig.joints();
    let mut is_leaf = vec![true; joints.len()];
    for parent in joints.iter().filter_map(|joint| joint.parent) {
        is_leaf[parent] = false;
    }
    let mut heights: Vec<Vec<(f64, f64)>> = vec![Vec::new(); joints.len()];
    for (point, row) in mesh.points().iter().zip(rig.weights().rows()) {
        for (joint, weight) in row.filter(|(joint, weight)| is_leaf[*joint as usize] && *weight != 0.0) {
            let height = joints[joint as usize].inverse_bind.transform_point3(point.as_dvec3()).y;
            heights[joint as usize].push((height, f64::from(weight.abs())));
        }
    }
    let shortest = MIN_LENGTH * f64::from(mesh.diagonal());
    let length = |mut heights: Vec<(f64, f64)>| {
        heights.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = heights.iter().map(|entry| entry.1).sum();
        let mut sum = 0.0;
        let within = heights.iter().find(|entry| {
            sum += entry.1;
            sum >= WITHIN * total
        });
        let height = within.map(|entry| entry.0)?;
        (height.is_finite() && shortest > 0.0).then(|| height.max(shortest))
    };
    heights.into_iter().map(length).collect()
}

/// Name of the end joint of the bone `name` that no other joint has.
fn unique_name(joints: &[Joint], name: &str) -> String {
    let taken = |candidate: &str| joints.iter().any(|joint| joint.name == candidate);
    let mut stem = name.to_owned();
    while taken(&format!("{stem}{SUFFIX}")) {
        stem.push('_');
    }
    format!("{stem}{SUFFIX}")
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    /// A row of points along x, the first half moved by a root and the second by its child.
    fn arm() -> (TriMesh, Rig, Vec<Arc<Clip>>) {
        let mesh = TriMesh::new((0..20).map(|k| Vec3::X * k as f32 * 0.1).collect(), vec![]).unwrap();
        let along = DAffine3::from_rotation_z(-std::f64::consts::FRAC_PI_2);
        let joints = vec![
            Joint::at("upper", None, along),
            Joint::at("lower", Some(0), DAffine3::from_translation(DVec3::X) * along),
        ];
        let weights = SkinWeights::from_rows((0..20).map(|k| [(u32::from(k >= 10), 1.0)]));
        let rig = Rig::new(&mesh, joints, weights, vec![]).unwrap();
        let pose = |turn: f64| {
            rig.joints().iter().map(move |joint| DAffine3::from_rotation_z(turn) * joint.bind()).collect::<Vec<_>>()
        };
        let clip = Clip::new(&rig, "clip", 24.0, [pose(0.0), pose(1.0)].concat(), vec![]).unwrap();
        (mesh, rig, vec![Arc::new(clip)])
    }

    #[test]
    fn end_joints_are_at_the_end_of_the_points_and_can_be_removed() {
        let (mesh, rig, clips) = arm();
        let (longer, long_clips) = with_end_joints(&mesh, &rig, &clips).unwrap();
        assert_eq!(longer.joints().len(), 3);
        let end = &longer.joints()[2];
        assert_eq!((end.name.as_str(), end.parent), ("lower_end", Some(1)));
        assert!(end.bind().translation.distance(DVec3::X * 1.9) < 0.11, "{}", end.bind().translation);
        assert_eq!(end_joints(&longer), [false, false, true]);
        let (shorter, short_clips) = without_end_joints(&mesh, &longer, &long_clips).unwrap();
        assert_eq!(*shorter, rig);
        assert_eq!(short_clips[0].transforms(1), clips[0].transforms(1));
    }
}
