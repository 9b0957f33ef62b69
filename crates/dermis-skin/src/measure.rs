//! How well a skin plays the animations it was fitted to.
//!
//! The measures and their names are those of every table of dermis: `distortion_percent`
//! E = 100·‖P − P̃‖_F / ‖P − P_timeAverage‖_F (SMA, Table 1), `erms` = 1000·‖P − P̃‖_F / √(3NS), `max_error_percent` of the
//! rest pose's bounding-box diagonal, `normal_error_rms` of unit point normals, and
//! `compression` = 3NS / (3N + βN + f·B·S). They are taken from the positions that the skin really plays.

use dermis_mesh::geometry::point_normals;
use dermis_mesh::pose::pose_into;
use dermis_mesh::{MeshSequence, SequenceError};
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::bone_model::BoneModel;
use crate::skin::Skin;

/// The quality of a skin on its animations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measures {
    /// E; 0 where nothing moves.
    pub distortion_percent: f64,
    /// 1000 times the root mean square error per coordinate, in the units of the input.
    pub erms: f64,
    /// The largest error of a point, in percent of the diagonal of the rest pose's bounding box.
    pub max_error_percent: f64,
    /// The root mean square difference of unit normals at the points.
    pub normal_error_rms: f64,
}

/// Measures `skin`, whose clips are to play `sequences`, clip k the k-th, frame by frame.
///
/// # Panics
/// If a clip has another number of frames than its sequence, or the points differ in number.
pub fn measure(skin: &Skin, sequences: &[MeshSequence]) -> Result<Measures, SequenceError> {
    let points = skin.mesh().point_count();
    let means = time_averages(sequences, points)?;
    let mut total = FrameSums::default();
    let mut frames = 0;
    for (index, sequence) in sequences.iter().enumerate() {
        assert_eq!(skin.clips()[index].frame_count(), sequence.frame_count(), "a clip plays one sequence");
        frames += sequence.frame_count();
        let sums =
            (0..sequence.frame_count()).into_par_iter().map(|frame| frame_sums(skin, index, sequence, frame, &means));
        // Frames are independent; their sums are added in order.
        for sums in sums.collect::<Result<Vec<_>, _>>()? {
            total = total.with(&sums);
        }
    }
    let numbers = (3 * points * frames).max(1) as f64;
    let diagonal = f64::from(skin.mesh().diagonal());
    Ok(Measures {
        distortion_percent: if total.variation > 0.0 { 100.0 * (total.error / total.variation).sqrt() } else { 0.0 },
        erms: 1000.0 * (total.error / numbers).sqrt(),
        max_error_percent: if diagonal > 0.0 { 100.0 * total.largest.sqrt() / diagonal } else { 0.0 },
        normal_error_rms: (total.normal_error / (points * frames).max(1) as f64).sqrt(),
    })
}

/// `compression` of a skin with B bones and β influences that plays S frames of N points.
pub fn compression(points: usize, frames: usize, bones: usize, influences: usize, model: BoneModel) -> f64 {
    let [points, frames, bones, influences] = [points, frames, bones, influences].map(|count| count as f64);
    3.0 * points * frames / (3.0 * points + influences * points + model.float_count() as f64 * bones * frames)
}

/// The mean position of each point over all frames of all sequences.
fn time_averages(sequences: &[MeshSequence], points: usize) -> Result<Vec<DVec3>, SequenceError> {
    let mut sums = vec![DVec3::ZERO; points];
    let mut frames = 0;
    let mut buffer = vec![Vec3::ZERO; points];
    for sequence in sequences {
        for frame in 0..sequence.frame_count() {
            sequence.read_into(frame, &mut buffer)?;
            for (sum, position) in sums.iter_mut().zip(&buffer) {
                *sum += position.as_dvec3();
            }
            frames += 1;
        }
    }
    Ok(sums.into_iter().map(|sum| sum / f64::from(frames.max(1))).collect())
}

#[derive(Debug, Clone, Copy, Default)]
struct FrameSums {
    error: f64,
    variation: f64,
    largest: f64,
    normal_error: f64,
}

impl FrameSums {
    fn with(self, other: &Self) -> Self {
        Self {
            error: self.error + other.error,
            variation: self.variation + other.variation,
            largest: self.largest.max(other.largest),
            normal_error: self.normal_error + other.normal_error,
        }
    }
}

fn frame_sums(
    skin: &Skin,
    clip: usize,
    sequence: &MeshSequence,
    frame: usize,
    means: &[DVec3],
) -> Result<FrameSums, SequenceError> {
    let given = sequence.frame(frame)?;
    let mut played = vec![Vec3::ZERO; given.len()];
    pose_into(skin.mesh(), skin.rig(), &skin.clips()[clip], frame, &mut played);
    let triangles = skin.mesh().triangles();
    let normals = point_normals(&given, triangles).into_iter().zip(point_normals(&played, triangles));
    let mut sums = FrameSums {
        normal_error: normals.map(|(a, b)| f64::from(a.distance_squared(b))).sum(),
        ..FrameSums::default()
    };
    for ((given, played), mean) in given.iter().zip(&played).zip(means) {
        let squared = (given.as_dvec3() - played.as_dvec3()).length_squared();
        sums.error += squared;
        sums.largest = sums.largest.max(squared);
        sums.variation += (given.as_dvec3() - *mean).length_squared();
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_matches_the_papers_horse() {
        // SMA, Table 1: S = 48, N = 8431, B = 30, β = 4: 17.6 rigid, 15.9 flexible.
        let of = |model| (compression(8431, 48, 30, 4, model) * 10.0).round() / 10.0;
        assert_eq!((of(BoneModel::Rigid), of(BoneModel::Flexible)), (17.6, 15.9));
    }
}
