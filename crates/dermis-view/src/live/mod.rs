//! Deformers that run in the server and stream positions, frame by frame, over a WebSocket.
//!
//! What cannot run on the page's GPU plugs in here: simulations, layers on top of a skin, sequences too large for
//! textures. The first message is JSON, a [`Hello`]. The page then asks, one frame at a time, so that a slow page never
//! drowns: `{"frame": 12}`, or `{"set": "rank", "value": 3}` to move a slider. The answer to a frame is binary, little
//! endian: `u32` frame, `u32` number of points, `u32` 1 where scalars follow, then `f32` positions and scalars.

mod posed;
mod recorded;
mod socket;

use dermis::mesh::SequenceError;
use dermis::mesh::glam::Vec3;
use serde::Serialize;

pub use posed::PosedSkin;
pub use recorded::RecordedFrames;
pub(crate) use socket::converse;

/// Something that gives positions frame by frame.
pub trait LiveDeformer: Send {
    /// The sliders that move it.
    fn parameters(&self) -> Vec<Parameter>;

    /// Moves the slider `name`, kept within its range; `false` where there is none of that name.
    fn set(&mut self, name: &str, value: f64) -> bool;

    /// The number of frames.
    fn frame_count(&self) -> usize;

    /// What the scalars of its frames mean, where they have any.
    fn scalar(&self) -> Option<Scalar>;

    /// The positions in frame `frame`, which is below [`LiveDeformer::frame_count`].
    fn pose(&mut self, frame: usize) -> Result<LiveFrame, SequenceError>;
}

/// A slider, as data.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the keys of the JSON, in words")]
pub struct Parameter {
    pub name: &'static str,
    pub label: &'static str,
    pub low: f64,
    pub high: f64,
    pub step: f64,
    pub value: f64,
}

/// What a value per point means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the keys of the JSON, in words")]
pub struct Scalar {
    pub label: &'static str,
    pub unit: String,
    /// Values of both signs, shown around 0.
    pub signed: bool,
}

/// The points in one frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LiveFrame {
    /// The positions.
    pub positions: Vec<Vec3>,
    /// A value per point, for a heat map.
    pub scalars: Option<Vec<f32>>,
}

/// The first message of a conversation.
#[derive(Debug, Serialize)]
struct Hello {
    points: usize,
    frames: usize,
    parameters: Vec<Parameter>,
    scalar: Option<Scalar>,
}

impl LiveFrame {
    fn into_bytes(self, frame: usize) -> Vec<u8> {
        let scalars = self.scalars.unwrap_or_default();
        let mut bytes = Vec::with_capacity(12 + 12 * self.positions.len() + 4 * scalars.len());
        for number in [frame, self.positions.len(), usize::from(!scalars.is_empty())] {
            bytes.extend((number as u32).to_le_bytes());
        }
        bytes.extend(self.positions.iter().flat_map(Vec3::to_array).flat_map(f32::to_le_bytes));
        bytes.extend(scalars.into_iter().flat_map(f32::to_le_bytes));
        bytes
    }
}
