//! Triangle rotation sequences (SMA, §4.1): the rotation of each triangle over time.
//!
//! `O = [p₂₁ p₃₁ n̂]` is a triangle's orientation; the rotation of `O^t Ō⁻¹` by polar decomposition is R^t, and `z =
//! (vec R¹, …, vec R^S) ∈ R^{9S}` (Eq. 3) is the point that mean shift clusters. A triangle without area, at rest or in
//! any frame, has no rotation: it is skipped and counted.

use dermis_math::polar::polar_rotation;
use dermis_mesh::geometry::is_degenerate;
use dermis_mesh::{MeshSequence, SequenceError, TriMesh};
use glam::{DMat3, Vec3};
use rayon::prelude::*;

/// Rotations of all non-degenerate triangles.
#[derive(Debug, Clone, Default)]
pub struct RotationSequences {
    /// Triangles that have a rotation in every frame.
    pub triangles: Vec<u32>,
    /// Dimension of z, 9S.
    pub dimension: usize,
    /// z of all `triangles`, concatenated, each R row by row.
    pub points: Vec<f32>,
    /// Number of skipped triangles.
    pub degenerate: usize,
}

impl RotationSequences {
    /// z of the k-th non-degenerate triangle.
    pub fn of(&self, k: usize) -> &[f32] {
        &self.points[k * self.dimension..(k + 1) * self.dimension]
    }

    /// `count` as a fraction of all triangles, including degenerate ones.
    pub fn fraction(&self, count: usize) -> f64 {
        count as f64 / (self.triangles.len() + self.degenerate).max(1) as f64
    }
}

/// Computes the rotation sequences of `mesh`'s triangles over all frames of `sequences`.
pub fn rotation_sequences(mesh: &TriMesh, sequences: &[MeshSequence]) -> Result<RotationSequences, SequenceError> {
    let frames: usize = sequences.iter().map(MeshSequence::frame_count).sum();
    let triangles = mesh.triangles();
    let inverses: Vec<Option<DMat3>> =
        triangles.iter().map(|triangle| orientation(mesh.points(), triangle).map(|o| o.inverse())).collect();
    let mut sound: Vec<bool> = inverses.iter().map(|inverse| inverse.is_some_and(|m| m.is_finite())).collect();
    let dimension = 9 * frames;
    let mut points = vec![0.0f32; triangles.len() * dimension];
    let mut offset = 0;
    for sequence in sequences {
        for frame in 0..sequence.frame_count() {
            let positions = sequence.frame(frame)?;
            points.par_chunks_exact_mut(dimension).zip(&mut sound).enumerate().for_each(|(index, (z, sound))| {
                let rotation = inverses[index]
                    .filter(|_| *sound)
                    .and_then(|inverse| Some(polar_rotation(orientation(&positions, &triangles[index])? * inverse)));
                match rotation {
                    // Columns of the transpose are rows.
                    Some(rotation) => {
                        let rows = rotation.transpose().to_cols_array().map(|x| x as f32);
                        z[offset..offset + 9].copy_from_slice(&rows); // Eq. 3
                    }
                    None => *sound = false,
                }
            });
            offset += 9;
        }
    }
    Ok(keep_sound(points, dimension, &sound))
}

/// O of a triangle; `None` if it has no area.
fn orientation(points: &[Vec3], triangle: &[u32; 3]) -> Option<DMat3> {
    let corners = triangle.map(|point| points[point as usize]);
    if is_degenerate(corners) {
        return None;
    }
    let [a, b, c] = corners.map(Vec3::as_dvec3);
    let (u, v) = (b - a, c - a);
    Some(DMat3::from_cols(u, v, u.cross(v).try_normalize()?))
}

fn keep_sound(mut points: Vec<f32>, dimension: usize, sound: &[bool]) -> RotationSequences {
    let triangles: Vec<u32> = (0..sound.len() as u32).filter(|&index| sound[index as usize]).collect();
    for (kept, &index) in triangles.iter().enumerate() {
        let from = index as usize * dimension;
        points.copy_within(from..from + dimension, kept * dimension);
    }
    points.truncate(triangles.len() * dimension);
    let degenerate = sound.len() - triangles.len();
    RotationSequences { triangles, dimension, points, degenerate }
}
