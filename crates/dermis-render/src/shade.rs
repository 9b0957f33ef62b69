//! Colour of a surface at a location of the picture.
//!
//! The shading is matte reflection for all lights, plus the specular model of Cook & Torrance with the distribution of
//! Trowbridge & Reitz for the key light (Walter et al. 2007). A fraction of the blocked light of the room is replaced
//! by light that the surface itself reflects, so that creases of bright surfaces are not black. Points are moved to the
//! curved surface that the normals describe before their shadows are computed, which removes facets from the border of
//! a shadow (Hanika 2021).

use glam::{Vec2, Vec3};

use crate::camera::Projection;
use crate::color::tone_map;
use crate::light::{Received, Receiver, Studio};
use crate::surface::{Geometry, Opacity, Paint, Place, mixed};

/// Fraction of the blocked light that still arrives after reflection by a white surface.
const INTERREFLECTION: f32 = 0.35;
/// Minimum cosines of the angles between the normals of locations that are assumed to receive the same light.
const SAME_NORMAL: f32 = 0.995;
const SAME_FACING: f32 = 0.9;
/// Reflectance of plastics and skin at normal incidence.
const DIELECTRIC: f32 = 0.04;

/// Lines along the edges of the triangles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Wire {
    /// Width of the lines in pixels.
    pub(crate) width: f32,
    /// Linear colour.
    pub(crate) color: Vec3,
    /// Opacity of the lines.
    pub(crate) opacity: f32,
}

/// Meaning of the colours of a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shading {
    /// Paints with light and shadow.
    #[default]
    Lit,
    /// The direction of the normal in camera space: right is red, up is green, towards the viewer is blue.
    Normals,
}

/// A visible location of a triangle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fragment<'a> {
    place: Place<'a>,
    weights: Vec3,
    position: Vec3,
    /// Normal for the brightness, on the side of the viewer.
    normal: Vec3,
    /// Normal of the triangle, on the side of the viewer.
    facing: Vec3,
    /// Location for shadows.
    lifted: Vec3,
    /// Change of the barycentric coordinates to the next column and the next row; zero without textures and lines.
    changes: [Vec3; 2],
}

/// The triangle of a geometry at a location of the picture; `None` if it is seen exactly edge-on. `has_lines` is true if
/// edges are drawn.
pub(crate) fn fragment<'a>(
    geometry: &Geometry<'a>,
    triangle: u32,
    projection: &Projection,
    pixel: Vec2,
    has_lines: bool,
) -> Option<Fragment<'a>> {
    let corners = geometry.corners(triangle);
    let eye = projection.camera.position;
    let across = (corners[1] - corners[0]).cross(corners[2] - corners[0]);
    let at = |pixel: Vec2| weights_at(corners, across, eye, projection.ray(pixel));
    let weights = at(pixel)?;
    let place = geometry.place(triangle);
    let needs_changes = has_lines || place.paint().is_some_and(|paint| paint.texture.is_some());
    let steps = [Vec2::X, Vec2::Y];
    let change = |step: Vec2| at(pixel + step).map_or(Vec3::ZERO, |next| next - weights);
    let changes = if needs_changes { steps.map(change) } else { [Vec3::ZERO; 2] };
    // The mean of several samples of a pixel can lie outside the triangle.
    let weights = weights.max(Vec3::ZERO);
    let weights = weights / weights.element_sum();
    let position = mixed(corners, weights);
    let side = if across.dot(eye - position) < 0.0 { -1.0 } else { 1.0 };
    let facing = across.normalize_or(Vec3::Y) * side;
    let normals = place.corners().map(|corner| place.surface.normals[corner]);
    // Triangles are two-sided: the normals of one that is seen from behind are reversed.
    let turn = if mixed(normals, weights).dot(facing) < 0.0 { -1.0 } else { 1.0 };
    let normals = normals.map(|normal| normal * turn);
    let normal = mixed(normals, weights).normalize_or(facing);
    let lift = |corner: usize| {
        let above = (position - corners[corner]).dot(normals[corner]);
        position - normals[corner] * above.min(0.0)
    };
    let lifted = mixed([lift(0), lift(1), lift(2)], weights);
    Some(Fragment { place, weights, position, normal, facing, lifted, changes })
}

