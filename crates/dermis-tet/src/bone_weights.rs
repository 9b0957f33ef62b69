//! Skin weights for a skeleton: bounded biharmonic weights with the bones as handles (Jacobson et al. 2011, §4).
//!
//! ```text
//! min ½ tr Wᵀ L M⁻¹ L W    with W ≥ 0, Σ_j W_ij = 1, and W_ij = 1 at the nodes of the bones of joint j
//! ```
//!
//! Bones connect joints; each is moved by its parent joint and has a radius ([`bone_nodes()`]). A joint without
//! children gets a bone that continues from it, away from its parent, towards the skin. Weights are solved for in the
//! tetrahedra, so that they fall off through flesh and not across the gap between arm and trunk. If the skin is
//! embedded in the tetrahedra instead of consisting of their nodes, its weights are interpolated.
//!
//! A joint without a bone inside the body gets no weights: its parent moves the flesh there, which is reported in a
//! note. Such joints are excluded from the solve. Otherwise their unconstrained columns would take weight from all
//! other joints, which lowers the energy.

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

/// Length of the bone of a leaf joint, as a fraction of the distance to the skin.
const LEAF_BONE_FRACTION: f32 = 0.7;
/// Maximum distance in which the skin is searched for, in lengths of the parent bone.
const MAX_LEAF_LENGTHS: f32 = 3.0;
/// Number of sampled points per bone.
const SAMPLES: usize = 60;

/// Options of [`weights`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoneWeightsOptions {
    /// Maximum number of joints per skin point. Larger values are smoother near branching joints and slower to pose.
    pub max_influences: usize,
    /// Radius of the bones. Thicker bones make limbs stiffer and bends sharper.
    pub bones: BoneNodesOptions,
    /// Options of the solver.
    pub solver: BoundedWeightsOptions,
}

impl Default for BoneWeightsOptions {
    fn default() -> Self {
        let solver = BoundedWeightsOptions { tolerance: 1e-3, ..BoundedWeightsOptions::default() };
        Self { max_influences: 4, bones: BoneNodesOptions::default(), solver }
    }
}

/// Error of [`weights`] and [`embedded_weights`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BoneWeightsError {
    /// A node index of the skin is out of range.
    #[error("invalid skin node {node}: there are {count} nodes")]
    NoSuchNode {
        /// The invalid index.
        node: u32,
        /// Number of nodes.
        count: usize,
    },
    /// A skin point is embedded in a tetrahedron that does not exist.
    #[error("invalid tetrahedron {tetrahedron} of a skin point: there are {count} tetrahedra")]
    NoSuchTetrahedron {
        /// The invalid index.
        tetrahedron: u32,
        /// Number of tetrahedra.
        count: usize,
    },
    /// No bone is inside the body.
    #[error("no bone is inside the tetrahedra; check the position and the unit of the skeleton")]
    NoHandles,
    /// The solver failed.
    #[error(transparent)]
    Weights(#[from] BoundedWeightsError),
}

/// Weights of a skin and a report of the solve.
#[derive(Debug, Clone, PartialEq)]
pub struct BoneWeights {
    /// One row per skin point, sorted by descending weight, summing to 1.
    pub weights: SkinWeights,
    /// Number of nodes that belong to the bones of each joint.
    pub handle_nodes: Vec<usize>,
    /// Number of solver steps.
    pub steps: usize,
    /// True if the solver reached its tolerance.
    pub converged: bool,
    /// Notes about joints without weights and missing convergence.
    pub notes: Vec<Note>,
}

/// Computes the weights of the nodes `skin` of tetrahedra for a skeleton inside them.
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
    solve_weights(tets, &triangles, skeleton, options, progress, |solved| {
        skin.iter().flat_map(|&node| row(solved, node)).collect()
    })
}

/// Computes the weights of a skin whose points are embedded in tetrahedra and connected by `triangles`.
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
        for (&node, coordinate) in tets.tetrahedra()[point.tetrahedron as usize].iter().zip(point.weights) {
            let of_node = &solved.dense[node as usize * solved.joint_count..][..solved.joint_count];
            row.iter_mut().zip(of_node).for_each(|(sum, weight)| *sum += f64::from(coordinate) * weight);
        }
        row
    };
    if let Some(&point) = triangles.iter().flatten().find(|&&point| point as usize >= skin.len()) {
        return Err(BoneWeightsError::NoSuchNode { node: point, count: skin.len() });
    }
    solve_weights(tets, triangles, skeleton, options, progress, |solved| {
        skin.iter().flat_map(|point| row(solved, point)).collect()
    })
}

