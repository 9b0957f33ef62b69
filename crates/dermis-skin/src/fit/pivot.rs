//! Pivots: the points at which fitted bones are bound.
//!
//! Players move a node's origin along a line from key to key and rotate about it. A bone that rotates by φ about a
//! point at distance r from its origin displaces that point by `r (1 − cos φ/2)` half-way; with the origin at a
//! figure's feet its head wobbles. Each bone is therefore bound at the point that it moves least:
//!
//! `min Σ_t ‖ΔF_t‖² ‖ΔF_t c + Δv_t‖² + λ ‖c − m‖²`
//!
//! over the steps (ΔF, Δv) of its clips, which weights rotations by the displacement that they cause. Without rotation,
//! c is the mean m of the bone's points; its distance from m is bounded by a multiple of their spread.

use dermis_mesh::{SkinWeights, TriMesh};
use glam::{DAffine3, DMat3, DVec3};

/// λ, relative to the mean of the quadratic term.
const PULL: f64 = 1e-2;
/// Largest distance of a pivot from the mean of the bone's points, relative to their root mean square distance.
const MAX_REACH: f64 = 2.0;

/// Computes the pivot of each bone. `frames` contains the transforms of the rest pose, of clips of `lengths` frames,
/// concatenated; a bone that moves no points has its pivot at the origin.
pub(super) fn pivots(mesh: &TriMesh, weights: &SkinWeights, frames: &[Vec<DAffine3>], lengths: &[usize]) -> Vec<DVec3> {
    let bones = frames.first().map_or(0, Vec::len);
    let regions = regions(mesh, weights, bones).into_iter().enumerate();
    regions.map(|(bone, region)| region.map_or(DVec3::ZERO, |region| pivot(&region, frames, lengths, bone))).collect()
}

/// Weighted mean of the points that a bone moves, and their root mean square distance from it.
struct Region {
    mean: DVec3,
    spread: f64,
}

/// Region of each bone; `None` if it moves no points.
fn regions(mesh: &TriMesh, weights: &SkinWeights, bones: usize) -> Vec<Option<Region>> {
    let bound = || {
        let rows = mesh.points().iter().zip(weights.rows());
        rows.flat_map(|(point, row)| row.map(|(joint, w)| (joint as usize, f64::from(w.abs()), point.as_dvec3())))
    };
    let mut sums = vec![(0.0, DVec3::ZERO); bones];
    for (joint, weight, point) in bound() {
        sums[joint].0 += weight;
        sums[joint].1 += weight * point;
    }
    let means: Vec<DVec3> = sums.iter().map(|(weight, sum)| *sum / *weight).collect();
    let mut squares = vec![0.0; means.len()];
    for (joint, weight, point) in bound() {
        squares[joint] += weight * point.distance_squared(means[joint]);
    }
    let region = |((&mean, square), (weight, _)): ((&DVec3, f64), &(f64, DVec3))| {
        (*weight > 0.0).then(|| Region { mean, spread: (square / weight).sqrt() })
    };
    means.iter().zip(squares).zip(&sums).map(region).collect()
}

fn pivot(region: &Region, frames: &[Vec<DAffine3>], lengths: &[usize], bone: usize) -> DVec3 {
    let (mut normal, mut right) = (DMat3::ZERO, DVec3::ZERO);
    let mut first = 0;
    for &length in lengths {
        for pair in frames[first..first + length].windows(2) {
            let (before, after) = (pair[0][bone], pair[1][bone]);
            let rotation = after.matrix3 - before.matrix3;
            // Relative to the mean, so that the unknown is small.
            let step = after.transform_point3(region.mean) - before.transform_point3(region.mean);
            let weight = rotation.to_cols_array().iter().map(|entry| entry * entry).sum::<f64>();
            normal += rotation.transpose() * rotation * weight;
            right -= rotation.transpose() * step * weight;
        }
        first += length;
    }
    let pull = PULL * (normal.x_axis.x + normal.y_axis.y + normal.z_axis.z) / 3.0;
    let offset = (normal + DMat3::from_diagonal(DVec3::splat(pull))).inverse() * right;
    let offset = if offset.is_finite() { offset.clamp_length_max(MAX_REACH * region.spread) } else { DVec3::ZERO };
    // Rounded as in files.
    (region.mean + offset).as_vec3().as_dvec3()
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
        pivots(&mesh, &weights, &frames, &[4, 5])[0]
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
