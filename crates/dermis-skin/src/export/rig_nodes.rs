//! Motion of a rig as nodes with translation, rotation and scale.
//!
//! An ordinary rig keeps its hierarchy: each joint becomes a node under its parent, if its local transforms are T·R·S
//! to rounding. Local transforms are relative to the parent *as written*, so that rounding errors do not accumulate
//! along chains. If any joint shears, the whole rig is exported as flexible bones ([`super::polar_nodes`]) without a
//! hierarchy.
//!
//! Blender creates bones from the rest transforms of nodes, deforms the mesh into that pose, and does not support scale
//! at rest. A joint rests in the stored pose of its rig or, if the file has none, in its bind pose; if it has neither, in
//! its first pose. The first of the three nodes of a flexible bone rests in the bind pose of the joint, without scale and
//! shear, and the others rest at the first; scale and shear of the bind pose become part of the motion.

use std::sync::Arc;

use dermis_mesh::{Clip, Rig};
use glam::{DAffine3, DQuat, DVec3};

use super::end_joints::{end_joints, owner};
use super::node_motion::NodeMotion;
use super::node_transform::{NodeTransform, is_close, rounded_rotation, rounded_vector, scale_and_rotation};
use super::polar_nodes::polar_factors;

/// The nodes of a rig.
#[derive(Debug)]
pub struct Nodes {
    /// The nodes, parents first.
    pub motions: Vec<NodeMotion>,
    /// Transform of each joint from the rest mesh to the space of its node.
    pub inverse_binds: Vec<DAffine3>,
    /// True for flexible bones, which have no hierarchy.
    pub flexible: bool,
}

/// Returns the nodes of the joints of `rig` in the frames of all `clips`, or in the stored pose if there are no clips.
pub(super) fn node_motions(rig: &Rig, clips: &[Arc<Clip>]) -> Nodes {
    let rest = rig.rest_pose().transforms;
    let mut poses: Vec<&[DAffine3]> =
        clips.iter().flat_map(|clip| (0..clip.frame_count()).map(|frame| clip.transforms(frame))).collect();
    if poses.is_empty() {
        poses.push(&rest);
    }
    match tree_motions(rig, &poses) {
        Some(motions) => {
            let inverse_binds = rig.joints().iter().map(|joint| joint.inverse_bind).collect();
            Nodes { motions, inverse_binds, flexible: false }
        }
        None => flexible_motions(rig, clips, &vec![false; rig.joints().len()]),
    }
}

fn bind_pose(rig: &Rig) -> Vec<DAffine3> {
    rig.joints().iter().map(|joint| finite_or_identity(joint.bind())).collect()
}

fn finite_or_identity(transform: DAffine3) -> DAffine3 {
    if transform.is_finite() { transform } else { DAffine3::IDENTITY }
}

/// One node per joint, in the rig's hierarchy; `None` if a joint shears.
fn tree_motions(rig: &Rig, poses: &[&[DAffine3]]) -> Option<Vec<NodeMotion>> {
    let extent = extent(poses);
    let mut node_of = vec![0; rig.joints().len()];
    let mut motions: Vec<NodeMotion> = Vec::with_capacity(node_of.len());
    let mut worlds: Vec<Vec<DAffine3>> = Vec::with_capacity(node_of.len());
    for joint in rig.parents_first() {
        let parent = rig.joints()[joint].parent.map(|parent| node_of[parent]);
        let above = |pose: usize| parent.map_or(DAffine3::IDENTITY, |parent| worlds[parent][pose]);
        let locals = poses.iter().enumerate().map(|(pose, transforms)| above(pose).inverse() * transforms[joint]);
        let exact = NodeMotion::of_locals(&rig.joints()[joint].name, parent, joint, locals)?;
        let world = |motion: &NodeMotion| -> Vec<DAffine3> {
            (0..poses.len()).map(|pose| above(pose) * motion.local(pose)).collect()
        };
        let close = |(world, transforms): (&DAffine3, &&[DAffine3])| is_close(*world, transforms[joint], extent);
        // Small variations can be motion instead of rounding if a small joint is the child of a large one.
        let candidates = [exact.clone().held().rounded(), exact.rounded()];
        let (motion, world) = candidates
            .into_iter()
            .map(|motion| (world(&motion), motion))
            .find_map(|(world, motion)| world.iter().zip(poses).all(close).then_some((motion, world)))?;
        node_of[joint] = motions.len();
        motions.push(motion);
        worlds.push(world);
    }
    match rest_transforms(rig) {
        Some(rests) => {
            motions.iter_mut().zip(rests).for_each(|(motion, rest)| motion.rest = Some(motion.rest_near(rest)));
            Some(motions)
        }
        // Flexible bones preserve a stored pose that shears; a bind pose that shears need not be a pose of the nodes.
        None => rig.stored_pose().is_none().then_some(motions),
    }
}

