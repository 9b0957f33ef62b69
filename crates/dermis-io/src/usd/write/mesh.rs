//! A `Mesh` prim: polygons, attributes, subsets of faces, and points over time.

use dermis_mesh::polygons::flip_v;
use dermis_mesh::tri_mesh::bounds;
use dermis_mesh::{MeshSequence, Object, PolygonMesh};
use glam::{Vec2, Vec3};

use super::Writing;
use super::names::Names;
use super::normals::NormalGroups;
use super::text::{Text, quoted};
use crate::error::Error;

/// The primvar of a UV set.
pub(super) fn uv_name(set: usize) -> String {
    if set == 0 { "st".to_owned() } else { format!("st{set}") }
}

/// Contents of a mesh prim beside its shape.
pub(super) struct Extras<'a> {
    /// More schemas that are applied to it.
    pub(super) schemas: &'a [&'a str],
    /// Writes more of the prim.
    pub(super) body: &'a dyn Fn(&mut Text<'_>) -> Result<(), Error>,
}

/// Writes the prim `name` with the shape of `object`, moving as `motion` does.
pub(super) fn write(
    object: &Object,
    name: &str,
    motion: Option<&MeshSequence>,
    extras: &Extras<'_>,
    writing: &mut Writing<'_>,
) -> Result<(), Error> {
    let shape = object.mesh.to_polygon_mesh();
    let paths: Vec<String> =
        shape.materials.iter().map(|material| writing.materials.path(super::ROOT_PATH, material)).collect();
    let mut schemas = extras.schemas.to_vec();
    if !paths.is_empty() {
        schemas.push("MaterialBindingAPI");
    }
    let mut metadata = super::applied(&schemas);
    // Objects are named by their paths on reading, so every name is kept.
    metadata.extend(super::original_name(&object.name, ""));
    let text = &mut writing.text;
    text.open(format_args!("def Mesh {}", quoted(name)), &metadata)?;
    let double_sided = u8::from(shape.materials.iter().any(|material| material.double_sided));
    text.line(format_args!("uniform bool doubleSided = {double_sided}"))?;
    let (low, high) = bounds(&shape.points);
    text.list("float3[] extent", &[low, high], &[])?;
    text.list("int[] faceVertexCounts", &shape.polygons.sizes, &[])?;
    text.list("int[] faceVertexIndices", &shape.polygons.corners, &[])?;
    text.list("point3f[] points", &shape.points, &[])?;
    let groups = NormalGroups::of(&object.mesh);
    if let Some(motion) = motion {
        write_frames(motion, groups.as_ref(), writing)?;
    }
    let text = &mut writing.text;
    write_primvars(object, &shape, groups.as_ref(), text)?;
    text.line("uniform token subdivisionScheme = \"none\"")?;
    (extras.body)(text)?;
    write_bindings(&shape, &paths, text)?;
    text.close()
}

/// Points, bounds and normals of each frame.
fn write_frames(
    motion: &MeshSequence,
    groups: Option<&NormalGroups<'_>>,
    writing: &mut Writing<'_>,
) -> Result<(), Error> {
    let times: Vec<f64> = writing.clock.times(motion.start_seconds(), motion.frame_rate_hz(), motion.frame_count());
    let mut positions = vec![Vec3::ZERO; motion.point_count()];
    let mut extents = Vec::with_capacity(times.len());
    writing.text.open_samples("point3f[] points")?;
    for (frame, &time) in times.iter().enumerate() {
        writing.step()?;
        motion.read_into(frame, &mut positions)?;
        extents.push(bounds(&positions));
        writing.text.sample(time, &positions)?;
    }
    writing.text.close()?;
    writing.text.open_samples("float3[] extent")?;
    for (&time, &(low, high)) in times.iter().zip(&extents) {
        writing.text.sample(time, &[low, high])?;
    }
    writing.text.close()?;
    let Some(groups) = groups else { return Ok(()) };
    writing.text.open_samples("normal3f[] primvars:normals")?;
    for (frame, &time) in times.iter().enumerate() {
        writing.step()?;
        motion.read_into(frame, &mut positions)?;
        writing.text.sample(time, &groups.at(&positions))?;
    }
    writing.text.close()
}

