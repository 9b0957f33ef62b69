//! Range of the joint rotations of the examples, beyond which multi-weights fade to the linear skin.
//!
//! The rotation of each joint relative to its parent is a rotation vector; the examples span a box of them. Poses inside
//! the box are not changed. Well-determined multi-weights extrapolate better than the linear skin, others turn a limb
//! inside out, so the margin around the box is measured: it is twice the largest distance, relative to the size of the
//! box, up to which multi-weights predicted held-out poses of the cross-validation better than the linear skin. Beyond
//! the margin, the multi-weights of the points that depend on the joint fade to the linear skin, smoothly in the pose and
//! over the surface. Outside the box, they also fade as far as the volume around a joint (`region_volume`) would be
//! smaller than that of the linear skin by more than in the examples.

use dermis_math::polar::polar_rotation;
use dermis_mesh::adjacency::{Edges, Lists};
use dermis_mesh::deformer::multi_weights::MultiWeights;
use dermis_mesh::{Joint, TriMesh};
use glam::{DAffine3, DQuat, DVec3, Vec3};
use serde_json::{Map, Value, json};

use super::cross_validation::Curve;
use super::examples::Examples;
use super::region_volume::RegionVolumes;

/// Keys in the record of a layer: the boxes, the margin, and the losses of volume.
const KEY: &str = "range";
const MARGIN_KEY: &str = "range_margin";
const LOSSES_KEY: &str = "range_volume_losses";
/// Smallest margin of the box: a fraction of its size, and a minimum in radians.
const MARGIN: f64 = 0.1;
const MIN_MARGIN: f64 = 2.0 * std::f64::consts::PI / 180.0;
/// Margin relative to the distance at which multi-weights were better than the linear skin in the cross-validation.
const TRUST: f64 = 2.0;
/// Largest margin, as a fraction of the size of the box.
const MAX_MARGIN: f64 = 0.6;
/// Number of times that fractions are lowered until the loss of volume is allowed.
const VOLUME_ROUNDS: usize = 8;
/// Loss of volume, relative to the volume at rest, that is always allowed.
const LOSS_TOLERANCE: f64 = 1e-3;
/// Distance beyond the margin at which multi-weights have faded completely: a fraction of the size of the box, plus
/// an angle in radians.
const FADE: f64 = 0.1;
const MIN_FADE: f64 = 4.0 * std::f64::consts::PI / 180.0;
/// Passes that smooth the fading over the surface.
const PASSES: usize = 4;

/// Boxes of the rotation vectors of all joints.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedRange {
    /// Lower and upper corner for each joint; `None` for joints without a parent.
    boxes: Vec<Option<[DVec3; 2]>>,
    /// Margin of the boxes, relative to their size.
    margin: f64,
    /// Largest loss of volume around each joint in the examples, compared with the linear skin and relative to the volume
    /// at rest; empty if it is unknown.
    losses: Vec<f64>,
}

/// Distance of a pose from the examples.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RangeDistance {
    /// Largest angle by which a joint leaves the rotations of the examples, in degrees.
    pub degrees: f64,
    /// The joint; `None` if all joints are within the rotations of the examples.
    pub joint: Option<usize>,
    /// True if a joint is beyond the smallest margin, so that multi-weights can fade.
    pub fades: bool,
}

impl TrainedRange {
    /// Range of the examples of a rig with `joints`.
    pub fn of(examples: &Examples, joints: &[Joint]) -> Self {
        Self::of_poses(examples, joints, |_| true)
    }

    /// Range of the poses with a weight for which `is_used` holds.
    fn of_poses(examples: &Examples, joints: &[Joint], is_used: impl Fn(usize) -> bool) -> Self {
        let mut range = Self { boxes: vec![None; joints.len()], margin: MARGIN, losses: Vec::new() };
        for pose in (0..examples.pose_count()).filter(|&pose| examples.weight(pose) > 0.0 && is_used(pose)) {
            for (known, rotation) in range.boxes.iter_mut().zip(rotations(joints, examples.transforms(pose))) {
                let Some(rotation) = rotation else { continue };
                let [low, high] = known.unwrap_or([rotation; 2]);
                *known = Some([low.min(rotation), high.max(rotation)]);
            }
        }
        range
    }

