//! Grey images of numbers: PNG, read and written with 16 bits, and half-float `OpenEXR`, written only.
//!
//! PNG stores values between two bounds that the caller must store elsewhere; EXR stores the values unchanged, in one
//! uncompressed channel `Y`, which needs no library.

use std::io::{BufRead, Seek};

use half::f16;

/// A grey image, 0 to 1, rows from the top.
#[derive(Debug, Clone, PartialEq)]
pub struct Grey {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// The pixels, row by row.
    pub values: Vec<f32>,
    /// Largest difference between the colours of a pixel of the file; 0 for a grey image.
    pub colourfulness: f32,
}

impl Grey {
    /// Reads a PNG of any type; colours are averaged, transparency is ignored.
    pub fn read_png(source: impl BufRead + Seek) -> Result<Self, png::DecodingError> {
        let mut decoder = png::Decoder::new(source);
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info()?;
        let size = reader.output_buffer_size().ok_or(png::DecodingError::LimitsExceeded)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|_| png::DecodingError::LimitsExceeded)?;
        bytes.resize(size, 0);
        let info = reader.next_frame(&mut bytes)?;
        let bytes = &bytes[..info.buffer_size()];
        let samples: Vec<f32> = match info.bit_depth {
            png::BitDepth::Sixteen => {
                bytes.chunks_exact(2).map(|two| f32::from(u16::from_be_bytes([two[0], two[1]])) / 65535.0).collect()
            }
            _ => bytes.iter().map(|&byte| f32::from(byte) / 255.0).collect(),
        };
        let colours = if info.color_type.samples() >= 3 { 3 } else { 1 };
        let mean = |pixel: &[f32]| pixel[..colours].iter().sum::<f32>() / colours as f32;
        let difference = |pixel: &[f32]| {
            let (low, high) = pixel[..colours].iter().fold((1.0_f32, 0.0_f32), |(l, h), &c| (l.min(c), h.max(c)));
            high - low
        };
        let pixels = || samples.chunks_exact(info.color_type.samples());
        let values = pixels().map(mean).collect();
        let colourfulness = pixels().map(difference).fold(0.0, f32::max);
        Ok(Self { width: info.width as usize, height: info.height as usize, values, colourfulness })
    }
}

/// `values`, rows of `width` from the top, as a PNG in which the first of `range` is black and the second white.
pub fn png16(width: usize, values: &[f32], [black, white]: [f32; 2]) -> Result<Vec<u8>, png::EncodingError> {
    let height = values.len() / width.max(1);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Sixteen);
    let grey = |value: &f32| (((value - black) / (white - black)).clamp(0.0, 1.0) * 65535.0).round() as u16;
    let bytes: Vec<u8> = values.iter().flat_map(|value| grey(value).to_be_bytes()).collect();
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&bytes)?;
    writer.finish()?;
    Ok(file)
}

/// Pixels of red, green and blue, rows of `width` from the top, as a PNG.
pub fn png_rgb(width: usize, pixels: &[[u8; 3]]) -> Result<Vec<u8>, png::EncodingError> {
    let height = pixels.len() / width.max(1);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels[..width * height].as_flattened())?;
    writer.finish()?;
    Ok(file)
}

/// `values`, rows of `width` from the top, as an EXR of half floats.
pub fn exr(width: usize, values: &[f32]) -> Vec<u8> {
    let height = values.len() / width.max(1);
    let mut file = vec![0x76, 0x2f, 0x31, 0x01, 2, 0, 0, 0];
    let window = [0, 0, width as i32 - 1, height as i32 - 1].map(i32::to_le_bytes).concat();
    // One channel: its name, half floats, not linear, three reserved bytes, sampled at every pixel.
    let channels = [&b"Y\0"[..], &1i32.to_le_bytes(), &[0; 4], &1i32.to_le_bytes(), &1i32.to_le_bytes(), &[0]].concat();
    for (name, kind, value) in [
        ("channels", "chlist", channels),
        ("compression", "compression", vec![0]),
        ("dataWindow", "box2i", window.clone()),
        ("displayWindow", "box2i", window),
        ("lineOrder", "lineOrder", vec![0]),
        ("pixelAspectRatio", "float", 1f32.to_le_bytes().to_vec()),
        ("screenWindowCenter", "v2f", vec![0; 8]),
        ("screenWindowWidth", "float", 1f32.to_le_bytes().to_vec()),
    ] {
        for word in [name, kind] {
            file.extend(word.as_bytes());
            file.push(0);
        }
        file.extend((value.len() as i32).to_le_bytes());
        file.extend(value);
    }
    file.push(0);
    let first = file.len() + 8 * height;
    for row in 0..height {
        file.extend(((first + row * (8 + 2 * width)) as u64).to_le_bytes());
    }
    for (row, line) in values.chunks_exact(width.max(1)).enumerate() {
        file.extend((row as i32).to_le_bytes());
        file.extend((2 * width as i32).to_le_bytes());
        file.extend(line.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes()));
    }
    file
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn png_values_are_exact_to_one_part_in_65535() {
        let values = [0.0, 0.5, 1.0, 0.25, 2.0, -1.0];
        let file = png16(3, &values, [0.0, 1.0]).unwrap();
        let back = Grey::read_png(Cursor::new(file)).unwrap();
        assert_eq!((back.width, back.height), (3, 2));
        for (found, wanted) in back.values.iter().zip([0.0, 0.5, 1.0, 0.25, 1.0, 0.0]) {
            assert!((found - wanted).abs() < 1.0 / 65535.0, "{found} {wanted}");
        }
    }

    #[test]
    fn rejects_files_that_are_not_png() {
        assert!(Grey::read_png(Cursor::new(b"no png".to_vec())).is_err());
        let whole = png16(2, &[0.0, 1.0], [0.0, 1.0]).unwrap();
        assert!(Grey::read_png(Cursor::new(whole[..40].to_vec())).is_err());
    }

    #[test]
    fn exr_size_matches_its_scan_lines() {
        let values = [0.0, 0.5, 1.0, 0.25, 2.0, -1.0];
        let file = exr(3, &values);
        assert_eq!(
            file[file.len() - 6..],
            [f16::from_f32(0.25), f16::from_f32(2.0), f16::from_f32(-1.0)].map(f16::to_le_bytes).concat()
        );
        let header_end = file.len() - 2 * (8 + 6) - 16;
        let offset = u64::from_le_bytes(file[header_end..header_end + 8].try_into().unwrap());
        assert_eq!(offset as usize, header_end + 16);
    }
}
