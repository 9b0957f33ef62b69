//! Pivots: the points at which fitted bones are bound, and the directions in which they are drawn.
//!
//! A bone is bound at the point of its region that moves least relative to the bones with which it shares points:
//!
//! `min Σ_b' o_b' Σ_t ‖T_t c − T'_t c‖² + λ ‖c − m‖²`
//!
//! over these bones b', with the overlap `o = Σ_i w_ib w_ib'` of their weights, all frames t and the mean m of the
//! bone's points, which determines the position along the axis of a hinge. A bone without neighbours is bound at the
//! point that it moves least from frame to frame, so that it does not wobble in players, which interpolate the origin
//! of a node linearly between keys. The pivot is within the bounds of the region or close to them.

use dermis_mesh::{SkinWeights, TriMesh};
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// λ, relative to the mean of the quadratic term.
const PULL: f64 = 1e-2;
/// Largest distance of a pivot from the mean of the bone's points, relative to their root mean square distance.
const MAX_REACH: f64 = 2.0;
/// Largest distance of a pivot from the bounds of the core of a region, relative to the spread: hinges are between
/// regions.
const MAX_OUTSIDE: f64 = 0.3;
/// Weight, relative to the largest weight of a bone, from which a point belongs to the core of its region.
const CORE: f64 = 0.5;
/// Distance of the pivot from the mean, relative to the spread of the points, below which the region itself gives the
/// direction of a bone.
const MIN_ARM: f64 = 0.3;
/// Deviation from orthonormal columns up to which a transform is a rotation.
const ROUNDING: f64 = 1e-6;

/// Bind transform of each bone: its pivot, with y towards the middle of its points. `frames` contains the transforms of
/// the rest pose, of clips of `lengths` frames, concatenated; a bone that moves no points is bound at the origin.
pub(super) fn pivots(
    mesh: &TriMesh,
    weights: &SkinWeights,
    frames: &[Vec<DAffine3>],
    lengths: &[usize],
) -> Vec<DAffine3> {
    let bones = frames.first().map_or(0, Vec::len);
    let regions = regions(mesh, weights, bones);
    let overlaps = overlaps(weights, bones);
    let bind = |(bone, region): (usize, Option<Region>)| {
        let Some(region) = region else { return DAffine3::IDENTITY };
        let neighbours = &overlaps[bone];
        let position = if neighbours.is_empty() {
            resting_point(&region, frames, lengths, bone)
        } else {
            let motions = neighbours
                .iter()
                .flat_map(|&(other, overlap)| frames.iter().map(move |frame| (frame[bone], frame[other], overlap)));
            least_moving(motions, region.mean, region.spread)
        };
        // Rounded as in files.
        let margin = DVec3::splat(MAX_OUTSIDE * region.spread);
        let position = position.clamp(region.low - margin, region.high + margin).as_vec3().as_dvec3();
        let rotation = region.rotation(position, frames.iter().map(|frame| frame[bone].matrix3));
        DAffine3::from_rotation_translation(rotation, position)
    };
    regions.into_iter().enumerate().map(bind).collect()
}

/// Point near `middle` that moves least between two bones over the frames; its distance is bounded by a multiple of
/// `spread`.
pub(super) fn least_moving_point(
    motions: impl Iterator<Item = (DAffine3, DAffine3)>,
    middle: DVec3,
    spread: f64,
) -> DVec3 {
    least_moving(motions.map(|(own, other)| (own, other, 1.0)), middle, spread)
}

/// The same for weighted pairs of transforms.
fn least_moving(motions: impl Iterator<Item = (DAffine3, DAffine3, f64)>, middle: DVec3, spread: f64) -> DVec3 {
    let (mut normal, mut right) = (DMat3::ZERO, DVec3::ZERO);
    for (own, other, weight) in motions {
        let linear = own.matrix3 - other.matrix3;
        // Relative to the middle, so that the unknown is small.
        let offset = own.transform_point3(middle) - other.transform_point3(middle);
        normal += linear.transpose() * linear * weight;
        right -= linear.transpose() * offset * weight;
    }
    middle + bounded_solution(normal, right, spread)
}

