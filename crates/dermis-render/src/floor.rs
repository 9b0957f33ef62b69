//! The floor: a surface without a colour of its own, on which only shadows are visible. They fade with the distance.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::camera::Projection;
use crate::light::{Receiver, Studio};

/// Texels per side of the map of the shadows.
const SIZE: usize = 320;
/// Half of the side of the map, in radii of the shape.
const REACH: f32 = 2.4;
/// Fraction of the map from its centre at which the shadows begin to fade.
const FADE: f32 = 0.42;
/// Passes of the blur of the room's shadows, each over three texels.
const BLUR_PASSES: usize = 20;
/// Passes of the blur of the shadow of the key light, which hides the steps between its lights.
const KEY_BLUR_PASSES: usize = 2;
/// Fraction of the blocked light that is missing; the remainder is replaced by light from the surroundings.
const STRENGTH: f32 = 0.9;

/// Shadows on a horizontal plane.
#[derive(Debug)]
pub(crate) struct Floor {
    height: f32,
    corner: Vec2,
    texel: f32,
    /// Fraction of the light that arrives.
    light: Vec<f32>,
}

impl Floor {
    /// The floor at `height` below the points.
    pub(crate) fn new(height: f32, studio: &Studio, positions: &[Vec3]) -> Self {
        let (low, high) = dermis_mesh::tri_mesh::bounds(positions);
        let middle = 0.5 * (low + high);
        let reach = REACH * 0.5 * (high - low).length().max(f32::MIN_POSITIVE);
        let corner = Vec2::new(middle.x - reach, middle.z - reach);
        let texel = 2.0 * reach / SIZE as f32;
        let row = |row: usize| {
            let at = |column: usize| {
                let at = corner + texel * Vec2::new(column as f32 + 0.5, row as f32 + 0.5);
                Receiver { position: Vec3::new(at.x, height, at.y), normal: Vec3::Y, facing: Vec3::Y }
            };
            let receivers: Vec<Receiver> = (0..SIZE).map(at).collect();
            let part = |light: Vec3| light.element_sum();
            studio.receive(&receivers).iter().map(|light| [part(light.key), part(light.room)]).collect()
        };
        let rows: Vec<Vec<[f32; 2]>> = (0..SIZE).into_par_iter().map(row).collect();
        // The corners of the map are not in the shadow of the room's lights, and at least one is not in that of the key
        // light.
        let all = rows.iter().flatten();
        let full = all.fold([0f32; 2], |full, light| [full[0].max(light[0]), full[1].max(light[1])]);
        let mut key: Vec<f32> = rows.iter().flatten().map(|light| light[0]).collect();
        let mut room: Vec<f32> = rows.iter().flatten().map(|light| light[1]).collect();
        for _ in 0..BLUR_PASSES {
            room = blurred(&blurred(&room, 1), SIZE);
        }
        for _ in 0..KEY_BLUR_PASSES {
            key = blurred(&blurred(&key, 1), SIZE);
        }
        let total = (full[0] + full[1]).max(f32::MIN_POSITIVE);
        let light = key.iter().zip(&room).map(|(key, room)| ((key + room) / total).min(1.0)).collect();
        Self { height, corner, texel, light }
    }

    /// Fraction of the light at the floor behind a pixel; 1 if the ray misses the floor.
    pub(crate) fn light(&self, projection: &Projection, pixel: Vec2) -> f32 {
        let (ray, eye) = (projection.ray(pixel), projection.camera.position);
        let distance = (self.height - eye.y) / ray.y;
        if !(distance > 0.0 && eye.y > self.height) {
            return 1.0;
        }
        let at = eye + ray * distance;
        let at = (Vec2::new(at.x, at.z) - self.corner) / self.texel - 0.5;
        let middle = 0.5 * (SIZE as f32 - 1.0);
        let from_center = (at - middle).length() / middle;
        let fade = 1.0 - smooth((from_center - FADE) / (1.0 - FADE));
        let last = (SIZE - 2) as f32;
        if fade <= 0.0 || !(at.min_element() >= 0.0 && at.max_element() <= last) {
            return 1.0;
        }
        let (column, row) = (at.x as usize, at.y as usize);
        let part = Vec2::new(at.x.fract(), at.y.fract());
        let texel = |column: usize, row: usize| self.light[row * SIZE + column];
        let line = |row: usize| texel(column, row) * (1.0 - part.x) + texel(column + 1, row) * part.x;
        let light = line(row) * (1.0 - part.y) + line(row + 1) * part.y;
        1.0 - (1.0 - light) * fade * STRENGTH
    }
}

/// Mean over three texels in the direction of `step`.
fn blurred(values: &[f32], step: usize) -> Vec<f32> {
    let last = values.len() - 1;
    let mean =
        |at: usize| 0.25 * values[at.saturating_sub(step)] + 0.5 * values[at] + 0.25 * values[(at + step).min(last)];
    (0..values.len()).map(mean).collect()
}

/// Smooth transition from 0 to 1.
pub(crate) fn smooth(at: f32) -> f32 {
    let at = at.clamp(0.0, 1.0);
    at * at * (3.0 - 2.0 * at)
}
