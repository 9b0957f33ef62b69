//! Merging of several objects into one, for formats that store a single object.
//!
//! Points, triangles, layouts, tetrahedra and attributes are concatenated in the order of the objects. Attributes that
//! only some objects have are padded: UVs with 0, colours with white, materials with the default material, attributes of
//! points with 0. Normals and tangents have no neutral value and are kept only if all objects have them.
//!
//! If all objects have joints and the same clips, they become one rig: a shared skeleton is included once, other skeletons
//! are added after it. Otherwise recorded frames and posed clips of equal length and rate become one sequence, read
//! lazily; objects without motion are static in it, in their stored pose.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use glam::{DAffine3, Vec2, Vec3, Vec4};

use crate::clip::Clip;
use crate::layout::{Layout, Material};
use crate::polygons::Polygons;
use crate::rig::{Joint, Rig, RigError, RigPose, Shape, SkinWeights};
use crate::scene::{Note, Object, Scene};
use crate::sequence::{MeshSequence, SequenceError};
use crate::tet_mesh::TetMesh;
use crate::tri_mesh::{MeshError, TriMesh};

/// Number of objects that a note lists by name; the rest are counted.
const MAX_LISTED_NAMES: usize = 8;

/// Error of [`single`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The scene is empty.
    #[error("the scene has no objects")]
    NoObjects,
    /// Two objects have different frame ranges.
    #[error("cannot merge into one sequence: '{first}' has {}, '{second}' has {}", Span(*first_span), Span(*second_span))]
    MotionsDiffer {
        /// An object.
        first: String,
        /// Its frame count, rate in Hz and start in seconds.
        first_span: (usize, f64, f64),
        /// Another object.
        second: String,
        /// Its frame count, rate in Hz and start in seconds.
        second_span: (usize, f64, f64),
    },
    /// An object has layers, which apply to its own points only.
    #[error("the layers of '{object}' cannot be merged with other objects: evaluate them first")]
    Layers {
        /// The object.
        object: String,
    },
    /// The merged mesh is invalid because it has too many points.
    #[error("{0}")]
    Mesh(#[from] MeshError),
    /// The merged rig is invalid.
    #[error("{0}")]
    Rig(#[from] RigError),
    /// A motion cannot be evaluated.
    #[error("{0}")]
    Sequence(#[from] SequenceError),
}

struct Span((usize, f64, f64));

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (frames, rate, start) = self.0;
        write!(f, "{frames} frames at {rate} fps from {start} s")
    }
}

/// The only object of the scene, or all objects merged into one, with notes on the data lost.
pub fn single(scene: &Scene) -> Result<(Object, Vec<Note>), MergeError> {
    match scene.objects.as_slice() {
        [] => Err(MergeError::NoObjects),
        [only] => Ok((only.clone(), Vec::new())),
        objects => merge(objects),
    }
}

fn merge(objects: &[Object]) -> Result<(Object, Vec<Note>), MergeError> {
    if let Some(layered) = objects.iter().find(|object| !object.deformers.is_empty()) {
        return Err(MergeError::Layers { object: layered.name.clone() });
    }
    let mut notes = vec![Note::new(format!("{} objects are merged into one: {}", objects.len(), names_of(objects)))];
    if objects.iter().any(|object| !object.levels.is_empty()) {
        notes.push(Note::new("the levels of detail of merged objects are dropped"));
    }
    let rigs = can_merge_rigs(objects);
    let posed;
    let objects = if rigs {
        objects
    } else {
        posed = objects.iter().map(without_stored_pose).collect::<Result<Vec<_>, _>>()?;
        &posed
    };
    let mesh = Arc::new(merge_meshes(objects, &mut notes)?);
    let sequence = if rigs { None } else { merge_motions(objects, &mesh)? };
    let (rig, clips) =
        if rigs { merge_rigs(objects, &mesh).map(|(rig, clips)| (Some(rig), clips))? } else { (None, Vec::new()) };
    if rig.is_none() && objects.iter().any(|object| object.rig.is_some()) {
        notes.push(Note::new("the rigs of merged objects are dropped; their first clips are converted to frames"));
    }
    // A character is named after its body, not after the first of its parts.
    let largest = objects.iter().rev().max_by_key(|object| object.mesh.point_count());
    let object = Object {
        name: largest.map(|object| object.name.clone()).unwrap_or_default(),
        tets: merge_tets(objects, &mesh)?,
        attributes: merge_attributes(objects),
        mesh,
        sequence,
        rig: rig.map(Arc::new),
        clips,
        ..Object::default()
    };
    Ok((object, notes))
}

