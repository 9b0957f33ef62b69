//! Animations of packed files: thinned keys, and the outputs of all channels of one kind in one view.
//!
//! A channel that keeps its node in the stored pose is dropped. In the nested nodes of a flexible bone, the rotations
//! before and after a scale that is uniform after quantization cancel each other; both are replaced by the identity.

use std::collections::{BTreeMap, BTreeSet};

use super::encode::Encoded;
use super::keys::{Curve, Kind, kept_keys};
use super::{Packer, bounds};
use crate::error::Error;
use crate::gltf::read::Document;
use crate::gltf::schema::{Accessor, Animation, AnimationSampler, Node};

const NO_ROTATION: [f64; 4] = [0.0, 0.0, 0.0, 1.0];
/// Minimum absolute scalar part of a unit quaternion that is the identity up to rounding.
const MIN_SCALAR: f32 = 1.0 - 1e-6;

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
    /// Index in the animation.
    channel: usize,
    sampler: usize,
    output: usize,
    path: Path,
    node: Option<usize>,
}

impl Packer<'_> {
    pub(super) fn animations(&mut self) -> Result<(), Error> {
        let mut by_input: BTreeMap<(usize, usize), Vec<ChannelSource>> = BTreeMap::new();
        for (number, animation) in self.document.root.animations.iter().enumerate() {
            for (at, channel) in animation.channels.iter().enumerate() {
                let sampler = animation.samplers.get(channel.sampler);
                let sampler =
                    sampler.ok_or_else(|| Error::malformed("a channel refers to a sampler that does not exist"))?;
                let Some(path) = Path::of(&channel.target.path) else { continue };
                by_input.entry((number, sampler.input)).or_default().push(ChannelSource {
                    animation: number,
                    channel: at,
                    sampler: channel.sampler,
                    output: sampler.output,
                    path,
                    node: channel.target.node,
                });
            }
        }
        let mut outputs: BTreeMap<Path, Vec<(ChannelSource, Encoded)>> = BTreeMap::new();
        let mut inputs = Inputs::default();
        let mut dropped = BTreeSet::new();
        for ((_, input), channels) in by_input {
            self.thinned(input, channels, &mut inputs, &mut outputs, &mut dropped)?;
        }
        for parts in outputs.into_values() {
            self.outputs(parts)?;
        }
        for (number, animation) in self.root.animations.iter_mut().enumerate() {
            drop_channels(animation, |channel| dropped.contains(&(number, channel)));
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
        dropped: &mut BTreeSet<(usize, usize)>,
    ) -> Result<(), Error> {
        let times = self.document.floats(input, 1)?.into_owned();
        let mut curves =
            channels.iter().map(|channel| self.curve(channel, times.len())).collect::<Result<Vec<_>, _>>()?;
        self.cancel_rotations(&channels, &mut curves);
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
            if is_single && self.is_stored(&channel, &encoded.bytes[..element]) {
                self.is_done[channel.output] = true;
                dropped.insert((channel.animation, channel.channel));
                continue;
            }
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

    /// Returns whether the node of a channel has the value `element` in the stored pose, as quantized.
    fn is_stored(&self, channel: &ChannelSource, element: &[u8]) -> bool {
        let Some(node) = channel.node.and_then(|node| self.document.root.nodes.get(node)) else { return false };
        if node.matrix.is_some() {
            return false;
        }
        let floats = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<f32>>();
        let stored = match channel.path {
            Path::Translation => floats(&node.translation.unwrap_or_default()),
            Path::Rotation => floats(&node.rotation.unwrap_or(NO_ROTATION)),
            Path::Scale => floats(&node.scale.unwrap_or([1.0; 3])),
            Path::Weights => return false,
        };
        self.encoded(channel.path, &stored).bytes == element
    }

    /// Replaces a rotation and its inverse by the identity if the scale between them is uniform.
    fn cancel_rotations(&self, channels: &[ChannelSource], curves: &mut [Curve]) {
        let find = |node: usize, path: Path| {
            channels.iter().position(|channel| channel.node == Some(node) && channel.path == path)
        };
        let nodes = &self.document.root.nodes;
        for (scale, channel) in channels.iter().enumerate().filter(|(_, channel)| channel.path == Path::Scale) {
            let Some(stretch) = channel.node else { continue };
            let Some(&[joint]) = nodes.get(stretch).map(|node| node.children.as_slice()) else { continue };
            let is_plain = |node: &Node| {
                node.translation.is_none() && node.rotation.is_none() && node.scale.is_none() && node.matrix.is_none()
            };
            let are_plain = [stretch, joint].iter().all(|&node| nodes.get(node).is_some_and(is_plain));
            let moves = |node: usize, path: Path| find(node, path).is_some();
            let is_other = moves(stretch, Path::Translation)
                || moves(joint, Path::Translation)
                || moves(joint, Path::Scale)
                || !are_plain;
            let pair = find(stretch, Path::Rotation).zip(find(joint, Path::Rotation));
            let Some((before, after)) = pair.filter(|_| !is_other) else { continue };
            let words: Vec<[u32; 3]> =
                bytemuck::pod_collect_to_vec(&self.encoded(Path::Scale, &curves[scale].values).bytes);
            let is_uniform = words.iter().all(|[x, y, z]| x == y && y == z);
            if is_uniform && are_inverse(&curves[before].values, &curves[after].values) {
                for curve in [before, after] {
                    let count = curves[curve].values.len() / 4;
                    curves[curve].values = NO_ROTATION.map(|value| value as f32).repeat(count);
                }
            }
        }
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

/// Returns whether the rotations of each key are the inverse of each other, up to rounding.
fn are_inverse(before: &[f32], after: &[f32]) -> bool {
    before.len() == after.len()
        && before.chunks_exact(4).zip(after.chunks_exact(4)).all(|(a, b)| {
            // The scalar part of the product.
            let scalar = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
            scalar.abs() > MIN_SCALAR
        })
}

/// Removes channels, and the samplers that no other channel uses.
fn drop_channels(animation: &mut Animation, is_dropped: impl Fn(usize) -> bool) {
    let mut at = 0..;
    animation.channels.retain(|_| at.next().is_none_or(|channel| !is_dropped(channel)));
    let mut new: BTreeMap<usize, usize> = BTreeMap::new();
    for channel in &mut animation.channels {
        let next = new.len();
        channel.sampler = *new.entry(channel.sampler).or_insert(next);
    }
    let mut samplers = vec![AnimationSampler::default(); new.len()];
    for (old, new) in new {
        samplers[new] = std::mem::take(&mut animation.samplers[old]);
    }
    animation.samplers = samplers;
}

/// Accessors of key times, by the bits of the times.
#[derive(Default)]
struct Inputs {
    known: BTreeMap<Vec<u32>, usize>,
}
