//! Skeletons, skin clusters, blend shape channels and animation stacks.
//!
//! A skinned point is at `Σ w · N(t) · C · p`, with the transform N of each cluster's bone and the cluster's matrix C
//! from the mesh's space to the bone's; weights are scaled to sum to 1, as in FBX. Points without weights follow the
//! node of the mesh. Bones, nodes below them and nodes that move unskinned meshes are the joints of
//! [`crate::skeletons`], which also places the bind shape in the scene. Every rigged object has a clip for every
//! animation stack with curves.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use dermis_mesh::deformer::dual_quaternions::DualQuaternionLayer;
use dermis_mesh::{Clip, Note, Rig, RigPose, SkinWeights, TriMesh};
use glam::DAffine3;

use super::shapes::{Target, shapes};
use super::signed_shapes::{Part, joined};
use super::{Reader, affine};
use crate::budget::Budget;
use crate::error::Error;
use crate::skeletons::{NodeForest, Skeletons, SkinSource, scaled_right};

/// Change of a node's transform, relative to its size, up to which it is considered constant.
const STILL: f64 = 1e-6;
/// Deviation, relative to its size, up to which the bind transform of a node is its stored transform.
const SAME_PLACE: f64 = 1e-6;

/// Number of frames beyond which an animation is skipped: more than four hours at 30 frames per second.
const MAX_FRAMES: usize = 500_000;

/// Frames of an animation stack.
pub(super) struct Take<'a> {
    pub(super) stack: &'a ufbx::AnimStack,
    rate_hz: f64,
    frames: usize,
}

/// The joints of a file and the skins on them.
pub(super) struct Joints<'a> {
    skeletons: Skeletons,
    /// Index of the bound skin of each mesh node.
    skins: BTreeMap<u32, usize>,
    pub(super) takes: Vec<Take<'a>>,
    /// The joints of each skeleton in each take.
    motions: BTreeMap<(usize, usize), Arc<Vec<DAffine3>>>,
}

/// Joints that move a mesh.
pub(super) struct Carrier {
    skeleton: usize,
    /// The skin; `None` for the rigid part of `joint`.
    skin: Option<usize>,
    joint: usize,
}

