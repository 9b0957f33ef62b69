//! Merging of several objects into one, for formats that store a single object.
//!
//! Points, triangles, layouts, tetrahedra and attributes are concatenated in the order of the objects. Attributes that
//! only some objects have are padded: UVs with 0, colours with white, materials with the default material, scalars with
//! 0. Normals and tangents have no neutral value and are kept only if all objects have them. Recorded frames and posed
//! clips of equal length and rate become one sequence, read lazily; objects without motion are static in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use glam::{Vec2, Vec4};

use crate::layout::{Layout, Material};
use crate::polygons::Polygons;
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
    let mesh = Arc::new(merge_meshes(objects, &mut notes)?);
    let sequence = merge_motions(objects, &mesh)?;
    if objects.iter().any(|object| object.rig.is_some()) {
        notes.push(Note::new("the rigs of merged objects are dropped; their first clips are converted to frames"));
    }
    let object = Object {
        name: objects[0].name.clone(),
        tets: merge_tets(objects, &mesh)?,
        attributes: merge_attributes(objects),
        mesh,
        sequence,
        ..Object::default()
    };
    Ok((object, notes))
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
    let mut moving = objects.iter().zip(&motions).filter_map(|(object, motion)| Some((object, motion.as_ref()?)));
    let Some((first, motion)) = moving.next() else {
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
                Some(motion) => motion.read_into(frame, own)?,
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
        assert_eq!(layout.polygons.as_ref().unwrap().sizes, [3, 4]);
        assert_eq!(layout.polygons.as_ref().unwrap().corners, [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn rejects_motions_of_different_lengths() {
        let scene = Scene { objects: vec![moving("a", 2, 30.0), moving("b", 3, 30.0)], ..Scene::default() };
        let message = single(&scene).unwrap_err().to_string();
        assert!(message.contains("'a' has 2 frames") && message.contains("'b' has 3 frames"), "{message}");
    }
}
