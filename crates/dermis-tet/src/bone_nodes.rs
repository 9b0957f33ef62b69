//! Nodes that belong to bones.
//!
//! A bone is a capsule around a segment between joints. A line has zero capacity in three dimensions: nodes on the line
//! alone hardly lower the distance field, and less so the finer the mesh. All nodes within a radius are therefore fixed.
//! The radius is a fraction of the flesh around the bone, the median distance from points along the bone to the skin. If
//! the capsule of a bone contains no node, as in a coarse mesh, the bone gets the nearest inner node, provided that it is
//! closer than the skin.

use dermis_body::Bone;
use dermis_mesh::TetMesh;
use rayon::prelude::*;

/// Number of points along a bone at which the distance to the skin is measured.
const SAMPLES: usize = 9;

/// Options of [`bone_nodes`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoneNodesOptions {
    /// Radius of a bone relative to the distance to the skin. Larger leaves thinner flesh.
    pub relative_radius: f32,
    /// Radius of all bones in units of the mesh; overrides `relative_radius`.
    pub radius: Option<f32>,
}

impl Default for BoneNodesOptions {
    fn default() -> Self {
        Self { relative_radius: 0.35, radius: None }
    }
}

/// Nodes of bones; see [`bone_nodes`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoneNodes {
    /// Inner nodes within the radius of a bone, ascending.
    pub nodes: Vec<u32>,
    /// Joint of each node: that of the nearest bone.
    pub joints: Vec<u32>,
    /// Radius of each bone.
    pub radii: Vec<f32>,
    /// Indices of bones without nodes.
    pub empty_bones: Vec<usize>,
}

/// Finds the inner nodes of `mesh`, those not in `skin`, that belong to `bones`.
pub fn bone_nodes(mesh: &TetMesh, skin: &[u32], bones: &[Bone], options: &BoneNodesOptions) -> BoneNodes {
    let mut is_skin = vec![false; mesh.nodes().len()];
    for &node in skin {
        is_skin[node as usize] = true;
    }
    let flesh: Vec<f32> = bones.par_iter().map(|bone| distance_to_skin(mesh, skin, bone)).collect();
    let radii: Vec<f32> =
        flesh.iter().map(|&flesh| options.radius.unwrap_or(options.relative_radius * flesh)).collect();
    let inner: Vec<u32> = (0..mesh.nodes().len() as u32).filter(|&node| !is_skin[node as usize]).collect();
    let mut owners: Vec<Option<u32>> = inner.par_iter().map(|&node| owner(mesh, node, bones, &radii)).collect();
    let mut has_node = vec![false; bones.len()];
    owners.iter().flatten().for_each(|&bone| has_node[bone as usize] = true);
    let mut empty_bones = Vec::new();
    for bone in (0..bones.len()).filter(|&bone| !has_node[bone]) {
        match nearest_inner(mesh, &inner, &bones[bone]) {
            Some((index, distance)) if distance < flesh[bone] => {
                owners[index].get_or_insert(bone as u32);
            }
            _ => empty_bones.push(bone),
        }
    }
    let owned = inner.iter().zip(&owners).filter_map(|(&node, &owner)| Some((node, bones[owner? as usize].joint)));
    let (nodes, joints) = owned.unzip();
    BoneNodes { nodes, joints, radii, empty_bones }
}

/// Median, over points along the bone, of the distance to the nearest skin node.
fn distance_to_skin(mesh: &TetMesh, skin: &[u32], bone: &Bone) -> f32 {
    let nearest = |sample: usize| {
        let at = bone.at(sample as f32 / (SAMPLES - 1) as f32);
        let squared = skin.iter().map(|&node| at.distance_squared(mesh.nodes()[node as usize]));
        squared.fold(f32::INFINITY, f32::min).sqrt()
    };
    let mut distances: [f32; SAMPLES] = std::array::from_fn(nearest);
    distances.sort_by(f32::total_cmp);
    distances[SAMPLES / 2]
}

/// Bone whose capsule contains a node. Of several bones, the one with the smallest distance relative to its radius.
fn owner(mesh: &TetMesh, node: u32, bones: &[Bone], radii: &[f32]) -> Option<u32> {
    let at = mesh.nodes()[node as usize];
    let relative = |(bone, &radius): (&Bone, &f32)| bone.distance(at) / radius.max(f32::MIN_POSITIVE);
    let distances = (0..).zip(bones.iter().zip(radii).map(relative));
    distances.filter(|(_, distance)| *distance <= 1.0).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(bone, _)| bone)
}

/// Index in `inner` of the node nearest to a bone, and its distance.
fn nearest_inner(mesh: &TetMesh, inner: &[u32], bone: &Bone) -> Option<(usize, f32)> {
    let distance = |&node: &u32| bone.distance(mesh.nodes()[node as usize]);
    inner.iter().map(distance).enumerate().min_by(|a, b| a.1.total_cmp(&b.1))
}
