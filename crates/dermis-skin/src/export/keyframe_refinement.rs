//! Additional keys of flexible bones for an accurate motion between frames.
//!
//! Between keys a player interpolates rotations and scales of a bone, not its affine transform. If singular values are
//! close together, their vectors can rotate far while the bone hardly changes, and points that do not move between the
//! keys, or whose motions by several bones cancel, are displaced halfway. A vertex should not be farther from the keys
//! around it than 1.5 times their distance. The bones of vertices that exceed this get a key halfway as well: the mean
//! of the two transforms, which moves every point along a line. All other bones keep one key per frame.

use std::sync::Arc;

use dermis_mesh::pose::pose_into;
use dermis_mesh::{Clip, Joint, Rig, RigError, TriMesh};
use glam::{DAffine3, Vec3};

use super::node_motion::NodeMotion;
use super::rig_nodes::{Nodes, flexible_motions};

/// Largest distance of a halfway point from its keys, relative to their distance.
const MAX_STRAY: f32 = 1.5;
/// Additional distance that is considered invisible, relative to the diagonal of the mesh's bounding box.
const UNSEEN: f32 = 5e-4;
/// Maximum number of rounds. Additional keys of some bones can displace points shared with others; one or two rounds
/// suffice.
const MAX_ROUNDS: usize = 4;

/// Adds the required keys to flexible bones; other nodes are unchanged.
pub(super) fn refine_keyframes(
    mut nodes: Nodes,
    mesh: &TriMesh,
    rig: &Rig,
    clips: &[Arc<Clip>],
) -> Result<Nodes, RigError> {
    if !nodes.flexible {
        return Ok(nodes);
    }
    let joint = |(joint, &inverse_bind): (&Joint, &DAffine3)| Joint { inverse_bind, ..joint.clone() };
    let joints = rig.joints().iter().zip(&nodes.inverse_binds).map(joint).collect();
    let written = Rig::new(mesh, joints, rig.weights().clone(), rig.shapes().to_vec())?;
    let mut fine = vec![false; rig.joints().len()];
    for _ in 0..MAX_ROUNDS {
        let coarse = fine.iter().filter(|fine| !**fine).count();
        for number in 0..clips.len() {
            mark_strays(&Written { mesh, rig, clips, bound: &written, nodes: &nodes }, number, &mut fine)?;
        }
        if fine.iter().filter(|fine| !**fine).count() == coarse {
            break;
        }
        nodes = flexible_motions(rig, clips, &fine);
    }
    Ok(nodes)
}

/// A rig and its nodes as written.
struct Written<'a> {
    mesh: &'a TriMesh,
    rig: &'a Rig,
    clips: &'a [Arc<Clip>],
    /// `rig` with the inverse binds of the nodes.
    bound: &'a Rig,
    nodes: &'a Nodes,
}

/// Marks the bones of all points that exceed the limit in the clip `number`.
fn mark_strays(written: &Written<'_>, number: usize, fine: &mut [bool]) -> Result<(), RigError> {
    let Written { mesh, rig, clips, bound, .. } = *written;
    let clip = &clips[number];
    if clip.frame_count() < 2 {
        return Ok(());
    }
    let between = half_way(written, number)?;
    let slack = UNSEEN * mesh.diagonal();
    let mut before = vec![Vec3::ZERO; mesh.point_count()];
    let (mut after, mut middle) = (before.clone(), before.clone());
    pose_into(mesh, rig, clip, 0, &mut after);
    for frame in 0..clip.frame_count() - 1 {
        std::mem::swap(&mut before, &mut after);
        pose_into(mesh, rig, clip, frame + 1, &mut after);
        pose_into(mesh, bound, &between, frame, &mut middle);
        for (point, middle) in middle.iter().enumerate() {
            let (before, after) = (before[point], after[point]);
            let away = middle.distance(before).max(middle.distance(after));
            if away > MAX_STRAY * before.distance(after) + slack {
                rig.weights().row(point).filter(|(_, w)| *w != 0.0).for_each(|(joint, _)| fine[joint as usize] = true);
            }
        }
    }
    Ok(())
}

