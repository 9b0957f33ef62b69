//! Volumetric body model (Kim et al. 2017, §4.1): the functions of the body model extended to all nodes.
//!
//! ```text
//! ΔG = 0,  G = F at the skin,  G = 0 at the bones        pose shapes (3, 4, 7)
//!                              G = joint offsets         shapes
//! weights: bounded biharmonic; fixed on the skin, δ_jk at the bones of joint k (9–11)
//! ```
//!
//! All shapes share one factorization. The result is a [`BodyModel`] whose points are the nodes, so it is posed like a
//! skin.

use std::sync::Arc;

use dermis_math::progress::Progress;
use dermis_mesh::{Shape, SkinWeights, TetMesh, TriMesh};
use glam::{DVec3, Vec3};

use super::LayeredError;
use super::binding::Carriers;
use dermis_body::{BodyModel, BodyParts, PoseShape};
use dermis_body::{Bone, along_nearest_bone, bones_between_joints};
use dermis_tet::bone_nodes::BoneNodes;
use dermis_tet::harmonic::{BoundedWeights, BoundedWeightsOptions, Harmonic, bounded_biharmonic, prune};

/// Length of the bone of a leaf joint, relative to the distance to the centre of the points that it moves.
const LEAF_REACH: f32 = 1.5;
/// Maximum number of joints per node.
const MAX_JOINTS: usize = 6;

/// Bones of `body` with its joints displaced by `offsets`; without offsets, the bones at rest.
pub(super) fn bones_of(body: &BodyModel, offsets: &[DVec3]) -> Vec<Bone> {
    let mut positions = body.rest_joints().to_vec();
    positions.iter_mut().zip(offsets).for_each(|(position, offset)| *position += *offset);
    let positions: Vec<Vec3> = positions.iter().map(|position| position.as_vec3()).collect();
    let parents: Vec<Option<usize>> = body.joints().iter().map(|joint| joint.parent).collect();
    let mut bones = bones_between_joints(&positions, &parents);
    for bone in bones.iter_mut().filter(|bone| bone.start == bone.end) {
        bone.end = bone.start + reach_of_leaf(body, bone.joint);
    }
    bones
}

/// Vector from a leaf joint through the centre of the skin that it moves. Without this bone, the flesh beyond the joint
/// would be unsupported.
fn reach_of_leaf(body: &BodyModel, joint: u32) -> Vec3 {
    let moves = |point: &usize| body.weights().row(*point).any(|(other, weight)| other == joint && weight > 0.5);
    let at = body.rest_joints()[joint as usize].as_vec3();
    let offsets: Vec<Vec3> =
        (0..body.point_count()).filter(moves).map(|point| body.mesh().points()[point] - at).collect();
    offsets.iter().copied().sum::<Vec3>() / offsets.len().max(1) as f32 * LEAF_REACH
}

/// Nodes with given values: carriers of the skin, then interior nodes of bones.
pub(super) struct Fixed<'a> {
    pub(super) carriers: &'a Carriers,
    pub(super) bones: &'a [Bone],
    /// Nodes of bones that carry no skin, and the joint that moves each.
    pub(super) bone_nodes: BoneNodes,
}

impl<'a> Fixed<'a> {
    /// Removes the carriers from the nodes of bones.
    pub(super) fn new(carriers: &'a Carriers, bones: &'a [Bone], all: &BoneNodes) -> Self {
        let inner = all.nodes.iter().zip(&all.joints).filter(|(node, _)| carriers.nodes.binary_search(node).is_err());
        let (nodes, joints) = inner.map(|(&node, &joint)| (node, joint)).unzip();
        Self { carriers, bones, bone_nodes: BoneNodes { nodes, joints, ..BoneNodes::default() } }
    }

    fn nodes(&self) -> Vec<u32> {
        self.carriers.nodes.iter().chain(&self.bone_nodes.nodes).copied().collect()
    }
}

/// Returns the body model of all nodes of `tets` and a report on the weights.
pub(super) fn volumetric(
    body: &BodyModel,
    tets: &TetMesh,
    fixed: &Fixed<'_>,
    options: &BoundedWeightsOptions,
    progress: &dyn Progress,
) -> Result<(BodyModel, BoundedWeights), LayeredError> {
    let (shapes, pose_shapes) = extended_shapes(body, tets, fixed)?;
    let joints = body.joints().len();
    let of_skin: Vec<f64> = body.weights().to_dense(joints).into_iter().map(f64::from).collect();
    let mut given = fixed.carriers.values(&of_skin, joints);
    normalize_rows(&mut given, joints);
    for &joint in &fixed.bone_nodes.joints {
        given.extend((0..joints).map(|other| f64::from(u8::from(other == joint as usize))));
    }
    let found = bounded_biharmonic(tets, &fixed.nodes(), &given, joints, options, progress)?;
    let mut weights = prune(&found.dense, joints, MAX_JOINTS);
    if fixed.carriers.nodes.len() == body.point_count() {
        weights = keep_skin(body, &weights);
    }
    Ok((volume_model(body, tets, weights, shapes, pose_shapes)?, found))
}

