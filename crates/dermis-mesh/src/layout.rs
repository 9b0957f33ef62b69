//! Surface layout of a file: vertices split at seams, polygons, normals, UVs, colours and materials.
//!
//! Shape and motion do not depend on it; it is preserved so that a file round-trips without loss.

use std::sync::Arc;

use glam::{Vec2, Vec3, Vec4};

use crate::mesh_error::{MeshError, check_indices, expect_count, expect_indexable};
use crate::polygon_list::Polygons;

/// Vertices, polygons and surface attributes. All per-vertex arrays are as long as `vertex_points`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layout {
    /// Point of each vertex.
    pub vertex_points: Vec<u32>,
    /// Triangles of the mesh, in the same order, as vertex indices.
    pub triangles: Vec<[u32; 3]>,
    /// Polygons that were split into the triangles, as vertex indices; `None` if all are triangles.
    pub polygons: Option<Polygons>,
    /// Unit normals of the rest pose, per vertex.
    pub normals: Option<Vec<Vec3>>,
    /// Tangents of the rest pose, per vertex; `w` is the sign of the bitangent, as in glTF.
    pub tangents: Option<Vec<Vec4>>,
    /// UV sets, per vertex; the origin is the upper left corner of the image, as in glTF.
    pub uvs: Vec<Vec<Vec2>>,
    /// Linear RGBA colour sets, per vertex.
    pub colors: Vec<Vec<Vec4>>,
    /// Materials of the triangles.
    pub materials: Vec<Material>,
    /// Material of each triangle, as an index into `materials`; empty if there are none.
    pub triangle_materials: Vec<u32>,
}

/// A surface material: the core of glTF's metallic–roughness model.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the fields and their names are those of glTF")]
pub struct Material {
    pub name: String,
    pub base_color: [f32; 4],
    pub metallic: f32,
    pub roughness: f32,
    pub emissive: [f32; 3],
    pub base_color_texture: Option<Texture>,
    pub metallic_roughness_texture: Option<Texture>,
    /// The factor is the `scale` of the texture.
    pub normal_texture: Option<Texture>,
    /// The factor is the `strength` of the texture.
    pub occlusion_texture: Option<Texture>,
    pub emissive_texture: Option<Texture>,
    pub alpha_mode: AlphaMode,
    pub double_sided: bool,
}

impl Default for Material {
    /// Matte light grey, which shows shape well and is visible without an environment map.
    fn default() -> Self {
        Self {
            name: String::new(),
            base_color: [0.8, 0.8, 0.8, 1.0],
            metallic: 0.0,
            roughness: 0.8,
            emissive: [0.0; 3],
            base_color_texture: None,
            metallic_roughness_texture: None,
            normal_texture: None,
            occlusion_texture: None,
            emissive_texture: None,
            alpha_mode: AlphaMode::Opaque,
            double_sided: false,
        }
    }
}

/// Interpretation of the alpha channel of a material.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum AlphaMode {
    /// Alpha is ignored.
    #[default]
    Opaque,
    /// Opaque if alpha is at least the cutoff, otherwise invisible.
    Mask {
        /// Alpha threshold.
        cutoff: f32,
    },
    /// Blended over the background.
    Blend,
}

/// Use of an image by a material.
#[derive(Debug, Clone, PartialEq)]
pub struct Texture {
    /// The image, shared between materials.
    pub image: Arc<Image>,
    /// Index of the UV set.
    pub uv_set: u32,
    /// Multiplier of the texture's values; used by normal and occlusion textures only.
    pub factor: f32,
    /// Wrapping and filtering.
    pub sampler: Sampler,
}

/// Wrapping and filtering of a texture, as the `OpenGL` constants stored by glTF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields and their names are those of glTF")]
pub struct Sampler {
    pub mag_filter: Option<u32>,
    pub min_filter: Option<u32>,
    pub wrap_s: u32,
    pub wrap_t: u32,
}

impl Default for Sampler {
    fn default() -> Self {
        const REPEAT: u32 = 10497;
        Self { mag_filter: None, min_filter: None, wrap_s: REPEAT, wrap_t: REPEAT }
    }
}

/// An encoded image, passed through without decoding.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Image {
    /// Name or file name of the image.
    pub name: String,
    /// MIME type: `image/png`, `image/jpeg`, …
    pub mime_type: String,
    /// Encoded bytes.
    pub bytes: Vec<u8>,
}

impl Layout {
    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.vertex_points.len()
    }

    /// Expands `values` per point to values per vertex.
    pub fn split<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.vertex_points.iter().map(|&point| values[point as usize]).collect()
    }

    /// Checks the layout of a mesh of `points` points with `triangles` over them.
    pub(crate) fn check(&self, points: usize, triangles: &[[u32; 3]]) -> Result<(), MeshError> {
        let vertices = self.vertex_count();
        expect_indexable("vertices", vertices)?;
        for (index, &target) in self.vertex_points.iter().enumerate() {
            if target as usize >= points {
                let (target, count) = (target as usize, points);
                return Err(MeshError::IndexOutOfRange { element: "vertex", index, kind: "point", target, count });
            }
        }
        expect_count("layout triangles", self.triangles.len(), triangles.len())?;
        check_indices("triangle", "vertex", &self.triangles, vertices)?;
        for (triangle, (over_vertices, over_points)) in self.triangles.iter().zip(triangles).enumerate() {
            if over_vertices.map(|vertex| self.vertex_points[vertex as usize]) != *over_points {
                return Err(MeshError::LayoutMismatch { triangle });
            }
        }
        if let Some(polygons) = &self.polygons {
            polygons.check(vertices)?;
            expect_count("triangles of the polygons", polygons.triangle_count(), triangles.len())?;
        }
        if let Some(normals) = &self.normals {
            expect_count("normals", normals.len(), vertices)?;
        }
        if let Some(tangents) = &self.tangents {
            expect_count("tangents", tangents.len(), vertices)?;
        }
        for uvs in &self.uvs {
            expect_count("UVs", uvs.len(), vertices)?;
        }
        for colors in &self.colors {
            expect_count("colours", colors.len(), vertices)?;
        }
        if !self.triangle_materials.is_empty() {
            expect_count("triangle materials", self.triangle_materials.len(), triangles.len())?;
        }
        let count = self.materials.len();
        for (index, &target) in self.triangle_materials.iter().enumerate() {
            if target as usize >= count {
                let (element, kind, target) = ("material of triangle", "material", target as usize);
                return Err(MeshError::IndexOutOfRange { element, index, kind, target, count });
            }
        }
        Ok(())
    }
}
