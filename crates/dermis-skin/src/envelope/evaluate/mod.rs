//! Real-time evaluation of multi-weights (MWE, Eq. 3) in f32, with the SIMD instructions of the processor.
//!
//! A [`MultiPoser`] is prepared once; a [`MultiPose`] contains the bones of a frame; [`MultiPoser::pose_into`]
//! evaluates it without allocation. A frame computes `p = H C (p̄ − c + Σ_{k≠h} Σ_i w'_ji,k (m'_ji,k − δ_ji))`, twelve
//! multiply-adds per bone and point, in the centred form: the home bone costs nothing, and characters far from the
//! origin do not lose precision. The matrices of all pairs of a home bone and another bone are computed once per frame
//! in f64. There are a few hundred, which remain in cache while the weights are read once in the order of the points.
//! The cost does not depend on the number of training poses.
//!
//! Points with several parts are the weighted mean of the positions of their parts.
//!
//! If a home bone is singular in a frame, its transform has no inverse. Its points remain finite, but their positions
//! are undefined; [`MultiPoser::singular_points`] lists them, and a clip uses the linear skin for them.
//!
//! Normals are those of the posed surface, with triangles weighted by area. The twelve folded weights do not determine
//! the deformation gradient, so rest normals cannot be transformed. A point without a normal keeps its rest normal.
//!
//! With half precision the weights are read as 24 bytes per bone and point and converted in registers (F16C).
//! Because of fused multiply-adds the bits depend on the processor, but never on the number of threads.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod kernel;
mod normals;
mod portable;
mod streams;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use dermis_mesh::deformer::multi_weights::{
    HomeFrame, MultiWeights, MultiWeightsError, Precision, home_frames, rest_points,
};
use dermis_mesh::{Joint, TriMesh};
use glam::{DAffine3, DMat3, DVec3, Vec3};
use rayon::prelude::*;

use self::kernel::{HomeColumns, Rows};
use self::normals::SurfaceNormals;
use self::streams::{Stream, streams};

/// Number of points per task: about 50 microseconds of work.
const POINTS_PER_TASK: usize = 1024;

/// Bones of one frame. Reusing it for later frames avoids allocation.
#[derive(Debug, Clone, Default)]
pub struct MultiPose {
    /// `M' − I` of each pair, multiplied by the scales of the weights.
    pairs: Vec<Rows>,
    /// `H C` of each home bone.
    homes: Vec<HomeColumns>,
    /// Positions of the parts of points, if points have several.
    parts: Vec<Vec3>,
    /// Normal of each triangle, multiplied by twice its area.
    triangles: Vec<Vec3>,
}

/// Multi-weights prepared for evaluation.
#[derive(Debug, Clone)]
pub struct MultiPoser {
    inverse_binds: Vec<DAffine3>,
    /// Home bones with their frames.
    homes: Vec<(usize, HomeFrame)>,
    /// For each pair, the index of its home bone among the homes, and its bone.
    pairs: Vec<(usize, usize)>,
    stream: Arc<dyn Stream>,
    /// First part of each point, and the fraction of each part; empty if every point has one part.
    parts: Arc<(Vec<u32>, Vec<f32>)>,
    /// Home bone of each part.
    part_homes: Arc<Vec<u32>>,
    normals: Arc<SurfaceNormals>,
}

impl MultiPoser {
    /// Prepares the evaluation of `weights` for `mesh` and `joints`. Fails if the weights do not match them.
    pub fn new(
        weights: &MultiWeights,
        mesh: &TriMesh,
        joints: &[Joint],
        precision: Precision,
    ) -> Result<Self, MultiWeightsError> {
        weights.check_for(mesh.point_count(), joints.len())?;
        let rest = rest_points(weights);
        let frames = home_frames(weights, &rest);
        let streams = streams(weights, &rest, &frames, joints.len(), precision);
        Ok(Self {
            inverse_binds: joints.iter().map(|joint| joint.inverse_bind).collect(),
            homes: streams.homes.into_iter().map(|home| (home, frames[home])).collect(),
            pairs: streams.pairs,
            stream: streams.stream,
            parts: Arc::new((weights.parts.clone(), weights.fractions.clone())),
            part_homes: Arc::new(weights.home.clone()),
            normals: Arc::new(SurfaceNormals::new(mesh)),
        })
    }

    /// Number of points.
    pub fn point_count(&self) -> usize {
        if self.parts.0.is_empty() { self.stream.point_count() } else { self.parts.0.len() - 1 }
    }

    /// Number of bytes read per frame: weights, their pairs, and rest points.
    pub fn bytes_per_frame(&self) -> usize {
        self.stream.byte_count()
    }

