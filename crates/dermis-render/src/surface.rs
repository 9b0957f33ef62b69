//! Surfaces to draw: triangles over vertices, with paints.

use std::sync::Arc;

use glam::{Vec2, Vec3};

use crate::texture::{Texture, Wrap};

/// Parts of a surface that do not change over time.
#[derive(Debug, Clone, Default)]
pub struct Topology {
    /// Triangles, as vertex indices.
    pub triangles: Vec<[u32; 3]>,
    /// UV sets, per vertex; the origin is the upper left corner of the image.
    pub uvs: Vec<Vec<Vec2>>,
    /// Paints of the triangles.
    pub paints: Vec<Paint>,
    /// Paint of each triangle, as an index into `paints`; empty if all have the first one.
    pub triangle_paints: Vec<u32>,
    /// Edges of each triangle that a wireframe shows, as bits: bit k is the edge from corner k to the next. Empty: all.
    pub drawn_edges: Vec<u8>,
}

/// A surface at one time, in scene space with Y up.
#[derive(Debug, Clone, Default)]
pub struct Surface {
    /// Triangles and paints.
    pub topology: Arc<Topology>,
    /// Position of each vertex.
    pub positions: Vec<Vec3>,
    /// Unit normal of each vertex.
    pub normals: Vec<Vec3>,
    /// Linear colour and opacity of each vertex, by which the paint is multiplied; empty: white.
    pub colors: Vec<[f32; 4]>,
}

/// Appearance of a triangle: the core of glTF's metallic–roughness model.
#[derive(Debug, Clone)]
pub struct Paint {
    /// Linear colour and opacity.
    pub color: [f32; 4],
    /// Texture by which the colour is multiplied.
    pub texture: Option<PaintTexture>,
    /// 0 for plastics and skin, 1 for metals.
    pub metallic: f32,
    /// 0 for mirrors, 1 for chalk.
    pub roughness: f32,
    /// Linear colour of emitted light.
    pub emissive: [f32; 3],
    /// Use of the opacity.
    pub opacity: Opacity,
    /// The colour is drawn unlit.
    pub is_unlit: bool,
}

impl Default for Paint {
    /// Opaque white, without texture.
    fn default() -> Self {
        let (color, emissive) = ([1.0; 4], [0.0; 3]);
        let (metallic, roughness, opacity) = (0.0, 0.6, Opacity::Opaque);
        Self { color, texture: None, metallic, roughness, emissive, opacity, is_unlit: false }
    }
}

/// A texture of a paint.
#[derive(Debug, Clone)]
pub struct PaintTexture {
    /// The image.
    pub texture: Arc<Texture>,
    /// Index of the UV set.
    pub uv_set: usize,
    /// Continuation outside of the image, horizontally and vertically.
    pub wrap: [Wrap; 2],
}

/// Use of the opacity of a paint.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Opacity {
    /// The opacity is ignored.
    #[default]
    Opaque,
    /// Visible if the opacity is at least this threshold.
    Mask(f32),
    /// The opacity is the fraction of the samples of a pixel that are covered.
    Blend,
}

/// All surfaces of a panel in shared arrays.
#[derive(Debug, Default)]
pub(crate) struct Geometry<'a> {
    pub(crate) surfaces: Vec<&'a Surface>,
    pub(crate) positions: Vec<Vec3>,
    pub(crate) triangles: Vec<[u32; 3]>,
    /// First triangle and first vertex of each surface.
    starts: Vec<[u32; 2]>,
}

/// A triangle of a surface.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) surface: &'a Surface,
    pub(crate) triangle: usize,
}

impl<'a> Geometry<'a> {
    pub(crate) fn new(surfaces: &'a [Surface]) -> Self {
        let mut all = Self::default();
        for surface in surfaces {
            let first = all.positions.len() as u32;
            all.starts.push([all.triangles.len() as u32, first]);
            all.positions.extend_from_slice(&surface.positions);
            all.triangles.extend(surface.topology.triangles.iter().map(|corners| corners.map(|corner| corner + first)));
            all.surfaces.push(surface);
        }
        all
    }

    /// The surface of a triangle of the arrays, and its index in the surface.
    pub(crate) fn place(&self, triangle: u32) -> Place<'a> {
        let surface = self.starts.partition_point(|start| start[0] <= triangle) - 1;
        Place { surface: self.surfaces[surface], triangle: (triangle - self.starts[surface][0]) as usize }
    }

    pub(crate) fn corners(&self, triangle: u32) -> [Vec3; 3] {
        self.triangles[triangle as usize].map(|corner| self.positions[corner as usize])
    }
}

impl<'a> Place<'a> {
    pub(crate) fn corners(self) -> [usize; 3] {
        self.surface.topology.triangles[self.triangle].map(|corner| corner as usize)
    }

    pub(crate) fn paint(self) -> Option<&'a Paint> {
        let topology = &self.surface.topology;
        let paint = topology.triangle_paints.get(self.triangle).copied().unwrap_or(0);
        topology.paints.get(paint as usize)
    }

    /// Texture coordinates at the barycentric coordinates `weights`.
    pub(crate) fn uv(self, set: usize, weights: Vec3) -> Option<Vec2> {
        let uvs = self.surface.topology.uvs.get(set)?;
        Some(mixed(self.corners().map(|corner| uvs[corner]), weights))
    }

    /// Linear colour and opacity of the vertices.
    pub(crate) fn vertex_color(self, weights: Vec3) -> [f32; 4] {
        if self.surface.colors.is_empty() {
            return [1.0; 4];
        }
        let corners = self.corners().map(|corner| self.surface.colors[corner]);
        std::array::from_fn(|channel| weights.dot(Vec3::from(corners.map(|color| color[channel]))))
    }

    pub(crate) fn draws_edge(self, edge: usize) -> bool {
        self.surface.topology.drawn_edges.get(self.triangle).is_none_or(|bits| bits >> edge & 1 == 1)
    }
}

/// Mean of three values with weights.
pub(crate) fn mixed<T: std::ops::Mul<f32, Output = T> + std::ops::Add<Output = T>>(
    [a, b, c]: [T; 3],
    weights: Vec3,
) -> T {
    a * weights.x + b * weights.y + c * weights.z
}

/// Checks that all lists of a surface have the same length and all indices are valid.
///
/// # Panics
/// If the check fails: surfaces are made by programs, not read from files.
pub(crate) fn expect_valid(surface: &Surface) {
    let (count, topology) = (surface.positions.len(), &surface.topology);
    assert_eq!(surface.normals.len(), count, "a surface has a normal per vertex");
    assert!(surface.colors.is_empty() || surface.colors.len() == count, "a surface has a colour per vertex, or none");
    assert!(topology.uvs.iter().all(|uvs| uvs.len() == count), "a surface has a UV per vertex");
    let is_valid = |corners: &[u32; 3]| corners.iter().all(|&corner| (corner as usize) < count);
    assert!(topology.triangles.iter().all(is_valid), "triangles refer to vertices of the surface");
}
