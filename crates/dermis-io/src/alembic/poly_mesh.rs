//! Meshes (`AbcGeom_PolyMesh_v1`, and the control meshes of `AbcGeom_SubD_v1`) in their own space.
//!
//! Alembic polygons are clockwise as seen from outside, as in `RenderMan`; those of dermis are counter-clockwise, so
//! each polygon is reversed together with its corner attributes. Writing reverses them again, which restores the
//! original order of corners. A mirroring transform reverses them once more.
//!
//! The rest pose is the first sample, unless the file was written by dermis and stores another one in an attribute. The
//! attribute `Pref` of other writers is not used: Blender stores texture coordinates under that name.

use std::collections::BTreeMap;

use dermis_mesh::polygons::flip_v;
use dermis_mesh::{CornerData, Material, Note, PolygonMesh, Polygons};
use glam::{DAffine3, Vec2, Vec3, Vec4};

use super::ogawa::Ogawa;
use super::property::{Compound, Kind, Property};
use super::sampling::Grid;
use super::transform::Tracked;
use super::values::{Arrays, Attribute};
use crate::budget::Budget;
use crate::error::{Error, ErrorKind};

/// Attribute for the rest pose if it is not the first frame.
pub(super) const REST_POINTS: &str = "dermis_rest";
/// The normals of the rest pose.
pub(super) const REST_NORMALS: &str = "dermis_rest_normals";
/// Compound of attributes that are not part of the schema.
pub(super) const MORE_ATTRIBUTES: &str = ".arbGeomParams";
/// The bytes of one point's position.
pub(super) const POINT_BYTES: usize = 12;
/// Memory per corner for its vertex while the mesh is built.
const BYTES_PER_CORNER: usize = 192;

/// A mesh in the file's order of corners.
#[derive(Debug, Default)]
pub(super) struct FileMesh {
    pub(super) polygons: Polygons,
    pub(super) rest: Option<Vec<Vec3>>,
    normals: Option<CornerData<Vec3>>,
    uvs: Vec<CornerData<Vec2>>,
    colors: Vec<CornerData<Vec4>>,
    pub(super) attributes: BTreeMap<String, Vec<f32>>,
}

/// A named set of faces.
#[derive(Debug)]
pub(super) struct FaceSet {
    pub(super) name: String,
    pub(super) faces: Vec<u32>,
}

impl FileMesh {
    /// Reads faces and attributes of the first sample of the compound `.geom`.
    pub(super) fn read(
        arrays: &mut Arrays<'_>,
        geometry: &Compound,
        points: usize,
        notes: &mut Vec<String>,
    ) -> Result<Self, Error> {
        let polygons = read_polygons(arrays, geometry)?;
        arrays.budget.take("the corners of polygons", polygons.corners.len(), BYTES_PER_CORNER)?;
        let mut mesh = Self { polygons, ..Self::default() };
        let mut taken = Taken { mesh: &mut mesh, points, notes };
        if let Some(normals) = taken.take(arrays.attribute(geometry, "N"), "N") {
            taken.mesh.normals = Some(normals);
        }
        if let Some(uvs) = taken.take(arrays.attribute(geometry, "uv"), "uv") {
            taken.mesh.uvs.push(flipped(uvs));
        }
        let more = geometry.inside(arrays.archive, MORE_ATTRIBUTES, arrays.budget)?;
        for property in more.iter() {
            taken.take_more(arrays, &more, property);
        }
        Ok(mesh)
    }

    /// The mesh with the given points, already transformed by `world`, with counter-clockwise polygons.
    pub(super) fn build(
        self,
        points: Vec<Vec3>,
        world: &DAffine3,
        sets: &[FaceSet],
        notes: &mut Vec<String>,
    ) -> PolygonMesh {
        let mirrored = world.matrix3.determinant() < 0.0;
        if mirrored {
            notes.push(
                "the parent transforms mirror the mesh; its faces are flipped so that they still face outwards".into(),
            );
        }
        let (sizes, order) = corner_order(&self.polygons, !mirrored);
        let dropped = self.polygons.sizes.len() - sizes.len();
        if dropped > 0 {
            notes.push(format!("{dropped} faces with fewer than three corners are skipped"));
        }
        let (materials, polygon_materials) = materials(&self.polygons, sets, notes);
        let corners = order.iter().map(|&corner| self.polygons.corners[corner as usize]).collect();
        let normals = self.normals.map(|normals| reordered(normals, &order));
        PolygonMesh {
            points,
            polygons: Polygons { sizes, corners },
            normals: normals.map(|data| CornerData { values: transformed_normals(data.values, world), ..data }),
            uvs: self.uvs.into_iter().map(|data| reordered(data, &order)).collect(),
            colors: self.colors.into_iter().map(|data| reordered(data, &order)).collect(),
            materials,
            polygon_materials,
        }
    }
}

