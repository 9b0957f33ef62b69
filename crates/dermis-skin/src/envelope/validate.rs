//! Errors of multi-weights and of the underlying linear skin on examples (MWE, §5, steps 5 and 6).

use dermis_mesh::deformer::multi_weights::{MultiWeights, MultiWeightsError, Precision};
use dermis_mesh::{Joint, SkinWeights, TriMesh};
use glam::{DAffine3, Vec3};
use rayon::prelude::*;

use super::evaluate::{MultiPose, MultiPoser};
use super::examples::Examples;
use super::linear::skinned;
use super::range::{Fading, TrainedRange, fade};
use super::train::Trained;

/// Distances between evaluated and given positions, in the units of the mesh.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Validation {
    /// Root mean square over all poses and points.
    pub rms_error: f64,
    /// Largest distance.
    pub max_error: f64,
    /// Root mean square of the linear skin.
    pub linear_rms_error: f64,
    /// Largest distance of the linear skin.
    pub linear_max_error: f64,
    /// Errors of each pose.
    pub poses: Vec<PoseValidation>,
    /// Root mean square over all poses for each point.
    pub points: Vec<f64>,
}

/// Errors of one pose.
#[derive(Debug, Clone, PartialEq)]
pub struct PoseValidation {
    /// Name of the pose.
    pub name: String,
    /// Root mean square over all points.
    pub rms_error: f64,
    /// Largest distance.
    pub max_error: f64,
    /// Point with the largest distance.
    pub worst_point: usize,
    /// Root mean square of the linear skin.
    pub linear_rms_error: f64,
    /// Angle in degrees by which a joint exceeds the trained rotations; 0 within them.
    pub range_distance_degrees: f64,
}

impl Validation {
    /// Poses in descending order of their errors.
    pub fn worst_poses(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.poses.len()).collect();
        order.sort_by(|&a, &b| self.poses[b].rms_error.total_cmp(&self.poses[a].rms_error).then(a.cmp(&b)));
        order
    }

    /// Points in descending order of their errors.
    pub fn worst_points(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.points.len()).collect();
        order.sort_by(|&a, &b| self.points[b].total_cmp(&self.points[a]).then(a.cmp(&b)));
        order
    }
}

/// Compares the shapes of the examples with the evaluation of `weights` and `linear`. With `range`, the weights fade to
/// the linear skin beyond it, as in playback; the joints are those of the rig.
pub fn validate(
    weights: &MultiWeights,
    linear: &SkinWeights,
    mesh: &TriMesh,
    examples: &Examples,
    range: Option<(&TrainedRange, &[Joint])>,
) -> Result<Validation, MultiWeightsError> {
    let fading = range.map(|(range, joints)| Fading::new(range.clone(), weights, mesh, joints));
    // The transforms of examples apply to the rest mesh, so the bones are bound at the origin.
    let joints = vec![Joint::at("", None, DAffine3::IDENTITY); examples.bone_count()];
    let poser = MultiPoser::new(weights, mesh, &joints, Precision::Single)?;
    let (mut pose, mut posed) = (MultiPose::default(), vec![Vec3::ZERO; mesh.point_count()]);
    let mut result = Validation { points: vec![0.0; mesh.point_count()], ..Validation::default() };
    let (mut sum, mut linear_sum) = (0.0, 0.0);
    for index in 0..examples.pose_count() {
        let (transforms, target) = (examples.transforms(index), examples.target(index));
        poser.set_bones(&mut pose, transforms);
        poser.pose_into(&mut pose, &mut posed, None);
        let skin = |point: usize| skinned(linear.row(point), transforms, mesh.points()[point].as_dvec3());
        if let Some(fading) = fading.as_ref().filter(|fading| fading.leaves_range(transforms)) {
            let flat: Vec<Vec3> = (0..posed.len()).into_par_iter().map(|point| skin(point).as_vec3()).collect();
            if let Some(parts) = fading.parts(transforms, &posed, |point| flat[point]) {
                fade(&mut posed, |point| flat[point], &parts);
            }
        }
        let squares: Vec<f64> = posed.iter().zip(target).map(|(a, b)| square_distance(*a, *b)).collect();
        let linear_square = |(point, target): (usize, &Vec3)| skin(point).distance_squared(target.as_dvec3());
        let linear_squares: Vec<f64> = target.par_iter().enumerate().map(linear_square).collect();
        let worst =
            (0..squares.len()).fold(0, |worst, point| if squares[point] > squares[worst] { point } else { worst });
        let mean = |squares: &[f64]| squares.iter().sum::<f64>() / squares.len() as f64;
        result.poses.push(PoseValidation {
            name: examples.name(index).to_owned(),
            rms_error: mean(&squares).sqrt(),
            max_error: squares[worst].sqrt(),
            worst_point: worst,
            linear_rms_error: mean(&linear_squares).sqrt(),
            range_distance_degrees: range.map_or(0.0, |(range, joints)| range.distance(joints, transforms).degrees),
        });
        sum += mean(&squares);
        linear_sum += mean(&linear_squares);
        result.max_error = result.max_error.max(squares[worst].sqrt());
        result.linear_max_error =
            linear_squares.iter().fold(result.linear_max_error, |largest, s| largest.max(s.sqrt()));
        result.points.iter_mut().zip(squares).for_each(|(total, square)| *total += square);
    }
    let count = examples.pose_count().max(1) as f64;
    result.rms_error = (sum / count).sqrt();
    result.linear_rms_error = (linear_sum / count).sqrt();
    result.points.iter_mut().for_each(|total| *total = (*total / count).sqrt());
    Ok(result)
}

/// Range of the examples of a trained model: its margin is verified by the cross-validation, if there was one.
pub fn trained_range(
    trained: &Trained,
    base: &SkinWeights,
    mesh: &TriMesh,
    joints: &[Joint],
    examples: &Examples,
) -> Result<TrainedRange, MultiWeightsError> {
    let origins = vec![Joint::at("", None, DAffine3::IDENTITY); examples.bone_count()];
    let poser = MultiPoser::new(&trained.weights, mesh, &origins, Precision::Single)?;
    let posed = |index: usize| {
        let (mut pose, mut posed) = (MultiPose::default(), vec![Vec3::ZERO; mesh.point_count()]);
        let transforms = examples.transforms(index);
        poser.set_bones(&mut pose, transforms);
        poser.pose_into(&mut pose, &mut posed, None);
        let skin = |point: usize| skinned(base.row(point), transforms, mesh.points()[point].as_dvec3()).as_vec3();
        let linear = (0..posed.len()).into_par_iter().map(skin).collect();
        [posed, linear]
    };
    let range = TrainedRange::of(examples, joints);
    let range = match &trained.curve {
        Some(curve) => range.verified(examples, joints, curve, trained.smoothness),
        None => range,
    };
    Ok(range.with_losses(examples, &trained.weights, mesh, joints, posed))
}

fn square_distance(a: Vec3, b: Vec3) -> f64 {
    a.as_dvec3().distance_squared(b.as_dvec3())
}