/// Barycentric coordinates of the intersection of a ray with the plane of a triangle.
fn weights_at([a, b, c]: [Vec3; 3], across: Vec3, eye: Vec3, ray: Vec3) -> Option<Vec3> {
    let (towards, double) = (across.dot(ray), across.length_squared());
    let distance = across.dot(a - eye) / towards;
    let point = eye + ray * distance;
    let second = (a - c).cross(point - c).dot(across) / double;
    let third = (b - a).cross(point - a).dot(across) / double;
    let weights = Vec3::new(1.0 - second - third, second, third);
    weights.is_finite().then_some(weights)
}

impl Fragment<'_> {
    pub(crate) fn receiver(&self) -> Receiver {
        Receiver { position: self.lifted, normal: self.normal, facing: self.facing }
    }

    /// Returns whether both locations are on the same part of a surface, so that they receive the same light.
    pub(crate) fn is_lit_like(&self, other: &Self, projection: &Projection) -> bool {
        let near = projection.pixel_extent(self.position);
        let is_near = self.position.distance_squared(other.position) <= near * near;
        is_near && self.normal.dot(other.normal) > SAME_NORMAL && self.facing.dot(other.facing) > SAME_FACING
    }

    /// Linear colour and opacity of the paint.
    fn base(&self, paint: &Paint) -> [f32; 4] {
        base_color(self.place, paint, self.weights, self.changes)
    }

    /// Displayed colour, linear.
    pub(crate) fn color(&self, studio: &Studio, light: &Received, projection: &Projection, shading: Shading) -> Vec3 {
        let camera = &projection.camera;
        if shading == Shading::Normals {
            let seen =
                Vec3::new(self.normal.dot(camera.right), self.normal.dot(camera.up), self.normal.dot(camera.back));
            return (0.5 * seen + 0.5).map(crate::color::decode_srgb);
        }
        let plain = Paint::default();
        let paint = self.place.paint().unwrap_or(&plain);
        let [r, g, b, _] = self.base(paint);
        let base = Vec3::new(r, g, b);
        if paint.is_unlit {
            return base;
        }
        let to_eye = (camera.position - self.position).normalize_or(camera.back);
        let matte = base * (1.0 - paint.metallic);
        let diffuse = matte * (light.key + light.room + base * (light.blocked * INTERREFLECTION));
        let shine = Vec3::splat(DIELECTRIC).lerp(base, paint.metallic);
        let room = light.room.element_sum() / 3.0;
        let open = room / (room + light.blocked).max(1e-6);
        let specular = self.reflection(studio, light, to_eye, shine, paint.roughness.clamp(0.06, 1.0), open);
        let color = diffuse + specular + Vec3::from(paint.emissive);
        Vec3::from(tone_map(color.into()))
    }

    fn reflection(
        &self,
        studio: &Studio,
        light: &Received,
        to_eye: Vec3,
        shine: Vec3,
        roughness: f32,
        open: f32,
    ) -> Vec3 {
        let fresnel =
            |cosine: f32, limit: Vec3| shine + (limit - shine).max(Vec3::ZERO) * (1.0 - cosine).clamp(0.0, 1.0).powi(5);
        let seen = self.normal.dot(to_eye).clamp(0.05, 1.0);
        let mirrored = self.normal * (2.0 * self.normal.dot(to_eye)) - to_eye;
        let limit = shine.max(Vec3::splat((1.0 - roughness) * (1.0 - roughness)));
        let room = studio.reflection(mirrored, roughness) * fresnel(seen, limit) * open;
        let to_light = studio.key_direction();
        let half = (to_light + to_eye).normalize_or(self.normal);
        let (lit, top) = (self.normal.dot(to_light), self.normal.dot(half));
        if lit <= 0.0 || top <= 0.0 {
            return room;
        }
        // The key light has an extent, which widens the highlight.
        let alpha = (roughness * roughness + 0.06).min(1.0);
        let squared = alpha * alpha;
        let spread = top * top * (squared - 1.0) + 1.0;
        let distribution = squared / (std::f32::consts::PI * spread * spread);
        let k = 0.5 * alpha;
        let masking = 1.0 / ((lit * (1.0 - k) + k) * (seen * (1.0 - k) + k));
        // The key light is stored as the light of a white matte surface, which is its irradiance over π.
        let key = light.key * std::f32::consts::PI / lit.max(0.05);
        room + key * lit * fresnel(half.dot(to_eye), Vec3::ONE) * (0.25 * distribution * masking)
    }

    /// `color` with the lines of the edges.
    pub(crate) fn with_wire(&self, color: Vec3, wire: &Wire) -> Vec3 {
        let mut strongest = 0f32;
        for edge in (0..3).filter(|&edge| self.place.draws_edge(edge)) {
            let opposite = (edge + 2) % 3;
            // The weight of the opposite corner grows linearly with the distance from the edge.
            let slope = Vec2::new(self.changes[0][opposite], self.changes[1][opposite]).length().max(1e-12);
            let distance = self.weights[opposite] / slope;
            let line = (0.5 * wire.width + 0.5 - distance).clamp(0.0, 1.0);
            // Lines of small triangles fade, since they would cover the surface.
            let height = 1.0 / slope;
            strongest = strongest.max(line * (height / (6.0 * wire.width)).min(1.0));
        }
        color.lerp(wire.color, strongest * wire.opacity)
    }

    /// Colour of an object that is drawn over everything else, brightest if it faces the viewer.
    pub(crate) fn overlay_color(&self, projection: &Projection) -> Vec3 {
        let [r, g, b, _] = self.place.paint().map_or([1.0; 4], |paint| self.base(paint));
        let camera = &projection.camera;
        let toward = (camera.back + 0.7 * camera.up - 0.4 * camera.right).normalize();
        Vec3::new(r, g, b) * (0.45 + 0.65 * self.facing.dot(toward).max(0.0))
    }
}

