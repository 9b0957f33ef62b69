//! Skin weights for a skeleton: bounded biharmonic weights with the bones as handles (Jacobson et al. 2011, §4).
//!
//! ```text
//! min ½ tr Wᵀ L M⁻¹ L W    with W ≥ 0, Σ_j W_ij = 1, and W_ij = 1 at the nodes of the bones of joint j
//! ```
//!
//! The bones are those between joints, each moved by its parent joint, with a radius
//! ([`bone_nodes()`]). A joint without children has no bone: its own goes on from it, away
//! from its parent, towards the skin. The weights are solved for in the tetrahedra: they fall off through flesh, not across
//! the gap between arm and trunk. A skin that is embedded in tetrahedra, not made of their nodes, interpolates.
//!
//! A joint without any bone inside owns nothing: its parent moves the flesh there, and a note says so. Joints are left out
//! of the solve then, since free columns would take weight from all others: that lowers the energy.

use dermis_body::Bone;
use dermis_body::rigging::Skeleton;
use dermis_math::progress::Progress;
use dermis_mesh::surface_tree::SurfaceTree;
use dermis_mesh::{Note, SkinWeights, TetMesh};
use glam::DVec3;

use crate::bone_nodes::{BoneNodes, BoneNodesOptions, bone_nodes};
use crate::connected::without_islands;
use crate::harmonic::{BoundedWeights, BoundedWeightsError, BoundedWeightsOptions, bounded_biharmonic, prune};
use crate::tetrahedra::lattice::Embedding;

/// How far the bone of a last joint goes on, as a part of the way to the skin.
const END_BONE: f32 = 0.7;
/// How far the skin is looked for, in lengths of the bone before.
const END_LENGTHS: f32 = 3.0;
/// Points of a bone that are looked at.
const SAMPLES: usize = 60;

/// Options of [`weights`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoneWeightsOptions {
    /// Joints per point of the skin, at most. More are smoother where many joints meet, and slower to pose.
    pub most_joints: usize,
    /// The radius of the bones. Thicker ones make limbs stiffer and bends sharper.
    pub bones: BoneNodesOptions,
    /// How the weights are solved for.
    pub solver: BoundedWeightsOptions,
}

impl Default for BoneWeightsOptions {
    fn default() -> Self {
        let solver = BoundedWeightsOptions { tolerance: 1e-3, ..BoundedWeightsOptions::default() };
        Self { most_joints: 4, bones: BoneNodesOptions::default(), solver }
    }
}

/// Error of the weights.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BoneWeightsError {
    /// The skin names a node that the tetrahedra do not have.
    #[error("the skin has node {node}, but there are only {count} nodes")]
    NoSuchNode {
        /// The offending node.
        node: u32,
        /// The number of nodes.
        count: usize,
    },
    /// The skin follows a tetrahedron that does not exist.
    #[error("a point of the skin follows tetrahedron {tetrahedron}, but there are only {count}")]
    NoSuchTetrahedron {
        /// The offending tetrahedron.
        tetrahedron: u32,
        /// The number of tetrahedra.
        count: usize,
    },
    /// No bone is inside the body.
    #[error("no node of the tetrahedra is near a bone; the skeleton stands outside of the body or has another unit")]
    NoHandles,
    /// The weights cannot be solved for.
    #[error(transparent)]
    Weights(#[from] BoundedWeightsError),
}

/// The weights of a skin, and how they were found.
#[derive(Debug, Clone, PartialEq)]
pub struct BoneWeights {
    /// A row per point of the skin, largest first, summing to 1.
    pub weights: SkinWeights,
    /// How many nodes the bones of each joint hold.
    pub handle_nodes: Vec<usize>,
    /// Steps of the solver.
    pub steps: usize,
    /// Whether the solver reached its tolerance.
    pub converged: bool,
    /// Joints that own nothing, and the like.
    pub notes: Vec<Note>,
}

