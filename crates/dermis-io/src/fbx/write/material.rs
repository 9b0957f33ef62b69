//! Materials as Phong shading, and textures with their images in the file.

use std::sync::Arc;

use dermis_mesh::{AlphaMode, Image, Material, Note, Texture};

use super::file::{FbxFile, object};
use super::mesh::uv_name;
use super::node::{Node, boolean, color, enumerated, number, properties, property};
use crate::error::Error;

const CLAMP: u32 = 33071;

/// Materials and images in the file; equal ones are written once.
#[derive(Default)]
pub(super) struct Materials {
    known: Vec<(Material, i64)>,
    images: Vec<(Arc<Image>, i64, String)>,
    pub notes: Vec<Note>,
}

impl Materials {
    /// Writes `material` unless an equal one exists; returns its identifier.
    pub(super) fn id(&mut self, file: &mut FbxFile, material: &Material) -> Result<i64, Error> {
        if let Some((_, id)) = self.known.iter().find(|(known, _)| known == material) {
            return Ok(*id);
        }
        let id = file.id();
        file.object("Material", &phong(id, material))?;
        let textures = [
            (&material.base_color_texture, "DiffuseColor"),
            (&material.normal_texture, "NormalMap"),
            (&material.emissive_texture, "EmissiveColor"),
        ];
        for (texture, property) in textures {
            if let Some(texture) = texture {
                let texture = self.texture(file, texture, &format!("{} {property}", material.name))?;
                file.connect_to(texture, id, property);
            }
        }
        let missing = [
            (&material.metallic_roughness_texture, "metallic and roughness"),
            (&material.occlusion_texture, "occlusion"),
        ];
        for (texture, what) in missing {
            if texture.is_some() {
                let message = format!("FBX materials have no {what} texture; it is dropped");
                self.notes.push(Note::at(material.name.clone(), message));
            }
        }
        if let AlphaMode::Mask { .. } = material.alpha_mode {
            let message = "FBX materials have no alpha cutoff; the material is written as opaque";
            self.notes.push(Note::at(material.name.clone(), message));
        }
        self.known.push((material.clone(), id));
        Ok(id)
    }

    fn texture(&mut self, file: &mut FbxFile, texture: &Texture, fallback: &str) -> Result<i64, Error> {
        let (video, file_name) = self.image(file, &texture.image, fallback)?;
        let id = file.id();
        let wrap = |mode: u32| i32::from(mode == CLAMP);
        let node = object("Texture", id, fallback, "Texture", "").children([
            Node::of("Type", "TextureVideoClip"),
            Node::of("Version", 202),
            Node::of("TextureName", super::node::classed(fallback, "Texture")),
            Node::of("Media", super::node::classed(&file_name, "Video")),
            Node::of("FileName", &file_name),
            Node::of("RelativeFilename", &file_name),
            properties([
                property("UVSet", "KString", "", "", [uv_name(texture.uv_set as usize)]),
                boolean("UseMaterial", true),
                enumerated("WrapModeU", wrap(texture.sampler.wrap_s)),
                enumerated("WrapModeV", wrap(texture.sampler.wrap_t)),
            ]),
            Node::of("ModelUVTranslation", 0.0).with(0.0),
            Node::of("ModelUVScaling", 1.0).with(1.0),
            Node::of("Texture_Alpha_Source", "None"),
            Node::of("Cropping", 0).with(0).with(0).with(0),
        ]);
        file.object("Texture", &node)?;
        file.connect(video, id);
        Ok(id)
    }

    fn image(&mut self, file: &mut FbxFile, image: &Arc<Image>, fallback: &str) -> Result<(i64, String), Error> {
        if let Some((_, id, name)) = self.images.iter().find(|(known, ..)| known == image) {
            return Ok((*id, name.clone()));
        }
        let id = file.id();
        let name = file_name(image, fallback, self.images.len());
        let node = object("Video", id, &name, "Video", "Clip").children([
            Node::of("Type", "Clip"),
            properties([property("Path", "KString", "XRefUrl", "", [name.as_str()])]),
            Node::of("UseMipMap", 0),
            Node::of("Filename", &name),
            Node::of("RelativeFilename", &name),
            Node::of("Content", image.bytes.clone()),
        ]);
        file.object("Video", &node)?;
        self.images.push((Arc::clone(image), id, name.clone()));
        Ok((id, name))
    }
}

/// The name of the image as a file, with an extension.
fn file_name(image: &Image, fallback: &str, number: usize) -> String {
    let extension = match image.mime_type.as_str() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/webp" => "webp",
        "image/ktx2" => "ktx2",
        _ => "bin",
    };
    let base = if image.name.is_empty() { format!("{fallback} {number}") } else { image.name.clone() };
    let base = base.replace(['/', '\\', ':'], "_");
    let has_extension = base.rsplit_once('.').is_some_and(|(_, end)| (1..=4).contains(&end.len()));
    if has_extension { base } else { format!("{base}.{extension}") }
}

fn phong(id: i64, material: &Material) -> Node {
    let [red, green, blue, opacity] = material.base_color;
    let opacity = f64::from(if material.alpha_mode == AlphaMode::Blend { opacity } else { 1.0 });
    // The shininess that readers convert to this roughness, and the reflection that they convert to metalness.
    let shininess = (10.0 * (1.0 - f64::from(material.roughness))).powi(2);
    let has_emission = material.emissive != [0.0; 3];
    object("Material", id, &material.name, "Material", "").children([
        Node::of("Version", 102),
        Node::of("ShadingModel", "phong"),
        Node::of("MultiLayer", 0),
        properties([
            color("DiffuseColor", [red, green, blue]),
            number("DiffuseFactor", 1.0),
            color("AmbientColor", [0.0; 3]),
            number("AmbientFactor", 0.0),
            color("EmissiveColor", material.emissive),
            number("EmissiveFactor", if has_emission { 1.0 } else { 0.0 }),
            color("SpecularColor", [0.25; 3]),
            number("SpecularFactor", 0.25),
            number("Shininess", shininess),
            number("ShininessExponent", shininess),
            color("ReflectionColor", [1.0; 3]),
            number("ReflectionFactor", f64::from(material.metallic)),
            color("TransparentColor", [1.0; 3]),
            number("TransparencyFactor", 1.0 - opacity),
            number("Opacity", opacity),
            number("BumpFactor", 1.0),
        ]),
    ])
}
