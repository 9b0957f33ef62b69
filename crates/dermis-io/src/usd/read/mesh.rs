//! A `Mesh` prim as polygons with their attributes and materials.

use std::collections::BTreeMap;

use dermis_mesh::polygons::flip_v;
use dermis_mesh::{CornerData, Note, PolygonMesh, Polygons, TriMesh};
use glam::{DAffine3, Vec3, Vec4};
use openusd::sdf::Value;

use super::material::Materials;
use super::prims::{Attribute, Prim, Prims};
use super::primvars::{Corners, per_corner, per_point};
use super::values;
use crate::error::{Error, ErrorKind};

/// The shape of a prim.
pub(super) struct Shaped {
    pub(super) mesh: TriMesh,
    /// Attributes of points.
    pub(super) attributes: BTreeMap<String, Vec<f32>>,
}

/// The mesh at `index` with its `points` placed by `world`.
pub(super) fn shape(
    prims: &Prims,
    index: usize,
    points: &[Vec3],
    world: DAffine3,
    materials: &mut Materials<'_>,
    notes: &mut Vec<Note>,
) -> Result<Shaped, Error> {
    let prim = &prims.all[index];
    let is_left_handed = prim.value("orientation").and_then(values::text).as_deref() == Some("leftHanded");
    let mirrors = world.matrix3.determinant() < 0.0;
    let (sizes, corners) = corners(prim, is_left_handed != mirrors)?;
    let uv_names = uv_names(prim);
    let bound = materials.bind(prims, index, sizes.len(), &uv_names, notes);
    let mut attributes = BTreeMap::new();
    for (name, _) in primvars(prim, &["float[]", "double[]", "half[]"]) {
        if let Some(values) = per_point(prim, name, points.len()) {
            attributes.insert(name.trim_start_matches("primvars:").to_owned(), values);
        }
    }
    let mut fits = |name: &str, fits: bool| {
        if !fits {
            notes.push(Note::at(prim.path.clone(), format!("'{name}' does not match the mesh and is skipped")));
        }
    };
    let uvs = uv_names.iter().filter_map(|name| {
        let uvs = per_corner(prim, name, &corners, values::vectors2);
        fits(name, uvs.is_some());
        uvs.map(|uvs| CornerData { values: uvs.values.into_iter().map(flip_v).collect(), indices: uvs.indices })
    });
    let uvs = uvs.collect();
    let polygon_mesh = PolygonMesh {
        points: points.iter().map(|point| world.transform_point3(point.as_dvec3()).as_vec3()).collect(),
        normals: normals(prim, &corners, world, &mut fits),
        uvs,
        colors: colors(prim, &corners, &mut fits),
        polygons: Polygons { sizes, corners: corners.points },
        materials: bound.materials,
        polygon_materials: bound.face_materials,
    };
    Ok(Shaped { mesh: polygon_mesh.into_tri_mesh()?, attributes })
}

/// Returns an error at the first frame at which an attribute of the topology differs from its first sample.
pub(super) fn check_topology(prim: &Prim) -> Result<(), Error> {
    for name in ["faceVertexCounts", "faceVertexIndices"] {
        let samples = prim.attribute(name).map_or(&[][..], |attribute| &attribute.samples);
        let Some((_, first)) = samples.first() else { continue };
        if let Some(frame) = samples.iter().position(|(_, value)| value != first) {
            return Err(Error::from(ErrorKind::TopologyChanges { frame })
                .detail(format!("'{name}' changes at time code {}", samples[frame].0))
                .with_hint("export again with constant topology"));
        }
    }
    Ok(())
}

/// The sizes of the faces, and their corners; `reversed`: in reverse order after the first.
fn corners(prim: &Prim, reversed: bool) -> Result<(Vec<u32>, Corners), Error> {
    let list = |name: &str| prim.value(name).and_then(values::integers).unwrap_or_default();
    let (counts, indices) = (list("faceVertexCounts"), list("faceVertexIndices"));
    let unsigned = |what: &str, values: &[i32]| -> Result<Vec<u32>, Error> {
        let negative = |_| Error::malformed(format!("'{what}' contains a negative number"));
        values.iter().map(|&value| u32::try_from(value).map_err(negative)).collect()
    };
    let sizes = unsigned("faceVertexCounts", &counts)?;
    let indices = unsigned("faceVertexIndices", &indices)?;
    let total: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
    if total != indices.len() as u64 {
        let what = format!("the faces have {total} corners, but {} points are listed for them", indices.len());
        return Err(Error::malformed(what));
    }
    let mut corners = Corners::default();
    let mut first = 0u32;
    for (face, &size) in sizes.iter().enumerate() {
        for corner in 0..size {
            let from_first = if reversed && corner > 0 { size - corner } else { corner };
            corners.order.push(first + from_first);
            corners.points.push(indices[(first + from_first) as usize]);
            corners.faces.push(face as u32);
        }
        first += size;
    }
    Ok((sizes, corners))
}