/// Returns an object without motion in its stored pose; other objects are unchanged.
fn without_stored_pose(object: &Object) -> Result<Object, MeshError> {
    if object.clips.is_empty() && object.sequence.is_none() { object.at_rest() } else { Ok(object.clone()) }
}

/// Returns true if all objects have joints and the same clips.
fn can_merge_rigs(objects: &[Object]) -> bool {
    let has_joints = |object: &Object| object.rig.as_ref().is_some_and(|rig| !rig.joints().is_empty());
    let same_clips = |object: &Object| {
        let first = &objects[0].clips;
        first.len() == object.clips.len() && first.iter().zip(&object.clips).all(|(a, b)| a.has_frames_of(b))
    };
    objects.iter().all(|object| has_joints(object) && same_clips(object) && object.sequence.is_none())
}

/// Merges the rigs of objects that have joints and the same clips.
fn merge_rigs(objects: &[Object], mesh: &TriMesh) -> Result<(Rig, Vec<Arc<Clip>>), MergeError> {
    let rigs: Vec<&Arc<Rig>> = objects.iter().filter_map(|object| object.rig.as_ref()).collect();
    // The first object on each skeleton, and the number of joints before it.
    let mut skeletons: Vec<(usize, usize)> = Vec::new();
    let mut count = 0;
    let mut first_joints = Vec::with_capacity(rigs.len());
    for (index, rig) in rigs.iter().enumerate() {
        let shared = |other: usize| {
            let clips = objects[other].clips.iter().zip(&objects[index].clips);
            let same =
                Arc::ptr_eq(rigs[other].shared_joints(), rig.shared_joints()) || rigs[other].joints() == rig.joints();
            same && rigs[other].has_skeleton_of(rig) && clips.into_iter().all(|(a, b)| a.moves_joints_like(b))
        };
        let known = skeletons.iter().find(|(other, _)| shared(*other)).map(|(_, first)| *first);
        first_joints.push(known.unwrap_or(count));
        if known.is_none() {
            skeletons.push((index, count));
            count += rig.joints().len();
        }
    }
    let joints = if let [(only, _)] = skeletons[..] {
        Arc::clone(rigs[only].shared_joints())
    } else {
        let moved = |joint: &Joint, first: usize| Joint { parent: joint.parent.map(|at| at + first), ..joint.clone() };
        let of = |&(object, first): &(usize, usize)| rigs[object].joints().iter().map(move |joint| moved(joint, first));
        Arc::new(skeletons.iter().flat_map(of).collect())
    };
    let rows = rigs.iter().zip(&first_joints).flat_map(|(rig, &first)| {
        rig.weights().rows().map(move |row| row.map(move |(joint, weight)| (joint + first as u32, weight)))
    });
    let rig = Rig::sharing(mesh, joints, SkinWeights::from_rows(rows), merge_shapes(objects, &rigs, mesh))?;
    let transforms = |of_object: &dyn Fn(usize) -> Vec<DAffine3>| -> Vec<DAffine3> {
        skeletons.iter().flat_map(|(object, _)| of_object(*object)).collect()
    };
    let mut clips = Vec::new();
    for (number, clip) in objects[0].clips.iter().enumerate() {
        let frames = 0..clip.frame_count();
        let posed = if let [(only, _)] = skeletons[..] {
            Arc::clone(objects[only].clips[number].shared_transforms())
        } else {
            let frame = |frame| transforms(&|object| objects[object].clips[number].transforms(frame).to_vec());
            Arc::new(frames.clone().flat_map(frame).collect())
        };
        let weights = frames.flat_map(|frame| {
            objects.iter().flat_map(move |object| object.clips[number].shape_weights(frame).iter().copied())
        });
        let merged = Clip::sharing(&rig, clip.name(), clip.frame_rate_hz(), posed, weights.collect())?;
        clips.push(Arc::new(merged.starting_at(clip.start_seconds())));
    }
    let rests: Vec<RigPose> = rigs.iter().map(|rig| rig.rest_pose()).collect();
    let stored = RigPose {
        transforms: Arc::new(transforms(&|object| rests[object].transforms.to_vec())),
        shape_weights: rests.iter().flat_map(|rest| rest.shape_weights.iter().copied()).collect(),
    };
    Ok((rig.with_stored_pose(stored)?, clips))
}

