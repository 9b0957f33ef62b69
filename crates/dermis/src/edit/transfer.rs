//! Transfer of a skin to an edited mesh with a different topology, after cuts or with added geometry.
//!
//! Each new point takes weights, corrections, attributes and layers from its anchor on the old rest pose, and keeps its
//! displacement from the anchor in the local frame. Each corner of a new triangle takes texture coordinates and colours
//! from the old triangle that is nearest to the corner on the inside of the new triangle, so seams stay sharp; the
//! material is that at the centre. Texture coordinates and normals of the edited mesh take precedence over those of the
//! old one.

use std::collections::HashMap;
use std::sync::Arc;

use dermis_mesh::geometry::{point_normals, triangle_normals};
use dermis_mesh::glam::{DVec3, Vec2, Vec3, Vec4};
use dermis_mesh::weld::{Column, weld};
use dermis_mesh::{Layout, Note, Object, Rig, Shape, SkinWeights, TriMesh};

use super::anchor::{Anchor, Surface};
use super::layers;
use super::reference::Reference;
use crate::error::{EditError, Result};

/// Maximum mean distance of the new points from the old surface, relative to its diagonal.
pub(super) const MAX_MEAN_DISTANCE: f64 = 0.5;
/// Minimum for the limit of influences per point; every engine supports this number.
const MIN_INFLUENCES: usize = 4;
/// Fraction of the way from a corner to the centre of its triangle at which the old triangle of the corner is found.
const INWARDS: f64 = 1e-3;
/// Difference within which values of a point belong to the same vertex.
const SAME_VALUE: f32 = 1e-4;

/// A mesh with a different topology and the skin of `object`.
#[derive(Debug)]
pub(super) struct Transferred {
    pub(super) object: Object,
    /// Displacement of each point from its anchor, in the bind pose.
    pub(super) displacements: Vec<DVec3>,
}

/// Transfers the skin of `object` to `edited`, whose points are in the pose `reference` of the object.
pub(super) fn transferred(
    object: &Object,
    edited: &TriMesh,
    reference: &Reference,
    notes: &mut Vec<Note>,
) -> Result<Transferred> {
    let edited = welded(edited)?;
    let old = &object.mesh;
    let surface = Surface::new(&reference.points, old.triangles());
    let normals = point_normals(edited.points(), edited.triangles());
    let (mut anchors, mut sum) = (Vec::with_capacity(edited.point_count()), 0.0);
    for (point, normal) in edited.points().iter().zip(&normals) {
        let (anchor, distance) = surface.anchor(point.as_dvec3(), *normal).ok_or(EditError::NoTriangles)?;
        anchors.push(anchor);
        sum += distance;
    }
    let mean = sum / anchors.len().max(1) as f64 / f64::from(old.diagonal()).max(f64::MIN_POSITIVE);
    if mean.is_nan() || mean > MAX_MEAN_DISTANCE {
        return Err(EditError::Apart { object: object.name.clone(), percent: 100.0 * mean }.into());
    }
    let displacements = reference.to_bind(object, edited.points(), &anchors)?;
    let at = |(anchor, displacement): (&Anchor, &DVec3)| (anchor.vector(old.points()) + *displacement).as_vec3();
    let points: Vec<Vec3> = anchors.iter().zip(&displacements).map(at).collect();
    let corners = Corners::new(object, &edited, &surface, reference, &anchors)?;
    let (mut mesh, mut shape_normals) = (TriMesh::new(points, edited.triangles().to_vec())?, Vec::new());
    if let Some((mut layout, normals_of_shapes)) = corners.layout(object, &edited, notes) {
        if old.layout().is_some_and(|layout| layout.normals.is_some()) && layout.normals.is_none() {
            layout.normals = Some(layout.split(&point_normals(mesh.points(), mesh.triangles())));
            let message = "the edited mesh has no normals: they are computed, without hard edges";
            notes.push(Note::at(&object.name, message));
        }
        mesh = mesh.with_layout(layout)?;
        shape_normals = normals_of_shapes;
    }
    let mesh = Arc::new(mesh);
    let rig = object.rig.as_ref().map(|rig| transferred_rig(rig, &mesh, &anchors, shape_normals)).transpose()?;
    let deformers = layers::transferred(object, &anchors, &displacements, rig.as_ref(), notes)?;
    let values = |values: &Vec<f32>| anchors.iter().map(|anchor| anchor.number(values)).collect();
    let attributes = object.attributes.iter().map(|(name, old)| (name.clone(), values(old))).collect();
    if !object.levels.is_empty() {
        let message = "the levels of detail belong to the unedited mesh and are dropped: create them again";
        notes.push(Note::at(&object.name, message));
    }
    let object = Object { mesh, rig: rig.map(Arc::new), deformers, attributes, levels: Vec::new(), ..object.clone() };
    Ok(Transferred { object, displacements })
}