/// Clip that a player shows halfway between the frames of the clip `number`.
fn half_way(written: &Written<'_>, number: usize) -> Result<Clip, RigError> {
    let Written { bound, nodes, clips, .. } = *written;
    let (earlier, clip) = (&clips[..number], &clips[number]);
    let (steps, joints) = (clip.frame_count() - 1, bound.joints().len());
    let mut transforms = vec![DAffine3::IDENTITY; steps * joints];
    let mut worlds: Vec<Vec<DAffine3>> = Vec::with_capacity(nodes.motions.len());
    for motion in &nodes.motions {
        let first: usize = earlier.iter().map(|clip| motion.key_count(clip)).sum();
        let local = |motion: &NodeMotion, frame: usize| {
            if motion.fine { motion.local(first + 2 * frame + 1) } else { motion.half_way(first + frame) }
        };
        let above = |frame: usize| motion.parent.map_or(DAffine3::IDENTITY, |parent| worlds[parent][frame]);
        let world: Vec<DAffine3> = (0..steps).map(|frame| above(frame) * local(motion, frame)).collect();
        if let Some(joint) = motion.joint {
            world.iter().enumerate().for_each(|(frame, world)| transforms[frame * joints + joint] = *world);
        }
        worlds.push(world);
    }
    let mean = |frame: usize| {
        let pairs = clip.shape_weights(frame).iter().zip(clip.shape_weights(frame + 1));
        pairs.map(|(a, b)| 0.5 * (a + b))
    };
    let weights = (0..steps).flat_map(mean).collect();
    Clip::new(bound, clip.name(), clip.frame_rate_hz(), transforms, weights)
}

#[cfg(test)]
mod tests {
    use dermis_mesh::{Object, SkinWeights};
    use glam::{DMat3, DQuat, DVec3};

    use super::*;
    use crate::export::rig_nodes::node_motions;

    /// Points around a bone that stretches along a fast rotating axis, as for nearly equal singular values.
    fn stretching(steps: usize, angle: f64) -> Object {
        let corner = |k: u32| Vec3::new((k & 1) as f32, (k >> 1 & 1) as f32, (k >> 2) as f32) - 0.5;
        let mesh = Arc::new(TriMesh::new((0..8).map(corner).collect(), vec![]).unwrap());
        let joints = vec![Joint::at("bone", None, DAffine3::IDENTITY)];
        let weights = SkinWeights::from_rows((0..8).map(|_| [(0, 1.0)]));
        let rig = Rig::new(&mesh, joints, weights, vec![]).unwrap();
        let pose = |frame: usize| {
            let axis = DMat3::from_quat(DQuat::from_euler(glam::EulerRot::XYZ, angle * frame as f64, 0.3, 0.2));
            let stretch = DVec3::new(1.0, 1.0 + 0.2 * (frame as f64 * 1.3).sin(), 0.95);
            DAffine3::from_mat3(axis * DMat3::from_diagonal(stretch) * axis.transpose())
        };
        let clip = Clip::new(&rig, "stretch", 24.0, (0..steps).map(pose).collect(), vec![]).unwrap();
        Object::of_rig("box", mesh, rig, vec![clip])
    }

    /// Returns true if any point exceeds the limit with the current keys of the bones.
    fn strays(object: &Object, nodes: &Nodes) -> bool {
        let rig = object.rig.as_ref().unwrap();
        let mut fine = vec![false; 1];
        let written = Written { mesh: &object.mesh, rig, clips: &object.clips, bound: rig, nodes };
        mark_strays(&written, 0, &mut fine).unwrap();
        fine[0]
    }

    #[test]
    fn bones_with_fast_rotating_axes_get_half_way_keys_and_stay_within_the_limit() {
        let object = stretching(40, 0.7);
        let rig = object.rig.as_ref().unwrap();
        let nodes = node_motions(rig, &object.clips);
        assert!(strays(&object, &nodes));
        let nodes = refine_keyframes(nodes, &object.mesh, rig, &object.clips).unwrap();
        assert!(nodes.motions.iter().all(|motion| motion.fine && motion.rotations.len() == 79));
        assert!(!strays(&object, &nodes));
    }

    #[test]
    fn bones_within_the_limit_keep_one_key_per_frame() {
        let object = stretching(40, 0.01);
        let rig = object.rig.as_ref().unwrap();
        let nodes = refine_keyframes(node_motions(rig, &object.clips), &object.mesh, rig, &object.clips).unwrap();
        assert!(nodes.motions.iter().all(|motion| !motion.fine && motion.rotations.len() == 40));
    }
}