/// Weights of the nodes `skin` of tetrahedra for a skeleton inside them.
pub fn weights(
    tets: &TetMesh,
    skin: &[u32],
    skeleton: &Skeleton,
    options: &BoneWeightsOptions,
    progress: &dyn Progress,
) -> Result<BoneWeights, BoneWeightsError> {
    if let Some(&node) = skin.iter().find(|&&node| node as usize >= tets.nodes().len()) {
        return Err(BoneWeightsError::NoSuchNode { node, count: tets.nodes().len() });
    }
    let row = |solved: &BoundedWeights, node: u32| {
        solved.dense[node as usize * solved.joint_count..][..solved.joint_count].to_vec()
    };
    let triangles = triangles_between(tets, skin);
    rigged(tets, &triangles, skeleton, options, progress, |solved| {
        skin.iter().flat_map(|&node| row(solved, node)).collect()
    })
}

/// As [`weights`], for a skin whose points follow tetrahedra and whose `triangles` join these points.
pub fn embedded_weights(
    tets: &TetMesh,
    skin: &[Embedding],
    triangles: &[[u32; 3]],
    skeleton: &Skeleton,
    options: &BoneWeightsOptions,
    progress: &dyn Progress,
) -> Result<BoneWeights, BoneWeightsError> {
    if let Some(point) = skin.iter().find(|point| point.tetrahedron as usize >= tets.tetrahedra().len()) {
        return Err(BoneWeightsError::NoSuchTetrahedron {
            tetrahedron: point.tetrahedron,
            count: tets.tetrahedra().len(),
        });
    }
    let row = |solved: &BoundedWeights, point: &Embedding| {
        let mut row = vec![0.0; solved.joint_count];
        for (&node, part) in tets.tetrahedra()[point.tetrahedron as usize].iter().zip(point.weights) {
            let of_node = &solved.dense[node as usize * solved.joint_count..][..solved.joint_count];
            row.iter_mut().zip(of_node).for_each(|(sum, weight)| *sum += f64::from(part) * weight);
        }
        row
    };
    if let Some(&point) = triangles.iter().flatten().find(|&&point| point as usize >= skin.len()) {
        return Err(BoneWeightsError::NoSuchNode { node: point, count: skin.len() });
    }
    rigged(tets, triangles, skeleton, options, progress, |solved| {
        skin.iter().flat_map(|point| row(solved, point)).collect()
    })
}

/// Solves for the weights of all nodes and keeps those of the skin, as `of_skin` makes dense rows of them.
fn rigged(
    tets: &TetMesh,
    triangles: &[[u32; 3]],
    skeleton: &Skeleton,
    options: &BoneWeightsOptions,
    progress: &dyn Progress,
    of_skin: impl Fn(&BoundedWeights) -> Vec<f64>,
) -> Result<BoneWeights, BoneWeightsError> {
    let joint_count = skeleton.joints().len();
    let boundary = boundary_nodes(tets);
    let bones = bones(tets, skeleton);
    let mut held = bone_nodes(tets, &boundary, &bones, &options.bones);
    hold_at_least_one(tets, &bones, &mut held);
    let mut handle_nodes = vec![0; joint_count];
    held.joints.iter().for_each(|&joint| handle_nodes[joint as usize] += 1);
    if held.nodes.is_empty() {
        return Err(BoneWeightsError::NoHandles);
    }
    let owners: Vec<u32> = (0..joint_count as u32).filter(|&joint| handle_nodes[joint as usize] > 0).collect();
    let one_hot = |&joint: &u32| owners.iter().map(move |&owner| f64::from(u8::from(owner == joint)));
    let given: Vec<f64> = held.joints.iter().flat_map(one_hot).collect();
    let solved = bounded_biharmonic(tets, &held.nodes, &given, owners.len(), &options.solver, progress)?;
    let pruned = prune(&of_skin(&solved), owners.len(), options.most_joints.max(1));
    let connected = without_islands(&pruned, triangles, owners.len());
    let named = connected.rows().map(|row| row.map(|(place, weight)| (owners[place as usize], weight)));
    Ok(BoneWeights {
        weights: SkinWeights::from_rows(named),
        notes: notes(skeleton, &handle_nodes, &solved),
        handle_nodes,
        steps: solved.steps,
        converged: solved.converged,
    })
}

