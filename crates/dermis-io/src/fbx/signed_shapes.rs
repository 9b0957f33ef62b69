//! Shapes with weights beyond the range from 0 to 1, which Blender and Unity clip.
//!
//! Such a shape is written as up to two channels with weights from 0 to 1: its offsets times a power of two for the
//! positive weights, and their negatives for the negative ones. Powers of two are exact, and linear keys of both parts
//! add up to the linear keys of the whole. Properties of the channels store the factors, with which the reader merges
//! them again.

use std::sync::Arc;

use dermis_mesh::{Clip, Rig, RigPose, Shape, TriMesh};
use glam::Vec3;

use crate::error::Error;

/// Property of a channel: the factor of its offsets.
const FACTOR: &str = "dermis_shape_factor";
/// Property of a channel for the negative weights of the shape before it: the factor of its offsets.
const NEGATIVE: &str = "dermis_negative_shape_factor";
/// Suffix of the name of a channel for negative weights.
const SUFFIX: &str = "_negative";

/// A channel of a shape.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Part {
    /// Its offsets are this times those of the shape; negative for negative weights.
    pub factor: f32,
}

impl Part {
    /// The parts of a shape whose weights are from `low` to `high`.
    pub(super) fn of_range(low: f32, high: f32) -> Vec<Self> {
        let factor = |most: f32| if most > 1.0 { most.log2().ceil().exp2() } else { 1.0 };
        let positive = Self { factor: factor(high) };
        let negative = (low < 0.0).then(|| Self { factor: -factor(-low) });
        std::iter::once(positive).chain(negative).collect()
    }

    /// The weight of this part, from 0 to 1.
    pub(super) fn weight(self, of_shape: f32) -> f32 {
        (of_shape / self.factor).max(0.0)
    }

    /// The name of the channel.
    pub(super) fn name(self, shape: &str) -> String {
        format!("{shape}{}", if self.factor < 0.0 { SUFFIX } else { "" })
    }

    /// The property that stores the factor; `None` for an unscaled shape.
    pub(super) fn property(self) -> Option<(&'static str, f64)> {
        let name = if self.factor < 0.0 { NEGATIVE } else { FACTOR };
        (self.factor != 1.0).then_some((name, f64::from(self.factor)))
    }

    /// The part stated by a channel; a whole shape if it states none.
    pub(super) fn of_channel(channel: &ufbx::BlendChannel) -> Self {
        let stated = |name: &str| channel.element.props.find_prop(name).map(|factor| factor.value_vec4.x as f32);
        let negative = stated(NEGATIVE).filter(|factor| factor.is_finite() && *factor < 0.0);
        let positive = stated(FACTOR).filter(|factor| factor.is_finite() && *factor > 0.0);
        Self { factor: negative.or(positive).unwrap_or(1.0) }
    }
}

/// Merges the shapes of `rig`, each of which is the part in `parts`, and their weights in `clips`.
pub(super) fn joined(mesh: &TriMesh, rig: Rig, clips: Vec<Clip>, parts: &[Part]) -> Result<(Rig, Vec<Clip>), Error> {
    let is_whole = |part: &Part| part.factor == 1.0;
    // The first shape has no preceding shape of which it could be the negative.
    if parts.len() != rig.shapes().len() || parts.iter().all(is_whole) || parts[0].factor < 0.0 {
        return Ok((rig, clips));
    }
    let whole: Vec<usize> = (0..parts.len()).filter(|&index| parts[index].factor > 0.0).collect();
    let shape = |&index: &usize| {
        let (shape, factor) = (&rig.shapes()[index], parts[index].factor);
        let divided = |values: &[Vec3]| values.iter().map(|value| *value / factor).collect();
        let normal_offsets = shape.normal_offsets.as_ref().map(|normals| divided(normals));
        Shape { name: shape.name.clone(), offsets: divided(&shape.offsets), normal_offsets }
    };
    let shapes = whole.iter().map(shape).collect();
    let joints = Arc::clone(rig.shared_joints());
    let mut joined = Rig::sharing(mesh, joints, rig.weights().clone(), shapes)?;
    let joined_weights = |stored: &[f32]| -> Vec<f32> {
        let weight = |&index: &usize| {
            let negative = parts.get(index + 1).filter(|part| part.factor < 0.0);
            let below = negative.map_or(0.0, |part| part.factor * stored[index + 1]);
            parts[index].factor * stored[index] + below
        };
        whole.iter().map(weight).collect()
    };
    if let Some(RigPose { transforms, shape_weights }) = rig.stored_pose() {
        let (transforms, shape_weights) = (Arc::clone(transforms), joined_weights(shape_weights));
        joined = joined.with_stored_pose(RigPose { transforms, shape_weights })?;
    }
    let mut parts_of = Vec::with_capacity(clips.len());
    for clip in &clips {
        let weights = (0..clip.frame_count()).flat_map(|frame| joined_weights(clip.shape_weights(frame))).collect();
        let transforms = Arc::clone(clip.shared_transforms());
        let part = Clip::sharing(&joined, clip.name(), clip.frame_rate_hz(), transforms, weights)?;
        parts_of.push(part.starting_at(clip.start_seconds()));
    }
    Ok((joined, parts_of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_weights_from_0_to_1_that_add_up() {
        for (low, high) in [(0.0, 1.0), (0.0, 3.5), (-1.0, 1.0), (-5.0, 2.0), (-0.5, 0.0), (0.2, 0.4)] {
            let parts = Part::of_range(low, high);
            assert_eq!(parts.len(), if low < 0.0 { 2 } else { 1 });
            for step in 0..=10 {
                let weight = low + (high - low) * step as f32 / 10.0;
                let weights: Vec<f32> = parts.iter().map(|part| part.weight(weight)).collect();
                assert!(weights.iter().all(|weight| (0.0..=1.0).contains(weight)), "{weight}: {weights:?}");
                let sum: f32 = parts.iter().zip(&weights).map(|(part, weight)| part.factor * weight).sum();
                assert_eq!(sum, weight);
            }
        }
        assert!(Part::of_range(0.0, 1.0)[0].property().is_none(), "an ordinary shape is unchanged");
    }
}
