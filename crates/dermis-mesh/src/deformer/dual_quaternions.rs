//! Dual quaternion skinning (Kavan et al. 2008), which replaces the linear skin of a rig.
//!
//! The transform of each joint is split into scale, rotation and translation. Rotation and translation form a unit
//! dual quaternion `q + ε e`, with `e = ½ t q`. The dual quaternions of a point's joints are summed with the skin
//! weights, with signs that put them in the hemisphere of the joint of largest weight, and normalized by `‖q‖`. Scales
//! are summed linearly and applied first, as in Maya. A weight per point blends the result with the linear skin.

use std::sync::Arc;

use glam::{DAffine3, DQuat, DVec3, Vec3};
use rayon::prelude::*;

use super::{StoredDeformer, Values};
use crate::clip::Clip;
use crate::pose::pose_with;
use crate::rig::Rig;
use crate::sequence::{MeshSequence, SequenceError};
use crate::tri_mesh::TriMesh;

const WEIGHTS: &str = "weights";
/// Minimum number of points per thread.
const POINTS_PER_THREAD: usize = 1024;

/// Settings of dual quaternion skinning.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DualQuaternionLayer {
    /// Weight of the dual quaternions per point, 0 for the linear skin and 1 for dual quaternions; empty for 1 everywhere.
    weights: Vec<f32>,
}

/// Stored weights that are not numbers from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the weights of dual quaternion skinning are not numbers from 0 to 1")]
pub struct DualQuaternionError;

/// Scale, rotation and dual part of a joint's transform.
struct Parts {
    scale: DVec3,
    rotation: DQuat,
    dual: DQuat,
}

impl DualQuaternionLayer {
    /// Creates a layer with a weight per point; an empty list means 1 everywhere.
    pub fn new(weights: Vec<f32>) -> Result<Self, DualQuaternionError> {
        if weights.iter().all(|weight| (0.0..=1.0).contains(weight)) {
            Ok(Self { weights })
        } else {
            Err(DualQuaternionError)
        }
    }

    pub(super) fn decode(mut stored: StoredDeformer) -> Result<Self, DualQuaternionError> {
        match stored.buffers.remove(WEIGHTS) {
            None => Ok(Self::default()),
            Some(Values::F32(weights)) => Self::new(weights),
            Some(_) => Err(DualQuaternionError),
        }
    }

    pub(super) fn encode(&self) -> StoredDeformer {
        let mut stored = StoredDeformer::default();
        if !self.weights.is_empty() {
            stored.buffers.insert(WEIGHTS.to_owned(), Values::F32(self.weights.clone()));
        }
        stored
    }

    /// Weight of the dual quaternions per point; empty if it is 1 everywhere.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Returns true if the layer belongs to a mesh of this many points.
    pub fn fits(&self, points: usize) -> bool {
        self.weights.is_empty() || self.weights.len() == points
    }

    /// Writes the points of `mesh`, posed by a transform per joint and a weight per shape, to `out`.
    ///
    /// # Panics
    /// If `rig` or the layer does not belong to `mesh`, or `out` does not hold all points.
    pub fn pose_with(
        &self,
        mesh: &TriMesh,
        rig: &Rig,
        transforms: &[DAffine3],
        shape_weights: &[f32],
        out: &mut [Vec3],
    ) {
        assert!(self.fits(mesh.point_count()), "the layer belongs to the mesh");
        pose_with(mesh, rig, transforms, shape_weights, out);
        if rig.joints().is_empty() {
            return;
        }
        let shapes: Vec<_> = rig.shapes().iter().zip(shape_weights).filter(|(_, weight)| **weight != 0.0).collect();
        let joints = rig.joints().iter().zip(transforms);
        let parts: Vec<Parts> = joints.map(|(joint, pose)| Parts::of(*pose * joint.inverse_bind)).collect();
        out.par_iter_mut().with_min_len(POINTS_PER_THREAD).enumerate().for_each(|(point, out)| {
            let weight = f64::from(self.weights.get(point).copied().unwrap_or(1.0));
            if weight <= 0.0 {
                return;
            }
            let rest = mesh.points()[point].as_dvec3();
            let shaped = shapes
                .iter()
                .fold(rest, |at, (shape, weight)| at + f64::from(**weight) * shape.offsets[point].as_dvec3());
            if let Some(posed) = blended(|| rig.weights().row(point), &parts, shaped) {
                *out = out.as_dvec3().lerp(posed, weight).as_vec3();
            }
        });
    }

    /// The frames of `clip`, each posed when it is read.
    pub fn play(
        self: &Arc<Self>,
        mesh: &Arc<TriMesh>,
        rig: &Arc<Rig>,
        clip: &Arc<Clip>,
    ) -> Result<MeshSequence, SequenceError> {
        let (layer, shape, rig, poses) = (Arc::clone(self), Arc::clone(mesh), Arc::clone(rig), Arc::clone(clip));
        let read = move |frame: usize, out: &mut [Vec3]| {
            layer.pose_with(&shape, &rig, poses.transforms(frame), poses.shape_weights(frame), out);
            Ok(())
        };
        let sequence = MeshSequence::from_fn(Arc::clone(mesh), clip.frame_count(), clip.frame_rate_hz(), read)?;
        Ok(sequence.starting_at(clip.start_seconds()).named(clip.name()))
    }
}

