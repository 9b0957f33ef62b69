//! Deformers that run in the server and stream positions, frame by frame, over a WebSocket.
//!
//! What cannot run on the page's GPU plugs in here: simulations, layers on top of a motion, sequences too large for
//! textures. The first message is JSON, a greeting; where the deformer has a surface of its own, its bundle follows. The
//! page then asks, one frame at a time, so that a slow page never drowns: `{"frame": 12}`, or `{"set": "rank", "value": 3}`
//! to move a slider. The answer to a frame is a bundle: `frame`, `positions`, and where there are any `scalars` and
//! `segments` (two ends each); a deformer that has something to say of the frame says so before it: `{"status": "…"}`.
//!
//! A deformer that is *continuous* moves on by itself: the page asks again and again, also while nothing plays, and a
//! frame may have a fraction. What is soft can be touched ([`Touch`]): `{"pull": {"point": 7, "target": [0, 1, 0]}}`.

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

pub use posed::PosedSkin;
pub use recorded::RecordedFrames;
pub(crate) use socket::{Stored, converse};
pub use tissue::SimulatedBody;
pub use touch::{Ball, Dab, Grip, Touch};
pub use volume::KeptVolume;
pub use wrinkle::WrinkledCloth;

/// Something that gives positions frame by frame.
pub trait LiveDeformer: Send {
    /// The sliders that move it.
    fn parameters(&self) -> Vec<Parameter>;

    /// Moves the slider `name`, kept within its range; `false` where there is none of that name.
    fn set(&mut self, name: &str, value: f64) -> bool;

    /// The number of frames.
    fn frame_count(&self) -> usize;

    /// The surface whose points it gives; `None`: the asset's own.
    fn surface(&self) -> Option<Arc<TriMesh>> {
        None
    }

    /// What the scalars of its frames mean, where they have any.
    fn scalar(&self) -> Option<Scalar>;

    /// The positions in frame `frame`, which is below [`LiveDeformer::frame_count`].
    fn pose(&mut self, frame: usize) -> Result<LiveFrame, SequenceError>;

    /// Whether it moves on by itself.
    fn continuous(&self) -> bool {
        false
    }

    /// The positions `share` of the way from frame `frame` to the next; what has frames only gives the first of them.
    fn pose_between(&mut self, frame: usize, _share: f64) -> Result<LiveFrame, SequenceError> {
        self.pose(frame)
    }

    /// Touches it; `false` where it cannot be, or the touch makes no sense.
    fn touch(&mut self, _touch: Touch) -> bool {
        false
    }

    /// The body that it moves, as it would be saved now.
    fn model(&mut self) -> Option<&LayeredBody> {
        None
    }
}

/// A slider, as data; or, where it has `choices`, a list of them, and its value is the number of the one chosen.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the keys of the JSON, in words")]
pub struct Parameter {
    pub name: &'static str,
    pub label: &'static str,
    pub low: f64,
    pub high: f64,
    pub step: f64,
    pub value: f64,
    pub choices: &'static [&'static str],
    /// Whether equal ways of the slider are equal factors.
    pub logarithmic: bool,
}

impl Parameter {
    /// A slider from `low` to `high`.
    pub fn slider(name: &'static str, label: &'static str, [low, high]: [f64; 2], step: f64, value: f64) -> Self {
        Self { name, label, low, high, step, value, choices: &[], logarithmic: false }
    }

    /// A slider of factors from `low` to `high`, in `step`s of powers of ten.
    pub fn factor(name: &'static str, label: &'static str, range: [f64; 2], step: f64, value: f64) -> Self {
        Self { logarithmic: true, ..Self::slider(name, label, range, step, value) }
    }

    /// One of `choices`, of which `chosen` is.
    pub fn choice(name: &'static str, label: &'static str, choices: &'static [&'static str], chosen: usize) -> Self {
        let last = choices.len().saturating_sub(1) as f64;
        let value = chosen as f64;
        Self { name, label, low: 0.0, high: last, step: 1.0, value, choices, logarithmic: false }
    }
}

/// What a value per point means.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the keys of the JSON, in words")]
pub struct Scalar {
    pub label: &'static str,
    pub unit: String,
    /// Values of both signs, shown around 0.
    pub signed: bool,
    /// The ends of the colours; `None`: by the values.
    pub range: Option<[f32; 2]>,
}

/// The points in one frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LiveFrame {
    /// The positions.
    pub positions: Vec<Vec3>,
    /// A value per point, for a heat map.
    pub scalars: Vec<f32>,
    /// Lines to draw over the surface, two ends each.
    pub segments: Vec<[Vec3; 2]>,
    /// What there is to say of the frame.
    pub status: String,
}

/// The first message of a conversation.
#[derive(Debug, Serialize)]
struct Hello {
    points: usize,
    frames: usize,
    /// Whether the bundle of its own surface follows.
    surface: bool,
    continuous: bool,
    parameters: Vec<Parameter>,
    scalar: Option<Scalar>,
}

impl LiveFrame {
    fn to_bytes(&self, frame: usize) -> Vec<u8> {
        let mut bundle = Bundle::default();
        bundle.indices("frame", [frame as u32]);
        bundle.vectors("positions", &self.positions);
        bundle.floats("scalars", self.scalars.iter().copied());
        bundle.vectors("segments", self.segments.as_flattened());
        bundle.into_bytes()
    }
}
