//! Materials: `UsdPreviewSurface` shaders and the textures that feed them, bound to meshes and to subsets of faces.

use std::collections::HashMap;
use std::sync::Arc;

use dermis_mesh::{AlphaMode, Image, Material, Note, Sampler, Texture};
use glam::{DVec3, DVec4};
use openusd::sdf::Value;

use super::assets::Assets;
use super::prims::{Prim, Prims};
use super::values;

/// Maximum number of connections that are followed from one input, since they can form cycles.
const MAX_CONNECTIONS: usize = 16;

/// Materials of a stage, read on demand.
pub(super) struct Materials<'a> {
    assets: &'a Assets,
    images: HashMap<String, Option<Arc<Image>>>,
}

/// The materials of one mesh.
#[derive(Default)]
pub(super) struct Bound {
    pub(super) materials: Vec<Material>,
    /// An index into `materials` per face; empty if there are none.
    pub(super) face_materials: Vec<u32>,
}

/// Source that an input is connected to.
struct Source<'a> {
    shader: &'a Prim,
    /// The output's name: `rgb`, `r`, …
    output: String,
}

impl<'a> Materials<'a> {
    pub(super) fn new(assets: &'a Assets) -> Self {
        Self { assets, images: HashMap::new() }
    }

    /// The materials bound to the mesh at `mesh` and to subsets of its faces.
    pub(super) fn bind(
        &mut self,
        prims: &Prims,
        mesh: usize,
        face_count: usize,
        uv_names: &[String],
        notes: &mut Vec<Note>,
    ) -> Bound {
        const UNBOUND: u32 = u32::MAX;
        let is_double_sided = matches!(prims.all[mesh].value("doubleSided"), Some(Value::Bool(true)));
        let mut bound = Bound::default();
        let mut index_of: HashMap<usize, u32> = HashMap::new();
        let mut material_index = |bound: &mut Bound, material: usize, notes: &mut Vec<Note>| {
            *index_of.entry(material).or_insert_with(|| {
                let mut read = self.read(prims, material, uv_names, notes);
                read.double_sided = is_double_sided;
                bound.materials.push(read);
                bound.materials.len() as u32 - 1
            })
        };
        let whole = prims.upwards(mesh).find_map(|prim| binding(prims, prim));
        let whole = whole.map(|material| material_index(&mut bound, material, notes));
        bound.face_materials = vec![whole.unwrap_or(UNBOUND); face_count];
        for &child in &prims.all[mesh].children {
            let Some(material) = binding(prims, child).filter(|_| prims.all[child].type_name == "GeomSubset") else {
                continue;
            };
            let faces = prims.all[child].value("indices").and_then(values::integers).unwrap_or_default();
            let index = material_index(&mut bound, material, notes);
            for face in faces {
                if let Some(slot) = usize::try_from(face).ok().and_then(|face| bound.face_materials.get_mut(face)) {
                    *slot = index;
                }
            }
        }
        if bound.materials.is_empty() {
            return Bound::default();
        }
        if bound.face_materials.contains(&UNBOUND) {
            let index = bound.materials.len() as u32;
            bound.materials.push(Material { double_sided: is_double_sided, ..Material::default() });
            bound.face_materials.iter_mut().filter(|slot| **slot == UNBOUND).for_each(|slot| *slot = index);
        }
        bound
    }

    fn read(&mut self, prims: &Prims, material: usize, uv_names: &[String], notes: &mut Vec<Note>) -> Material {
        let prim = &prims.all[material];
        let last = prim.path.rsplit('/').next().unwrap_or_default();
        let name = prim.original_name.clone().unwrap_or_else(|| last.to_owned());
        let surface =
            ["outputs:surface", "outputs:universal:surface"].iter().find_map(|output| source(prims, prim, output));
        let surface = surface.map(|source| source.shader);
        let id = surface.and_then(|shader| shader.value("info:id")).and_then(values::text);
        let Some(surface) = surface.filter(|_| id.as_deref() == Some("UsdPreviewSurface")) else {
            notes.push(Note::at(
                prim.path.clone(),
                "the material has no UsdPreviewSurface; a plain material replaces it",
            ));
            return Material { name, ..Material::default() };
        };
        let mut reading = Reading { prims, surface, uv_names, materials: self, notes };
        reading.surface(name)
    }

