//! Animations: the clips and recorded frames of all objects, merged if they have the same name and frames.
//!
//! Clips of several objects with the same name and the same frames are one animation, as they were in the original
//! file. Every channel has a key at every frame; those of some flexible bones have one halfway as well
//! ([`dermis_skin::export`]).

use dermis_mesh::Clip;

use super::file::{Element, GltfFile, Usage, push};
use crate::error::Error;
use crate::gltf::schema::{self, AnimationMark, AnimationSampler, ChannelTarget};

/// Times of the frames of a clip or a sequence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Frames {
    pub name: String,
    pub rate_hz: f64,
    pub start_seconds: f64,
    pub count: usize,
}

impl Frames {
    pub(super) fn of_clip(clip: &Clip) -> Self {
        Self {
            name: clip.name().to_owned(),
            rate_hz: clip.frame_rate_hz(),
            start_seconds: clip.start_seconds(),
            count: clip.frame_count(),
        }
    }

    /// Key times, `per_frame` for each step. They start at 0 if f32 or glTF, which does not support negative times,
    /// cannot represent the true ones.
    fn keys(&self, per_frame: usize) -> Result<Vec<f32>, Error> {
        let (count, rate_hz) = ((self.count - 1) * per_frame + 1, self.rate_hz * per_frame as f64);
        let from = |start: f64| -> Option<Vec<f32>> {
            let keys: Vec<f32> = (0..count).map(|k| (start + k as f64 / rate_hz) as f32).collect();
            let fine = keys[0] >= 0.0 && keys.is_sorted_by(|a, b| a < b) && keys[keys.len() - 1].is_finite();
            fine.then_some(keys)
        };
        from(self.start_seconds).or_else(|| from(0.0)).ok_or_else(|| {
            let (count, rate) = (self.count, self.rate_hz);
            Error::unsupported(format!(
                "{count} frames at {rate} fps are too close for the single-precision times of glTF"
            ))
            .with_hint("use a lower frame rate")
        })
    }
}

/// Property that a channel animates, and its keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct Channel {
    pub animation: usize,
    pub node: usize,
    pub path: &'static str,
    /// True if there are keys halfway between frames.
    pub fine: bool,
}

/// The animations of a file.
#[derive(Default)]
pub(super) struct Animations {
    animations: Vec<Animation>,
}

struct Animation {
    frames: Frames,
    /// The last object that it animates; it animates each object at most once.
    object: usize,
    /// The key times of channels with one key per frame, and of channels that also have keys halfway, if there are any.
    inputs: [Option<usize>; 2],
    samplers: Vec<AnimationSampler>,
    channels: Vec<schema::Channel>,
}

impl Animations {
    /// The animation for the frames of an object: an existing one of other objects, or a new one.
    pub(super) fn of_object(&mut self, frames: &Frames, object: usize) -> usize {
        let fits = |animation: &Animation| animation.object != object && animation.frames == *frames;
        if let Some(index) = self.animations.iter().position(fits) {
            self.animations[index].object = object;
            return index;
        }
        let (samplers, channels) = (Vec::new(), Vec::new());
        self.animations.push(Animation { frames: frames.clone(), object, inputs: [None; 2], samplers, channels });
        self.animations.len() - 1
    }

    /// Animates a property of a node with a value for each key.
    pub(super) fn add<T: Element>(&mut self, file: &mut GltfFile, channel: Channel, values: &[T]) -> Result<(), Error> {
        let output = file.accessor(values, Usage::Other)?;
        self.add_accessor(file, channel, output)
    }

    /// Animates a property of a node with the values in an accessor.
    pub(super) fn add_accessor(&mut self, file: &mut GltfFile, channel: Channel, output: usize) -> Result<(), Error> {
        let Channel { animation, node, path, fine } = channel;
        let animation = &mut self.animations[animation];
        let known = &mut animation.inputs[usize::from(fine)];
        let input = match *known {
            Some(input) => input,
            None => *known.insert(write_keys(file, &animation.frames.keys(if fine { 2 } else { 1 })?)?),
        };
        let interpolation = Some("LINEAR".to_owned());
        let sampler = push(&mut animation.samplers, AnimationSampler { input, output, interpolation });
        let target = ChannelTarget { node: Some(node), path: path.to_owned() };
        animation.channels.push(schema::Channel { sampler, target });
        Ok(())
    }

    /// Writes all animations.
    pub(super) fn finish(self, file: &mut GltfFile) {
        for animation in self.animations {
            let Frames { name, rate_hz, start_seconds, .. } = animation.frames;
            let Animation { samplers, channels, .. } = animation;
            let mark =
                AnimationMark { frame_rate_hz: Some(rate_hz), start_seconds: Some(start_seconds), frame_count: None };
            file.root.animations.push(schema::Animation { name, channels, samplers, extras: mark.into() });
        }
    }
}

fn write_keys(file: &mut GltfFile, keys: &[f32]) -> Result<usize, Error> {
    let input = file.accessor(keys, Usage::Other)?;
    file.bound(input, &keys[..1], &keys[keys.len() - 1..]);
    Ok(input)
}
