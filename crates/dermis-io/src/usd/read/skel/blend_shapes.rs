//! `BlendShape` prims: offsets of all points, or of those listed.

use dermis_mesh::{Note, Shape, TriMesh};
use glam::{DAffine3, Vec3};

use super::super::prims::Prims;
use super::super::values;
use crate::budget::Budget;
use crate::error::Error;

/// The blend shapes of a mesh.
#[derive(Default)]
pub(in super::super) struct BlendShapes {
    shapes: Vec<Sparse>,
}

/// Offsets of the listed points.
struct Sparse {
    /// Its name in animations.
    key: String,
    /// The name that the user gave it.
    name: String,
    points: Vec<u32>,
    offsets: Vec<Vec3>,
    normal_offsets: Option<Vec<Vec3>>,
}

impl BlendShapes {
    pub(super) fn of(prims: &Prims, mesh: usize, points: usize, notes: &mut Vec<Note>) -> Result<Self, Error> {
        let prim = &prims.all[mesh];
        let names = prim.value("skel:blendShapes").and_then(values::texts).unwrap_or_default();
        let targets = prim.relationships.get("skel:blendShapeTargets").map_or(&[][..], Vec::as_slice);
        let mut shapes = Vec::new();
        for (name, target) in names.into_iter().zip(targets) {
            let Some(target) = prims.find(target) else { continue };
            shapes.push(sparse(prims, target, name, points).map_err(|error| error.at(prims.all[target].path.clone()))?);
            if prims.all[target].attributes.keys().any(|name| name.starts_with("inbetweens:")) {
                let path = prims.all[target].path.clone();
                notes.push(Note::at(path, "the shape's in-betweens are skipped"));
            }
        }
        Ok(Self { shapes })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// The names of the shapes in animations.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.shapes.iter().map(|shape| shape.key.as_str())
    }

    /// The shapes of the mesh, whose points are transformed by `rest`.
    pub(super) fn placed(&self, mesh: &TriMesh, rest: DAffine3, budget: &mut Budget) -> Result<Vec<Shape>, Error> {
        let numbers = mesh.point_count().saturating_add(mesh.vertex_count());
        budget.take("blend shapes", numbers.saturating_mul(self.shapes.len()), 12)?;
        let normal_transform = DAffine3::from_mat3(rest.matrix3.inverse().transpose());
        let dense = |points: &[u32], values: &[Vec3], by: DAffine3| {
            let mut dense = vec![Vec3::ZERO; mesh.point_count()];
            for (&point, value) in points.iter().zip(values) {
                dense[point as usize] = by.transform_vector3(value.as_dvec3()).as_vec3();
            }
            dense
        };
        let placed = |shape: &Sparse| Shape {
            name: shape.name.clone(),
            offsets: dense(&shape.points, &shape.offsets, rest),
            normal_offsets: shape.normal_offsets.as_ref().map(|offsets| {
                let per_point = dense(&shape.points, offsets, normal_transform);
                mesh.layout().map_or_else(|| per_point.clone(), |layout| layout.split(&per_point))
            }),
        };
        Ok(self.shapes.iter().map(placed).collect())
    }
}

fn sparse(prims: &Prims, target: usize, key: String, point_count: usize) -> Result<Sparse, Error> {
    let prim = &prims.all[target];
    let mut offsets = prim.value("offsets").and_then(values::vectors3).unwrap_or_default();
    let points: Vec<u32> = match prim.value("pointIndices").and_then(values::integers) {
        Some(points) if !points.is_empty() => points.into_iter().map(|point| point as u32).collect(),
        _ => (0..offsets.len() as u32).collect(),
    };
    // A shape of normals alone.
    if offsets.is_empty() && points.len() <= point_count {
        offsets.resize(points.len(), Vec3::ZERO);
    }
    if points.len() != offsets.len() {
        let (points, offsets) = (points.len(), offsets.len());
        return Err(Error::malformed(format!("the blend shape has {offsets} offsets, but {points} point indices")));
    }
    if let Some(&point) = points.iter().find(|&&point| point as usize >= point_count) {
        return Err(Error::malformed(format!("the blend shape moves point {point}, but there are only {point_count}")));
    }
    let normal_offsets = prim.value("normalOffsets").and_then(values::vectors3);
    let name = prim.original_name.clone().unwrap_or_else(|| key.clone());
    Ok(Sparse {
        normal_offsets: normal_offsets.filter(|normals| normals.len() == offsets.len()),
        key,
        name,
        points,
        offsets,
    })
}
