//! The parts of glTF's JSON that dermis reads and writes.
//!
//! These structures replace those of the `gltf-json` crate: they accept every file that can be read (quantized,
//! compressed, with unknown extensions), and an index that is out of range is reported when it is used. Unknown fields
//! are skipped, missing ones have the default that the specification gives. Fields with default values ([`Stated`]) are
//! not written; those that are only written are not parsed, so that a wrong value is not an error.

use std::collections::BTreeMap;

use glam::Vec2;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Returns whether a field has its default and need not be written. Numbers are always written: one that is optional in
/// the specification is an `Option`.
pub(super) trait Stated {
    fn is_default(&self) -> bool;
}

macro_rules! stated {
    ($([$($parameters:tt)*] $type:ty, $is_default:expr;)*) => {$(
        impl<$($parameters)*> Stated for $type {
            fn is_default(&self) -> bool {
                let is_default: fn(&Self) -> bool = $is_default;
                is_default(self)
            }
        }
    )*};
}

stated! {
    [] usize, |_| false;
    [] u32, |_| false;
    [const K: usize] [f32; K], |_| false;
    [] bool, |flag| !flag;
    [] String, String::is_empty;
    [T] Option<T>, Option::is_none;
    [T] Vec<T>, Vec::is_empty;
    [T] BTreeMap<String, T>, BTreeMap::is_empty;
    [T] Extras<T>, |extras| extras.dermis.is_none() && extras.target_names.is_empty();
}

