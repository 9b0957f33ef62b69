//! Values of crates before version 0.7 that the `openusd` crate reads as if they were of a later version.
//!
//! Arrays begin with a 32-bit count until 0.6, and with a 32-bit rank before it until 0.4; other lists always begin
//! with a 64-bit count. The parser reads the times of time samples, which are such a list, as an array, and arrays of
//! texts as such a list. Here the times are appended as an array to which the time samples refer, and the counts of
//! texts of version 0.4 are rewritten in their eight bytes.

use std::collections::HashMap;

/// The last minor version whose arrays begin with a rank.
const LAST_WITH_RANK: u8 = 4;
/// The last minor version whose arrays have a 32-bit count.
const LAST_WITH_SHORT_COUNT: u8 = 6;
/// Type and flag of an array of doubles.
const ARRAY_OF_DOUBLES: u64 = 1 << 63 | 9 << 48;

/// Values to rewrite before the file is parsed.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Rewrites {
    has_rank: bool,
    /// Locations of the values that refer to times, with the offset of the list.
    times: Vec<(usize, u64)>,
    /// Offset and length of arrays of texts.
    texts: Vec<(usize, u32)>,
}

pub(super) fn has_rank(minor: u8) -> bool {
    minor <= LAST_WITH_RANK
}

pub(super) fn has_short_count(minor: u8) -> bool {
    minor <= LAST_WITH_SHORT_COUNT
}

impl Rewrites {
    pub(super) fn of_version(minor: u8) -> Self {
        Self { has_rank: has_rank(minor), ..Self::default() }
    }

    /// Times of the value at `location`, which refers to the list at `offset`; the list was checked.
    pub(super) fn add_times(&mut self, location: usize, offset: u64) {
        self.times.push((location, offset));
    }

    /// An array of `count` texts at `offset`, which begins with a rank.
    pub(super) fn add_texts(&mut self, offset: u64, count: u32) {
        self.texts.push((offset as usize, count));
    }

    /// The file as the parser expects it.
    pub(in super::super) fn applied(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for &(offset, count) in &self.texts {
            bytes[offset..offset + 8].copy_from_slice(&u64::from(count).to_le_bytes());
        }
        let mut moved = HashMap::new();
        for &(location, offset) in &self.times {
            let array = *moved.entry(offset).or_insert_with(|| self.append(&mut bytes, offset as usize));
            bytes[location..location + 8].copy_from_slice(&(ARRAY_OF_DOUBLES | array).to_le_bytes());
        }
        bytes
    }

    /// Appends the list at `offset` as an array; returns its offset.
    fn append(&self, bytes: &mut Vec<u8>, offset: usize) -> u64 {
        let count = u32::from_le_bytes([bytes[offset], bytes[offset + 1], bytes[offset + 2], bytes[offset + 3]]);
        let list = bytes[offset + 8..offset + 8 + 8 * count as usize].to_vec();
        let array = bytes.len() as u64;
        if self.has_rank {
            bytes.extend(1u32.to_le_bytes());
        }
        bytes.extend(count.to_le_bytes());
        bytes.extend(list);
        array
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dermis_math::progress::NoProgress;
    use dermis_mesh::{MeshSequence, Object, Scene, TriMesh};
    use glam::Vec3;

    use super::super::bytes::Cursor;
    use super::super::{fields, sections};
    use crate::budget::Budget;
    use crate::options::{ReadOptions, WriteOptions};

    /// A crate of version 0.8 without compressed arrays as one of version `minor`; only times and arrays differ.
    fn downgraded(mut bytes: Vec<u8>, minor: u8) -> Vec<u8> {
        let start = Cursor::at(&bytes, 16).unwrap().u64().unwrap();
        let sections = sections(&bytes, start).unwrap();
        let start = |name: &str| sections.iter().find(|(found, _)| found == name).unwrap().1;
        let tokens = super::super::tokens(&bytes, start("TOKENS"), &mut Budget::for_file(1 << 20)).unwrap();
        let mut values = fields(&bytes, start("FIELDS"), tokens.len(), &mut Budget::for_file(1 << 20)).unwrap();
        let u64_at = |bytes: &[u8], at: usize| Cursor::at(bytes, at as u64).unwrap().u64().unwrap();
        let offset = |value: u64| (value & ((1 << 48) - 1)) as usize;
        while let Some(value) = values.pop() {
            if value >> 48 == 46 {
                // Distance to the times, their value, distance to the samples, their count and values.
                let times = offset(value) + u64_at(&bytes, offset(value)) as usize;
                let samples = times + 8 + u64_at(&bytes, times + 8) as usize;
                values.extend((0..u64_at(&bytes, samples) as usize).map(|at| u64_at(&bytes, samples + 8 + 8 * at)));
            } else if value >> 63 == 1 && offset(value) != 0 {
                assert_eq!(value >> 61 & 3, 0, "an array is inlined or compressed");
                let count = bytes[offset(value)..offset(value) + 4].to_vec();
                if u64_at(&bytes, offset(value)) >> 32 == 0 {
                    bytes[offset(value)..offset(value) + 4].copy_from_slice(&1u32.to_le_bytes());
                    bytes[offset(value) + 4..offset(value) + 8].copy_from_slice(&count);
                }
            }
        }
        bytes[9] = minor;
        bytes
    }

    #[test]
    fn frames_of_version_0_4_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.usdc");
        let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]]).unwrap());
        let positions: Vec<Vec3> =
            (0..5).flat_map(|frame| mesh.points().iter().map(move |p| *p + Vec3::Z * frame as f32)).collect();
        let sequence = MeshSequence::new(mesh, positions, 24.0).unwrap();
        let scene = Scene { objects: vec![Object::of_sequence("m", sequence)], ..Scene::default() };
        crate::write(&path, &scene, &WriteOptions::default(), &NoProgress).unwrap();
        let bytes = downgraded(std::fs::read(&path).unwrap(), 4);
        let scene = crate::read_bytes("usdc", &bytes, &ReadOptions::default()).unwrap();
        let frames = scene.objects[0].sequence.as_ref().unwrap();
        assert_eq!((frames.frame_count(), frames.frame_rate_hz()), (5, 24.0));
        assert_eq!(frames.frame(4).unwrap()[1], Vec3::new(1.0, 0.0, 4.0));
        let error = crate::read_bytes("usdc", &downgraded(bytes, 3), &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains("version 0.3"), "{error}");
    }
}
