//! Shape and poses of scans, unposing of whole sequences, and simulation along poses.
//!
//! Before the fit it is only roughly known which points are rigid: the flesh of a heavy subject moves in regions that
//! are rigid in the body. Poses are therefore estimated twice. The first pass uses the weights of the body; points that
//! deviate from the model then get a lower weight, `w ← w/(1 + e²/s²)²` with the root mean square distance e in the
//! space of the template.

use dermis_body::{BodyError, BodyModel, BodyPose};
use glam::{DMat3, DVec3, Mat3, Vec3};
use rayon::prelude::*;

use super::{SubjectError, report};
use crate::dynamics::{EARTH_GRAVITY, Force};
use crate::fit::amplitude::{averaged, mean_amplitudes_of, neighbours};
use crate::fit::poses::{PoseOptions, fit_poses, fit_shape};
use crate::fit::scans::Scan;
use crate::layered::{BodySimulation, BodySimulationOptions, LayeredBody, steps_in};
use crate::layers::THRESHOLD;
use dermis_math::progress::Progress;

/// Weight of soft points in the estimation of poses; that of points over bones is 1.
const SOFT_WEIGHT: f64 = 0.02;
/// Scans whose first frames give the shape.
const SHAPE_SCANS: usize = 6;
/// Interval of the frames of the first pass.
const STRIDE: usize = 3;
/// Smallest distance s from which points get a lower weight, in metres.
const MIN_DISTANCE_M: f64 = 1.5e-3;
/// Largest root mean square distance of rigid points from the model, relative to the size of the body.
const MAX_DISTANCE: f64 = 8e-3;
/// Time in seconds for the flesh to settle before a sequence.
const SETTLE_S: f32 = 1.0;

/// Shape and poses of a subject.
#[derive(Debug, Clone)]
pub(super) struct Tracked {
    pub(super) betas: Vec<f64>,
    /// Poses of each scan.
    pub(super) poses: Vec<Vec<BodyPose>>,
}

/// Weights of the skin's points for the estimation of poses: high over bones, low on the simulated layer.
pub(super) fn part_weights(body: &LayeredBody) -> Vec<f64> {
    let weight = |&d: &f32| if f64::from(d) > THRESHOLD + 1e-3 { SOFT_WEIGHT } else { 1.0 };
    body.flesh().thickness.iter().map(weight).collect()
}

/// Estimates shape, if `body` has shapes, and poses of `scans`.
pub(super) fn track(body: &LayeredBody, scans: &[Scan], progress: &dyn Progress) -> Result<Tracked, SubjectError> {
    let weights = part_weights(body);
    let model = body.body();
    let stages = 2 * scans.len() + 2;
    let done = std::sync::atomic::AtomicUsize::new(0);
    let step = || {
        let count = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        report(progress, "estimating shape and poses", count, stages)
    };
    let shape = |weights: &[f64]| -> Result<(BodyModel, Vec<f64>), SubjectError> {
        step()?;
        if model.shapes().is_empty() {
            return Ok((model.clone(), Vec::new()));
        }
        let frames: Vec<&Vec<Vec3>> = scans.iter().take(SHAPE_SCANS).map(|scan| &scan.frames[0]).collect();
        let betas = fit_shape(model, &frames, weights, &PoseOptions::default())?;
        Ok((model.fixed_shape(&betas)?, betas))
    };
    let solve = |shaped: &BodyModel, weights: &[f64], stride: usize| -> Result<Vec<Vec<BodyPose>>, SubjectError> {
        let of = |scan: &Scan| -> Result<Vec<BodyPose>, SubjectError> {
            step()?;
            let frames: Vec<&Vec<Vec3>> = scan.frames.iter().step_by(stride).collect();
            Ok(fit_poses(shaped, &[], &frames, weights, &PoseOptions::default())?)
        };
        scans.par_iter().map(of).collect()
    };
    let (shaped, _) = shape(&weights)?;
    let first = solve(&shaped, &weights, STRIDE)?;
    let (weights, rms) = moving_weights(&shaped, scans, &first, &weights)?;
    let size = f64::from(model.mesh().diagonal());
    if rms > MAX_DISTANCE * size {
        return Err(SubjectError::Shape { rms_mm: 1e3 * rms, max_mm: 1e3 * MAX_DISTANCE * size });
    }
    let (shaped, betas) = shape(&weights)?;
    Ok(Tracked { betas, poses: solve(&shaped, &weights, 1)? })
}