fn read_polygons(arrays: &mut Arrays<'_>, geometry: &Compound) -> Result<Polygons, Error> {
    let mut indices = |name: &str| match geometry.find(name) {
        Some(property) if property.samples > 0 => arrays.indices(property, 0),
        _ => Err(Error::malformed(format!("the mesh has no '{name}'"))),
    };
    let polygons = Polygons { sizes: indices(".faceCounts")?, corners: indices(".faceIndices")? };
    let needed: u64 = polygons.sizes.iter().map(|&size| u64::from(size)).sum();
    if needed != polygons.corners.len() as u64 {
        let found = polygons.corners.len();
        return Err(Error::malformed(format!("the faces have {needed} corners, but {found} are listed")));
    }
    Ok(polygons)
}

/// A mesh to which attributes are added, and notes on attributes that cannot be added.
struct Taken<'a> {
    mesh: &'a mut FileMesh,
    points: usize,
    notes: &'a mut Vec<String>,
}

impl Taken<'_> {
    fn take<T: Copy + IsFinite>(
        &mut self,
        attribute: Result<Option<Attribute<T>>, Error>,
        name: &str,
    ) -> Option<CornerData<T>> {
        let attribute = self.readable(attribute, name)?;
        let data = attribute.per_corner(&self.mesh.polygons, self.points);
        let data = data.filter(|data| data.values.iter().all(T::is_finite));
        if data.is_none() {
            self.notes.push(format!("the attribute '{name}' does not match the mesh and is skipped"));
        }
        data
    }

    /// An attribute that is not part of the schema: a further UV set, a colour set, a map of scalars, or the rest pose.
    fn take_more(&mut self, arrays: &mut Arrays<'_>, parent: &Compound, property: &Property) {
        let name = property.name.as_str();
        match (name, extent(property), property.metadata.get("interpretation")) {
            (REST_POINTS, 3, _) => {
                let points: Option<Attribute<Vec3>> = self.readable(arrays.attribute(parent, name), name);
                let points = points.and_then(|points| points.per_point(self.points));
                self.mesh.rest = points.filter(|points| points.iter().all(IsFinite::is_finite));
            }
            (REST_NORMALS, 3, _) => {
                let normals = self.take(arrays.attribute(parent, name), name);
                self.mesh.normals = normals.or(self.mesh.normals.take());
            }
            (_, 2, Some("vector")) => {
                let uvs = self.take(arrays.attribute(parent, name), name);
                self.mesh.uvs.extend(uvs.map(flipped));
            }
            (_, 3, Some("rgb")) => {
                let colors = self.take::<Vec3>(arrays.attribute(parent, name), name);
                self.mesh.colors.extend(colors.map(|data| CornerData {
                    values: data.values.iter().map(|color| color.extend(1.0)).collect(),
                    indices: data.indices,
                }));
            }
            (_, 4, Some("rgba")) => {
                let colors = self.take(arrays.attribute(parent, name), name);
                self.mesh.colors.extend(colors);
            }
            (_, 1, _) => {
                let scalars: Option<Attribute<f32>> = arrays.attribute(parent, name).unwrap_or_default();
                if let Some(scalars) = scalars.and_then(|scalars| scalars.per_point(self.points)) {
                    self.mesh.attributes.insert(name.to_owned(), scalars);
                }
            }
            _ => {}
        }
    }

    fn readable<T>(&mut self, attribute: Result<Option<T>, Error>, name: &str) -> Option<T> {
        attribute.unwrap_or_else(|error| {
            self.notes.push(format!("the attribute '{name}' is skipped: {error}"));
            None
        })
    }
}

trait IsFinite {
    fn is_finite(&self) -> bool;
}

macro_rules! is_finite {
    ($($vector:ty),*) => {
        $(impl IsFinite for $vector {
            fn is_finite(&self) -> bool {
                <$vector>::is_finite(*self)
            }
        })*
    };
}

is_finite!(Vec2, Vec3, Vec4);

/// Number of values per element; indexed attributes state it only in their metadata.
fn extent(property: &Property) -> usize {
    match property.kind {
        Kind::Compound => property.metadata.get("podExtent").and_then(|text| text.parse().ok()).unwrap_or(0),
        _ => property.extent,
    }
}

fn flipped(mut uvs: CornerData<Vec2>) -> CornerData<Vec2> {
    uvs.values.iter_mut().for_each(|uv| *uv = flip_v(*uv));
    uvs
}

/// The sizes of the polygons that have at least three corners, and their corners in the order of dermis.
fn corner_order(polygons: &Polygons, reversed: bool) -> (Vec<u32>, Vec<u32>) {
    let mut sizes = Vec::with_capacity(polygons.sizes.len());
    let mut order = Vec::with_capacity(polygons.corners.len());
    let mut first = 0;
    for &size in &polygons.sizes {
        if size >= 3 {
            sizes.push(size);
            if reversed {
                order.extend((first..first + size).rev());
            } else {
                order.extend(first..first + size);
            }
        }
        first += size;
    }
    (sizes, order)
}

