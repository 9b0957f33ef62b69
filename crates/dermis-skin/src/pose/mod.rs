//! Posing in real time: `p = Σ_b w_b T_b (p̄ + Ũ q)` (SMA, Eq. 2 and 12) in f32, with the SIMD that the processor has.
//!
//! A [`Poser`] is prepared once from a skin; a [`Pose`] holds a frame's bones and coefficients; [`Poser::pose_into`] does
//! the rest without allocating. `dermis_mesh::pose` is the exact counterpart in f64. Rest points are kept around their
//! centre, which the bones take in in f64, so a character far from the origin loses no digits to its place.
//!
//! Normals are unit. Without normal corrections they are `cof(F) n̄`, F the blended linear part: the normal of the posed
//! surface for rigid, flexible and reflecting bones alike (a reflection turns triangles over, and normals with them).
//! With them, `F (ñ + Ñ q)`: the form (Eq. 13) that the corrections are fitted to. Where F flattens the surface so that
//! no normal is left, the rest normal stays.
//!
//! A vertex is read as 12 bytes of rest point and 20 of influences (four 8-bit joints, four weights; joints beyond 256
//! or 65536 take 16 or 32 bits, influences beyond four stand in a second list), and 12 of normal where asked for.
//! What was tried, in million vertices a second on one core (Zen 3), 64 bones, joints at random, in cache:
//! - plain loop 80; fixed-size arrays of lanes left to the compiler 133, it does not find whole registers;
//! - intrinsics, four bones blended as two columns a register: 360 (kept), without fused multiply-add 319, with x, y, z
//!   and weights in arrays of their own 320, two quads side by side 290; rest points with their influences: the same;
//! - with normals: unit at once 133 (the root's latency), 16 quads at a time 177 (kept), two quads side by side 184.
//!
//! Fused products make the bits depend on the processor, never on the number of threads.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod kernel;
mod portable;
mod streams;
#[cfg(test)]
mod tests;

use dermis_mesh::{Clip, Rig, TriMesh};
use glam::{DAffine3, DVec3, Vec3};
use rayon::prelude::*;

use self::kernel::{Matrix, NormalRule};
use self::streams::{BLOCK, Elements, Frame, Prepared};

/// Vertices that one task poses: some 15 microseconds of work.
const TASK: usize = 64 * BLOCK;
/// Bones that 8-bit joints can name; a palette is never shorter, so that looking one up needs no check.
const SMALL_PALETTE: usize = 256;

/// The bones and correction coefficients of one frame; keep it, so that later frames find its memory.
#[derive(Debug, Clone, Default)]
pub struct Pose {
    /// What each bone does to a centred rest point.
    palette: Vec<Matrix>,
    coefficients: Vec<f32>,
}

/// A skin prepared for posing.
#[derive(Debug, Clone)]
pub struct Poser {
    /// Takes a centred rest point into each joint's space.
    inverse_binds: Vec<DAffine3>,
    prepared: Prepared,
}

impl Poser {
    /// Poses the points of `mesh`, bound to `rig`.
    pub fn new(mesh: &TriMesh, rig: &Rig) -> Self {
        Self::of(mesh, rig, &Elements::points(mesh))
    }

    /// Poses the vertices of `mesh`: points, repeated if the layout splits them, with the layout's normals.
    pub fn of_vertices(mesh: &TriMesh, rig: &Rig) -> Self {
        Self::of(mesh, rig, &Elements::vertices(mesh))
    }

    fn of(mesh: &TriMesh, rig: &Rig, elements: &Elements<'_>) -> Self {
        let (low, high) = mesh.bounds();
        let centre = (low.as_dvec3() + high.as_dvec3()) * 0.5;
        let from_centre = DAffine3::from_translation(centre);
        let inverse_binds = rig.joints().iter().map(|joint| joint.inverse_bind * from_centre).collect();
        Self { inverse_binds, prepared: Prepared::new(mesh, rig, elements, centre) }
    }

    /// The number of points, or vertices, that are posed.
    pub fn vertex_count(&self) -> usize {
        self.prepared.vertex_count()
    }

