//! Rigged objects: a `SkelRoot` with a `Skeleton`, a `SkelAnimation` per clip, and the bound meshes with their shapes.
//! Objects on one skeleton share it.

use std::sync::Arc;

use dermis_mesh::{Clip, Joint, Object, Rig, Shape, SkinWeights};
use glam::{DAffine3, Vec3};

use super::layer::{Layer, Metadata, Value, interpolation};
use super::mesh::{self, Extras};
use super::names::Names;
use super::pose::{Posable, Pose};
use super::{ROOT_PATH, Writing};
use crate::error::Error;
use crate::usd::{BONES, STORED_POSE};

/// Returns whether two rigged objects are written on one skeleton, which has one bind pose.
pub(super) fn share_skeleton(a: &Object, b: &Object) -> bool {
    let (Some(rig_a), Some(rig_b)) = (&a.rig, &b.rig) else { return false };
    !rig_a.joints().is_empty()
        && rig_a.joints() == rig_b.joints()
        && rig_a.has_skeleton_of(rig_b)
        && a.clips.len() == b.clips.len()
        && a.clips.iter().zip(&b.clips).all(|(a, b)| a.moves_joints_like(b))
}

/// Writes `objects`, whose rigs share the joints and clips of `posable`, as the prim `name`.
pub(super) fn write(
    objects: &[&Object],
    posable: &Posable,
    name: &str,
    writing: &mut Writing<'_>,
) -> Result<(), Error> {
    let Some(rig) = objects.first().and_then(|object| object.rig.as_ref()) else { return Ok(()) };
    let first = objects[0];
    let path = format!("{ROOT_PATH}/{name}");
    let mut names = Names::default();
    let mesh_names: Vec<String> = match objects {
        [_] => vec![names.unique("Mesh", "Mesh")],
        _ => objects.iter().map(|object| names.unique(&object.name, "Mesh")).collect(),
    };
    let skeleton = names.unique("Skeleton", "Skeleton");
    let rigs: Vec<&Arc<Rig>> = objects.iter().filter_map(|object| object.rig.as_ref()).collect();
    let stored: Vec<f32> = rigs.iter().flat_map(|rig| rig.rest_pose().shape_weights).collect();
    let is_shaped = stored.iter().any(|&weight| weight != 0.0);
    let clips: Vec<String> = first.clips.iter().map(|clip| names.unique(clip.name(), "Animation")).collect();
    let still = (clips.is_empty() && is_shaped).then(|| names.unique(STORED_POSE, STORED_POSE));
    let joint_paths = joint_paths(rig, &posable.order);
    let shape_names = shape_names(rigs.iter().flat_map(|rig| rig.shapes()));
    let layer = &mut *writing.layer;
    layer.open("SkelRoot", name, &super::applied(&["SkelBindingAPI"]))?;
    let animation = clips.first().or(still.as_ref()).map(|clip| format!("{path}/{clip}"));
    write_skeleton(rig, posable, &joint_paths, &skeleton, animation, layer)?;
    if let Some(still) = &still {
        layer.open("SkelAnimation", still, &[])?;
        layer.value("uniform token[] blendShapes", &shape_names)?;
        layer.value("float[] blendShapeWeights", &stored)?;
        layer.close()?;
    }
    for (number, (clip_name, poses)) in clips.iter().zip(&posable.clips).enumerate() {
        let stored = (number == 0 && is_shaped).then_some(stored.as_slice());
        let of_objects: Vec<&Clip> = objects.iter().map(|object| &*object.clips[number]).collect();
        write_animation(&of_objects, clip_name, poses, &joint_paths, &shape_names, stored, writing)?;
    }
    let mut shape_names = shape_names.as_slice();
    for ((object, mesh_name), rig) in objects.iter().zip(&mesh_names).zip(&rigs) {
        let (own, others) = shape_names.split_at(rig.shapes().len());
        shape_names = others;
        let body = |layer: &mut dyn Layer| {
            if !rig.joints().is_empty() {
                write_weights(rig.weights(), &posable.order, layer)?;
            }
            layer.relationship("skel:skeleton", &[format!("{path}/{skeleton}")])?;
            write_shapes(object, rig.shapes(), own, &format!("{path}/{mesh_name}"), layer)
        };
        let extras = Extras { schemas: &["SkelBindingAPI"], body: &body };
        mesh::write(object, mesh_name, None, &extras, writing)?;
    }
    writing.layer.close()
}