impl Parts {
    fn of(transform: DAffine3) -> Self {
        let (scale, rotation, translation) = transform.to_scale_rotation_translation();
        let half = DQuat::from_xyzw(0.5 * translation.x, 0.5 * translation.y, 0.5 * translation.z, 0.0);
        Self { scale, rotation, dual: product(half, rotation) }
    }
}

/// Product of quaternions of any length; the operator of `glam` expects unit quaternions.
fn product(a: DQuat, b: DQuat) -> DQuat {
    let (u, v) = (a.xyz(), b.xyz());
    let vector = a.w * v + b.w * u + u.cross(v);
    DQuat::from_xyzw(vector.x, vector.y, vector.z, a.w * b.w - u.dot(v))
}

/// A point moved by the blend of its joints; `None` if it has none, or their rotations cancel.
fn blended<R: Iterator<Item = (u32, f32)>>(row: impl Fn() -> R, parts: &[Parts], point: DVec3) -> Option<DVec3> {
    let largest = row().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    let pivot = parts[largest.0 as usize].rotation;
    let (mut rotation, mut dual, mut scale) =
        (DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), DVec3::ZERO);
    for (joint, weight) in row() {
        let (part, weight) = (&parts[joint as usize], f64::from(weight));
        let signed = if part.rotation.dot(pivot) < 0.0 { -weight } else { weight };
        rotation += part.rotation * signed;
        dual += part.dual * signed;
        scale += weight * part.scale;
    }
    let length = rotation.length();
    if length.is_nan() || length <= f64::MIN_POSITIVE {
        return None;
    }
    let (rotation, dual) = (rotation / length, dual / length);
    let translation = 2.0 * product(dual, rotation.conjugate()).xyz();
    let moved = rotation.mul_vec3(scale * point) + translation;
    moved.is_finite().then_some(moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Joint, SkinWeights};

    /// A square cross-section halfway between two joints, of which the second twists by `angle` about x and scales.
    fn twisted(angle: f64, scale: f64, layer: &DualQuaternionLayer) -> (Vec<Vec3>, Vec<Vec3>) {
        let points = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)];
        let points: Vec<Vec3> = points.iter().map(|&(y, z)| Vec3::new(1.0, y, z)).collect();
        let mesh = TriMesh::new(points.clone(), vec![]).unwrap();
        let bind = |x: f64| DAffine3::from_translation(DVec3::new(x, 0.0, 0.0));
        let joints = vec![Joint::at("a", None, bind(0.0)), Joint::at("b", Some(0), bind(2.0))];
        let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(vec![vec![(0, 0.5), (1, 0.5)]; 4]), vec![]).unwrap();
        let moved = bind(2.0) * DAffine3::from_axis_angle(DVec3::X, angle) * DAffine3::from_scale(DVec3::splat(scale));
        let mut out = vec![Vec3::NAN; 4];
        layer.pose_with(&mesh, &rig, &[bind(0.0), moved], &[], &mut out);
        (points, out)
    }

    #[test]
    fn a_twist_keeps_the_cross_section_that_linear_skinning_collapses() {
        let (_, linear) = twisted(3.1, 1.0, &DualQuaternionLayer::new(vec![0.0; 4]).unwrap());
        let (points, posed) = twisted(3.1, 1.0, &DualQuaternionLayer::default());
        let radius = |at: &Vec3| at.truncate().with_x(0.0).length().max(at.z.abs());
        assert!(linear.iter().all(|at| radius(at) < 0.1), "{linear:?}");
        let half = DAffine3::from_axis_angle(DVec3::X, 1.55);
        for (rest, posed) in points.iter().zip(&posed) {
            let expected = half.transform_point3(rest.as_dvec3()).as_vec3();
            assert!(posed.distance(expected) < 1e-6, "{posed} is not {expected}");
        }
    }

    #[test]
    fn blends_rotations_beyond_half_a_turn_and_scales() {
        // Rotations beyond half a turn are blended along the shorter arc, in the opposite direction.
        let (points, posed) = twisted(1.5 * std::f64::consts::PI, 1.0, &DualQuaternionLayer::default());
        let back = DAffine3::from_axis_angle(DVec3::X, -std::f64::consts::FRAC_PI_4);
        for (rest, posed) in points.iter().zip(&posed) {
            assert!(posed.distance(back.transform_point3(rest.as_dvec3()).as_vec3()) < 1e-6);
        }
        let (points, posed) = twisted(0.0, 3.0, &DualQuaternionLayer::default());
        for (rest, posed) in points.iter().zip(&posed) {
            // Scale 2 about the origin, and half of the translation of the scaled joint, −4.
            assert!(posed.distance(2.0 * *rest - Vec3::new(2.0, 0.0, 0.0)) < 1e-6, "{posed}");
        }
    }

    #[test]
    fn rejects_weights_outside_of_their_range() {
        for weight in [-0.1, 1.5, f32::NAN] {
            assert_eq!(DualQuaternionLayer::new(vec![0.5, weight]), Err(DualQuaternionError));
        }
    }
}