/// Point of a region that a bone moves least from frame to frame: `min Σ_t ‖ΔF_t‖² ‖ΔF_t c + Δv_t‖²`, which weights
/// rotations by the displacement that they cause.
fn resting_point(region: &Region, frames: &[Vec<DAffine3>], lengths: &[usize], bone: usize) -> DVec3 {
    let (mut normal, mut right) = (DMat3::ZERO, DVec3::ZERO);
    let mut first = 0;
    for &length in lengths {
        for pair in frames[first..first + length].windows(2) {
            let (before, after) = (pair[0][bone], pair[1][bone]);
            let rotation = after.matrix3 - before.matrix3;
            let step = after.transform_point3(region.mean) - before.transform_point3(region.mean);
            let weight = rotation.to_cols_array().iter().map(|entry| entry * entry).sum::<f64>();
            normal += rotation.transpose() * rotation * weight;
            right -= rotation.transpose() * step * weight;
        }
        first += length;
    }
    region.mean + bounded_solution(normal, right, region.spread)
}

fn bounded_solution(normal: DMat3, right: DVec3, spread: f64) -> DVec3 {
    let pull = PULL * (normal.x_axis.x + normal.y_axis.y + normal.z_axis.z) / 3.0;
    let offset = (normal + DMat3::from_diagonal(DVec3::splat(pull))).inverse() * right;
    if offset.is_finite() { offset.clamp_length_max(MAX_REACH * spread) } else { DVec3::ZERO }
}

/// Bones that share points with each bone, with `Σ_i w_ib w_ib'`.
fn overlaps(weights: &SkinWeights, bones: usize) -> Vec<Vec<(usize, f64)>> {
    let mut sums = vec![0.0; bones * bones];
    for row in weights.rows() {
        let row: Vec<(usize, f64)> = row.map(|(bone, weight)| (bone as usize, f64::from(weight.abs()))).collect();
        for &(a, weight) in &row {
            for &(b, other) in row.iter().filter(|entry| entry.0 != a) {
                sums[a * bones + b] += weight * other;
            }
        }
    }
    let row = |bone: usize| (0..bones).map(move |other| (other, bone * bones + other));
    (0..bones)
        .map(|bone| row(bone).map(|(other, at)| (other, sums[at])).filter(|entry| entry.1 > 0.0).collect())
        .collect()
}

/// Points that a bone moves.
struct Region {
    /// Weighted mean.
    mean: DVec3,
    /// Root mean square distance from the mean.
    spread: f64,
    /// Weighted covariance.
    covariance: DMat3,
    /// Bounds of the points with large weights.
    low: DVec3,
    high: DVec3,
}

impl Region {
    /// Rotation whose y axis points from the pivot to the middle of the region, or along the region if the pivot is at its
    /// middle. Bones with scales along their axes keep these axes: y is then the nearest axis.
    fn rotation(&self, pivot: DVec3, motion: impl Iterator<Item = DMat3>) -> DQuat {
        let arm = self.mean - pivot;
        let direction = if arm.length() > MIN_ARM * self.spread { arm } else { self.longest_axis() };
        let Some(direction) = direction.try_normalize() else { return DQuat::IDENTITY };
        if has_axis_scales(motion) {
            let axis =
                (1..3).fold(0, |best, next| if direction[next].abs() > direction[best].abs() { next } else { best });
            let half = std::f64::consts::FRAC_PI_2.copysign(direction[axis]);
            return match axis {
                0 => DQuat::from_rotation_z(-half),
                1 if half < 0.0 => DQuat::from_rotation_x(std::f64::consts::PI),
                1 => DQuat::IDENTITY,
                _ => DQuat::from_rotation_x(half),
            };
        }
        // Rounded as in files.
        DQuat::from_rotation_arc(DVec3::Y, direction).as_quat().normalize().as_dquat().normalize()
    }

