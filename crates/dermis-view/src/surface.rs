//! Surface of an asset for the page: vertices split at seams with UVs, colours and normals, the parts and materials of
//! its triangles, and the encoded images of its textures.

use std::sync::Arc;

use dermis::mesh::Object;
use dermis::mesh::glam::{Vec2, Vec4};
use dermis::mesh::layout::{AlphaMode, Image, Layout, Material, Texture};
use serde::Serialize;

use crate::bundle::Bundle;

/// Names of the UV sets in the bundle. Textures of later sets are not drawn.
const UV_SETS: [&str; 2] = ["uv0", "uv1"];

/// Media types of images that browsers decode.
const IMAGE_TYPES: [&str; 3] = ["image/png", "image/jpeg", "image/webp"];

/// Object of the file within a merged asset; its triangles follow those of the part before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct Part {
    pub name: String,
    pub triangles: usize,
}

/// Parts and materials of an asset.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct SurfaceInfo {
    pub parts: Vec<Part>,
    pub materials: Vec<MaterialInfo>,
}

/// Material for the page, with the names of glTF.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct MaterialInfo {
    pub name: String,
    pub base_color: [f32; 4],
    pub metallic: f32,
    pub roughness: f32,
    pub emissive: [f32; 3],
    pub base_color_texture: Option<TextureInfo>,
    pub metallic_roughness_texture: Option<TextureInfo>,
    pub normal_texture: Option<TextureInfo>,
    pub occlusion_texture: Option<TextureInfo>,
    pub emissive_texture: Option<TextureInfo>,
    /// Alpha below which a pixel is invisible.
    pub cutoff: Option<f32>,
    pub is_blended: bool,
}

/// Use of an image, with the constants of `OpenGL`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct TextureInfo {
    /// Index of the image of [`image`].
    pub image: usize,
    pub uv_set: u32,
    pub factor: f32,
    pub wrap_s: u32,
    pub wrap_t: u32,
    pub mag_filter: Option<u32>,
}

/// Parts of an asset that is merged from `objects`.
pub fn parts(objects: &[Object]) -> Vec<Part> {
    objects.iter().map(|object| Part { name: object.name.clone(), triangles: object.mesh.triangle_count() }).collect()
}

/// Describes the materials of `object`; textures with images that browsers cannot decode are skipped.
pub fn surface_info(object: &Object, parts: &[Part]) -> SurfaceInfo {
    let layout = object.mesh.layout();
    let images = layout.map(images).unwrap_or_default();
    let materials = layout.map_or(&[][..], |layout| &layout.materials);
    SurfaceInfo {
        parts: parts.to_vec(),
        materials: materials.iter().map(|material| material_info(material, &images)).collect(),
    }
}

/// Bundle of the vertices of `object`: `vertex_points`, `triangles` over vertices, `triangle_materials`, `normals`,
/// `colors` (RGBA) and the UV sets `uv0` and `uv1`; `None` if the mesh has no layout.
pub fn surface_bundle(object: &Object) -> Option<Vec<u8>> {
    let layout = object.mesh.layout()?;
    let mut bundle = Bundle::default();
    bundle.indices("vertex_points", layout.vertex_points.iter().copied());
    bundle.indices("triangles", layout.triangles.iter().flatten().copied());
    bundle.indices("triangle_materials", layout.triangle_materials.iter().copied());
    bundle.vectors("normals", layout.normals.as_deref().unwrap_or_default());
    bundle.floats("colors", layout.colors.first().into_iter().flatten().flat_map(Vec4::to_array));
    for (name, uvs) in UV_SETS.into_iter().zip(&layout.uvs) {
        bundle.floats(name, uvs.iter().flat_map(Vec2::to_array));
    }
    Some(bundle.into_bytes())
}

/// Media type and bytes of image `index` of `object`.
pub fn image(object: &Object, index: usize) -> Option<(&'static str, Arc<Image>)> {
    let image = Arc::clone(images(object.mesh.layout()?).get(index)?);
    Some((media_type(&image)?, image))
}

fn media_type(image: &Image) -> Option<&'static str> {
    IMAGE_TYPES.into_iter().find(|known| *known == image.mime_type)
}

