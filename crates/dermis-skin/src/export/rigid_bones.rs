//! Rigid bones in place of flexible ones, for formats whose joints cannot shear.
//!
//! Each bone gets, in each frame, the rigid motion `(R, t)` that is nearest to its own `(F, v)` on the points it moves:
//! `min Σ w² ‖R p + t − F p − v‖²`, weighted Procrustes (Kabsch 1976). A bone that moves no point, or points without an
//! extent, gets the rotation nearest to F about its origin. Joints keep their hierarchy and their bind pose without
//! scale and shear.

use std::sync::Arc;

use dermis_math::polar::polar_rotation;
use dermis_mesh::pose::pose_into;
use dermis_mesh::{Clip, Joint, Rig, RigError, RigPose, TriMesh};
use glam::{DAffine3, DMat3, DVec3, Vec3};

use super::end_joints::{end_joints, owner};

/// A rig of rigid bones and its distance from the rig that it replaces.
#[derive(Debug)]
pub struct RigidBones {
    /// The rig.
    pub rig: Rig,
    /// Its clips.
    pub clips: Vec<Arc<Clip>>,
    /// Largest distance of a point in any frame.
    pub max_error: f64,
    /// Root mean square distance over all points and frames.
    pub rms_error: f64,
    /// Diagonal of the bounding box of the rest pose.
    pub diagonal: f64,
}

/// Returns the rigid bones nearest to those of `rig` in all frames of `clips`.
pub fn rigid_bones(mesh: &TriMesh, rig: &Rig, clips: &[Arc<Clip>]) -> Result<RigidBones, RigError> {
    let bodies = bodies(mesh, rig);
    let binds: Vec<DAffine3> = rig.joints().iter().map(rigid_bind).collect();
    let joint = |(joint, bind): (&Joint, &DAffine3)| Joint { inverse_bind: bind.inverse(), ..joint.clone() };
    let joints = rig.joints().iter().zip(&binds).map(joint).collect();
    let mut rigid = Rig::new(mesh, joints, rig.weights().clone(), rig.shapes().to_vec())?;
    let ends = end_joints(rig);
    let posed = |transforms: &[DAffine3]| -> Vec<DAffine3> {
        let nearest = |(joint, pose): (usize, &DAffine3)| {
            bodies[joint].nearest_rigid(*pose * rig.joints()[joint].inverse_bind) * binds[joint]
        };
        let mut nearest: Vec<DAffine3> = transforms.iter().enumerate().map(nearest).collect();
        for joint in (0..nearest.len()).filter(|&joint| ends[joint]) {
            if let Some(parent) = owner(rig, joint) {
                nearest[joint] = nearest[parent] * binds[parent].inverse() * binds[joint];
            }
        }
        nearest
    };
    if let Some(RigPose { transforms, shape_weights }) = rig.stored_pose() {
        let transforms = Arc::new(posed(transforms));
        rigid = rigid.with_stored_pose(RigPose { transforms, shape_weights: shape_weights.clone() })?;
    }
    let mut parts = Vec::with_capacity(clips.len());
    for clip in clips {
        let transforms = (0..clip.frame_count()).flat_map(|frame| posed(clip.transforms(frame))).collect();
        let weights = (0..clip.frame_count()).flat_map(|frame| clip.shape_weights(frame).iter().copied()).collect();
        let part = Clip::new(&rigid, clip.name(), clip.frame_rate_hz(), transforms, weights)?;
        parts.push(Arc::new(part.starting_at(clip.start_seconds())));
    }
    let (max_error, rms_error) = errors(mesh, (rig, clips), (&rigid, &parts));
    Ok(RigidBones { rig: rigid, clips: parts, max_error, rms_error, diagonal: f64::from(mesh.diagonal()) })
}

/// Bind transform without scale and shear; at the origin if the joint has none.
fn rigid_bind(joint: &Joint) -> DAffine3 {
    let bind = joint.bind();
    if !bind.is_finite() {
        return DAffine3::IDENTITY;
    }
    DAffine3 { matrix3: polar_rotation(bind.matrix3), translation: bind.translation }
}

/// Moments of the points of a bone, weighted by w².
#[derive(Clone, Copy)]
struct Body {
    mass: f64,
    center: DVec3,
    /// `Σ w² (p − c)(p − c)ᵀ`.
    spread: DMat3,
}