/// The primvars of one of the `types`, by name.
fn primvars<'a>(prim: &'a Prim, types: &[&str]) -> Vec<(&'a str, &'a Attribute)> {
    let is_meant = |name: &str, attribute: &Attribute| {
        name.starts_with("primvars:")
            && !name.starts_with("primvars:skel:")
            && !name.ends_with(":indices")
            && name != "primvars:displayOpacity"
            && types.contains(&attribute.type_name.as_str())
    };
    let all = prim.attributes.iter().map(|(name, attribute)| (name.as_str(), attribute));
    let mut found: Vec<_> = all.filter(|(name, attribute)| is_meant(name, attribute)).collect();
    found.sort_by_key(|(name, _)| *name);
    found
}

/// UV primvars: `st` first, then the others by name.
fn uv_names(prim: &Prim) -> Vec<String> {
    let mut names: Vec<String> = primvars(prim, &["texCoord2f[]", "texCoord2d[]", "texCoord2h[]"])
        .into_iter()
        .map(|(name, _)| name.to_owned())
        .collect();
    // Older files state `st` as plain pairs.
    for (name, _) in primvars(prim, &["float2[]"]) {
        if matches!(name, "primvars:st" | "primvars:uv" | "primvars:UVMap") {
            names.push(name.to_owned());
        }
    }
    names.sort_by_key(|name| name != "primvars:st");
    names
}

fn normals(
    prim: &Prim,
    corners: &Corners,
    world: DAffine3,
    fits: &mut impl FnMut(&str, bool),
) -> Option<CornerData<Vec3>> {
    let name = ["primvars:normals", "normals"].into_iter().find(|name| prim.attribute(name).is_some())?;
    let mut data = per_corner(prim, name, corners, values::vectors3);
    fits(name, data.is_some());
    let data = data.as_mut()?;
    if world != DAffine3::IDENTITY {
        let placed = world.matrix3.inverse().transpose();
        for normal in &mut data.values {
            *normal = (placed * normal.as_dvec3()).normalize_or_zero().as_vec3();
        }
    }
    Some(std::mem::take(data))
}

/// `displayColor` with `displayOpacity` first, then the other colours by name.
fn colors(prim: &Prim, corners: &Corners, fits: &mut impl FnMut(&str, bool)) -> Vec<CornerData<Vec4>> {
    let mut found = primvars(prim, &["color3f[]", "color4f[]", "color3d[]", "color3h[]"]);
    found.sort_by_key(|(name, _)| *name != "primvars:displayColor");
    let mut sets = Vec::new();
    for (name, _) in found {
        let mut data = per_corner(prim, name, corners, values::colors);
        fits(name, data.is_some());
        let opacity = per_corner(prim, "primvars:displayOpacity", corners, values::numbers);
        if let (Some(colors), Some(opacity), "primvars:displayColor") = (&data, opacity, name) {
            data = Some(with_opacity(colors, &opacity));
        }
        sets.extend(data);
    }
    sets
}

fn with_opacity(colors: &CornerData<Vec4>, opacity: &CornerData<f32>) -> CornerData<Vec4> {
    let corner = |(&color, &alpha): (&u32, &u32)| {
        colors.values[color as usize].truncate().extend(opacity.values[alpha as usize])
    };
    let values: Vec<Vec4> = colors.indices.iter().zip(&opacity.indices).map(corner).collect();
    CornerData { indices: (0..values.len() as u32).collect(), values }
}

/// The points outside of time, or those of the first sample.
pub(super) fn rest_points(prim: &Prim) -> Result<Vec<Vec3>, Error> {
    let Some(attribute) = prim.attribute("points") else { return Ok(Vec::new()) };
    let value: Option<&Value> = attribute.value();
    value.and_then(values::vectors3).ok_or_else(|| Error::malformed("'points' does not contain positions"))
}
