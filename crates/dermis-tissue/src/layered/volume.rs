//! The volumetric body model (Kim et al. 2017, §4.1): the body's own functions, extended to all nodes.
//!
//! ```text
//! ΔG = 0,  G = F at the skin,  G = 0 at the bones        pose shapes (3, 4, 7)
//!                              G = what the joints do    shapes
//! weights: bounded biharmonic, the skin's fixed, δ_jk at the bones of joint k (9–11)
//! ```
//!
//! All shapes share one factorization. The result is a [`BodyModel`] whose points are the nodes: posing it is posing a skin.

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

/// How far the bone of a leaf goes, in distances to the middle of what it moves.
const LEAF_REACH: f32 = 1.5;
/// Joints per node, at most.
const MOST_JOINTS: usize = 6;

/// The bones of `body` with its joints moved by `offsets`; none leave them where they are.
pub(super) fn bones_of(body: &BodyModel, offsets: &[DVec3]) -> Vec<Bone> {
    let mut places = body.rest_joints().to_vec();
    places.iter_mut().zip(offsets).for_each(|(place, offset)| *place += *offset);
    let places: Vec<Vec3> = places.iter().map(|place| place.as_vec3()).collect();
    let parents: Vec<Option<usize>> = body.joints().iter().map(|joint| joint.parent).collect();
    let mut bones = bones_between_joints(&places, &parents);
    for bone in bones.iter_mut().filter(|bone| bone.start == bone.end) {
        bone.end = bone.start + reach_of_leaf(body, bone.joint);
    }
    bones
}

/// From a joint that nothing hangs from through the middle of the skin that it moves: what is beyond it has a bone too,
/// or it would dangle.
fn reach_of_leaf(body: &BodyModel, joint: u32) -> Vec3 {
    let moves = |point: &usize| body.weights().row(*point).any(|(other, weight)| other == joint && weight > 0.5);
    let at = body.rest_joints()[joint as usize].as_vec3();
    let offsets: Vec<Vec3> =
        (0..body.point_count()).filter(moves).map(|point| body.mesh().points()[point] - at).collect();
    offsets.iter().copied().sum::<Vec3>() / offsets.len().max(1) as f32 * LEAF_REACH
}

/// The nodes whose values are given: carriers of the skin, then bones inside.
pub(super) struct Fixed<'a> {
    pub(super) carriers: &'a Carriers,
    pub(super) bones: &'a [Bone],
    /// Nodes of bones that carry no skin, and the joint that moves each.
    pub(super) bone_nodes: BoneNodes,
}

impl<'a> Fixed<'a> {
    /// Leaves the carriers out of the bones' nodes.
    pub(super) fn new(carriers: &'a Carriers, bones: &'a [Bone], all: &BoneNodes) -> Self {
        let inner = all.nodes.iter().zip(&all.joints).filter(|(node, _)| carriers.nodes.binary_search(node).is_err());
        let (nodes, joints) = inner.map(|(&node, &joint)| (node, joint)).unzip();
        Self { carriers, bones, bone_nodes: BoneNodes { nodes, joints, ..BoneNodes::default() } }
    }

    fn nodes(&self) -> Vec<u32> {
        self.carriers.nodes.iter().chain(&self.bone_nodes.nodes).copied().collect()
    }
}

/// The body of all nodes of `tets`, and how the weights were found.
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
    let mut weights = prune(&found.dense, joints, MOST_JOINTS);
    if fixed.carriers.nodes.len() == body.point_count() {
        weights = keep_skin(body, &weights);
    }
    Ok((volume_model(body, tets, weights, shapes, pose_shapes)?, found))
}

/// The body model of the nodes of `tets` that moves by the joints of `body`.
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

/// Rows that sum to 1; a point without weights follows the first joint.
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

/// The skin's own rows, unpruned, and those of the nodes behind it.
fn keep_skin(body: &BodyModel, weights: &SkinWeights) -> SkinWeights {
    let own = body.weights().normalized(body.weights().max_influences().max(1));
    let points = body.point_count();
    let rows = (0..weights.point_count()).map(|node| -> Vec<(u32, f32)> {
        if node < points { own.row(node).collect() } else { weights.row(node).collect() }
    });
    SkinWeights::from_rows(rows)
}