impl<'a> Joints<'a> {
    /// Finds the skeletons and the takes of a file.
    pub(super) fn new(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let scene = reader.scene;
        let mut takes = Vec::new();
        let has_curves = |stack: &&ufbx::AnimStack| stack.layers.iter().any(|layer| !layer.anim_props.is_empty());
        let stacks: Vec<&ufbx::AnimStack> = scene.anim_stacks.iter().map(|stack| &**stack).collect();
        let empty = stacks.iter().filter(|stack| !has_curves(stack)).map(|stack| stack.element.name.to_string());
        let empty: Vec<String> = empty.map(|name| format!("'{name}'")).collect();
        if !empty.is_empty() {
            let names = empty.join(", ");
            let message = match empty.len() {
                1 => format!("the animation {names} has no curves and is skipped"),
                _ => format!("the animations {names} have no curves and are skipped"),
            };
            reader.notes.push(Note::new(message));
        }
        for stack in stacks.into_iter().filter(has_curves) {
            let rate_hz = reader.rate_of(stack);
            let frames = frame_count(stack, rate_hz)?;
            if frames > MAX_FRAMES {
                let name = &*stack.element.name;
                let what = format!("the animation '{name}' is skipped: {frames} frames are too many");
                reader.notes.push(Note::new(what));
                continue;
            }
            takes.push(Take { stack, rate_hz, frames });
        }
        let nodes: Vec<&ufbx::Node> = scene.nodes.iter().map(|node| &**node).collect();
        let moving = moving_nodes(&nodes, &takes, &mut reader.budget)?;
        let (mut sources, mut skins) = (Vec::new(), BTreeMap::new());
        for &node in &nodes {
            let Some(mesh) = node.mesh.as_ref().filter(|mesh| !mesh.skin_deformers.is_empty()) else { continue };
            if let Some(source) = skin_source(node, mesh, &mut reader.notes) {
                skins.insert(node.element.typed_id, sources.len());
                sources.push(source);
            }
        }
        let is_part = |node: &&&ufbx::Node| node.mesh.is_some() && !skins.contains_key(&node.element.typed_id);
        let topmost = |node: &ufbx::Node| upwards(node).map(typed).filter(|&node| moving[node]).last();
        let mut tops: BTreeSet<usize> = nodes.iter().filter(is_part).filter_map(|node| topmost(node)).collect();
        if nodes.iter().all(|node| node.mesh.is_none()) {
            let roots = nodes.iter().filter(|node| node.parent.is_some() && moving[typed(node)]);
            tops.extend(roots.filter_map(|node| topmost(node)));
        }
        let part = |node: usize| {
            let bind = affine(&nodes[node].node_to_world).inverse();
            let inverse_binds = vec![Some(bind).filter(DAffine3::is_finite).unwrap_or_default()];
            SkinSource { nodes: vec![node], inverse_binds, masses: vec![1.0], candidates: Vec::new(), parents: None }
        };
        // All moving parts of a file without meshes are one skeleton.
        if nodes.iter().all(|node| node.mesh.is_none()) && !tops.is_empty() {
            let mut all = SkinSource {
                nodes: Vec::new(),
                inverse_binds: Vec::new(),
                masses: Vec::new(),
                candidates: Vec::new(),
                parents: None,
            };
            for source in tops.into_iter().map(part) {
                all.nodes.extend(source.nodes);
                all.inverse_binds.extend(source.inverse_binds);
                all.masses.extend(source.masses);
            }
            sources.push(all);
        } else {
            sources.extend(tops.into_iter().map(part));
        }
        let parents: Vec<Option<usize>> = nodes.iter().map(|node| node.parent.as_deref().map(typed)).collect();
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        order.sort_by_key(|&node| nodes[node].node_depth);
        let rest: Vec<DAffine3> = nodes.iter().map(|node| affine(&node.node_to_world)).collect();
        let can_be_joint = |node: &&ufbx::Node| {
            let is_leaf = node.mesh.is_some() && node.children.is_empty();
            let is_other = node.camera.is_some() || node.light.is_some() || node.is_geometry_transform_helper;
            !is_other && (!is_leaf || moving[typed(node)])
        };
        let forest = NodeForest {
            parents: &parents,
            order: &order,
            rest: &rest,
            names: nodes.iter().map(|node| node.element.name.to_string()).collect(),
            can_be_joints: nodes.iter().map(can_be_joint).collect(),
        };
        let skeletons = Skeletons::new(&forest, &sources);
        Ok(Self { skeletons, skins, takes, motions: BTreeMap::new() })
    }

    /// The joints that move the mesh of `node`, if any do, and the transform of the mesh's own points to the scene.
    pub(super) fn carrier(&self, node: &ufbx::Node) -> (Option<Carrier>, DAffine3) {
        let stored = affine(&node.geometry_to_world);
        if let Some(&skin) = self.skins.get(&node.element.typed_id) {
            let bound = &self.skeletons.skins[skin];
            return (Some(Carrier { skeleton: bound.skeleton, skin: Some(skin), joint: 0 }), bound.placement);
        }
        let mut local = affine(&node.geometry_to_node);
        for node in upwards(node) {
            let Some((skeleton, joint)) = self.skeletons.joint_of(typed(node)) else {
                local = affine(&node.node_to_parent) * local;
                continue;
            };
            let of_skeleton = &self.skeletons.list[skeleton];
            let bind = scaled_right(of_skeleton.joints[joint].bind(), of_skeleton.factors[joint].recip());
            let size = bind.matrix3.x_axis.length().max(bind.translation.length());
            let is_stored = bind.abs_diff_eq(affine(&node.node_to_world), SAME_PLACE * size);
            let placement = if is_stored { stored } else { bind * local };
            if placement.is_finite() {
                return (Some(Carrier { skeleton, skin: None, joint }), placement);
            }
            break;
        }
        (None, stored)
    }

