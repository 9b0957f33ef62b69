//! Perspective cameras that frame a shape.
//!
//! The camera looks along a direction and is placed as near as possible so that all points are in the picture. In the
//! camera's axes, with `z` towards the viewer and tangents `t` of half the angle of view, a camera at `c` sees the point
//! `p` if `±(pₓ − cₓ) ≤ tₓ (c_z − p_z)`. With `A = max(pₓ + tₓ p_z)` and `B = max(−pₓ + tₓ p_z)` over all points, the
//! nearest camera has `cₓ = (A − B) / 2` and `c_z = (A + B) / (2 tₓ)`; the same holds for `y`, and the farther of both is
//! used.

use std::f32::consts::FRAC_PI_2;
use std::str::FromStr;

use glam::{Mat3, Vec2, Vec3};

/// Angle of view over the smaller side of a panel: that of a portrait lens, which hardly distorts.
const FIELD_OF_VIEW_DEGREES: f32 = 28.0;
/// Fraction of the picture that is kept free on each side.
const MARGIN: f32 = 0.07;
/// Distance of the camera from a shape without extent.
const MIN_DISTANCE: f32 = 1e-6;

/// Azimuth and elevation of the named directions, in degrees.
const NAMED: [(&str, [f32; 2]); 6] = [
    ("three-quarter", [35.0, 14.0]),
    ("front", [0.0, 6.0]),
    ("back", [180.0, 6.0]),
    ("right", [-90.0, 6.0]),
    ("left", [90.0, 6.0]),
    ("top", [0.0, 90.0]),
];

/// Direction and magnification of a camera. Scenes are drawn with Y up; a camera at azimuth 0 looks along −Z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// Angle around the vertical axis in degrees, counter-clockwise from above. 90 is the view from +X.
    pub azimuth_degrees: f32,
    /// Angle above the horizon in degrees, from −90 to 90.
    pub elevation_degrees: f32,
    /// Magnification relative to the automatic framing. Larger values show less of the surroundings.
    pub zoom: f32,
    /// Point in the centre of the picture; `None` centres the shape.
    pub target: Option<Vec3>,
}

impl Default for View {
    /// A three-quarter view from the front, slightly from above.
    fn default() -> Self {
        let (_, [azimuth_degrees, elevation_degrees]) = NAMED[0];
        Self { azimuth_degrees, elevation_degrees, zoom: 1.0, target: None }
    }
}

impl FromStr for View {
    type Err = String;

    /// A named direction, or `azimuth,elevation` in degrees, with an optional magnification.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = NAMED.iter().find(|(name, _)| *name == text.trim()).map(|(_, angles)| angles.to_vec());
        let numbers = text.split(',').map(|number| number.trim().parse::<f32>().ok()).collect::<Option<Vec<f32>>>();
        let (azimuth_degrees, elevation_degrees, zoom) = match named.or(numbers).as_deref() {
            Some(&[azimuth, elevation]) => (azimuth, elevation, 1.0),
            Some(&[azimuth, elevation, zoom]) => (azimuth, elevation, zoom),
            _ => {
                let names = NAMED.map(|(name, _)| name).join(", ");
                return Err(format!("it must be {names}, or angles in degrees as AZIMUTH,ELEVATION[,ZOOM]"));
            }
        };
        let is_valid = azimuth_degrees.is_finite() && elevation_degrees.abs() <= 90.0 && zoom.is_finite() && zoom > 0.0;
        if !is_valid {
            return Err("the elevation must be from −90 to 90 degrees, and the magnification positive".to_owned());
        }
        Ok(Self { azimuth_degrees, elevation_degrees, zoom, target: None })
    }
}

impl View {
    /// Axes of the camera in the scene: right, up, and towards the viewer.
    fn axes(&self) -> [Vec3; 3] {
        let elevation = self.elevation_degrees.to_radians().clamp(-FRAC_PI_2, FRAC_PI_2);
        let rotation = Mat3::from_rotation_y(self.azimuth_degrees.to_radians()) * Mat3::from_rotation_x(-elevation);
        [rotation.x_axis, rotation.y_axis, rotation.z_axis]
    }
}

/// Points that a camera must show; their extents along the planes of the frustum.
#[derive(Debug, Clone)]
pub struct Framing {
    view: View,
    axes: [Vec3; 3],
    tangents: Vec2,
    /// Largest `x + t z`, `−x + t z`, `y + t z`, `−y + t z` and `z` in the axes of the camera.
    supports: [f32; 5],
    low: Vec3,
    high: Vec3,
}