/// Transforms of the joints at rest relative to their parents, parents first; `None` if a joint shears or has no finite
/// transform.
fn rest_transforms(rig: &Rig) -> Option<Vec<NodeTransform>> {
    let stored = rig.stored_pose();
    let node = |joint: usize| {
        let parent = rig.joints()[joint].parent;
        let local = match stored {
            Some(pose) => {
                parent.map_or(DAffine3::IDENTITY, |at| pose.transforms[at].inverse()) * pose.transforms[joint]
            }
            None => parent.map_or(DAffine3::IDENTITY, |at| rig.joints()[at].inverse_bind) * rig.joints()[joint].bind(),
        };
        let (scale, rotation) = scale_and_rotation(local.matrix3)?;
        let (translation, scale) = (rounded_vector(local.translation), rounded_vector(scale));
        let node = NodeTransform { translation, rotation: rounded_rotation(rotation), scale };
        (local.is_finite() && is_close(node.transform(), local, local.translation.length())).then_some(node)
    };
    rig.parents_first().into_iter().map(node).collect()
}

/// Three nested nodes per joint, without the joint hierarchy, with halfway keys for the joints that are `fine`.
pub(super) fn flexible_motions(rig: &Rig, clips: &[Arc<Clip>], fine: &[bool]) -> Nodes {
    let bind = bind_pose(rig);
    let mut motions = Vec::with_capacity(3 * rig.joints().len());
    let mut inverse_binds = vec![DAffine3::IDENTITY; rig.joints().len()];
    let ends = end_joints(rig);
    // The first node of each bone.
    let mut first_nodes = vec![0; rig.joints().len()];
    let ends_last = (0..ends.len()).filter(|&joint| !ends[joint]).chain((0..ends.len()).filter(|&joint| ends[joint]));
    for joint in ends_last {
        let description = &rig.joints()[joint];
        if let Some(parent) = owner(rig, joint).filter(|&parent| ends[joint] && !ends[parent]) {
            inverse_binds[joint] = description.inverse_bind;
            motions.push(end_motion(rig, clips, (joint, &bind), first_nodes[parent], parent));
            continue;
        }
        first_nodes[joint] = motions.len();
        let rest = NodeTransform::unscaled(bind[joint]);
        let (inverse_bind, rebound) = bound_at(description.inverse_bind, rest.transform());
        inverse_binds[joint] = inverse_bind;
        let keys = |clip: &Arc<Clip>| keys_of(clip, joint, fine[joint]).map(|transform| transform * rebound).collect();
        let mut keys: Vec<Vec<DAffine3>> = clips.iter().map(keys).collect();
        let stored = rig.stored_pose().map(|pose| pose.transforms[joint] * rebound);
        let is_still = keys.is_empty();
        keys.extend(stored.or(is_still.then(|| bind[joint] * rebound)).map(|transform| vec![transform]));
        let mut factors = polar_factors(&keys).concat();
        let at_rest = if stored.is_some() { factors.last().copied() } else { None };
        if at_rest.is_some() && !is_still {
            factors.pop();
        }
        let still = NodeMotion {
            name: description.name.clone(),
            parent: None,
            joint: None,
            rest: Some(NodeTransform::ORIGIN),
            fine: fine[joint],
            translations: vec![DVec3::ZERO; factors.len()],
            rotations: vec![DQuat::IDENTITY; factors.len()],
            scales: vec![DVec3::ONE; factors.len()],
        };
        let rigid = NodeMotion {
            name: format!("{}.rigid", description.name),
            rest: Some(at_rest.map_or(rest, |at| NodeTransform {
                translation: at.translation,
                rotation: at.r,
                ..NodeTransform::ORIGIN
            })),
            translations: factors.iter().map(|factors| factors.translation).collect(),
            rotations: factors.iter().map(|factors| factors.r).collect(),
            ..still.clone()
        };
        let stretch = NodeMotion {
            name: format!("{}.stretch", description.name),
            parent: Some(motions.len()),
            rest: Some(at_rest.map_or(NodeTransform::ORIGIN, |at| NodeTransform {
                rotation: at.v,
                scale: at.sigma,
                ..NodeTransform::ORIGIN
            })),
            rotations: factors.iter().map(|factors| factors.v).collect(),
            scales: factors.iter().map(|factors| factors.sigma).collect(),
            ..still.clone()
        };
        let bone = NodeMotion {
            parent: Some(motions.len() + 1),
            joint: Some(joint),
            rest: Some(at_rest.map_or(NodeTransform::ORIGIN, |at| NodeTransform {
                rotation: at.v.inverse(),
                ..NodeTransform::ORIGIN
            })),
            rotations: factors.iter().map(|factors| factors.v.inverse()).collect(),
            ..still
        };
        motions.extend([rigid, stretch, bone].map(|motion| motion.held().rounded()));
    }
    Nodes { motions, inverse_binds, flexible: true }
}

