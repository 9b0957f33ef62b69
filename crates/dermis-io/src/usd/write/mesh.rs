//! A `Mesh` prim: polygons, attributes, subsets of faces, and points over time.

use dermis_mesh::polygons::flip_v;
use dermis_mesh::tri_mesh::bounds;
use dermis_mesh::{MeshSequence, Object, PolygonMesh};
use glam::{Vec2, Vec3};

use super::Writing;
use super::layer::{Layer, Value, interpolation};
use super::names::Names;
use super::normals::NormalGroups;
use crate::error::Error;

/// The primvar of a UV set.
pub(super) fn uv_name(set: usize) -> String {
    if set == 0 { "st".to_owned() } else { format!("st{set}") }
}

/// Contents of a mesh prim in addition to its shape.
pub(super) struct Extras<'a> {
    /// Additional schemas that are applied to it.
    pub(super) schemas: &'a [&'a str],
    /// Writes additional properties of the prim.
    pub(super) body: &'a dyn Fn(&mut dyn Layer) -> Result<(), Error>,
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
    let layer = &mut *writing.layer;
    layer.open("Mesh", name, &metadata)?;
    let double_sided = shape.materials.iter().any(|material| material.double_sided);
    layer.attribute("uniform bool doubleSided", Some(Value::Bool(double_sided)), &[])?;
    let (low, high) = bounds(&shape.points);
    layer.value("float3[] extent", &[low, high][..])?;
    layer.value("int[] faceVertexCounts", &shape.polygons.sizes)?;
    layer.value("int[] faceVertexIndices", &shape.polygons.corners)?;
    layer.value("point3f[] points", &shape.points)?;
    let groups = NormalGroups::of(&object.mesh);
    if let Some(motion) = motion {
        write_frames(motion, groups.as_ref(), writing)?;
    }
    let layer = &mut *writing.layer;
    write_primvars(object, &shape, groups.as_ref(), layer)?;
    layer.token("uniform token subdivisionScheme", "none")?;
    (extras.body)(layer)?;
    write_bindings(&shape, &paths, layer)?;
    layer.close()
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
    writing.layer.open_samples("point3f[] points")?;
    for (frame, &time) in times.iter().enumerate() {
        writing.step()?;
        motion.read_into(frame, &mut positions)?;
        extents.push(bounds(&positions));
        writing.layer.sample(time, Value::Vec3s(&positions))?;
    }
    writing.layer.close_samples()?;
    writing.layer.open_samples("float3[] extent")?;
    for (&time, &(low, high)) in times.iter().zip(&extents) {
        writing.layer.sample(time, Value::Vec3s(&[low, high]))?;
    }
    writing.layer.close_samples()?;
    let Some(groups) = groups else { return Ok(()) };
    writing.layer.open_samples("normal3f[] primvars:normals")?;
    for (frame, &time) in times.iter().enumerate() {
        writing.step()?;
        motion.read_into(frame, &mut positions)?;
        writing.layer.sample(time, Value::Vec3s(&groups.at(&positions)))?;
    }
    writing.layer.close_samples()
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
    layer: &mut dyn Layer,
) -> Result<(), Error> {
    let per_corner = [interpolation("faceVarying")];
    if let (Some(groups), Some(normals)) = (groups, &shape.normals) {
        layer.attribute("normal3f[] primvars:normals", Some(Value::from(&groups.rest)), &per_corner)?;
        let indices: Vec<u32> = normals.indices.iter().map(|&vertex| groups.of_vertex[vertex as usize]).collect();
        layer.value("int[] primvars:normals:indices", &indices)?;
    }
    for (set, uvs) in shape.uvs.iter().enumerate() {
        let name = uv_name(set);
        let values: Vec<Vec2> = uvs.values.iter().copied().map(flip_v).collect();
        layer.attribute(&format!("texCoord2f[] primvars:{name}"), Some(Value::from(&values)), &per_corner)?;
        layer.value(&format!("int[] primvars:{name}:indices"), &uvs.indices)?;
    }
    for (set, colors) in shape.colors.iter().enumerate() {
        let number = if set == 0 { String::new() } else { set.to_string() };
        let values: Vec<Vec3> = colors.values.iter().map(|color| color.truncate()).collect();
        layer.attribute(
            &format!("color3f[] primvars:displayColor{number}"),
            Some(Value::from(&values)),
            &per_corner,
        )?;
        layer.value(&format!("int[] primvars:displayColor{number}:indices"), &colors.indices)?;
        if set == 0 && colors.values.iter().any(|color| color.w != 1.0) {
            let opacity: Vec<f32> = colors.values.iter().map(|color| color.w).collect();
            layer.attribute("float[] primvars:displayOpacity", Some(Value::from(&opacity)), &per_corner)?;
            layer.value("int[] primvars:displayOpacity:indices", &colors.indices)?;
        }
    }
    let mut names = Names::default();
    for (name, values) in &object.attributes {
        let name = names.unique(name, "attribute");
        layer.attribute(
            &format!("float[] primvars:{name}"),
            Some(Value::Floats(values)),
            &[interpolation("vertex")],
        )?;
    }
    Ok(())
}

/// One material for the mesh, or one for each subset of its faces.
fn write_bindings(shape: &PolygonMesh, paths: &[String], layer: &mut dyn Layer) -> Result<(), Error> {
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
        [(material, _)] => layer.relationship("material:binding", std::slice::from_ref(&paths[*material])),
        several => {
            layer.token("uniform token subsetFamily:materialBind:familyType", "partition")?;
            for (material, faces) in several {
                let name = paths[*material].rsplit('/').next().unwrap_or_default();
                let schemas = super::applied(&["MaterialBindingAPI"]);
                layer.open("GeomSubset", &format!("faces_{name}"), &schemas)?;
                layer.token("uniform token elementType", "face")?;
                layer.token("uniform token familyName", "materialBind")?;
                layer.value("int[] indices", faces)?;
                layer.relationship("material:binding", std::slice::from_ref(&paths[*material]))?;
                layer.close()?;
            }
            Ok(())
        }
    }
}
