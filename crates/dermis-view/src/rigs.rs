//! Scenes in which only some objects have joints, such as a character with a static prop.
//!
//! Objects are merged into one rig if all of them have joints and the same clips. Here, every other object gets a joint
//! of its own that does not move, so that bones and clips of the scene are kept.

use std::sync::Arc;

use dermis::mesh::glam::DAffine3;
use dermis::mesh::{Clip, Joint, Object, Rig, RigError, SkinWeights};

/// Adds joints to objects without any, if another object has joints and all motions are clips without layers.
pub(crate) fn with_joints(objects: Vec<Object>) -> Result<Vec<Object>, RigError> {
    let has_joints = |object: &Object| object.rig.as_ref().is_some_and(|rig| !rig.joints().is_empty());
    let plain = objects.iter().all(|object| object.sequence.is_none() && object.deformers.is_empty());
    let clips = objects.iter().find(|object| has_joints(object)).map(|object| object.clips.clone());
    let Some(clips) = clips.filter(|_| plain && objects.len() > 1) else {
        return Ok(objects);
    };
    let added = |object: Object| if has_joints(&object) { Ok(object) } else { with_joint(object, &clips) };
    objects.into_iter().map(added).collect()
}

/// Object that follows a joint at its centre, which is static in all `clips`.
fn with_joint(object: Object, clips: &[Arc<Clip>]) -> Result<Object, RigError> {
    let (low, high) = object.mesh.bounds();
    let place = DAffine3::from_translation(low.midpoint(high).as_dvec3());
    let joint = Joint::at(object.name.clone(), None, place);
    let weights = SkinWeights::from_rows((0..object.mesh.point_count()).map(|_| [(0, 1.0)]));
    let shapes = object.rig.as_ref().map_or_else(Vec::new, |rig| rig.shapes().to_vec());
    let stored = object.rig.as_ref().map_or_else(Vec::new, |rig| rig.rest_pose().shape_weights.clone());
    let rig = Rig::new(&object.mesh, vec![joint], weights, shapes)?;
    let clip = |(number, clip): (usize, &Arc<Clip>)| {
        let own = object.clips.get(number).filter(|own| own.has_frames_of(clip));
        let frames = 0..clip.frame_count();
        let weights = frames.flat_map(|frame| own.map_or(stored.as_slice(), |own| own.shape_weights(frame)).to_vec());
        let still = vec![place; clip.frame_count()];
        let made = Clip::new(&rig, clip.name(), clip.frame_rate_hz(), still, weights.collect())?;
        Ok(Arc::new(made.starting_at(clip.start_seconds())))
    };
    let clips = clips.iter().enumerate().map(clip).collect::<Result<_, RigError>>()?;
    Ok(Object { rig: Some(Arc::new(rig)), clips, ..object })
}

#[cfg(test)]
mod tests {
    use dermis::mesh::glam::{DVec3, Vec3};
    use dermis::mesh::{MeshSequence, TriMesh};

    use super::*;

    fn triangle(name: &str) -> Object {
        let mesh = TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]]).unwrap();
        Object::of_mesh(name, Arc::new(mesh))
    }

    fn moving(name: &str) -> Object {
        let Object { mesh, .. } = triangle(name);
        let weights = SkinWeights::from_rows((0..3).map(|_| [(0, 1.0)]));
        let rig = Rig::new(&mesh, vec![Joint::at("hip", None, DAffine3::IDENTITY)], weights, vec![]).unwrap();
        let step = |frame: u32| DAffine3::from_translation(DVec3::X * f64::from(frame));
        let clip = |name: &str, frames| Clip::new(&rig, name, 24.0, (0..frames).map(step).collect(), vec![]).unwrap();
        let clips = vec![clip("walk", 3), clip("run", 5)];
        Object::of_rig(name, mesh, rig, clips)
    }

    #[test]
    fn a_static_prop_keeps_bones_and_clips_of_the_character() {
        let objects = with_joints(vec![triangle("sword"), moving("soldier")]).unwrap();
        let names: Vec<&str> = objects[0].clips.iter().map(|clip| clip.name()).collect();
        assert_eq!((objects[0].rig.as_ref().unwrap().joints().len(), names), (1, vec!["walk", "run"]));
        assert_eq!(objects[0].clips[1].frame_count(), 5);
    }

    #[test]
    fn other_scenes_are_unchanged() {
        let frames = MeshSequence::new(triangle("").mesh, vec![Vec3::ZERO; 6], 24.0).unwrap();
        let recorded = Object::of_sequence("cloth", frames);
        let objects = with_joints(vec![recorded, triangle("ground"), moving("soldier")]).unwrap();
        assert!(objects[1].rig.is_none());
        assert!(with_joints(vec![triangle("ground")]).unwrap()[0].rig.is_none());
    }
}
