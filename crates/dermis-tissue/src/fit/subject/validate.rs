//! Validation: mean amplitude deviation of the pose model and of the simulated body (Kim et al. 2017, Figures 10 and 12).

use std::sync::atomic::{AtomicUsize, Ordering};

use dermis_math::progress::Progress;
use glam::Vec3;
use rayon::prelude::*;

use super::track::{Unposer, part_weights, simulated, track};
use super::{SubjectError, report};
use crate::fit::amplitude::deviation;
use crate::fit::scans::Scan;
use crate::layered::LayeredBody;
use dermis_body::BodyPose;

/// Validation of one sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceValidation {
    /// Name of the sequence.
    pub name: String,
    /// Mean amplitude deviation of the pure pose model (Eq. 20), in metres.
    pub deviation_pose_model: f64,
    /// That of the simulated body.
    pub deviation_fit: f64,
    /// Root mean square distance of the posed points over bones from the scan, in metres.
    pub rigid_rms_m: f64,
    /// Mean amplitude of each point of the scan, in metres: the deviation of the pose model, which has none.
    pub of_scan: Vec<f64>,
    /// Deviation of each point of the skin, in metres.
    pub of_points: Vec<f64>,
    /// Estimated poses.
    pub poses: Vec<BodyPose>,
    /// Simulated frames.
    pub frames: Vec<Vec<Vec3>>,
    /// Mean distance of all points from the scan in each frame, of the pose model and of the simulated body, in metres.
    pub distances_m: Vec<[f64; 2]>,
}

/// Simulates every scan's poses with `body`, which has the shape of the subject, and compares mean amplitudes.
pub fn validate_subject(
    body: &LayeredBody,
    scans: &[Scan],
    progress: &dyn Progress,
) -> Result<Vec<SequenceValidation>, SubjectError> {
    let tracked = track(body, scans, progress)?;
    let weights = part_weights(body);
    let done = AtomicUsize::new(0);
    let of = |(scan, poses): (&Scan, &Vec<BodyPose>)| {
        report(progress, "validating", done.fetch_add(1, Ordering::Relaxed), scans.len())?;
        validate_scan(body, scan, poses, &weights)
    };
    scans.par_iter().zip(&tracked.poses).map(of).collect()
}

fn validate_scan(
    body: &LayeredBody,
    scan: &Scan,
    poses: &[BodyPose],
    weights: &[f64],
) -> Result<SequenceValidation, SubjectError> {
    let frames = simulated(body, poses, scan.frame_rate_hz)?;
    let unposer = Unposer::new(body.body(), poses)?;
    let [captured, found] = [&scan.frames, &frames].map(|frames| unposer.amplitudes(frames));
    let (mut squared, mut count) = (0.0, 0.0);
    let mut distances_m = Vec::with_capacity(frames.len());
    for ((scanned, simulated), pose) in scan.frames.iter().zip(&frames).zip(poses) {
        let posed = body.body().pose(&[], pose)?.points;
        for ((a, b), _) in scanned.iter().zip(&posed).zip(weights).filter(|(_, weight)| **weight == 1.0) {
            squared += f64::from(a.distance_squared(*b));
            count += 1.0;
        }
        distances_m.push([mean_distance(scanned, &posed), mean_distance(scanned, simulated)]);
    }
    Ok(SequenceValidation {
        name: scan.name.clone(),
        deviation_pose_model: captured.iter().sum(),
        deviation_fit: deviation(&captured, &found),
        rigid_rms_m: (squared / f64::max(count, 1.0)).sqrt(),
        of_points: captured.iter().zip(&found).map(|(a, b)| (a - b).abs()).collect(),
        of_scan: captured,
        poses: poses.to_vec(),
        frames,
        distances_m,
    })
}

fn mean_distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a.distance(*b))).sum::<f64>() / a.len().max(1) as f64
}
