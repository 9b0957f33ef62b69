//! Frames that are read on request: recorded ones that exceed the textures of the page, or those of a rig with the
//! layers of its file.

use dermis::mesh::{MeshSequence, SequenceError};

use super::{LiveDeformer, LiveFrame, Parameter, Scalar};

/// Streams a sequence, with the speed of its points.
#[derive(Debug)]
pub struct RecordedFrames {
    sequence: MeshSequence,
    unit: String,
}

impl RecordedFrames {
    /// Creates the deformer for `sequence`, whose unit of length is `unit`.
    pub fn new(sequence: MeshSequence, unit: &str) -> Self {
        Self { sequence, unit: format!("{unit}/s") }
    }
}

impl LiveDeformer for RecordedFrames {
    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }

    fn set(&mut self, _name: &str, _value: f64) -> bool {
        false
    }

    fn frame_count(&self) -> usize {
        self.sequence.frame_count()
    }

    fn scalar(&self) -> Option<Scalar> {
        Some(Scalar { label: "speed", unit: self.unit.clone(), signed: false, range: None })
    }

    fn pose(&mut self, frame: usize) -> Result<LiveFrame, SequenceError> {
        let positions = self.sequence.frame(frame)?.into_owned();
        let before = self.sequence.frame(frame.saturating_sub(1))?;
        let rate = self.sequence.frame_rate_hz() as f32;
        let speed = positions.iter().zip(before.iter()).map(|(now, before)| now.distance(*before) * rate).collect();
        Ok(LiveFrame { positions, scalars: speed, ..LiveFrame::default() })
    }
}
