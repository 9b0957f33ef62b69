//! Motion of one node: translation, rotation and scale at each key.

use dermis_mesh::Clip;
use glam::{DAffine3, DQuat, DVec3};

use super::node_transform::{NodeTransform, TOLERANCE, rounded_rotation, rounded_vector, scale_and_rotation};

/// Numbers that vary by less than this, relative to the largest, are constant: the variation is rounding.
const CONSTANT: f64 = 3e-7;

/// A node and its transforms at each key: each pose of all clips, and halfway to the next pose of the clip if it is
/// fine.
#[derive(Debug, Clone)]
pub struct NodeMotion {
    /// Name of the node.
    pub name: String,
    /// Parent node, which precedes this node in the list.
    pub parent: Option<usize>,
    /// Joint of the node; `None` for the upper nodes of a flexible bone.
    pub joint: Option<usize>,
    /// Transform at rest; `None` is the first pose.
    pub(super) rest: Option<NodeTransform>,
    /// True if there are additional keys halfway between frames.
    pub fine: bool,
    /// Translation at each key.
    pub translations: Vec<DVec3>,
    /// Rotation at each key.
    pub rotations: Vec<DQuat>,
    /// Scale at each key.
    pub scales: Vec<DVec3>,
}

impl NodeMotion {
    /// Rest transform of the node.
    pub fn rest(&self) -> NodeTransform {
        self.rest.unwrap_or_else(|| self.node_transform(0))
    }

    /// Returns `rest`, with components that differ only by rounding from a constant component of the motion replaced by
    /// it.
    pub(super) fn rest_near(&self, rest: NodeTransform) -> NodeTransform {
        let near = |value: DVec3, values: &[DVec3]| {
            let still = values.iter().all(|other| *other == values[0]);
            let size = value.abs().max_element().max(values[0].abs().max_element());
            let close = (value - values[0]).abs().max_element() <= TOLERANCE * size;
            if still && close { values[0] } else { value }
        };
        let still = self.rotations.iter().all(|rotation| *rotation == self.rotations[0]);
        let same = self.rotations[0].dot(rest.rotation).abs() >= 1.0 - CONSTANT * CONSTANT;
        NodeTransform {
            translation: near(rest.translation, &self.translations),
            rotation: if still && same { self.rotations[0] } else { rest.rotation },
            scale: near(rest.scale, &self.scales),
        }
    }

    /// Creates the motion from local transforms; `None` if one is not finite or is singular.
    pub(super) fn of_locals(
        name: &str,
        parent: Option<usize>,
        joint: usize,
        locals: impl Iterator<Item = DAffine3>,
    ) -> Option<Self> {
        let (translations, rotations, scales) = (Vec::new(), Vec::new(), Vec::new());
        let mut motion = Self {
            name: name.to_owned(),
            parent,
            joint: Some(joint),
            rest: None,
            fine: false,
            translations,
            rotations,
            scales,
        };
        for local in locals {
            let (scale, mut rotation) = scale_and_rotation(local.matrix3)?;
            if motion.rotations.last().is_some_and(|before| before.dot(rotation) < 0.0) {
                rotation = -rotation;
            }
            motion.translations.push(local.translation);
            motion.rotations.push(rotation);
            motion.scales.push(scale);
        }
        motion.translations.iter().all(|translation| translation.is_finite()).then_some(motion)
    }

    /// Makes components constant if they vary only by rounding.
    pub(super) fn held(mut self) -> Self {
        let largest =
            |values: &[DVec3]| values.iter().fold(0.0, |most: f64, value| most.max(value.abs().max_element()));
        if self.scales.iter().all(|scale| (*scale - DVec3::ONE).abs().max_element() <= CONSTANT) {
            self.scales.fill(DVec3::ONE);
        }
        for values in [&mut self.scales, &mut self.translations] {
            let tolerance = CONSTANT * largest(values);
            hold(values, |a, b| (a - b).abs().max_element() <= tolerance);
        }
        hold(&mut self.rotations, |a, b| a.abs_diff_eq(b, CONSTANT));
        self
    }

    /// Rounds to f32.
    pub(super) fn rounded(mut self) -> Self {
        for values in [&mut self.scales, &mut self.translations] {
            for value in values {
                *value = rounded_vector(*value);
            }
        }
        for rotation in &mut self.rotations {
            *rotation = rounded_rotation(*rotation);
        }
        self
    }

    /// Number of keys in a clip.
    pub fn key_count(&self, clip: &Clip) -> usize {
        if self.fine { 2 * clip.frame_count() - 1 } else { clip.frame_count() }
    }

    /// Transform of the node at key `key`.
    pub fn node_transform(&self, key: usize) -> NodeTransform {
        let (translation, rotation, scale) = (self.translations[key], self.rotations[key], self.scales[key]);
        NodeTransform { translation, rotation, scale }
    }

    /// Transform of the node halfway between the keys `key` and `key + 1`, as a player interpolates.
    pub(super) fn half_way(&self, key: usize) -> DAffine3 {
        self.node_transform(key).middle(&self.node_transform(key + 1)).transform()
    }

    /// Transform of the node at key `key`, as a player computes it.
    pub(super) fn local(&self, key: usize) -> DAffine3 {
        self.node_transform(key).transform()
    }
}

/// Sets all values to the first if they are equal up to rounding.
fn hold<T: Copy>(values: &mut [T], same: impl Fn(T, T) -> bool) {
    if let Some(&first) = values.first()
        && values.iter().all(|&value| same(value, first))
    {
        values.fill(first);
    }
}