impl Framing {
    /// Starts a framing without points for a part of a picture of `size` pixels.
    pub fn new(view: View, size: [usize; 2]) -> Self {
        let [width, height] = size.map(|side| side.max(1) as f32);
        let per_pixel = (0.5 * FIELD_OF_VIEW_DEGREES).to_radians().tan() / width.min(height);
        let tangents = Vec2::new(width, height) * per_pixel * (1.0 - 2.0 * MARGIN);
        let (low, high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        Self { view, axes: view.axes(), tangents, supports: [f32::NEG_INFINITY; 5], low, high }
    }

    /// Adds points that must be in the picture.
    pub fn add(&mut self, points: &[Vec3]) {
        let [right, up, back] = self.axes;
        for &point in points {
            let (x, y, z) = (point.dot(right), point.dot(up), point.dot(back));
            let (at_x, at_y) = (self.tangents.x * z, self.tangents.y * z);
            for (support, value) in self.supports.iter_mut().zip([at_x + x, at_x - x, at_y + y, at_y - y, z]) {
                *support = support.max(value);
            }
            self.low = self.low.min(point);
            self.high = self.high.max(point);
        }
    }

    /// Lowest and highest corner of all points; `None` without points.
    pub fn bounds(&self) -> Option<[Vec3; 2]> {
        self.low.is_finite().then_some([self.low, self.high])
    }

    /// The camera that shows all points.
    pub fn camera(&self) -> Camera {
        let [low, high] = self.bounds().unwrap_or([Vec3::ZERO; 2]);
        let [right, up, back] = self.axes;
        let [a, b, c, d, nearest] = if self.bounds().is_some() { self.supports } else { [0.0; 5] };
        let Vec2 { x: tx, y: ty } = self.tangents;
        let middle = 0.5 * (low + high);
        let (center, distance) = if let Some(target) = self.view.target {
            let (x, y, z) = (target.dot(right), target.dot(up), target.dot(back));
            let distance = [(a - x) / tx, (b + x) / tx, (c - y) / ty, (d + y) / ty];
            (Vec3::new(x, y, z), distance.into_iter().fold(f32::NEG_INFINITY, f32::max) - z)
        } else {
            let z = middle.dot(back);
            let distance = ((a + b) / (2.0 * tx)).max((c + d) / (2.0 * ty)) - z;
            (Vec3::new(0.5 * (a - b), 0.5 * (c - d), z), distance)
        };
        let extent = (high - low).length();
        let distance = (distance / self.view.zoom).max(1e-3 * extent).max(MIN_DISTANCE);
        let position = right * center.x + up * center.y + back * (center.z + distance);
        // With a large magnification the camera is inside the shape: the near plane cuts it.
        let clear = center.z + distance - nearest;
        let near = if clear > 0.0 { 0.5 * clear } else { 1e-3 * distance };
        Camera { position, right, up, back, near: near.max(1e-5 * distance) }
    }
}

/// A camera in the scene.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    pub(crate) position: Vec3,
    pub(crate) right: Vec3,
    pub(crate) up: Vec3,
    /// Towards the viewer.
    pub(crate) back: Vec3,
    /// Distance of the near plane, in front of which nothing is drawn.
    pub(crate) near: f32,
}

/// A camera whose optical axis is at a pixel of the picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Projection {
    pub(crate) camera: Camera,
    /// Pixels per tangent.
    scale: f32,
    center: Vec2,
}

impl Projection {
    /// Projection onto the rectangle at `corner` with `size` pixels.
    pub(crate) fn new(camera: Camera, corner: [usize; 2], size: [usize; 2]) -> Self {
        let [width, height] = size.map(|side| side.max(1) as f32);
        let scale = 0.5 * width.min(height) / (0.5 * FIELD_OF_VIEW_DEGREES).to_radians().tan();
        let center = Vec2::new(corner[0] as f32 + 0.5 * width, corner[1] as f32 + 0.5 * height);
        Self { camera, scale, center }
    }

    /// Position in the axes of the camera, with the distance in front of it as `z`.
    pub(crate) fn to_camera(self, point: Vec3) -> Vec3 {
        let Camera { position, right, up, back, .. } = self.camera;
        let offset = point - position;
        Vec3::new(offset.dot(right), offset.dot(up), -offset.dot(back))
    }

