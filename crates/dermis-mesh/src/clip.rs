//! Clips: joint transforms and shape weights of a rig over time.

use std::sync::Arc;

use glam::DAffine3;

use crate::rig::{Rig, RigError, expect_length, is_usable};

/// Motion of a [`Rig`], sampled at a fixed rate.
///
/// Transforms map joint space to the space of posed points (the world space of the file), so skinning is
/// `Σ w · transform · inverse_bind · point`. They are f64 because chains of joints are multiplied and inverted.
#[derive(Debug, Clone, PartialEq)]
pub struct Clip {
    name: String,
    frame_rate_hz: f64,
    start_seconds: f64,
    joint_count: usize,
    shape_count: usize,
    /// Shared by the clips of rigs on one skeleton.
    transforms: Arc<Vec<DAffine3>>,
    shape_weights: Vec<f32>,
}

impl Clip {
    /// Creates a clip of `rig`: a transform per joint and a weight per shape for each frame, frames concatenated.
    pub fn new(
        rig: &Rig,
        name: impl Into<String>,
        frame_rate_hz: f64,
        transforms: Vec<DAffine3>,
        shape_weights: Vec<f32>,
    ) -> Result<Self, RigError> {
        Self::sharing(rig, name, frame_rate_hz, Arc::new(transforms), shape_weights)
    }

    /// Like [`Clip::new`], with joint transforms that the clips of other rigs share.
    pub fn sharing(
        rig: &Rig,
        name: impl Into<String>,
        frame_rate_hz: f64,
        transforms: Arc<Vec<DAffine3>>,
        shape_weights: Vec<f32>,
    ) -> Result<Self, RigError> {
        let name = name.into();
        let (joint_count, shape_count) = (rig.joints().len(), rig.shapes().len());
        if !(frame_rate_hz.is_finite() && frame_rate_hz > 0.0) {
            return Err(RigError::FrameRate(frame_rate_hz));
        }
        let frames = transforms.len().checked_div(joint_count).or(shape_weights.len().checked_div(shape_count));
        let frames = frames.filter(|&frames| frames > 0).ok_or_else(|| RigError::NoFrames(name.clone()))?;
        expect_length("joint transforms", transforms.len(), frames * joint_count)?;
        expect_length("shape weights", shape_weights.len(), frames * shape_count)?;
        let not_finite = |what, at: usize, count: usize| {
            let (frame, index) = (at / count, at % count);
            RigError::ClipNotFinite { clip: name.clone(), frame, what, index }
        };
        if let Some(at) = transforms.iter().position(|transform| !is_usable(transform)) {
            return Err(not_finite("joint transform", at, joint_count));
        }
        if let Some(at) = shape_weights.iter().position(|weight| !weight.is_finite()) {
            return Err(not_finite("shape weight", at, shape_count));
        }
        Ok(Self { name, frame_rate_hz, start_seconds: 0.0, joint_count, shape_count, transforms, shape_weights })
    }

    /// Sets the time of the first frame on the clock of the file; 0 if `start_seconds` is not finite.
    pub fn starting_at(mut self, start_seconds: f64) -> Self {
        self.start_seconds = if start_seconds.is_finite() { start_seconds } else { 0.0 };
        self
    }

    /// The same clip under another name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Name of the clip; possibly empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Frames per second.
    pub fn frame_rate_hz(&self) -> f64 {
        self.frame_rate_hz
    }

    /// Time of the first frame on the clock of the source file.
    pub fn start_seconds(&self) -> f64 {
        self.start_seconds
    }

    /// Number of frames.
    pub fn frame_count(&self) -> usize {
        self.transforms
            .len()
            .checked_div(self.joint_count)
            .unwrap_or_else(|| self.shape_weights.len() / self.shape_count)
    }

    /// Transforms of all joints in one frame.
    pub fn transforms(&self, frame: usize) -> &[DAffine3] {
        &self.transforms[frame * self.joint_count..(frame + 1) * self.joint_count]
    }

    /// Transforms of all joints in all frames, which clips of rigs on one skeleton share.
    pub fn shared_transforms(&self) -> &Arc<Vec<DAffine3>> {
        &self.transforms
    }

    /// Shares the joint transforms of `other`, which are equal.
    pub(crate) fn share_transforms_of(&mut self, other: &Self) {
        self.transforms = Arc::clone(&other.transforms);
    }

    /// Returns true if `other` has the same frames: name, rate, start and count.
    pub fn has_frames_of(&self, other: &Self) -> bool {
        let frames = |clip: &Self| (clip.frame_rate_hz, clip.start_seconds, clip.frame_count());
        self.name == other.name && frames(self) == frames(other)
    }

    /// Returns true if `other` has the same frames with the same joint transforms.
    pub fn moves_joints_like(&self, other: &Self) -> bool {
        let same = Arc::ptr_eq(&self.transforms, &other.transforms) || self.transforms == other.transforms;
        self.has_frames_of(other) && same
    }

    /// Weights of all shapes in one frame.
    pub fn shape_weights(&self, frame: usize) -> &[f32] {
        &self.shape_weights[frame * self.shape_count..(frame + 1) * self.shape_count]
    }

