//! Parts of a near-rigid cluster that move together.
//!
//! A rotation sequence describes the rotation of a triangle, not its translation: a horse's head that stays as level as
//! its trunk falls into the trunk's mode, although the neck moves it up and down. A single bone for both has the error
//! of that entire motion (on the paper's horse 16 % instead of 5 %). The core triangles of a mode are therefore
//! separated into connected pieces, and a piece is joined to a larger one only if the rigid motion of the latter
//! predicts it.

use dermis_mesh::TriMesh;
use dermis_mesh::shells::shells;
use glam::DVec3;
use rayon::prelude::*;

use super::cluster_bones::Cores;
use crate::bone_model::BoneModel;

/// Returns the pieces of `triangles` that move together, largest first. `tolerance` is the largest error of the rigid
/// motion of one on another, RMS over the frames, in units of the rest pose's RMS radius.
pub(crate) fn parts(cores: &Cores<'_>, triangles: &[u32], tolerance: f64) -> Vec<Vec<u32>> {
    let mut grown: Vec<(Motion, Vec<u32>)> = Vec::new();
    for piece in connected(cores.mesh, triangles) {
        match grown.iter_mut().find(|(motion, _)| motion.misses(cores, &piece) <= tolerance) {
            Some((_, part)) => part.extend(piece),
            None => grown.push((Motion::of(cores, &piece), piece)),
        }
    }
    largest_first(grown.into_iter().map(|(_, part)| part).collect())
}

/// Returns `parts`, largest first, without those that the motion of a larger one predicts within `tolerance`: a bone
/// for them would have almost no effect.
pub(crate) fn worth_a_bone(cores: &Cores<'_>, parts: Vec<Vec<u32>>, tolerance: f64) -> Vec<Vec<u32>> {
    let mut kept: Vec<(Motion, Vec<u32>)> = Vec::new();
    for part in largest_first(parts) {
        if kept.par_iter().all(|(motion, _)| motion.misses(cores, &part) > tolerance) {
            kept.push((Motion::of(cores, &part), part));
        }
    }
    kept.into_iter().map(|(_, part)| part).collect()
}

fn largest_first(mut parts: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    parts
}

/// A rigid motion: the columns of a 3×4 matrix for each frame.
struct Motion(Vec<[DVec3; 4]>);

impl Motion {
    fn of(cores: &Cores<'_>, triangles: &[u32]) -> Self {
        let frames = 0..cores.trajectories.frame_count();
        Self(frames.map(|frame| cores.transform(triangles, frame, BoneModel::Rigid)).collect())
    }

    /// RMS distance of the centroids of `triangles` from their positions under this motion.
    fn misses(&self, cores: &Cores<'_>, triangles: &[u32]) -> f64 {
        let mut sum = 0.0;
        for (frame, [x, y, z, v]) in self.0.iter().enumerate() {
            for &triangle in triangles {
                let (rest, centroid) = cores.centroids(triangle, frame);
                sum += (*x * rest.x + *y * rest.y + *z * rest.z + *v).distance_squared(centroid);
            }
        }
        (sum / (self.0.len() * triangles.len()).max(1) as f64).sqrt()
    }
}

/// Connected pieces, largest first.
fn connected(mesh: &TriMesh, triangles: &[u32]) -> Vec<Vec<u32>> {
    let corners: Vec<[u32; 3]> = triangles.iter().map(|&triangle| mesh.triangles()[triangle as usize]).collect();
    let shells = shells(mesh.point_count(), &corners);
    let mut pieces = vec![Vec::new(); shells.count];
    for (&triangle, &shell) in triangles.iter().zip(&shells.of_triangles) {
        pieces[shell as usize].push(triangle);
    }
    largest_first(pieces)
}