fn bodies(mesh: &TriMesh, rig: &Rig) -> Vec<Body> {
    let mut bodies = vec![Body { mass: 0.0, center: DVec3::ZERO, spread: DMat3::ZERO }; rig.joints().len()];
    let entries = || {
        let rows = rig.weights().rows().zip(mesh.points());
        rows.flat_map(|(row, point)| row.map(|(joint, weight)| (joint as usize, f64::from(weight), point.as_dvec3())))
    };
    for (joint, weight, point) in entries() {
        bodies[joint].mass += weight * weight;
        bodies[joint].center += weight * weight * point;
    }
    for body in &mut bodies {
        body.center = if body.mass > 0.0 { body.center / body.mass } else { DVec3::ZERO };
    }
    for (joint, weight, point) in entries() {
        let arm = point - bodies[joint].center;
        bodies[joint].spread += weight * weight * DMat3::from_cols(arm * arm.x, arm * arm.y, arm * arm.z);
    }
    bodies
}

impl Body {
    /// The rigid motion nearest to `motion` on the body's points.
    fn nearest_rigid(&self, motion: DAffine3) -> DAffine3 {
        let size = self.spread.x_axis.x + self.spread.y_axis.y + self.spread.z_axis.z;
        // The spread is regularized by a ball, so that F determines the directions that points on a line or a plane do not.
        let spread = self.spread + DMat3::from_diagonal(DVec3::splat(1e-6 * size));
        let matrix3 = if size > 0.0 { polar_rotation(motion.matrix3 * spread) } else { polar_rotation(motion.matrix3) };
        DAffine3 { matrix3, translation: motion.transform_point3(self.center) - matrix3 * self.center }
    }
}

/// Largest and root mean square distance of the points of two rigs in their clips.
fn errors(mesh: &TriMesh, before: (&Rig, &[Arc<Clip>]), after: (&Rig, &[Arc<Clip>])) -> (f64, f64) {
    let mut positions = [vec![Vec3::ZERO; mesh.point_count()], vec![Vec3::ZERO; mesh.point_count()]];
    let (mut worst, mut sum, mut count) = (0f64, 0f64, 0usize);
    for (a, b) in before.1.iter().zip(after.1) {
        for frame in 0..a.frame_count() {
            pose_into(mesh, before.0, a, frame, &mut positions[0]);
            pose_into(mesh, after.0, b, frame, &mut positions[1]);
            for (a, b) in positions[0].iter().zip(&positions[1]) {
                let distance = f64::from(a.distance(*b));
                worst = worst.max(distance);
                sum += distance * distance;
            }
            count += mesh.point_count();
        }
    }
    (worst, if count > 0 { (sum / count as f64).sqrt() } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use dermis_mesh::SkinWeights;
    use glam::DQuat;

    use super::*;

    fn rigged(motion: DAffine3) -> (TriMesh, Rig, Vec<Arc<Clip>>) {
        let points = (0..8).map(|k| Vec3::new((k & 1) as f32 + 3.0, (k >> 1 & 1) as f32, (k >> 2 & 1) as f32));
        let mesh = TriMesh::new(points.collect(), vec![]).unwrap();
        let joint = Joint::at("bone", None, DAffine3::from_scale(DVec3::splat(0.5)));
        let rig = Rig::new(&mesh, vec![joint], SkinWeights::from_rows((0..8).map(|_| [(0, 1.0)])), vec![]).unwrap();
        let clip = Clip::new(&rig, "clip", 24.0, vec![motion * rig.joints()[0].bind()], vec![]).unwrap();
        (mesh, rig, vec![Arc::new(clip)])
    }

    #[test]
    fn rigid_motion_is_kept() {
        let motion = DAffine3::from_rotation_translation(DQuat::from_rotation_y(1.0), DVec3::new(1.0, 2.0, 3.0));
        let (mesh, rig, clips) = rigged(motion);
        let rigid = rigid_bones(&mesh, &rig, &clips).unwrap();
        assert!(rigid.max_error < 1e-5, "{}", rigid.max_error);
        let bind = rigid.rig.joints()[0].bind();
        assert!(bind.matrix3.abs_diff_eq(DMat3::IDENTITY, 1e-12), "the bind pose has no scale");
    }

    #[test]
    fn a_bone_far_from_the_origin_is_fitted_about_its_points() {
        let (mesh, rig, clips) = rigged(DAffine3::from_scale(DVec3::new(1.1, 1.0, 1.0)));
        let rigid = rigid_bones(&mesh, &rig, &clips).unwrap();
        // The cube has length 1: its ends are off by 5 % of that at any location.
        assert!((rigid.max_error - 0.05).abs() < 1e-5, "{}", rigid.max_error);
        assert!((rigid.rms_error - 0.05).abs() < 1e-5, "{}", rigid.rms_error);
    }
}
