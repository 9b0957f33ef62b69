//! Skin clusters, blend shape channels and animation stacks.
//!
//! A skinned point is at `Σ w · N(t) · C · p`, with the place N of each cluster's bone and the cluster's matrix C
//! from the mesh's space to the bone's; weights are scaled to sum to 1, as FBX has it. Points without any weight are
//! carried by the mesh's own node.

use std::collections::HashMap;

use dermis_mesh::{Clip, Joint, Note, Rig, Shape, SkinWeights, TriMesh};
use glam::{DAffine3, DVec3, Vec3};

use super::signed_shapes::{Part, joined};
use super::{Reader, affine};
use crate::budget::Budget;
use crate::error::Error;

/// Change of a node's place, relative to its size, up to which it does not move.
const STILL: f64 = 1e-6;

/// Motion of a mesh: joints with the nodes that carry them, weights, and blend shape channels.
struct Deformers<'a> {
    joints: Vec<Joint>,
    nodes: Vec<&'a ufbx::Node>,
    weights: SkinWeights,
    channels: Vec<(&'a ufbx::BlendChannel, f64)>,
    shapes: Vec<Shape>,
}

/// The rig of the placed mesh `shaped` and its clips; `None` if nothing moves it.
pub(super) fn rig(
    reader: &mut Reader<'_>,
    node: &ufbx::Node,
    mesh: &ufbx::Mesh,
    shaped: &TriMesh,
    place: DAffine3,
) -> Result<Option<(Rig, Vec<Clip>)>, Error> {
    let (channels, shapes) = shapes(node, mesh, place, shaped, reader)?;
    let (joints, nodes, weights) = skin(node, mesh, place, &mut reader.notes);
    let is_skinned = !joints.is_empty();
    let parts: Vec<Part> = channels.iter().map(|(channel, _)| Part::of_channel(channel)).collect();
    let mut deformers = Deformers { joints, nodes, weights, channels, shapes };
    if !is_skinned {
        deformers.hang_from(node, place, mesh.num_vertices);
    }
    let rig = Rig::new(shaped, deformers.joints.clone(), deformers.weights.clone(), deformers.shapes.clone())?;
    let stacks = reader.scene.anim_stacks.iter();
    let clips = stacks.map(|stack| clip(stack, &deformers, &rig, reader.rate_of(stack), &mut reader.budget));
    let clips = clips.collect::<Result<Vec<_>, _>>()?;
    if is_skinned || clips.iter().any(|clip| carries(clip, place, &deformers.joints)) {
        return joined(shaped, rig, clips, &parts).map(Some);
    }
    if deformers.shapes.is_empty() {
        return Ok(None);
    }
    // The node does not move, so only the shapes move the mesh.
    let rig = Rig::new(shaped, Vec::new(), SkinWeights::default(), deformers.shapes)?;
    let weights_of =
        |clip: &Clip| (0..clip.frame_count()).flat_map(|frame| clip.shape_weights(frame).to_vec()).collect();
    let still = |clip: &Clip| {
        let still = Clip::new(&rig, clip.name(), clip.frame_rate_hz(), Vec::new(), weights_of(clip))?;
        Ok(still.starting_at(clip.start_seconds()))
    };
    let clips = clips.iter().map(still).collect::<Result<Vec<_>, Error>>()?;
    joined(shaped, rig, clips, &parts).map(Some)
}

/// Returns whether the only joint of an unskinned mesh ever leaves its place.
fn carries(clip: &Clip, place: DAffine3, joints: &[Joint]) -> bool {
    let size = place.matrix3.x_axis.abs().max_element().max(place.translation.abs().max_element()).max(1.0);
    (0..clip.frame_count()).any(|frame| {
        let posed = clip.transforms(frame).iter().zip(joints).map(|(pose, joint)| *pose * joint.inverse_bind);
        posed.into_iter().any(|moved| !moved.abs_diff_eq(DAffine3::IDENTITY, STILL * size))
    })
}

