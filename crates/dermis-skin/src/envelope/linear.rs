//! Best linear blend skin of the examples: the underlying deformer of MWE, §4.5.
//!
//! Bones and rest pose are given, so the weights of each point are a least-squares problem over the simplex, with the
//! bones of its influence map as candidates. Poses are first transformed by the inverse of the rigid part of the first
//! joint's motion, so that a character far from the origin does not lose precision.

use dermis_math::polar::polar_rotation;
use dermis_mesh::SkinWeights;
use faer::Mat;
use glam::{DAffine3, DVec3, Vec3};

use super::examples::Examples;
use super::influences::InfluenceMaps;
use crate::blocks::in_blocks;
use crate::fit::influences::{Point, Scratch};
use crate::fit::moments::{Moments, correlate};
use crate::fit::transforms::set_affine;

/// Subset of the training data: some poses of some points.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subset<'a> {
    pub(super) rest: &'a [Vec3],
    pub(super) examples: &'a Examples,
    pub(super) poses: &'a [usize],
    pub(super) points: &'a [u32],
}

/// Weights of at most `max_influences` bones for each of the points, in their order; bones are in ascending order.
pub(super) fn best_linear(subset: &Subset<'_>, maps: &InfluenceMaps, max_influences: usize) -> SkinWeights {
    let units = Units::of(subset.rest);
    let frames: Vec<DAffine3> =
        subset.poses.iter().map(|&pose| units.frame(subset.examples.transforms(pose))).collect();
    let transforms = bones(subset, &units, &frames);
    let moments = Moments::new(&transforms);
    let all: Vec<u32> = (0..subset.examples.bone_count() as u32).collect();
    let rows = in_blocks(subset.points.len(), |range| {
        let points = &subset.points[range];
        let positions = positions(subset, points, &units, &frames);
        let correlations = correlate(&transforms, &positions, &(0..points.len()));
        let mut scratch = Scratch::default();
        let row = |(column, &index): (usize, &u32)| {
            let rest = units.normalized(subset.rest[index as usize].as_dvec3());
            let point = Point { moments: &moments, correlations: correlations.col_as_slice(column), rest, prior: None };
            let mut candidates: Vec<u32> = maps.maps.row(index as usize).map(|(bone, _)| bone).collect();
            if candidates.is_empty() {
                candidates.clone_from(&all);
            }
            let (chosen, _) = point.choose_among(&candidates, max_influences, &mut scratch);
            let mut row: Vec<(u32, f32)> = chosen.iter().map(|(bone, weight)| (bone as u32, weight as f32)).collect();
            row.sort_by_key(|(bone, _)| *bone);
            row
        };
        points.iter().enumerate().map(row).collect::<Vec<_>>()
    });
    SkinWeights::from_rows(rows.into_iter().flatten())
}

/// Normalization of positions: (position − centre) / scale.
struct Units {
    centre: DVec3,
    scale: f64,
}

impl Units {
    fn of(rest: &[Vec3]) -> Self {
        let count = rest.len().max(1) as f64;
        let centre = rest.iter().map(|p| p.as_dvec3()).sum::<DVec3>() / count;
        let square = rest.iter().map(|p| (p.as_dvec3() - centre).length_squared()).sum::<f64>() / count;
        Self { centre, scale: if square > 0.0 { square.sqrt() } else { 1.0 } }
    }

    fn normalized(&self, point: DVec3) -> DVec3 {
        (point - self.centre) / self.scale
    }

    /// Inverse of the rigid part of the first bone's transform.
    fn frame(&self, transforms: &[DAffine3]) -> DAffine3 {
        let first = transforms[0];
        let rotation = polar_rotation(first.matrix3);
        let translation = first.transform_point3(self.centre) - rotation * self.centre;
        DAffine3 { matrix3: rotation, translation }.inverse()
    }
}

/// Radius of the model, the unit of translations.
pub(super) fn size_of(rest: &[Vec3]) -> f64 {
    Units::of(rest).scale
}

/// Transforms of all bones and poses, 3S × 4B, scaled by the weights of the poses.
fn bones(subset: &Subset<'_>, units: &Units, frames: &[DAffine3]) -> Mat<f64> {
    let mut matrix = Mat::zeros(3 * subset.poses.len(), 4 * subset.examples.bone_count());
    for (row, (&pose, frame)) in subset.poses.iter().zip(frames).enumerate() {
        let weight = subset.examples.weight(pose);
        for (bone, &transform) in subset.examples.transforms(pose).iter().enumerate() {
            let DAffine3 { matrix3: f, translation } = *frame * transform;
            let offset = (translation + f * units.centre - units.centre) / units.scale;
            set_affine(&mut matrix, row, bone, [f.x_axis, f.y_axis, f.z_axis, offset].map(|column| weight * column));
        }
    }
    matrix
}

fn positions(subset: &Subset<'_>, points: &[u32], units: &Units, frames: &[DAffine3]) -> Mat<f64> {
    let mut matrix: Mat<f64> = Mat::zeros(3 * subset.poses.len(), points.len());
    for (row, (&pose, frame)) in subset.poses.iter().zip(frames).enumerate() {
        let (target, weight) = (subset.examples.target(pose), subset.examples.weight(pose));
        for (column, &point) in points.iter().enumerate() {
            let aligned = frame.transform_point3(target[point as usize].as_dvec3());
            let position = weight * units.normalized(aligned);
            matrix.col_as_slice_mut(column)[3 * row..3 * row + 3].copy_from_slice(&position.to_array());
        }
    }
    matrix
}

/// Position of a point under a linear skin.
pub(super) fn skinned(row: impl Iterator<Item = (u32, f32)>, transforms: &[DAffine3], rest: DVec3) -> DVec3 {
    row.map(|(bone, weight)| f64::from(weight) * transforms[bone as usize].transform_point3(rest)).sum()
}
