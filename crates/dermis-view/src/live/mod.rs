//! Live deformers: deformers on the server that stream positions over a WebSocket, frame by frame.
//!
//! They implement deformations that the page cannot compute on the GPU: simulations, layers on top of a motion,
//! sequences too large for textures. The first message is a greeting in JSON, followed by a bundle if the deformer has
//! its own surface. The page then requests one frame at a time, so that a slow page is not overloaded: `{"frame": 12}`,
//! or `{"set": "rank", "value": 3}` to change a parameter. The response to a frame is a bundle: `frame`, `moment` (the
//! requested time in frames), `positions`, and optionally `scalars` and `segments` (two ends each), preceded by the state of the deformer: `{"status": "…"}`.
//!
//! A *continuous* deformer runs in real time: the page requests frames continuously, even while paused, and frame
//! numbers can be fractional. Soft bodies respond to interaction ([`Touch`]): `{"pull": {"point": 7, "target": [0, 1,
//! 0]}}`.

mod balls;
mod light;
mod posed;
mod recorded;
mod socket;
mod tissue;
mod touch;
mod volume;
mod wrinkle;

use std::sync::Arc;

use dermis::mesh::glam::Vec3;
use dermis::mesh::{SequenceError, TriMesh};
use dermis::tissue::layered::LayeredBody;
use serde::Serialize;

use crate::bundle::Bundle;

pub use balls::BouncingBalls;
pub use light::LitMotion;
pub use posed::PosedSkin;
pub use recorded::RecordedFrames;
pub(crate) use socket::{Stored, converse};
pub use tissue::SimulatedBody;
pub use touch::{Ball, Dab, Grip, Touch};
pub use volume::VolumeDeformer;
pub use wrinkle::WrinkleDeformer;

/// Source of positions, frame by frame.
pub trait LiveDeformer: Send {
    /// Its parameters.
    fn parameters(&self) -> Vec<Parameter>;

    /// Sets the parameter `name`, clamped to its range. Returns `false` if it does not exist.
    fn set(&mut self, name: &str, value: f64) -> bool;

    /// Number of frames.
    fn frame_count(&self) -> usize;

    /// Surface of its points; `None`: that of the asset.
    fn surface(&self) -> Option<Arc<TriMesh>> {
        None
    }

    /// Description of the scalars of its frames, if they have any.
    fn scalar(&self) -> Option<Scalar>;

    /// Positions in frame `frame`, which is below [`LiveDeformer::frame_count`].
    fn pose(&mut self, frame: usize) -> Result<LiveFrame, SequenceError>;

    /// Returns true if the deformer is continuous.
    fn continuous(&self) -> bool {
        false
    }

    /// Positions at `fraction` between frame `frame` and the next one; by default those of `frame`.
    fn pose_between(&mut self, frame: usize, _fraction: f64) -> Result<LiveFrame, SequenceError> {
        self.pose(frame)
    }

    /// Applies an interaction. Returns `false` if it is not supported or invalid.
    fn touch(&mut self, _touch: Touch) -> bool {
        false
    }

    /// The body in its current state, for saving.
    fn model(&mut self) -> Option<&LayeredBody> {
        None
    }
}

/// Slider or, with `choices`, a list whose value is the index of the selected entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct Parameter {
    pub name: &'static str,
    pub label: &'static str,
    pub low: f64,
    pub high: f64,
    pub step: f64,
    pub value: f64,
    pub choices: &'static [&'static str],
    /// True if equal distances on the slider are equal factors.
    pub logarithmic: bool,
}

impl Parameter {
    /// Creates a slider from `low` to `high`.
    pub fn slider(name: &'static str, label: &'static str, [low, high]: [f64; 2], step: f64, value: f64) -> Self {
        Self { name, label, low, high, step, value, choices: &[], logarithmic: false }
    }

    /// Creates a logarithmic slider from `low` to `high`, with `step` in powers of ten.
    pub fn factor(name: &'static str, label: &'static str, range: [f64; 2], step: f64, value: f64) -> Self {
        Self { logarithmic: true, ..Self::slider(name, label, range, step, value) }
    }

    /// Creates a list of `choices`, of which `chosen` is selected.
    pub fn choice(name: &'static str, label: &'static str, choices: &'static [&'static str], chosen: usize) -> Self {
        let last = choices.len().saturating_sub(1) as f64;
        let value = chosen as f64;
        Self { name, label, low: 0.0, high: last, step: 1.0, value, choices, logarithmic: false }
    }
}

/// Description of a value per point.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are the keys of the JSON")]
pub struct Scalar {
    pub label: &'static str,
    pub unit: String,
    /// True for values of both signs, shown symmetrically around 0.
    pub signed: bool,
    /// Range of the colours; `None`: that of the values.
    pub range: Option<[f32; 2]>,
}

/// Points in one frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LiveFrame {
    /// Positions.
    pub positions: Vec<Vec3>,
    /// Value per point, for a heat map.
    pub scalars: Vec<f32>,
    /// Lines to draw over the surface, two ends each.
    pub segments: Vec<[Vec3; 2]>,
    /// State of the deformer, for display.
    pub status: String,
}

/// First message of a connection.
#[derive(Debug, Serialize)]
struct Greeting {
    points: usize,
    frames: usize,
    /// True if the bundle of its own surface follows.
    surface: bool,
    continuous: bool,
    parameters: Vec<Parameter>,
    scalar: Option<Scalar>,
}

impl LiveFrame {
    /// Bundle of the frame at the time `at`, in frames.
    fn to_bytes(&self, at: f64) -> Vec<u8> {
        let mut bundle = Bundle::default();
        bundle.indices("frame", [at as u32]);
        bundle.floats("moment", [at as f32]);
        bundle.vectors("positions", &self.positions);
        bundle.floats("scalars", self.scalars.iter().copied());
        bundle.vectors("segments", self.segments.as_flattened());
        bundle.into_bytes()
    }
}
