//! Materials, with images that are embedded in the file or in files next to it.

use std::sync::Arc;

use dermis_mesh::{AlphaMode, Image, Material, Note, Sampler, Texture};

use super::Reader;

/// A material in the model of glTF.
pub(super) fn material(material: &ufbx::Material, uv_names: &[String], reader: &mut Reader<'_>) -> Material {
    let name = material.element.name.to_string();
    let pbr = &material.pbr;
    let fallback = Material::default();
    let number =
        |map: &ufbx::MaterialMap, fallback: f32| if map.has_value { map.value_vec4.x as f32 } else { fallback };
    let color = |map: &ufbx::MaterialMap, factor: f32, fallback: [f32; 3]| {
        let value = map.value_vec4;
        let found = [value.x as f32, value.y as f32, value.z as f32];
        (if map.has_value { found } else { fallback }).map(|channel| channel * factor)
    };
    let mut texture = |map: &ufbx::MaterialMap, what: &str| {
        let texture = map.texture.as_ref().filter(|_| map.texture_enabled)?;
        let image = embedded(texture).or_else(|| reader.image(texture, &name, what))?;
        Some(used(texture, image, uv_names))
    };
    let base_color_texture = texture(&pbr.base_color, "base colour");
    let normal_texture = texture(&pbr.normal_map, "normal");
    let emissive_texture = texture(&pbr.emission_color, "emission");
    let [r, g, b, opacity] = fallback.base_color;
    let base = color(&pbr.base_color, number(&pbr.base_factor, 1.0), [r, g, b]);
    let opacity = number(&pbr.opacity, opacity);
    Material {
        // A textured base colour is that of the texture, not multiplied by the plain colour.
        base_color: if base_color_texture.is_some() {
            [1.0, 1.0, 1.0, opacity]
        } else {
            [base[0], base[1], base[2], opacity]
        },
        metallic: number(&pbr.metalness, fallback.metallic),
        roughness: number(&pbr.roughness, fallback.roughness),
        emissive: color(&pbr.emission_color, number(&pbr.emission_factor, 1.0), fallback.emissive),
        base_color_texture,
        normal_texture,
        emissive_texture,
        alpha_mode: if opacity < 1.0 { AlphaMode::Blend } else { AlphaMode::Opaque },
        name: name.clone(),
        ..fallback
    }
}

impl Reader<'_> {
    /// The image of a texture in another file. A missing file results in a note, not an error.
    fn image(&mut self, texture: &ufbx::Texture, material: &str, what: &str) -> Option<Arc<Image>> {
        let names = [&*texture.relative_filename, &*texture.filename, &*texture.absolute_filename];
        let key = names.join("\n");
        if let Some(known) = self.images.get(&key) {
            return known.clone();
        }
        let read = self.beside(&names).and_then(|path| crate::mapped::read_whole(&path));
        let image = match read {
            Ok(bytes) => Some(Arc::new(image(file_name(&texture.filename), bytes))),
            Err(error) => {
                let message = format!("the {what} texture is not embedded in the file and is skipped: {error}");
                self.notes.push(Note::at(material, message));
                None
            }
        };
        self.images.insert(key, image.clone());
        image
    }
}

fn embedded(texture: &ufbx::Texture) -> Option<Arc<Image>> {
    let of_video = texture.video.as_ref().map_or(&[][..], |video| &video.content);
    let bytes: &[u8] = if texture.content.is_empty() { of_video } else { &texture.content };
    (!bytes.is_empty()).then(|| Arc::new(image(file_name(&texture.filename), bytes.to_vec())))
}

fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}

fn image(name: String, bytes: Vec<u8>) -> Image {
    let mime_type = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, ..] => "image/jpeg",
        _ => "application/octet-stream",
    };
    Image { name, mime_type: mime_type.to_owned(), bytes }
}

fn used(texture: &ufbx::Texture, image: Arc<Image>, uv_names: &[String]) -> Texture {
    let wrap = |mode: ufbx::WrapMode| if mode == ufbx::WrapMode::Clamp { 33071 } else { 10497 };
    let uv_set = uv_names.iter().position(|name| **name == *texture.uv_set).unwrap_or(0) as u32;
    let sampler = Sampler { wrap_s: wrap(texture.wrap_u), wrap_t: wrap(texture.wrap_v), ..Sampler::default() };
    Texture { image, uv_set, factor: 1.0, sampler }
}
