//! Packed glTF: a file of this writer, quantized and compressed with `KHR_mesh_quantization` and
//! `EXT_meshopt_compression`, which three.js, Babylon.js and other players read.
//!
//! Positions and shapes are whole multiples of one length, which the inverse bind matrices (or the nodes of meshes
//! without a skin) contain. Translations, scales and shape weights are floats with few digits (filter `EXPONENTIAL`),
//! normals and tangents octahedral in 8 bits, rotations quaternions in up to 16 bits, skin weights in 8 or 16 bits.
//! Triangles are reordered to strips and vertices to the order of their use. Keys that interpolation restores are
//! dropped, and so are channels that keep their node in the stored pose; other constant channels keep one key. Images
//! are copied; the numbers of layers are unchanged.

mod channels;
mod compact;
mod encode;
mod influences;
mod keys;
mod meshes;
mod order;

use std::collections::BTreeMap;

use glam::Vec3;

use self::encode::{Encoded, FLOAT};
use super::POINT_ATTRIBUTE;
use super::read::{self, Document};
use super::schema::{Accessor, Buffer, BufferExtensions, BufferView, Fallback, Meshopt, Node, Root, ViewExtensions};
use crate::error::Error;

const QUANTIZATION: &str = "KHR_mesh_quantization";
const COMPRESSION: &str = "EXT_meshopt_compression";
/// Largest whole number of a position.
const MAX_INTEGER: f64 = 32_767.0;
/// Precision of the stored pose of nodes, relative to that of positions.
const NODE_STEP: f64 = 0.125;
const VERTICES: Option<u32> = Some(34962);
const INDICES: Option<u32> = Some(34963);

/// Precision of a packed file. Larger steps, exponents and tolerances and fewer bits make it smaller and less exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Packing {
    /// Rest positions and shape offsets are multiples of this length, in the units of the file.
    pub position_step: f64,
    /// Bits of a skin weight, 2 to 16; more than 8 take twice the space.
    pub weight_bits: u32,
    /// Translations of joints are multiples of 2 to this power, in the units of the file.
    pub translation_exponent: i32,
    /// Scales of joints are multiples of 2 to this power.
    pub scale_exponent: i32,
    /// Bits of a component of a rotation, 4 to 16.
    pub rotation_bits: i32,
    /// Weights of shapes are multiples of 2 to this power.
    pub shape_weight_exponent: i32,
    /// Approximate length by which dropped keys may move the surface, in the units of the file; 0 keeps all keys.
    pub key_tolerance: f64,
    /// Bits of a component of a normal or tangent, 4 to 8.
    pub normal_bits: i32,
    /// Keeps the normal offsets of shapes.
    pub shape_normals: bool,
    /// Keeps the order of vertices and triangles.
    pub keep_order: bool,
}

/// A packed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedGlb {
    /// Contents of the `.glb`.
    pub bytes: Vec<u8>,
    /// For each object of the scene, in the order in which it is read, the old index of each of its vertices.
    pub vertex_orders: Vec<Vec<u32>>,
    /// Number of bytes of the JSON.
    pub json_bytes: usize,
}

/// Packs a `.glb` that this crate has written.
pub fn pack_glb(glb: &[u8], packing: &Packing) -> Result<PackedGlb, Error> {
    let document = Document::open(glb, None)?;
    let mut packer = Packer::new(&document, *packing)?;
    let orders = packer.meshes()?;
    let meshes = read::scene_meshes(&document.root)?;
    let vertex_orders = meshes.into_iter().map(|mesh| orders.get(mesh).cloned().unwrap_or_default()).collect();
    packer.animations()?;
    packer.skins()?;
    packer.others()?;
    packer.images()?;
    let (bytes, json_bytes) = packer.finish()?;
    Ok(PackedGlb { bytes, vertex_orders, json_bytes })
}

struct Packer<'a> {
    document: &'a Document<'a>,
    packing: Packing,
    root: Root,
    /// True for accessors of the new file that are complete.
    is_done: Vec<bool>,
    data: Vec<u8>,
    /// Bytes of all compressed views after decompression.
    unpacked: usize,
    /// Length of one step: positions are whole multiples of it.
    step: f64,
    /// Half of the diagonal of all positions.
    radius: f64,
}

impl<'a> Packer<'a> {
    fn new(document: &'a Document<'a>, packing: Packing) -> Result<Self, Error> {
        let (largest, radius) = extent(document)?;
        let step = packing.position_step.max(largest / MAX_INTEGER).max(f64::from(f32::MIN_POSITIVE));
        let mut root = document.root.clone();
        root.buffer_views.clear();
        root.accessors = vec![Accessor::default(); document.root.accessors.len()];
        let is_done = vec![false; root.accessors.len()];
        // Rounded as the matrices store it.
        let step = f64::from(step as f32);
        Ok(Self { document, packing, root, is_done, data: Vec::new(), unpacked: 0, step, radius })
    }