/// Node of an end joint, at a constant location below the first node of its bone.
fn end_motion(
    rig: &Rig,
    clips: &[Arc<Clip>],
    (joint, bind): (usize, &[DAffine3]),
    first_node: usize,
    parent: usize,
) -> NodeMotion {
    let local = NodeTransform::unscaled(bind[parent]).transform().inverse() * bind[joint];
    let place = NodeTransform::unscaled(local);
    let keys = clips.iter().map(|clip| clip.frame_count()).sum::<usize>().max(1);
    NodeMotion {
        name: rig.joints()[joint].name.clone(),
        parent: Some(first_node),
        joint: Some(joint),
        rest: Some(place),
        fine: false,
        translations: vec![place.translation; keys],
        rotations: vec![place.rotation; keys],
        scales: vec![DVec3::ONE; keys],
    }
}

/// Transforms of a joint in a clip, with the means of neighbours between them if it is `fine`.
fn keys_of(clip: &Clip, joint: usize, fine: bool) -> impl Iterator<Item = DAffine3> + '_ {
    let mean = |a: DAffine3, b: DAffine3| DAffine3 {
        matrix3: (a.matrix3 + b.matrix3) * 0.5,
        translation: a.translation.midpoint(b.translation),
    };
    (0..clip.frame_count()).flat_map(move |frame| {
        let transform = clip.transforms(frame)[joint];
        let next = (fine && frame + 1 < clip.frame_count()).then(|| clip.transforms(frame + 1)[joint]);
        [Some(transform), next.map(|next| mean(transform, next))].into_iter().flatten()
    })
}

/// Inverse bind matrix of a joint that rests at `rest`, and the factor by which its transforms are then multiplied on
/// the right. A joint that is already bound there, up to rounding, keeps its own matrix.
fn bound_at(inverse_bind: DAffine3, rest: DAffine3) -> (DAffine3, DAffine3) {
    let change = inverse_bind * rest;
    let extent = 1.0 + inverse_bind.translation.length();
    if is_close(change, DAffine3::IDENTITY, extent) {
        (inverse_bind, DAffine3::IDENTITY)
    } else {
        (rest.inverse(), change)
    }
}