/// Number of steps of progress that [`write`] reports for a motion.
pub(super) fn steps(object: &Object, frame_count: usize) -> usize {
    let has_normals = object.mesh.layout().is_some_and(|layout| layout.normals.is_some());
    if has_normals { 2 * frame_count } else { frame_count }
}

fn write_primvars(
    object: &Object,
    shape: &PolygonMesh,
    groups: Option<&NormalGroups<'_>>,
    text: &mut Text<'_>,
) -> Result<(), Error> {
    let per_corner = ["interpolation = \"faceVarying\"".to_owned()];
    if let (Some(groups), Some(normals)) = (groups, &shape.normals) {
        text.list("normal3f[] primvars:normals", &groups.rest, &per_corner)?;
        let indices: Vec<u32> = normals.indices.iter().map(|&vertex| groups.of_vertex[vertex as usize]).collect();
        text.list("int[] primvars:normals:indices", &indices, &[])?;
    }
    for (set, uvs) in shape.uvs.iter().enumerate() {
        let name = uv_name(set);
        let values: Vec<Vec2> = uvs.values.iter().copied().map(flip_v).collect();
        text.list(&format!("texCoord2f[] primvars:{name}"), &values, &per_corner)?;
        text.list(&format!("int[] primvars:{name}:indices"), &uvs.indices, &[])?;
    }
    for (set, colors) in shape.colors.iter().enumerate() {
        let number = if set == 0 { String::new() } else { set.to_string() };
        let values: Vec<Vec3> = colors.values.iter().map(|color| color.truncate()).collect();
        text.list(&format!("color3f[] primvars:displayColor{number}"), &values, &per_corner)?;
        text.list(&format!("int[] primvars:displayColor{number}:indices"), &colors.indices, &[])?;
        if set == 0 && colors.values.iter().any(|color| color.w != 1.0) {
            let opacity: Vec<f32> = colors.values.iter().map(|color| color.w).collect();
            text.list("float[] primvars:displayOpacity", &opacity, &per_corner)?;
            text.list("int[] primvars:displayOpacity:indices", &colors.indices, &[])?;
        }
    }
    let mut names = Names::default();
    for (name, values) in &object.attributes {
        let name = names.give(name, "attribute");
        text.list(&format!("float[] primvars:{name}"), values, &["interpolation = \"vertex\"".to_owned()])?;
    }
    Ok(())
}

/// One material for the mesh, or one for each subset of its faces.
fn write_bindings(shape: &PolygonMesh, paths: &[String], text: &mut Text<'_>) -> Result<(), Error> {
    let faces_of = |material: usize| -> Vec<u32> {
        let of_faces = shape.polygon_materials.iter().enumerate();
        of_faces.filter(|(_, found)| **found as usize == material).map(|(face, _)| face as u32).collect()
    };
    let used: Vec<(usize, Vec<u32>)> = (0..paths.len())
        .map(|material| (material, faces_of(material)))
        .filter(|(_, faces)| !faces.is_empty())
        .collect();
    match used.as_slice() {
        [] => Ok(()),
        [(material, _)] => text.line(format_args!("rel material:binding = <{}>", paths[*material])),
        several => {
            text.line("uniform token subsetFamily:materialBind:familyType = \"partition\"")?;
            for (material, faces) in several {
                let name = paths[*material].rsplit('/').next().unwrap_or_default();
                let schemas = super::applied(&["MaterialBindingAPI"]);
                text.open(format_args!("def GeomSubset {}", quoted(&format!("faces_{name}"))), &schemas)?;
                text.line("uniform token elementType = \"face\"")?;
                text.line("uniform token familyName = \"materialBind\"")?;
                text.list("int[] indices", faces, &[])?;
                text.line(format_args!("rel material:binding = <{}>", paths[*material]))?;
                text.close()?;
            }
            Ok(())
        }
    }
}
