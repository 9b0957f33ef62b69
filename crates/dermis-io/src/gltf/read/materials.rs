//! Materials, textures and images. Images are kept without decoding.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use dermis_mesh::{AlphaMode, Image, Material, Note, Sampler, Texture};

use super::document::{Document, missing};
use crate::error::Error;
use crate::gltf::images::media_type;
use crate::gltf::schema::TextureUse;

/// The materials of a file, read when they are first used.
pub(super) struct Materials<'a> {
    document: &'a Document<'a>,
    /// `None`: the image is not available.
    images: RefCell<BTreeMap<usize, Option<Arc<Image>>>>,
}

impl<'a> Materials<'a> {
    pub(super) fn new(document: &'a Document<'a>) -> Self {
        Self { document, images: RefCell::default() }
    }

    /// Material `index`; without one, the default of dermis.
    pub(super) fn get(&self, index: Option<usize>) -> Result<Material, Error> {
        let Some(index) = index else {
            return Ok(Material::default());
        };
        let count = self.document.root.materials.len();
        let material = self.document.root.materials.get(index).ok_or_else(|| missing("material", index, count))?;
        let pbr = &material.pbr_metallic_roughness;
        let location = format!("materials[{index}]");
        let texture = |usage: &Option<TextureUse>| match usage {
            Some(usage) => self.texture(usage).map_err(|error| error.at(location.clone())),
            None => Ok(None),
        };
        Ok(Material {
            name: material.name.clone(),
            base_color: pbr.base_color_factor.unwrap_or([1.0; 4]),
            metallic: pbr.metallic_factor.unwrap_or(1.0),
            roughness: pbr.roughness_factor.unwrap_or(1.0),
            emissive: material.emissive_factor,
            base_color_texture: texture(&pbr.base_color_texture)?,
            metallic_roughness_texture: texture(&pbr.metallic_roughness_texture)?,
            normal_texture: texture(&material.normal_texture)?,
            occlusion_texture: texture(&material.occlusion_texture)?,
            emissive_texture: texture(&material.emissive_texture)?,
            alpha_mode: match material.alpha_mode.as_deref().unwrap_or_default() {
                "MASK" => AlphaMode::Mask { cutoff: material.alpha_cutoff.unwrap_or(0.5) },
                "BLEND" => AlphaMode::Blend,
                _ => AlphaMode::Opaque,
            },
            double_sided: material.double_sided,
        })
    }

    fn texture(&self, usage: &TextureUse) -> Result<Option<Texture>, Error> {
        let root = &self.document.root;
        let texture =
            root.textures.get(usage.index).ok_or_else(|| missing("texture", usage.index, root.textures.len()))?;
        let Some(source) = texture.image() else {
            let message = "the texture is skipped: it has no image, or an image of an unknown type";
            self.document.note(Note::at(format!("textures[{}]", usage.index), message));
            return Ok(None);
        };
        let Some(image) = self.image(source)? else {
            return Ok(None);
        };
        let sampler = match texture.sampler {
            None => Sampler::default(),
            Some(index) => {
                let sampler = root.samplers.get(index).ok_or_else(|| missing("sampler", index, root.samplers.len()))?;
                let plain = Sampler::default();
                Sampler {
                    mag_filter: sampler.mag_filter,
                    min_filter: sampler.min_filter,
                    wrap_s: sampler.wrap_s.unwrap_or(plain.wrap_s),
                    wrap_t: sampler.wrap_t.unwrap_or(plain.wrap_t),
                }
            }
        };
        let factor = usage.scale.or(usage.strength).unwrap_or(1.0);
        Ok(Some(Texture { image, uv_set: usage.uv_set(), factor, sampler }))
    }

    fn image(&self, index: usize) -> Result<Option<Arc<Image>>, Error> {
        if let Some(known) = self.images.borrow().get(&index) {
            return Ok(known.clone());
        }
        let image = self.read_image(index)?.map(Arc::new);
        self.images.borrow_mut().insert(index, image.clone());
        Ok(image)
    }

    /// A missing image file is skipped with a note: it has no effect on the shape.
    fn read_image(&self, index: usize) -> Result<Option<Image>, Error> {
        let count = self.document.root.images.len();
        let image = self.document.root.images.get(index).ok_or_else(|| missing("image", index, count))?;
        let (stated, bytes) = match (image.buffer_view, &image.uri) {
            (Some(view), _) => {
                let bytes = self.document.view(view)?;
                self.document.take("images", bytes.len(), 1)?;
                (None, bytes.to_vec())
            }
            (None, Some(uri)) => match self.document.resource(uri) {
                Ok(resource) => resource,
                Err(error) => {
                    let message = format!("the image is skipped: {error}");
                    self.document.note(Note::at(format!("images[{index}]"), message));
                    return Ok(None);
                }
            },
            (None, None) => return Err(Error::malformed(format!("image {index} has no data"))),
        };
        let sniffed = media_type(&bytes).map(str::to_owned);
        let mime_type = sniffed.or_else(|| image.mime_type.clone()).or(stated).unwrap_or_default();
        let file_name = || image.uri.clone().filter(|uri| !uri.starts_with("data:")).unwrap_or_default();
        let name = if image.name.is_empty() { file_name() } else { image.name.clone() };
        Ok(Some(Image { name, mime_type, bytes }))
    }
}
