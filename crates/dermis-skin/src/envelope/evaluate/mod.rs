//! Evaluating multi-weights in real time (MWE, Eq. 3) in f32, with the SIMD that the processor has.
//!
//! A [`MultiPoser`] is prepared once; a [`MultiPose`] holds a frame's bones; [`MultiPoser::pose_into`] does the rest
//! without allocating. A frame costs `p = H C (p̄ − c + Σ_{k≠h} Σ_i w'_ji,k (m'_ji,k − δ_ji))`, twelve multiply-adds per
//! bone and point, in the form of `centred`: the home bone costs nothing, and characters far from the origin lose no
//! digits. The matrices of all pairs of a home bone and another bone that occur are made once per frame in f64; there
//! are a few hundred, which stay in cache, while the weights stream past once in the order of the points. Neither the
//! number of poses that the weights were learned from nor their fit matters.
//!
//! Points with several parts are the mean of where their parts are, by shares.
//!
//! From a home bone that is collapsed in a frame nothing can be seen. Its points stay finite but mean nothing;
//! [`MultiPoser::unseen`] names them, and a clip is played with the linear skin there.
//!
//! Normals are those of the posed surface, its triangles weighted by area. Twelve folded weights do not say how the
//! deformation stretches the surface, so there is no matrix that could turn a rest normal. A point that no triangle
//! gives a direction keeps its rest normal.
//!
//! With half precision the weights are read as 24 bytes per bone and point and widened in registers (F16C).
//! Fused products make the bits depend on the processor, never on the number of threads.

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

/// Points that one task poses: some 50 microseconds of work.
const TASK: usize = 1024;

/// The bones of one frame; keep it, so that later frames find its memory.
#[derive(Debug, Clone, Default)]
pub struct MultiPose {
    /// `(M' − I)` of each pair, times the scales of the weights.
    pairs: Vec<Rows>,
    /// `H C` of each home bone.
    homes: Vec<HomeColumns>,
    /// Where each part of the points is, where points have several.
    parts: Vec<Vec3>,
    /// Twice the area times the normal of each triangle.
    triangles: Vec<Vec3>,
}

/// Multi-weights prepared for posing.
#[derive(Debug, Clone)]
pub struct MultiPoser {
    inverse_binds: Vec<DAffine3>,
    /// The bones that are homes, with their frames.
    homes: Vec<(usize, HomeFrame)>,
    /// Each pair's home, by its place among the homes, and its bone.
    pairs: Vec<(usize, usize)>,
    stream: Arc<dyn Stream>,
    /// Where each point's parts begin, and how much each counts; empty where every point is one part.
    parts: Arc<(Vec<u32>, Vec<f32>)>,
    /// The home bone of each part.
    part_homes: Arc<Vec<u32>>,
    normals: Arc<SurfaceNormals>,
}

impl MultiPoser {
    /// Poses the points of `mesh` by `joints`; fails where the weights do not belong to them.
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
            parts: Arc::new((weights.parts.clone(), weights.shares.clone())),
            part_homes: Arc::new(weights.home.clone()),
            normals: Arc::new(SurfaceNormals::new(mesh)),
        })
    }

    /// The number of points that are posed.
    pub fn point_count(&self) -> usize {
        if self.parts.0.is_empty() { self.stream.point_count() } else { self.parts.0.len() - 1 }
    }

    /// The bytes that a frame reads: weights, the pairs that they belong to, rest points.
    pub fn bytes_per_frame(&self) -> usize {
        self.stream.byte_count()
    }

    /// Gives `pose` bones: for each joint, what takes its space to where posed points live, as in `Clip::transforms`.
    ///
    /// # Panics
    /// If there is not one transform per joint.
    pub fn set_bones(&self, pose: &mut MultiPose, transforms: &[DAffine3]) {
        assert_eq!(transforms.len(), self.inverse_binds.len(), "there is one transform per joint");
        let skinning = |bone: usize| transforms[bone] * self.inverse_binds[bone];
        let seen_from = |home: DAffine3| if can_be_undone(home) { home } else { DAffine3::IDENTITY };
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

    /// The points that have a home bone which is collapsed in a pose; see the top of this file.
    ///
    /// # Panics
    /// If there is not one transform per joint.
    pub fn unseen(&self, transforms: &[DAffine3]) -> Vec<usize> {
        assert_eq!(transforms.len(), self.inverse_binds.len(), "there is one transform per joint");
        let hidden = |home: usize| !can_be_undone(transforms[home] * self.inverse_binds[home]);
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

    /// Puts the posed points into `positions` and, if asked, their unit normals into `normals`.
    ///
    /// The bits do not depend on the number of threads.
    ///
    /// # Panics
    /// If `pose` was not given the bones of this poser, or the buffers do not hold all points.
    pub fn pose_into(&self, pose: &mut MultiPose, positions: &mut [Vec3], normals: Option<&mut [Vec3]>) {
        assert_eq!(pose.pairs.len(), self.pairs.len(), "the pose has the bones of this poser");
        assert_eq!(pose.homes.len(), self.homes.len(), "the pose has the bones of this poser");
        assert_eq!(positions.len(), self.point_count(), "the buffer holds all positions");
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
        parts.par_chunks_mut(TASK).enumerate().for_each(|(task, parts)| {
            self.stream.pose(pairs, homes, task * TASK, bytemuck::cast_slice_mut(parts));
        });
    }

    fn blend_parts(&self, parts: &[Vec3], positions: &mut [Vec3]) {
        let (starts, shares) = &*self.parts;
        positions.par_chunks_mut(TASK).enumerate().for_each(|(task, positions)| {
            for (ends, position) in starts[task * TASK..].windows(2).zip(positions) {
                let own = ends[0] as usize..ends[1] as usize;
                // Offsets from the first part: points far from the origin lose no digits where parts agree.
                let first = parts[own.start];
                let offset = |(&part, &share): (&Vec3, &f32)| share * (part - first);
                *position = first + parts[own.clone()].iter().zip(&shares[own]).map(offset).sum::<Vec3>();
            }
        });
    }
}

/// Whether other bones can be seen from a home bone.
fn can_be_undone(home: DAffine3) -> bool {
    let inverse = home.inverse();
    // Beyond this, what is seen from there is no f32 any more.
    const MOST: f64 = 1e12;
    inverse.is_finite() && inverse.matrix3.to_cols_array().iter().all(|entry| entry.abs() < MOST)
}

/// The columns of `H C`.
fn home_columns(home: DAffine3, centre: DVec3) -> HomeColumns {
    let DAffine3 { matrix3, translation } = home * DAffine3::from_translation(centre);
    let columns = [matrix3.x_axis, matrix3.y_axis, matrix3.z_axis, translation];
    HomeColumns(columns.map(|column| column.as_vec3().extend(0.0).to_array()))
}

/// The rows of `C⁻¹ M C − I`, times the scales.
fn pair_rows(seen: DAffine3, frame: &HomeFrame) -> Rows {
    let [axes, scale] = frame.scales.map(f64::from);
    let turned = (seen.matrix3 - DMat3::IDENTITY) * axes;
    let translation = (seen.transform_point3(frame.centre) - frame.centre) * scale;
    let row = |j: usize| turned.row(j).extend(translation[j]).as_vec4().to_array();
    [row(0), row(1), row(2)]
}
