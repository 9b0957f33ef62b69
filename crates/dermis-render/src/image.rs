//! Pictures: 8-bit sRGB pixels with straight alpha, written as PNG.

use rayon::prelude::*;

use crate::color::{encode_srgb, to_byte};
use crate::error::RenderError;

/// Entries of the table of sRGB values.
const SRGB_ENTRIES: usize = 1 << 14;

/// A picture, rows from the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green and blue in sRGB, and straight alpha; row by row.
    pub pixels: Vec<[u8; 4]>,
}

impl Image {
    /// The pixel in column `x` and row `y`.
    ///
    /// # Panics
    /// If the pixel is outside the picture.
    pub fn pixel(&self, x: usize, y: usize) -> [u8; 4] {
        assert!(x < self.width && y < self.height, "the pixel must be inside the picture");
        self.pixels[y * self.width + x]
    }

    /// The picture as a PNG file, without an alpha channel if it is opaque.
    pub fn to_png(&self) -> Result<Vec<u8>, RenderError> {
        let is_opaque = self.pixels.iter().all(|pixel| pixel[3] == u8::MAX);
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width as u32, self.height as u32);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_compression(png::Compression::High);
        encoder.set_color(if is_opaque { png::ColorType::Rgb } else { png::ColorType::Rgba });
        let bytes: Vec<u8> = if is_opaque {
            self.pixels.iter().flat_map(|&[r, g, b, _]| [r, g, b]).collect()
        } else {
            self.pixels.as_flattened().to_vec()
        };
        let failed = |error: png::EncodingError| RenderError::Encoding(error.to_string());
        let mut writer = encoder.write_header().map_err(failed)?;
        writer.write_image_data(&bytes).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(file)
    }
}

/// A picture in linear light with premultiplied alpha, on which layers are composed.
#[derive(Debug, Clone)]
pub(crate) struct Canvas {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Vec<[f32; 4]>,
}

impl Canvas {
    pub(crate) fn new(width: usize, height: usize) -> Self {
        Self { width, height, pixels: vec![[0.0; 4]; width * height] }
    }

    /// Composes a linear colour over a pixel with the opacity `alpha`.
    pub(crate) fn blend(&mut self, x: usize, y: usize, color: [f32; 3], alpha: f32) {
        let below = &mut self.pixels[y * self.width + x];
        for (below, above) in below.iter_mut().zip([color[0], color[1], color[2], 1.0]) {
            *below = *below * (1.0 - alpha) + above * alpha;
        }
    }

    pub(crate) fn finish(&self) -> Image {
        // The curve is steepest at black, where an entry covers a fifth of a byte value.
        let last = (SRGB_ENTRIES - 1) as f32;
        let table: Vec<u8> = (0..SRGB_ENTRIES).map(|at| to_byte(encode_srgb(at as f32 / last))).collect();
        let pixel = |&[r, g, b, a]: &[f32; 4]| {
            let straight = if a > 0.0 { 1.0 / a } else { 0.0 };
            let [r, g, b] =
                [r, g, b].map(|channel| table[((channel * straight).clamp(0.0, 1.0) * last + 0.5) as usize]);
            [r, g, b, to_byte(a)]
        };
        Image { width: self.width, height: self.height, pixels: self.pixels.par_iter().map(pixel).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opaque_pictures_have_no_alpha_channel_in_the_file() {
        let mut image = Image { width: 2, height: 1, pixels: vec![[1, 2, 3, 255], [4, 5, 6, 255]] };
        let read = |file: Vec<u8>| {
            let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
            let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut bytes).unwrap();
            bytes
        };
        assert_eq!(read(image.to_png().unwrap()), [1, 2, 3, 4, 5, 6]);
        image.pixels[0][3] = 7;
        assert_eq!(read(image.to_png().unwrap()), [1, 2, 3, 7, 4, 5, 6, 255]);
    }
}
