//! Materials as `UsdPreviewSurface` shaders, their images as files in a folder next to the `.usda`.

use std::path::Path;
use std::sync::Arc;

use dermis_mesh::{AlphaMode, Image, Material, Note, Texture};

use super::layer::{Layer, Value};
use super::names::Names;
use crate::error::Error;
use crate::output::Output;

/// The scope of the materials, below the root prim.
const SCOPE: &str = "Materials";

/// The distinct materials of a scene and their images.
#[derive(Default)]
pub(super) struct Materials {
    known: Vec<(Material, String)>,
    names: Names,
    images: Vec<(Arc<Image>, String)>,
    image_names: Names,
    folder: String,
    /// Notes on what USD cannot express.
    pub(super) notes: Vec<Note>,
}

impl Materials {
    /// Materials whose images are written to the folder `<stem>_textures`.
    pub(super) fn new(target: &Path) -> Self {
        let stem = target.file_stem().map_or_else(|| "scene".into(), |stem| stem.to_string_lossy().into_owned());
        Self { folder: format!("{stem}_textures"), ..Self::default() }
    }

    /// The path of the prim of `material`.
    pub(super) fn path(&mut self, root: &str, material: &Material) -> String {
        let known = self.known.iter().find(|(known, _)| known == material).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            let name = self.names.unique(&material.name, "Material");
            self.known.push((material.clone(), name.clone()));
            name
        });
        format!("{root}/{SCOPE}/{name}")
    }

    /// Writes the scope with all materials.
    pub(super) fn write(&mut self, root: &str, layer: &mut dyn Layer) -> Result<(), Error> {
        if self.known.is_empty() {
            return Ok(());
        }
        layer.open("Scope", SCOPE, &[])?;
        for (material, name) in std::mem::take(&mut self.known) {
            self.material(&material, &name, &format!("{root}/{SCOPE}/{name}"), layer)?;
        }
        layer.close()
    }

    /// The images, by their paths relative to the layer.
    pub(super) fn images(&self) -> impl Iterator<Item = (String, &[u8])> {
        self.images.iter().map(|(image, name)| (format!("{}/{name}", self.folder), image.bytes.as_slice()))
    }

    /// Writes the images next to `target`.
    pub(super) fn write_images(&self, target: &Path, output: &mut Output) -> Result<(), Error> {
        let folder = target.with_file_name(&self.folder);
        self.images.iter().try_for_each(|(image, name)| output.write_all(&folder.join(name), &image.bytes))
    }

    fn material(&mut self, material: &Material, name: &str, path: &str, layer: &mut dyn Layer) -> Result<(), Error> {
        layer.open("Material", name, &super::original_name(&material.name, name))?;
        layer.connect("token outputs:surface", &format!("{path}/Surface.outputs:surface"))?;
        let textures = [
            ("Diffuse", &material.base_color_texture),
            ("Packed", &material.metallic_roughness_texture),
            ("Normal", &material.normal_texture),
            ("Occlusion", &material.occlusion_texture),
            ("Emissive", &material.emissive_texture),
        ];
        let mut written: Vec<&str> = Vec::new();
        for (role, texture) in textures {
            if let Some(texture) = texture
                && let Some(file) = self.file(texture, path)
            {
                write_texture(material, role, texture, &file, path, layer)?;
                written.push(role);
            }
        }
        write_surface(material, &written, path, layer)?;
        layer.close()
    }

    /// The path of the image relative to the `.usda`; `None` if USD does not support images of its type.
    fn file(&mut self, texture: &Texture, path: &str) -> Option<String> {
        let image = &texture.image;
        if let Some((_, name)) = self.images.iter().find(|(known, _)| Arc::ptr_eq(known, image) || known == image) {
            return Some(format!("./{}/{name}", self.folder));
        }
        let extension = match image.mime_type.as_str() {
            "image/png" => "png",
            "image/jpeg" => "jpg",
            "image/x-exr" => "exr",
            "image/avif" => "avif",
            other => {
                let what = format!("a texture of type '{other}' is dropped; USD supports PNG, JPEG, EXR and AVIF");
                self.notes.push(Note::at(path, what));
                return None;
            }
        };
        let stem = image.name.rsplit_once('.').map_or(image.name.as_str(), |(stem, _)| stem);
        let name = format!("{}.{extension}", self.image_names.unique(stem, "image"));
        self.images.push((Arc::clone(image), name.clone()));
        Some(format!("./{}/{name}", self.folder))
    }
}