    /// The old accessor's numbers as vectors of four; missing components are 0.
    fn vectors(&self, accessor: usize) -> Result<Vec<[f32; 4]>, Error> {
        let width = self.width(accessor)?;
        let floats = self.document.floats(accessor, width)?;
        let vector = |v: &[f32]| std::array::from_fn(|k| v.get(k).copied().unwrap_or(0.0));
        Ok(floats.chunks_exact(width).map(vector).collect())
    }

    fn width(&self, accessor: usize) -> Result<usize, Error> {
        read::width(&self.document.accessor(accessor)?.shape)
    }

    /// Fills in accessor `index`, whose elements are all of `encoded`, compressed in a view of their own.
    fn compress(&mut self, index: usize, encoded: &Encoded, target: Option<u32>) -> Result<(), Error> {
        let compressed = encoded.compressed()?;
        let view = self.compressed_view(encoded, "ATTRIBUTES", &compressed, target);
        let shape = self.document.accessor(index)?.shape.clone();
        if target == VERTICES && matches!(shape.as_str(), "VEC3" | "VEC2" | "SCALAR") {
            // Elements are padded to whole words.
            self.root.buffer_views[view].byte_stride = Some(encoded.stride);
        }
        let accessor = Accessor {
            buffer_view: Some(view),
            component_type: encoded.component_type,
            normalized: encoded.normalized,
            count: encoded.count(),
            shape,
            ..Accessor::default()
        };
        self.set(index, accessor);
        Ok(())
    }

    fn set(&mut self, index: usize, accessor: Accessor) {
        self.root.accessors[index] = accessor;
        self.is_done[index] = true;
    }

    fn add(&mut self, accessor: Accessor) -> usize {
        self.root.accessors.push(accessor);
        self.is_done.push(true);
        self.root.accessors.len() - 1
    }

    /// Inverse bind matrices, which convert the whole numbers to lengths.
    fn skins(&mut self) -> Result<(), Error> {
        let step = self.step as f32;
        for skin in 0..self.root.skins.len() {
            let Some(index) = self.root.skins[skin].inverse_bind_matrices.filter(|&index| !self.is_done[index]) else {
                continue;
            };
            let mut matrices = self.document.floats(index, 16)?.into_owned();
            for matrix in matrices.chunks_exact_mut(16) {
                matrix[..12].iter_mut().for_each(|number| *number *= step);
            }
            let encoded = Encoded::unchanged(bytemuck::cast_slice(&matrices).to_vec(), 64, FLOAT);
            self.compress(index, &encoded, None)?;
        }
        for node in 0..self.root.nodes.len() {
            if self.root.nodes[node].mesh.is_some() && self.root.nodes[node].skin.is_none() {
                self.scale_node(node);
            }
        }
        Ok(())
    }

    /// Scales the mesh of a node without a skin from whole numbers to lengths.
    fn scale_node(&mut self, index: usize) {
        let channels = self.root.animations.iter().flat_map(|animation| &animation.channels);
        let moves =
            channels.clone().any(|channel| channel.target.node == Some(index) && channel.target.path != "weights");
        let node = &mut self.root.nodes[index];
        if moves || !node.children.is_empty() {
            // The mesh moves to a new child node.
            let mesh = Node { mesh: node.mesh.take(), weights: node.weights.take(), ..Node::default() };
            let added = self.root.nodes.len();
            self.root.nodes[index].children.push(added);
            self.root.nodes.push(Node { scale: Some([self.step; 3]), ..mesh });
            for channel in self.root.animations.iter_mut().flat_map(|animation| &mut animation.channels) {
                if channel.target.node == Some(index) && channel.target.path == "weights" {
                    channel.target.node = Some(added);
                }
            }
        } else if let Some(matrix) = &mut node.matrix {
            matrix[..12].iter_mut().for_each(|number| *number *= self.step);
        } else {
            node.scale = Some(node.scale.unwrap_or([1.0; 3]).map(|scale| scale * self.step));
        }
    }

    /// Accessors of other uses, such as the numbers of layers, unchanged.
    fn others(&mut self) -> Result<(), Error> {
        for index in 0..self.document.root.accessors.len() {
            if self.is_done[index] {
                continue;
            }
            let old = self.document.root.accessors[index].clone();
            let view = match old.buffer_view {
                Some(view) => Some(self.plain_view(self.document.view(view)?)),
                None => None,
            };
            self.set(index, Accessor { buffer_view: view, ..old });
        }
        Ok(())
    }

    fn images(&mut self) -> Result<(), Error> {
        let mut copies = BTreeMap::new();
        for index in 0..self.root.images.len() {
            let Some(view) = self.root.images[index].buffer_view else { continue };
            let copy = match copies.get(&view) {
                Some(&copy) => copy,
                None => self.plain_view(self.document.view(view)?),
            };
            copies.insert(view, copy);
            self.root.images[index].buffer_view = Some(copy);
        }
        Ok(())
    }

