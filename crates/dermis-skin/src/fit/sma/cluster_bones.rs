//! Bones from clusters of triangles (SMA, §4.3, §4.4 and Appendix A).
//!
//! Rigid: the area-weighted mean of the core triangles' rotations, projected onto the rotations by polar decomposition,
//! and the translation that fits the centroids best. Flexible: the affine transform (F, v) that minimizes `Φ = Σ a_i
//! ‖c_i − F c̄_i − v‖²` (Eq. 14); scaled: the same without shear. For a flat or tiny cluster, Eq. 14 is
//! underdetermined; a small weight on the rigid rotation regularizes it.

use dermis_math::polar::polar_rotation;
use dermis_mesh::TriMesh;
use dermis_mesh::geometry::triangle_areas;
use faer::Mat;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

use super::rotation_sequences::RotationSequences;
use crate::bone_model::BoneModel;
use crate::fit::best_linear::best_linear;
use crate::fit::trajectories::Trajectories;
use crate::fit::transforms::set_affine;

/// Weight of the rigid rotation in Eq. 14, relative to the mean spread of the cluster.
const RIGIDITY: f64 = 1e-3;

/// Computes the transforms (3S × 4B) of the bones with the given core triangles.
pub(crate) fn bones_of_clusters(cores: &Cores<'_>, clusters: &[Vec<u32>], model: BoneModel) -> Mat<f64> {
    let trajectories = cores.trajectories;
    let jobs: Vec<(usize, usize)> =
        (0..clusters.len()).flat_map(|bone| (0..trajectories.frame_count()).map(move |frame| (bone, frame))).collect();
    let solved: Vec<[DVec3; 4]> =
        jobs.par_iter().map(|&(bone, frame)| cores.transform(&clusters[bone], frame, model)).collect();
    let mut transforms = Mat::zeros(3 * trajectories.frame_count(), 4 * clusters.len());
    for (&(bone, frame), columns) in jobs.iter().zip(&solved) {
        set_affine(&mut transforms, frame, bone, *columns);
    }
    transforms
}

/// Context for the motion of sets of core triangles.
pub(crate) struct Cores<'a> {
    pub(crate) mesh: &'a TriMesh,
    pub(crate) trajectories: &'a Trajectories,
    pub(crate) rotations: &'a RotationSequences,
    areas: Vec<f64>,
    /// Index of each triangle in `rotations`.
    index: Vec<usize>,
}

impl<'a> Cores<'a> {
    pub(crate) fn new(mesh: &'a TriMesh, trajectories: &'a Trajectories, rotations: &'a RotationSequences) -> Self {
        let mut index = vec![usize::MAX; mesh.triangle_count()];
        for (k, &triangle) in rotations.triangles.iter().enumerate() {
            index[triangle as usize] = k;
        }
        Self { mesh, trajectories, rotations, areas: triangle_areas(mesh.points(), mesh.triangles()), index }
    }

    /// Transform of the bone with the given core triangles, as the columns of a 3×4 matrix.
    pub(crate) fn transform(&self, triangles: &[u32], frame: usize, model: BoneModel) -> [DVec3; 4] {
        let mut area = 0.0;
        let (mut rest_sum, mut sum) = (DVec3::ZERO, DVec3::ZERO);
        let (mut square, mut cross, mut rotation) = (DMat3::ZERO, DMat3::ZERO, DMat3::ZERO);
        for &triangle in triangles {
            let a = self.areas[triangle as usize];
            let (rest, centroid) = self.centroids(triangle, frame);
            area += a;
            rest_sum += a * rest;
            sum += a * centroid;
            square += outer(rest, rest) * a;
            cross += outer(centroid, rest) * a;
            rotation += self.rotation(triangle, frame) * a;
        }
        let (rest_mean, mean) = (rest_sum / area, sum / area);
        let rigid = polar_rotation(rotation);
        let square = square - outer(rest_mean, rest_sum);
        let cross = cross - outer(mean, rest_sum);
        let hold = RIGIDITY * (square.x_axis.x + square.y_axis.y + square.z_axis.z) / 3.0 + f64::MIN_POSITIVE;
        let linear = match model {
            BoneModel::Rigid => rigid,
            // Eq. 14, regularized by the rigid rotation.
            BoneModel::Scaled | BoneModel::Flexible => {
                let square = square + DMat3::from_diagonal(DVec3::splat(hold));
                best_linear(model, cross + rigid * hold, square, rigid)
            }
        };
        let linear = if linear.is_finite() { linear } else { rigid };
        [linear.x_axis, linear.y_axis, linear.z_axis, mean - linear * rest_mean]
    }

    /// c̄ and c of Eq. 14.
    pub(crate) fn centroids(&self, triangle: u32, frame: usize) -> (DVec3, DVec3) {
        let corners = self.mesh.triangles()[triangle as usize];
        let rest = corners.map(|point| self.trajectories.rest[point as usize]).into_iter().sum::<DVec3>();
        let at = |point: u32| DVec3::from_slice(&self.trajectories.of(point as usize)[3 * frame..3 * frame + 3]);
        (rest / 3.0, corners.map(at).into_iter().sum::<DVec3>() / 3.0)
    }

    fn rotation(&self, triangle: u32, frame: usize) -> DMat3 {
        let rows = &self.rotations.of(self.index[triangle as usize])[9 * frame..9 * frame + 9];
        DMat3::from_cols_array(&std::array::from_fn(|k| f64::from(rows[k]))).transpose()
    }
}

fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}