/// A path of names for each joint in `order`; joints that only shapes need have a path of one name.
fn joint_paths(rig: &Rig, order: &[usize]) -> Vec<String> {
    let mut siblings: Vec<Names> = (0..=rig.joints().len()).map(|_| Names::default()).collect();
    let mut paths = vec![String::new(); rig.joints().len()];
    for &joint in order {
        let Joint { name, parent, .. } = &rig.joints()[joint];
        let name = siblings[parent.map_or(rig.joints().len(), |parent| parent)].unique(name, "joint");
        paths[joint] = parent.map_or(name.clone(), |parent| format!("{}/{name}", paths[parent]));
    }
    order.iter().map(|&joint| std::mem::take(&mut paths[joint])).collect()
}

fn write_skeleton(
    rig: &Rig,
    posable: &Posable,
    paths: &[String],
    name: &str,
    animation: Option<String>,
    layer: &mut dyn Layer,
) -> Result<(), Error> {
    layer.open("Skeleton", name, &super::applied(&["SkelBindingAPI"]))?;
    if rig.joints().is_empty() {
        // UsdSkel ignores a skeleton without joints, but shapes need a skeleton to be animated.
        layer.value("uniform matrix4d[] bindTransforms", &[DAffine3::IDENTITY][..])?;
        layer.value("uniform token[] joints", &["root".to_owned()][..])?;
        layer.value("uniform matrix4d[] restTransforms", &[DAffine3::IDENTITY][..])?;
    } else {
        let names: Vec<String> = posable.order.iter().map(|&joint| rig.joints()[joint].name.clone()).collect();
        layer.value("uniform matrix4d[] bindTransforms", &posable.bind)?;
        layer.value("uniform token[] jointNames", &names)?;
        layer.value("uniform token[] joints", paths)?;
        layer.value("uniform matrix4d[] restTransforms", &posable.rest)?;
    }
    if let Some(bones) = &posable.bones {
        let mut index_of = vec![0; posable.order.len()];
        for (index, &joint) in posable.order.iter().enumerate() {
            index_of[joint] = index as u32;
        }
        let bones: Vec<u32> = bones.iter().map(|&joint| index_of[joint]).collect();
        layer.value(&format!("custom uniform int[] {BONES}"), &bones)?;
    }
    if let Some(animation) = animation {
        layer.relationship("skel:animationSource", &[animation])?;
    }
    layer.close()
}

/// Writes the clips of the objects on one skeleton as one animation; `stored` are the shape weights outside of time.
fn write_animation(
    clips: &[&Clip],
    name: &str,
    poses: &[Pose],
    joints: &[String],
    shapes: &[String],
    stored: Option<&[f32]>,
    writing: &mut Writing<'_>,
) -> Result<(), Error> {
    let clip = clips[0];
    let times = writing.clock.times(clip.start_seconds(), clip.frame_rate_hz(), clip.frame_count());
    let layer = &mut *writing.layer;
    layer.open("SkelAnimation", name, &super::original_name(clip.name(), name))?;
    if !shapes.is_empty() {
        layer.value("uniform token[] blendShapes", shapes)?;
        if let Some(stored) = stored {
            layer.value("float[] blendShapeWeights", stored)?;
        }
        let weights = |frame: usize| -> Vec<f32> {
            clips.iter().flat_map(|clip| clip.shape_weights(frame).iter().copied()).collect()
        };
        let weights: Vec<Vec<f32>> = (0..times.len()).map(weights).collect();
        write_samples("float[] blendShapeWeights", &times, |frame| Value::Floats(&weights[frame]), layer)?;
    }
    if !joints.is_empty() {
        layer.value("uniform token[] joints", joints)?;
        write_samples("quatf[] rotations", &times, |frame| Value::Quats(&poses[frame].rotations), layer)?;
        write_samples("half3[] scales", &times, |frame| Value::Vec3s(&poses[frame].scales), layer)?;
        write_samples("float3[] translations", &times, |frame| Value::Vec3s(&poses[frame].translations), layer)?;
    }
    layer.close()?;
    times.iter().try_for_each(|_| writing.step())
}

