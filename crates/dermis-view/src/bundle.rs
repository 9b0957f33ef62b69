//! Bundle of named arrays: the binary format of geometry for the page and the report.
//!
//! Little endian: the four bytes `DRMB`, `u32` version 1, `u32` length of a JSON text, that text, then the arrays,
//! each aligned to 4 bytes. The text is a list of `{name, type, count, offset}` with `type` one of `f32`, `u32`,
//! `u16`, `count` in numbers and `offset` in bytes from the first array. A quantized array also has `low` and `step`
//! per coordinate; its values are `low + step · number`.

use dermis::mesh::glam::Vec3;
use dermis::mesh::tri_mesh::bounds;
use serde::Serialize;

/// First bytes of a bundle.
const MAGIC: &[u8; 4] = b"DRMB";
const VERSION: u32 = 1;

/// Bundle under construction.
#[derive(Debug, Default)]
pub struct Bundle {
    arrays: Vec<Array>,
    bytes: Vec<u8>,
}

#[derive(Debug, Serialize)]
struct Array {
    name: &'static str,
    r#type: &'static str,
    count: usize,
    offset: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<[f32; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<[f32; 3]>,
}

impl Bundle {
    /// Adds an array of floats.
    pub fn floats(&mut self, name: &'static str, values: impl IntoIterator<Item = f32>) {
        let begin = self.bytes.len();
        self.bytes.extend(values.into_iter().flat_map(f32::to_le_bytes));
        self.add(name, "f32", begin, 4, None);
    }

    /// Adds an array of positions, three floats each.
    pub fn vectors(&mut self, name: &'static str, values: &[Vec3]) {
        self.floats(name, values.iter().flat_map(Vec3::to_array));
    }

    /// Adds an array of indices.
    pub fn indices(&mut self, name: &'static str, values: impl IntoIterator<Item = u32>) {
        let begin = self.bytes.len();
        self.bytes.extend(values.into_iter().flat_map(u32::to_le_bytes));
        self.add(name, "u32", begin, 4, None);
    }

    /// Adds positions, quantized to 16 bits over their bounding box: half the size, with an error of at most 1/131,070
    /// of the box.
    pub fn quantized(&mut self, name: &'static str, values: &[Vec3]) {
        let (low, high) = bounds(values);
        let step = (high - low) / f32::from(u16::MAX);
        let number = |value: f32, step: f32| if step > 0.0 { (value / step).round() as u16 } else { 0 };
        let begin = self.bytes.len();
        for value in values {
            let above = *value - low;
            let numbers = [number(above.x, step.x), number(above.y, step.y), number(above.z, step.z)];
            self.bytes.extend(numbers.into_iter().flat_map(u16::to_le_bytes));
        }
        self.add(name, "u16", begin, 2, Some((low, step)));
    }

    fn add(&mut self, name: &'static str, r#type: &'static str, begin: usize, size: usize, box_: Option<(Vec3, Vec3)>) {
        let count = (self.bytes.len() - begin) / size;
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let (low, step) = (box_.map(|(low, _)| low.to_array()), box_.map(|(_, step)| step.to_array()));
        self.arrays.push(Array { name, r#type, count, offset: begin, low, step });
    }

    /// Returns the bundle as bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut text = serde_json::to_vec(&self.arrays).unwrap_or_default();
        text.resize(text.len().next_multiple_of(4), b' ');
        let mut bytes = Vec::with_capacity(12 + text.len() + self.bytes.len());
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text);
        bytes.extend(self.bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_and_lists_arrays() {
        let mut bundle = Bundle::default();
        bundle.quantized("frames", &[Vec3::ZERO, Vec3::new(1.0, 2.0, 0.0), Vec3::ONE * 0.5]);
        bundle.indices("triangles", [7, 8]);
        let bytes = bundle.into_bytes();
        let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize;
        let listed: serde_json::Value = serde_json::from_slice(&bytes[12..12 + length]).unwrap();
        assert_eq!((listed[0]["count"].as_u64(), listed[1]["offset"].as_u64()), (Some(9), Some(20)));
        let at = 12 + length + 20;
        assert_eq!(bytes[at..at + 8], [7, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(u16::from_le_bytes([bytes[12 + length + 6], bytes[12 + length + 7]]), u16::MAX);
    }
}