    /// Direction of the largest extent, by power iteration.
    fn longest_axis(&self) -> DVec3 {
        let start =
            (0..3).fold(
                0,
                |best, next| {
                    if self.covariance.col(next)[next] > self.covariance.col(best)[best] { next } else { best }
                },
            );
        (0..50).fold(DVec3::AXES[start], |axis, _| (self.covariance * axis).normalize_or(axis))
    }
}

/// True if a bone has scales along the axes of the rest pose, which are not 1.
fn has_axis_scales(mut motion: impl Iterator<Item = DMat3>) -> bool {
    let mut scaled = false;
    let mut orthogonal = |f: DMat3| {
        let square = f.transpose() * f;
        let off = square.x_axis.y.abs().max(square.x_axis.z.abs()).max(square.y_axis.z.abs());
        let on = DVec3::new(square.x_axis.x, square.y_axis.y, square.z_axis.z);
        scaled |= (on - 1.0).abs().max_element() > ROUNDING;
        off <= ROUNDING * on.max_element()
    };
    motion.all(&mut orthogonal) && scaled
}

/// Region of each bone; `None` if it moves no points.
fn regions(mesh: &TriMesh, weights: &SkinWeights, bones: usize) -> Vec<Option<Region>> {
    let bound = || {
        let rows = mesh.points().iter().zip(weights.rows());
        rows.flat_map(|(point, row)| row.map(|(joint, w)| (joint as usize, f64::from(w.abs()), point.as_dvec3())))
    };
    let mut sums = vec![(0.0, DVec3::ZERO, 0.0f64); bones];
    for (joint, weight, point) in bound() {
        sums[joint].0 += weight;
        sums[joint].1 += weight * point;
        sums[joint].2 = sums[joint].2.max(weight);
    }
    let mut regions: Vec<Option<Region>> = sums
        .iter()
        .map(|&(weight, sum, _)| {
            let (low, high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
            (weight > 0.0).then(|| Region { mean: sum / weight, spread: 0.0, covariance: DMat3::ZERO, low, high })
        })
        .collect();
    for (joint, weight, point) in bound() {
        let Some(region) = &mut regions[joint] else { continue };
        let arm = point - region.mean;
        region.covariance += DMat3::from_cols(arm * arm.x, arm * arm.y, arm * arm.z) * (weight / sums[joint].0);
        if weight >= CORE * sums[joint].2 {
            (region.low, region.high) = (region.low.min(point), region.high.max(point));
        }
    }
    for region in regions.iter_mut().flatten() {
        let DMat3 { x_axis, y_axis, z_axis } = region.covariance;
        region.spread = (x_axis.x + y_axis.y + z_axis.z).max(0.0).sqrt();
    }
    regions
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    /// Pivot of a bone of points around (5, 0, 0) that rotates about z through `center`.
    fn turning(center: DVec3) -> DVec3 {
        let points: Vec<Vec3> = (0..8)
            .map(|k| Vec3::new(4.0 + (k & 1) as f32 * 2.0, (k >> 1 & 1) as f32 - 0.5, (k >> 2) as f32 - 0.5))
            .collect();
        let mesh = TriMesh::new(points, vec![]).unwrap();
        let weights = SkinWeights::from_rows((0..8).map(|_| [(0, 1.0)]));
        let about = DAffine3::from_translation(center);
        let pose = |frame: i32| vec![about * DAffine3::from_rotation_z(0.3 * f64::from(frame)) * about.inverse()];
        let frames: Vec<Vec<DAffine3>> = (0..9).map(pose).collect();
        pivots(&mesh, &weights, &frames, &[4, 5])[0].translation
    }

    #[test]
    fn a_bone_is_bound_at_its_hinge() {
        let at = turning(DVec3::new(4.0, 0.3, 7.0));
        // Along the axis the pivot is not determined and stays at the mean; across it the prior has a small effect.
        assert!(at.distance(DVec3::new(4.0, 0.3, 0.0)) < 0.03, "{at}");
    }

    #[test]
    fn a_bone_that_rotates_about_a_point_far_away_stays_near_its_points() {
        let at = turning(DVec3::new(-1000.0, 0.0, 0.0));
        assert!(at.distance(DVec3::new(5.0, 0.0, 0.0)) < 3.0, "{at}");
    }
}