    /// Widens the margin to the distances at which `curve`, the cross-validation of the examples, found multi-weights of
    /// the selected smoothness to be better than the linear skin.
    #[must_use]
    pub fn verified(mut self, examples: &Examples, joints: &[Joint], curve: &Curve, smoothness: f64) -> Self {
        let mut tested: Vec<(f64, [f64; 2])> = Vec::new();
        for block in 0..curve.blocks {
            let held = || curve.held_out(smoothness).filter(|(held, _)| held.block == block);
            let is_used = |pose: usize| held().all(|(held, _)| held.pose != pose);
            let others = Self::of_poses(examples, joints, is_used);
            tested
                .extend(held().map(|(held, errors)| (others.relative(joints, examples.transforms(held.pose)), errors)));
        }
        tested.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sums = [0.0; 2];
        for (distance, errors) in tested.into_iter().filter(|(distance, _)| *distance > 0.0) {
            sums = [sums[0] + errors[0], sums[1] + errors[1]];
            if sums[0] < sums[1] && errors[0] < errors[1] {
                self.margin = self.margin.max(TRUST * distance).min(MAX_MARGIN);
            }
        }
        self
    }

    /// Learns how much volume the multi-weights lose around each joint in the examples. `posed` returns the positions with
    /// multi-weights and with the linear skin in a pose.
    #[must_use]
    pub fn with_losses(
        mut self,
        examples: &Examples,
        weights: &MultiWeights,
        mesh: &TriMesh,
        joints: &[Joint],
        posed: impl Fn(usize) -> [Vec<Vec3>; 2],
    ) -> Self {
        let volumes = RegionVolumes::new(mesh, joints, &dependencies(weights, mesh, joints));
        self.losses = vec![0.0; joints.len()];
        for pose in (0..examples.pose_count()).filter(|&pose| examples.weight(pose) > 0.0) {
            let [multi, linear] = posed(pose);
            let found = volumes.losses(&multi, |point| linear[point], examples.transforms(pose));
            self.losses.iter_mut().zip(found).for_each(|(known, loss)| *known = known.max(loss));
        }
        self
    }

    /// Largest distance of a joint from its box, relative to the size of the box.
    fn relative(&self, joints: &[Joint], transforms: &[DAffine3]) -> f64 {
        let of_joint = |(known, rotation): (&Option<[DVec3; 2]>, Option<DVec3>)| {
            let (Some(known), Some(rotation)) = (known, rotation) else { return 0.0 };
            let size = (known[1] - known[0]).length();
            // A joint that hardly moves in the examples is no test of extrapolation.
            if size > MIN_MARGIN { outside(known, rotation) / size } else { 0.0 }
        };
        self.boxes.iter().zip(rotations(joints, transforms)).map(of_joint).fold(0.0, f64::max)
    }

    /// The range in the record of a layer; `None` if it has no range, or that of another rig.
    pub fn from_record(record: &Map<String, Value>, joint_count: usize) -> Option<Self> {
        let number = |value: &Value| value.as_f64().filter(|number| number.is_finite());
        let of_joint = |value: &Value| -> Option<Option<[DVec3; 2]>> {
            if value.is_null() {
                return Some(None);
            }
            let numbers: Vec<f64> = value.as_array()?.iter().map(number).collect::<Option<_>>()?;
            let &[a, b, c, d, e, f] = &numbers[..] else { return None };
            Some(Some([DVec3::new(a, b, c), DVec3::new(d, e, f)]))
        };
        let boxes: Vec<_> = record.get(KEY)?.as_array()?.iter().map(of_joint).collect::<Option<_>>()?;
        let margin = record.get(MARGIN_KEY).and_then(number).filter(|margin| *margin >= 0.0).unwrap_or(MARGIN);
        let losses = record.get(LOSSES_KEY).and_then(Value::as_array).map(|losses| losses.iter().map(number).collect());
        let losses: Vec<f64> = losses.and_then(|losses: Option<Vec<f64>>| losses).unwrap_or_default();
        let losses = if losses.len() == joint_count { losses } else { Vec::new() };
        (boxes.len() == joint_count).then_some(Self { boxes, margin, losses })
    }

    /// Entries for the record of a layer: six numbers per joint, in radians, the margin, and the losses of volume.
    pub fn to_record(&self) -> [(String, Value); 3] {
        let of_joint = |known: &Option<[DVec3; 2]>| match known {
            Some([low, high]) => json!([low.x, low.y, low.z, high.x, high.y, high.z]),
            None => Value::Null,
        };
        [
            (KEY.to_owned(), self.boxes.iter().map(of_joint).collect()),
            (MARGIN_KEY.to_owned(), json!(self.margin)),
            (LOSSES_KEY.to_owned(), json!(self.losses)),
        ]
    }

    /// Distance of a pose, given by the transforms of `joints` applied to the rest mesh.
    pub fn distance(&self, joints: &[Joint], transforms: &[DAffine3]) -> RangeDistance {
        let mut found = RangeDistance::default();
        for (joint, (known, rotation)) in self.boxes.iter().zip(rotations(joints, transforms)).enumerate() {
            let (Some(known), Some(rotation)) = (known, rotation) else { continue };
            let distance = outside(known, rotation);
            let fades = found.fades || distance > least_margin(known);
            found = if distance.to_degrees() > found.degrees {
                RangeDistance { degrees: distance.to_degrees(), joint: Some(joint), fades }
            } else {
                RangeDistance { fades, ..found }
            };
        }
        found
    }

