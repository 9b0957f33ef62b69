//! Displacement maps: grey images of heights along the normal, sampled at the texture coordinates.

use std::io::{BufReader, Cursor};

use dermis_io::image::Grey;
use dermis_mesh::geometry::point_normals;
use dermis_mesh::glam::{DVec3, Vec2};
use dermis_mesh::{Object, Units};

use crate::error::EditError;

/// Difference between the channels of a pixel above which an image is not grey. Lossy compression causes small
/// differences.
const MAX_COLOURFULNESS: f32 = 0.1;

/// A map of displacements along the normals of the rest pose.
#[derive(Debug, Clone, PartialEq)]
pub struct DisplacementMap {
    /// The heights; values between pixels are interpolated linearly.
    pub image: Grey,
    /// Displacement of white, in metres; negative values displace inwards.
    pub white_m: f64,
    /// Grey value without displacement, at least 0 and below 1. Darker pixels are displaced in the opposite direction.
    pub mid_level: f64,
}

impl DisplacementMap {
    /// Decodes a PNG with 8 or 16 bits.
    pub fn from_png(bytes: &[u8], white_m: f64, mid_level: f64) -> Result<Self, EditError> {
        let image = Grey::read_png(BufReader::new(Cursor::new(bytes)));
        let image = image.map_err(|error| EditError::NotPng(error.to_string()))?;
        let map = Self { image, white_m, mid_level };
        map.check()?;
        Ok(map)
    }

    pub(super) fn check(&self) -> Result<(), EditError> {
        let Grey { width, height, colourfulness, ref values } = self.image;
        if width < 2 || height < 2 {
            return Err(EditError::MapSize { width, height });
        }
        if values.len() != width * height {
            return Err(EditError::MapPixels { found: values.len(), expected: width * height });
        }
        if colourfulness > MAX_COLOURFULNESS {
            return Err(EditError::Coloured(colourfulness));
        }
        if !self.white_m.is_finite() {
            return Err(EditError::Scale(self.white_m));
        }
        if !(0.0..1.0).contains(&self.mid_level) {
            return Err(EditError::MidLevel(self.mid_level));
        }
        Ok(())
    }

    /// Displacement in metres at a texture coordinate; coordinates outside the image repeat it.
    pub fn height_m(&self, uv: Vec2) -> f64 {
        self.white_m * (self.grey(uv) - self.mid_level) / (1.0 - self.mid_level)
    }

    /// Bilinear interpolation between the centres of pixels, constant beyond the outermost centres.
    fn grey(&self, uv: Vec2) -> f64 {
        let Grey { width, height, values, .. } = &self.image;
        let along = |coordinate: f32, size: usize| {
            let inside = f64::from(coordinate);
            let inside = if (0.0..=1.0).contains(&inside) { inside } else { inside.rem_euclid(1.0) };
            let at = (inside * size as f64 - 0.5).clamp(0.0, (size - 1) as f64);
            let first = (at as usize).min(size - 2);
            (first, at - first as f64)
        };
        let ((x, s), (y, t)) = (along(uv.x, *width), along(uv.y, *height));
        let pixel = |x: usize, y: usize| f64::from(values[y * width + x]);
        let row = |y: usize| pixel(x, y) + s * (pixel(x + 1, y) - pixel(x, y));
        row(y) + t * (row(y + 1) - row(y))
    }

    /// Displacement of each point of `object`, in the units of the scene. At seams, the heights of the vertices of a
    /// point are averaged, so the surface stays closed. Points without a normal are not displaced.
    pub(super) fn displacements(&self, object: &Object, units: Units) -> Result<Vec<DVec3>, EditError> {
        let mesh = &object.mesh;
        let none = || EditError::NoUvs(format!("'{}'", object.name));
        let layout = mesh.layout().ok_or_else(none)?;
        let uvs = layout.uvs.first().ok_or_else(none)?;
        if let Some(vertex) = uvs.iter().position(|uv| !uv.is_finite()) {
            return Err(EditError::UvNotFinite { object: object.name.clone(), vertex });
        }
        let per_metre = 1.0 / units.metres_per_unit.unwrap_or(1.0);
        let mut heights = vec![(0.0, 0.0); mesh.point_count()];
        for (&point, &uv) in layout.vertex_points.iter().zip(uvs) {
            let (sum, count) = &mut heights[point as usize];
            *sum += self.height_m(uv) * per_metre;
            *count += 1.0;
        }
        let normals = point_normals(mesh.points(), mesh.triangles());
        let displacement = |(normal, (sum, count)): (DVec3, (f64, f64))| normal * (sum / f64::max(count, 1.0));
        Ok(normals.iter().map(|normal| normal.as_dvec3()).zip(heights).map(displacement).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(width: usize, values: Vec<f32>) -> DisplacementMap {
        let height = values.len() / width;
        DisplacementMap { image: Grey { width, height, values, colourfulness: 0.0 }, white_m: 2.0, mid_level: 0.0 }
    }

    #[test]
    fn heights_are_interpolated_between_the_centres_of_pixels() {
        let map = map(2, vec![0.0, 1.0, 0.0, 1.0]);
        for (u, expected) in [(0.0, 0.0), (0.25, 0.0), (0.5, 1.0), (0.75, 2.0), (1.0, 2.0), (1.25, 0.0), (-0.25, 2.0)] {
            assert!((map.height_m(Vec2::new(u, 0.3)) - expected).abs() < 1e-6, "at {u}");
        }
    }

    #[test]
    fn the_mid_level_is_flat_and_white_has_the_stated_height() {
        let map = DisplacementMap { mid_level: 0.5, ..map(2, vec![0.0, 0.5, 0.5, 1.0]) };
        for (u, v, expected) in [(0.0, 0.0, -2.0), (1.0, 0.0, 0.0), (1.0, 1.0, 2.0)] {
            assert!((map.height_m(Vec2::new(u, v)) - expected).abs() < 1e-6, "at {u}, {v}");
        }
    }

    #[test]
    fn rejects_maps_that_are_no_heights() {
        let good = map(2, vec![0.0; 4]);
        assert!(good.check().is_ok());
        let bad = |change: fn(&mut DisplacementMap)| {
            let mut map = good.clone();
            change(&mut map);
            map.check().unwrap_err().to_string()
        };
        assert!(bad(|map| map.image.width = 1).contains("size"));
        assert!(bad(|map| map.image.height = 3).contains("pixels"));
        assert!(bad(|map| map.image.colourfulness = 0.5).contains("coloured"));
        assert!(bad(|map| map.white_m = f64::NAN).contains("white"));
        assert!(bad(|map| map.mid_level = 1.0).contains("mid level"));
        assert!(DisplacementMap::from_png(b"\xff\xd8\xff", 1.0, 0.0).is_err());
    }
}