    fn plain_view(&mut self, bytes: &[u8]) -> usize {
        let byte_offset = self.append(bytes);
        self.root.buffer_views.push(BufferView { byte_offset, byte_length: bytes.len(), ..BufferView::default() });
        self.root.buffer_views.len() - 1
    }

    fn compressed_view(&mut self, encoded: &Encoded, mode: &str, compressed: &[u8], target: Option<u32>) -> usize {
        let compression = Meshopt {
            buffer: 0,
            byte_offset: self.append(compressed),
            byte_length: compressed.len(),
            byte_stride: encoded.stride,
            count: encoded.count(),
            mode: mode.to_owned(),
            filter: encoded.filter.map(str::to_owned),
        };
        let byte_offset = self.unpacked.next_multiple_of(4);
        self.unpacked = byte_offset + encoded.bytes.len();
        self.root.buffer_views.push(BufferView {
            buffer: 1,
            byte_offset,
            byte_length: encoded.bytes.len(),
            byte_stride: None,
            target,
            extensions: ViewExtensions { ext_meshopt: Some(compression), khr_meshopt: None },
        });
        self.root.buffer_views.len() - 1
    }

    fn append(&mut self, bytes: &[u8]) -> usize {
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        self.data.extend_from_slice(bytes);
        self.data.len() - bytes.len()
    }

    /// The file, and the size of its JSON.
    fn finish(mut self) -> Result<(Vec<u8>, usize), Error> {
        compact::drop_unused(&mut self.root);
        compact::drop_inner_names(&mut self.root);
        // A fraction of the steps of positions and translations.
        let length = NODE_STEP * self.step.min(2.0_f64.powi(self.packing.translation_exponent));
        compact::round_nodes(&mut self.root, length, self.radius);
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        let fallback = BufferExtensions { meshopt: Some(Fallback { fallback: true }) };
        self.root.buffers = vec![
            Buffer { byte_length: self.data.len(), ..Buffer::default() },
            Buffer { byte_length: self.unpacked.max(1), extensions: fallback, ..Buffer::default() },
        ];
        for list in [&mut self.root.extensions_used, &mut self.root.extensions_required] {
            list.extend([QUANTIZATION, COMPRESSION].map(str::to_owned));
        }
        concat!("dermis ", env!("CARGO_PKG_VERSION")).clone_into(&mut self.root.asset.generator);
        let mut json = serde_json::to_vec(&self.root).map_err(std::io::Error::from)?;
        json.resize(json.len().next_multiple_of(4), b' ');
        let json_bytes = json.len();
        let total = 12 + 8 + json.len() + 8 + self.data.len();
        let Ok(length) = u32::try_from(total) else {
            return Err(Error::unsupported(format!(
                "the output has {total} bytes, but a .glb file is limited to 4 GiB"
            )));
        };
        let mut bytes = Vec::with_capacity(total);
        bytes.extend_from_slice(b"glTF");
        bytes.extend([2, length, json.len() as u32].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend_from_slice(b"JSON");
        bytes.extend_from_slice(&json);
        bytes.extend_from_slice(&(self.data.len() as u32).to_le_bytes());
        bytes.extend_from_slice(b"BIN\0");
        bytes.extend_from_slice(&self.data);
        Ok((bytes, json_bytes))
    }
}

/// The largest coordinate or shape offset of a file, and half of the diagonal of its positions.
fn extent(document: &Document<'_>) -> Result<(f64, f64), Error> {
    let (mut largest, mut low, mut high) = (0.0_f32, Vec3::INFINITY, Vec3::NEG_INFINITY);
    for primitive in document.root.meshes.iter().flat_map(|mesh| &mesh.primitives) {
        let targets = primitive.targets.iter().filter_map(|target| target.get("POSITION"));
        for &accessor in targets.chain(primitive.attributes.get("POSITION")) {
            largest = document.floats(accessor, 3)?.iter().fold(largest, |largest, number| largest.max(number.abs()));
        }
        if let Some(&accessor) = primitive.attributes.get("POSITION") {
            for point in document.floats(accessor, 3)?.chunks_exact(3).map(Vec3::from_slice) {
                (low, high) = (low.min(point), high.max(point));
            }
        }
    }
    let diagonal = (high - low).as_dvec3().length();
    Ok((f64::from(largest), if diagonal.is_finite() { 0.5 * diagonal } else { 0.0 }))
}

/// Lowest and highest values of each component.
fn bounds(values: &[f32], width: usize) -> (Vec<f32>, Vec<f32>) {
    let column = |k: usize| values.iter().skip(k).step_by(width).copied();
    let low = (0..width).map(|k| column(k).fold(f32::INFINITY, f32::min)).collect();
    (low, (0..width).map(|k| column(k).fold(f32::NEG_INFINITY, f32::max)).collect())
}
