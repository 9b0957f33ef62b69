//! Parts of a near-rigid cluster that move together.
//!
//! A rotation sequence describes the rotation of a triangle, not its translation: a horse's head that stays as level as
//! its trunk falls into the trunk's mode, although the neck moves it up and down. A single bone for both has the error
//! of that entire motion (on the paper's horse 16 % instead of 5 %). The core triangles of a mode are therefore
//! separated into connected pieces, and a piece is joined to a larger one only if the rigid motion of the latter
//! predicts it.
//!
//! Small rotations also add up over long distances: all triangles from the trunk to the nose can rotate alike within the
//! tolerance, although the nose is far from its position under the trunk's motion. A part that its own rigid motion does
//! not predict is therefore divided in two by alternation between rigid motions and assignments, until each part follows
//! its motion (on the generated gallop 3 % distortion instead of 10 %).

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

/// Divides `part` until the rigid motion of each piece predicts it within `tolerance`; pieces have at least
/// `min_triangles`.
pub(crate) fn divide(cores: &Cores<'_>, part: Vec<u32>, tolerance: f64, min_triangles: usize) -> Vec<Vec<u32>> {
    let mut open = vec![part];
    let mut done = Vec::new();
    while let Some(part) = open.pop() {
        let motion = Motion::of(cores, &part);
        let fits = part.len() < 2 * min_triangles || motion.misses(cores, &part) <= tolerance;
        match if fits { None } else { halves(cores, &part, &motion, min_triangles) } {
            Some(halves) => open.extend(halves),
            None => done.push(part),
        }
    }
    done
}

/// The triangles of `part` that move alike, in two groups; `None` if one would have fewer than `min_triangles`.
fn halves(cores: &Cores<'_>, part: &[u32], motion: &Motion, min_triangles: usize) -> Option<[Vec<u32>; 2]> {
    const ROUNDS: usize = 6;
    let at_rest = |triangle: u32| cores.centroids(triangle, 0).0;
    let centre = part.iter().map(|&triangle| at_rest(triangle)).sum::<DVec3>() / part.len() as f64;
    let errors = motion.squared_errors(cores, part);
    let worst = (1..part.len()).fold(0, |worst, next| if errors[next] > errors[worst] { next } else { worst });
    let seed = at_rest(part[worst]);
    let is_far = |triangle: u32| {
        let rest = at_rest(triangle);
        rest.distance_squared(seed) < rest.distance_squared(centre)
    };
    let mut sides: Vec<bool> = part.iter().map(|&triangle| is_far(triangle)).collect();
    for _ in 0..ROUNDS {
        let groups = [true, false].map(|side| select(part, &sides, side));
        if groups.iter().any(|group| group.len() < min_triangles) {
            return None;
        }
        let [far, near] = groups.map(|group| Motion::of(cores, &group).squared_errors(cores, part));
        let next: Vec<bool> = far.iter().zip(&near).map(|(far, near)| far < near).collect();
        if std::mem::replace(&mut sides, next.clone()) == next {
            break;
        }
    }
    let groups = [true, false].map(|side| select(part, &sides, side));
    groups.iter().all(|group| group.len() >= min_triangles).then_some(groups)
}

fn select(part: &[u32], sides: &[bool], side: bool) -> Vec<u32> {
    part.iter().zip(sides).filter(|(_, of)| **of == side).map(|(&triangle, _)| triangle).collect()
}

pub(crate) fn largest_first(mut parts: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
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

    /// Squared distance of the centroid of each of `triangles` from its position under this motion, summed over the frames.
    fn squared_errors(&self, cores: &Cores<'_>, triangles: &[u32]) -> Vec<f64> {
        let error = |&triangle: &u32| {
            let of_frame = |(frame, [x, y, z, v]): (usize, &[DVec3; 4])| {
                let (rest, centroid) = cores.centroids(triangle, frame);
                (*x * rest.x + *y * rest.y + *z * rest.z + *v).distance_squared(centroid)
            };
            self.0.iter().enumerate().map(of_frame).sum()
        };
        triangles.par_iter().with_min_len(64).map(error).collect()
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
