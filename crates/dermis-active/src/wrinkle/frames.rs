//! Data from which the frames of a wrinkled cloth are computed when they are read.

use dermis_mesh::{MeshSequence, SequenceError};
use glam::Vec3;

use super::{Curves, Refined, Samples, WrinkleLayer};

/// Data from which frames are computed.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) layer: WrinkleLayer,
    pub(super) motion: MeshSequence,
    pub(super) shape: Shape,
}

/// Folds of all frames.
#[derive(Debug)]
pub(super) enum Shape {
    /// Curves, from which heights are computed anywhere on the cloth.
    Curves { curves: Vec<Curves>, samples: Samples },
    /// Heights of the refined points.
    Heights(StoredHeights),
}

/// Heights of the refined points in all frames, with 16 bits each.
#[derive(Debug)]
pub(super) struct StoredHeights {
    pub(super) refined: Refined,
    pub(super) max_height: f32,
    frames: Vec<StoredFrame>,
}

#[derive(Debug)]
struct StoredFrame {
    heights: Vec<i16>,
    /// Fraction of the smoothing of the cloth.
    smoothing: f32,
}

impl StoredHeights {
    pub(super) fn new(refined: Refined, max_height: f32) -> Self {
        Self { refined, max_height, frames: Vec::new() }
    }

    /// Adds the next frame.
    pub(super) fn push(&mut self, heights: &[f32], smoothing: f32) {
        let scale = f32::from(i16::MAX) / self.max_height;
        let heights = heights.iter().map(|height| (height * scale).round() as i16).collect();
        self.frames.push(StoredFrame { heights, smoothing });
    }

    /// Heights of the points of the refined cloth in `frame`.
    pub(super) fn heights(&self, frame: usize) -> Vec<f32> {
        let scale = self.max_height / f32::from(i16::MAX);
        self.frames[frame].heights.iter().map(|&height| f32::from(height) * scale).collect()
    }
}

impl Frames {
    /// Maximum height of a wrinkle.
    pub(super) fn max_height(&self) -> f32 {
        match &self.shape {
            Shape::Curves { .. } => self.layer.max_height(),
            Shape::Heights(stored) => stored.max_height,
        }
    }

    /// Writes the positions of `frame` to `out`.
    pub(super) fn read(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let positions = self.motion.frame(frame)?;
        match &self.shape {
            Shape::Curves { curves, samples } => {
                out.copy_from_slice(&self.layer.apply(&positions, &curves[frame], samples).positions);
            }
            Shape::Heights(stored) => {
                let mut base = self.layer.base(&positions, &stored.refined.locations);
                base.smooth_partly(stored.frames[frame].smoothing);
                out.copy_from_slice(&base.lifted(&stored.heights(frame)));
            }
        }
        Ok(())
    }
}
