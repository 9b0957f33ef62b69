//! Materials, with the images that the file embeds.

use std::sync::Arc;

use dermis_mesh::{AlphaMode, Image, Material, Note, Sampler, Texture};

/// A material as glTF's model has it.
pub(super) fn material(material: &ufbx::Material, uv_names: &[String], notes: &mut Vec<Note>) -> Material {
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
        let found = embedded(texture, uv_names);
        if found.is_none() {
            notes
                .push(Note::at(name.clone(), format!("the {what} texture is not embedded in the file and is skipped")));
        }
        found
    };
    let base_color_texture = texture(&pbr.base_color, "base colour");
    let normal_texture = texture(&pbr.normal_map, "normal");
    let emissive_texture = texture(&pbr.emission_color, "emission");
    let [r, g, b, opacity] = fallback.base_color;
    let base = color(&pbr.base_color, number(&pbr.base_factor, 1.0), [r, g, b]);
    let opacity = number(&pbr.opacity, opacity);
    Material {
        // A textured base colour is the texture's, not the texture's times the plain one.
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

fn embedded(texture: &ufbx::Texture, uv_names: &[String]) -> Option<Texture> {
    let of_video = texture.video.as_ref().map_or(&[][..], |video| &video.content);
    let bytes: &[u8] = if texture.content.is_empty() { of_video } else { &texture.content };
    let mime_type = match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, ..] => "image/jpeg",
        [] => return None,
        _ => "application/octet-stream",
    };
    let path = texture.filename.to_string();
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let wrap = |mode: ufbx::WrapMode| if mode == ufbx::WrapMode::Clamp { 33071 } else { 10497 };
    let uv_set = uv_names.iter().position(|name| **name == *texture.uv_set).unwrap_or(0) as u32;
    Some(Texture {
        image: Arc::new(Image { name, mime_type: mime_type.to_owned(), bytes: bytes.to_vec() }),
        uv_set,
        factor: 1.0,
        sampler: Sampler { wrap_s: wrap(texture.wrap_u), wrap_t: wrap(texture.wrap_v), ..Sampler::default() },
    })
}
