//! Textures: PNG and JPEG images in linear light, with smaller versions for distant surfaces (Williams 1983).

use std::io::Cursor;

use dermis_mesh::layout::Image as EncodedImage;
use glam::Vec2;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::color::decode_srgb;
use crate::error::RenderError;

/// Continuation of a texture outside of its image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wrap {
    /// The image is repeated.
    #[default]
    Repeat,
    /// Every second repetition is mirrored.
    Mirror,
    /// The pixels at the border are repeated.
    Clamp,
}

/// Maximum number of pixels of a texture.
const MAX_TEXELS: usize = 1 << 26;

/// An image and its smaller versions. Colours are linear; opacity is straight.
#[derive(Debug, Clone)]
pub struct Texture {
    levels: Vec<Level>,
}

/// One version; each is half as wide and high as the previous one.
#[derive(Debug, Clone)]
struct Level {
    width: usize,
    height: usize,
    texels: Vec<[f32; 4]>,
}

impl Texture {
    /// Decodes a PNG or JPEG image.
    pub fn decode(image: &EncodedImage) -> Result<Self, RenderError> {
        let failed = |reason: String| RenderError::Texture { name: image.name.clone(), reason };
        let (width, height, pixels) = match image.bytes.as_slice() {
            [0x89, b'P', b'N', b'G', ..] => decode_png(&image.bytes).map_err(failed)?,
            [0xff, 0xd8, ..] => decode_jpeg(&image.bytes).map_err(failed)?,
            _ => return Err(failed("it is neither PNG nor JPEG".to_owned())),
        };
        Ok(Self::new(width, height, &pixels))
    }

    /// Texture of 8-bit sRGB pixels with opacity, rows from the top.
    ///
    /// # Panics
    /// If the number of pixels is not `width` times `height`, or 0.
    pub fn new(width: usize, height: usize, pixels: &[[u8; 4]]) -> Self {
        assert!(!pixels.is_empty() && pixels.len() == width * height, "a texture has {width} times {height} pixels");
        let table: Vec<f32> = (0..=u8::MAX).map(|byte| decode_srgb(f32::from(byte) / 255.0)).collect();
        let linear = |&[r, g, b, a]: &[u8; 4]| {
            let [r, g, b] = [r, g, b].map(|byte| table[byte as usize]);
            [r, g, b, f32::from(a) / 255.0]
        };
        let mut levels = vec![Level { width, height, texels: pixels.iter().map(linear).collect() }];
        while let Some(smaller) = levels.last().and_then(Level::halved) {
            levels.push(smaller);
        }
        Self { levels }
    }

    /// Colour and opacity at `uv`. `footprint` is the extent of a pixel of the picture in UV.
    pub(crate) fn sample(&self, uv: Vec2, footprint: Vec2, wrap: [Wrap; 2]) -> [f32; 4] {
        let first = &self.levels[0];
        let texels = (footprint * Vec2::new(first.width as f32, first.height as f32)).max_element();
        let last = self.levels.len() - 1;
        let level = if texels.is_finite() { texels.max(1.0).log2().min(last as f32) } else { last as f32 };
        let (fine, part) = (level as usize, level.fract());
        let color = self.levels[fine].sample(uv, wrap);
        if part == 0.0 || fine == last {
            return color;
        }
        mix(color, self.levels[fine + 1].sample(uv, wrap), part)
    }
}

impl Level {
    fn halved(&self) -> Option<Self> {
        if self.width == 1 && self.height == 1 {
            return None;
        }
        let (width, height) = (self.width.div_ceil(2), self.height.div_ceil(2));
        let mean = |at: usize| {
            let (x, y) = (2 * (at % width), 2 * (at / width));
            let (next_x, next_y) = ((x + 1).min(self.width - 1), (y + 1).min(self.height - 1));
            let four =
                [(x, y), (next_x, y), (x, next_y), (next_x, next_y)].map(|(x, y)| self.texels[y * self.width + x]);
            std::array::from_fn(|channel| 0.25 * four.iter().map(|texel| texel[channel]).sum::<f32>())
        };
        Some(Self { width, height, texels: (0..width * height).map(mean).collect() })
    }

    fn sample(&self, uv: Vec2, wrap: [Wrap; 2]) -> [f32; 4] {
        let (x, y) = (split(uv.x, self.width, wrap[0]), split(uv.y, self.height, wrap[1]));
        let texel = |x: usize, y: usize| self.texels[y * self.width + x];
        let row = |y: usize| mix(texel(x.0, y), texel(x.1, y), x.2);
        mix(row(y.0), row(y.1), y.2)
    }
}

