//! What is said about a motion, alike for recorded frames and clips.

use dermis::mesh::{Clip, MeshSequence, Object};
use serde::Serialize;

use crate::numbers::{counted, seconds, short};

/// A clip, or recorded frames.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MotionFacts {
    /// The clip's name; empty for recorded frames.
    pub(crate) name: String,
    pub(crate) frames: usize,
    pub(crate) fps: f64,
    /// From the first frame to the last.
    pub(crate) seconds: f64,
}

impl MotionFacts {
    pub(crate) fn new(name: &str, frames: usize, fps: f64) -> Self {
        Self { name: name.to_owned(), frames, fps, seconds: frames.saturating_sub(1) as f64 / fps }
    }

    pub(crate) fn of_sequence(sequence: &MeshSequence) -> Self {
        Self::new("", sequence.frame_count(), sequence.frame_rate_hz())
    }

    pub(crate) fn of_clip(clip: &Clip) -> Self {
        Self::new(clip.name(), clip.frame_count(), clip.frame_rate_hz())
    }

    pub(crate) fn of_clips(object: &Object) -> Vec<Self> {
        object.clips.iter().map(|clip| Self::of_clip(clip)).collect()
    }

    /// `clip 'walk' (48 frames at 24 fps, 1.96 s)`.
    pub(crate) fn titled(&self) -> String {
        match self.name.as_str() {
            "" => format!("1 clip without a name ({})", self.words()),
            name => format!("clip '{name}' ({})", self.words()),
        }
    }

    /// `48 frames at 24 fps, 1.96 s`.
    pub(crate) fn words(&self) -> String {
        let frames = counted(self.frames, "frame", "frames");
        format!("{frames} at {} fps, {}", short(self.fps), seconds(self.seconds))
    }
}
