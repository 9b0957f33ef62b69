//! Units and scale given by the user, which override those of the file.

use std::sync::Arc;

use dermis_mesh::{Clip, Deformer, Joint, MeshSequence, Object, Rig, RigPose, Scene, Shape, TetMesh, Units};
use glam::{DAffine3, Vec3};

use crate::error::Error;
use crate::options::ReadOptions;

/// `scene` with the scale and the units of `options`.
pub(crate) fn with_units(mut scene: Scene, options: &ReadOptions) -> Result<Scene, Error> {
    let Units { metres_per_unit, up_axis } = options.units;
    scene.units.metres_per_unit = metres_per_unit.or(scene.units.metres_per_unit);
    scene.units.up_axis = up_axis.or(scene.units.up_axis);
    let Some(factor) = options.scale.filter(|factor| *factor != 1.0) else { return Ok(scene) };
    if !(factor.is_finite() && factor > 0.0) {
        return Err(Error::unsupported(format!("invalid scale {factor}: it must be positive and finite")));
    }
    for object in &mut scene.objects {
        *object = scaled(object, factor).map_err(|error| error.at(object.name.clone()))?;
    }
    scene.share_skeletons();
    Ok(scene)
}

fn scaled(object: &Object, factor: f64) -> Result<Object, Error> {
    let is_scale_free = |layer: &Deformer| matches!(layer, Deformer::DualQuaternions(_));
    if !object.deformers.iter().all(is_scale_free) {
        return Err(Error::unsupported("an object with layers cannot be scaled").with_hint("apply its layers first"));
    }
    let vector = move |vector: Vec3| (vector.as_dvec3() * factor).as_vec3();
    // A uniform scale on both sides changes translations only.
    let moved = |transform: &DAffine3| DAffine3 { translation: transform.translation * factor, ..*transform };
    let mesh = Arc::new(object.mesh.with_points(object.mesh.points().iter().copied().map(vector).collect())?);
    let mut result = Object { mesh: Arc::clone(&mesh), ..object.clone() };
    for level in &mut result.levels {
        let points = level.mesh.points().iter().copied().map(vector).collect();
        level.mesh = Arc::new(level.mesh.with_points(points)?);
        level.shapes.iter_mut().flat_map(|shape| &mut shape.offsets).for_each(|offset| *offset = vector(*offset));
    }
    if let Some(sequence) = &object.sequence {
        let grow = move |_: usize, points: &mut [Vec3]| {
            for point in points {
                *point = vector(*point);
            }
            Ok(())
        };
        let sequence: MeshSequence = sequence.map(grow)?;
        result.sequence = Some(sequence.with_mesh(Arc::clone(&mesh))?);
    }
    if let Some(tets) = &object.tets {
        let points = tets.nodes().iter().copied().map(vector).collect();
        result.tets = Some(Arc::new(TetMesh::new(points, tets.tetrahedra().to_vec())?));
    }
    let Some(rig) = &object.rig else { return Ok(result) };
    let joint = |joint: &Joint| Joint { inverse_bind: moved(&joint.inverse_bind), ..joint.clone() };
    let shape = |shape: &Shape| Shape { offsets: shape.offsets.iter().copied().map(vector).collect(), ..shape.clone() };
    let (joints, shapes) = (rig.joints().iter().map(joint).collect(), rig.shapes().iter().map(shape).collect());
    let mut grown = Rig::new(&mesh, joints, rig.weights().clone(), shapes)?;
    if let Some(RigPose { transforms, shape_weights }) = rig.stored_pose() {
        let transforms = Arc::new(transforms.iter().map(moved).collect());
        grown = grown.with_stored_pose(RigPose { transforms, shape_weights: shape_weights.clone() })?;
    }
    let clip = |clip: &Arc<Clip>| -> Result<Arc<Clip>, Error> {
        let transforms = clip.shared_transforms().iter().map(moved).collect();
        let weights = (0..clip.frame_count()).flat_map(|frame| clip.shape_weights(frame).iter().copied()).collect();
        let grown = Clip::new(&grown, clip.name(), clip.frame_rate_hz(), transforms, weights)?;
        Ok(Arc::new(grown.starting_at(clip.start_seconds())))
    };
    result.clips = object.clips.iter().map(clip).collect::<Result<_, _>>()?;
    result.rig = Some(Arc::new(grown));
    Ok(result)
}

#[cfg(test)]
mod tests {
    use dermis_mesh::UpAxis;

    use super::*;

    #[test]
    fn scaling_applies_to_rest_pose_joints_and_clips() {
        let units = Units { metres_per_unit: Some(0.01), up_axis: Some(UpAxis::Z) };
        let options = ReadOptions { scale: Some(100.0), units, ..ReadOptions::default() };
        for name in ["arm", "gallop"] {
            let before = dermis_samples::build(name).unwrap();
            let after = with_units(before.clone(), &options).unwrap();
            assert_eq!(after.units, units);
            let frame = |scene: &Scene| {
                let motion = scene.objects[0].base_motion().unwrap().unwrap();
                motion.frame(motion.frame_count() / 2).unwrap().into_owned()
            };
            for (before, after) in frame(&before).iter().zip(frame(&after)) {
                assert!((*before * 100.0).distance(after) < 1e-3 * (1.0 + after.length()), "{name}");
            }
        }
    }
}