/// The two texels next to a coordinate, and the weight of the second.
fn split(coordinate: f32, count: usize, wrap: Wrap) -> (usize, usize, f32) {
    let at = if coordinate.is_finite() { coordinate } else { 0.0 };
    let at = match wrap {
        Wrap::Repeat => at - at.floor(),
        Wrap::Mirror => 1.0 - (at - 2.0 * (0.5 * at).floor() - 1.0).abs(),
        Wrap::Clamp => at.clamp(0.0, 1.0),
    };
    let texel = at * count as f32 - 0.5;
    let (first, part) = (texel.floor(), texel - texel.floor());
    let first = first as isize;
    let place = |at: isize| match wrap {
        Wrap::Repeat => at.rem_euclid(count as isize) as usize,
        Wrap::Mirror | Wrap::Clamp => at.clamp(0, count as isize - 1) as usize,
    };
    (place(first), place(first + 1), part)
}

fn mix(a: [f32; 4], b: [f32; 4], part: f32) -> [f32; 4] {
    std::array::from_fn(|channel| a[channel] + (b[channel] - a[channel]) * part)
}

/// Width, height and pixels.
type Pixels = (usize, usize, Vec<[u8; 4]>);

fn decode_png(bytes: &[u8]) -> Result<Pixels, String> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    expect_size(width, height)?;
    let size = reader.output_buffer_size().ok_or("it is too large")?;
    let mut samples = vec![0; size];
    let info = reader.next_frame(&mut samples).map_err(|error| error.to_string())?;
    let samples = &samples[..info.buffer_size()];
    let pixels = samples.chunks_exact(info.color_type.samples()).map(|pixel| match *pixel {
        [grey] => [grey, grey, grey, u8::MAX],
        [grey, alpha] => [grey, grey, grey, alpha],
        [r, g, b] => [r, g, b, u8::MAX],
        [r, g, b, a, ..] => [r, g, b, a],
        [] => [0; 4],
    });
    Ok((width, height, pixels.collect()))
}

fn decode_jpeg(bytes: &[u8]) -> Result<Pixels, String> {
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(|error| format!("{error:?}"))?;
    let info = decoder.info().ok_or("it has no header")?;
    let (width, height) = (usize::from(info.width), usize::from(info.height));
    expect_size(width, height)?;
    let samples = decoder.decode().map_err(|error| format!("{error:?}"))?;
    if samples.len() != 3 * width * height {
        return Err("its colour space is not supported".to_owned());
    }
    Ok((width, height, samples.chunks_exact(3).map(|pixel| [pixel[0], pixel[1], pixel[2], u8::MAX]).collect()))
}

fn expect_size(width: usize, height: usize) -> Result<(), String> {
    match width.checked_mul(height) {
        Some(1..=MAX_TEXELS) => Ok(()),
        _ => Err(format!("its size {width}x{height} is not supported")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: [u8; 4] = [255, 0, 0, 255];
    const BLUE: [u8; 4] = [0, 0, 255, 255];

    #[test]
    fn the_origin_of_uvs_is_the_upper_left_corner() {
        let texture = Texture::new(1, 2, &[RED, BLUE]);
        let at = |v: f32| texture.sample(Vec2::new(0.5, v), Vec2::ZERO, [Wrap::Clamp; 2]);
        assert_eq!(at(0.1), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(at(0.9), [0.0, 0.0, 1.0, 1.0]);
    }

    #[test]
    fn wrapping_repeats_mirrors_or_clamps() {
        let texture = Texture::new(2, 1, &[RED, BLUE]);
        let at = |u: f32, wrap: Wrap| texture.sample(Vec2::new(u, 0.5), Vec2::ZERO, [wrap; 2])[0];
        assert_eq!([0.25, 1.25, -0.75].map(|u| at(u, Wrap::Repeat)), [1.0; 3]);
        assert_eq!([0.25, 1.75, -0.25].map(|u| at(u, Wrap::Mirror)), [1.0; 3]);
        assert_eq!([-3.0, 0.0, 1.0, 7.0].map(|u| at(u, Wrap::Clamp)), [1.0, 1.0, 0.0, 0.0]);
        assert!(at(f32::NAN, Wrap::Repeat).is_finite());
    }

    #[test]
    fn a_distant_texture_is_its_mean() {
        let texture = Texture::new(2, 2, &[RED, BLUE, BLUE, RED]);
        assert_eq!(texture.sample(Vec2::ZERO, Vec2::splat(4.0), [Wrap::Repeat; 2]), [0.5, 0.0, 0.5, 1.0]);
    }

    #[test]
    fn rejects_what_is_no_image() {
        for bytes in [&b"no image"[..], &[0xff, 0xd8, 0xff], &[0x89, b'P', b'N', b'G'], &[]] {
            let image = EncodedImage { name: "skin".into(), bytes: bytes.to_vec(), ..EncodedImage::default() };
            let error = Texture::decode(&image).unwrap_err().to_string();
            assert!(error.contains("'skin' cannot be read"), "{error}");
        }
    }
}
