//! Posed error: distance between a mesh and its level of detail, in the poses of the clips.
//!
//! Points and triangle centres of each surface are compared with the nearest point of the other surface, both ways, in
//! frames evenly spaced over all clips. Distances are a percentage of the diagonal of the rest pose.

use dermis_mesh::Object;
use dermis_mesh::pose::pose_with;
use dermis_mesh::surface_tree::SurfaceTree;
use glam::{DVec3, Vec3};
use rayon::prelude::*;

use crate::poses::key_frames;

/// Distance between two surfaces over all measured poses.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PosedError {
    /// Root mean square distance, in percent of the diagonal of the rest pose.
    pub rms_percent: f64,
    /// Largest distance, in percent of the diagonal of the rest pose.
    pub max_percent: f64,
    /// Number of poses.
    pub poses: usize,
}

/// Compares `level` with `object` in at most `max_frames` frames of the clips of `object`, or at rest without clips.
///
/// # Panics
/// If the rig of `level` has other joints or shapes than that of `object`.
pub fn posed_error(object: &Object, level: &Object, max_frames: usize) -> PosedError {
    let frames: Vec<Option<(usize, usize)>> = match key_frames(object, max_frames) {
        frames if frames.is_empty() || object.rig.is_none() => vec![None],
        frames => frames.into_iter().map(Some).collect(),
    };
    let sums: Vec<(f64, usize, f64)> = frames.par_iter().map(|&frame| of_frame(object, level, frame)).collect();
    let diagonal = f64::from(object.mesh.diagonal());
    let (sum, count, max) =
        sums.iter().fold((0.0, 0, 0.0_f64), |total, one| (total.0 + one.0, total.1 + one.1, total.2.max(one.2)));
    let scale = if diagonal > 0.0 { 100.0 / diagonal } else { 0.0 };
    let rms_percent = scale * (sum / count.max(1) as f64).sqrt();
    PosedError { rms_percent, max_percent: scale * max, poses: frames.len() }
}

/// Sum of squared distances, their number, and the largest distance.
fn of_frame(object: &Object, level: &Object, frame: Option<(usize, usize)>) -> (f64, usize, f64) {
    let fine = posed(object, object, frame);
    let coarse = posed(level, object, frame);
    let (mut sum, mut count, mut max) = (0.0, 0, 0.0_f64);
    for (from, points, to, others) in [(object, &fine, level, &coarse), (level, &coarse, object, &fine)] {
        let tree = SurfaceTree::new(others, to.mesh.triangles());
        let centre = |t: &[u32; 3]| t.iter().map(|&corner| points[corner as usize]).sum::<DVec3>() / 3.0;
        let centres = from.mesh.triangles().iter().map(centre);
        for sample in used_points(from, points).chain(centres) {
            let distance = tree.distance(sample, f64::MAX.sqrt());
            sum += distance * distance;
            max = max.max(distance);
            count += 1;
        }
    }
    (sum, count, max)
}

/// Points that a triangle uses.
fn used_points<'a>(object: &Object, points: &'a [DVec3]) -> impl Iterator<Item = DVec3> + 'a {
    let mut used = vec![false; points.len()];
    object.mesh.triangles().as_flattened().iter().for_each(|&corner| used[corner as usize] = true);
    points.iter().zip(used).filter_map(|(&point, used)| used.then_some(point))
}

/// Points of `object` in a frame of the clips of `motion`.
fn posed(object: &Object, motion: &Object, frame: Option<(usize, usize)>) -> Vec<DVec3> {
    let rest = || object.mesh.points().to_vec();
    let points = match (&object.rig, frame) {
        (Some(rig), Some((clip, frame))) => {
            let clip = &motion.clips[clip];
            let mut points = vec![Vec3::ZERO; object.mesh.point_count()];
            pose_with(&object.mesh, rig, clip.transforms(frame), clip.shape_weights(frame), &mut points);
            points
        }
        _ => rest(),
    };
    points.into_iter().map(Vec3::as_dvec3).collect()
}
