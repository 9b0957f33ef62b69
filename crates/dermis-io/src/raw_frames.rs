//! Frames stored as plain numbers: x, y, z of every point, frame after frame.
//!
//! If the numbers are aligned little-endian f32 in memory, the bytes of the file are used as positions without copying.
//! Everything else is converted one frame at a time; a mapped file, which can be larger than memory, is read frame by
//! frame.

use std::fmt;
use std::sync::OnceLock;

use dermis_mesh::sequence::{FrameSource, SequenceError};
use dermis_mesh::tri_mesh::first_not_finite;
use glam::Vec3;
use rayon::prelude::*;

use crate::error::Error;
use crate::mapped::Mapped;

/// Up to this size all frames are checked at once and then borrowed without conversion; larger data is checked frame by
/// frame, so that the first frame is available before the whole file is checked.
const MAX_CHECKED_AT_ONCE: usize = 4 << 30;
/// Points that one task checks.
const CHECKED_POINTS: usize = 1 << 16;

/// Encoding of a coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub(crate) enum Scalar {
    F32Little,
    F32Big,
    F64Little,
    F64Big,
}

impl Scalar {
    fn bytes(self) -> usize {
        match self {
            Self::F32Little | Self::F32Big => 4,
            Self::F64Little | Self::F64Big => 8,
        }
    }
}

/// A [`FrameSource`] over a part of a file.
pub(crate) struct RawFrames {
    bytes: Mapped,
    start: usize,
    frame_count: usize,
    point_count: usize,
    scalar: Scalar,
    finite: OnceLock<bool>,
}

impl RawFrames {
    /// The `frame_count` × `point_count` positions that begin at byte `start`; the file must contain all of them.
    pub(crate) fn new(
        bytes: Mapped,
        start: usize,
        frame_count: usize,
        point_count: usize,
        scalar: Scalar,
    ) -> Result<Self, Error> {
        let available = bytes.len().saturating_sub(start);
        let needed = [frame_count, point_count, 3, scalar.bytes()]
            .into_iter()
            .try_fold(1usize, usize::checked_mul)
            .filter(|&needed| needed <= available);
        if needed.is_none() {
            let needed = frame_count as u64 as f64 * point_count as f64 * (3 * scalar.bytes()) as f64;
            let what = format!("{frame_count} frames of {point_count} points");
            return Err(Error::truncated(what, needed as u64, available as u64));
        }
        Ok(Self { bytes, start, frame_count, point_count, scalar, finite: OnceLock::new() })
    }

    fn as_stored(&self) -> Option<&[Vec3]> {
        // Other programs can change the bytes of a mapped file, so they are not borrowed.
        if self.scalar != Scalar::F32Little || cfg!(target_endian = "big") || !self.bytes.is_private() {
            return None;
        }
        let length = self.frame_count * self.point_count * size_of::<Vec3>();
        bytemuck::try_cast_slice(&self.bytes[self.start..self.start + length]).ok()
    }
}

impl fmt::Debug for RawFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawFrames({} × {} {:?})", self.frame_count, self.point_count, self.scalar)
    }
}

impl FrameSource for RawFrames {
    fn frame_count(&self) -> usize {
        self.frame_count
    }

    fn point_count(&self) -> usize {
        self.point_count
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let frame_bytes = self.point_count * 3 * self.scalar.bytes();
        let start = self.start + frame * frame_bytes;
        let bytes = self.bytes.read_at(start, frame_bytes).map_err(|error| error.of_frame(frame))?;
        let bytes = &*bytes;
        let out: &mut [f32] = bytemuck::cast_slice_mut(out);
        match self.scalar {
            Scalar::F32Little => convert(bytes, out, f32::from_le_bytes),
            Scalar::F32Big => convert(bytes, out, f32::from_be_bytes),
            Scalar::F64Little => convert(bytes, out, |number| f64::from_le_bytes(number) as f32),
            Scalar::F64Big => convert(bytes, out, |number| f64::from_be_bytes(number) as f32),
        }
        Ok(())
    }

    fn as_slice(&self) -> Option<&[Vec3]> {
        let positions = self.as_stored().filter(|all| size_of_val(*all) <= MAX_CHECKED_AT_ONCE)?;
        let all_finite = || positions.par_chunks(CHECKED_POINTS).all(|chunk| first_not_finite(chunk).is_none());
        self.finite.get_or_init(all_finite).then_some(positions)
    }
}

fn convert<const K: usize>(bytes: &[u8], out: &mut [f32], number: impl Fn([u8; K]) -> f32) {
    let (stored, _) = bytes.as_chunks::<K>();
    for (out, stored) in out.iter_mut().zip(stored) {
        *out = number(*stored);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(numbers: &[f32], shift: usize, scalar: Scalar) -> RawFrames {
        let mut bytes = vec![0; shift];
        for number in numbers {
            match scalar {
                Scalar::F32Little => bytes.extend(number.to_le_bytes()),
                Scalar::F32Big => bytes.extend(number.to_be_bytes()),
                Scalar::F64Little => bytes.extend(f64::from(*number).to_le_bytes()),
                Scalar::F64Big => bytes.extend(f64::from(*number).to_be_bytes()),
            }
        }
        RawFrames::new(Mapped::of_bytes(bytes), shift, 2, numbers.len() / 6, scalar).unwrap()
    }

    #[test]
    fn every_encoding_yields_the_same_positions() {
        let numbers: Vec<f32> = (0..12).map(|k| k as f32 * 0.5 - 2.0).collect();
        for scalar in [Scalar::F32Little, Scalar::F32Big, Scalar::F64Little, Scalar::F64Big] {
            for shift in [0, 3, 8] {
                let mut out = [Vec3::ZERO; 2];
                frames(&numbers, shift, scalar).read_into(1, &mut out).unwrap();
                assert_eq!(out, [Vec3::new(1.0, 1.5, 2.0), Vec3::new(2.5, 3.0, 3.5)], "{scalar:?} at {shift}");
            }
        }
    }

    #[test]
    fn only_finite_aligned_numbers_are_borrowed() {
        let mut numbers = vec![1.0; 6];
        assert!(frames(&numbers, 8, Scalar::F32Little).as_slice().is_some());
        assert!(frames(&numbers, 7, Scalar::F32Little).as_slice().is_none());
        numbers[4] = f32::NAN;
        assert!(frames(&numbers, 8, Scalar::F32Little).as_slice().is_none());
    }

    #[test]
    fn rejects_more_frames_than_the_file_contains() {
        let bytes = || Mapped::of_bytes(vec![0; 100]);
        assert!(RawFrames::new(bytes(), 90, 1, 1, Scalar::F32Little).is_err());
        assert!(RawFrames::new(bytes(), 0, usize::MAX, usize::MAX, Scalar::F64Big).is_err());
        assert!(RawFrames::new(bytes(), 200, 1, 0, Scalar::F32Little).is_ok());
    }
}
