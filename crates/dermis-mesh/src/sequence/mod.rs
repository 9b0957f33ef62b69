//! Mesh sequences: one topology, a rest pose, and the positions of all points in each frame.
//!
//! Frames are provided by a [`FrameSource`]: memory, a mapped file, or a reader that loads one frame at a time, so a
//! sequence can be larger than memory. Code that needs all frames at once calls [`MeshSequence::load`]; code that
//! processes them one by one calls [`MeshSequence::frame`].

mod sources;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use glam::Vec3;

use crate::tri_mesh::{TriMesh, first_not_finite};

use sources::{ComputedFrames, MemoryFrames, Resampled, Selection};

/// Frame rate assumed if a file states none.
pub const DEFAULT_FRAME_RATE_HZ: f64 = 24.0;

/// Source of frames. Reading a frame twice must yield the same positions.
pub trait FrameSource: fmt::Debug + Send + Sync {
    /// Number of frames.
    fn frame_count(&self) -> usize;

    /// Number of points in every frame.
    fn point_count(&self) -> usize;

    /// Copies the positions of `frame` into `out`, which has exactly [`FrameSource::point_count`] elements.
    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError>;

    /// Positions of all frames, concatenated, if they are in memory (or mapped) and known to be finite.
    fn as_slice(&self) -> Option<&[Vec3]> {
        None
    }
}

