//! Writing one mesh: its faces and attributes once, its points, bounds and normals frame by frame.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{Seek, Write};

use bytemuck::NoUninit;
use dermis_mesh::polygons::flip_v;
use dermis_mesh::tri_mesh::bounds;
use dermis_mesh::{CornerData, MeshSequence, Object, PolygonMesh, Polygons};
use glam::{DAffine3, Vec2, Vec3};

use super::poly_mesh::{MORE_ATTRIBUTES, REST_NORMALS, REST_POINTS};
use super::property::{Kind, Pod};
use super::property_writer::{ArchiveWriter, Members, PropertyWriter, Type, Written, write_object};
use crate::error::Error;
use crate::following_normals::FollowingNormals;

/// Metadata of a mesh object. The compound `.geom` repeats its first part.
pub(super) const MESH_OBJECT: &str = "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1;\
     schemaObjTitle=AbcGeom_PolyMesh_v1:.geom";
const MESH_COMPOUND: &str = "schema=AbcGeom_PolyMesh_v1;schemaBaseType=AbcGeom_GeomBase_v1";
const FACE_SET_OBJECT: &str = "schema=AbcGeom_FaceSet_v1;schemaBaseType=AbcGeom_GeomBase_v1;\
     schemaObjTitle=AbcGeom_FaceSet_v1:.faceset";
const FACE_SET_COMPOUND: &str = "schema=AbcGeom_FaceSet_v1;schemaBaseType=AbcGeom_GeomBase_v1";
const BOX: &str = "interpretation=box";
const POINTS: &str = "geoScope=vtx;interpretation=point";

const INDICES: Type = Type { kind: Kind::Array, pod: Pod::I32, extent: 1 };
const ATTRIBUTE_INDICES: Type = Type { kind: Kind::Array, pod: Pod::U32, extent: 1 };
const TRIPLES: Type = Type { kind: Kind::Array, pod: Pod::F32, extent: 3 };
const BOUNDS: Type = Type { kind: Kind::Scalar, pod: Pod::F64, extent: 6 };
const NUMBER: Type = Type { kind: Kind::Scalar, pod: Pod::U32, extent: 1 };

/// Meaning of an attribute's values.
#[derive(Debug, Clone, Copy)]
struct Meaning {
    interpretation: &'static str,
    scope: &'static str,
    extent: u32,
}

const UVS: Meaning = Meaning { interpretation: "vector", scope: "fvr", extent: 2 };
const NORMALS: Meaning = Meaning { interpretation: "normal", scope: "fvr", extent: 3 };
const COLORS: Meaning = Meaning { interpretation: "rgba", scope: "fvr", extent: 4 };
const REST: Meaning = Meaning { interpretation: "point", scope: "vtx", extent: 3 };
const SCALARS: Meaning = Meaning { interpretation: "", scope: "vtx", extent: 1 };

/// An object, its moving parts, and its sample times.
#[derive(Debug)]
pub(super) struct MeshToWrite<'a> {
    pub(super) object: &'a Object,
    pub(super) motion: Option<MeshSequence>,
    /// Index of the time sampling; 0 without motion.
    pub(super) sampling: u32,
    /// Transforms from the first frame to each frame, for the node above the mesh.
    pub(super) transforms: Option<Vec<DAffine3>>,
}

/// Writes the mesh and its face sets; `before_frame` is called before each frame and can stop the work.
pub(super) fn write_mesh<W: Write + Seek>(
    archive: &mut ArchiveWriter<W>,
    source: &MeshToWrite<'_>,
    mut before_frame: impl FnMut() -> Result<(), Error>,
) -> Result<Written, Error> {
    let mesh = clockwise(source.object.mesh.to_polygon_mesh());
    let is_rigid = source.transforms.is_some();
    let mut writer = MeshWriter::new(&mesh, if is_rigid { 0 } else { source.sampling });
    if let Some(motion) = &source.motion {
        let mut points = vec![Vec3::ZERO; motion.point_count()];
        for frame in 0..if is_rigid { 1 } else { motion.frame_count() } {
            before_frame()?;
            motion.read_into(frame, &mut points)?;
            writer.frame(archive, &points)?;
        }
    } else {
        before_frame()?;
        writer.frame(archive, &mesh.points)?;
    }
    let geometry = writer.finish(archive, source.object)?;
    let mut properties = Members::default();
    properties.add_compound(archive, ".geom", MESH_COMPOUND, geometry)?;
    let sets = face_sets(archive, &mesh)?;
    Ok(write_object(archive, properties, sets)?)
}

/// Alembic's order of corners; see [`super::poly_mesh`].
fn clockwise(mut mesh: PolygonMesh) -> PolygonMesh {
    let sizes = std::mem::take(&mut mesh.polygons.sizes);
    reverse_each(&sizes, &mut mesh.polygons.corners);
    let attributes = mesh.normals.iter_mut().map(|data| &mut data.indices);
    let attributes = attributes.chain(mesh.uvs.iter_mut().map(|data| &mut data.indices));
    for indices in attributes.chain(mesh.colors.iter_mut().map(|data| &mut data.indices)) {
        reverse_each(&sizes, indices);
    }
    mesh.polygons.sizes = sizes;
    mesh
}