    /// The joints of a skeleton in all frames of a take.
    fn motion(&mut self, reader: &mut Reader<'_>, skeleton: usize, take: usize) -> Result<Arc<Vec<DAffine3>>, Error> {
        if let Some(known) = self.motions.get(&(skeleton, take)) {
            return Ok(Arc::clone(known));
        }
        let (of_skeleton, Take { stack, rate_hz, frames }) = (&self.skeletons.list[skeleton], &self.takes[take]);
        reader.budget.take("animation frames", *frames, (of_skeleton.nodes.len() * 96).max(64))?;
        let mut transforms = Vec::with_capacity(frames * of_skeleton.nodes.len());
        for frame in 0..*frames {
            let time = stack.time_begin + frame as f64 / rate_hz;
            let mut known = HashMap::new();
            for (&node, &factor) in of_skeleton.nodes.iter().zip(&of_skeleton.factors) {
                let transform = transform_at(&stack.anim, &reader.scene.nodes[node], time, &mut known);
                transforms.push(scaled_right(transform, factor));
            }
        }
        let transforms = Arc::new(transforms);
        self.motions.insert((skeleton, take), Arc::clone(&transforms));
        Ok(transforms)
    }

    /// The skeleton of a file without meshes: a rig without points, and its clips.
    pub(super) fn motion_only(&mut self, reader: &mut Reader<'_>) -> Result<Option<(String, Rig, Vec<Clip>)>, Error> {
        let Some(skeleton) = self.skeletons.list.first() else { return Ok(None) };
        let joints = Arc::clone(&skeleton.joints);
        let name = joints.first().map_or_else(String::new, |joint| joint.name.clone());
        let rig = Rig::sharing(&TriMesh::default(), joints, SkinWeights::from_rows([[]; 0]), Vec::new())?;
        let clips = (0..self.takes.len()).map(|take| self.clip(reader, &rig, Some(0), &[], take));
        let clips = clips.collect::<Result<Vec<_>, Error>>()?;
        Ok(Some((name, rig, clips)))
    }

    fn clip(
        &mut self,
        reader: &mut Reader<'_>,
        rig: &Rig,
        skeleton: Option<usize>,
        targets: &[Target<'_>],
        take: usize,
    ) -> Result<Clip, Error> {
        let transforms = skeleton.map(|skeleton| self.motion(reader, skeleton, take)).transpose()?.unwrap_or_default();
        let Take { stack, rate_hz, frames } = &self.takes[take];
        reader.budget.take("shape weights", *frames, targets.len() * 4)?;
        let weights = (0..*frames).flat_map(|frame| {
            let time = stack.time_begin + frame as f64 / rate_hz;
            let weight = move |target: &Target<'_>| {
                target.weight(ufbx::evaluate_blend_weight(&stack.anim, target.channel, time)) as f32
            };
            targets.iter().map(weight)
        });
        let weights = weights.collect();
        let clip = Clip::sharing(rig, stack.element.name.to_string(), *rate_hz, transforms, weights)?;
        Ok(clip.starting_at(stack.time_begin))
    }

    /// The rig of the placed mesh `shaped` and its clips; `None` if it has no motion.
    pub(super) fn rig(
        &mut self,
        reader: &mut Reader<'_>,
        mesh: &ufbx::Mesh,
        shaped: &TriMesh,
        (carrier, placement): (Option<Carrier>, DAffine3),
    ) -> Result<Option<(Rig, Vec<Clip>)>, Error> {
        let (targets, shapes) = shapes(mesh, placement, shaped, reader)?;
        if carrier.is_none() && shapes.is_empty() {
            return Ok(None);
        }
        let (joints, weights) = match &carrier {
            Some(Carrier { skin: Some(skin), .. }) => {
                let bound = &self.skeletons.skins[*skin];
                (Arc::clone(&bound.joints), weights(mesh, &bound.order))
            }
            Some(Carrier { skeleton, joint, .. }) => {
                let rows = (0..mesh.num_vertices).map(|_| [(*joint as u32, 1.0)]);
                (Arc::clone(&self.skeletons.list[*skeleton].joints), SkinWeights::from_rows(rows))
            }
            None => (Arc::default(), SkinWeights::default()),
        };
        let rig = Rig::sharing(shaped, joints, weights, shapes)?;
        let skeleton = carrier.map(|carrier| carrier.skeleton);
        let stored = RigPose {
            transforms: skeleton.map_or_else(Arc::default, |at| Arc::clone(&self.skeletons.list[at].rest)),
            shape_weights: targets.iter().map(|target| target.weight(target.channel.weight) as f32).collect(),
        };
        let rig = rig.with_stored_pose(stored)?;
        let clips = (0..self.takes.len()).map(|take| self.clip(reader, &rig, skeleton, &targets, take));
        let clips = clips.collect::<Result<Vec<_>, _>>()?;
        let parts: Vec<Part> = targets.iter().map(Target::part).collect();
        joined(shaped, rig, clips, &parts).map(Some)
    }
}