fn base_color(place: Place<'_>, paint: &Paint, weights: Vec3, changes: [Vec3; 2]) -> [f32; 4] {
    let vertex = place.vertex_color(weights);
    let sampled = paint.texture.as_ref().and_then(|texture| {
        let uv = place.uv(texture.uv_set, weights)?;
        let step = |change: Vec3| Some(place.uv(texture.uv_set, weights + change)? - uv);
        let footprint = step(changes[0])?.abs().max(step(changes[1])?.abs());
        Some(texture.texture.sample(uv, footprint, texture.wrap))
    });
    let texture = sampled.unwrap_or([1.0; 4]);
    std::array::from_fn(|channel| paint.color[channel] * vertex[channel] * texture[channel])
}

/// Samples of a pixel, as bits, that a triangle with opacity covers.
pub(crate) fn coverage(geometry: &Geometry<'_>, triangle: u32, projection: &Projection, pixel: [usize; 2]) -> u32 {
    let place = geometry.place(triangle);
    let Some(paint) = place.paint().filter(|paint| paint.opacity != Opacity::Opaque) else { return u32::MAX };
    let middle = Vec2::new(pixel[0] as f32 + 0.5, pixel[1] as f32 + 0.5);
    let Some(fragment) = fragment(geometry, triangle, projection, middle, false) else { return 0 };
    let opacity = fragment.base(paint)[3];
    match paint.opacity {
        Opacity::Mask(least) => {
            if opacity >= least {
                u32::MAX
            } else {
                0
            }
        }
        Opacity::Opaque => u32::MAX,
        Opacity::Blend => {
            let count = (opacity.clamp(0.0, 1.0) * crate::raster::SAMPLES as f32).round() as u32;
            let first = ((1u64 << count) - 1) as u32;
            // Transparent surfaces behind each other cover different samples.
            let turn = (triangle.wrapping_mul(0x9e37_79b9) >> 28) % crate::raster::SAMPLES as u32;
            (first << turn | first >> (crate::raster::SAMPLES as u32 - turn).min(31)) & 0xffff
        }
    }
}