/// Images of all textures that browsers decode, each once, in the order of their first use.
fn images(layout: &Layout) -> Vec<Arc<Image>> {
    let mut images: Vec<Arc<Image>> = Vec::new();
    for texture in layout.materials.iter().flat_map(textures).flatten() {
        if media_type(&texture.image).is_some() && !images.contains(&texture.image) {
            images.push(Arc::clone(&texture.image));
        }
    }
    images
}

fn textures(material: &Material) -> [&Option<Texture>; 5] {
    let Material { base_color_texture, metallic_roughness_texture, normal_texture, .. } = material;
    let Material { occlusion_texture, emissive_texture, .. } = material;
    [base_color_texture, metallic_roughness_texture, normal_texture, occlusion_texture, emissive_texture]
}

fn material_info(material: &Material, images: &[Arc<Image>]) -> MaterialInfo {
    let [base_color_texture, metallic_roughness_texture, normal_texture, occlusion_texture, emissive_texture] =
        textures(material).map(|texture| texture.as_ref().and_then(|texture| texture_info(texture, images)));
    MaterialInfo {
        name: material.name.clone(),
        base_color: material.base_color,
        metallic: material.metallic,
        roughness: material.roughness,
        emissive: material.emissive,
        base_color_texture,
        metallic_roughness_texture,
        normal_texture,
        occlusion_texture,
        emissive_texture,
        cutoff: match material.alpha_mode {
            AlphaMode::Mask { cutoff } => Some(cutoff),
            AlphaMode::Opaque | AlphaMode::Blend => None,
        },
        is_blended: material.alpha_mode == AlphaMode::Blend,
    }
}

fn texture_info(texture: &Texture, images: &[Arc<Image>]) -> Option<TextureInfo> {
    let Texture { uv_set, factor, sampler, .. } = *texture;
    let image = images.iter().position(|image| *image == texture.image)?;
    let known = (uv_set as usize) < UV_SETS.len();
    known.then_some(TextureInfo {
        image,
        uv_set,
        factor,
        wrap_s: sampler.wrap_s,
        wrap_t: sampler.wrap_t,
        mag_filter: sampler.mag_filter,
    })
}

#[cfg(test)]
mod tests {
    use dermis::mesh::TriMesh;
    use dermis::mesh::glam::{Vec2, Vec3};

    use super::*;

    fn textured(mime_type: &str) -> Object {
        let image = Arc::new(Image { name: "skin".into(), mime_type: mime_type.into(), bytes: vec![1, 2, 3] });
        let texture = Texture { image, uv_set: 0, factor: 1.0, sampler: dermis::mesh::layout::Sampler::default() };
        let material = |name: &str| Material {
            name: name.into(),
            base_color_texture: Some(texture.clone()),
            alpha_mode: AlphaMode::Mask { cutoff: 0.25 },
            ..Material::default()
        };
        let layout = Layout {
            vertex_points: vec![0, 1, 2],
            triangles: vec![[0, 1, 2]],
            uvs: vec![vec![Vec2::ZERO; 3]],
            materials: vec![material("front"), material("back")],
            triangle_materials: vec![1],
            ..Layout::default()
        };
        let mesh = TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]]).unwrap();
        Object::of_mesh("quad", Arc::new(mesh.with_layout(layout).unwrap()))
    }

    #[test]
    fn materials_share_their_images() {
        let object = textured("image/png");
        let info = surface_info(&object, &parts(std::slice::from_ref(&object)));
        let images: Vec<_> = info.materials.iter().map(|m| m.base_color_texture.as_ref().unwrap().image).collect();
        assert_eq!((images, info.materials[0].cutoff), (vec![0, 0], Some(0.25)));
        assert_eq!(info.parts, [Part { name: "quad".into(), triangles: 1 }]);
        assert_eq!(image(&object, 0).map(|(kind, image)| (kind, image.bytes.len())), Some(("image/png", 3)));
        assert!(image(&object, 1).is_none() && surface_bundle(&object).is_some());
    }

    #[test]
    fn images_that_browsers_cannot_decode_are_skipped() {
        let object = textured("image/vnd-ms.dds");
        assert!(surface_info(&object, &[]).materials[0].base_color_texture.is_none());
        assert!(image(&object, 0).is_none());
    }
}