/// Largest distance of a joint from the origin.
fn extent(poses: &[&[DAffine3]]) -> f64 {
    let lengths = poses.iter().flat_map(|transforms| transforms.iter().map(|transform| transform.translation.length()));
    lengths.fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use dermis_mesh::{Joint, SkinWeights, TriMesh};
    use glam::DMat3;

    use super::*;

    fn chain(count: usize) -> Rig {
        let joint = |index: usize| Joint::at(format!("j{index}"), index.checked_sub(1), DAffine3::IDENTITY);
        let none = SkinWeights::from_rows(Vec::<Vec<(u32, f32)>>::new());
        Rig::new(&TriMesh::default(), (0..count).map(joint).collect(), none, vec![]).unwrap()
    }

    fn worlds(motions: &[NodeMotion], pose: usize, joints: usize) -> Vec<DAffine3> {
        let mut all: Vec<DAffine3> = Vec::new();
        let mut of_joints = vec![DAffine3::IDENTITY; joints];
        for motion in motions {
            let world = motion.parent.map_or(DAffine3::IDENTITY, |parent| all[parent]) * motion.local(pose);
            if let Some(joint) = motion.joint {
                of_joints[joint] = world;
            }
            all.push(world);
        }
        of_joints
    }

    fn assert_restored(rig: &Rig, poses: &[Vec<DAffine3>]) -> Vec<NodeMotion> {
        let slices: Vec<&[DAffine3]> = poses.iter().map(Vec::as_slice).collect();
        let clip = Clip::new(rig, "clip", 24.0, poses.concat(), vec![]).unwrap();
        let Nodes { motions, inverse_binds, .. } = node_motions(rig, &[Arc::new(clip)]);
        for (pose, expected) in poses.iter().enumerate() {
            for (joint, found) in worlds(&motions, pose, expected.len()).into_iter().enumerate() {
                let found = found * inverse_binds[joint];
                let expected = expected[joint] * rig.joints()[joint].inverse_bind;
                assert!(is_close(found, expected, extent(&slices)), "pose {pose}: {found:?} is not {expected:?}");
            }
        }
        motions
    }

    #[test]
    fn a_long_chain_keeps_its_tree_and_its_precision() {
        let pose = |t: f64| {
            let mut world = DAffine3::IDENTITY;
            (0..60)
                .map(|joint| {
                    let rotation = DQuat::from_rotation_z(t * f64::from(joint).sin());
                    world *= DAffine3::from_scale_rotation_translation(
                        DVec3::splat(1.01),
                        rotation,
                        DVec3::new(0.1, 0.3, 0.0),
                    );
                    world
                })
                .collect()
        };
        let rig = chain(60);
        let motions = assert_restored(&rig, &[pose(0.0), pose(0.4), pose(0.8)]);
        assert_eq!(motions.len(), 60);
        assert!(motions.iter().skip(1).all(|motion| motion.parent.is_some()));
        assert!(motions.iter().all(|motion| motion.scales.iter().all(|scale| *scale == motion.scales[0])));
    }

    #[test]
    fn a_joint_that_shears_or_collapses_makes_flexible_bones() {
        let shear = DAffine3::from_mat3(DMat3::from_cols_array(&[1.0, 0.3, 0.0, 0.0, 1.0, 0.2, 0.0, 0.0, 1.0]));
        let flat = DAffine3::from_scale(DVec3::new(1.0, 0.0, 1.0));
        for odd in [shear, flat] {
            let rig = chain(2);
            let motions = assert_restored(&rig, &[vec![DAffine3::IDENTITY, odd], vec![odd, shear * odd]]);
            assert_eq!(motions.len(), 6);
        }
    }

    #[test]
    fn flexible_bones_rest_in_the_bind_pose_without_scale() {
        let shear = DAffine3::from_mat3(DMat3::from_cols_array(&[1.0, 0.3, 0.0, 0.0, 1.0, 0.2, 0.0, 0.0, 1.0]));
        let rotation = DAffine3::from_rotation_translation(DQuat::from_rotation_z(0.5), DVec3::new(1.0, 2.0, -1.0));
        for (bind, rest) in [(rotation, rotation), (rotation * DAffine3::from_scale(DVec3::splat(3.0)), rotation)] {
            let joints = vec![Joint::at("bone", None, bind)];
            let none = SkinWeights::from_rows(Vec::<Vec<(u32, f32)>>::new());
            let rig = Rig::new(&TriMesh::default(), joints, none, vec![]).unwrap();
            let motions = assert_restored(&rig, &[vec![bind], vec![shear * bind], vec![bind * shear]]);
            assert!(is_close(motions[0].rest().transform(), rest, 3.0), "{:?}", motions[0]);
            assert_eq!(motions[0].rest().scale, DVec3::ONE);
            assert_eq!([motions[1].rest(), motions[2].rest()], [NodeTransform::ORIGIN; 2]);
        }
    }

    #[test]
    fn small_joints_below_a_large_one_keep_their_motion() {
        let large = DAffine3::from_scale(DVec3::splat(1e4));
        let small = |k: i32| large * DAffine3::from_translation(DVec3::new(1e-3, f64::from(k) * 3e-10, 0.0));
        let poses: Vec<Vec<DAffine3>> = (0..4).map(|k| vec![large, small(k)]).collect();
        assert_eq!(assert_restored(&chain(2), &poses).len(), 2);
    }

    #[test]
    fn mirrored_joints_keep_their_tree() {
        let mirror = DAffine3::from_scale(DVec3::new(1.0, -1.0, 1.0));
        let rotation = DAffine3::from_rotation_y(0.3);
        let motions = assert_restored(&chain(2), &[vec![mirror, mirror * rotation], vec![rotation * mirror, mirror]]);
        assert_eq!(motions.len(), 2);
    }
}
