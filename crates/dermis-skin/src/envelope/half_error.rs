//! Error of half precision: the distance between points posed with f32 and with f16 weights.

use dermis_mesh::deformer::multi_weights::{MultiWeights, MultiWeightsError, Precision};
use dermis_mesh::{Joint, TriMesh};
use glam::{DAffine3, Vec3};

use super::evaluate::{MultiPose, MultiPoser};

/// Distances caused by rounding, in the units of the mesh.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HalfError {
    /// Largest distance over all poses.
    pub max: f64,
    /// Root mean square distance.
    pub rms: f64,
}

/// Computes the error of half precision in `poses`, each with a transform per joint as in `Clip::transforms`.
pub fn half_error<'a>(
    weights: &MultiWeights,
    mesh: &TriMesh,
    joints: &[Joint],
    poses: impl IntoIterator<Item = &'a [DAffine3]>,
) -> Result<HalfError, MultiWeightsError> {
    let posers =
        [Precision::Single, Precision::Half].map(|precision| MultiPoser::new(weights, mesh, joints, precision));
    let [single, half] = posers;
    let (single, half) = (single?, half?);
    let mut pose = MultiPose::default();
    let mut points = [vec![Vec3::ZERO; mesh.point_count()], vec![Vec3::ZERO; mesh.point_count()]];
    let (mut max_squared, mut sum, mut count) = (0.0f64, 0.0f64, 0usize);
    for transforms in poses {
        for (poser, points) in [&single, &half].into_iter().zip(&mut points) {
            poser.set_bones(&mut pose, transforms);
            poser.pose_into(&mut pose, points, None);
        }
        for (exact, rounded) in points[0].iter().zip(&points[1]) {
            let squared = exact.as_dvec3().distance_squared(rounded.as_dvec3());
            (max_squared, sum, count) = (max_squared.max(squared), sum + squared, count + 1);
        }
    }
    Ok(HalfError { max: max_squared.sqrt(), rms: (sum / count.max(1) as f64).sqrt() })
}