/// Lowers the weights of points that stay away from the posed model; also returns their weighted root mean square
/// distance.
fn moving_weights(
    shaped: &BodyModel,
    scans: &[Scan],
    poses: &[Vec<BodyPose>],
    weights: &[f64],
) -> Result<(Vec<f64>, f64), SubjectError> {
    let points = shaped.mesh().points();
    let around = neighbours(points.len(), shaped.mesh().triangles());
    let rest = averaged(&points.iter().map(|p| p.as_dvec3()).collect::<Vec<_>>(), &around);
    let of = |(scan, poses): (&Scan, &Vec<BodyPose>)| -> Result<Vec<f64>, SubjectError> {
        let unposer = Unposer::new(shaped, poses)?;
        let mut squared = vec![0.0; points.len()];
        for (frame, positions) in scan.frames.iter().step_by(STRIDE).enumerate() {
            let unposed = averaged(&unposer.unpose(frame, positions), &around);
            for ((sum, at), rest) in squared.iter_mut().zip(&unposed).zip(&rest) {
                *sum += at.distance_squared(*rest) / poses.len() as f64;
            }
        }
        Ok(squared)
    };
    let of_scans: Vec<Vec<f64>> = scans.par_iter().zip(poses).map(of).collect::<Result<_, _>>()?;
    let squared = |point: usize| of_scans.iter().map(|scan| scan[point]).sum::<f64>() / scans.len() as f64;
    let squared: Vec<f64> = (0..points.len()).map(squared).collect();
    let mut rigid: Vec<f64> = squared.iter().zip(weights).filter(|(_, w)| **w == 1.0).map(|(e, _)| e.sqrt()).collect();
    rigid.sort_by(f64::total_cmp);
    let median = rigid.get(rigid.len() / 2).copied().unwrap_or(0.0);
    let scale = median.max(MIN_DISTANCE_M).powi(2);
    let weight = |(e, w): (&f64, &f64)| w / (1.0 + e / scale).powi(2);
    Ok((squared.iter().zip(weights).map(weight).collect(), median))
}

/// Inverse of the skinning (Eq. 16) of all points in all frames of a sequence.
#[derive(Debug, Clone)]
pub(super) struct Unposer {
    /// Unposed point as a linear function of the point, per frame and point.
    inverses: Vec<Vec<(Mat3, Vec3)>>,
    around: Vec<Vec<u32>>,
}

impl Unposer {
    pub(super) fn new(shaped: &BodyModel, poses: &[BodyPose]) -> Result<Self, BodyError> {
        let body = shaped.shaped(&[])?;
        let of = |pose: &BodyPose| -> Result<Vec<(Mat3, Vec3)>, BodyError> {
            let (joints, coefficients) = (body.joint_transforms(pose)?, shaped.pose_coefficients(pose)?);
            let skinning: Vec<_> = joints
                .iter()
                .zip(body.joints())
                .map(|(joint, rest)| *joint * glam::DAffine3::from_translation(-*rest))
                .collect();
            let inverse = |point: usize| {
                let (mut matrix, mut translation) = (DMat3::ZERO, DVec3::ZERO);
                for (joint, weight) in shaped.weights().row(point) {
                    matrix += skinning[joint as usize].matrix3 * f64::from(weight);
                    translation += skinning[joint as usize].translation * f64::from(weight);
                }
                let inverse = matrix.inverse();
                let shapes = shaped.pose_shapes().iter().zip(&coefficients);
                let offset: DVec3 = shapes.map(|(shape, c)| shape.offsets[point].as_dvec3() * *c).sum();
                (inverse.as_mat3(), (-(inverse * translation) - offset).as_vec3())
            };
            Ok((0..shaped.point_count()).map(inverse).collect())
        };
        let inverses = poses.par_iter().map(of).collect::<Result<_, _>>()?;
        Ok(Self { inverses, around: neighbours(shaped.point_count(), shaped.mesh().triangles()) })
    }

    /// Unposed points of a frame.
    pub(super) fn unpose(&self, frame: usize, points: &[Vec3]) -> Vec<DVec3> {
        self.inverses[frame].iter().zip(points).map(|((m, t), p)| (*m * *p + *t).as_dvec3()).collect()
    }

    /// Mean amplitudes (Eq. 18) of the unposed tracks of all points.
    pub(super) fn amplitudes(&self, frames: &[Vec<Vec3>]) -> Vec<f64> {
        let unposed: Vec<Vec<DVec3>> = frames.iter().enumerate().map(|(k, frame)| self.unpose(k, frame)).collect();
        mean_amplitudes_of(&unposed, &self.around)
    }
}

/// Simulated skin of `body` in every pose.
pub(super) fn simulated(
    body: &LayeredBody,
    poses: &[BodyPose],
    frame_rate_hz: f64,
) -> Result<Vec<Vec<Vec3>>, SubjectError> {
    let frame_s = (1.0 / frame_rate_hz) as f32;
    let substeps = steps_in(f64::from(frame_s));
    let gravity = [Force::gravity_down(body.parts().up, EARTH_GRAVITY)];
    let mut simulation = BodySimulation::new(body.clone(), BodySimulationOptions::default())?;
    let Some(first) = poses.first() else { return Ok(Vec::new()) };
    simulation.start(first, SETTLE_S, &gravity)?;
    if let Some(next) = poses.get(1) {
        simulation.launch(next, frame_s)?;
    }
    let mut frames = Vec::with_capacity(poses.len());
    frames.push(simulation.skin().to_vec());
    for pose in &poses[1..] {
        simulation.advance(pose, frame_s, substeps, &gravity)?;
        frames.push(simulation.skin().to_vec());
    }
    Ok(frames)
}