    /// Sets the bones of `pose`: for each joint, the transform from its space to that of the posed points, as in
    /// `Clip::transforms`.
    ///
    /// # Panics
    /// If the number of transforms differs from that of joints.
    pub fn set_bones(&self, pose: &mut MultiPose, transforms: &[DAffine3]) {
        assert_eq!(transforms.len(), self.inverse_binds.len(), "one transform per joint");
        let skinning = |bone: usize| transforms[bone] * self.inverse_binds[bone];
        let seen_from = |home: DAffine3| if is_invertible(home) { home } else { DAffine3::IDENTITY };
        let homes: Vec<DAffine3> = self.homes.iter().map(|(home, _)| seen_from(skinning(*home))).collect();
        pose.homes.clear();
        let columns = homes.iter().zip(&self.homes).map(|(home, (_, frame))| home_columns(*home, frame.centre));
        pose.homes.extend(columns);
        let inverses: Vec<DAffine3> = homes.iter().map(DAffine3::inverse).collect();
        pose.pairs.clear();
        pose.pairs.extend(self.pairs.iter().map(|&(home, bone)| {
            let frame = &self.homes[home].1;
            pair_rows(inverses[home] * skinning(bone), frame)
        }));
    }

    /// Points with a home bone that is singular in a pose; see the module documentation.
    ///
    /// # Panics
    /// If the number of transforms differs from that of joints.
    pub fn singular_points(&self, transforms: &[DAffine3]) -> Vec<usize> {
        assert_eq!(transforms.len(), self.inverse_binds.len(), "one transform per joint");
        let hidden = |home: usize| !is_invertible(transforms[home] * self.inverse_binds[home]);
        let hidden: Vec<u32> =
            self.homes.iter().map(|(home, _)| *home).filter(|home| hidden(*home)).map(|home| home as u32).collect();
        if hidden.is_empty() {
            return Vec::new();
        }
        let starts = &self.parts.0;
        let parts = |point: usize| {
            if starts.is_empty() { point..point + 1 } else { starts[point] as usize..starts[point + 1] as usize }
        };
        let is_unseen = |point: &usize| self.part_homes[parts(*point)].iter().any(|home| hidden.contains(home));
        (0..self.point_count()).filter(is_unseen).collect()
    }

    /// Writes the posed points to `positions` and, if given, their unit normals to `normals`.
    ///
    /// The bits do not depend on the number of threads.
    ///
    /// # Panics
    /// If the bones of `pose` were not set by this poser, or the buffers do not have the number of points.
    pub fn pose_into(&self, pose: &mut MultiPose, positions: &mut [Vec3], normals: Option<&mut [Vec3]>) {
        assert_eq!(pose.pairs.len(), self.pairs.len(), "the bones of the pose are set by this poser");
        assert_eq!(pose.homes.len(), self.homes.len(), "the bones of the pose are set by this poser");
        assert_eq!(positions.len(), self.point_count(), "one position per point");
        if self.parts.0.is_empty() {
            self.pose_parts(&pose.pairs, &pose.homes, positions);
        } else {
            pose.parts.resize(self.stream.point_count(), Vec3::ZERO);
            self.pose_parts(&pose.pairs, &pose.homes, &mut pose.parts);
            self.blend_parts(&pose.parts, positions);
        }
        if let Some(normals) = normals {
            self.normals.of_frame(positions, &mut pose.triangles, normals);
        }
    }
}

impl MultiPoser {
    fn pose_parts(&self, pairs: &[Rows], homes: &[HomeColumns], parts: &mut [Vec3]) {
        parts.par_chunks_mut(POINTS_PER_TASK).enumerate().for_each(|(task, parts)| {
            self.stream.pose(pairs, homes, task * POINTS_PER_TASK, bytemuck::cast_slice_mut(parts));
        });
    }

    fn blend_parts(&self, parts: &[Vec3], positions: &mut [Vec3]) {
        let (starts, fractions) = &*self.parts;
        positions.par_chunks_mut(POINTS_PER_TASK).enumerate().for_each(|(task, positions)| {
            for (ends, position) in starts[task * POINTS_PER_TASK..].windows(2).zip(positions) {
                let own = ends[0] as usize..ends[1] as usize;
                // Offsets from the first part preserve precision far from the origin if the parts agree.
                let first = parts[own.start];
                let offset = |(&part, &fraction): (&Vec3, &f32)| fraction * (part - first);
                *position = first + parts[own.clone()].iter().zip(&fractions[own]).map(offset).sum::<Vec3>();
            }
        });
    }
}

/// Returns true if the transform of a home bone has a usable inverse.
fn is_invertible(home: DAffine3) -> bool {
    let inverse = home.inverse();
    // Larger entries exceed the precision of `f32`.
    const MAX_ENTRY: f64 = 1e12;
    inverse.is_finite() && inverse.matrix3.to_cols_array().iter().all(|entry| entry.abs() < MAX_ENTRY)
}

/// Columns of `H C`.
fn home_columns(home: DAffine3, centre: DVec3) -> HomeColumns {
    let DAffine3 { matrix3, translation } = home * DAffine3::from_translation(centre);
    let columns = [matrix3.x_axis, matrix3.y_axis, matrix3.z_axis, translation];
    HomeColumns(columns.map(|column| column.as_vec3().extend(0.0).to_array()))
}

/// Rows of `C⁻¹ M C − I`, multiplied by the scales.
fn pair_rows(relative: DAffine3, frame: &HomeFrame) -> Rows {
    let [axes, scale] = frame.scales.map(f64::from);
    let linear = (relative.matrix3 - DMat3::IDENTITY) * axes;
    let translation = (relative.transform_point3(frame.centre) - frame.centre) * scale;
    let row = |j: usize| linear.row(j).extend(translation[j]).as_vec4().to_array();
    [row(0), row(1), row(2)]
}