/// Shapes of all rigs; each shape moves only the points of its own object.
fn merge_shapes(objects: &[Object], rigs: &[&Arc<Rig>], mesh: &TriMesh) -> Vec<Shape> {
    let has_normals = mesh.layout().is_some_and(|layout| layout.normals.is_some());
    let (mut shapes, mut points, mut vertices) = (Vec::new(), 0, 0);
    for (object, rig) in objects.iter().zip(rigs) {
        for shape in rig.shapes() {
            let mut offsets = vec![Vec3::ZERO; mesh.point_count()];
            offsets[points..points + shape.offsets.len()].copy_from_slice(&shape.offsets);
            let normal_offsets = shape.normal_offsets.as_ref().filter(|_| has_normals).map(|own| {
                let mut normals = vec![Vec3::ZERO; mesh.vertex_count()];
                normals[vertices..vertices + own.len()].copy_from_slice(own);
                normals
            });
            shapes.push(Shape { name: shape.name.clone(), offsets, normal_offsets });
        }
        points += object.mesh.point_count();
        vertices += object.mesh.vertex_count();
    }
    shapes
}

fn names_of(objects: &[Object]) -> String {
    let named: Vec<&str> = objects.iter().take(MAX_LISTED_NAMES).map(|object| object.name.as_str()).collect();
    let more = objects.len().saturating_sub(MAX_LISTED_NAMES);
    if more > 0 { format!("{} and {more} more", named.join(", ")) } else { named.join(", ") }
}

fn merge_meshes(objects: &[Object], notes: &mut Vec<Note>) -> Result<TriMesh, MergeError> {
    let total: usize = objects.iter().map(|object| object.mesh.point_count()).sum();
    if u32::try_from(total).is_err() {
        return Err(MeshError::TooMany { what: "points", count: total }.into());
    }
    let points = objects.iter().flat_map(|object| object.mesh.points().iter().copied()).collect();
    let triangles = with_offsets(objects)
        .flat_map(|(object, first)| object.mesh.triangles().iter().map(move |t| t.map(|point| point + first)))
        .collect();
    let mesh = TriMesh::new(points, triangles)?;
    if objects.iter().all(|object| object.mesh.layout().is_none()) {
        return Ok(mesh);
    }
    Ok(mesh.with_layout(merge_layouts(objects, notes)?)?)
}

/// Each object with the number of points of all objects before it.
fn with_offsets(objects: &[Object]) -> impl Iterator<Item = (&Object, u32)> {
    objects.iter().scan(0u32, |next, object| {
        let first = *next;
        *next += object.mesh.point_count() as u32;
        Some((object, first))
    })
}

fn merge_layouts(objects: &[Object], notes: &mut Vec<Note>) -> Result<Layout, MergeError> {
    let total: usize = objects.iter().map(|object| object.mesh.vertex_count()).sum();
    if u32::try_from(total).is_err() {
        return Err(MeshError::TooMany { what: "vertices", count: total }.into());
    }
    let layouts: Vec<Layout> = objects
        .iter()
        .map(|object| object.mesh.layout().cloned().unwrap_or_else(|| Layout::plain(&object.mesh)))
        .collect();
    for (what, has) in [("normals", has_normals as fn(&Layout) -> bool), ("tangents", has_tangents)] {
        if layouts.iter().any(has) && !layouts.iter().all(has) {
            notes.push(Note::new(format!("{what} are dropped: only some of the merged objects have them")));
        }
    }
    let (uv_sets, color_sets) = layouts
        .iter()
        .fold((0, 0), |(uvs, colors), layout| (layout.uvs.len().max(uvs), layout.colors.len().max(colors)));
    let mut merged = Layout {
        polygons: layouts.iter().any(|layout| layout.polygons.is_some()).then(Polygons::default),
        normals: layouts.iter().all(has_normals).then(Vec::new),
        tangents: layouts.iter().all(has_tangents).then(Vec::new),
        uvs: vec![Vec::with_capacity(total); uv_sets],
        colors: vec![Vec::with_capacity(total); color_sets],
        ..Layout::default()
    };
    let with_materials = layouts.iter().any(|layout| !layout.triangle_materials.is_empty());
    for ((_, first_point), layout) in with_offsets(objects).zip(&layouts) {
        if with_materials {
            append_materials(&mut merged, layout);
        }
        append_layout(&mut merged, layout, first_point);
    }
    Ok(merged)
}

