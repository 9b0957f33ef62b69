//! Accuracy of a skin on the animations it was fitted to.
//!
//! All tables of dermis use these measures and names: `distortion_percent` E = 100·‖P − P̃‖_F / ‖P − `P_timeAverage`‖_F
//! (SMA, Table 1), `erms` = 1000·‖P − P̃‖_F / √(3NS), `max_error_percent` of the rest pose's bounding-box diagonal,
//! `normal_error_rms` of unit point normals (Figure 12), and `compression` = 3NS / (3N + βN + f·B·S). They are computed
//! from the posed skin with the rounded numbers of its file, for all ranks in one pass: a correction adds `F u_k q_k`
//! to the position at the previous rank.

use dermis_mesh::geometry::point_normals;
use dermis_mesh::{MeshSequence, Rig, SequenceError};
use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

use crate::blend::{blend, palette};
use crate::bone_model::BoneModel;
use crate::skin::Skin;

/// Accuracy of a skin on its animations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measures {
    /// E with all corrections; 0 without motion.
    pub distortion_percent: f64,
    /// E with the first 0, 1, …, r corrections.
    pub distortion_percent_by_rank: Vec<f64>,
    /// 1000 times the root mean square error per coordinate, in the units of the input.
    pub erms: f64,
    /// The largest error of a point, in percent of the diagonal of the rest pose's bounding box.
    pub max_error_percent: f64,
    /// Root mean square difference of unit normals at the points, as computed by [`crate::Poser`] (Eq. 13).
    pub normal_error_rms: f64,
}

/// Measures `skin` frame by frame; clip k plays the k-th of `sequences`.
///
/// # Panics
/// If a clip has another number of frames than its sequence, or the points differ in number.
pub fn measure(skin: &Skin, sequences: &[MeshSequence]) -> Result<Measures, SequenceError> {
    let points = skin.mesh().point_count();
    let given = Given {
        means: time_averages(sequences, points)?,
        rest_normals: skin.stored_normals(),
        normal_offsets: skin.rig().shapes().iter().map(|shape| skin.point_normal_offsets(shape)).collect(),
    };
    let mut total = FrameSums::new(skin.rank());
    let mut frames = 0;
    for (index, sequence) in sequences.iter().enumerate() {
        assert_eq!(
            skin.clips()[index].frame_count(),
            sequence.frame_count(),
            "a clip must have as many frames as its sequence"
        );
        frames += sequence.frame_count();
        let sums =
            (0..sequence.frame_count()).into_par_iter().map(|frame| frame_sums(skin, index, sequence, frame, &given));
        // Frames are independent; their sums are added in order.
        for sums in sums.collect::<Result<Vec<_>, _>>()? {
            total.add(&sums);
        }
    }
    let distortion = |error: &f64| if total.variation > 0.0 { 100.0 * (error / total.variation).sqrt() } else { 0.0 };
    let by_rank: Vec<f64> = total.errors.iter().map(distortion).collect();
    let diagonal = f64::from(skin.mesh().diagonal());
    let numbers = (3 * points * frames).max(1) as f64;
    Ok(Measures {
        distortion_percent: by_rank[skin.rank()],
        distortion_percent_by_rank: by_rank,
        erms: 1000.0 * (total.errors[skin.rank()] / numbers).sqrt(),
        max_error_percent: if diagonal > 0.0 { 100.0 * total.largest.sqrt() / diagonal } else { 0.0 },
        normal_error_rms: (total.normal_error / (points * frames).max(1) as f64).sqrt(),
    })
}

/// `compression` of a skin with B bones and β influences that plays S frames of N points.
pub fn compression(points: usize, frames: usize, bones: usize, influences: usize, model: BoneModel) -> f64 {
    let [points, frames, bones, influences] = [points, frames, bones, influences].map(|count| count as f64);
    3.0 * points * frames / (3.0 * points + influences * points + model.float_count() as f64 * bones * frames)
}

/// Mean position of each point over all frames of all sequences.
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

/// Data shared by all frames.
struct Given {
    means: Vec<DVec3>,
    rest_normals: Vec<Vec3>,
    /// Ñ, column by column.
    normal_offsets: Vec<Vec<Vec3>>,
}

#[derive(Debug, Clone)]
struct FrameSums {
    /// Squared error with the first 0, 1, … corrections.
    errors: Vec<f64>,
    variation: f64,
    largest: f64,
    normal_error: f64,
}

impl FrameSums {
    fn new(rank: usize) -> Self {
        Self { errors: vec![0.0; rank + 1], variation: 0.0, largest: 0.0, normal_error: 0.0 }
    }

    fn add(&mut self, other: &Self) {
        for (sum, error) in self.errors.iter_mut().zip(&other.errors) {
            *sum += error;
        }
        self.variation += other.variation;
        self.largest = self.largest.max(other.largest);
        self.normal_error += other.normal_error;
    }
}

fn frame_sums(
    skin: &Skin,
    clip: usize,
    sequence: &MeshSequence,
    frame: usize,
    given: &Given,
) -> Result<FrameSums, SequenceError> {
    let rig: &Rig = skin.rig();
    let positions = sequence.frame(frame)?;
    let normals = point_normals(&positions, skin.mesh().triangles());
    let coefficients: Vec<f64> = skin.clips()[clip].shape_weights(frame).iter().map(|&q| f64::from(q)).collect();
    let palette = palette(rig, &skin.clips()[clip], frame);
    let mut sums = FrameSums::new(rig.shapes().len());
    for (point, position) in positions.iter().map(|p| p.as_dvec3()).enumerate() {
        let transform = blend(rig, &palette, point);
        let mut played = transform.transform_point3(skin.mesh().points()[point].as_dvec3());
        let mut normal = given.rest_normals[point].as_dvec3();
        let mut squared = played.distance_squared(position);
        sums.errors[0] += squared;
        for (k, (shape, &q)) in rig.shapes().iter().zip(&coefficients).enumerate() {
            played += transform.matrix3 * (q * shape.offsets[point].as_dvec3());
            normal += q * given.normal_offsets[k][point].as_dvec3();
            squared = played.distance_squared(position);
            sums.errors[k + 1] += squared;
        }
        sums.largest = sums.largest.max(squared);
        sums.variation += position.distance_squared(given.means[point]);
        let played_normal = (normal_transform(transform.matrix3, skin.rank() > 0) * normal).normalize_or_zero();
        sums.normal_error += played_normal.distance_squared(normals[point].as_dvec3());
    }
    Ok(sums)
}

/// Transform of rest normals to a frame: the cofactors of F, or F itself if normal corrections were fitted to it.
fn normal_transform(linear: DMat3, corrected: bool) -> DMat3 {
    let (x, y, z) = (linear.x_axis, linear.y_axis, linear.z_axis);
    if corrected { linear } else { DMat3::from_cols(y.cross(z), z.cross(x), x.cross(y)) }
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