/// `mesh` with coincident points joined, since programs split points at seams.
fn welded(mesh: &TriMesh) -> Result<TriMesh> {
    let positions: Vec<f32> = mesh.points().iter().flat_map(dermis_mesh::glam::Vec3::to_array).collect();
    let joined = weld(mesh.point_count(), &[Column { values: &positions, width: 3 }]);
    if joined.point_vertices.len() == mesh.point_count() {
        return Ok(mesh.clone());
    }
    let points = joined.point_vertices.iter().map(|&point| mesh.points()[point as usize]).collect();
    let renumbered = |triangle: &[u32; 3]| triangle.map(|point| joined.vertex_points[point as usize]);
    let triangles = mesh.triangles().iter().map(renumbered).collect();
    let mut layout = mesh.layout().cloned().unwrap_or_else(|| Layout::plain(mesh));
    for point in &mut layout.vertex_points {
        *point = joined.vertex_points[*point as usize];
    }
    Ok(TriMesh::new(points, triangles)?.with_layout(layout)?)
}

fn transferred_rig(
    rig: &Rig,
    mesh: &TriMesh,
    anchors: &[Anchor],
    mut shape_normals: Vec<Option<Vec<Vec3>>>,
) -> Result<Rig> {
    let most = rig.weights().max_influences().max(MIN_INFLUENCES);
    let weights = if rig.joints().is_empty() {
        SkinWeights::default()
    } else {
        SkinWeights::from_rows(anchors.iter().map(|anchor| anchor.row(rig.weights(), most)))
    };
    shape_normals.resize(rig.shapes().len(), None);
    let shape = |(shape, normal_offsets): (&Shape, Option<Vec<Vec3>>)| Shape {
        name: shape.name.clone(),
        offsets: anchors.iter().map(|anchor| anchor.vector(&shape.offsets).as_vec3()).collect(),
        normal_offsets,
    };
    let shapes = rig.shapes().iter().zip(shape_normals).map(shape).collect();
    let new = Rig::sharing(mesh, Arc::clone(rig.shared_joints()), weights, shapes)?;
    Ok(match rig.stored_pose() {
        Some(pose) => new.with_stored_pose(pose.clone())?,
        None => new,
    })
}

/// Old triangles next to the corners and centres of the new triangles.
#[allow(clippy::struct_field_names, reason = "corners and centres of triangles")]
struct Corners {
    /// Anchor of each corner.
    corners: Vec<[Anchor; 3]>,
    /// Old triangle nearest to the centre.
    centres: Vec<u32>,
    /// Normal of each vertex of the edited mesh, in the bind pose.
    normals: Option<Vec<Vec3>>,
}

impl Corners {
    fn new(
        object: &Object,
        edited: &TriMesh,
        surface: &Surface<'_>,
        reference: &Reference,
        anchors: &[Anchor],
    ) -> Result<Self> {
        let normals = triangle_normals(edited.points(), edited.triangles());
        let (mut corners, mut centres) = (Vec::new(), Vec::new());
        for (triangle, normal) in edited.triangles().iter().zip(&normals) {
            let positions = triangle.map(|point| edited.points()[point as usize].as_dvec3());
            let centre = positions.iter().sum::<DVec3>() / 3.0;
            let nearest = |p: DVec3| surface.anchor(p, *normal).map(|(anchor, _)| anchor.triangle);
            let centre_triangle = nearest(centre).ok_or(EditError::NoTriangles)?;
            centres.push(centre_triangle);
            corners.push(positions.map(|position| {
                let inside = nearest(position.lerp(centre, INWARDS)).unwrap_or(centre_triangle);
                surface.on(inside, position)
            }));
        }
        let stored = edited.layout().and_then(|layout| Some((layout, layout.normals.as_ref()?)));
        let normals = stored.map(|(layout, normals)| {
            let vertices = layout.vertex_points.iter().zip(normals);
            let normal =
                |(&point, &normal): (&u32, &Vec3)| reference.normal_to_bind(object, &anchors[point as usize], normal);
            vertices.map(normal).collect()
        });
        Ok(Self { corners, centres, normals })
    }

    /// Layout of the new mesh without points, and the normal offsets of each shape; `None` if there is nothing to store.
    fn layout(
        &self,
        object: &Object,
        edited: &TriMesh,
        notes: &mut Vec<Note>,
    ) -> Option<(Layout, Vec<Option<Vec<Vec3>>>)> {
        if object.mesh.layout().is_none() && edited.layout().is_none() {
            return None;
        }
        let old = object.mesh.layout().cloned().unwrap_or_else(|| Layout::plain(&object.mesh));
        let new = edited.layout().cloned().unwrap_or_else(|| Layout::plain(edited));
        if old.tangents.is_some() {
            notes.push(Note::at(
                &object.name,
                "tangents are dropped: engines compute them from the texture coordinates",
            ));
        }
        if new.polygons.is_some() {
            notes.push(Note::at(&object.name, "the polygons of the edited mesh are stored as triangles"));
        }
        let shapes: Vec<Option<&Vec<Vec3>>> =
            object.rig.iter().flat_map(|rig| rig.shapes().iter().map(|shape| shape.normal_offsets.as_ref())).collect();
        let mut made =
            Vertices { by_source: HashMap::new(), values: Vec::new(), points: Vec::new(), sources: Vec::new() };
        let mut triangles = Vec::with_capacity(edited.triangle_count());
        for (triangle, anchors) in new.triangles.iter().zip(&self.corners) {
            triangles.push(std::array::from_fn(|corner| {
                let vertex = triangle[corner];
                let values = Values::of(&old, &new, vertex, &anchors[corner], &shapes);
                made.index(new.vertex_points[vertex as usize], vertex, values)
            }));
        }
        let values = &made.values;
        let uv_sets = values.first().map_or(0, |value| value.uvs.len());
        let layout = Layout {
            triangles,
            polygons: None,
            normals: self.normals.as_ref().map(|normals| made.sources.iter().map(|&v| normals[v as usize]).collect()),
            tangents: None,
            uvs: (0..uv_sets).map(|set| values.iter().map(|value| value.uvs[set]).collect()).collect(),
            colors: (0..old.colors.len()).map(|set| values.iter().map(|value| value.colors[set]).collect()).collect(),
            triangle_materials: self.materials(object, &old, &new, notes),
            materials: old.materials,
            vertex_points: made.points,
        };
        let offsets = |shape: usize| shapes[shape].map(|_| values.iter().map(|value| value.shapes[shape]).collect());
        Some((layout, (0..shapes.len()).map(offsets).collect()))
    }

