//! A photo studio: a key light, a rim light and a bright room, all with shadows.
//!
//! The lighting is a sum of distant lights, each with a depth map. The room consists of [`ROOM_LIGHTS`] lights at the
//! points of a Fibonacci lattice on the sphere (Swinbank & Purser 2006), whose radiance depends on the direction;
//! together, their shadows approximate ambient occlusion. The key light consists of [`KEY_LIGHTS`] lights in a cone,
//! which give its shadow a penumbra. A white matte surface reflects `Σ Lᵢ (n · lᵢ) Vᵢ`, with the visibility `V` from
//! the maps.

use glam::{Mat3, Vec3};
use rayon::prelude::*;

use crate::camera::Camera;
use crate::depth_map::{DepthMap, Lookup};

/// Number of lights of the room.
const ROOM_LIGHTS: usize = 96;
/// Number of lights of the key light.
const KEY_LIGHTS: usize = 20;
/// Texels per side of the depth maps.
const ROOM_MAP: usize = 256;
const KEY_MAP: usize = 640;
/// Half of the angle of the cone of the key light.
const KEY_RADIUS_DEGREES: f32 = 6.0;
/// Direction of the key light: right, up and towards the viewer.
const KEY: Vec3 = Vec3::new(-0.48, 1.1, 0.74);
/// Light of the key light on a surface that faces it.
const KEY_LIGHT: Vec3 = Vec3::new(0.86, 0.825, 0.765);
/// Direction of the rim light, which separates the shape from the backdrop.
const RIM: Vec3 = Vec3::new(0.85, 0.55, -0.75);
/// Radiance of the parts of the room.
const ZENITH: Vec3 = Vec3::new(0.40, 0.43, 0.48);
const HORIZON: Vec3 = Vec3::new(0.28, 0.30, 0.335);
const GROUND: Vec3 = Vec3::new(0.225, 0.215, 0.20);
const RIM_LIGHT: Vec3 = Vec3::new(1.5, 1.55, 1.65);
const FILL_LIGHT: Vec3 = Vec3::new(0.28, 0.30, 0.33);
/// Length by which points are moved off the surface before a lookup, in texels.
const BIAS: f32 = 1.6;
/// Points per block.
const BLOCK: usize = 128;

/// A distant light.
#[derive(Debug)]
struct Light {
    direction: Vec3,
    /// Reflected light of a white matte surface that faces it.
    color: Vec3,
    /// Mean of the colours.
    brightness: f32,
    is_key: bool,
    map: DepthMap,
}

/// All lights of a picture.
#[derive(Debug)]
pub(crate) struct Studio {
    lights: Vec<Light>,
    /// Right, up and towards the viewer.
    axes: Mat3,
}

/// A point that receives light.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    pub(crate) position: Vec3,
    /// Normal for the brightness.
    pub(crate) normal: Vec3,
    /// Normal of the triangle, on the side of the viewer.
    pub(crate) facing: Vec3,
}

/// Light that arrives at a point, as reflected by a white matte surface.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Received {
    pub(crate) key: Vec3,
    pub(crate) room: Vec3,
    /// Light of the room that is blocked: the mean of the colours.
    pub(crate) blocked: f32,
}

/// Coordinates of several receivers, one list per coordinate, which the compiler vectorizes.
#[derive(Debug)]
struct Block {
    positions: [[f32; BLOCK]; 3],
    normals: [[f32; BLOCK]; 3],
    facings: [[f32; BLOCK]; 3],
}

impl Block {
    fn new(receivers: &[Receiver]) -> Self {
        let zero = [[0f32; BLOCK]; 3];
        let mut block = Self { positions: zero, normals: zero, facings: zero };
        for (at, receiver) in receivers.iter().enumerate() {
            for axis in 0..3 {
                block.positions[axis][at] = receiver.position[axis];
                block.normals[axis][at] = receiver.normal[axis];
                block.facings[axis][at] = receiver.facing[axis];
            }
        }
        block
    }