fn reordered<T>(data: CornerData<T>, order: &[u32]) -> CornerData<T> {
    CornerData { indices: order.iter().map(|&corner| data.indices[corner as usize]).collect(), ..data }
}

/// One material per face set; the last, unnamed material is that of faces in no set.
fn materials(polygons: &Polygons, sets: &[FaceSet], notes: &mut Vec<String>) -> (Vec<Material>, Vec<u32>) {
    if sets.is_empty() {
        return (Vec::new(), Vec::new());
    }
    const NONE: u32 = u32::MAX;
    let mut face_materials = vec![NONE; polygons.sizes.len()];
    let (mut overlapping, mut missing) = (false, false);
    for (material, set) in sets.iter().enumerate() {
        for &face in &set.faces {
            match face_materials.get_mut(face as usize) {
                Some(slot) if *slot == NONE => *slot = material as u32,
                Some(slot) => overlapping |= *slot != material as u32,
                None => missing = true,
            }
        }
    }
    if overlapping {
        notes.push("face sets overlap; each face keeps its first set".to_owned());
    }
    if missing {
        notes.push("a face set contains faces that do not exist; they are ignored".to_owned());
    }
    if face_materials.iter().all(|&material| material == NONE) {
        return (Vec::new(), Vec::new());
    }
    let mut materials: Vec<Material> =
        sets.iter().map(|set| Material { name: set.name.clone(), ..Material::default() }).collect();
    if face_materials.contains(&NONE) {
        materials.push(Material::default());
    }
    let kept = face_materials.iter().zip(&polygons.sizes).filter(|(_, size)| **size >= 3);
    let unnamed = sets.len() as u32;
    let polygon_materials = kept.map(|(&material, _)| if material == NONE { unnamed } else { material }).collect();
    (materials, polygon_materials)
}

/// Transforms points by `world`; the identity preserves them bit by bit.
pub(super) fn transform_points(points: &mut [Vec3], world: &DAffine3) {
    if *world != DAffine3::IDENTITY {
        for point in points {
            *point = world.transform_point3(point.as_dvec3()).as_vec3();
        }
    }
}

fn transformed_normals(mut normals: Vec<Vec3>, world: &DAffine3) -> Vec<Vec3> {
    let matrix = world.matrix3.inverse().transpose();
    if world.matrix3 != glam::DMat3::IDENTITY && matrix.is_finite() {
        for normal in &mut normals {
            *normal = (matrix * normal.as_dvec3()).normalize_or_zero().as_vec3();
        }
    }
    normals
}

/// Checks that all samples have the same faces and as many points as the first; frames are counted on `grid`.
pub(super) fn check_constant(
    ogawa: &Ogawa,
    budget: &mut Budget,
    geometry: &Compound,
    positions: &Tracked,
    grid: Option<&Grid>,
) -> Result<(), Error> {
    let frame_of = |property: &Property, stored: usize| {
        let sample = property.first_sample_of(stored);
        grid.map_or(sample, |grid| positions.track.frame_of(grid, sample))
    };
    let points = |stored: usize| Ok::<_, Error>(positions.property.stored_values(ogawa, stored)?.len() / POINT_BYTES);
    let expected = points(0)?;
    for stored in 1..positions.property.stored_samples() {
        let (frame, found) = (frame_of(&positions.property, stored), points(stored)?);
        if found != expected {
            let before = frame.saturating_sub(1);
            return Err(Error::from(ErrorKind::PointCountChanges { frame, expected, found })
                .detail(format!("frames 0–{before} have {expected} points, frame {frame} has {found}"))
                .with_hint(format!("export again with constant topology, or only the frames 0 to {before}")));
        }
    }
    for property in [".faceCounts", ".faceIndices"].into_iter().filter_map(|name| geometry.find(name)) {
        let first = if property.samples > 0 { property.stored_values(ogawa, 0)? } else { continue };
        for stored in 1..property.stored_samples() {
            // Alembic stores equal arrays once, so only separate blocks are compared.
            if property.shares_block(ogawa, 0, stored)? {
                continue;
            }
            budget.take("the faces of all samples", first.len(), 1)?;
            if property.stored_values(ogawa, stored)? == first {
                continue;
            }
            let frame = frame_of(property, stored);
            let before = frame.saturating_sub(1);
            return Err(Error::from(ErrorKind::TopologyChanges { frame })
                .detail(format!("the faces of frame {frame} differ from those of frames 0–{before}"))
                .with_hint(format!("export again with constant topology, or only the frames 0 to {before}")));
        }
    }
    Ok(())
}

/// A note with each of the messages, at `location`.
pub(super) fn notes_at(location: &str, messages: Vec<String>) -> impl Iterator<Item = Note> {
    messages.into_iter().map(move |message| Note::at(location, message))
}