    /// Remaining fraction of the multi-weights for each joint, 0 to 1.
    fn parts(&self, joints: &[Joint], transforms: &[DAffine3]) -> Vec<f32> {
        let part = |(known, rotation): (&Option<[DVec3; 2]>, Option<DVec3>)| {
            let (Some(known), Some(rotation)) = (known, rotation) else { return 1.0 };
            let size = (known[1] - known[0]).length();
            let beyond = outside(known, rotation) - self.margin(known);
            let t = (beyond / (FADE * size + MIN_FADE)).clamp(0.0, 1.0) as f32;
            1.0 - t * t * (3.0 - 2.0 * t)
        };
        self.boxes.iter().zip(rotations(joints, transforms)).map(part).collect()
    }

    /// Distance from a box at which fading begins.
    fn margin(&self, [low, high]: &[DVec3; 2]) -> f64 {
        (self.margin * (*high - *low).length()).max(MIN_MARGIN)
    }

    /// Degree to which a pose is outside of all boxes: 0 inside, 1 at the smallest margin of a box.
    fn outsideness(&self, joints: &[Joint], transforms: &[DAffine3]) -> f64 {
        let of_joint = |(known, rotation): (&Option<[DVec3; 2]>, Option<DVec3>)| {
            let (Some(known), Some(rotation)) = (known, rotation) else { return 0.0 };
            outside(known, rotation) / least_margin(known)
        };
        let largest = self.boxes.iter().zip(rotations(joints, transforms)).map(of_joint).fold(0.0, f64::max);
        let t = largest.min(1.0);
        t * t * (3.0 - 2.0 * t)
    }
}

/// Smallest margin of a box.
fn least_margin([low, high]: &[DVec3; 2]) -> f64 {
    (MARGIN * (*high - *low).length()).max(MIN_MARGIN)
}

/// Distance of a rotation vector to a box.
fn outside([low, high]: &[DVec3; 2], rotation: DVec3) -> f64 {
    (rotation - rotation.clamp(*low, *high)).length()
}

/// Rotation vector of each joint relative to its parent; `None` without a parent or for singular transforms.
fn rotations<'a>(joints: &'a [Joint], transforms: &'a [DAffine3]) -> impl Iterator<Item = Option<DVec3>> + 'a {
    joints.iter().zip(transforms).map(|(joint, transform)| {
        let relative = transforms.get(joint.parent?)?.matrix3.inverse() * transform.matrix3;
        if !relative.is_finite() || relative.determinant() == 0.0 {
            return None;
        }
        let rotation = DQuat::from_mat3(&polar_rotation(relative));
        let rotation = if rotation.w < 0.0 { -rotation } else { rotation };
        Some(rotation.to_scaled_axis())
    })
}

/// Fading of the points of a mesh.
#[derive(Debug)]
pub(super) struct Fading {
    range: TrainedRange,
    joints: Vec<Joint>,
    /// Joints on whose rotation each point depends.
    dependencies: Vec<Vec<u32>>,
    neighbours: Lists,
    /// Volumes around the joints, if their losses in the examples are known.
    volumes: Option<RegionVolumes>,
}

impl Fading {
    pub(super) fn new(range: TrainedRange, weights: &MultiWeights, mesh: &TriMesh, joints: &[Joint]) -> Self {
        let dependencies = dependencies(weights, mesh, joints);
        Self {
            joints: joints.to_vec(),
            volumes: (!range.losses.is_empty()).then(|| RegionVolumes::new(mesh, joints, &dependencies)),
            dependencies,
            neighbours: Edges::new(mesh.point_count(), mesh.triangles()).point_neighbours(),
            range,
        }
    }

    /// Returns true if a joint is outside of its box, so that multi-weights can fade.
    pub(super) fn leaves_range(&self, transforms: &[DAffine3]) -> bool {
        self.range.outsideness(&self.joints, transforms) > 0.0
    }

