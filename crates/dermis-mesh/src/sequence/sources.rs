//! Sources of frames: memory, a function, a selection, and resampling.

use std::fmt;
use std::sync::Arc;

use glam::Vec3;

use super::{FrameSource, SequenceError};

/// Frames in memory.
pub(super) struct MemoryFrames {
    pub(super) points: usize,
    pub(super) positions: Vec<Vec3>,
}

impl fmt::Debug for MemoryFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryFrames({} × {})", self.frame_count(), self.points)
    }
}

impl FrameSource for MemoryFrames {
    fn frame_count(&self) -> usize {
        self.positions.len() / self.points
    }

    fn point_count(&self) -> usize {
        self.points
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        out.copy_from_slice(&self.positions[frame * self.points..(frame + 1) * self.points]);
        Ok(())
    }

    fn as_slice(&self) -> Option<&[Vec3]> {
        Some(&self.positions)
    }
}

/// Frames that a function computes.
pub(super) struct ComputedFrames<F> {
    pub(super) frame_count: usize,
    pub(super) point_count: usize,
    pub(super) read: F,
}

impl<F> fmt::Debug for ComputedFrames<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ComputedFrames({} × {})", self.frame_count, self.point_count)
    }
}

impl<F: Fn(usize, &mut [Vec3]) -> Result<(), SequenceError> + Send + Sync> FrameSource for ComputedFrames<F> {
    fn frame_count(&self) -> usize {
        self.frame_count
    }

    fn point_count(&self) -> usize {
        self.point_count
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        (self.read)(frame, out)
    }
}

/// Every `step`-th frame from `start`.
#[derive(Debug)]
pub(super) struct Selection {
    pub(super) source: Arc<dyn FrameSource>,
    pub(super) start: usize,
    pub(super) step: usize,
    pub(super) count: usize,
}

impl FrameSource for Selection {
    fn frame_count(&self) -> usize {
        self.count
    }

    fn point_count(&self) -> usize {
        self.source.point_count()
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        self.source.read_into(self.start + frame * self.step, out)
    }

    fn as_slice(&self) -> Option<&[Vec3]> {
        let points = self.point_count();
        let all = self.source.as_slice().filter(|_| self.step == 1)?;
        Some(&all[self.start * points..(self.start + self.count) * points])
    }
}

/// Linear interpolation at multiples of `stride` frames.
#[derive(Debug)]
pub(super) struct Resampled {
    pub(super) source: Arc<dyn FrameSource>,
    pub(super) stride: f64,
    pub(super) count: usize,
}

impl FrameSource for Resampled {
    fn frame_count(&self) -> usize {
        self.count
    }

    fn point_count(&self) -> usize {
        self.source.point_count()
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let last = self.source.frame_count() - 1;
        let at = (frame as f64 * self.stride).min(last as f64);
        let before = at.floor() as usize;
        let t = (at - before as f64) as f32;
        self.source.read_into(before, out)?;
        // Times within rounding of a frame use that frame without blending.
        const SNAP: f32 = 1e-5;
        if t > SNAP && before < last {
            let mut after = vec![Vec3::ZERO; out.len()];
            self.source.read_into(before + 1, &mut after)?;
            let t = if t > 1.0 - SNAP { 1.0 } else { t };
            for (position, next) in out.iter_mut().zip(after) {
                *position = position.lerp(next, t);
            }
        }
        Ok(())
    }
}