    /// The largest number of coefficients that a pose can use.
    pub fn rank(&self) -> usize {
        self.prepared.rank()
    }

    /// Makes `pose` frame `frame` of `clip`, with the first `rank` corrections (all, if there are fewer).
    ///
    /// # Panics
    /// If `clip` is not a clip of the skin or has no frame `frame`.
    pub fn set_frame(&self, pose: &mut Pose, clip: &Clip, frame: usize, rank: usize) {
        self.set_bones(pose, clip.transforms(frame));
        let coefficients = clip.shape_weights(frame);
        self.set_coefficients(pose, &coefficients[..rank.min(coefficients.len())]);
    }

    /// Gives `pose` bones: for each joint, what takes its space to where posed points live, as in [`Clip::transforms`].
    ///
    /// # Panics
    /// If there is not one transform per joint.
    pub fn set_bones(&self, pose: &mut Pose, transforms: &[DAffine3]) {
        assert_eq!(transforms.len(), self.inverse_binds.len(), "there is one transform per joint");
        pose.palette.clear();
        let bones = transforms.iter().zip(&self.inverse_binds).map(|(transform, bind)| *transform * *bind);
        pose.palette.extend(bones.map(Matrix::from));
        pose.palette.resize(self.palette_len(), Matrix::default());
    }

    /// Gives `pose` correction coefficients; fewer than [`Poser::rank`] pose at that lower rank.
    ///
    /// # Panics
    /// If there are more than [`Poser::rank`].
    pub fn set_coefficients(&self, pose: &mut Pose, coefficients: &[f32]) {
        assert!(coefficients.len() <= self.rank(), "there are at most as many coefficients as corrections");
        pose.coefficients.clear();
        pose.coefficients.extend_from_slice(coefficients);
    }

    /// Puts the posed points into `positions` and, if asked, their unit normals into `normals`.
    ///
    /// Allocates nothing (rayon may, to hand work to its pool from a thread outside). The bits do not depend on the number
    /// of threads.
    ///
    /// # Panics
    /// If `pose` was not given the bones of this skin, or the buffers do not hold all vertices.
    pub fn pose_into(&self, pose: &Pose, positions: &mut [Vec3], normals: Option<&mut [Vec3]>) {
        assert_eq!(pose.palette.len(), self.palette_len(), "the pose has the bones of this skin");
        assert!(pose.coefficients.len() <= self.rank(), "the pose has the coefficients of this skin");
        assert_eq!(positions.len(), self.vertex_count(), "the buffer holds all positions");
        let rule = if normals.is_some() { self.prepared.normal_rule(&pose.coefficients) } else { NormalRule::None };
        let frame = Frame { palette: &pose.palette, coefficients: &pose.coefficients, rule };
        let pose_task = |task: usize, positions: &mut [Vec3], normals: &mut [Vec3]| {
            let (positions, normals) = (bytemuck::cast_slice_mut(positions), bytemuck::cast_slice_mut(normals));
            self.prepared.pose(&frame, task * TASK, positions, normals);
        };
        let tasks = positions.par_chunks_mut(TASK).enumerate();
        let Some(normals) = normals else {
            return tasks.for_each(|(task, positions)| pose_task(task, positions, &mut []));
        };
        assert_eq!(normals.len(), self.vertex_count(), "the buffer holds all normals");
        let tasks = tasks.zip(normals.par_chunks_mut(TASK));
        tasks.for_each(|((task, positions), normals)| pose_task(task, positions, normals));
    }

    fn palette_len(&self) -> usize {
        self.inverse_binds.len().max(SMALL_PALETTE)
    }
}

impl From<DAffine3> for Matrix {
    fn from(DAffine3 { matrix3, translation }: DAffine3) -> Self {
        // The order in which the kernels' halves need the columns.
        let columns = [matrix3.x_axis, matrix3.y_axis, translation, matrix3.z_axis];
        Self(columns.map(|column: DVec3| column.as_vec3().extend(0.0).to_array()))
    }
}
