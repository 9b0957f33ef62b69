//! Bones as they are drawn: from their joint to their children, or to the end of the points that they move.

use dermis::mesh::glam::DVec3;
use dermis::mesh::{Joint, Rig, TriMesh};
use dermis::skin::export::end_joints;
use serde::Serialize;

/// Fraction of the weight of a bone within its length.
const WITHIN: f64 = 0.95;

/// Description of a bone.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct BoneInfo {
    pub name: String,
    pub parent: Option<usize>,
    /// Location of the joint in the rest pose.
    pub anchor: [f32; 3],
    /// Other end of the bone in the rest pose; `None` if it has no length.
    pub tail: Option<[f32; 3]>,
    /// True for an end joint, which only marks the end of its parent.
    pub is_end: bool,
}

/// Bones of `rig`. Joints are drawn at their bind location, or at the weighted mean of their points if they have none.
pub(crate) fn bones(mesh: &TriMesh, rig: &Rig) -> Vec<BoneInfo> {
    let joints = rig.joints();
    let mut points: Vec<Vec<(DVec3, f64)>> = vec![Vec::new(); joints.len()];
    for (point, row) in mesh.points().iter().zip(rig.weights().rows()) {
        row.for_each(|(joint, weight)| points[joint as usize].push((point.as_dvec3(), f64::from(weight))));
    }
    let anchors: Vec<DVec3> = joints.iter().zip(&points).map(|(joint, points)| anchor(joint, points)).collect();
    let is_end = end_joints(rig);
    let bone = |index: usize| {
        let children: Vec<DVec3> = (0..joints.len())
            .filter(|&child| joints[child].parent == Some(index))
            .map(|child| anchors[child])
            .collect();
        let tail = if is_end[index] { None } else { tail(anchors[index], &children, &points[index]) };
        BoneInfo {
            name: joints[index].name.clone(),
            parent: joints[index].parent,
            anchor: anchors[index].as_vec3().to_array(),
            tail: tail.map(|tail| tail.as_vec3().to_array()),
            is_end: is_end[index],
        }
    };
    (0..joints.len()).map(bone).collect()
}

fn anchor(joint: &Joint, points: &[(DVec3, f64)]) -> DVec3 {
    let bind = joint.bind().translation;
    if bind.is_finite() { bind } else { mean(points).unwrap_or(DVec3::ZERO) }
}

fn mean(points: &[(DVec3, f64)]) -> Option<DVec3> {
    let total: f64 = points.iter().map(|entry| entry.1).sum();
    let sum: DVec3 = points.iter().map(|&(point, weight)| weight * point).sum();
    (total.abs() > f64::EPSILON).then(|| sum / total)
}

/// Middle of the children, or the end of the points in the direction of their mean.
fn tail(anchor: DVec3, children: &[DVec3], points: &[(DVec3, f64)]) -> Option<DVec3> {
    let middle = children.iter().sum::<DVec3>() / children.len().max(1) as f64;
    if !children.is_empty() && middle.distance(anchor) > 0.0 {
        return Some(middle);
    }
    let direction = (mean(points)? - anchor).try_normalize()?;
    let mut lengths: Vec<(f64, f64)> =
        points.iter().map(|&(point, weight)| ((point - anchor).dot(direction), weight.abs())).collect();
    lengths.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = lengths.iter().map(|entry| entry.1).sum();
    let mut sum = 0.0;
    let end = lengths.iter().find(|entry| {
        sum += entry.1;
        sum >= WITHIN * total
    })?;
    (end.0 > 0.0).then(|| anchor + direction * end.0)
}

#[cfg(test)]
mod tests {
    use dermis::mesh::SkinWeights;
    use dermis::mesh::glam::{DAffine3, Vec3};

    use super::*;

    #[test]
    fn bones_reach_their_children_and_the_ends_of_their_points() {
        let mesh = TriMesh::new((0..20).map(|k| Vec3::X * k as f32 * 0.1).collect(), vec![]).unwrap();
        let joints = vec![
            Joint::at("upper", None, DAffine3::IDENTITY),
            Joint::at("lower", Some(0), DAffine3::from_translation(DVec3::X)),
        ];
        let weights = SkinWeights::from_rows((0..20).map(|k| [(u32::from(k >= 10), 1.0)]));
        let rig = Rig::new(&mesh, joints, weights, vec![]).unwrap();
        let bones = bones(&mesh, &rig);
        assert_eq!(bones[0].tail, Some([1.0, 0.0, 0.0]));
        let end = bones[1].tail.unwrap()[0];
        assert!((1.7..=1.95).contains(&end), "{end}");
    }
}
