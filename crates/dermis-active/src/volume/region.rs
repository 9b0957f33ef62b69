//! Regions of the surface in which a joint changes the volume and in which the change is compensated.
//!
//! By default the weight of a point is `γ = 4 s (1 − s)`, which is 1 halfway between the bones and 0 on points of a
//! single bone. If the skin weights are discontinuous, it is the squared difference of s to the neighbours. γ is then
//! smoothed over neighbours, so that the bulge has no visible rim. Profiles, folds (`γ = sin²(ω π x) exp(−|p|²)`,
//! lengths in joint sizes) and painted attributes replace it.

use dermis_mesh::adjacency::Lists;
use dermis_mesh::geometry::point_normals;
use dermis_mesh::{Object, Rig};
use glam::{DMat3, DVec3};

use super::cap::ClosedSurface;
use super::effects::painted;
use super::error::VolumeError;
use super::{Effect, JointEffect};

/// Maximum displacement of a point, as a fraction of the joint's size.
const MAX_DISPLACEMENT: f64 = 0.5;
/// Number of smoothing passes of γ.
const SMOOTHING_PASSES: usize = 3;
/// Fractions μ of a muscle's correction along the three axes; the paper uses 0.5 to 1 for the axis of the muscle.
const MUSCLE_MU: [f64; 3] = [0.1, 0.1, 0.8];
/// Weights below this value are noise of the file and are ignored.
const MIN_GAMMA: f64 = 1e-4;

/// Sum of the weights on a joint and its descendants, for the points at which it is not 0.
pub(super) type SubtreeWeights = Vec<(u32, f64)>;

/// Points that compensate the change of a joint, with their weights.
#[derive(Debug, Clone)]
pub(super) struct Region {
    /// Points with γ > 0.
    pub(super) points: Vec<u32>,
    pub(super) gamma: Vec<f64>,
    /// Axes in the rest pose, as columns: along the bone, across it, along the axis of the effect.
    pub(super) rest_frame: DMat3,
    pub(super) mu: Option<[f64; 3]>,
    /// Maximum displacement of a point.
    pub(super) max_displacement: f64,
    transition: Transition,
}

/// Faces whose corners are influenced by both bones.
#[derive(Debug, Clone, Default)]
struct Transition {
    /// Offset of each point from the joint, and its subtree weight.
    points: Vec<(DVec3, f64)>,
    triangles: Vec<[u32; 3]>,
    rest_volume: f64,
}

/// For each joint, the points that it or a descendant moves, in ascending order.
pub(super) fn subtree_weights(rig: &Rig) -> Vec<SubtreeWeights> {
    let mut subtree: Vec<SubtreeWeights> = vec![Vec::new(); rig.joints().len()];
    for (point, row) in rig.weights().rows().enumerate() {
        let row: Vec<(u32, f32)> = row.filter(|(_, weight)| *weight > 0.0).collect();
        let total: f64 = row.iter().map(|(_, weight)| f64::from(*weight)).sum();
        for (joint, weight) in row {
            let mut above = Some(joint as usize);
            while let Some(joint) = above {
                let weight = f64::from(weight) / total;
                match subtree[joint].last_mut() {
                    Some((last, sum)) if *last == point as u32 => *sum += weight,
                    _ => subtree[joint].push((point as u32, weight)),
                }
                above = rig.joints()[joint].parent;
            }
        }
    }
    subtree
}

impl Region {
    /// Region in which the change of `joint` is compensated; `None` if it blends with no other joint or the effect
    /// selects no point.
    #[allow(clippy::too_many_arguments, reason = "called once by the layer with all of its data")]
    pub(super) fn of_joint(
        closed: &ClosedSurface,
        neighbours: &Lists,
        points: &[DVec3],
        weights: &SubtreeWeights,
        effect: &JointEffect,
        object: &Object,
        rig: &Rig,
        joint: usize,
    ) -> Result<Option<Self>, VolumeError> {
        let bind = rig.joints()[joint].bind();
        if !bind.is_finite() || effect.strength == 0.0 {
            return Ok(None);
        }
        let origin = bind.translation;
        let mut s = vec![0.0; points.len()];
        for &(point, weight) in weights {
            s[point as usize] = weight;
        }
        for (number, ring) in closed.loops().iter().enumerate() {
            s[closed.point_count() + number] =
                ring.iter().map(|&point| s[point as usize]).sum::<f64>() / ring.len() as f64;
        }
        let mut gamma = blended(&s, neighbours, weights, closed.point_count());
        if gamma.iter().all(|gamma| *gamma == 0.0) {
            return Ok(None);
        }
        let frame = rest_frame(rig, joint, effect.axis);
        let size = effect.sigma.unwrap_or_else(|| spread(&gamma, points, origin));
        let local = |point: DVec3| frame.transpose() * (point - origin) / size;
        let each = |weight: &dyn Fn(DVec3) -> f64| {
            points[..closed.point_count()].iter().map(|&point| weight(local(point))).collect::<Vec<_>>()
        };
        if let Some(name) = &effect.attribute {
            gamma = painted(object, name)?;
        } else if let Some(profile) = &effect.profile {
            gamma = each(&|position| profile.at(position));
        } else if effect.effect == Effect::Folds {
            let omega = effect.omega * std::f64::consts::PI;
            gamma = each(&|position| (omega * position.x).sin().powi(2) * (-position.length_squared()).exp());
        }
        if effect.effect == Effect::Muscle {
            one_sided(&mut gamma, object, frame.z_axis * f64::from(closed.orientation()));
        }
        let mu = effect.mu.or((effect.effect == Effect::Muscle).then_some(MUSCLE_MU));
        let points_of = |gamma: &[f64]| (0..gamma.len() as u32).filter(|&k| gamma[k as usize] > MIN_GAMMA).collect();
        let active: Vec<u32> = points_of(&gamma);
        Ok((!active.is_empty()).then(|| Self {
            gamma: active.iter().map(|&point| gamma[point as usize]).collect(),
            points: active,
            rest_frame: frame,
            mu,
            max_displacement: MAX_DISPLACEMENT * size,
            transition: Transition::new(closed, points, &s, origin),
        }))
    }

