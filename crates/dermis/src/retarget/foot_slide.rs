//! Sliding of the feet in retargeted clips.

use dermis_mesh::{Clip, Joint, Object, UpAxis};

use super::Retargeted;
use super::joint_names::{body_part, common_prefix, plain};
use super::transfer::Skeletons;
use super::units::axis;

/// Height of a foot above its lowest position, relative to the height of the skeleton, below which it is on the ground.
const GROUND_HEIGHT: f64 = 0.05;
/// Speed of a foot per second, relative to the height of the skeleton, below which it is on the ground.
const GROUND_SPEED: f64 = 0.15;

/// Sliding of the feet over the ground.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct FootSlide {
    /// Mean horizontal speed of the target's feet while those of the source are on the ground, in units per second.
    pub speed: f64,
    /// Mean horizontal speed of the source's feet, scaled to the size of the target.
    pub source_speed: f64,
    /// Number of pairs of successive frames in which a foot of the source is on the ground.
    pub steps: usize,
}

/// Measures how much the feet of `to` slide in a retargeted clip while those of `from` are on the ground; `None`
/// without feet or steps. Feet are the matched joints with usual names of feet and toes.
pub fn foot_slide(clip: &Clip, from: &Object, moved: &Retargeted, to: &Object, up: UpAxis) -> Option<FootSlide> {
    let (from_rig, to_rig) = (from.rig.as_ref()?, to.rig.as_ref()?);
    let up = axis(up);
    let prefix = common_prefix(&to_rig.joints().iter().map(|joint| plain(&joint.name)).collect::<Vec<_>>());
    let is_foot = |joint: &Joint| {
        let part = body_part(&joint.name, &plain(&joint.name)[prefix..]);
        part.ends_with("foot") || part.ends_with("toe")
    };
    let feet = to_rig.joints().iter().enumerate().filter(|(_, joint)| is_foot(joint));
    let feet: Vec<(usize, usize)> = feet.filter_map(|(joint, _)| Some((joint, moved.sources[joint]?))).collect();
    let heights = from_rig.joints().iter().map(|joint| joint.bind().translation.dot(up));
    let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), h| (low.min(h), high.max(h)));
    let scale = Skeletons::new(from_rig, to_rig, &moved.sources).scale;
    let (height, rate) = (high - low, clip.frame_rate_hz());
    let at = |clip: &Clip, frame: usize, joint: usize| clip.transforms(frame)[joint].translation;
    let speed = |clip: &Clip, frame: usize, joint: usize| {
        let step = at(clip, frame + 1, joint) - at(clip, frame, joint);
        (step - up * step.dot(up)).length() * rate
    };
    let (mut sum, mut source_sum, mut steps) = (0.0, 0.0, 0);
    for (joint, source) in feet {
        let lowest = (0..clip.frame_count()).map(|frame| at(clip, frame, source).dot(up)).fold(f64::INFINITY, f64::min);
        for frame in 0..clip.frame_count() - 1 {
            let source_speed = speed(clip, frame, source);
            let is_low = at(clip, frame, source).dot(up) - lowest <= GROUND_HEIGHT * height;
            if is_low && source_speed <= GROUND_SPEED * height {
                sum += speed(&moved.clip, frame, joint);
                source_sum += source_speed * scale;
                steps += 1;
            }
        }
    }
    let mean = |sum: f64| sum / steps as f64;
    (steps > 0).then(|| FootSlide { speed: mean(sum), source_speed: mean(source_sum), steps })
}
