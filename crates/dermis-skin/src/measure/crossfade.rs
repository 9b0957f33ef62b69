//! Cross-fades: the pose halfway between two frames as players blend them, node by node.
//!
//! Translations, scales and shape weights are averaged, rotations along the shorter arc. An edge tears if it is much
//! longer halfway than in both frames.

use dermis_mesh::RigError;
use dermis_mesh::adjacency::Edges;
use glam::{DAffine3, Vec3};
use rayon::prelude::*;

use crate::export::{Nodes, bone_nodes};
use crate::skin::Skin;

/// Length of a torn edge, relative to the longer of both frames.
pub const MAX_STRETCH: f32 = 1.5;
/// Number of pairs of frames.
pub const PAIRS: usize = 50;

/// Percentage of edges longer than [`MAX_STRETCH`] times their length in both frames, halfway between [`PAIRS`] pairs
/// of frames of all clips. The pairs are always the same.
pub fn crossfade_stretch_percent(skin: &Skin) -> Result<f64, RigError> {
    let nodes = bone_nodes(skin.mesh(), skin.rig(), skin.clips())?;
    let frames: Vec<(usize, usize)> = (0..skin.clips().len())
        .flat_map(|clip| (0..skin.clips()[clip].frame_count()).map(move |frame| (clip, frame)))
        .collect();
    if frames.len() < 2 {
        return Ok(0.0);
    }
    let edges = Edges::new(skin.mesh().point_count(), skin.mesh().triangles());
    let pairs: Vec<(usize, usize)> = pairs(frames.len());
    let torn: usize = pairs
        .par_iter()
        .map(|&(a, b)| {
            let [first, second] = [frames[a], frames[b]].map(|(clip, frame)| skin.played_points(clip, frame));
            let middle = half_way(skin, &nodes, frames[a], frames[b]);
            let length = |points: &[Vec3], [i, j]: [u32; 2]| points[i as usize].distance(points[j as usize]);
            let is_torn = |edge: &&[u32; 2]| {
                let longest = length(&first, **edge).max(length(&second, **edge));
                length(&middle, **edge) > MAX_STRETCH * longest
            };
            edges.ends().iter().filter(is_torn).count()
        })
        .sum();
    Ok(100.0 * torn as f64 / (pairs.len() * edges.len()).max(1) as f64)
}

/// Pairs of different numbers below `count`, from a fixed linear congruential sequence.
fn pairs(count: usize) -> Vec<(usize, usize)> {
    let mut state = 1u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % limit as u64) as usize
    };
    let mut pair = || {
        let first = below(count);
        let second = below(count - 1);
        (first, if second < first { second } else { second + 1 })
    };
    (0..PAIRS).map(|_| pair()).collect()
}

/// Points halfway between two frames of two clips, as a player blends them.
fn half_way(skin: &Skin, nodes: &Nodes, a: (usize, usize), b: (usize, usize)) -> Vec<Vec3> {
    let mut worlds: Vec<DAffine3> = Vec::with_capacity(nodes.motions.len());
    let mut palette = vec![DAffine3::IDENTITY; skin.bone_count()];
    for motion in &nodes.motions {
        let key = |(clip, frame): (usize, usize)| {
            let earlier: usize = skin.clips()[..clip].iter().map(|clip| motion.key_count(clip)).sum();
            earlier + if motion.fine { 2 * frame } else { frame }
        };
        let local = motion.node_transform(key(a)).middle(&motion.node_transform(key(b))).transform();
        let world = motion.parent.map_or(DAffine3::IDENTITY, |parent| worlds[parent]) * local;
        if let Some(joint) = motion.joint {
            palette[joint] = world * nodes.inverse_binds[joint];
        }
        worlds.push(world);
    }
    let [first, second] = [a, b].map(|(clip, frame)| skin.clips()[clip].shape_weights(frame));
    let coefficients: Vec<f32> = first.iter().zip(second).map(|(a, b)| 0.5 * (a + b)).collect();
    skin.points_of(&palette, &coefficients)
}
