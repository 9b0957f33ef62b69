//! A clip: the transforms of a rig's joints and the weights of its shapes, frame by frame.

use glam::DAffine3;

use crate::rig::{Rig, RigError, expect_count};

/// The motion of a [`Rig`], sampled at a fixed rate.
///
/// Transforms take joint space to the space in which posed points live (the file's world), so skinning is
/// `Σ w · transform · inverse_bind · point`. They are f64: chains of joints are multiplied and inverted.
#[derive(Debug, Clone, PartialEq)]
pub struct Clip {
    name: String,
    frame_rate_hz: f64,
    start_seconds: f64,
    joint_count: usize,
    shape_count: usize,
    transforms: Vec<DAffine3>,
    shape_weights: Vec<f32>,
}

impl Clip {
    /// A clip of `rig`: for each frame, a transform per joint and a weight per shape, frames in a row.
    pub fn new(
        rig: &Rig,
        name: impl Into<String>,
        frame_rate_hz: f64,
        transforms: Vec<DAffine3>,
        shape_weights: Vec<f32>,
    ) -> Result<Self, RigError> {
        let name = name.into();
        let (joint_count, shape_count) = (rig.joints().len(), rig.shapes().len());
        if !(frame_rate_hz.is_finite() && frame_rate_hz > 0.0) {
            return Err(RigError::FrameRate(frame_rate_hz));
        }
        let frames = transforms.len().checked_div(joint_count).or(shape_weights.len().checked_div(shape_count));
        let frames = frames.filter(|&frames| frames > 0).ok_or_else(|| RigError::NoFrames(name.clone()))?;
        expect_count("joint transforms", transforms.len(), frames * joint_count)?;
        expect_count("shape weights", shape_weights.len(), frames * shape_count)?;
        let not_finite = |what, at: usize, count: usize| {
            let (frame, index) = (at / count, at % count);
            RigError::ClipNotFinite { clip: name.clone(), frame, what, index }
        };
        if let Some(at) = transforms.iter().position(|transform| !transform.is_finite()) {
            return Err(not_finite("joint transform", at, joint_count));
        }
        if let Some(at) = shape_weights.iter().position(|weight| !weight.is_finite()) {
            return Err(not_finite("shape weight", at, shape_count));
        }
        Ok(Self { name, frame_rate_hz, start_seconds: 0.0, joint_count, shape_count, transforms, shape_weights })
    }

    /// The same clip, its first frame at `start_seconds` on the file's clock.
    pub fn starting_at(mut self, start_seconds: f64) -> Self {
        self.start_seconds = start_seconds;
        self
    }

    /// The clip's name; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Frames per second.
    pub fn frame_rate_hz(&self) -> f64 {
        self.frame_rate_hz
    }

    /// When the first frame stands on the clock of the file that it came from.
    pub fn start_seconds(&self) -> f64 {
        self.start_seconds
    }

    /// The number of frames.
    pub fn frame_count(&self) -> usize {
        self.transforms
            .len()
            .checked_div(self.joint_count)
            .unwrap_or_else(|| self.shape_weights.len() / self.shape_count)
    }

    /// The transforms of all joints in one frame.
    pub fn transforms(&self, frame: usize) -> &[DAffine3] {
        &self.transforms[frame * self.joint_count..(frame + 1) * self.joint_count]
    }

    /// The weights of all shapes in one frame.
    pub fn shape_weights(&self, frame: usize) -> &[f32] {
        &self.shape_weights[frame * self.shape_count..(frame + 1) * self.shape_count]
    }

    /// The frames `start`, `start + step`, … below `end`. The rate is divided by the step.
    pub fn select(&self, start: usize, end: usize, step: usize) -> Result<Self, RigError> {
        let end = end.min(self.frame_count());
        if start >= end || step == 0 {
            return Err(RigError::NoFrames(self.name.clone()));
        }
        let frames = || (start..end).step_by(step);
        Ok(Self {
            name: self.name.clone(),
            frame_rate_hz: self.frame_rate_hz / step as f64,
            start_seconds: self.start_seconds + start as f64 / self.frame_rate_hz,
            transforms: frames().flat_map(|frame| self.transforms(frame).iter().copied()).collect(),
            shape_weights: frames().flat_map(|frame| self.shape_weights(frame).iter().copied()).collect(),
            ..*self
        })
    }

    /// The same frames played at another rate.
    pub fn with_frame_rate(mut self, frame_rate_hz: f64) -> Result<Self, RigError> {
        if !(frame_rate_hz.is_finite() && frame_rate_hz > 0.0) {
            return Err(RigError::FrameRate(frame_rate_hz));
        }
        self.frame_rate_hz = frame_rate_hz;
        Ok(self)
    }
}