    /// Frames `start`, `start + step`, … below `end`. The frame rate is divided by `step`.
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
            transforms: Arc::new(frames().flat_map(|frame| self.transforms(frame).iter().copied()).collect()),
            shape_weights: frames().flat_map(|frame| self.shape_weights(frame).iter().copied()).collect(),
            ..*self
        })
    }

    /// The same frames at another frame rate.
    pub fn with_frame_rate(mut self, frame_rate_hz: f64) -> Result<Self, RigError> {
        if !(frame_rate_hz.is_finite() && frame_rate_hz > 0.0) {
            return Err(RigError::FrameRate(frame_rate_hz));
        }
        self.frame_rate_hz = frame_rate_hz;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use glam::{DVec3, Vec3};

    use super::*;
    use crate::rig::{Joint, Shape, SkinWeights};
    use crate::tri_mesh::TriMesh;

    fn rig(joints: usize, shapes: usize) -> Rig {
        let mesh = TriMesh::new(vec![Vec3::ZERO], vec![]).unwrap();
        let joints: Vec<Joint> = (0..joints).map(|_| Joint::at("joint", None, DAffine3::IDENTITY)).collect();
        let shape = Shape { name: "shape".into(), offsets: vec![Vec3::X], normal_offsets: None };
        Rig::new(&mesh, joints, SkinWeights::from_rows([[]]), vec![shape; shapes]).unwrap()
    }

    fn at(x: usize) -> DAffine3 {
        DAffine3::from_translation(DVec3::X * x as f64)
    }

    /// Joint j of frame s is at 10 s + j; shape m of frame s has weight s + m / 10.
    fn counting(frames: usize, joints: usize, shapes: usize) -> Clip {
        let transforms = (0..frames).flat_map(|s| (0..joints).map(move |j| at(10 * s + j))).collect();
        let weights = (0..frames).flat_map(|s| (0..shapes).map(move |m| s as f32 + m as f32 / 10.0)).collect();
        Clip::new(&rig(joints, shapes), "counting", 24.0, transforms, weights).unwrap()
    }

    #[test]
    fn frames_contain_a_transform_per_joint_and_a_weight_per_shape() {
        let clip = counting(3, 2, 1);
        assert_eq!(clip.frame_count(), 3);
        assert_eq!(clip.transforms(2), [at(20), at(21)]);
        assert_eq!(clip.shape_weights(1), [1.0]);
    }

    #[test]
    fn a_rig_without_joints_has_clips_of_shape_weights() {
        let clip = counting(4, 0, 2);
        assert_eq!(clip.frame_count(), 4);
        assert_eq!(clip.transforms(3), []);
        assert_eq!(clip.shape_weights(3), [3.0, 3.1]);
    }

    #[test]
    fn selects_frames_like_a_python_slice() {
        let clip = counting(10, 2, 1).starting_at(1.0).select(1, 8, 3).unwrap();
        assert_eq!(clip.frame_count(), 3);
        assert_eq!((clip.transforms(2)[0], clip.shape_weights(2)), (at(70), &[7.0][..]));
        assert_eq!((clip.frame_rate_hz(), clip.start_seconds()), (8.0, 1.0 + 1.0 / 24.0));
        assert_eq!(counting(10, 1, 0).select(8, usize::MAX, 1).unwrap().frame_count(), 2);
    }

    #[test]
    fn rejects_an_empty_selection() {
        let clip = counting(3, 1, 0);
        for (start, end, step) in [(3, 9, 1), (2, 2, 1), (2, 1, 1), (0, 3, 0)] {
            assert_eq!(clip.select(start, end, step), Err(RigError::NoFrames("counting".into())));
        }
    }

    #[test]
    fn rejects_an_invalid_frame_rate() {
        for rate in [0.0, -24.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(counting(2, 1, 0).with_frame_rate(rate), Err(RigError::FrameRate(_))));
            let clip = Clip::new(&rig(1, 0), "clip", rate, vec![at(0)], vec![]);
            assert!(matches!(clip, Err(RigError::FrameRate(_))), "{rate}");
        }
        assert_eq!(counting(2, 1, 0).with_frame_rate(30.0).unwrap().frame_rate_hz(), 30.0);
    }

    #[test]
    fn rejects_a_clip_without_frames() {
        assert_eq!(Clip::new(&rig(1, 0), "idle", 24.0, vec![], vec![]), Err(RigError::NoFrames("idle".into())));
        assert_eq!(Clip::new(&rig(0, 0), "idle", 24.0, vec![], vec![]), Err(RigError::NoFrames("idle".into())));
        assert_eq!(Clip::new(&rig(2, 0), "idle", 24.0, vec![at(0)], vec![]), Err(RigError::NoFrames("idle".into())));
    }

    #[test]
    fn rejects_incomplete_frames_and_missing_weights() {
        let error = Clip::new(&rig(2, 0), "walk", 24.0, vec![at(0); 3], vec![]).unwrap_err();
        assert_eq!(error, RigError::CountMismatch { what: "joint transforms", found: 3, expected: 2 });
        let error = Clip::new(&rig(1, 2), "walk", 24.0, vec![at(0); 2], vec![0.0; 3]).unwrap_err();
        assert_eq!(error, RigError::CountMismatch { what: "shape weights", found: 3, expected: 4 });
    }

    #[test]
    fn reports_the_frame_and_joint_of_a_non_finite_transform() {
        let mut transforms = vec![at(0); 6];
        transforms[5].translation.y = f64::NAN;
        let error = Clip::new(&rig(2, 0), "walk", 24.0, transforms, vec![]).unwrap_err();
        let message = "clip 'walk', frame 2: joint transform 1 is not finite, or larger than 1e60";
        assert_eq!(error.to_string(), message);
        let error = Clip::new(&rig(0, 1), "talk", 24.0, vec![], vec![0.0, f32::INFINITY]).unwrap_err();
        assert!(matches!(error, RigError::ClipNotFinite { frame: 1, what: "shape weight", index: 0, .. }));
    }

    #[test]
    fn replaces_a_non_finite_start_by_zero() {
        assert_eq!(counting(1, 1, 0).starting_at(f64::INFINITY).start_seconds(), 0.0);
    }
}