    /// Cosines of the angles between the normals and the light.
    fn cosines(&self, light: Vec3, cosines: &mut [f32; BLOCK]) {
        let [x, y, z] = &self.normals;
        for at in 0..BLOCK {
            cosines[at] = x[at] * light.x + y[at] * light.y + z[at] * light.z;
        }
    }

    /// Locations of the points in the map of a light.
    fn locate(&self, light: Vec3, bias: f32, lookup: &Lookup, located: &mut [[f32; BLOCK]; 3]) {
        let ([px, py, pz], [fx, fy, fz]) = (&self.positions, &self.facings);
        for at in 0..BLOCK {
            // If the light is grazing, a texel spans more depth, so the point is moved farther off the surface.
            let slope = 1.0 - (fx[at] * light.x + fy[at] * light.y + fz[at] * light.z).clamp(0.0, 1.0);
            let lift = bias * (0.6 + slope);
            let point = Vec3::new(px[at] + fx[at] * lift, py[at] + fy[at] * lift, pz[at] + fz[at] * lift);
            [located[0][at], located[1][at], located[2][at]] = lookup.at(point);
        }
    }
}

impl Received {
    fn add(&mut self, light: &Light, cosine: f32, visibility: f32) {
        if light.is_key {
            self.key += light.color * (cosine * visibility);
        } else {
            self.room += light.color * (cosine * visibility);
            self.blocked += light.brightness * cosine * (1.0 - visibility);
        }
    }
}

impl Studio {
    /// Lights around the triangles. They rotate with the camera.
    pub(crate) fn new(camera: &Camera, positions: &[Vec3], triangles: &[[u32; 3]]) -> Self {
        let right = Vec3::new(camera.right.x, 0.0, camera.right.z).normalize_or(Vec3::X);
        let axes = Mat3::from_cols(right, Vec3::Y, right.cross(Vec3::Y));
        let (low, high) = dermis_mesh::tri_mesh::bounds(positions);
        let sphere = (0.5 * (low + high), 0.5 * (high - low).length());
        let weight = 4.0 / ROOM_LIGHTS as f32;
        let room = lattice(ROOM_LIGHTS).map(|at| (at, radiance(at) * weight, false));
        let key =
            cone(KEY.normalize(), KEY_RADIUS_DEGREES, KEY_LIGHTS).map(|at| (at, KEY_LIGHT / KEY_LIGHTS as f32, true));
        let lights: Vec<(Vec3, Vec3, bool)> = room.chain(key).collect();
        let light = |&(direction, color, is_key): &(Vec3, Vec3, bool)| {
            let direction = (axes * direction).normalize();
            let size = if is_key { KEY_MAP } else { ROOM_MAP };
            let map = DepthMap::new(direction, size, sphere, positions, triangles);
            Light { direction, color, brightness: color.element_sum() / 3.0, is_key, map }
        };
        Self { lights: lights.par_iter().map(light).collect(), axes }
    }

    /// Light at each of the points.
    pub(crate) fn receive(&self, receivers: &[Receiver]) -> Vec<Received> {
        let blocks: Vec<Block> = receivers.chunks(BLOCK).map(Block::new).collect();
        let mut received = vec![Received::default(); receivers.len()];
        let mut cosines = [0f32; BLOCK];
        let mut located = [[0f32; BLOCK]; 3];
        // Neighbouring points read neighbouring texels, so the maps are visited one after the other. Most blocks are on
        // one side of a surface, so about half of the lights cannot reach them.
        for light in &self.lights {
            let lookup = light.map.lookup();
            for (block, received) in blocks.iter().zip(received.chunks_mut(BLOCK)) {
                block.cosines(light.direction, &mut cosines);
                if cosines.iter().all(|cosine| *cosine <= 0.0) {
                    continue;
                }
                block.locate(light.direction, BIAS * light.map.texel, &lookup, &mut located);
                for (at, received) in received.iter_mut().enumerate() {
                    if cosines[at] > 0.0 {
                        let visibility = light.map.visibility([located[0][at], located[1][at], located[2][at]]);
                        received.add(light, cosines[at], visibility);
                    }
                }
            }
        }
        received
    }

