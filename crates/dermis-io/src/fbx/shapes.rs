//! Blend shape channels.
//!
//! A channel has one target, or several at ascending weights (in-betweens). A weight between two targets blends them
//! linearly; a weight beyond the first or last target extrapolates. Every target becomes a shape, whose weight is its
//! fraction of the blend.

use dermis_mesh::{Shape, TriMesh};
use glam::{DAffine3, DVec3, Vec3};

use super::Reader;
use super::signed_shapes::Part;
use crate::error::Error;

/// A target of a channel.
pub(super) struct Target<'a> {
    pub(super) channel: &'a ufbx::BlendChannel,
    /// Weights of the channel at which a target has its full effect, ascending, and 0 for no target.
    knots: Vec<f64>,
    /// The knot of this target.
    at: usize,
}

impl Target<'_> {
    /// The weight of the target for a weight of the channel.
    pub(super) fn weight(&self, of_channel: f64) -> f64 {
        hat(&self.knots, self.at, of_channel)
    }

    /// The part stated by the channel; a whole shape if it has in-betweens.
    pub(super) fn part(&self) -> Part {
        if self.knots.len() > 2 { Part { factor: 1.0 } } else { Part::of_channel(self.channel) }
    }
}

/// Fraction of knot `at` at `weight`, linear between neighbouring knots and beyond the outermost two.
fn hat(knots: &[f64], at: usize, weight: f64) -> f64 {
    let end = knots.partition_point(|&knot| knot <= weight).clamp(1, knots.len() - 1);
    let fraction = (weight - knots[end - 1]) / (knots[end] - knots[end - 1]);
    if at == end {
        fraction
    } else if at + 1 == end {
        1.0 - fraction
    } else {
        0.0
    }
}

/// The targets of all channels of a mesh, and their shapes in the space of the scene.
pub(super) fn shapes<'a>(
    mesh: &'a ufbx::Mesh,
    placement: DAffine3,
    shaped: &TriMesh,
    reader: &mut Reader<'_>,
) -> Result<(Vec<Target<'a>>, Vec<Shape>), Error> {
    let (mut targets, mut shapes) = (Vec::new(), Vec::new());
    for channel in mesh.blend_deformers.iter().flat_map(|deformer| deformer.channels.iter()) {
        let mut keys: Vec<&ufbx::BlendKeyframe> = Vec::new();
        for key in channel.keyframes.iter().filter(|key| key.target_weight.is_finite() && key.target_weight != 0.0) {
            if keys.iter().all(|known| known.target_weight != key.target_weight) {
                keys.push(key);
            }
        }
        let mut knots: Vec<f64> = keys.iter().map(|key| key.target_weight).chain([0.0]).collect();
        knots.sort_by(f64::total_cmp);
        for key in &keys {
            reader.budget.take("blend shapes", shaped.point_count(), size_of::<Vec3>())?;
            let at = knots.partition_point(|&knot| knot < key.target_weight);
            let last = keys.len() == 1 || at + 1 == knots.len();
            let name = channel.element.name.to_string();
            let name = if last { name } else { format!("{name}_{:.0}", 100.0 * key.target_weight) };
            shapes.push(Shape { name, offsets: offsets(key, placement, shaped.point_count()), normal_offsets: None });
            targets.push(Target { channel, knots: knots.clone(), at });
        }
    }
    Ok((targets, shapes))
}

/// Offsets of all points; each is scaled by the weight of its point, if the shape has weights.
fn offsets(key: &ufbx::BlendKeyframe, placement: DAffine3, points: usize) -> Vec<Vec3> {
    let shape = &key.shape;
    let mut offsets = vec![Vec3::ZERO; points];
    for (entry, (&point, offset)) in shape.offset_vertices.iter().zip(shape.position_offsets.iter()).enumerate() {
        if let Some(slot) = offsets.get_mut(point as usize) {
            let weight = shape.offset_weights.get(entry).copied().unwrap_or(1.0);
            *slot = placement.transform_vector3(weight * DVec3::new(offset.x, offset.y, offset.z)).as_vec3();
        }
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_betweens_share_the_weight_of_their_channel() {
        let knots = [-0.5, 0.0, 0.25, 1.0];
        let all = |weight: f64| (0..4).map(|at| hat(&knots, at, weight)).collect::<Vec<f64>>();
        assert_eq!(all(0.0), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(all(0.125), [0.0, 0.5, 0.5, 0.0]);
        assert_eq!(all(0.25), [0.0, 0.0, 1.0, 0.0]);
        assert_eq!(all(0.625), [0.0, 0.0, 0.5, 0.5]);
        assert_eq!(all(1.0), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(all(1.75), [0.0, 0.0, -1.0, 2.0]);
        assert_eq!(all(-1.0), [2.0, -1.0, 0.0, 0.0]);
        // A channel with one target is linear.
        assert_eq!(hat(&[0.0, 2.0], 1, -1.0), -0.5);
        assert_eq!(hat(&[0.0, 2.0], 1, 3.0), 1.5);
    }
}
