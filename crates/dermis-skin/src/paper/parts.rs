//! The parts of a near-rigid cluster that really move together.
//!
//! A rotation sequence says how a triangle turns, not where it goes: a horse's head that stays as level as its trunk falls
//! into the trunk's mode, though the neck moves it up and down. One bone for both is wrong by all of that motion (on the
//! paper's horse 16 % instead of 5 %). So the core triangles of a mode are taken apart into connected pieces, and a
//! piece joins a larger one again only if that one's rigid motion carries its centre along.

use dermis_mesh::TriMesh;
use dermis_mesh::shells::shells;

use super::bones::Cores;
use crate::bone_model::BoneModel;

/// The pieces of `triangles` that move together, largest first. `tolerance` is how far a centre may stray, RMS over the
/// frames, in units of the rest pose's RMS radius.
pub(crate) fn parts(cores: &Cores<'_>, triangles: &[u32], tolerance: f64) -> Vec<Vec<u32>> {
    let frames = cores.trajectories.frame_count();
    let mut grown: Vec<(Vec<u32>, Vec<u32>)> = Vec::new();
    for piece in connected(cores.mesh, triangles) {
        let home = grown.iter().position(|(core, _)| stray(cores, frames, core, &piece) <= tolerance);
        match home {
            Some(home) => grown[home].1.extend(piece),
            None => grown.push((piece.clone(), piece)),
        }
    }
    let mut all: Vec<Vec<u32>> = grown.into_iter().map(|(_, part)| part).collect();
    all.sort_by_key(|part| std::cmp::Reverse(part.len()));
    all
}

/// How far the centre of `piece` is, RMS over the frames, from where the rigid motion of `core` would carry it.
fn stray(cores: &Cores<'_>, frames: usize, core: &[u32], piece: &[u32]) -> f64 {
    let squared = |frame: usize| {
        let [x, y, z, v] = cores.transform(core, frame, BoneModel::Rigid);
        let (rest, centre) = cores.mean_centroids(piece, frame);
        (x * rest.x + y * rest.y + z * rest.z + v).distance_squared(centre)
    };
    ((0..frames).map(squared).sum::<f64>() / frames.max(1) as f64).sqrt()
}

/// The pieces that share no point, largest first.
fn connected(mesh: &TriMesh, triangles: &[u32]) -> Vec<Vec<u32>> {
    let corners: Vec<[u32; 3]> = triangles.iter().map(|&triangle| mesh.triangles()[triangle as usize]).collect();
    let shells = shells(mesh.point_count(), &corners);
    let mut pieces = vec![Vec::new(); shells.count];
    for (&triangle, &shell) in triangles.iter().zip(&shells.of_triangles) {
        pieces[shell as usize].push(triangle);
    }
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
    pieces
}