/// Invalid or unreadable frames.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SequenceError {
    /// The sequence is empty.
    #[error("the sequence has no frames")]
    NoFrames,
    /// The number of points of a frame differs from that of the mesh.
    #[error("frame {frame} has {found} points, but the mesh has {expected}")]
    PointCount {
        /// The offending frame.
        frame: usize,
        /// Its number of points.
        found: usize,
        /// The number of points of the mesh.
        expected: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("frame {frame}: point {point} has a non-finite coordinate ({position})")]
    NotFinite {
        /// The offending frame.
        frame: usize,
        /// The offending point.
        point: usize,
        /// Its position.
        position: Vec3,
    },
    /// The frame rate is not positive and finite.
    #[error("invalid frame rate {0} fps: it must be positive and finite")]
    FrameRate(f64),
    /// The frames do not fit into memory.
    #[error("{frames} frames of {points} points do not fit into memory")]
    TooLarge {
        /// The number of frames.
        frames: usize,
        /// The number of points per frame.
        points: usize,
    },
    /// A frame index is out of range.
    #[error("frame {frame} does not exist: the sequence has {count} frames")]
    NoSuchFrame {
        /// The requested frame.
        frame: usize,
        /// Number of frames.
        count: usize,
    },
    /// The source of the frames failed.
    #[error("frame {frame} cannot be read")]
    Source {
        /// The requested frame.
        frame: usize,
        /// The underlying error.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// One topology, a rest pose, S frames of N positions and a frame rate.
#[derive(Debug, Clone)]
pub struct MeshSequence {
    mesh: Arc<TriMesh>,
    frames: Arc<dyn FrameSource>,
    frame_rate_hz: f64,
    start_seconds: f64,
    name: Arc<str>,
}

impl MeshSequence {
    /// Creates a sequence in memory: `positions` are the concatenated frames, each with all points of `mesh`.
    pub fn new(mesh: Arc<TriMesh>, positions: Vec<Vec3>, frame_rate_hz: f64) -> Result<Self, SequenceError> {
        let points = mesh.point_count();
        if points == 0 || positions.is_empty() {
            return Err(SequenceError::NoFrames);
        }
        let last = positions.len() % points;
        if last != 0 {
            let frame = positions.len() / points;
            return Err(SequenceError::PointCount { frame, found: last, expected: points });
        }
        if let Some(at) = first_not_finite(&positions) {
            let (frame, point, position) = (at / points, at % points, positions[at]);
            return Err(SequenceError::NotFinite { frame, point, position });
        }
        Self::from_source(mesh, Arc::new(MemoryFrames { points, positions }), frame_rate_hz)
    }

    /// Creates a sequence whose frames are loaded on demand.
    ///
    /// # Panics
    /// If the slice of `frames` does not contain all points of all frames.
    pub fn from_source(
        mesh: Arc<TriMesh>,
        frames: Arc<dyn FrameSource>,
        frame_rate_hz: f64,
    ) -> Result<Self, SequenceError> {
        if frames.frame_count() == 0 {
            return Err(SequenceError::NoFrames);
        }
        if frames.point_count() != mesh.point_count() {
            let (found, expected) = (frames.point_count(), mesh.point_count());
            return Err(SequenceError::PointCount { frame: 0, found, expected });
        }
        if let Some(all) = frames.as_slice() {
            assert_eq!(all.len(), frames.frame_count() * frames.point_count(), "the slice must contain all frames");
        }
        if !(frame_rate_hz.is_finite() && frame_rate_hz > 0.0) {
            return Err(SequenceError::FrameRate(frame_rate_hz));
        }
        Ok(Self { mesh, frames, frame_rate_hz, start_seconds: 0.0, name: Arc::default() })
    }

    /// Creates a sequence of `frame_count` frames that `read` computes on demand. `read` must return the same positions
    /// for the same frame.
    pub fn from_fn(
        mesh: Arc<TriMesh>,
        frame_count: usize,
        frame_rate_hz: f64,
        read: impl Fn(usize, &mut [Vec3]) -> Result<(), SequenceError> + Send + Sync + 'static,
    ) -> Result<Self, SequenceError> {
        let point_count = mesh.point_count();
        Self::from_source(mesh, Arc::new(ComputedFrames { frame_count, point_count, read }), frame_rate_hz)
    }

    /// Returns the same motion with `change` applied to each frame after it has been read.
    pub fn map(
        &self,
        change: impl Fn(usize, &mut [Vec3]) -> Result<(), SequenceError> + Send + Sync + 'static,
    ) -> Result<Self, SequenceError> {
        let below = self.clone();
        let read = move |frame: usize, out: &mut [Vec3]| {
            below.read_into(frame, out)?;
            change(frame, out)
        };
        let sequence = Self::from_fn(Arc::clone(&self.mesh), self.frame_count(), self.frame_rate_hz, read)?;
        Ok(sequence.timed_like(self))
    }

    /// The same sequence under another name.
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Name of the motion, such as that of a clip or a file; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same frames with the start and the name of `other`.
    fn timed_like(self, other: &Self) -> Self {
        self.starting_at(other.start_seconds).named(Arc::clone(&other.name))
    }

    /// Sets the time of the first frame on the clock of the file; 0 if `start_seconds` is not finite.
    pub fn starting_at(mut self, start_seconds: f64) -> Self {
        self.start_seconds = if start_seconds.is_finite() { start_seconds } else { 0.0 };
        self
    }

    /// Topology and rest pose.
    pub fn mesh(&self) -> &Arc<TriMesh> {
        &self.mesh
    }

    /// The same frames with another rest pose or layout of the same points.
    pub fn with_mesh(&self, mesh: Arc<TriMesh>) -> Result<Self, SequenceError> {
        Ok(Self::from_source(mesh, Arc::clone(&self.frames), self.frame_rate_hz)?.timed_like(self))
    }

    /// The same frames at another frame rate.
    pub fn with_frame_rate(&self, frame_rate_hz: f64) -> Result<Self, SequenceError> {
        Ok(Self::from_source(Arc::clone(&self.mesh), Arc::clone(&self.frames), frame_rate_hz)?.timed_like(self))
    }

    /// Number of frames S.
    pub fn frame_count(&self) -> usize {
        self.frames.frame_count()
    }

    /// Number of points N.
    pub fn point_count(&self) -> usize {
        self.mesh.point_count()
    }

    /// Frames per second.
    pub fn frame_rate_hz(&self) -> f64 {
        self.frame_rate_hz
    }

    /// Time of the first frame on the clock of the source file.
    pub fn start_seconds(&self) -> f64 {
        self.start_seconds
    }

    /// Positions of all frames, concatenated, if they are in memory or mapped.
    pub fn positions(&self) -> Option<&[Vec3]> {
        self.frames.as_slice()
    }

    /// Positions of one frame: borrowed if they are in memory, otherwise read.
    pub fn frame(&self, frame: usize) -> Result<Cow<'_, [Vec3]>, SequenceError> {
        let points = self.point_count();
        if let Some(all) = self.frames.as_slice() {
            self.check_frame(frame)?;
            return Ok(Cow::Borrowed(&all[frame * points..(frame + 1) * points]));
        }
        let mut positions = vec![Vec3::ZERO; points];
        self.read_into(frame, &mut positions)?;
        Ok(Cow::Owned(positions))
    }

    /// Copies the positions of one frame into `out`.
    ///
    /// # Panics
    /// If the length of `out` is not N.
    pub fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        assert_eq!(out.len(), self.point_count(), "the buffer must hold exactly one frame");
        self.check_frame(frame)?;
        self.frames.read_into(frame, out)?;
        match first_not_finite(out) {
            Some(point) => Err(SequenceError::NotFinite { frame, point, position: out[point] }),
            None => Ok(()),
        }
    }

    /// The same sequence with all frames in memory.
    pub fn load(&self) -> Result<Self, SequenceError> {
        if self.frames.as_slice().is_some() {
            return Ok(self.clone());
        }
        let (frames, points) = (self.frame_count(), self.point_count());
        let too_large = || SequenceError::TooLarge { frames, points };
        let count = frames.checked_mul(points).ok_or_else(too_large)?;
        let mut positions = Vec::new();
        positions.try_reserve_exact(count).map_err(|_| too_large())?;
        positions.resize(count, Vec3::ZERO);
        for (frame, out) in positions.chunks_exact_mut(points.max(1)).enumerate() {
            self.read_into(frame, out)?;
        }
        Ok(Self::new(Arc::clone(&self.mesh), positions, self.frame_rate_hz)?.timed_like(self))
    }

    /// Frames `start`, `start + step`, … below `end`, without copying. The frame rate is divided by `step`.
    pub fn select(&self, start: usize, end: usize, step: usize) -> Result<Self, SequenceError> {
        let end = end.min(self.frame_count());
        if start >= end || step == 0 {
            return Err(SequenceError::NoFrames);
        }
        if start == 0 && end == self.frame_count() && step == 1 {
            return Ok(self.clone());
        }
        let frames = Selection { source: Arc::clone(&self.frames), start, step, count: (end - start).div_ceil(step) };
        let start_seconds = self.start_seconds + start as f64 / self.frame_rate_hz;
        let rate = self.frame_rate_hz / step as f64;
        let sequence = Self::from_source(Arc::clone(&self.mesh), Arc::new(frames), rate)?.timed_like(self);
        Ok(sequence.starting_at(start_seconds))
    }

    /// The same motion at another frame rate; positions are interpolated linearly between frames.
    pub fn resample(&self, frame_rate_hz: f64) -> Result<Self, SequenceError> {
        if !(frame_rate_hz.is_finite() && frame_rate_hz > 0.0) {
            return Err(SequenceError::FrameRate(frame_rate_hz));
        }
        let stride = self.frame_rate_hz / frame_rate_hz;
        let last = (self.frame_count() - 1) as f64;
        // A frame that exceeds the end only by a rounding error is kept.
        let count = (last / stride + 1e-6).floor() + 1.0;
        if !(stride.is_finite() && count <= f64::from(u32::MAX)) {
            return Err(SequenceError::FrameRate(frame_rate_hz));
        }
        let count = count as usize;
        let frames = Resampled { source: Arc::clone(&self.frames), stride, count };
        Ok(Self::from_source(Arc::clone(&self.mesh), Arc::new(frames), frame_rate_hz)?.timed_like(self))
    }

    fn check_frame(&self, frame: usize) -> Result<(), SequenceError> {
        let count = self.frame_count();
        if frame < count { Ok(()) } else { Err(SequenceError::NoSuchFrame { frame, count }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(frames: usize) -> MeshSequence {
        let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO; 2], vec![]).unwrap());
        let positions = (0..frames).flat_map(|s| [Vec3::splat(s as f32), Vec3::X]).collect();
        MeshSequence::new(mesh, positions, 24.0).unwrap()
    }

    #[test]
    fn rejects_a_non_finite_frame() {
        let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO; 2], vec![]).unwrap());
        let mut positions = vec![Vec3::ZERO; 6];
        positions[3].z = f32::INFINITY;
        let error = MeshSequence::new(mesh, positions, 24.0).unwrap_err();
        assert!(matches!(error, SequenceError::NotFinite { frame: 1, point: 1, .. }), "{error}");
    }

    #[test]
    fn rejects_an_incomplete_frame() {
        let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO; 2], vec![]).unwrap());
        let error = MeshSequence::new(mesh, vec![Vec3::ZERO; 5], 24.0).unwrap_err();
        assert!(matches!(error, SequenceError::PointCount { frame: 2, found: 1, expected: 2 }), "{error}");
    }

    #[test]
    fn selects_frames_like_a_python_slice() {
        let selected = counting(10).select(1, 8, 3).unwrap();
        let firsts: Vec<f32> = (0..selected.frame_count()).map(|s| selected.frame(s).unwrap()[0].x).collect();
        assert_eq!(firsts, [1.0, 4.0, 7.0]);
        assert_eq!(selected.frame_rate_hz(), 8.0);
        assert_eq!(selected.load().unwrap().positions().unwrap().len(), 6);
        assert!(counting(10).select(8, 8, 1).is_err());
    }

    #[test]
    fn resampling_keeps_coinciding_frames_and_interpolates_the_others() {
        let doubled = counting(3).resample(48.0).unwrap();
        let firsts: Vec<f32> = (0..doubled.frame_count()).map(|s| doubled.frame(s).unwrap()[0].x).collect();
        assert_eq!(firsts, [0.0, 0.5, 1.0, 1.5, 2.0]);
        assert_eq!(counting(25).resample(30.0).unwrap().frame_count(), 31);
    }

    #[test]
    fn rejects_resampling_to_an_extreme_rate() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, f64::from_bits(1)] {
            let error = counting(3).resample(rate).unwrap_err();
            assert!(matches!(error, SequenceError::FrameRate(_)), "{rate}: {error}");
        }
    }

    #[test]
    fn loading_more_frames_than_memory_is_an_error() {
        #[derive(Debug)]
        struct Endless;
        impl FrameSource for Endless {
            fn frame_count(&self) -> usize {
                usize::MAX / 16
            }
            fn point_count(&self) -> usize {
                2
            }
            fn read_into(&self, _frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
                out.fill(Vec3::ONE);
                Ok(())
            }
        }
        let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO; 2], vec![]).unwrap());
        let sequence = MeshSequence::from_source(mesh, Arc::new(Endless), 24.0).unwrap();
        assert!(matches!(sequence.load(), Err(SequenceError::TooLarge { .. })));
        assert_eq!(sequence.frame(usize::MAX / 17).unwrap()[1], Vec3::ONE);
        assert!(sequence.select(5, usize::MAX, usize::MAX).unwrap().load().is_ok());
    }

    #[test]
    fn a_selection_starts_at_the_time_of_its_first_frame() {
        let selected = counting(10).starting_at(2.0).select(6, 10, 2).unwrap();
        assert_eq!((selected.start_seconds(), selected.frame_rate_hz()), (2.25, 12.0));
        assert_eq!(counting(2).starting_at(f64::NAN).start_seconds(), 0.0);
    }

    #[test]
    fn reports_a_non_finite_frame_of_a_streamed_source() {
        #[derive(Debug)]
        struct Broken;
        impl FrameSource for Broken {
            fn frame_count(&self) -> usize {
                3
            }
            fn point_count(&self) -> usize {
                2
            }
            fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
                out.fill(if frame == 2 { Vec3::NAN } else { Vec3::ZERO });
                Ok(())
            }
        }
        let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO; 2], vec![]).unwrap());
        let sequence = MeshSequence::from_source(mesh, Arc::new(Broken), 24.0).unwrap();
        assert!(sequence.frame(1).is_ok());
        assert!(matches!(sequence.load(), Err(SequenceError::NotFinite { frame: 2, point: 0, .. })));
    }

    #[test]
    fn rejects_a_frame_index_out_of_range() {
        assert!(matches!(counting(3).frame(3), Err(SequenceError::NoSuchFrame { frame: 3, count: 3 })));
    }
}