fn notes(skeleton: &Skeleton, handle_nodes: &[usize], solved: &BoundedWeights) -> Vec<Note> {
    let without = handle_nodes.iter().zip(skeleton.joints()).filter(|(count, _)| **count == 0);
    let mut notes: Vec<Note> = without
        .map(|(_, joint)| Note::new(format!("no bone of '{}' is inside the body: it moves nothing", joint.name)))
        .collect();
    if !solved.converged {
        let (residual, steps) = (solved.residual, solved.steps);
        notes.push(Note::new(format!("the weights still change by {residual:.1e} after {steps} steps")));
    }
    notes
}

/// The boundary's triangles whose corners are all of the skin, by places in `skin`.
fn triangles_between(tets: &TetMesh, skin: &[u32]) -> Vec<[u32; 3]> {
    let mut places = vec![None; tets.nodes().len()];
    for (place, &node) in (0..).zip(skin) {
        places[node as usize] = Some(place);
    }
    let placed = |[a, b, c]: [u32; 3]| Some([places[a as usize]?, places[b as usize]?, places[c as usize]?]);
    tets.boundary().into_iter().filter_map(placed).collect()
}

fn boundary_nodes(tets: &TetMesh) -> Vec<u32> {
    let mut nodes: Vec<u32> = tets.boundary().into_iter().flatten().collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The parts of the bones between joints that are inside; those of last joints go on towards the skin.
fn bones(tets: &TetMesh, skeleton: &Skeleton) -> Vec<Bone> {
    let parents = skeleton.parents();
    let surface = tets.surface();
    let points: Vec<DVec3> = surface.points().iter().map(|point| point.as_dvec3()).collect();
    let tree = SurfaceTree::new(&points, surface.triangles());
    let mut bones = skeleton.bones();
    for bone in bones.iter_mut().filter(|bone| bone.start == bone.end) {
        if let Some(parent) = parents[bone.joint as usize] {
            let way = END_LENGTHS * (bone.start - skeleton.places()[parent].as_vec3());
            let inside = inside_part(&Bone { end: bone.start + way, ..*bone }, &tree);
            bone.end = inside.map_or(bone.end, |inside| bone.start.lerp(inside.end, END_BONE));
        }
    }
    bones.iter().filter_map(|bone| inside_part(bone, &tree)).collect()
}

/// The longest part of a bone inside of a surface: bones that reach outside would be as thick as they are far.
fn inside_part(bone: &Bone, tree: &SurfaceTree) -> Option<Bone> {
    let at = |k: usize| bone.start.lerp(bone.end, k as f32 / SAMPLES as f32);
    let mut best: Option<[usize; 2]> = None;
    let mut first = 0;
    for k in 0..=SAMPLES {
        if !tree.is_inside(at(k).as_dvec3()) {
            first = k + 1;
        } else if best.is_none_or(|[from, to]| k - first > to - from) {
            best = Some([first, k]);
        }
    }
    best.map(|[from, to]| Bone { start: at(from), end: at(to), ..*bone })
}

/// Gives each joint that has a bone inside but no node the nearest one that is left: hands and feet in coarse meshes.
fn hold_at_least_one(tets: &TetMesh, bones: &[Bone], held: &mut BoneNodes) {
    for bone in bones {
        if held.joints.contains(&bone.joint) {
            continue;
        }
        let middle = bone.start.midpoint(bone.end);
        let distance = |node: u32| tets.nodes()[node as usize].distance_squared(middle);
        let left = (0..tets.nodes().len() as u32).filter(|node| !held.nodes.contains(node));
        if let Some(node) = left.min_by(|&a, &b| distance(a).total_cmp(&distance(b))) {
            held.nodes.push(node);
            held.joints.push(bone.joint);
        }
    }
}