    /// Material of each triangle: the one with the name used in the edited mesh, otherwise that of the old triangle.
    fn materials(&self, object: &Object, old: &Layout, new: &Layout, notes: &mut Vec<Note>) -> Vec<u32> {
        if old.triangle_materials.is_empty() {
            return Vec::new();
        }
        let same_name = |material: &dermis_mesh::Material| {
            old.materials.iter().position(|known| known.name == material.name && !known.name.is_empty())
        };
        let known: Vec<Option<usize>> = new.materials.iter().map(same_name).collect();
        let unknown = new.materials.iter().zip(&known).find(|(_, known)| known.is_none());
        if let Some((material, _)) = unknown {
            let message = format!(
                "the asset has no material '{}', which the edited mesh uses: that of the nearest triangle is used",
                material.name
            );
            notes.push(Note::at(&object.name, message));
        }
        let material = |(at, &triangle): (usize, &u32)| {
            let named = new.triangle_materials.get(at).and_then(|&material| known[material as usize]);
            named.map_or(old.triangle_materials[triangle as usize], |named| named as u32)
        };
        self.centres.iter().enumerate().map(material).collect()
    }
}

/// Values of a vertex.
#[derive(Debug, Clone, Default)]
struct Values {
    uvs: Vec<Vec2>,
    colors: Vec<Vec4>,
    shapes: Vec<Vec3>,
}

impl Values {
    /// Values of the old layout at `anchor`; those of the edited layout take precedence.
    fn of(old: &Layout, new: &Layout, vertex: u32, anchor: &Anchor, shapes: &[Option<&Vec<Vec3>>]) -> Self {
        let corners = old.triangles[anchor.triangle as usize];
        let parts = || corners.iter().map(|&corner| corner as usize).zip(anchor.weights.map(|weight| weight as f32));
        let uv = |set: &Vec<Vec2>| parts().map(|(corner, weight)| set[corner] * weight).sum();
        let color = |set: &Vec<Vec4>| parts().map(|(corner, weight)| set[corner] * weight).sum();
        let offset = |set: &Vec<Vec3>| parts().map(|(corner, weight)| set[corner] * weight).sum();
        let mut uvs: Vec<Vec2> = old.uvs.iter().map(uv).collect();
        for (set, given) in new.uvs.iter().enumerate() {
            match uvs.get_mut(set) {
                Some(uv) => *uv = given[vertex as usize],
                None => uvs.push(given[vertex as usize]),
            }
        }
        let colors = old.colors.iter().map(color).collect();
        Self { uvs, colors, shapes: shapes.iter().map(|set| set.map_or(Vec3::ZERO, offset)).collect() }
    }

    /// Returns true if the values belong to the same vertex.
    fn is_near(&self, other: &Self) -> bool {
        let uvs = self.uvs.iter().zip(&other.uvs).all(|(a, b)| a.abs_diff_eq(*b, SAME_VALUE));
        let colors = self.colors.iter().zip(&other.colors).all(|(a, b)| a.abs_diff_eq(*b, SAME_VALUE));
        uvs && colors && self.shapes.iter().zip(&other.shapes).all(|(a, b)| a.abs_diff_eq(*b, SAME_VALUE))
    }
}

/// Vertices of the new layout in the order of their first use.
struct Vertices {
    /// Vertices made from each vertex of the edited mesh.
    by_source: HashMap<u32, Vec<u32>>,
    values: Vec<Values>,
    points: Vec<u32>,
    sources: Vec<u32>,
}

impl Vertices {
    fn index(&mut self, point: u32, source: u32, values: Values) -> u32 {
        let known = self.by_source.entry(source).or_default();
        if let Some(&vertex) = known.iter().find(|&&vertex| self.values[vertex as usize].is_near(&values)) {
            return vertex;
        }
        let vertex = self.values.len() as u32;
        known.push(vertex);
        self.values.push(values);
        self.points.push(point);
        self.sources.push(source);
        vertex
    }
}
