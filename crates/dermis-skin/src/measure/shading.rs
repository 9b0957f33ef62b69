//! Error of the normals of a skin relative to those of the frames.
//!
//! Geometric normals are recomputed from the posed points. Skinned normals are those that engines draw: the stored
//! normal times the blended linear part F, normalized (Eq. 13, second form).

use dermis_mesh::geometry::point_normals;
use dermis_mesh::laplacian::laplacian;
use dermis_mesh::{MeshSequence, SequenceError};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::blend::{blend, palette};
use crate::skin::Skin;

/// Root mean square angles between the normals of the frames and those of a skin, at the points, weighted by area, in
/// degrees.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NormalErrorDegrees {
    /// Angle of normals recomputed from the posed points.
    pub geometric: f64,
    /// Angle of stored normals rotated by the bones, as engines draw them.
    pub skinned: f64,
}

/// Measures the normals of `skin`, whose clip k plays the k-th of `sequences`.
///
/// # Panics
/// If a clip has fewer frames than its sequence, or the points differ in number.
pub fn normal_error(skin: &Skin, sequences: &[MeshSequence]) -> Result<NormalErrorDegrees, SequenceError> {
    let stored = skin.stored_normals();
    let areas = laplacian(skin.mesh().points(), skin.mesh().triangles()).mass;
    let offsets: Vec<Vec<Vec3>> = skin.rig().shapes().iter().map(|shape| skin.point_normal_offsets(shape)).collect();
    let jobs: Vec<(usize, usize)> = sequences
        .iter()
        .enumerate()
        .flat_map(|(clip, sequence)| (0..sequence.frame_count()).map(move |frame| (clip, frame)))
        .collect();
    let sums = jobs.par_iter().map(|&(clip, frame)| {
        let triangles = skin.mesh().triangles();
        let given = point_normals(&sequences[clip].frame(frame)?, triangles);
        let played = skin.played_points(clip, frame);
        let geometric = point_normals(&played, triangles);
        let palette = palette(skin.rig(), &skin.clips()[clip], frame);
        let coefficients = skin.clips()[clip].shape_weights(frame);
        let mut sums = [0.0; 3];
        for (point, given) in given.iter().enumerate().filter(|(_, normal)| **normal != Vec3::ZERO) {
            let rest =
                offsets.iter().zip(coefficients).fold(stored[point], |sum, (offsets, &q)| sum + q * offsets[point]);
            let shown = (blend(skin.rig(), &palette, point).matrix3 * rest.as_dvec3()).normalize_or_zero();
            sums[0] += areas[point] * squared_angle(given.as_dvec3(), geometric[point].as_dvec3());
            sums[1] += areas[point] * squared_angle(given.as_dvec3(), shown);
            sums[2] += areas[point];
        }
        Ok(sums)
    });
    let sums = sums.collect::<Result<Vec<_>, SequenceError>>()?;
    let total = sums.iter().fold([0.0; 3], |sum, next| std::array::from_fn(|k| sum[k] + next[k]));
    let degrees = |k: usize| if total[2] > 0.0 { (total[k] / total[2]).sqrt().to_degrees() } else { 0.0 };
    Ok(NormalErrorDegrees { geometric: degrees(0), skinned: degrees(1) })
}

fn squared_angle(a: DVec3, b: DVec3) -> f64 {
    a.cross(b).length().atan2(a.dot(b)).powi(2)
}