    /// Remaining fraction of the multi-weights at each point for transforms that apply to the rest mesh; `None` if the
    /// multi-weights do not fade. `multi` and `linear` are the positions with multi-weights and with the linear skin.
    pub(super) fn parts(
        &self,
        transforms: &[DAffine3],
        multi: &[Vec3],
        linear: impl Fn(usize) -> Vec3,
    ) -> Option<Vec<f32>> {
        let outsideness = self.range.outsideness(&self.joints, transforms);
        if outsideness == 0.0 {
            return None;
        }
        let mut of_joints = self.range.parts(&self.joints, transforms);
        let mut parts = self.of_points(&of_joints);
        for _ in 0..VOLUME_ROUNDS {
            let Some(volumes) = &self.volumes else { break };
            let mut blended = multi.to_vec();
            fade(&mut blended, &linear, &parts);
            let losses = volumes.losses(&blended, &linear, transforms);
            let mut is_lowered = false;
            for ((part, loss), known) in of_joints.iter_mut().zip(losses).zip(&self.range.losses) {
                let allowed = known.max(LOSS_TOLERANCE);
                if loss > allowed && *part > 0.0 {
                    *part *= (1.0 - outsideness * (1.0 - allowed / loss)) as f32;
                    is_lowered = true;
                }
            }
            if !is_lowered {
                break;
            }
            parts = self.of_points(&of_joints);
        }
        parts.iter().any(|part| *part < 1.0).then_some(parts)
    }

    /// Fractions at the points from those of the joints, smooth over the surface.
    fn of_points(&self, of_joints: &[f32]) -> Vec<f32> {
        let least = |joints: &Vec<u32>| joints.iter().map(|&joint| of_joints[joint as usize]).fold(1.0, f32::min);
        let mut parts: Vec<f32> = self.dependencies.iter().map(least).collect();
        for _ in 0..PASSES {
            let lowered = |point: usize| {
                let ring = self.neighbours.of(point);
                let mean = ring.iter().map(|&other| parts[other as usize]).sum::<f32>() / ring.len().max(1) as f32;
                if ring.is_empty() { parts[point] } else { parts[point].min(0.5 * (parts[point] + mean)) }
            };
            parts = (0..parts.len()).map(lowered).collect();
        }
        parts
    }
}

/// Joints on whose rotation relative to their parents each point depends.
fn dependencies(weights: &MultiWeights, mesh: &TriMesh, joints: &[Joint]) -> Vec<Vec<u32>> {
    let parts = |point: usize| match &weights.parts[..] {
        [] => point..point + 1,
        parts => parts[point] as usize..parts[point + 1] as usize,
    };
    let of_point = |point: usize| {
        let mut bones: Vec<u32> = parts(point)
            .flat_map(|part| {
                let entries = weights.offsets[part] as usize..weights.offsets[part + 1] as usize;
                weights.bones[entries].iter().copied().chain([weights.home[part]])
            })
            .collect();
        bones.sort_unstable();
        bones.dedup();
        // A parent that does not influence the point rotates all of its bones together, which does not deform it.
        let parent_of = |bone: u32| joints[bone as usize].parent.map(|parent| parent as u32);
        let all = bones.clone();
        bones.retain(|&bone| parent_of(bone).is_some_and(|parent| all.binary_search(&parent).is_ok()));
        bones
    };
    (0..mesh.point_count()).map(of_point).collect()
}

/// Blends `posed` towards `linear`; `parts` are the remaining fractions of the multi-weights.
pub(super) fn fade(posed: &mut [Vec3], linear: impl Fn(usize) -> Vec3, parts: &[f32]) {
    for (point, (position, part)) in posed.iter_mut().zip(parts).enumerate() {
        if *part < 1.0 {
            *position = linear(point).lerp(*position, *part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joints() -> Vec<Joint> {
        vec![Joint::at("root", None, DAffine3::IDENTITY), Joint::at("elbow", Some(0), DAffine3::IDENTITY)]
    }

    fn bent(degrees: f64) -> Vec<DAffine3> {
        vec![
            DAffine3::from_rotation_y(1.0),
            DAffine3::from_rotation_y(1.0) * DAffine3::from_rotation_z(degrees.to_radians()),
        ]
    }

    #[test]
    fn only_poses_beyond_the_margin_fade() {
        let boxes = vec![None, Some([DVec3::ZERO, DVec3::Z * 90f64.to_radians()])];
        let range = TrainedRange { boxes, margin: MARGIN, losses: vec![0.0, 0.25] };
        let record = Map::from_iter(range.to_record());
        assert_eq!(TrainedRange::from_record(&record, 2), Some(range.clone()));
        assert_eq!(TrainedRange::from_record(&record, 3), None);
        let part = |degrees: f64| range.parts(&joints(), &bent(degrees))[1];
        assert_eq!([part(0.0), part(90.0), part(95.0)], [1.0; 3]);
        assert!(part(110.0) < 1.0 && part(110.0) > 0.0);
        assert_eq!([part(135.0), part(170.0)], [0.0; 2]);
        let distance = range.distance(&joints(), &bent(120.0));
        assert!((distance.degrees - 30.0).abs() < 1e-6 && distance.joint == Some(1), "{distance:?}");
    }
}