/// Body model of the nodes of `tets` with the joints of `body`.
pub fn volume_model(
    body: &BodyModel,
    tets: &TetMesh,
    weights: SkinWeights,
    shapes: Vec<Shape>,
    pose_shapes: Vec<PoseShape>,
) -> Result<BodyModel, LayeredError> {
    Ok(BodyModel::new(BodyParts {
        mesh: Arc::new(TriMesh::new(tets.nodes().to_vec(), tets.boundary())?),
        joints: body.joints().to_vec(),
        placement: body.given_placement(),
        weights,
        shapes,
        pose_shapes,
    })?)
}

/// All shapes at all nodes: one factorization, three columns each.
fn extended_shapes(
    body: &BodyModel,
    tets: &TetMesh,
    fixed: &Fixed<'_>,
) -> Result<(Vec<Shape>, Vec<PoseShape>), LayeredError> {
    let count = body.shapes().len() + body.pose_shapes().len();
    if count == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let all: Vec<&[Vec3]> = body.shapes().iter().map(|shape| &shape.offsets[..]).collect();
    let all: Vec<&[Vec3]> = all.into_iter().chain(body.pose_shapes().iter().map(|shape| &shape.offsets[..])).collect();
    let columns = 3 * count;
    let mut skin = Vec::with_capacity(body.point_count() * columns);
    for point in 0..body.point_count() {
        skin.extend(all.iter().flat_map(|offsets| offsets[point].as_dvec3().to_array()));
    }
    let mut given = fixed.carriers.values(&skin, columns);
    let moved_bones: Vec<Vec<Bone>> = body.joint_offsets().iter().map(|offsets| bones_of(body, offsets)).collect();
    for &node in &fixed.bone_nodes.nodes {
        let (bone, part) = along_nearest_bone(tets.nodes()[node as usize], fixed.bones);
        let rest = fixed.bones[bone].at(part);
        given.extend(moved_bones.iter().flat_map(|bones| (bones[bone].at(part) - rest).as_dvec3().to_array()));
        given.extend(std::iter::repeat_n(0.0, 3 * body.pose_shapes().len()));
    }
    let extended = Harmonic::new(tets, &fixed.nodes())?.extend(&given, columns);
    let column = |shape: usize| -> Vec<Vec3> {
        let of_node = |row: &[f64]| DVec3::from_slice(&row[3 * shape..]).as_vec3();
        extended.chunks_exact(columns).map(of_node).collect()
    };
    let shape =
        |(index, own): (usize, &Shape)| Shape { name: own.name.clone(), offsets: column(index), normal_offsets: None };
    let shapes = body.shapes().iter().enumerate().map(shape).collect();
    let pose_shape = |(index, own): (usize, &PoseShape)| PoseShape { number: own.number, offsets: column(index) };
    let pose_shapes = (body.shapes().len()..).zip(body.pose_shapes()).map(pose_shape).collect();
    Ok((shapes, pose_shapes))
}

/// Normalizes rows to a sum of 1; a point without weights follows the first joint.
fn normalize_rows(dense: &mut [f64], joints: usize) {
    for row in dense.chunks_exact_mut(joints) {
        let sum: f64 = row.iter().map(|weight| weight.max(0.0)).sum();
        for weight in &mut *row {
            *weight = if sum > 0.0 { weight.max(0.0) / sum } else { 0.0 };
        }
        if sum <= 0.0 {
            row[0] = 1.0;
        }
    }
}

/// Unpruned rows of the skin, followed by those of the other nodes.
fn keep_skin(body: &BodyModel, weights: &SkinWeights) -> SkinWeights {
    let own = body.weights().normalized(body.weights().max_influences().max(1));
    let points = body.point_count();
    let rows = (0..weights.point_count()).map(|node| -> Vec<(u32, f32)> {
        if node < points { own.row(node).collect() } else { weights.row(node).collect() }
    });
    SkinWeights::from_rows(rows)
}