/// Solves for the weights of all nodes and keeps those of the skin; `of_skin` extracts the dense rows of the skin.
fn solve_weights(
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
    let mut handles = bone_nodes(tets, &boundary, &bones, &options.bones);
    add_missing_handles(tets, &bones, &mut handles);
    let mut handle_nodes = vec![0; joint_count];
    handles.joints.iter().for_each(|&joint| handle_nodes[joint as usize] += 1);
    if handles.nodes.is_empty() {
        return Err(BoneWeightsError::NoHandles);
    }
    let owners: Vec<u32> = (0..joint_count as u32).filter(|&joint| handle_nodes[joint as usize] > 0).collect();
    let one_hot = |&joint: &u32| owners.iter().map(move |&owner| f64::from(u8::from(owner == joint)));
    let given: Vec<f64> = handles.joints.iter().flat_map(one_hot).collect();
    let solved = bounded_biharmonic(tets, &handles.nodes, &given, owners.len(), &options.solver, progress)?;
    let pruned = prune(&of_skin(&solved), owners.len(), options.max_influences.max(1));
    let connected = without_islands(&pruned, triangles, owners.len());
    let rows = connected.rows().map(|row| row.map(|(column, weight)| (owners[column as usize], weight)));
    Ok(BoneWeights {
        weights: SkinWeights::from_rows(rows),
        notes: notes(skeleton, &handle_nodes, &solved),
        handle_nodes,
        steps: solved.steps,
        converged: solved.converged,
    })
}

fn notes(skeleton: &Skeleton, handle_nodes: &[usize], solved: &BoundedWeights) -> Vec<Note> {
    let without = handle_nodes.iter().zip(skeleton.joints()).filter(|(count, _)| **count == 0);
    let mut notes: Vec<Note> = without
        .map(|(_, joint)| Note::new(format!("joint '{}' has no bone inside the body and gets no weights", joint.name)))
        .collect();
    if !solved.converged {
        let (residual, steps) = (solved.residual, solved.steps);
        notes.push(Note::new(format!(
            "the weights have not converged: the residual is {residual:.1e} after {steps} steps"
        )));
    }
    notes
}

/// Triangles of the boundary with all corners on the skin, as indices into `skin`.
fn triangles_between(tets: &TetMesh, skin: &[u32]) -> Vec<[u32; 3]> {
    let mut indices = vec![None; tets.nodes().len()];
    for (index, &node) in (0..).zip(skin) {
        indices[node as usize] = Some(index);
    }
    let renumbered = |[a, b, c]: [u32; 3]| Some([indices[a as usize]?, indices[b as usize]?, indices[c as usize]?]);
    tets.boundary().into_iter().filter_map(renumbered).collect()
}

fn boundary_nodes(tets: &TetMesh) -> Vec<u32> {
    let mut nodes: Vec<u32> = tets.boundary().into_iter().flatten().collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// Parts of the bones that are inside the body; bones of leaf joints are extended towards the skin.
fn bones(tets: &TetMesh, skeleton: &Skeleton) -> Vec<Bone> {
    let parents = skeleton.parents();
    let surface = tets.surface();
    let points: Vec<DVec3> = surface.points().iter().map(|point| point.as_dvec3()).collect();
    let tree = SurfaceTree::new(&points, surface.triangles());
    let mut bones = skeleton.bones();
    for bone in bones.iter_mut().filter(|bone| bone.start == bone.end) {
        if let Some(parent) = parents[bone.joint as usize] {
            let extension = MAX_LEAF_LENGTHS * (bone.start - skeleton.positions()[parent].as_vec3());
            let inside = inside_part(&Bone { end: bone.start + extension, ..*bone }, &tree);
            bone.end = inside.map_or(bone.end, |inside| bone.start.lerp(inside.end, LEAF_BONE_FRACTION));
        }
    }
    bones.iter().filter_map(|bone| inside_part(bone, &tree)).collect()
}

/// Longest part of a bone inside a surface. The radius of a bone depends on its distance from the skin, which must not
/// include points outside.
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

/// Assigns the nearest unassigned node to each joint that has a bone inside but no node, such as hands and feet in coarse
/// meshes.
fn add_missing_handles(tets: &TetMesh, bones: &[Bone], handles: &mut BoneNodes) {
    for bone in bones {
        if handles.joints.contains(&bone.joint) {
            continue;
        }
        let middle = bone.start.midpoint(bone.end);
        let distance = |node: u32| tets.nodes()[node as usize].distance_squared(middle);
        let unassigned = (0..tets.nodes().len() as u32).filter(|node| !handles.nodes.contains(node));
        if let Some(node) = unassigned.min_by(|&a, &b| distance(a).total_cmp(&distance(b))) {
            handles.nodes.push(node);
            handles.joints.push(bone.joint);
        }
    }
}
