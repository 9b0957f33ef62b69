//! Stored normals fitted to the frames: engines draw `F n̂`, normalized, with F the blended linear part.
//!
//! With bones and weights fixed, each point has its own 3×3 system for the n̂ that follows the normals n^t of the
//! frames best: `min Σ_t ‖F_t n̂ / s_t − n^t‖²`, with `s_t = ‖F_t n̂‖` of the previous solution, twice. A small weight
//! on the normal of the rest pose resolves underdetermined cases. There is no additional cost at playback.
//!
//! Vertices that split a point at a hard edge are rotated like their point.

use dermis_mesh::geometry::point_normals;
use dermis_mesh::{Layout, MeshSequence, SequenceError, TriMesh};
use glam::{DMat3, DVec3, Quat, Vec3};
use rayon::prelude::*;

use super::error::FitError;
use crate::blend::{blend, palette};
use crate::skin::{Skin, SkinError};

/// Number of solutions, each with the lengths of the previous one.
const ROUNDS: usize = 2;
/// Weight of the normal of the rest pose, relative to the frames.
const HOLD: f64 = 1e-2;

/// Returns `skin` with normals that follow `sequences` best; clip k plays the k-th.
pub(super) fn with_shading_normals(skin: &Skin, sequences: &[MeshSequence]) -> Result<Skin, FitError> {
    let mesh = skin.mesh();
    if mesh.triangle_count() == 0 {
        return Ok(skin.clone());
    }
    let smooth = point_normals(mesh.points(), mesh.triangles());
    let mut fitted: Vec<DVec3> = smooth.iter().map(|normal| normal.as_dvec3()).collect();
    for _ in 0..ROUNDS {
        let sums = gather(skin, sequences, &fitted)?;
        for ((normal, sums), smooth) in fitted.iter_mut().zip(&sums).zip(&smooth) {
            *normal = sums.solve(smooth.as_dvec3());
        }
    }
    let rotated = |point: u32, normal: Vec3| {
        let (from, to) = (smooth[point as usize], fitted[point as usize].as_vec3());
        if from == Vec3::ZERO { normal } else { (Quat::from_rotation_arc(from, to) * normal).normalize_or(normal) }
    };
    let layout = mesh.layout().cloned().unwrap_or_else(|| Layout::plain(mesh));
    let stored = layout.normals.clone().unwrap_or_else(|| layout.split(&smooth));
    let normals = layout.vertex_points.iter().zip(stored).map(|(&point, normal)| rotated(point, normal)).collect();
    let plain: TriMesh = mesh.without_layout();
    let shaded = plain.with_layout(Layout { normals: Some(normals), ..layout }).map_err(SkinError::from)?;
    Ok(skin.with_mesh(shaded))
}

/// Normal equations of one point.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    square: DMat3,
    right: DVec3,
}

impl Sums {
    fn solve(&self, rest: DVec3) -> DVec3 {
        let hold = HOLD * (self.square.x_axis.x + self.square.y_axis.y + self.square.z_axis.z) / 3.0;
        let system = self.square + DMat3::from_diagonal(DVec3::splat(hold));
        let solved = system.inverse() * (self.right + hold * rest);
        // A normal that points away from the surface would appear as a hole in the shading of the rest pose.
        let sound = solved.is_finite() && solved.dot(rest) > 0.0;
        if sound { solved.normalize() } else { rest }
    }
}

fn gather(skin: &Skin, sequences: &[MeshSequence], normals: &[DVec3]) -> Result<Vec<Sums>, SequenceError> {
    let mut sums = vec![Sums { square: DMat3::ZERO, right: DVec3::ZERO }; normals.len()];
    for (clip, sequence) in sequences.iter().enumerate() {
        for frame in 0..sequence.frame_count() {
            let given = point_normals(&sequence.frame(frame)?, skin.mesh().triangles());
            let palette = palette(skin.rig(), &skin.clips()[clip], frame);
            sums.par_iter_mut().enumerate().with_min_len(256).for_each(|(point, sums)| {
                let linear = blend(skin.rig(), &palette, point).matrix3;
                let length = (linear * normals[point]).length();
                if length > f64::MIN_POSITIVE && given[point] != Vec3::ZERO {
                    let scaled = linear * length.recip();
                    sums.square += scaled.transpose() * scaled;
                    sums.right += scaled.transpose() * given[point].as_dvec3();
                }
            });
        }
    }
    Ok(sums)
}