/// Declares structures of the JSON and the names of their fields.
macro_rules! schema {
    ($case:literal $($(#[$attribute:meta])* $name:ident { $($(#[$on_field:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$attribute])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, rename_all = $case)]
        pub(super) struct $name {
            $($(#[$on_field])* #[serde(skip_serializing_if = "Stated::is_default")] pub $field: $type,)*
        }

        impl Stated for $name {
            fn is_default(&self) -> bool {
                *self == Self::default()
            }
        }
    )*};
}

schema! { "camelCase"
    Root {
        asset: Asset,
        scene: Option<usize>,
        scenes: Vec<SceneNodes>,
        nodes: Vec<Node>,
        meshes: Vec<Mesh>,
        skins: Vec<Skin>,
        animations: Vec<Animation>,
        accessors: Vec<Accessor>,
        buffer_views: Vec<BufferView>,
        buffers: Vec<Buffer>,
        materials: Vec<Material>,
        textures: Vec<Texture>,
        images: Vec<Image>,
        samplers: Vec<TextureSampler>,
        extensions_used: Vec<String>,
        extensions_required: Vec<String>,
    }

    Asset {
        version: String,
        min_version: Option<String>,
        #[serde(skip_deserializing)]
        generator: String,
        #[serde(deserialize_with = "if_ours")]
        extras: Extras<AssetMark>,
    }

    SceneNodes { nodes: Vec<usize>, }

    Node {
        name: String,
        children: Vec<usize>,
        matrix: Option<[f64; 16]>,
        #[serde(serialize_with = "in_f32")]
        translation: Option<[f64; 3]>,
        #[serde(serialize_with = "in_f32")]
        rotation: Option<[f64; 4]>,
        #[serde(serialize_with = "in_f32")]
        scale: Option<[f64; 3]>,
        mesh: Option<usize>,
        camera: Option<usize>,
        skin: Option<usize>,
        weights: Option<Vec<f32>>,
        #[serde(deserialize_with = "if_ours")]
        extras: Extras<NodeMark>,
        extensions: NodeExtensions,
    }

    NodeExtensions {
        #[serde(rename = "DERMIS_deformers")]
        deformers: Option<serde_json::Value>,
        #[serde(rename = "KHR_node_visibility")]
        visibility: Option<Visibility>,
        #[serde(rename = "MSFT_lod")]
        lod: Option<Lod>,
    }

    /// Nodes with coarser versions of a node's mesh.
    Lod { ids: Vec<usize>, }

    Visibility { visible: Option<bool>, }

    Mesh {
        name: String,
        primitives: Vec<Primitive>,
        weights: Vec<f32>,
        #[serde(deserialize_with = "if_ours")]
        extras: Extras<MeshMark>,
    }

    Primitive {
        attributes: BTreeMap<String, usize>,
        indices: Option<usize>,
        material: Option<usize>,
        mode: Option<u32>,
        targets: Vec<BTreeMap<String, usize>>,
        extensions: PrimitiveExtensions,
    }

    PrimitiveExtensions {
        #[serde(rename = "KHR_draco_mesh_compression")]
        draco: Option<Draco>,
    }

    Draco { buffer_view: usize, attributes: BTreeMap<String, u32>, }

    Skin {
        inverse_bind_matrices: Option<usize>,
        joints: Vec<usize>,
        #[serde(deserialize_with = "if_ours")]
        extras: Extras<SkinMark>,
    }

    Animation {
        name: String,
        channels: Vec<Channel>,
        samplers: Vec<AnimationSampler>,
        #[serde(deserialize_with = "if_ours")]
        extras: Extras<AnimationMark>,
    }

    Channel { sampler: usize, target: ChannelTarget, }

    ChannelTarget { node: Option<usize>, path: String, }

    AnimationSampler { input: usize, output: usize, interpolation: Option<String>, }

    Accessor {
        buffer_view: Option<usize>,
        byte_offset: Option<usize>,
        component_type: u32,
        normalized: bool,
        count: usize,
        #[serde(rename = "type")]
        shape: String,
        #[serde(skip_deserializing)]
        min: Vec<f32>,
        #[serde(skip_deserializing)]
        max: Vec<f32>,
        sparse: Option<Sparse>,
    }

    Sparse { count: usize, indices: SparseIndices, values: SparseValues, }

    SparseIndices { buffer_view: usize, byte_offset: usize, component_type: u32, }

    SparseValues { buffer_view: usize, byte_offset: usize, }

    BufferView {
        buffer: usize,
        byte_offset: usize,
        byte_length: usize,
        byte_stride: Option<usize>,
        #[serde(skip_deserializing)]
        target: Option<u32>,
        extensions: ViewExtensions,
    }

    ViewExtensions {
        #[serde(rename = "EXT_meshopt_compression")]
        ext_meshopt: Option<Meshopt>,
        #[serde(rename = "KHR_meshopt_compression")]
        khr_meshopt: Option<Meshopt>,
    }

    Meshopt {
        buffer: usize,
        byte_offset: usize,
        byte_length: usize,
        byte_stride: usize,
        count: usize,
        mode: String,
        filter: Option<String>,
    }

    Buffer { uri: Option<String>, byte_length: usize, extensions: BufferExtensions, }

    BufferExtensions {
        #[serde(rename = "EXT_meshopt_compression", skip_deserializing)]
        meshopt: Option<Fallback>,
    }

    /// A buffer without data, whose views are decompressed from another buffer.
    Fallback { fallback: bool, }

    Material {
        name: String,
        pbr_metallic_roughness: MetallicRoughness,
        normal_texture: Option<TextureUse>,
        occlusion_texture: Option<TextureUse>,
        emissive_texture: Option<TextureUse>,
        emissive_factor: [f32; 3],
        alpha_mode: Option<String>,
        alpha_cutoff: Option<f32>,
        double_sided: bool,
    }

    #[allow(clippy::struct_field_names, reason = "the fields are glTF's, under glTF's names")]
    MetallicRoughness {
        base_color_factor: Option<[f32; 4]>,
        metallic_factor: Option<f32>,
        roughness_factor: Option<f32>,
        base_color_texture: Option<TextureUse>,
        metallic_roughness_texture: Option<TextureUse>,
    }

    TextureUse {
        index: usize,
        tex_coord: u32,
        /// Factor of normal textures.
        scale: Option<f32>,
        /// Factor of occlusion textures.
        strength: Option<f32>,
        extensions: TextureExtensions,
    }

    TextureExtensions {
        #[serde(rename = "KHR_texture_transform")]
        transform: Option<TextureTransform>,
    }

    TextureTransform {
        offset: Option<[f32; 2]>,
        rotation: Option<f32>,
        scale: Option<[f32; 2]>,
        tex_coord: Option<u32>,
    }

    Texture { source: Option<usize>, sampler: Option<usize>, extensions: ImageExtensions, }

    /// Images in formats beyond the core of glTF.
    ImageExtensions {
        #[serde(rename = "EXT_texture_webp")]
        webp: Option<ImageSource>,
        #[serde(rename = "KHR_texture_basisu")]
        ktx2: Option<ImageSource>,
        #[serde(rename = "EXT_texture_avif")]
        avif: Option<ImageSource>,
        #[serde(rename = "MSFT_texture_dds")]
        dds: Option<ImageSource>,
    }

    ImageSource { source: Option<usize>, }

    Image { name: String, uri: Option<String>, mime_type: Option<String>, buffer_view: Option<usize>, }

    TextureSampler {
        mag_filter: Option<u32>,
        min_filter: Option<u32>,
        wrap_s: Option<u32>,
        wrap_t: Option<u32>,
    }
}

/// Values that dermis writes into `extras`, under its own name, to read them back exactly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, bound(deserialize = "T: Deserialize<'de>"))]
pub(super) struct Extras<T> {
    #[serde(skip_serializing_if = "Stated::is_default")]
    pub dermis: Option<T>,
    #[serde(rename = "targetNames", skip_serializing_if = "Stated::is_default")]
    pub target_names: Vec<String>,
}

impl<T> Default for Extras<T> {
    fn default() -> Self {
        Self { dermis: None, target_names: Vec::new() }
    }
}

impl<T> From<T> for Extras<T> {
    fn from(mark: T) -> Self {
        Self { dermis: Some(mark), target_names: Vec::new() }
    }
}

schema! { "snake_case"
    /// The units of a file that dermis wrote; a missing field was unknown.
    AssetMark { metres_per_unit: Option<f64>, up_axis: Option<String>, }

    NodeMark {
        /// This node only converts the scene to glTF's metres and Y up.
        units: bool,
    }

    MeshMark {
        /// The morph targets are recorded frames.
        sequence: bool,
        /// The default weights only widen the ranges of Blender's shape keys; they are not part of the stored pose.
        bind_weights: bool,
    }

    SkinMark {
        /// The parent of each joint, −1 for none, if the nodes do not show it.
        parents: Vec<i64>,
    }

    AnimationMark {
        frame_rate_hz: Option<f64>,
        start_seconds: Option<f64>,
        /// Number of frames, if not every frame has a key.
        frame_count: Option<usize>,
    }
}

/// `extras` can contain any JSON; values of other programs are ignored.
fn if_ours<'de, D, T>(deserializer: D) -> Result<Extras<T>, D::Error>
where
    D: Deserializer<'de>,
    T: serde::de::DeserializeOwned,
{
    let anything = serde_json::Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(anything).unwrap_or_default())
}

/// Numbers that are exact in single precision, with the minimum number of digits.
#[allow(clippy::ref_option, reason = "the form that serde calls")]
fn in_f32<S: Serializer, const K: usize>(numbers: &Option<[f64; K]>, serializer: S) -> Result<S::Ok, S::Error> {
    numbers.map(|numbers| numbers.map(|number| number as f32).to_vec()).serialize(serializer)
}

impl Material {
    /// The textures, the base colour first.
    pub(super) fn textures(&self) -> Vec<&TextureUse> {
        let MetallicRoughness { base_color_texture, metallic_roughness_texture, .. } = &self.pbr_metallic_roughness;
        let others =
            [metallic_roughness_texture, &self.normal_texture, &self.occlusion_texture, &self.emissive_texture];
        std::iter::once(base_color_texture).chain(others).flatten().collect()
    }
}

impl Texture {
    /// The image: that of the core, or else that of an extension.
    pub(super) fn image(&self) -> Option<usize> {
        let ImageExtensions { webp, ktx2, avif, dds } = &self.extensions;
        let extended = || [ktx2, webp, avif, dds].into_iter().flatten().find_map(|image| image.source);
        self.source.or_else(extended)
    }
}

impl ImageExtensions {
    /// The extension for an image of a media type beyond the core, and its name; `None` for other types.
    pub(super) fn of_image(media_type: &str, image: usize) -> Option<(Self, &'static str)> {
        let source = Some(ImageSource { source: Some(image) });
        let none = Self::default();
        Some(match media_type {
            "image/webp" => (Self { webp: source, ..none }, "EXT_texture_webp"),
            "image/ktx2" => (Self { ktx2: source, ..none }, "KHR_texture_basisu"),
            "image/avif" => (Self { avif: source, ..none }, "EXT_texture_avif"),
            "image/vnd-ms.dds" => (Self { dds: source, ..none }, "MSFT_texture_dds"),
            _ => return None,
        })
    }
}

impl TextureUse {
    /// The set of UVs.
    pub(super) fn uv_set(&self) -> u32 {
        let transform = self.extensions.transform.as_ref();
        transform.and_then(|transform| transform.tex_coord).unwrap_or(self.tex_coord)
    }

    /// `uv` after the texture transform: scaled, rotated counter-clockwise as seen, and moved.
    pub(super) fn transformed(&self, uv: Vec2) -> Vec2 {
        let Some(transform) = &self.extensions.transform else { return uv };
        let scaled = uv * Vec2::from(transform.scale.unwrap_or([1.0; 2]));
        // V points down.
        let rotated = Vec2::from_angle(-transform.rotation.unwrap_or(0.0)).rotate(scaled);
        rotated + Vec2::from(transform.offset.unwrap_or([0.0; 2]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texture_transforms_scale_rotate_and_move() {
        let transform = TextureTransform {
            offset: Some([0.5, 0.25]),
            rotation: Some(std::f32::consts::FRAC_PI_2),
            scale: Some([2.0, 4.0]),
            tex_coord: Some(1),
        };
        let used = TextureUse { extensions: TextureExtensions { transform: Some(transform) }, ..TextureUse::default() };
        assert_eq!(used.uv_set(), 1);
        assert!(used.transformed(Vec2::new(1.0, 0.5)).distance(Vec2::new(2.5, -1.75)) < 1e-6);
    }
}
