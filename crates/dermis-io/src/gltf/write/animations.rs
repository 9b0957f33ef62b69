//! Animations: the clips and recorded frames of all objects, joined where they belong together.
//!
//! Clips of several objects with the same name and the same frames are one animation, as they were in the file that
//! they came from. Every channel has a key at every frame.

use dermis_mesh::Clip;
use serde_json::{Value, json};

use super::file::{Element, GltfFile, Usage};
use crate::error::Error;

/// When the frames of a clip or a sequence are.
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

    /// The key times: from 0 where f32 or glTF, which knows no negative times, cannot hold the true ones.
    fn keys(&self) -> Result<Vec<f32>, Error> {
        let from = |start: f64| -> Option<Vec<f32>> {
            let keys: Vec<f32> = (0..self.count).map(|k| (start + k as f64 / self.rate_hz) as f32).collect();
            let fine = keys[0] >= 0.0 && keys.is_sorted_by(|a, b| a < b) && keys[keys.len() - 1].is_finite();
            fine.then_some(keys)
        };
        from(self.start_seconds).or_else(|| from(0.0)).ok_or_else(|| {
            let (count, rate) = (self.count, self.rate_hz);
            Error::unsupported(format!("{count} frames at {rate} Hz are too close for the times of glTF"))
                .with_hint("give the frames a lower rate with --fps")
        })
    }
}

/// The animations of a file.
#[derive(Default)]
pub(super) struct Animations {
    animations: Vec<Animation>,
}

struct Animation {
    frames: Frames,
    /// The last object that has a part in it; none has two.
    object: usize,
    input: usize,
    samplers: Vec<Value>,
    channels: Vec<Value>,
}

impl Animations {
    /// The animation for the frames of an object: one that other objects have begun, or a new one.
    pub(super) fn of_object(&mut self, file: &mut GltfFile, frames: &Frames, object: usize) -> Result<usize, Error> {
        let fits = |animation: &Animation| animation.object != object && animation.frames == *frames;
        if let Some(index) = self.animations.iter().position(fits) {
            self.animations[index].object = object;
            return Ok(index);
        }
        let keys = frames.keys()?;
        let input = file.accessor(&keys, Usage::Other)?;
        file.bound(input, &keys[..1], &keys[keys.len() - 1..]);
        let (samplers, channels) = (Vec::new(), Vec::new());
        self.animations.push(Animation { frames: frames.clone(), object, input, samplers, channels });
        Ok(self.animations.len() - 1)
    }

    /// Animates a property of a node with a value for each frame.
    pub(super) fn add<T: Element>(
        &mut self,
        file: &mut GltfFile,
        animation: usize,
        node: usize,
        path: &str,
        values: &[T],
    ) -> Result<(), Error> {
        let output = file.accessor(values, Usage::Other)?;
        self.add_accessor(animation, node, path, output);
        Ok(())
    }

    /// Animates a property of a node with the values in an accessor.
    pub(super) fn add_accessor(&mut self, animation: usize, node: usize, path: &str, output: usize) {
        let animation = &mut self.animations[animation];
        let sampler = animation.samplers.len();
        animation.samplers.push(json!({ "input": animation.input, "output": output, "interpolation": "LINEAR" }));
        animation.channels.push(json!({ "sampler": sampler, "target": { "node": node, "path": path } }));
    }

    /// Writes all of them.
    pub(super) fn finish(self, file: &mut GltfFile) {
        for animation in self.animations {
            let Frames { name, rate_hz, start_seconds, .. } = animation.frames;
            let mut item = json!({
                "samplers": animation.samplers,
                "channels": animation.channels,
                "extras": { "dermis": { "frame_rate_hz": rate_hz, "start_seconds": start_seconds } },
            });
            if !name.is_empty() {
                item["name"] = json!(name);
            }
            file.push("animations", item);
        }
    }
}