    /// Pixel coordinates and inverse distance of a position in the axes of the camera.
    pub(crate) fn to_pixel(self, at: Vec3) -> Vec3 {
        let inverse = 1.0 / at.z;
        let offset = Vec2::new(at.x, -at.y) * (self.scale * inverse);
        (self.center + offset).extend(inverse)
    }

    /// Length in the scene that two pixels cover at the distance of a point.
    pub(crate) fn pixel_extent(self, point: Vec3) -> f32 {
        2.0 * self.to_camera(point).z / self.scale
    }

    /// Direction of the ray through a location of the picture; its component along the optical axis is 1.
    pub(crate) fn ray(self, pixel: Vec2) -> Vec3 {
        let at = (pixel - self.center) / self.scale;
        self.camera.right * at.x - self.camera.up * at.y - self.camera.back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_points_are_in_the_picture_and_two_sides_are_touched() {
        let points: Vec<Vec3> = (0..200)
            .map(|at| Vec3::new((at as f32 * 1.7).sin() * 3.0, (at as f32 * 0.6).cos(), (at as f32).sin()))
            .collect();
        let view = View { azimuth_degrees: 25.0, elevation_degrees: 40.0, ..View::default() };
        let size = [300, 200];
        let mut framing = Framing::new(view, size);
        framing.add(&points);
        let projection = Projection::new(framing.camera(), [0, 0], size);
        let (mut low, mut high) = (Vec2::INFINITY, Vec2::NEG_INFINITY);
        for &point in &points {
            let pixel = projection.to_pixel(projection.to_camera(point)).truncate();
            low = low.min(pixel);
            high = high.max(pixel);
        }
        let margin = Vec2::new(300.0, 200.0) * MARGIN;
        assert!(
            low.cmpge(margin - 0.1).all() && high.cmple(Vec2::new(300.0, 200.0) - margin + 0.1).all(),
            "{low} {high}"
        );
        let touches = (low - margin).abs().min_element() < 0.1
            && (Vec2::new(300.0, 200.0) - margin - high).abs().min_element() < 0.1;
        assert!(touches, "{low} {high}");
    }

    #[test]
    fn views_are_names_or_angles() {
        let view = |text: &str| text.parse::<View>();
        assert_eq!(view("three-quarter"), Ok(View::default()));
        let close = View { azimuth_degrees: -30.0, elevation_degrees: 20.0, zoom: 2.5, target: None };
        assert_eq!(view("-30, 20,2.5"), Ok(close));
        for text in ["", "below", "1", "1,2,3,4", "1,nan", "0,91", "0,0,0", "0,0,-1", "inf,0"] {
            assert!(view(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_target_is_in_the_centre() {
        let target = Vec3::new(0.3, -0.2, 0.5);
        let mut framing = Framing::new(View { target: Some(target), zoom: 3.0, ..View::default() }, [64, 48]);
        framing.add(&[Vec3::ONE, Vec3::NEG_ONE]);
        let projection = Projection::new(framing.camera(), [10, 20], [64, 48]);
        let pixel = projection.to_pixel(projection.to_camera(target)).truncate();
        assert!(pixel.distance(Vec2::new(42.0, 44.0)) < 1e-2, "{pixel}");
    }

    #[test]
    fn rays_pass_through_the_points_of_their_pixels() {
        let mut framing = Framing::new(View::default(), [64, 48]);
        framing.add(&[Vec3::ONE, Vec3::NEG_ONE]);
        let projection = Projection::new(framing.camera(), [0, 0], [64, 48]);
        let at = projection.to_camera(Vec3::new(0.4, -0.7, 0.1));
        let ray = projection.ray(projection.to_pixel(at).truncate());
        let found = projection.camera.position + ray * at.z;
        assert!(found.distance(Vec3::new(0.4, -0.7, 0.1)) < 1e-4, "{found}");
    }

    #[test]
    fn a_single_point_has_a_camera() {
        let mut framing = Framing::new(View::default(), [64, 48]);
        framing.add(&[Vec3::splat(5.0)]);
        assert!(framing.camera().position.is_finite());
        assert!(Framing::new(View::default(), [64, 48]).camera().position.is_finite());
    }
}
