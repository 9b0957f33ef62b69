//! Conversion of rigged objects between units and up axes.

use std::sync::Arc;

use dermis_mesh::glam::{DAffine3, DQuat, DVec3, Vec3};
use dermis_mesh::{Clip, Joint, Object, Rig, RigError, RigPose, Shape, TriMesh, Units, UpAxis};

use super::RetargetError;

/// Returns the rigged `object` with its clips converted from the units `from` to `to`; `None` if the units are equal or
/// unknown. With the similarity A of the conversion and its scale s: `p ↦ A p`, `M ↦ A M s⁻¹`, `B⁻¹ ↦ s B⁻¹ A⁻¹`.
pub fn in_units(object: &Object, from: Units, to: Units) -> Result<Option<Object>, RetargetError> {
    let scale = from.metres_per_unit.zip(to.metres_per_unit).map_or(1.0, |(from, to)| from / to);
    let rotation = from.up_axis.zip(to.up_axis).map_or(DQuat::IDENTITY, |(from, to)| rotation_between(from, to));
    let usable = scale.is_finite() && scale > 0.0;
    let Some(rig) = object.rig.as_ref().filter(|_| usable && (scale != 1.0 || rotation != DQuat::IDENTITY)) else {
        return Ok(None);
    };
    let (grow, shrink) = (DAffine3::from_scale(DVec3::splat(scale)), DAffine3::from_scale(DVec3::splat(1.0 / scale)));
    let world = DAffine3::from_quat(rotation) * grow;
    let points = object.mesh.points().iter().map(|point| world.transform_point3(point.as_dvec3()).as_vec3());
    let mesh = Arc::new(TriMesh::new(points.collect(), object.mesh.triangles().to_vec())?);
    let moved = |joint: &Joint| Joint { inverse_bind: grow * joint.inverse_bind * world.inverse(), ..joint.clone() };
    let offset = |offset: &Vec3| world.transform_vector3(offset.as_dvec3()).as_vec3();
    let shape = |shape: &Shape| Shape {
        name: shape.name.clone(),
        offsets: shape.offsets.iter().map(offset).collect(),
        normal_offsets: None,
    };
    let joints = rig.joints().iter().map(moved).collect();
    let stored = rig.stored_pose().map(|pose| RigPose {
        transforms: Arc::new(pose.transforms.iter().map(|transform| world * *transform * shrink).collect()),
        shape_weights: pose.shape_weights.clone(),
    });
    let mut rig = Rig::new(&mesh, joints, rig.weights().clone(), rig.shapes().iter().map(shape).collect())?;
    if let Some(stored) = stored {
        rig = rig.with_stored_pose(stored)?;
    }
    let clip = |clip: &Arc<Clip>| {
        let frames = || 0..clip.frame_count();
        let transforms = frames().flat_map(|frame| clip.transforms(frame)).map(|pose| world * *pose * shrink);
        let weights = frames().flat_map(|frame| clip.shape_weights(frame).iter().copied());
        let moved = Clip::new(&rig, clip.name(), clip.frame_rate_hz(), transforms.collect(), weights.collect())?;
        Ok(Arc::new(moved.starting_at(clip.start_seconds())))
    };
    let clips = object.clips.iter().map(clip).collect::<Result<_, RigError>>()?;
    Ok(Some(Object { name: object.name.clone(), mesh, rig: Some(Arc::new(rig)), clips, ..Object::default() }))
}

fn rotation_between(from: UpAxis, to: UpAxis) -> DQuat {
    if from == to { DQuat::IDENTITY } else { DQuat::from_rotation_arc(axis(from), axis(to)) }
}

/// Unit vector of an axis.
pub(super) fn axis(axis: UpAxis) -> DVec3 {
    match axis {
        UpAxis::X => DVec3::X,
        UpAxis::Y => DVec3::Y,
        UpAxis::Z => DVec3::Z,
    }
}