/// Index of a node among those of the file.
fn typed(node: &ufbx::Node) -> usize {
    node.element.typed_id as usize
}

/// `node`, its parent, the parent's parent and so on.
fn upwards(node: &ufbx::Node) -> impl Iterator<Item = &ufbx::Node> {
    std::iter::successors(Some(node), |node| node.parent.as_deref())
}

fn frame_count(stack: &ufbx::AnimStack, rate_hz: f64) -> Result<usize, Error> {
    let duration = (stack.time_end - stack.time_begin).max(0.0);
    let steps = (duration * rate_hz + 1e-6).floor();
    if !steps.is_finite() {
        return Err(Error::malformed(format!("the animation '{}' has no end time", &*stack.element.name)));
    }
    Ok((steps.min(1e15) as usize).saturating_add(1))
}

/// Nodes whose local transform differs from the stored one in some take.
fn moving_nodes(nodes: &[&ufbx::Node], takes: &[Take<'_>], budget: &mut Budget) -> Result<Vec<bool>, Error> {
    let mut moving = vec![false; nodes.len()];
    for Take { stack, rate_hz, frames } in takes {
        let animated: BTreeSet<u32> = stack
            .layers
            .iter()
            .flat_map(|layer| layer.anim_props.iter())
            .map(|property| property.element.element_id)
            .collect();
        for (node, moves) in
            nodes.iter().zip(&mut moving).filter(|(node, _)| animated.contains(&node.element.element_id))
        {
            // A budget for time rather than memory: each frame is evaluated.
            budget.take("animation frames", *frames, 16)?;
            let stored = affine(&node.node_to_parent);
            let size = stored.matrix3.x_axis.abs().max_element().max(stored.translation.abs().max_element()).max(1.0);
            *moves |= (0..*frames).any(|frame| {
                let time = stack.time_begin + frame as f64 / rate_hz;
                let now = affine(&ufbx::transform_to_matrix(&ufbx::evaluate_transform(&stack.anim, node, time)));
                !now.abs_diff_eq(stored, STILL * size)
            });
        }
    }
    Ok(moving)
}

/// The skin of a mesh; `None` if it has no bones.
fn skin_source(node: &ufbx::Node, mesh: &ufbx::Mesh, notes: &mut Vec<Note>) -> Option<SkinSource> {
    let mut note = |what: &str| notes.push(Note::at(node.element.name.to_string(), what));
    let skin = mesh.skin_deformers.first()?;
    if mesh.skin_deformers.len() > 1 {
        note("the mesh has several skins; only the first is used");
    }
    let mut source = SkinSource {
        nodes: Vec::new(),
        inverse_binds: Vec::new(),
        masses: Vec::new(),
        candidates: Vec::new(),
        parents: None,
    };
    let mut bind_placement = None;
    for cluster in skin.clusters.iter() {
        let Some(bone) = &cluster.bone_node else { continue };
        source.nodes.push(typed(bone));
        source.inverse_binds.push(affine(&cluster.geometry_to_bone));
        source.masses.push(cluster.weights.iter().filter(|weight| weight.is_finite() && **weight > 0.0).sum());
        bind_placement.get_or_insert(affine(&cluster.bind_to_world) * affine(&cluster.geometry_to_bone));
    }
    if source.nodes.is_empty() {
        return None;
    }
    source.parents = stated_parents(skin, source.nodes.len());
    source.candidates = [Some(affine(&node.geometry_to_world)), bind_placement].into_iter().flatten().collect();
    let joints = cluster_joints(skin);
    if (0..mesh.num_vertices).any(|vertex| row(skin, vertex, &joints).is_empty()) {
        note("points without weights follow the node of the mesh");
        source.nodes.push(typed(node));
        source.inverse_binds.push(affine(&node.geometry_to_node));
        source.masses.push(0.0);
    }
    Some(source)
}

/// The parents of the joints of flexible bones, which are siblings in the file.
fn stated_parents(skin: &ufbx::SkinDeformer, count: usize) -> Option<Vec<Option<usize>>> {
    let stated = skin.element.props.find_prop(super::JOINT_PARENTS)?;
    let parents = stated.value_str.split(' ').map(|parent| parent.parse::<i64>().ok());
    let parents: Vec<i64> = parents.collect::<Option<_>>()?;
    let fits = |parent: &i64| *parent < count as i64;
    let parent = |parent: i64| usize::try_from(parent).ok();
    (parents.len() == count && parents.iter().all(fits)).then(|| parents.into_iter().map(parent).collect())
}

/// The joint of each cluster of a skin.
fn cluster_joints(skin: &ufbx::SkinDeformer) -> Vec<Option<u32>> {
    let mut next = 0;
    let joint = |cluster: &ufbx::Ref<ufbx::SkinCluster>| {
        cluster.bone_node.as_ref().map(|_| {
            next += 1;
            next - 1
        })
    };
    skin.clusters.iter().map(joint).collect()
}

/// The weights of a skinned mesh; `order` contains the joint of the skeleton for each joint of the skin.
fn weights(mesh: &ufbx::Mesh, order: &[u32]) -> SkinWeights {
    let Some(skin) = mesh.skin_deformers.first() else { return SkinWeights::default() };
    let joints = cluster_joints(skin);
    let unbound = order.last().copied().unwrap_or(0);
    let rows = (0..mesh.num_vertices).map(|vertex| {
        let row = row(skin, vertex, &joints);
        let bound = row.into_iter().map(|(joint, weight)| (order[joint as usize], weight));
        let bound: Vec<(u32, f32)> = bound.collect();
        if bound.is_empty() { vec![(unbound, 1.0)] } else { bound }
    });
    SkinWeights::from_rows(rows)
}

/// The layer of a mesh that is skinned by dual quaternions; `None` if it is skinned linearly.
pub(super) fn dual_quaternions(mesh: &ufbx::Mesh) -> Option<DualQuaternionLayer> {
    let skin = mesh.skin_deformers.first()?;
    match skin.skinning_method {
        ufbx::SkinningMethod::DualQuaternion => Some(DualQuaternionLayer::default()),
        ufbx::SkinningMethod::BlendedDqLinear => {
            let weight = |vertex: usize| skin.vertices.get(vertex).map_or(0.0, |of_vertex| of_vertex.dq_weight as f32);
            let weights = (0..mesh.num_vertices).map(|vertex| weight(vertex).clamp(0.0, 1.0));
            DualQuaternionLayer::new(weights.collect()).ok()
        }
        _ => None,
    }
}

/// The joints of one vertex, their weights summing to 1.
fn row(skin: &ufbx::SkinDeformer, vertex: usize, joints: &[Option<u32>]) -> Vec<(u32, f32)> {
    let range = skin.vertices.get(vertex).map_or(0..0, |of_vertex| {
        let begin = of_vertex.weight_begin as usize;
        begin..begin.saturating_add(of_vertex.num_weights as usize)
    });
    let weights = skin.weights.get(range).unwrap_or_default().iter();
    let weights = weights.filter(|weight| weight.weight.is_finite() && weight.weight != 0.0);
    let bound = weights.filter_map(|weight| Some(((*joints.get(weight.cluster_index as usize)?)?, weight.weight)));
    let bound: Vec<(u32, f64)> = bound.collect();
    let sum: f64 = bound.iter().map(|(_, weight)| weight).sum();
    if sum <= 0.0 {
        return Vec::new();
    }
    bound.into_iter().map(|(joint, weight)| (joint, (weight / sum) as f32)).collect()
}

/// World transform of a node at `time`; `known` caches those of its ancestors.
pub(super) fn transform_at(
    anim: &ufbx::Anim,
    node: &ufbx::Node,
    time: f64,
    known: &mut HashMap<u32, DAffine3>,
) -> DAffine3 {
    let mut chain: Vec<&ufbx::Node> = Vec::new();
    let mut at = Some(node);
    let mut transform = DAffine3::IDENTITY;
    while let Some(node) = at {
        if let Some(found) = known.get(&node.element.element_id) {
            transform = *found;
            break;
        }
        chain.push(node);
        at = node.parent.as_deref();
    }
    for node in chain.into_iter().rev() {
        transform *= affine(&ufbx::transform_to_matrix(&ufbx::evaluate_transform(anim, node, time)));
        known.insert(node.element.element_id, transform);
    }
    transform
}
