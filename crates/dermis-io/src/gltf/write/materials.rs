//! Materials, textures, samplers and images, each written once however many objects use it.

use std::sync::Arc;

use dermis_mesh::{AlphaMode, Image, Material, Note, Sampler, Texture};
use serde_json::{Value, json};

use super::file::{GltfFile, Usage};
use crate::error::Error;
use crate::gltf::images::core_media_type;

const FILTERS: [u32; 6] = [9728, 9729, 9984, 9985, 9986, 9987];
const WRAPS: [u32; 3] = [33071, 33648, 10497];

/// What has been written, by what it was made from.
#[derive(Default)]
pub(super) struct Written {
    materials: Vec<(Material, usize, usize)>,
    textures: Vec<(Arc<Image>, Sampler, usize)>,
    /// `None`: glTF's core cannot hold it.
    images: Vec<(Arc<Image>, Option<usize>)>,
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
        if let Some((_, _, known)) = self.materials.iter().find(|(m, sets, _)| *sets == uv_sets && m == material) {
            return Ok(*known);
        }
        let mut texture = |texture: &Option<Texture>, factor: Option<&str>| match texture {
            Some(texture) => self.texture_use(file, texture, factor, uv_sets, notes),
            None => Ok(None),
        };
        let textures = [
            ("baseColorTexture", texture(&material.base_color_texture, None)?),
            ("metallicRoughnessTexture", texture(&material.metallic_roughness_texture, None)?),
            ("normalTexture", texture(&material.normal_texture, Some("scale"))?),
            ("occlusionTexture", texture(&material.occlusion_texture, Some("strength"))?),
            ("emissiveTexture", texture(&material.emissive_texture, None)?),
        ];
        let unit = |number: f32| if number.is_finite() { number.clamp(0.0, 1.0) } else { 0.0 };
        let mut item = json!({
            "pbrMetallicRoughness": {
                "baseColorFactor": material.base_color.map(unit),
                "metallicFactor": unit(material.metallic),
                "roughnessFactor": unit(material.roughness),
            },
            "emissiveFactor": material.emissive.map(unit),
            "doubleSided": material.double_sided,
        });
        if !material.name.is_empty() {
            item["name"] = json!(material.name);
        }
        match material.alpha_mode {
            AlphaMode::Opaque => {}
            AlphaMode::Mask { cutoff } => {
                item["alphaMode"] = json!("MASK");
                item["alphaCutoff"] = json!(if cutoff.is_finite() { cutoff.max(0.0) } else { 0.5 });
            }
            AlphaMode::Blend => item["alphaMode"] = json!("BLEND"),
        }
        for (place, (name, texture)) in textures.into_iter().enumerate() {
            if let Some(texture) = texture {
                let owner = if place < 2 { &mut item["pbrMetallicRoughness"] } else { &mut item };
                owner[name] = texture;
            }
        }
        let index = file.push("materials", item);
        self.materials.push((material.clone(), uv_sets, index));
        Ok(index)
    }

    fn texture_use(
        &mut self,
        file: &mut GltfFile,
        texture: &Texture,
        factor: Option<&str>,
        uv_sets: usize,
        notes: &mut Vec<Note>,
    ) -> Result<Option<Value>, Error> {
        if texture.uv_set as usize >= uv_sets {
            let message = format!("the texture '{}' is left out: the mesh has no UVs for it", texture.image.name);
            notes.push(Note::new(message));
            return Ok(None);
        }
        let Some(index) = self.texture(file, texture, notes)? else {
            return Ok(None);
        };
        let mut usage = json!({ "index": index, "texCoord": texture.uv_set });
        if let Some(name) = factor {
            let allowed = if name == "strength" { texture.factor.clamp(0.0, 1.0) } else { texture.factor };
            usage[name] = json!(if allowed.is_finite() { allowed } else { 1.0 });
        }
        Ok(Some(usage))
    }

    fn texture(
        &mut self,
        file: &mut GltfFile,
        texture: &Texture,
        notes: &mut Vec<Note>,
    ) -> Result<Option<usize>, Error> {
        let Texture { image, sampler, .. } = texture;
        if let Some((_, _, known)) = self.textures.iter().find(|(i, s, _)| i == image && s == sampler) {
            return Ok(Some(*known));
        }
        let Some(source) = self.image(file, image, notes)? else {
            return Ok(None);
        };
        let sampler_index = self.sampler(file, *sampler);
        let index = file.push("textures", json!({ "source": source, "sampler": sampler_index }));
        self.textures.push((Arc::clone(image), *sampler, index));
        Ok(Some(index))
    }

    fn image(
        &mut self,
        file: &mut GltfFile,
        image: &Arc<Image>,
        notes: &mut Vec<Note>,
    ) -> Result<Option<usize>, Error> {
        if let Some((_, known)) = self.images.iter().find(|(other, _)| other == image) {
            return Ok(*known);
        }
        let index = if let Some(media_type) = core_media_type(&image.bytes) {
            let view = file.view(&image.bytes, Usage::Other)?;
            let mut item = json!({ "bufferView": view, "mimeType": media_type });
            if !image.name.is_empty() {
                item["name"] = json!(image.name);
            }
            Some(file.push("images", item))
        } else {
            let message = format!("the image '{}' is left out: glTF holds only PNG and JPEG", image.name);
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
        let mut item = json!({});
        let fields = [
            ("magFilter", sampler.mag_filter.filter(|filter| FILTERS[..2].contains(filter))),
            ("minFilter", sampler.min_filter.filter(|filter| FILTERS.contains(filter))),
            ("wrapS", Some(sampler.wrap_s).filter(|wrap| WRAPS.contains(wrap))),
            ("wrapT", Some(sampler.wrap_t).filter(|wrap| WRAPS.contains(wrap))),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                item[name] = json!(value);
            }
        }
        let index = file.push("samplers", item);
        self.samplers.push((sampler, index));
        index
    }
}