fn write_samples<'a>(
    declaration: &str,
    times: &[f64],
    items: impl Fn(usize) -> Value<'a>,
    layer: &mut dyn Layer,
) -> Result<(), Error> {
    layer.open_samples(declaration)?;
    for (frame, &time) in times.iter().enumerate() {
        layer.sample(time, items(frame))?;
    }
    layer.close_samples()
}

/// Joints and weights; all points have as many as the point with the most influences.
fn write_weights(weights: &SkinWeights, order: &[usize], layer: &mut dyn Layer) -> Result<(), Error> {
    let mut index_of = vec![0u32; order.len()];
    for (index, &joint) in order.iter().enumerate() {
        index_of[joint] = index as u32;
    }
    let width = weights.max_influences().max(1);
    let (mut joints, mut values) = (Vec::new(), Vec::new());
    for row in weights.rows() {
        let start = joints.len();
        for (joint, weight) in row.filter(|(_, weight)| *weight != 0.0) {
            joints.push(index_of[joint as usize]);
            values.push(weight);
        }
        joints.resize(start + width, 0);
        values.resize(start + width, 0.0);
    }
    let metadata = [Metadata::Int("elementSize", width as i32), interpolation("vertex")];
    layer.attribute("int[] primvars:skel:jointIndices", Some(Value::Ints(&joints)), &metadata)?;
    layer.attribute("float[] primvars:skel:jointWeights", Some(Value::Floats(&values)), &metadata)
}

fn shape_names<'a>(shapes: impl Iterator<Item = &'a Shape>) -> Vec<String> {
    let mut names = Names::default();
    shapes.map(|shape| names.unique(&shape.name, "shape")).collect()
}

fn write_shapes(
    object: &Object,
    shapes: &[Shape],
    names: &[String],
    mesh_path: &str,
    layer: &mut dyn Layer,
) -> Result<(), Error> {
    if shapes.is_empty() {
        return Ok(());
    }
    let targets: Vec<String> = names.iter().map(|name| format!("{mesh_path}/{name}")).collect();
    layer.value("uniform token[] skel:blendShapes", names)?;
    layer.relationship("skel:blendShapeTargets", &targets)?;
    for (shape, name) in shapes.iter().zip(names) {
        let normals = normals_per_point(object, shape);
        let moves = |point: &usize| {
            let rotates = normals.as_ref().is_some_and(|normals| normals[*point] != Vec3::ZERO);
            shape.offsets[*point] != Vec3::ZERO || rotates
        };
        let moved: Vec<usize> = (0..shape.offsets.len()).filter(moves).collect();
        let gather = |values: &[Vec3]| -> Vec<Vec3> { moved.iter().map(|&point| values[point]).collect() };
        layer.open("BlendShape", name, &super::original_name(&shape.name, name))?;
        if let Some(normals) = normals {
            layer.value("uniform vector3f[] normalOffsets", &gather(&normals))?;
        }
        layer.value("uniform vector3f[] offsets", &gather(&shape.offsets))?;
        let points: Vec<u32> = moved.iter().map(|&point| point as u32).collect();
        layer.value("uniform int[] pointIndices", &points)?;
        layer.close()?;
    }
    Ok(())
}

/// Normal offsets per point, if all vertices of each point agree.
fn normals_per_point(object: &Object, shape: &Shape) -> Option<Vec<Vec3>> {
    let per_vertex = shape.normal_offsets.as_ref()?;
    let Some(layout) = object.mesh.layout() else { return Some(per_vertex.clone()) };
    let mut per_point: Vec<Option<Vec3>> = vec![None; object.mesh.point_count()];
    for (&point, &offset) in layout.vertex_points.iter().zip(per_vertex) {
        let known = per_point[point as usize].get_or_insert(offset);
        if *known != offset {
            return None;
        }
    }
    Some(per_point.into_iter().map(Option::unwrap_or_default).collect())
}
