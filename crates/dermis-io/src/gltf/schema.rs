//! The parts of glTF's JSON that dermis reads.
//!
//! Own structures rather than those of the `gltf-json` crate: they take every file that can be understood (quantized,
//! compressed, with unknown extensions), and an index that is out of range is met where it is used. Unknown fields are
//! skipped, missing ones have the default that the specification gives.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Root {
    pub asset: Asset,
    pub scene: Option<usize>,
    pub scenes: Vec<SceneNodes>,
    pub nodes: Vec<Node>,
    pub meshes: Vec<Mesh>,
    pub skins: Vec<Skin>,
    pub animations: Vec<Animation>,
    pub accessors: Vec<Accessor>,
    pub buffer_views: Vec<BufferView>,
    pub buffers: Vec<Buffer>,
    pub materials: Vec<Material>,
    pub textures: Vec<Texture>,
    pub images: Vec<Image>,
    pub samplers: Vec<TextureSampler>,
    pub extensions_used: Vec<String>,
    pub extensions_required: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Asset {
    pub version: String,
    pub min_version: Option<String>,
    #[serde(deserialize_with = "if_ours")]
    pub extras: Extras<AssetMark>,
}

/// What dermis writes into `extras`, under its own name, to read it back exactly.
#[derive(Debug, Deserialize)]
#[serde(default)]
pub(super) struct Extras<T: Default> {
    pub dermis: Option<T>,
    #[serde(rename = "targetNames")]
    pub target_names: Vec<String>,
}

impl<T: Default> Default for Extras<T> {
    fn default() -> Self {
        Self { dermis: None, target_names: Vec::new() }
    }
}

/// The units of a file that dermis wrote; a field that is missing was not known.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AssetMark {
    pub metres_per_unit: Option<f64>,
    pub up_axis: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeMark {
    /// This node only turns and scales the scene to glTF's metres and Y up.
    pub units: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MeshMark {
    /// The morph targets are recorded frames.
    pub sequence: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SkinMark {
    /// The parent of each joint, −1 for none, where the nodes do not show it.
    pub parents: Vec<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AnimationMark {
    pub frame_rate_hz: Option<f64>,
    pub start_seconds: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SceneNodes {
    pub nodes: Vec<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    pub name: String,
    pub children: Vec<usize>,
    pub matrix: Option<[f64; 16]>,
    pub translation: Option<[f64; 3]>,
    pub rotation: Option<[f64; 4]>,
    pub scale: Option<[f64; 3]>,
    pub mesh: Option<usize>,
    pub skin: Option<usize>,
    pub weights: Option<Vec<f32>>,
    #[serde(deserialize_with = "if_ours")]
    pub extras: Extras<NodeMark>,
    pub extensions: NodeExtensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeExtensions {
    #[serde(rename = "DERMIS_deformers")]
    pub deformers: Option<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Mesh {
    pub name: String,
    pub primitives: Vec<Primitive>,
    pub weights: Vec<f32>,
    #[serde(deserialize_with = "if_ours")]
    pub extras: Extras<MeshMark>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Primitive {
    pub attributes: BTreeMap<String, usize>,
    pub indices: Option<usize>,
    pub material: Option<usize>,
    pub mode: Option<u32>,
    pub targets: Vec<BTreeMap<String, usize>>,
    pub extensions: PrimitiveExtensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PrimitiveExtensions {
    #[serde(rename = "KHR_draco_mesh_compression")]
    pub draco: Option<Draco>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Draco {
    pub buffer_view: usize,
    pub attributes: BTreeMap<String, u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Skin {
    pub inverse_bind_matrices: Option<usize>,
    pub joints: Vec<usize>,
    #[serde(deserialize_with = "if_ours")]
    pub extras: Extras<SkinMark>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Animation {
    pub name: String,
    pub channels: Vec<Channel>,
    pub samplers: Vec<AnimationSampler>,
    #[serde(deserialize_with = "if_ours")]
    pub extras: Extras<AnimationMark>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Channel {
    pub sampler: usize,
    pub target: ChannelTarget,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChannelTarget {
    pub node: Option<usize>,
    pub path: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AnimationSampler {
    pub input: usize,
    pub output: usize,
    pub interpolation: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Accessor {
    pub buffer_view: Option<usize>,
    pub byte_offset: usize,
    pub component_type: u32,
    pub normalized: bool,
    pub count: usize,
    #[serde(rename = "type")]
    pub shape: String,
    pub sparse: Option<Sparse>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Sparse {
    pub count: usize,
    pub indices: SparseIndices,
    pub values: SparseValues,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SparseIndices {
    pub buffer_view: usize,
    pub byte_offset: usize,
    pub component_type: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SparseValues {
    pub buffer_view: usize,
    pub byte_offset: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BufferView {
    pub buffer: usize,
    pub byte_offset: usize,
    pub byte_length: usize,
    pub byte_stride: Option<usize>,
    pub extensions: ViewExtensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ViewExtensions {
    #[serde(rename = "EXT_meshopt_compression")]
    pub ext_meshopt: Option<Meshopt>,
    #[serde(rename = "KHR_meshopt_compression")]
    pub khr_meshopt: Option<Meshopt>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Meshopt {
    pub buffer: usize,
    pub byte_offset: usize,
    pub byte_length: usize,
    pub byte_stride: usize,
    pub count: usize,
    pub mode: String,
    pub filter: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Buffer {
    pub uri: Option<String>,
    pub byte_length: usize,
}

#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Material {
    pub name: String,
    pub pbr_metallic_roughness: MetallicRoughness,
    pub normal_texture: Option<TextureUse>,
    pub occlusion_texture: Option<TextureUse>,
    pub emissive_texture: Option<TextureUse>,
    pub emissive_factor: [f32; 3],
    pub alpha_mode: String,
    pub alpha_cutoff: f32,
    pub double_sided: bool,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            name: String::new(),
            pbr_metallic_roughness: MetallicRoughness::default(),
            normal_texture: None,
            occlusion_texture: None,
            emissive_texture: None,
            emissive_factor: [0.0; 3],
            alpha_mode: "OPAQUE".to_owned(),
            alpha_cutoff: 0.5,
            double_sided: false,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[allow(clippy::struct_field_names, reason = "the fields are glTF's, under glTF's names")]
pub(super) struct MetallicRoughness {
    pub base_color_factor: [f32; 4],
    pub metallic_factor: f32,
    pub roughness_factor: f32,
    pub base_color_texture: Option<TextureUse>,
    pub metallic_roughness_texture: Option<TextureUse>,
}

impl Default for MetallicRoughness {
    fn default() -> Self {
        Self {
            base_color_factor: [1.0; 4],
            metallic_factor: 1.0,
            roughness_factor: 1.0,
            base_color_texture: None,
            metallic_roughness_texture: None,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TextureUse {
    pub index: usize,
    pub tex_coord: u32,
    /// Of normal textures.
    pub scale: Option<f32>,
    /// Of occlusion textures.
    pub strength: Option<f32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Texture {
    pub source: Option<usize>,
    pub sampler: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Image {
    pub name: String,
    pub uri: Option<String>,
    pub mime_type: Option<String>,
    pub buffer_view: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TextureSampler {
    pub mag_filter: Option<u32>,
    pub min_filter: Option<u32>,
    pub wrap_s: Option<u32>,
    pub wrap_t: Option<u32>,
}

/// `extras` may hold anything; what does not look like ours is as good as nothing.
fn if_ours<'de, D, T>(deserializer: D) -> Result<Extras<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + serde::de::DeserializeOwned,
{
    let anything = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(anything).unwrap_or_default())
}
