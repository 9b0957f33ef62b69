//! Rigid motion of a mesh, found in its frames.
//!
//! Frame k is `(R_k, t_k)` of frame 0 if the nearest rigid motion (Kabsch 1976: R from the singular value decomposition
//! of `Σ (q − q̄)(p − p̄)ᵀ`, `t = q̄ − R p̄`) differs from it by no more than the rounding of single precision. The
//! points are then stored once, and the motion as one transform per frame. An exact translation is preferred.

use dermis_math::polar::polar_rotation;
use dermis_mesh::MeshSequence;
use glam::{DAffine3, DMat3, DVec3, Vec3};

use crate::error::Error;

/// Largest distance of a point from its frame, relative to the largest coordinate: each coordinate of both frames is
/// rounded by half an epsilon.
const ROUNDING: f64 = 3.0 * f32::EPSILON as f64;
/// Fewer points than this do not determine a rotation.
const MIN_POINTS: usize = 3;

/// The transforms from frame 0 to each frame; `None` if a frame is not a rigid motion of it, or if all are equal.
pub(super) fn rigid_motion(motion: &MeshSequence) -> Result<Option<Vec<DAffine3>>, Error> {
    if motion.point_count() < MIN_POINTS || motion.frame_count() < 2 {
        return Ok(None);
    }
    let first = motion.frame(0)?.into_owned();
    let mut points = first.clone();
    let mut transforms = vec![DAffine3::IDENTITY];
    let mut moves = false;
    for frame in 1..motion.frame_count() {
        motion.read_into(frame, &mut points)?;
        let same = points == first;
        moves |= !same;
        let shifted = || translation(&first, &points).or_else(|| between(&first, &points));
        let transform = if same { Some(DAffine3::IDENTITY) } else { shifted() };
        match transform {
            Some(transform) => transforms.push(transform),
            None => return Ok(None),
        }
    }
    Ok(moves.then_some(transforms))
}

/// The translation that maps `from` to `to` exactly.
fn translation(from: &[Vec3], to: &[Vec3]) -> Option<DAffine3> {
    let offset = to[0].as_dvec3() - from[0].as_dvec3();
    let fits = |(from, to): (&Vec3, &Vec3)| (from.as_dvec3() + offset).as_vec3() == *to;
    from.iter().zip(to).all(fits).then(|| DAffine3::from_translation(offset))
}

/// The rigid motion that maps `from` to `to` up to rounding.
fn between(from: &[Vec3], to: &[Vec3]) -> Option<DAffine3> {
    let center = |points: &[Vec3]| points.iter().map(|point| point.as_dvec3()).sum::<DVec3>() / points.len() as f64;
    let (p, q) = (center(from), center(to));
    let pairs = || from.iter().zip(to).map(|(from, to)| (from.as_dvec3(), to.as_dvec3()));
    let covariance = pairs().fold(DMat3::ZERO, |sum, (from, to)| {
        let (a, b) = (from - p, to - q);
        sum + DMat3::from_cols(b * a.x, b * a.y, b * a.z)
    });
    let rotation = polar_rotation(covariance);
    let transform = DAffine3 { matrix3: rotation, translation: q - rotation * p };
    let size = pairs().fold(0.0, |size: f64, (from, to)| size.max(from.abs().max(to.abs()).max_element()));
    let fits = |(from, to): (DVec3, DVec3)| transform.transform_point3(from).distance(to) <= ROUNDING * size;
    (transform.is_finite() && pairs().all(fits)).then_some(transform)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dermis_mesh::TriMesh;
    use glam::{DQuat, EulerRot};

    use super::*;

    fn tetrahedron() -> Vec<Vec3> {
        vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z]
    }

    fn sequence(frames: &[Vec<Vec3>]) -> MeshSequence {
        let mesh = TriMesh::new(frames[0].clone(), vec![[0, 1, 2]]).unwrap();
        MeshSequence::new(Arc::new(mesh), frames.concat(), 24.0).unwrap()
    }

    fn motion(frame: usize) -> DAffine3 {
        let t = frame as f64;
        let rotation = DQuat::from_euler(EulerRot::XYZ, 0.3 * t, 1.1 * t, -0.7 * t);
        DAffine3::from_rotation_translation(rotation, DVec3::new(t, -2.0 * t, 5.0))
    }

    fn moved(points: &[Vec3], frame: usize) -> Vec<Vec3> {
        points.iter().map(|point| motion(frame).transform_point3(point.as_dvec3()).as_vec3()).collect()
    }

    #[test]
    fn rigid_frames_are_found() {
        for points in [tetrahedron(), tetrahedron()[..3].to_vec()] {
            let frames: Vec<Vec<Vec3>> = (0..6).map(|frame| moved(&points, frame)).collect();
            let found = rigid_motion(&sequence(&frames)).unwrap().expect("a rigid motion");
            for (frame, transform) in found.iter().enumerate() {
                assert!(transform.abs_diff_eq(motion(frame) * motion(0).inverse(), 1e-5), "{frame}");
            }
        }
    }

    #[test]
    fn other_motion_is_not_rigid() {
        let still = tetrahedron();
        let scaled = still.iter().map(|point| *point * 1.00001).collect();
        let mirrored = still.iter().map(|point| point.with_x(-point.x)).collect();
        for frames in [vec![still.clone(), scaled], vec![still.clone(), mirrored], vec![still.clone(), still.clone()]] {
            assert!(rigid_motion(&sequence(&frames)).unwrap().is_none());
        }
    }
}