    fn image(&mut self, shader: &Prim) -> Option<Arc<Image>> {
        let file = shader.attribute("inputs:file")?;
        let Some(Value::AssetPath(path)) = file.value() else { return None };
        let authored = path.evaluated_path().unwrap_or(path.asset_path());
        let resolved = path.resolved_path().map(str::to_owned).filter(|path| !path.is_empty());
        let assets = self.assets;
        let identifier = resolved.or_else(|| assets.identifier(authored, &file.layer))?;
        let read = || {
            let bytes = assets.read(&identifier).ok()?;
            let name = authored.rsplit(['/', '\\']).next().unwrap_or(authored).to_owned();
            Some(Arc::new(Image { mime_type: mime_type(&name).to_owned(), name, bytes }))
        };
        self.images.entry(identifier.clone()).or_insert_with(read).clone()
    }
}

/// Conversion of one shader to a material.
struct Reading<'a, 'b> {
    prims: &'a Prims,
    surface: &'a Prim,
    uv_names: &'a [String],
    materials: &'a mut Materials<'b>,
    notes: &'a mut Vec<Note>,
}

impl Reading<'_, '_> {
    fn surface(&mut self, name: String) -> Material {
        // The fallbacks are those of the UsdPreviewSurface specification.
        let (color, base_color_texture) = self.color("inputs:diffuseColor", DVec3::splat(0.18));
        let (emissive, emissive_texture) = self.color("inputs:emissiveColor", DVec3::ZERO);
        let (opacity, opacity_texture) = self.number("inputs:opacity", 1.0);
        let (metallic, metallic_texture) = self.number("inputs:metallic", 0.0);
        let (roughness, roughness_texture) = self.number("inputs:roughness", 0.5);
        let cutoff = self.constant("inputs:opacityThreshold").unwrap_or(0.0);
        let alpha_mode = match (cutoff > 0.0, opacity < 1.0 || opacity_texture.is_some()) {
            (true, _) => AlphaMode::Mask { cutoff: cutoff as f32 },
            (false, true) => AlphaMode::Blend,
            (false, false) => AlphaMode::Opaque,
        };
        Material {
            name,
            base_color: color.extend(opacity).as_vec4().to_array(),
            metallic: metallic as f32,
            roughness: roughness as f32,
            emissive: emissive.as_vec3().to_array(),
            base_color_texture,
            metallic_roughness_texture: self.packed(metallic_texture, roughness_texture),
            normal_texture: self.texture("inputs:normal").map(|(texture, _, _)| texture),
            occlusion_texture: self.texture("inputs:occlusion").map(|(texture, _, _)| texture),
            emissive_texture,
            alpha_mode,
            double_sided: false,
        }
    }

    fn constant(&self, input: &str) -> Option<f64> {
        constant(self.prims, self.surface, input).and_then(values::number)
    }

    /// A colour, or a texture multiplied by it.
    fn color(&mut self, input: &str, fallback: DVec3) -> (DVec3, Option<Texture>) {
        match self.texture(input) {
            Some((texture, scale, _)) => (scale.truncate(), Some(texture)),
            None => (constant(self.prims, self.surface, input).and_then(values::vector3).unwrap_or(fallback), None),
        }
    }

    /// A number, or a channel of a texture multiplied by it.
    fn number(&mut self, input: &str, fallback: f64) -> (f64, Option<(Texture, String)>) {
        match self.texture(input) {
            Some((texture, scale, channel)) => {
                let factor = match channel.as_str() {
                    "g" => scale.y,
                    "b" => scale.z,
                    "a" => scale.w,
                    _ => scale.x,
                };
                (factor, Some((texture, channel)))
            }
            None => (self.constant(input).unwrap_or(fallback), None),
        }
    }

