//! Materials, textures, samplers and images, each written once regardless of the number of objects that use it.

use std::sync::Arc;

use dermis_mesh::{AlphaMode, Image, Material, Note, Sampler, Texture};

use super::file::{GltfFile, Usage, push};
use crate::error::Error;
use crate::gltf::images::media_type;
use crate::gltf::schema::{self, ImageExtensions, MetallicRoughness, TextureSampler, TextureUse};

const FILTERS: [u32; 6] = [9728, 9729, 9984, 9985, 9986, 9987];
const WRAPS: [u32; 3] = [33071, 33648, 10497];

/// Index and media type of an image in the file.
type StoredImage = (usize, &'static str);

/// Indices of written items, by their source.
#[derive(Default)]
pub(super) struct Written {
    materials: Vec<(Material, usize, usize)>,
    textures: Vec<(Arc<Image>, Sampler, usize)>,
    /// `None`: glTF does not support the image.
    images: Vec<(Arc<Image>, Option<StoredImage>)>,
    samplers: Vec<(Sampler, usize)>,
}

impl Written {
    /// The index of `material` for a mesh with `uv_sets` sets of UVs.
    pub(super) fn material(
        &mut self,
        file: &mut GltfFile,
        material: &Material,
        uv_sets: usize,
        notes: &mut Vec<Note>,
    ) -> Result<usize, Error> {
        // Without textures the material does not depend on the sets.
        let uv_sets = if has_textures(material) { uv_sets } else { 0 };
        if let Some((_, _, known)) = self.materials.iter().find(|(m, sets, _)| *sets == uv_sets && m == material) {
            return Ok(*known);
        }
        let mut texture = |texture: &Option<Texture>| match texture {
            Some(texture) => self.texture_use(file, texture, uv_sets, notes),
            None => Ok(None),
        };
        let finite = |factor: f32| if factor.is_finite() { factor } else { 1.0 };
        let scaled = |texture: &Option<Texture>| texture.as_ref().map(|texture| finite(texture.factor));
        let unit = |number: f32| if number.is_finite() { number.clamp(0.0, 1.0) } else { 0.0 };
        let (alpha_mode, alpha_cutoff) = match material.alpha_mode {
            AlphaMode::Opaque => (None, None),
            AlphaMode::Mask { cutoff } => (Some("MASK"), Some(if cutoff.is_finite() { cutoff.max(0.0) } else { 0.5 })),
            AlphaMode::Blend => (Some("BLEND"), None),
        };
        let item = schema::Material {
            name: material.name.clone(),
            pbr_metallic_roughness: MetallicRoughness {
                base_color_factor: Some(material.base_color.map(unit)),
                metallic_factor: Some(unit(material.metallic)),
                roughness_factor: Some(unit(material.roughness)),
                base_color_texture: texture(&material.base_color_texture)?,
                metallic_roughness_texture: texture(&material.metallic_roughness_texture)?,
            },
            normal_texture: texture(&material.normal_texture)?
                .map(|used| TextureUse { scale: scaled(&material.normal_texture), ..used }),
            occlusion_texture: texture(&material.occlusion_texture)?
                .map(|used| TextureUse { strength: scaled(&material.occlusion_texture).map(unit), ..used }),
            emissive_texture: texture(&material.emissive_texture)?,
            emissive_factor: material.emissive.map(unit),
            alpha_mode: alpha_mode.map(str::to_owned),
            alpha_cutoff,
            double_sided: material.double_sided,
        };
        let index = push(&mut file.root.materials, item);
        self.materials.push((material.clone(), uv_sets, index));
        Ok(index)
    }

    fn texture_use(
        &mut self,
        file: &mut GltfFile,
        texture: &Texture,
        uv_sets: usize,
        notes: &mut Vec<Note>,
    ) -> Result<Option<TextureUse>, Error> {
        if texture.uv_set as usize >= uv_sets {
            let message = format!("the texture '{}' is dropped: the mesh has no UVs for it", texture.image.name);
            notes.push(Note::new(message));
            return Ok(None);
        }
        let index = self.texture(file, texture, notes)?;
        Ok(index.map(|index| TextureUse { index, tex_coord: texture.uv_set, ..TextureUse::default() }))
    }

    fn texture(
        &mut self,
        file: &mut GltfFile,
        texture: &Texture,
        notes: &mut Vec<Note>,
    ) -> Result<Option<usize>, Error> {
        let Texture { image, sampler: filter, .. } = texture;
        if let Some((_, _, known)) = self.textures.iter().find(|(i, s, _)| i == image && s == filter) {
            return Ok(Some(*known));
        }
        let Some((source, media_type)) = self.image(file, image, notes)? else {
            return Ok(None);
        };
        let sampler = Some(self.sampler(file, *filter));
        let texture = match ImageExtensions::of_image(media_type, source) {
            None => schema::Texture { source: Some(source), sampler, ..schema::Texture::default() },
            Some((extensions, name)) => {
                // There is no fallback image, so a reader without the extension cannot draw the texture.
                for list in [&mut file.root.extensions_used, &mut file.root.extensions_required] {
                    if !list.iter().any(|known| known == name) {
                        list.push(name.to_owned());
                    }
                }
                schema::Texture { source: None, sampler, extensions }
            }
        };
        let index = push(&mut file.root.textures, texture);
        self.textures.push((Arc::clone(image), *filter, index));
        Ok(Some(index))
    }

    fn image(
        &mut self,
        file: &mut GltfFile,
        image: &Arc<Image>,
        notes: &mut Vec<Note>,
    ) -> Result<Option<StoredImage>, Error> {
        if let Some((_, known)) = self.images.iter().find(|(other, _)| other == image) {
            return Ok(*known);
        }
        let index = if let Some(media_type) = media_type(&image.bytes) {
            let view = file.view(&image.bytes, Usage::Other)?;
            let (name, mime_type) = (image.name.clone(), Some(media_type.to_owned()));
            let item = schema::Image { name, uri: None, mime_type, buffer_view: Some(view) };
            Some((push(&mut file.root.images, item), media_type))
        } else {
            let message = format!(
                "the image '{}' is dropped: glTF supports only PNG, JPEG, WebP, KTX2, AVIF and DDS",
                image.name
            );
            notes.push(Note::new(message));
            None
        };
        self.images.push((Arc::clone(image), index));
        Ok(index)
    }

    fn sampler(&mut self, file: &mut GltfFile, sampler: Sampler) -> usize {
        if let Some((_, known)) = self.samplers.iter().find(|(other, _)| *other == sampler) {
            return *known;
        }
        let wrap = |wrap: u32| Some(wrap).filter(|wrap| WRAPS.contains(wrap));
        let item = TextureSampler {
            mag_filter: sampler.mag_filter.filter(|filter| FILTERS[..2].contains(filter)),
            min_filter: sampler.min_filter.filter(|filter| FILTERS.contains(filter)),
            wrap_s: wrap(sampler.wrap_s),
            wrap_t: wrap(sampler.wrap_t),
        };
        let index = push(&mut file.root.samplers, item);
        self.samplers.push((sampler, index));
        index
    }
}

fn has_textures(material: &Material) -> bool {
    let Material { base_color_texture, metallic_roughness_texture, normal_texture, .. } = material;
    let Material { occlusion_texture, emissive_texture, .. } = material;
    let textures =
        [base_color_texture, metallic_roughness_texture, normal_texture, occlusion_texture, emissive_texture];
    textures.into_iter().any(Option::is_some)
}
