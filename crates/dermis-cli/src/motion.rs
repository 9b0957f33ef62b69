//! Formatting of motions: recorded frames and clips.

pub(crate) use dermis::inspect::MotionFacts;

use crate::numbers::{counted, seconds, short};

/// Text of a motion.
pub(crate) trait Words {
    /// `48 frames at 24 fps, 1.96 s`.
    fn words(&self) -> String;

    /// `clip 'walk' (48 frames at 24 fps, 1.96 s)`.
    fn titled(&self) -> String;
}

impl Words for MotionFacts {
    fn words(&self) -> String {
        let frames = counted(self.frames, "frame", "frames");
        format!("{frames} at {} fps, {}", short(self.fps), seconds(self.seconds))
    }

    fn titled(&self) -> String {
        format!("clip '{}' ({})", self.name, self.words())
    }
}