impl<'a> Deformers<'a> {
    /// One joint, the mesh's own node, for all points.
    fn hang_from(&mut self, node: &'a ufbx::Node, place: DAffine3, point_count: usize) {
        self.joints = vec![node_joint(node, place)];
        self.nodes = vec![node];
        self.weights = SkinWeights::from_rows((0..point_count).map(|_| [(0, 1.0)]));
    }
}

/// A joint at the mesh's own node.
fn node_joint(node: &ufbx::Node, place: DAffine3) -> Joint {
    let inverse_bind = affine(&node.geometry_to_node) * place.inverse();
    Joint { name: node.element.name.to_string(), parent: None, inverse_bind }
}

/// The joints of the mesh's skin, their nodes, and the weights.
fn skin<'a>(
    node: &'a ufbx::Node,
    mesh: &'a ufbx::Mesh,
    place: DAffine3,
    notes: &mut Vec<Note>,
) -> (Vec<Joint>, Vec<&'a ufbx::Node>, SkinWeights) {
    let mut note = |what: &str| notes.push(Note::at(node.element.name.to_string(), what));
    let Some(skin) = mesh.skin_deformers.first() else { return (Vec::new(), Vec::new(), SkinWeights::default()) };
    if mesh.skin_deformers.len() > 1 {
        note("only the first of the mesh's skins is taken");
    }
    if matches!(skin.skinning_method, ufbx::SkinningMethod::DualQuaternion | ufbx::SkinningMethod::BlendedDqLinear) {
        note("skinning by dual quaternions is taken as linear blend skinning");
    }
    let from_place = place.inverse();
    let (mut joints, mut nodes, mut places) = (Vec::new(), Vec::new(), vec![None; skin.clusters.len()]);
    for (slot, cluster) in places.iter_mut().zip(skin.clusters.iter()) {
        if let Some(bone) = &cluster.bone_node {
            *slot = Some(joints.len() as u32);
            let name = bone.element.name.to_string();
            joints.push(Joint { name, parent: None, inverse_bind: affine(&cluster.geometry_to_bone) * from_place });
            nodes.push(&**bone);
        }
    }
    let rows = (0..mesh.num_vertices).map(|vertex| row(skin, vertex, &places)).collect::<Vec<_>>();
    let unbound = joints.len() as u32;
    if rows.iter().any(Vec::is_empty) {
        note("points without weights are carried by the mesh's node");
        joints.push(node_joint(node, place));
        nodes.push(node);
    }
    let rows = rows.into_iter().map(|row| if row.is_empty() { vec![(unbound, 1.0)] } else { row });
    let weights = SkinWeights::from_rows(rows);
    find_parents(&mut joints, &nodes);
    (joints, nodes, weights)
}

/// The joints of one vertex, their weights summing to 1.
fn row(skin: &ufbx::SkinDeformer, vertex: usize, places: &[Option<u32>]) -> Vec<(u32, f32)> {
    let range = skin.vertices.get(vertex).map_or(0..0, |of_vertex| {
        let begin = of_vertex.weight_begin as usize;
        begin..begin.saturating_add(of_vertex.num_weights as usize)
    });
    let weights = skin.weights.get(range).unwrap_or_default().iter();
    let weights = weights.filter(|weight| weight.weight.is_finite() && weight.weight != 0.0);
    let bound = weights.filter_map(|weight| Some(((*places.get(weight.cluster_index as usize)?)?, weight.weight)));
    let bound: Vec<(u32, f64)> = bound.collect();
    let sum: f64 = bound.iter().map(|(_, weight)| weight).sum();
    if sum <= 0.0 {
        return Vec::new();
    }
    bound.into_iter().map(|(joint, weight)| (joint, (weight / sum) as f32)).collect()
}

/// A joint hangs from the nearest ancestor node that is a joint too.
fn find_parents(joints: &mut [Joint], nodes: &[&ufbx::Node]) {
    let mut places: HashMap<u32, usize> = HashMap::new();
    for (place, node) in nodes.iter().enumerate() {
        places.entry(node.element.element_id).or_insert(place);
    }
    for (joint, node) in joints.iter_mut().zip(nodes) {
        let mut above = node.parent.as_ref();
        while let Some(node) = above {
            joint.parent = places.get(&node.element.element_id).copied();
            above = if joint.parent.is_some() { None } else { node.parent.as_ref() };
        }
    }
}

