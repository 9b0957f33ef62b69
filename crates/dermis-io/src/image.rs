//! Grey images of numbers: 16-bit PNG and half-float `OpenEXR`, written only.
//!
//! PNG (ISO/IEC 15948) holds values between two bounds that the caller must state elsewhere; EXR holds them as they are,
//! in one uncompressed channel `Y`. A page each, so no library is needed.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use half::f16;

/// `values`, rows of `width` from the top, as a PNG in which the first of `range` is black and the second white.
pub fn png16(width: usize, values: &[f32], range: [f32; 2]) -> std::io::Result<Vec<u8>> {
    let height = values.len() / width.max(1);
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in values.chunks_exact(width.max(1)) {
        let [black, white] = range;
        let grey = |value: &f32| (((value - black) / (white - black)).clamp(0.0, 1.0) * 65535.0).round() as u16;
        let mut line = vec![0];
        line.extend(row.iter().flat_map(|value| grey(value).to_be_bytes()));
        rows.write_all(&line)?;
    }
    let mut header = [(width as u32).to_be_bytes(), (height as u32).to_be_bytes()].concat();
    header.extend([16, 0, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut file, *b"IHDR", &header);
    chunk(&mut file, *b"IDAT", &rows.finish()?);
    chunk(&mut file, *b"IEND", &[]);
    Ok(file)
}

fn chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    file.extend((data.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(name);
    file.extend(data);
    let check = crc32fast::hash(&file[start..]);
    file.extend(check.to_be_bytes());
}

/// `values`, rows of `width` from the top, as an EXR of half floats.
pub fn exr(width: usize, values: &[f32]) -> Vec<u8> {
    let height = values.len() / width.max(1);
    let mut file = vec![0x76, 0x2f, 0x31, 0x01, 2, 0, 0, 0];
    let window = [0, 0, width as i32 - 1, height as i32 - 1].map(i32::to_le_bytes).concat();
    // One channel: its name, half floats, not linear, three bytes kept free, sampled everywhere.
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
    use std::io::Read;

    use super::*;

    #[test]
    fn a_png_holds_its_values_to_a_part_in_65535() {
        let values = [0.0, 0.5, 1.0, 0.25, 2.0, -1.0];
        let file = png16(3, &values, [0.0, 1.0]).unwrap();
        let length = u32::from_be_bytes(file[33..37].try_into().unwrap()) as usize;
        let mut rows = Vec::new();
        flate2::read::ZlibDecoder::new(&file[41..41 + length]).read_to_end(&mut rows).unwrap();
        assert_eq!(rows, [0, 0, 0, 0x80, 0, 0xff, 0xff, 0, 0x40, 0, 0xff, 0xff, 0, 0]);
    }

    #[test]
    fn an_exr_is_as_long_as_its_lines() {
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