fn reverse_each(sizes: &[u32], corners: &mut [u32]) {
    let mut rest = corners;
    for &size in sizes {
        let (polygon, tail) = rest.split_at_mut(size as usize);
        polygon.reverse();
        rest = tail;
    }
}

struct MeshWriter<'a> {
    mesh: &'a PolygonMesh,
    normals: Option<FollowingNormals>,
    bounds: PropertyWriter,
    positions: PropertyWriter,
    normal_values: PropertyWriter,
    sampling: u32,
    frames: usize,
    /// True if the first frame differs from the rest pose.
    rest_differs: bool,
}

impl<'a> MeshWriter<'a> {
    fn new(mesh: &'a PolygonMesh, sampling: u32) -> Self {
        Self {
            mesh,
            normals: FollowingNormals::new(mesh),
            bounds: PropertyWriter::new(".selfBnds", BOX, BOUNDS, sampling),
            positions: PropertyWriter::new("P", POINTS, TRIPLES, sampling),
            normal_values: PropertyWriter::new(".vals", &NORMALS.metadata(), TRIPLES, sampling),
            sampling,
            frames: 0,
            rest_differs: false,
        }
    }

    fn frame<W: Write + Seek>(&mut self, archive: &mut ArchiveWriter<W>, points: &[Vec3]) -> Result<(), Error> {
        self.rest_differs |= self.frames == 0 && points != self.mesh.points;
        self.frames += 1;
        let (low, high) = bounds(points);
        self.bounds.push(&mut archive.ogawa, &box_bytes(low, high))?;
        self.positions.push(&mut archive.ogawa, &little_endian(points))?;
        if let Some(normals) = &self.normals {
            let normals = normals.of_frame(self.mesh, points);
            self.normal_values.push(&mut archive.ogawa, &little_endian(&normals))?;
        }
        Ok(())
    }

    fn finish<W: Write + Seek>(self, archive: &mut ArchiveWriter<W>, object: &Object) -> Result<Members, Error> {
        let mut geometry = Members::default();
        geometry.add(archive, &self.bounds)?;
        geometry.add(archive, &self.positions)?;
        let Polygons { sizes, corners } = &self.mesh.polygons;
        for (name, indices) in [(".faceIndices", corners), (".faceCounts", sizes)] {
            let property = index_property(archive, name, INDICES, indices, self.sampling)?;
            geometry.add(archive, &self.once(property))?;
        }
        if let Some(normals) = &self.mesh.normals {
            let indices = index_property(archive, ".indices", ATTRIBUTE_INDICES, &normals.indices, self.sampling)?;
            let mut indexed = Members::default();
            indexed.add(archive, &self.normal_values)?;
            indexed.add(archive, &self.once(indices))?;
            geometry.add_compound(archive, "N", &NORMALS.metadata(), indexed)?;
        }
        if let Some(uvs) = self.mesh.uvs.first() {
            add_indexed(archive, &mut geometry, "uv", UVS, &uvs.indices, &little_endian(&flipped(uvs)))?;
        }
        let more = self.more_attributes(archive, object)?;
        if let Some(more) = more {
            geometry.add_compound(archive, MORE_ATTRIBUTES, "", more)?;
        }
        Ok(geometry)
    }

    /// The rest pose if it is not the first frame, further UV sets, colours and maps.
    fn more_attributes<W: Write + Seek>(
        &self,
        archive: &mut ArchiveWriter<W>,
        object: &Object,
    ) -> Result<Option<Members>, Error> {
        let mut more = Members::default();
        let mut any = false;
        if self.rest_differs {
            add_plain(archive, &mut more, REST_POINTS, REST, &little_endian(&self.mesh.points))?;
            if let Some(normals) = &self.mesh.normals {
                let values = little_endian(&normals.values);
                add_indexed(archive, &mut more, REST_NORMALS, NORMALS, &normals.indices, &values)?;
            }
            any = true;
        }
        for (set, uvs) in self.mesh.uvs.iter().enumerate().skip(1) {
            add_indexed(archive, &mut more, &format!("uv{set}"), UVS, &uvs.indices, &little_endian(&flipped(uvs)))?;
            any = true;
        }
        for (set, colors) in self.mesh.colors.iter().enumerate() {
            let values = little_endian(&colors.values);
            add_indexed(archive, &mut more, &format!("Cd{set}"), COLORS, &colors.indices, &values)?;
            any = true;
        }
        for (name, values) in &object.attributes {
            add_plain(archive, &mut more, &name.replace('/', "_"), SCALARS, &little_endian(values))?;
            any = true;
        }
        Ok(any.then_some(more))
    }