    /// Direction of the middle of the key light.
    pub(crate) fn key_direction(&self) -> Vec3 {
        self.axes * KEY.normalize()
    }

    /// Light of the room that a mirror reflects from `direction`; `blur` is 0 for a mirror and 1 for a matte surface.
    pub(crate) fn reflection(&self, direction: Vec3, blur: f32) -> Vec3 {
        let direction = self.axes.transpose() * direction;
        let mean = HORIZON.lerp(ZENITH, 0.5 + 0.5 * direction.y);
        radiance(direction).lerp(mean, blur)
    }
}

/// Radiance of the room from a direction in the axes of the studio.
fn radiance(direction: Vec3) -> Vec3 {
    let up = direction.y;
    let sky = HORIZON.lerp(ZENITH, up.max(0.0).sqrt());
    let base = if up >= 0.0 { sky } else { HORIZON.lerp(GROUND, (-3.0 * up).min(1.0)) };
    let lobe = |toward: Vec3, sharpness: f32| (sharpness * (direction.dot(toward.normalize()) - 1.0)).exp();
    base + RIM_LIGHT * lobe(RIM, 9.0) + FILL_LIGHT * lobe(Vec3::new(0.7, 0.25, 0.8), 4.0)
}

/// Directions that cover the sphere evenly.
fn lattice(count: usize) -> impl Iterator<Item = Vec3> {
    let golden = std::f32::consts::PI * (3.0 - 5f32.sqrt());
    (0..count).map(move |at| {
        let y = 1.0 - (2.0 * at as f32 + 1.0) / count as f32;
        let (sin, cos) = (golden * at as f32).sin_cos();
        let radius = (1.0 - y * y).sqrt();
        Vec3::new(radius * cos, y, radius * sin)
    })
}

/// Directions that cover a cone evenly.
fn cone(axis: Vec3, degrees: f32, count: usize) -> impl Iterator<Item = Vec3> {
    let golden = std::f32::consts::PI * (3.0 - 5f32.sqrt());
    let (u, v) = axis.any_orthonormal_pair();
    (0..count).map(move |at| {
        let radius = degrees.to_radians().tan() * ((at as f32 + 0.5) / count as f32).sqrt();
        let (sin, cos) = (golden * at as f32).sin_cos();
        (axis + (u * cos + v * sin) * radius).normalize()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::{Framing, View};

    #[test]
    fn the_lattice_integrates_the_cosine() {
        let total: f32 = lattice(ROOM_LIGHTS).map(|at| at.dot(Vec3::Y).max(0.0) * 4.0 / ROOM_LIGHTS as f32).sum();
        assert!((total - 1.0).abs() < 0.01, "{total}");
    }

    #[test]
    fn a_point_under_a_roof_receives_less_light() {
        let roof = [[-1.0, 1.0, -1.0], [1.0, 1.0, -1.0], [1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]].map(Vec3::from);
        let camera = Framing::new(View::default(), [8, 8]).camera();
        let studio = Studio::new(&camera, &roof, &[[0, 1, 2], [0, 2, 3]]);
        let at = |position| Receiver { position, normal: Vec3::Y, facing: Vec3::Y };
        let [below, above] = studio.receive(&[at(Vec3::new(0.0, 0.8, 0.0)), at(Vec3::new(0.0, 1.2, 0.0))])[..] else {
            panic!("two points");
        };
        assert!(below.room.y < 0.3 * above.room.y && below.key == Vec3::ZERO && above.key.y > 0.5);
        assert_eq!(above.blocked, 0.0);
    }
}
