//! Values on a mesh: per point, per face, per corner, or constant, directly or indexed.

use dermis_mesh::CornerData;
use openusd::sdf::Value;

use super::prims::{Attribute, Prim};
use super::values;

/// Faces of a mesh, with their corners in the order of dermis.
#[derive(Debug, Default)]
pub(super) struct Corners {
    /// Index in the file of each corner.
    pub(super) order: Vec<u32>,
    /// Point of each corner.
    pub(super) points: Vec<u32>,
    /// Face of each corner.
    pub(super) faces: Vec<u32>,
}

/// A primvar's values per corner; `None` if its counts do not match the mesh.
pub(super) fn per_corner<T>(
    prim: &Prim,
    name: &str,
    corners: &Corners,
    convert: impl Fn(&Value) -> Option<Vec<T>>,
) -> Option<CornerData<T>> {
    let attribute = prim.attribute(name)?;
    let values = convert(attribute.value()?)?;
    let indices = indices_of(prim, name);
    let index = |corner: usize| -> Option<u32> {
        let element = element_of(corner, interpolation(name, attribute), corners);
        let index = match &indices {
            Some(indices) => u32::try_from(*indices.get(element as usize)?).ok()?,
            None => element,
        };
        ((index as usize) < values.len()).then_some(index)
    };
    let indices = (0..corners.points.len()).map(index).collect::<Option<_>>()?;
    Some(CornerData { values, indices })
}

/// A primvar's values per point; `None` if they have another interpolation or do not match.
pub(super) fn per_point(prim: &Prim, name: &str, point_count: usize) -> Option<Vec<f32>> {
    let attribute = prim.attribute(name)?;
    if !matches!(interpolation(name, attribute), "vertex" | "varying") {
        return None;
    }
    let values = values::numbers(attribute.value()?)?;
    let values = match indices_of(prim, name) {
        Some(indices) => {
            let look_up = |index: &i32| usize::try_from(*index).ok().and_then(|index| values.get(index).copied());
            indices.iter().map(look_up).collect::<Option<Vec<f32>>>()?
        }
        None => values,
    };
    (values.len() == point_count).then_some(values)
}

fn indices_of(prim: &Prim, name: &str) -> Option<Vec<i32>> {
    prim.value(&format!("{name}:indices")).and_then(values::integers)
}

/// Normals can also be a plain attribute; they then belong to points unless stated otherwise.
fn interpolation<'a>(name: &str, attribute: &'a Attribute) -> &'a str {
    attribute.interpolation.as_deref().unwrap_or(if name == "normals" { "vertex" } else { "constant" })
}

fn element_of(corner: usize, interpolation: &str, corners: &Corners) -> u32 {
    match interpolation {
        "vertex" | "varying" => corners.points[corner],
        "uniform" => corners.faces[corner],
        "faceVarying" => corners.order[corner],
        _ => 0,
    }
}