fn has_normals(layout: &Layout) -> bool {
    layout.normals.is_some()
}

fn has_tangents(layout: &Layout) -> bool {
    layout.tangents.is_some()
}

fn append_layout(merged: &mut Layout, layout: &Layout, first_point: u32) {
    let first_vertex = merged.vertex_points.len() as u32;
    let vertices = layout.vertex_count();
    merged.vertex_points.extend(layout.vertex_points.iter().map(|point| point + first_point));
    merged.triangles.extend(layout.triangles.iter().map(|t| t.map(|vertex| vertex + first_vertex)));
    if let Some(polygons) = &mut merged.polygons {
        let (sizes, corners) = match &layout.polygons {
            Some(own) => (own.sizes.clone(), own.corners.as_slice()),
            None => (vec![3; layout.triangles.len()], layout.triangles.as_flattened()),
        };
        polygons.sizes.extend(sizes);
        polygons.corners.extend(corners.iter().map(|corner| corner + first_vertex));
    }
    if let (Some(merged), Some(normals)) = (&mut merged.normals, &layout.normals) {
        merged.extend(normals);
    }
    if let (Some(merged), Some(tangents)) = (&mut merged.tangents, &layout.tangents) {
        merged.extend(tangents);
    }
    append_sets(&mut merged.uvs, &layout.uvs, vertices, Vec2::ZERO);
    append_sets(&mut merged.colors, &layout.colors, vertices, Vec4::ONE);
}

fn append_sets<T: Copy>(merged: &mut [Vec<T>], sets: &[Vec<T>], vertices: usize, missing: T) {
    for (index, merged) in merged.iter_mut().enumerate() {
        match sets.get(index) {
            Some(set) => merged.extend(set),
            None => merged.extend(std::iter::repeat_n(missing, vertices)),
        }
    }
}

fn append_materials(merged: &mut Layout, layout: &Layout) {
    let first = merged.materials.len() as u32;
    if layout.triangle_materials.is_empty() {
        merged.materials.push(Material::default());
        merged.triangle_materials.extend(std::iter::repeat_n(first, layout.triangles.len()));
    } else {
        merged.materials.extend(layout.materials.iter().cloned());
        merged.triangle_materials.extend(layout.triangle_materials.iter().map(|material| material + first));
    }
}

fn merge_motions(objects: &[Object], mesh: &Arc<TriMesh>) -> Result<Option<MeshSequence>, MergeError> {
    let motions = objects.iter().map(Object::base_motion).collect::<Result<Vec<_>, _>>()?;
    let span = |motion: &MeshSequence| (motion.frame_count(), motion.frame_rate_hz(), motion.start_seconds());
    let recorded = || objects.iter().zip(&motions).filter_map(|(object, motion)| Some((object, motion.as_ref()?)));
    // A part with one frame does not move and is held for the frames of the others.
    let mut moving = recorded().filter(|(_, motion)| motion.frame_count() > 1);
    let Some((first, motion)) = moving.next().or_else(|| recorded().next()) else {
        return Ok(None);
    };
    let (first_span, name) = (span(motion), motion.name().to_owned());
    if let Some((second, other)) = moving.find(|(_, other)| span(other) != first_span) {
        let (first, second) = (first.name.clone(), second.name.clone());
        return Err(MergeError::MotionsDiffer { first, first_span, second, second_span: span(other) });
    }
    let (frame_count, rate, start) = first_span;
    let parts: Vec<(Arc<TriMesh>, Option<MeshSequence>)> =
        objects.iter().map(|object| Arc::clone(&object.mesh)).zip(motions).collect();
    let sequence = MeshSequence::from_fn(Arc::clone(mesh), frame_count, rate, move |frame, out| {
        let mut rest = out;
        for (still, motion) in &parts {
            let (own, tail) = rest.split_at_mut(still.point_count());
            match motion {
                Some(motion) => motion.read_into(frame.min(motion.frame_count() - 1), own)?,
                None => own.copy_from_slice(still.points()),
            }
            rest = tail;
        }
        Ok(())
    })?;
    Ok(Some(sequence.starting_at(start).named(name)))
}