fn write_texture(
    material: &Material,
    role: &str,
    texture: &Texture,
    file: &str,
    path: &str,
    layer: &mut dyn Layer,
) -> Result<(), Error> {
    let wrap = |mode: u32| match mode {
        33071 => "clamp",
        33648 => "mirror",
        _ => "repeat",
    };
    let [er, eg, eb] = material.emissive;
    let space = if matches!(role, "Diffuse" | "Emissive") { "sRGB" } else { "raw" };
    layer.open("Shader", role, &[])?;
    layer.token("uniform token info:id", "UsdUVTexture")?;
    layer.attribute("asset inputs:file", Some(Value::Asset(file)), &[])?;
    layer.token("token inputs:sourceColorSpace", space)?;
    let scale = match role {
        "Diffuse" => Some(material.base_color),
        "Packed" => Some([1.0, material.roughness, material.metallic, 1.0]),
        "Emissive" => Some([er, eg, eb, 1.0]),
        "Normal" => Some([2.0, 2.0, 2.0, 1.0]),
        _ => None,
    };
    if role == "Normal" {
        layer.attribute("float4 inputs:bias", Some(Value::Vec4([-1.0, -1.0, -1.0, 0.0])), &[])?;
    }
    if let Some(scale) = scale {
        layer.attribute("float4 inputs:scale", Some(Value::Vec4(scale)), &[])?;
    }
    layer.connect("float2 inputs:st", &format!("{path}/{role}_st.outputs:result"))?;
    layer.token("token inputs:wrapS", wrap(texture.sampler.wrap_s))?;
    layer.token("token inputs:wrapT", wrap(texture.sampler.wrap_t))?;
    for channel in ["float outputs:a", "float outputs:b", "float outputs:g", "float outputs:r", "float3 outputs:rgb"] {
        layer.declare(channel)?;
    }
    layer.close()?;
    layer.open("Shader", &format!("{role}_st"), &[])?;
    layer.token("uniform token info:id", "UsdPrimvarReader_float2")?;
    let varname = super::mesh::uv_name(texture.uv_set as usize);
    layer.attribute("string inputs:varname", Some(Value::Text(&varname)), &[])?;
    layer.declare("float2 outputs:result")?;
    layer.close()
}

fn write_surface(material: &Material, written: &[&str], path: &str, layer: &mut dyn Layer) -> Result<(), Error> {
    layer.open("Shader", "Surface", &[])?;
    let has = |role: &str| written.contains(&role);
    let [r, g, b, alpha] = material.base_color;
    let [er, eg, eb] = material.emissive;
    let mut input = |declaration: &str, source: Option<(&str, &str)>, value: Option<Value<'_>>| match source {
        Some((role, output)) => layer.connect(declaration, &format!("{path}/{role}.outputs:{output}")),
        None if value.is_none() => Ok(()),
        None => layer.attribute(declaration, value, &[]),
    };
    let from = |role: &'static str, output: &'static str| has(role).then_some((role, output));
    let is_clear = !matches!(material.alpha_mode, AlphaMode::Opaque);
    let opacity = if is_clear { alpha } else { 1.0 };
    let cutoff = if let AlphaMode::Mask { cutoff } = material.alpha_mode { Some(Value::Float(cutoff)) } else { None };
    input("uniform token info:id", None, Some(Value::Token("UsdPreviewSurface")))?;
    input("color3f inputs:diffuseColor", from("Diffuse", "rgb"), Some(Value::Vec3([r, g, b])))?;
    input("color3f inputs:emissiveColor", from("Emissive", "rgb"), Some(Value::Vec3([er, eg, eb])))?;
    input("float inputs:metallic", from("Packed", "b"), Some(Value::Float(material.metallic)))?;
    input("normal3f inputs:normal", from("Normal", "rgb"), None)?;
    input("float inputs:occlusion", from("Occlusion", "r"), None)?;
    input("float inputs:opacity", from("Diffuse", "a").filter(|_| is_clear), Some(Value::Float(opacity)))?;
    input("float inputs:opacityThreshold", None, cutoff)?;
    input("float inputs:roughness", from("Packed", "g"), Some(Value::Float(material.roughness)))?;
    layer.declare("token outputs:surface")?;
    layer.close()
}