    /// A property with a single sample that is valid for all frames of the mesh.
    fn once(&self, mut property: PropertyWriter) -> PropertyWriter {
        property.repeat(self.frames.saturating_sub(1));
        property
    }
}

impl Meaning {
    fn metadata(self) -> String {
        let Self { interpretation, scope, extent } = self;
        format!(
            "arrayExtent=1;geoScope={scope};interpretation={interpretation};isGeomParam=true;podExtent={extent};\
             podName=float32_t"
        )
    }
}

fn index_property<W: Write + Seek>(
    archive: &mut ArchiveWriter<W>,
    name: &str,
    of: Type,
    indices: &[u32],
    sampling: u32,
) -> Result<PropertyWriter, Error> {
    let mut property = PropertyWriter::new(name, "", of, sampling);
    property.push(&mut archive.ogawa, &little_endian(indices))?;
    Ok(property)
}

fn add_indexed<W: Write + Seek>(
    archive: &mut ArchiveWriter<W>,
    parent: &mut Members,
    name: &str,
    meaning: Meaning,
    indices: &[u32],
    values: &[u8],
) -> Result<(), Error> {
    let mut indexed = Members::default();
    add_plain(archive, &mut indexed, ".vals", meaning, values)?;
    let indices = index_property(archive, ".indices", ATTRIBUTE_INDICES, indices, 0)?;
    indexed.add(archive, &indices)?;
    Ok(parent.add_compound(archive, name, &meaning.metadata(), indexed)?)
}

fn add_plain<W: Write + Seek>(
    archive: &mut ArchiveWriter<W>,
    parent: &mut Members,
    name: &str,
    meaning: Meaning,
    values: &[u8],
) -> Result<(), Error> {
    let of = Type { kind: Kind::Array, pod: Pod::F32, extent: meaning.extent };
    let mut property = PropertyWriter::new(name, &meaning.metadata(), of, 0);
    property.push(&mut archive.ogawa, values)?;
    Ok(parent.add(archive, &property)?)
}

/// Face sets by material. Faces in no set are in a last one without a name.
fn face_sets<W: Write + Seek>(archive: &mut ArchiveWriter<W>, mesh: &PolygonMesh) -> Result<Members, Error> {
    let mut sets = Members::default();
    let last = mesh.materials.len().saturating_sub(1);
    let mut faces_of = vec![Vec::new(); mesh.materials.len()];
    for (face, &material) in mesh.polygon_materials.iter().enumerate() {
        faces_of[material as usize].push(face as u32);
    }
    let mut names = HashSet::new();
    for (material, name) in mesh.materials.iter().map(|material| material.name.as_str()).enumerate() {
        if name.is_empty() && material == last {
            continue;
        }
        let base = if name.is_empty() { "material".to_owned() } else { name.replace('/', "_") };
        let numbered = (1..).map(|number| format!("{base}_{number}"));
        let Some(name) = std::iter::once(base.clone()).chain(numbered).find(|name| !names.contains(name)) else {
            continue;
        };
        let object = face_set(archive, mesh, &faces_of[material])?;
        sets.add_object(archive, &name, FACE_SET_OBJECT, object);
        names.insert(name);
    }
    Ok(sets)
}

fn face_set<W: Write + Seek>(
    archive: &mut ArchiveWriter<W>,
    mesh: &PolygonMesh,
    faces: &[u32],
) -> Result<Written, Error> {
    let (low, high) = bounds(&mesh.points);
    let mut self_bounds = PropertyWriter::new(".selfBnds", BOX, BOUNDS, 0);
    self_bounds.push(&mut archive.ogawa, &box_bytes(low, high))?;
    let mut exclusive = PropertyWriter::new(".facesExclusive", "", NUMBER, 0);
    exclusive.push(&mut archive.ogawa, &1u32.to_le_bytes())?;
    let mut compound = Members::default();
    compound.add(archive, &self_bounds)?;
    let faces = index_property(archive, ".faces", INDICES, faces, 0)?;
    compound.add(archive, &faces)?;
    compound.add(archive, &exclusive)?;
    let mut properties = Members::default();
    properties.add_compound(archive, ".faceset", FACE_SET_COMPOUND, compound)?;
    Ok(write_object(archive, properties, Members::default())?)
}

fn flipped(uvs: &CornerData<Vec2>) -> Vec<Vec2> {
    uvs.values.iter().map(|&uv| flip_v(uv)).collect()
}

fn box_bytes(low: Vec3, high: Vec3) -> Vec<u8> {
    [low, high].iter().flat_map(|corner| corner.as_dvec3().to_array()).flat_map(f64::to_le_bytes).collect()
}

/// Values that consist of 32-bit numbers, as stored in the file.
fn little_endian<T: NoUninit>(values: &[T]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        return Cow::Borrowed(bytemuck::cast_slice(values));
    }
    bytemuck::cast_slice::<T, u32>(values).iter().flat_map(|number| number.to_le_bytes()).collect()
}