fn merge_tets(objects: &[Object], mesh: &TriMesh) -> Result<Option<Arc<TetMesh>>, MeshError> {
    if objects.iter().all(|object| object.tets.is_none()) {
        return Ok(None);
    }
    let tetrahedra = with_offsets(objects)
        .filter_map(|(object, first)| Some((object.tets.as_ref()?, first)))
        .flat_map(|(tets, first)| tets.tetrahedra().iter().map(move |t| t.map(|node| node + first)))
        .collect();
    Ok(Some(Arc::new(TetMesh::new(mesh.points().to_vec(), tetrahedra)?)))
}

fn merge_attributes(objects: &[Object]) -> BTreeMap<String, Vec<f32>> {
    let names: BTreeSet<&String> = objects.iter().flat_map(|object| object.attributes.keys()).collect();
    let values = |name: &String| {
        let of_object = |object: &Object| {
            object.attributes.get(name).cloned().unwrap_or_else(|| vec![0.0; object.mesh.point_count()])
        };
        objects.iter().flat_map(of_object).collect()
    };
    names.into_iter().map(|name| (name.clone(), values(name))).collect()
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::polygons::PolygonMesh;

    fn triangle(shift: f32) -> TriMesh {
        let points = [Vec3::ZERO, Vec3::X, Vec3::Y].map(|point| point + Vec3::Z * shift);
        TriMesh::new(points.to_vec(), vec![[0, 1, 2]]).unwrap()
    }

    fn quad_with_uvs() -> TriMesh {
        let uvs = crate::polygons::CornerData { values: vec![Vec2::X, Vec2::Y], indices: vec![0, 1, 0, 1] };
        let polygons = Polygons { sizes: vec![4], corners: vec![0, 1, 2, 3] };
        let points = vec![Vec3::ZERO, Vec3::X, Vec3::ONE, Vec3::Y];
        PolygonMesh { points, polygons, uvs: vec![uvs], ..PolygonMesh::default() }.into_tri_mesh().unwrap()
    }

    fn moving(name: &str, frames: usize, rate: f64) -> Object {
        let mesh = Arc::new(triangle(0.0));
        let positions = (0..frames).flat_map(|frame| [Vec3::splat(frame as f32); 3]).collect();
        Object::of_sequence(name, MeshSequence::new(mesh, positions, rate).unwrap())
    }

    #[test]
    fn keeps_a_single_object_unchanged() {
        let scene = Scene { objects: vec![moving("one", 2, 30.0)], ..Scene::default() };
        let (object, notes) = single(&scene).unwrap();
        assert_eq!((object.name.as_str(), notes.len()), ("one", 0));
        assert!(matches!(single(&Scene::default()), Err(MergeError::NoObjects)));
    }

    #[test]
    fn static_objects_are_merged_with_moving_ones() {
        let mut still = Object::of_mesh("still", Arc::new(triangle(5.0)));
        still.attributes.insert("paint".into(), vec![1.0, 2.0, 3.0]);
        let scene = Scene { objects: vec![moving("moving", 2, 30.0), still], ..Scene::default() };
        let (object, notes) = single(&scene).unwrap();
        assert_eq!(notes[0].message, "2 objects are merged into one: moving, still");
        assert_eq!(object.mesh.triangles(), [[0, 1, 2], [3, 4, 5]]);
        let frame = object.sequence.as_ref().unwrap().frame(1).unwrap().to_vec();
        assert_eq!((frame[0], frame[3]), (Vec3::ONE, Vec3::Z * 5.0));
        assert_eq!(object.attributes["paint"], [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
    }

    #[test]
    fn pads_layouts_to_agree() {
        let objects =
            vec![Object::of_mesh("plain", Arc::new(triangle(0.0))), Object::of_mesh("quad", Arc::new(quad_with_uvs()))];
        let (object, _) = single(&Scene { objects, ..Scene::default() }).unwrap();
        let layout = object.mesh.layout().unwrap();
        assert_eq!(layout.uvs[0].len(), 7);
        assert_eq!(object.name, "quad", "the largest part names the whole");
        assert_eq!(layout.polygons.as_ref().unwrap().sizes, [3, 4]);
        assert_eq!(layout.polygons.as_ref().unwrap().corners, [0, 1, 2, 3, 4, 5, 6]);
    }

    /// A triangle on one of two joints, with a shape that lifts it; the clip moves both joints up by the frame.
    fn rigged(name: &str, joints: &Arc<Vec<Joint>>, joint: u32, stored: f32) -> Object {
        let mesh = triangle(0.0);
        let shape = Shape { name: name.into(), offsets: vec![Vec3::Z; 3], normal_offsets: None };
        let weights = SkinWeights::from_rows([[(joint, 1.0)]; 3]);
        let rig = Rig::sharing(&mesh, Arc::clone(joints), weights, vec![shape]).unwrap();
        let up = |frame: usize| DAffine3::from_translation(glam::DVec3::Y * frame as f64);
        let clip = Clip::new(&rig, "up", 30.0, vec![up(0), up(0), up(1), up(1)], vec![0.0, stored]).unwrap();
        let pose = RigPose { transforms: rig.bind_pose().transforms, shape_weights: vec![stored] };
        Object::of_rig(name, Arc::new(mesh), rig.with_stored_pose(pose).unwrap(), vec![clip])
    }

    #[test]
    fn rigs_on_one_skeleton_stay_one_rig() {
        let joints =
            Arc::new(vec![Joint::at("root", None, DAffine3::IDENTITY), Joint::at("tip", Some(0), DAffine3::IDENTITY)]);
        let objects = vec![rigged("a", &joints, 0, 0.5), rigged("b", &joints, 1, 1.0)];
        let apart: Vec<Vec<Vec3>> =
            objects.iter().map(|o| o.base_motion().unwrap().unwrap().frame(1).unwrap().into_owned()).collect();
        let rests: Vec<Vec3> = objects.iter().flat_map(|object| object.rest_points().into_owned()).collect();
        let (merged, _) = single(&Scene { objects, ..Scene::default() }).unwrap();
        let rig = merged.rig.as_ref().unwrap();
        assert!(Arc::ptr_eq(rig.shared_joints(), &joints) && rig.shapes().len() == 2);
        assert_eq!(*merged.base_motion().unwrap().unwrap().frame(1).unwrap(), apart.concat());
        assert_eq!(*merged.rest_points(), rests);
        // Another skeleton is added after the first.
        let others = Arc::new(vec![Joint::at("other", None, DAffine3::IDENTITY); 2]);
        let objects = vec![rigged("a", &joints, 1, 0.5), rigged("b", &others, 1, 0.0)];
        let apart: Vec<Vec<Vec3>> =
            objects.iter().map(|o| o.base_motion().unwrap().unwrap().frame(1).unwrap().into_owned()).collect();
        let (merged, _) = single(&Scene { objects, ..Scene::default() }).unwrap();
        assert_eq!(merged.rig.as_ref().unwrap().joints().len(), 4);
        assert_eq!(*merged.base_motion().unwrap().unwrap().frame(1).unwrap(), apart.concat());
    }

    #[test]
    fn rejects_motions_of_different_lengths() {
        let scene = Scene { objects: vec![moving("a", 2, 30.0), moving("b", 3, 30.0)], ..Scene::default() };
        let message = single(&scene).unwrap_err().to_string();
        assert!(message.contains("'a' has 2 frames") && message.contains("'b' has 3 frames"), "{message}");
    }
}