/// The blend shape channels, the weight at which each is whole, and their shapes.
#[allow(clippy::type_complexity, reason = "two lists in step, used once")]
fn shapes<'a>(
    node: &ufbx::Node,
    mesh: &'a ufbx::Mesh,
    place: DAffine3,
    shaped: &TriMesh,
    reader: &mut Reader<'_>,
) -> Result<(Vec<(&'a ufbx::BlendChannel, f64)>, Vec<Shape>), Error> {
    let (mut channels, mut shapes) = (Vec::new(), Vec::new());
    for channel in mesh.blend_deformers.iter().flat_map(|deformer| deformer.channels.iter()) {
        let Some(whole) = channel.keyframes.last().filter(|key| key.target_weight != 0.0) else { continue };
        if channel.keyframes.len() > 1 {
            let what = format!("the in-between targets of '{}' are skipped", &*channel.element.name);
            reader.notes.push(Note::at(node.element.name.to_string(), what));
        }
        reader.budget.take("blend shapes", shaped.point_count(), size_of::<Vec3>())?;
        let mut offsets = vec![Vec3::ZERO; shaped.point_count()];
        for (&vertex, offset) in whole.shape.offset_vertices.iter().zip(whole.shape.position_offsets.iter()) {
            if let Some(slot) = offsets.get_mut(vertex as usize) {
                *slot = place.transform_vector3(DVec3::new(offset.x, offset.y, offset.z)).as_vec3();
            }
        }
        channels.push((&**channel, whole.target_weight));
        shapes.push(Shape { name: channel.element.name.to_string(), offsets, normal_offsets: None });
    }
    Ok((channels, shapes))
}

/// One animation stack, sampled.
fn clip(
    stack: &ufbx::AnimStack,
    deformers: &Deformers<'_>,
    rig: &Rig,
    rate_hz: f64,
    budget: &mut Budget,
) -> Result<Clip, Error> {
    let duration = (stack.time_end - stack.time_begin).max(0.0);
    let steps = (duration * rate_hz + 1e-6).floor();
    if !steps.is_finite() {
        return Err(Error::malformed(format!("the animation '{}' has no end", &*stack.element.name)));
    }
    let numbers = deformers.nodes.len() * 96 + deformers.channels.len() * 4;
    budget.take("animation frames", (steps.min(1e15) as usize).saturating_add(1), numbers.max(64))?;
    let (mut transforms, mut weights) = (Vec::new(), Vec::new());
    for frame in 0..=steps as usize {
        let time = stack.time_begin + frame as f64 / rate_hz;
        let mut places = HashMap::new();
        for node in &deformers.nodes {
            transforms.push(place_at(&stack.anim, node, time, &mut places));
        }
        for (channel, whole) in &deformers.channels {
            weights.push((ufbx::evaluate_blend_weight(&stack.anim, channel, time) / whole) as f32);
        }
    }
    let clip = Clip::new(rig, stack.element.name.to_string(), rate_hz, transforms, weights)?;
    Ok(clip.starting_at(stack.time_begin))
}

/// World transform of a node at `time`; `places` remembers what is known of its ancestors.
fn place_at(anim: &ufbx::Anim, node: &ufbx::Node, time: f64, places: &mut HashMap<u32, DAffine3>) -> DAffine3 {
    let mut chain: Vec<&ufbx::Node> = Vec::new();
    let mut at = Some(node);
    let mut place = DAffine3::IDENTITY;
    while let Some(node) = at {
        if let Some(known) = places.get(&node.element.element_id) {
            place = *known;
            break;
        }
        chain.push(node);
        at = node.parent.as_deref();
    }
    for node in chain.into_iter().rev() {
        place *= affine(&ufbx::transform_to_matrix(&ufbx::evaluate_transform(anim, node, time)));
        places.insert(node.element.element_id, place);
    }
    place
}
