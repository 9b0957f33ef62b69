//! Range of the joint rotations of the examples, beyond which multi-weights fade to the linear skin.
//!
//! The rotation of each joint relative to its parent is a rotation vector; the examples span a box of them. A pose that
//! leaves the box by more than a margin is not covered by the examples: extrapolated weights can turn a limb inside out.
//! The multi-weights of the points that depend on the joint then fade to the linear skin, smoothly in the pose and over
//! the surface. Poses inside the box are not changed.

use dermis_math::polar::polar_rotation;
use dermis_mesh::adjacency::{Edges, Lists};
use dermis_mesh::deformer::multi_weights::MultiWeights;
use dermis_mesh::{Joint, TriMesh};
use glam::{DAffine3, DQuat, DVec3, Vec3};
use serde_json::{Map, Value, json};

use super::examples::Examples;

/// Key of the range in the record of a layer.
const KEY: &str = "range";
/// Margin of the box: a fraction of its size, and a minimum in radians.
const MARGIN: f64 = 0.1;
const MIN_MARGIN: f64 = 2.0 * std::f64::consts::PI / 180.0;
/// Distance beyond the margin at which multi-weights have faded completely: a fraction of the size of the box, and a
/// minimum in radians.
const FADE: f64 = 0.1;
const MIN_FADE: f64 = 4.0 * std::f64::consts::PI / 180.0;
/// Passes that smooth the fading over the surface.
const PASSES: usize = 4;

/// Boxes of the rotation vectors of all joints.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainedRange {
    /// Lower and upper corner for each joint; `None` for joints without a parent.
    boxes: Vec<Option<[DVec3; 2]>>,
}

/// Distance of a pose from the examples.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RangeDistance {
    /// Largest angle by which a joint leaves the rotations of the examples, in degrees.
    pub degrees: f64,
    /// The joint; `None` if all joints are within the rotations of the examples.
    pub joint: Option<usize>,
    /// True if a joint is beyond the margin, so that multi-weights fade.
    pub fades: bool,
}

impl TrainedRange {
    /// Range of the examples of a rig with `joints`.
    pub fn of(examples: &Examples, joints: &[Joint]) -> Self {
        let mut range = Self { boxes: vec![None; joints.len()] };
        for pose in (0..examples.pose_count()).filter(|&pose| examples.weight(pose) > 0.0) {
            for (known, rotation) in range.boxes.iter_mut().zip(rotations(joints, examples.transforms(pose))) {
                let Some(rotation) = rotation else { continue };
                let [low, high] = known.unwrap_or([rotation; 2]);
                *known = Some([low.min(rotation), high.max(rotation)]);
            }
        }
        range
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
        (boxes.len() == joint_count).then_some(Self { boxes })
    }

    /// Entry for the record of a layer: six numbers per joint, in radians.
    pub fn to_record(&self) -> (String, Value) {
        let of_joint = |known: &Option<[DVec3; 2]>| match known {
            Some([low, high]) => json!([low.x, low.y, low.z, high.x, high.y, high.z]),
            None => Value::Null,
        };
        (KEY.to_owned(), self.boxes.iter().map(of_joint).collect())
    }

    /// Distance of a pose, given by the transforms of `joints` applied to the rest mesh.
    pub fn distance(&self, joints: &[Joint], transforms: &[DAffine3]) -> RangeDistance {
        let mut found = RangeDistance::default();
        for (joint, (known, rotation)) in self.boxes.iter().zip(rotations(joints, transforms)).enumerate() {
            let (Some(known), Some(rotation)) = (known, rotation) else { continue };
            let distance = outside(known, rotation);
            let fades = found.fades || distance > margin(known);
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
            let beyond = outside(known, rotation) - margin(known);
            let t = (beyond / (FADE * size + MIN_FADE)).clamp(0.0, 1.0) as f32;
            1.0 - t * t * (3.0 - 2.0 * t)
        };
        self.boxes.iter().zip(rotations(joints, transforms)).map(part).collect()
    }
}

/// Distance from a box at which fading begins.
fn margin([low, high]: &[DVec3; 2]) -> f64 {
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
}

impl Fading {
    pub(super) fn new(range: TrainedRange, weights: &MultiWeights, mesh: &TriMesh, joints: &[Joint]) -> Self {
        let count = mesh.point_count();
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
        Self {
            range,
            joints: joints.to_vec(),
            dependencies: (0..count).map(of_point).collect(),
            neighbours: Edges::new(count, mesh.triangles()).point_neighbours(),
        }
    }

    /// Remaining fraction of the multi-weights at each point for transforms that apply to the rest mesh; `None` if the pose
    /// is in the range.
    pub(super) fn parts(&self, transforms: &[DAffine3]) -> Option<Vec<f32>> {
        let of_joints = self.range.parts(&self.joints, transforms);
        if of_joints.iter().all(|part| *part == 1.0) {
            return None;
        }
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
        Some(parts)
    }
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
        let range = TrainedRange { boxes: vec![None, Some([DVec3::ZERO, DVec3::Z * 90f64.to_radians()])] };
        let (key, value) = range.to_record();
        let record = Map::from_iter([(key, value)]);
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
