//! Posing: the points of a rigged mesh in one frame of a clip, by blend shapes and linear blend skinning.
//!
//! `p' = Σ_b w_b · M_b · B_b⁻¹ · (p + Σ_m s_m · o_m)`, with weights w, joint transforms M, inverse binds B⁻¹, shape
//! weights s and offsets o. Transforms are composed in f64 and applied in f32. Points are independent of each other,
//! so the result does not depend on the number of threads.

use std::sync::Arc;

use glam::{DAffine3, Vec3};
use rayon::prelude::*;

use crate::clip::Clip;
use crate::rig::Rig;
use crate::sequence::{FrameSource, MeshSequence, SequenceError};
use crate::tri_mesh::TriMesh;

/// Puts the posed points of frame `frame` of `clip` into `out`.
///
/// # Panics
/// If `rig` and `clip` do not belong to `mesh`, or `out` does not hold all points.
pub fn pose_into(mesh: &TriMesh, rig: &Rig, clip: &Clip, frame: usize, out: &mut [Vec3]) {
    assert_eq!(out.len(), mesh.point_count(), "the buffer holds one frame");
    out.copy_from_slice(mesh.points());
    for (shape, &weight) in rig.shapes().iter().zip(clip.shape_weights(frame)).filter(|(_, weight)| **weight != 0.0) {
        for (point, &offset) in out.iter_mut().zip(&shape.offsets) {
            *point += weight * offset;
        }
    }
    if rig.joints().is_empty() {
        return;
    }
    let palette: Vec<DAffine3> =
        rig.joints().iter().zip(clip.transforms(frame)).map(|(joint, pose)| *pose * joint.inverse_bind).collect();
    for (index, point) in out.iter_mut().enumerate() {
        let rest = point.as_dvec3();
        let blended = rig.weights().row(index).fold(glam::DVec3::ZERO, |sum, (joint, weight)| {
            sum + f64::from(weight) * palette[joint as usize].transform_point3(rest)
        });
        *point = blended.as_vec3();
    }
}

/// All frames of `clip` as a mesh sequence in memory.
pub fn bake(mesh: &Arc<TriMesh>, rig: &Rig, clip: &Clip) -> Result<MeshSequence, SequenceError> {
    let points = mesh.point_count();
    let mut positions = vec![Vec3::ZERO; points * clip.frame_count()];
    if points > 0 {
        positions.par_chunks_exact_mut(points).enumerate().for_each(|(frame, out)| {
            pose_into(mesh, rig, clip, frame, out);
        });
    }
    let sequence = MeshSequence::new(Arc::clone(mesh), positions, clip.frame_rate_hz())?;
    Ok(sequence.starting_at(clip.start_seconds()))
}

/// The frames of `clip` as a mesh sequence that poses each frame when it is read.
pub fn bake_lazily(mesh: &Arc<TriMesh>, rig: &Arc<Rig>, clip: &Arc<Clip>) -> Result<MeshSequence, SequenceError> {
    let frames = PosedFrames { mesh: Arc::clone(mesh), rig: Arc::clone(rig), clip: Arc::clone(clip) };
    let sequence = MeshSequence::from_source(Arc::clone(mesh), Arc::new(frames), clip.frame_rate_hz())?;
    Ok(sequence.starting_at(clip.start_seconds()))
}

#[derive(Debug)]
struct PosedFrames {
    mesh: Arc<TriMesh>,
    rig: Arc<Rig>,
    clip: Arc<Clip>,
}

impl FrameSource for PosedFrames {
    fn frame_count(&self) -> usize {
        self.clip.frame_count()
    }

    fn point_count(&self) -> usize {
        self.mesh.point_count()
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        pose_into(&self.mesh, &self.rig, &self.clip, frame, out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use glam::{DQuat, DVec3};

    use super::*;
    use crate::rig::{Joint, Shape, SkinWeights};

    #[test]
    fn shapes_move_points_before_joints_do() {
        let mesh = Arc::new(TriMesh::new(vec![Vec3::X, Vec3::ZERO], vec![]).unwrap());
        let joints = vec![Joint::at("root", None, DAffine3::from_translation(DVec3::X))];
        let shape = Shape { name: "up".into(), offsets: vec![Vec3::Y, Vec3::ZERO], normal_offsets: None };
        let weights = SkinWeights::from_rows([[(0, 1.0)], [(0, 1.0)]]);
        let rig = Rig::new(&mesh, joints, weights, vec![shape]).unwrap();
        let turn = DAffine3::from_rotation_translation(DQuat::from_rotation_z(90f64.to_radians()), DVec3::X);
        let clip = Clip::new(&rig, "turn", 24.0, vec![turn], vec![2.0]).unwrap();
        let posed = bake(&mesh, &rig, &clip).unwrap();
        // (1, 2) seen from the joint is (0, 2), turned (−2, 0), back in the world (−1, 0).
        let expected = [Vec3::new(-1.0, 0.0, 0.0), Vec3::new(1.0, -1.0, 0.0)];
        for (found, expected) in posed.positions().unwrap().iter().zip(expected) {
            assert!(found.distance(expected) < 1e-6, "{found}");
        }
        let lazily = bake_lazily(&mesh, &Arc::new(rig), &Arc::new(clip)).unwrap().load().unwrap();
        assert_eq!(lazily.positions(), posed.positions());
    }
}
