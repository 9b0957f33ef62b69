//! Encodings of numbers in packed files, with the filters of `EXT_meshopt_compression`.

use crate::error::Error;

pub(super) const BYTE: u32 = 5120;
pub(super) const UNSIGNED_BYTE: u32 = 5121;
pub(super) const SHORT: u32 = 5122;
pub(super) const UNSIGNED_SHORT: u32 = 5123;
pub(super) const FLOAT: u32 = 5126;
/// Largest mantissa of the exponential filter.
const MAX_MANTISSA: f64 = 8_388_607.0;
/// Level of effort of the vertex codec.
const LEVEL: i32 = 3;
/// Version of the vertex codec that the extension allows.
const VERSION: i32 = 0;

/// Numbers in the form in which they are compressed, and the accessor that a reader sees after the filter.
pub(super) struct Encoded {
    /// Elements, each of `stride` bytes.
    pub bytes: Vec<u8>,
    pub stride: usize,
    pub filter: Option<&'static str>,
    pub component_type: u32,
    pub normalized: bool,
}

impl Encoded {
    /// Floats as multiples of `2^exponent`, a larger power if the largest number requires it.
    pub(super) fn floats(values: &[f32], width: usize, exponent: i32) -> Self {
        let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(f64::from(value.abs())));
        let needed = if largest > 0.0 { (largest / MAX_MANTISSA).log2().ceil() as i32 } else { -100 };
        let exponent = exponent.max(needed).clamp(-100, 100);
        let word = |value: &f32| {
            let mantissa = (f64::from(*value) / 2.0_f64.powi(exponent)).round().clamp(-MAX_MANTISSA, MAX_MANTISSA);
            ((exponent as u32 & 0xff) << 24) | (mantissa as i32 as u32 & 0x00ff_ffff)
        };
        let bytes = values.iter().flat_map(|value| word(value).to_le_bytes()).collect();
        Self { bytes, stride: 4 * width, filter: Some("EXPONENTIAL"), component_type: FLOAT, normalized: false }
    }

    /// Vectors of three whole numbers, in 8 bits if all fit and in 16 bits otherwise.
    pub(super) fn integers(vectors: &[[i16; 3]]) -> Self {
        let is_small = vectors.as_flattened().iter().all(|&number| i8::try_from(number).is_ok());
        let (bytes, stride, component_type) = if is_small {
            (vectors.iter().flat_map(|&[x, y, z]| [x as u8, y as u8, z as u8, 0]).collect(), 4, BYTE)
        } else {
            let padded = vectors.iter().flat_map(|&[x, y, z]| [x, y, z, 0]);
            (padded.flat_map(i16::to_le_bytes).collect(), 8, SHORT)
        };
        Self { bytes, stride, filter: None, component_type, normalized: false }
    }

    /// Vectors of three numbers from −1 to 1 as multiples of `1 / (2^(bits − 1) − 1)`.
    pub(super) fn signed_units(vectors: &[[f32; 3]], bits: u32) -> Self {
        let steps = f32::from((1_i16 << (bits.clamp(2, 8) - 1)) - 1);
        let byte = |value: f32| ((value * steps).round() / steps * 127.0).round().clamp(-127.0, 127.0) as i8 as u8;
        let bytes = vectors.iter().flat_map(|&[x, y, z]| [byte(x), byte(y), byte(z), 0]).collect();
        Self { bytes, stride: 4, filter: None, component_type: BYTE, normalized: true }
    }

    /// Unit vectors with a sign or padding as their fourth component.
    pub(super) fn directions(vectors: &[[f32; 4]], bits: i32) -> Self {
        let encoded: Vec<[i8; 4]> = meshopt::encode_filter_oct(vectors, bits);
        let bytes = bytemuck::cast_slice(&encoded).to_vec();
        Self { bytes, stride: 4, filter: Some("OCTAHEDRAL"), component_type: BYTE, normalized: true }
    }

    /// Unit quaternions.
    pub(super) fn rotations(quaternions: &[[f32; 4]], bits: i32) -> Self {
        let encoded = meshopt::encode_filter_quat(quaternions, bits);
        let bytes = bytemuck::cast_slice(&encoded).to_vec();
        Self { bytes, stride: 8, filter: Some("QUATERNION"), component_type: SHORT, normalized: true }
    }

    /// Colours in 8 bits.
    pub(super) fn colors(colors: &[[f32; 4]]) -> Self {
        let byte = |value: &f32| (value.clamp(0.0, 1.0) * 255.0).round() as u8;
        let bytes = colors.as_flattened().iter().map(byte).collect();
        Self { bytes, stride: 4, filter: None, component_type: UNSIGNED_BYTE, normalized: true }
    }

    /// Elements unchanged.
    pub(super) fn unchanged(bytes: Vec<u8>, stride: usize, component_type: u32) -> Self {
        Self { bytes, stride, filter: None, component_type, normalized: false }
    }

    /// Number of elements.
    pub(super) fn count(&self) -> usize {
        self.bytes.len() / self.stride
    }

    /// The elements, compressed.
    pub(super) fn compressed(&self) -> Result<Vec<u8>, Error> {
        let encoded = match self.stride {
            4 => meshopt::encode_vertex_buffer_level(self.elements::<4>(), LEVEL, Some(VERSION)),
            8 => meshopt::encode_vertex_buffer_level(self.elements::<8>(), LEVEL, Some(VERSION)),
            12 => meshopt::encode_vertex_buffer_level(self.elements::<12>(), LEVEL, Some(VERSION)),
            16 => meshopt::encode_vertex_buffer_level(self.elements::<16>(), LEVEL, Some(VERSION)),
            64 => meshopt::encode_vertex_buffer_level(self.elements::<64>(), LEVEL, Some(VERSION)),
            stride => return Err(Error::unsupported(format!("elements of {stride} bytes cannot be compressed"))),
        };
        encoded.map_err(|error| Error::unsupported(format!("the data cannot be compressed: {error}")))
    }

    fn elements<const N: usize>(&self) -> &[[u8; N]] {
        self.bytes.as_chunks::<N>().0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_become_multiples_of_the_step() {
        let values = [1.26_f32, -3.01, 0.0];
        let encoded = Encoded::floats(&values, 3, -3);
        let mut words: Vec<[u32; 3]> = bytemuck::pod_collect_to_vec(&encoded.bytes);
        meshopt::decode_filter_exp(&mut words);
        assert_eq!(words[0].map(f32::from_bits), [1.25, -3.0, 0.0]);
    }

    #[test]
    fn large_numbers_get_a_larger_step() {
        let encoded = Encoded::floats(&[1e9, 1.0, 0.0], 3, -20);
        let mut words: Vec<[u32; 3]> = bytemuck::pod_collect_to_vec(&encoded.bytes);
        meshopt::decode_filter_exp(&mut words);
        assert!((f32::from_bits(words[0][0]) - 1e9).abs() < 128.0);
    }

    #[test]
    fn small_integers_are_stored_in_a_byte() {
        assert_eq!(Encoded::integers(&[[1, -128, 127]]).stride, 4);
        assert_eq!(Encoded::integers(&[[1, -128, 128]]).stride, 8);
    }
}
