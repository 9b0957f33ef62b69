//! Animations of packed files: thinned keys, and the outputs of all channels of one kind in one view.

use std::collections::BTreeMap;

use super::encode::Encoded;
use super::keys::{Curve, Kind, kept_keys};
use super::{Packer, bounds};
use crate::error::Error;
use crate::gltf::read::Document;
use crate::gltf::schema::Accessor;

/// Kinds of outputs, which are compressed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Path {
    Translation,
    Rotation,
    Scale,
    Weights,
}

impl Path {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "translation" => Self::Translation,
            "rotation" => Self::Rotation,
            "scale" => Self::Scale,
            "weights" => Self::Weights,
            _ => return None,
        })
    }
}

/// A channel of an animation.
struct ChannelSource {
    animation: usize,
    sampler: usize,
    output: usize,
    path: Path,
    node: Option<usize>,
}

impl Packer<'_> {
    pub(super) fn animations(&mut self) -> Result<(), Error> {
        let mut by_input: BTreeMap<(usize, usize), Vec<ChannelSource>> = BTreeMap::new();
        for (number, animation) in self.document.root.animations.iter().enumerate() {
            for channel in &animation.channels {
                let sampler = animation.samplers.get(channel.sampler);
                let sampler =
                    sampler.ok_or_else(|| Error::malformed("a channel refers to a sampler that does not exist"))?;
                let Some(path) = Path::of(&channel.target.path) else { continue };
                by_input.entry((number, sampler.input)).or_default().push(ChannelSource {
                    animation: number,
                    sampler: channel.sampler,
                    output: sampler.output,
                    path,
                    node: channel.target.node,
                });
            }
        }
        let mut outputs: BTreeMap<Path, Vec<(ChannelSource, Encoded)>> = BTreeMap::new();
        let mut inputs = Inputs::default();
        for ((_, input), channels) in by_input {
            self.thinned(input, channels, &mut inputs, &mut outputs)?;
        }
        for parts in outputs.into_values() {
            self.outputs(parts)?;
        }
        for animation in &mut self.root.animations {
            for sampler in &mut animation.samplers {
                // Linear is the default.
                sampler.interpolation = sampler.interpolation.take().filter(|name| name != "LINEAR");
            }
        }
        Ok(())
    }

    /// Encodes the channels of one animation with common key times.
    fn thinned(
        &mut self,
        input: usize,
        channels: Vec<ChannelSource>,
        inputs: &mut Inputs,
        outputs: &mut BTreeMap<Path, Vec<(ChannelSource, Encoded)>>,
    ) -> Result<(), Error> {
        let times = self.document.floats(input, 1)?.into_owned();
        let curves = channels.iter().map(|channel| self.curve(channel, times.len())).collect::<Result<Vec<_>, _>>()?;
        let is_recorded = channels.iter().any(|channel| self.is_recorded(channel));
        let tolerance = self.packing.key_tolerance as f32;
        let kept = if tolerance > 0.0 && !is_recorded {
            kept_keys(&times, &curves, tolerance)
        } else {
            (0..times.len()).collect()
        };
        if let Some(animation) = channels.first().filter(|_| kept.len() < times.len()).map(|channel| channel.animation)
        {
            self.count_frames(animation, &times);
        }
        let key_times: Vec<f32> = kept.iter().map(|&key| times[key]).collect();
        self.is_done[input] = true;
        let mut has_all = false;
        let last = channels.len() - 1;
        for (number, (channel, curve)) in channels.into_iter().zip(curves).enumerate() {
            let values: Vec<f32> = kept
                .iter()
                .flat_map(|&key| curve.values[key * curve.width..(key + 1) * curve.width].iter().copied())
                .collect();
            let mut encoded = self.encoded(channel.path, &values);
            let element = encoded.stride * if channel.path == Path::Weights { curve.width } else { 1 };
            let is_constant = encoded.bytes.chunks_exact(element).all(|key| *key == encoded.bytes[..element]);
            // One channel keeps the times, so that the animation keeps its length.
            let is_single = is_constant && (has_all || number < last);
            has_all |= !is_single;
            if is_single {
                encoded.bytes.truncate(element);
            }
            let times = if is_single { &key_times[..1] } else { &key_times };
            let input = self.input(inputs, times);
            self.root.animations[channel.animation].samplers[channel.sampler].input = input;
            outputs.entry(channel.path).or_default().push((channel, encoded));
        }
        Ok(())
    }

    fn encoded(&self, path: Path, values: &[f32]) -> Encoded {
        match path {
            Path::Translation => Encoded::floats(values, 3, self.packing.translation_exponent),
            Path::Scale => Encoded::floats(values, 3, self.packing.scale_exponent),
            Path::Weights => Encoded::floats(values, 1, self.packing.shape_weight_exponent.min(0)),
            Path::Rotation => {
                let quaternions: Vec<[f32; 4]> = bytemuck::pod_collect_to_vec(values);
                Encoded::rotations(&quaternions, self.packing.rotation_bits)
            }
        }
    }

    fn curve(&self, channel: &ChannelSource, keys: usize) -> Result<Curve, Error> {
        let values = self.document.floats(channel.output, self.width(channel.output)?)?.into_owned();
        let radius = self.radius as f32;
        let (width, kind) = match channel.path {
            Path::Translation => (3, Kind::Translation),
            Path::Rotation => (4, Kind::Rotation { radius }),
            Path::Scale => (3, Kind::Scale { radius }),
            Path::Weights => {
                let offsets = self.largest_offsets(channel)?;
                (offsets.len(), Kind::ShapeWeights { offsets })
            }
        };
        if values.len() != keys * width {
            return Err(Error::malformed(format!("{} numbers do not match {keys} keys", values.len())));
        }
        Ok(Curve { values, width, kind })
    }

    /// The length of the largest offset of each shape that a channel animates.
    fn largest_offsets(&self, channel: &ChannelSource) -> Result<Vec<f32>, Error> {
        let Document { root, .. } = self.document;
        let mesh = channel.node.and_then(|node| root.nodes.get(node)).and_then(|node| root.meshes.get(node.mesh?));
        let targets = mesh.and_then(|mesh| mesh.primitives.first()).map(|primitive| primitive.targets.as_slice());
        let largest = |target: &BTreeMap<String, usize>| {
            let Some(&offsets) = target.get("POSITION") else { return Ok(0.0) };
            let offsets = self.document.floats(offsets, 3)?;
            let length = |offset: &[f32]| offset.iter().map(|number| number * number).sum::<f32>().sqrt();
            Ok(offsets.chunks_exact(3).map(length).fold(0.0, f32::max))
        };
        targets.unwrap_or_default().iter().map(largest).collect()
    }

    /// Returns whether the channel plays recorded frames, which all have a key.
    fn is_recorded(&self, channel: &ChannelSource) -> bool {
        let Document { root, .. } = self.document;
        let mesh = channel.node.and_then(|node| root.nodes.get(node)).and_then(|node| root.meshes.get(node.mesh?));
        channel.path == Path::Weights
            && mesh.and_then(|mesh| mesh.extras.dermis.as_ref()).is_some_and(|mark| mark.sequence)
    }

    /// Records the number of frames of an animation whose keys are thinned.
    fn count_frames(&mut self, animation: usize, times: &[f32]) {
        let Some(mark) = &mut self.root.animations[animation].extras.dermis else { return };
        let (Some(rate), [first, .., last]) = (mark.frame_rate_hz, times) else { return };
        mark.frame_count = Some((f64::from(last - first) * rate).round() as usize + 1);
    }

    /// An accessor with key times.
    fn input(&mut self, inputs: &mut Inputs, times: &[f32]) -> usize {
        let bits: Vec<u32> = times.iter().map(|time| time.to_bits()).collect();
        if let Some(&known) = inputs.known.get(&bits) {
            return known;
        }
        let view = self.plain_view(bytemuck::cast_slice(times));
        let (min, max) = bounds(times, 1);
        let accessor = Accessor {
            buffer_view: Some(view),
            component_type: super::FLOAT,
            count: times.len(),
            shape: "SCALAR".to_owned(),
            min,
            max,
            ..Accessor::default()
        };
        let index = self.add(accessor);
        inputs.known.insert(bits, index);
        index
    }

    /// Outputs of channels of one kind, in one view.
    fn outputs(&mut self, parts: Vec<(ChannelSource, Encoded)>) -> Result<(), Error> {
        let Some((_, first)) = parts.first() else { return Ok(()) };
        let (stride, filter, component_type, normalized) =
            (first.stride, first.filter, first.component_type, first.normalized);
        let mut all = Encoded { bytes: Vec::new(), stride, filter, component_type, normalized };
        let view = self.root.buffer_views.len();
        for (channel, part) in parts {
            let offset = all.bytes.len();
            let shape = self.document.accessor(channel.output)?.shape.clone();
            all.bytes.extend_from_slice(&part.bytes);
            self.is_done[channel.output] = true;
            let output = self.add(Accessor {
                buffer_view: Some(view),
                byte_offset: (offset > 0).then_some(offset),
                component_type,
                normalized,
                count: part.count(),
                shape,
                ..Accessor::default()
            });
            self.root.animations[channel.animation].samplers[channel.sampler].output = output;
        }
        let compressed = all.compressed()?;
        self.compressed_view(&all, "ATTRIBUTES", &compressed, None);
        Ok(())
    }
}

/// Accessors of key times, by the bits of the times.
#[derive(Default)]
struct Inputs {
    known: BTreeMap<Vec<u32>, usize>,
}