    /// The image that feeds an input, its scale, and the channel that is used.
    fn texture(&mut self, input: &str) -> Option<(Texture, DVec4, String)> {
        let Source { shader, output } = source(self.prims, self.surface, input)?;
        if shader.value("info:id").and_then(values::text).as_deref() != Some("UsdUVTexture") {
            return None;
        }
        let Some(image) = self.materials.image(shader) else {
            self.notes.push(Note::at(
                shader.path.clone(),
                "the image of the texture is missing, or outside the project folder",
            ));
            return None;
        };
        let reader = source(self.prims, shader, "inputs:st").map(|source| source.shader);
        let variable = reader.and_then(|reader| constant(self.prims, reader, "inputs:varname")).and_then(values::text);
        let variable = variable.map(|name| format!("primvars:{name}"));
        let uv_set = variable.and_then(|name| self.uv_names.iter().position(|found| *found == name)).unwrap_or(0);
        let scale = shader.value("inputs:scale").and_then(values::vector4).unwrap_or(DVec4::ONE);
        let sampler = Sampler {
            wrap_s: wrap(shader, "inputs:wrapS"),
            wrap_t: wrap(shader, "inputs:wrapT"),
            ..Sampler::default()
        };
        Some((Texture { image, uv_set: uv_set as u32, factor: 1.0, sampler }, scale, output))
    }

    /// Metalness and roughness share one image in glTF's model: blue and green.
    fn packed(&mut self, metallic: Option<(Texture, String)>, roughness: Option<(Texture, String)>) -> Option<Texture> {
        let is = |found: &Option<(Texture, String)>, channel: &str| found.as_ref().is_none_or(|(_, c)| c == channel);
        let same = match (&metallic, &roughness) {
            (Some((metallic, _)), Some((roughness, _))) => metallic.image == roughness.image,
            _ => true,
        };
        let fits = is(&metallic, "b") && is(&roughness, "g") && same;
        let texture = metallic.or(roughness)?.0;
        if !fits {
            let path = self.surface.path.clone();
            self.notes.push(Note::at(path, "metalness and roughness textures in separate images are skipped"));
        }
        fits.then_some(texture)
    }
}

/// The material that is bound at a prim itself.
fn binding(prims: &Prims, prim: usize) -> Option<usize> {
    let names = ["material:binding", "material:binding:preview", "material:binding:full"];
    let target = names.iter().find_map(|name| prims.all[prim].target(name))?;
    prims.find(target).filter(|&material| prims.all[material].type_name == "Material")
}

/// The shader output that a property is connected to, directly or through inputs of node graphs.
fn source<'a>(prims: &'a Prims, prim: &'a Prim, property: &str) -> Option<Source<'a>> {
    let (mut prim, mut property) = (prim, property.to_owned());
    for _ in 0..MAX_CONNECTIONS {
        let connection = prim.attribute(&property)?.connections.first()?;
        let (path, next) = connection.rsplit_once('.')?;
        prim = &prims.all[prims.find(path)?];
        next.clone_into(&mut property);
        if prim.type_name == "Shader" {
            return Some(Source { shader: prim, output: property.trim_start_matches("outputs:").to_owned() });
        }
    }
    None
}

/// The value of an input that is not connected to a shader.
fn constant<'a>(prims: &'a Prims, prim: &'a Prim, input: &str) -> Option<&'a Value> {
    let (mut prim, mut property) = (prim, input.to_owned());
    for _ in 0..MAX_CONNECTIONS {
        let attribute = prim.attribute(&property)?;
        let Some((path, next)) = attribute.connections.first().and_then(|path| path.rsplit_once('.')) else {
            return attribute.value();
        };
        prim = &prims.all[prims.find(path)?];
        next.clone_into(&mut property);
    }
    None
}

/// `OpenGL` constants of samplers.
fn wrap(shader: &Prim, input: &str) -> u32 {
    match shader.value(input).and_then(values::text).as_deref() {
        Some("clamp" | "black") => 33071,
        Some("mirror") => 33648,
        _ => 10497,
    }
}

fn mime_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "exr" => "image/x-exr",
        "avif" => "image/avif",
        "webp" => "image/webp",
        _ => "application/octet-stream",
    }
}