    /// Volume that is lost when the joint rotates by `relative` with respect to its parent.
    pub(super) fn volume_lost(&self, relative: DMat3, bent: &mut Vec<DVec3>) -> f64 {
        bent.clear();
        bent.extend(self.transition.points.iter().map(|&(rest, s)| rest + s * (relative * rest - rest)));
        self.transition.rest_volume - cone_volume(&self.transition.triangles, |point| bent[point as usize])
    }
}

impl Transition {
    fn new(closed: &ClosedSurface, points: &[DVec3], s: &[f64], origin: DVec3) -> Self {
        let blends = |triangle: &[u32; 3]| {
            let weights = triangle.map(|point| s[point as usize]);
            weights != [0.0; 3] && weights != [1.0; 3]
        };
        let (members, triangles) = extract(closed.triangles().iter().copied().filter(blends));
        let points: Vec<(DVec3, f64)> =
            members.iter().map(|&point| (points[point as usize] - origin, s[point as usize])).collect();
        let rest_volume = cone_volume(&triangles, |point| points[point as usize].0);
        Self { points, triangles, rest_volume }
    }
}

/// Signed volume between the origin and `triangles`.
fn cone_volume(triangles: &[[u32; 3]], at: impl Fn(u32) -> DVec3) -> f64 {
    let cone = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(&at);
        a.dot(b.cross(c))
    };
    triangles.iter().map(cone).sum::<f64>() / 6.0
}

/// Points used by `triangles` in ascending order, and the triangles with indices into them.
fn extract(triangles: impl Iterator<Item = [u32; 3]>) -> (Vec<u32>, Vec<[u32; 3]>) {
    let triangles: Vec<[u32; 3]> = triangles.collect();
    let mut points: Vec<u32> = triangles.as_flattened().to_vec();
    points.sort_unstable();
    points.dedup();
    let index = |point: u32| points.partition_point(|&other| other < point) as u32;
    let triangles = triangles.into_iter().map(|triangle| triangle.map(index)).collect();
    (points, triangles)
}

/// Weights γ from the skin weights.
fn blended(s: &[f64], neighbours: &Lists, weights: &SubtreeWeights, count: usize) -> Vec<f64> {
    let mut gamma = vec![0.0; count];
    for &(point, weight) in weights {
        gamma[point as usize] = 4.0 * weight * (1.0 - weight);
        for &other in neighbours.of(point as usize).iter().filter(|&&other| (other as usize) < count) {
            let step = (weight - s[other as usize]).powi(2);
            for end in [point, other] {
                gamma[end as usize] = gamma[end as usize].max(step);
            }
        }
    }
    for _ in 0..SMOOTHING_PASSES {
        let mean = |point: usize| {
            let ring = neighbours.of(point).iter().filter(|&&other| (other as usize) < count);
            let (sum, number) = ring.fold((0.0, 0), |(sum, n), &other| (sum + gamma[other as usize], n + 1));
            if number == 0 { gamma[point] } else { 0.5 * (gamma[point] + sum / f64::from(number)) }
        };
        gamma = (0..count).map(mean).collect();
    }
    gamma
}

/// Root mean square distance of the blended points from the joint.
fn spread(gamma: &[f64], points: &[DVec3], origin: DVec3) -> f64 {
    let terms = gamma.iter().zip(points).map(|(&gamma, &point)| (gamma * point.distance_squared(origin), gamma));
    let (sum, total) = terms.fold((0.0, 0.0), |(sum, total), (term, gamma)| (sum + term, total + gamma));
    let size = (sum / total).sqrt();
    if size > 0.0 { size } else { 1.0 }
}

/// Axes of a joint in the rest pose: along its bone, across it, along the axis of the effect.
fn rest_frame(rig: &Rig, joint: usize, axis: Option<[f64; 3]>) -> DMat3 {
    let at = |joint: usize| rig.joints()[joint].bind().translation;
    let below: Vec<DVec3> =
        (0..rig.joints().len()).filter(|&k| rig.joints()[k].parent == Some(joint)).map(at).collect();
    let ahead = below.iter().sum::<DVec3>() / below.len().max(1) as f64 - at(joint);
    let behind = rig.joints()[joint].parent.map_or(DVec3::ZERO, |parent| at(joint) - at(parent));
    let along = if below.is_empty() { behind } else { ahead };
    let bone = along.try_normalize().or(behind.try_normalize()).unwrap_or(DVec3::X);
    let axis = axis.and_then(|axis| (rig.joints()[joint].bind().matrix3 * DVec3::from(axis)).try_normalize());
    let e2 = axis.unwrap_or_else(|| bone.any_orthonormal_vector());
    let e0 = bone.reject_from_normalized(e2).try_normalize().unwrap_or_else(|| e2.any_orthonormal_vector());
    DMat3::from_cols(e0, e2.cross(e0), e2)
}

/// Restricts γ to points whose rest normal points along `axis`.
fn one_sided(gamma: &mut [f64], object: &Object, axis: DVec3) {
    let normals = point_normals(object.mesh.points(), object.mesh.triangles());
    for (gamma, normal) in gamma.iter_mut().zip(normals) {
        let facing = normal.as_dvec3().dot(axis).clamp(0.0, 1.0);
        *gamma *= facing * facing * (3.0 - 2.0 * facing);
    }
}
