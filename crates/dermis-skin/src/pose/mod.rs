//! Real-time posing: `p = Σ_b w_b T_b (p̄ + Ũ q)` (SMA, Eq. 2 and 12) in f32, with the SIMD instructions of the
//! processor.
//!
//! A [`Poser`] is prepared once from a skin; a [`Pose`] contains the bones and coefficients of a frame;
//! [`Poser::pose_into`] evaluates it without allocation. `dermis_mesh::pose` is the exact counterpart in f64. Rest
//! points are stored relative to their centre, which is added to the bones in f64, so a character far from the origin
//! does not lose precision.
//!
//! Normals have unit length. Without normal corrections they are `cof(F) n̄` with the blended linear part F: the
//! normal of the posed surface for rigid, flexible and reflecting bones (a reflection reverses the orientation of
//! triangles and of normals). With corrections they are `F (ñ + Ñ q)`, the form (Eq. 13) to which the corrections are
//! fitted. If F flattens the surface so that no normal exists, the rest normal is used.
//!
//! A vertex is read as 12 bytes of rest point and 20 of influences (four 8-bit joints and four weights; more than 256
//! or 65536 joints take 16 or 32 bits, and influences beyond four are in a second list), and 12 of normal if required.
//!
//! Alternatives, measured in million vertices per second on one core (Zen 3) with 64 bones, random joints, in cache:
//! - plain loop 80; fixed-size arrays of lanes 133, because the compiler does not use whole registers;
//! - intrinsics with four bones blended as two columns per register 360 (used), without fused multiply-add 319, with
//!   x, y, z and weights in separate arrays 320, with two quads interleaved 290; rest points interleaved with
//!   influences: the same;
//! - with normals: normalized immediately 133 (latency of the root), 16 quads at a time 177 (used), two quads
//!   interleaved 184.
//!
//! Because of fused multiply-adds the bits depend on the processor, but never on the number of threads.

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

/// Number of vertices per task: about 15 microseconds of work.
const VERTICES_PER_TASK: usize = 64 * BLOCK;
/// Number of bones that 8-bit joints can address; palettes are padded to it, so that no bounds check is needed.
const SMALL_PALETTE: usize = 256;

/// Bones and correction coefficients of one frame. Reusing it for later frames avoids allocation.
#[derive(Debug, Clone, Default)]
pub struct Pose {
    /// Transform of each bone for centred rest points.
    palette: Vec<Matrix>,
    coefficients: Vec<f32>,
}

/// Skin prepared for posing.
#[derive(Debug, Clone)]
pub struct Poser {
    /// Transform from centred rest points to the space of each joint.
    inverse_binds: Vec<DAffine3>,
    prepared: Prepared,
}

impl Poser {
    /// Prepares posing the points of `mesh` with `rig`.
    pub fn new(mesh: &TriMesh, rig: &Rig) -> Self {
        Self::of(mesh, rig, &Elements::points(mesh))
    }

    /// Prepares posing the vertices of `mesh`: points, repeated if the layout splits them, with the normals of the
    /// layout.
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

    /// Number of points or vertices.
    pub fn vertex_count(&self) -> usize {
        self.prepared.vertex_count()
    }

    /// Maximum number of coefficients of a pose.
    pub fn rank(&self) -> usize {
        self.prepared.rank()
    }

    /// Sets `pose` to frame `frame` of `clip`, with the first `rank` corrections (all if there are fewer).
    ///
    /// # Panics
    /// If `clip` does not belong to the skin or has no frame `frame`.
    pub fn set_frame(&self, pose: &mut Pose, clip: &Clip, frame: usize, rank: usize) {
        self.set_bones(pose, clip.transforms(frame));
        let coefficients = clip.shape_weights(frame);
        self.set_coefficients(pose, &coefficients[..rank.min(coefficients.len())]);
    }

    /// Sets the bones of `pose`: for each joint, the transform from its space to that of the posed points, as in
    /// [`Clip::transforms`].
    ///
    /// # Panics
    /// If the number of transforms differs from that of joints.
    pub fn set_bones(&self, pose: &mut Pose, transforms: &[DAffine3]) {
        assert_eq!(transforms.len(), self.inverse_binds.len(), "one transform per joint");
        pose.palette.clear();
        let bones = transforms.iter().zip(&self.inverse_binds).map(|(transform, bind)| *transform * *bind);
        pose.palette.extend(bones.map(Matrix::from));
        pose.palette.resize(self.palette_len(), Matrix::default());
    }

    /// Sets the correction coefficients of `pose`; fewer than [`Poser::rank`] pose at that lower rank.
    ///
    /// # Panics
    /// If there are more than [`Poser::rank`].
    pub fn set_coefficients(&self, pose: &mut Pose, coefficients: &[f32]) {
        assert!(coefficients.len() <= self.rank(), "at most one coefficient per correction");
        pose.coefficients.clear();
        pose.coefficients.extend_from_slice(coefficients);
    }

    /// Writes the posed points to `positions` and, if given, their unit normals to `normals`.
    ///
    /// Does not allocate (rayon may allocate when called from a thread outside of its pool). The bits do not depend on
    /// the number of threads.
    ///
    /// # Panics
    /// If the bones of `pose` were not set for this skin, or the buffers do not have the number of vertices.
    pub fn pose_into(&self, pose: &Pose, positions: &mut [Vec3], normals: Option<&mut [Vec3]>) {
        assert_eq!(pose.palette.len(), self.palette_len(), "the bones of the pose are set for this skin");
        assert!(pose.coefficients.len() <= self.rank(), "the coefficients of the pose are set for this skin");
        assert_eq!(positions.len(), self.vertex_count(), "one position per vertex");
        let rule = if normals.is_some() { self.prepared.normal_rule(&pose.coefficients) } else { NormalRule::None };
        let frame = Frame { palette: &pose.palette, coefficients: &pose.coefficients, rule };
        let pose_task = |task: usize, positions: &mut [Vec3], normals: &mut [Vec3]| {
            let (positions, normals) = (bytemuck::cast_slice_mut(positions), bytemuck::cast_slice_mut(normals));
            self.prepared.pose(&frame, task * VERTICES_PER_TASK, positions, normals);
        };
        let tasks = positions.par_chunks_mut(VERTICES_PER_TASK).enumerate();
        let Some(normals) = normals else {
            return tasks.for_each(|(task, positions)| pose_task(task, positions, &mut []));
        };
        assert_eq!(normals.len(), self.vertex_count(), "one normal per vertex");
        let tasks = tasks.zip(normals.par_chunks_mut(VERTICES_PER_TASK));
        tasks.for_each(|((task, positions), normals)| pose_task(task, positions, normals));
    }

    fn palette_len(&self) -> usize {
        self.inverse_binds.len().max(SMALL_PALETTE)
    }
}

impl From<DAffine3> for Matrix {
    fn from(DAffine3 { matrix3, translation }: DAffine3) -> Self {
        // Order of the columns required by the kernels.
        let columns = [matrix3.x_axis, matrix3.y_axis, translation, matrix3.z_axis];
        Self(columns.map(|column: DVec3| column.as_vec3().extend(0.0).to_array()))
    }
}
