//! `KHR_draco_mesh_compression`: the vertices and triangles of a primitive in one compressed stream.

use std::collections::BTreeMap;

#[cfg(feature = "draco")]
use draco_core::{DecodeLimits, DecoderBuffer, Mesh, MeshDecoder};

use super::accessor::Floats;
#[cfg(feature = "draco")]
use super::accessor::{normalization, width};
use super::document::Document;
use crate::error::Error;
use crate::gltf::schema::{Draco, Primitive};

/// Maximum count of a mesh; the decoder allocates according to the counts in the stream.
#[cfg(feature = "draco")]
const MAX_BYTES_PER_BYTE: u64 = 1032;
#[cfg(feature = "draco")]
const FLOOR_BYTES: u64 = 64 << 20;
/// Memory that the decoder uses in addition to the attributes: corner tables, traversal orders, and the point maps.
#[cfg(feature = "draco")]
const WORK_BYTES_PER_FACE: u64 = 128;

/// A decompressed primitive.
pub(super) struct DracoPrimitive {
    pub triangles: Vec<[u32; 3]>,
    pub point_count: usize,
    attributes: BTreeMap<String, Vec<f32>>,
}

impl DracoPrimitive {
    /// Values of an attribute, if the stream contains it.
    pub(super) fn attribute(&self, name: &str) -> Option<Floats<'_>> {
        self.attributes.get(name).map(|values| Floats::Borrowed(values))
    }
}

/// Error of a build without the decoder.
#[cfg(not(feature = "draco"))]
pub(super) fn decompress(_: &Document<'_>, _: &Primitive, _: &Draco) -> Result<DracoPrimitive, Error> {
    Err(Error::unsupported("this build of dermis does not read Draco compression")
        .with_hint("build it with the Cargo feature 'draco', or export the file without compression"))
}

/// Decompresses the stream of `primitive`.
#[cfg(feature = "draco")]
pub(super) fn decompress(
    document: &Document<'_>,
    primitive: &Primitive,
    draco: &Draco,
) -> Result<DracoPrimitive, Error> {
    let bytes = document.view(draco.buffer_view)?;
    let max_bytes = (bytes.len() as u64).saturating_mul(MAX_BYTES_PER_BYTE).max(FLOOR_BYTES);
    let limits = DecodeLimits::default()
        .with_max_decoded_bytes(max_bytes)
        .with_max_faces(max_bytes / WORK_BYTES_PER_FACE)
        .with_max_points(max_bytes / WORK_BYTES_PER_FACE);
    let mut mesh = Mesh::new();
    MeshDecoder::new()
        .decode(&mut DecoderBuffer::new(bytes).with_limits(limits), &mut mesh)
        .map_err(|error| Error::malformed(format!("the Draco data cannot be decoded: {error}")))?;
    let point_count = mesh.num_points();
    document.take("Draco triangles", mesh.num_faces(), 12)?;
    let triangles = mesh.faces().iter().map(|face| face.map(|point| point.0)).collect();
    let mut attributes = BTreeMap::new();
    for (name, &id) in &draco.attributes {
        let Some(&accessor) = primitive.attributes.get(name) else {
            continue;
        };
        let accessor = document.accessor(accessor)?;
        let components = width(&accessor.shape)?;
        let attribute = mesh
            .attribute_by_unique_id(id)
            .ok_or_else(|| Error::malformed(format!("the Draco data has no attribute {id} for {name}")))?;
        document.take("Draco attributes", point_count, 4 * components)?;
        let mut values = attribute.read_f32s(point_count, components);
        let divisor = normalization(accessor)?;
        if divisor != 1.0 {
            for value in &mut values {
                *value = (*value / divisor).max(-1.0);
            }
        }
        attributes.insert(name.clone(), values);
    }
    Ok(DracoPrimitive { triangles, point_count, attributes })
}
