//! Short JSON: no unused accessors, no names of the inner nodes of flexible bones, and nodes with few digits.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::gltf::schema::Root;

/// Largest rounding of a component of a rotation.
const MAX_ANGLE: f64 = 1e-4;
/// Decimal digits between which numbers are rounded.
const MIN_DIGITS: f64 = -6.0;
const MAX_DIGITS: f64 = 12.0;

/// Drops unused accessors and renumbers the others.
pub(super) fn drop_unused(root: &mut Root) {
    let mut is_used = vec![false; root.accessors.len()];
    each_use(root, &mut |index| {
        if let Some(used) = is_used.get_mut(*index) {
            *used = true;
        }
    });
    let mut next = 0;
    let new: Vec<usize> = is_used
        .iter()
        .map(|&used| {
            next += usize::from(used);
            next.saturating_sub(1)
        })
        .collect();
    each_use(root, &mut |index| *index = new.get(*index).copied().unwrap_or(*index));
    let mut used = is_used.into_iter();
    root.accessors.retain(|_| used.next() == Some(true));
}

/// Calls `visit` with every index of an accessor.
fn each_use(root: &mut Root, visit: &mut dyn FnMut(&mut usize)) {
    for primitive in root.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
        primitive.attributes.values_mut().chain(&mut primitive.indices).for_each(&mut *visit);
        primitive.targets.iter_mut().flat_map(BTreeMap::values_mut).for_each(&mut *visit);
    }
    root.skins.iter_mut().filter_map(|skin| skin.inverse_bind_matrices.as_mut()).for_each(&mut *visit);
    for sampler in root.animations.iter_mut().flat_map(|animation| &mut animation.samplers) {
        visit(&mut sampler.input);
        visit(&mut sampler.output);
    }
    for layers in root.nodes.iter_mut().filter_map(|node| node.extensions.deformers.as_mut()) {
        let list = layers.get_mut("deformers").and_then(Value::as_array_mut);
        for layer in list.into_iter().flatten() {
            let buffers = layer.get_mut("buffers").and_then(Value::as_object_mut);
            for value in buffers.into_iter().flat_map(Map::values_mut) {
                if let Some(mut index) = value.as_u64().and_then(|index| usize::try_from(index).ok()) {
                    visit(&mut index);
                    *value = index.into();
                }
            }
        }
    }
}

/// Rounds the translations of nodes to multiples of a decimal fraction of `length`, and the rotations so that points at
/// a distance of `radius` move by as little.
pub(super) fn round_nodes(root: &mut Root, length: f64, radius: f64) {
    let angle = if radius > 0.0 { length / radius } else { MAX_ANGLE };
    for node in &mut root.nodes {
        node.translation = node.translation.map(|vector| rounded(vector, length)).filter(|vector| *vector != [0.0; 3]);
        let rotation = node.rotation.map(|rotation| rounded(rotation, angle.min(MAX_ANGLE)));
        node.rotation = rotation.filter(|rotation| *rotation != [0.0, 0.0, 0.0, 1.0]);
    }
}

/// Multiples of the largest power of ten up to `step`.
fn rounded<const K: usize>(values: [f64; K], step: f64) -> [f64; K] {
    let digits = -step.log10().floor();
    if !(MIN_DIGITS..=MAX_DIGITS).contains(&digits) {
        return values;
    }
    let scale = 10.0_f64.powf(digits);
    // No negative zeros.
    values.map(|value| (value * scale).round() / scale + 0.0)
}

/// Drops the names of the nodes above a joint that extend its name, which the writer gives to flexible bones.
pub(super) fn drop_inner_names(root: &mut Root) {
    let joints: BTreeSet<usize> = root.skins.iter().flat_map(|skin| skin.joints.iter().copied()).collect();
    let mut parents = vec![None; root.nodes.len()];
    for (parent, node) in root.nodes.iter().enumerate() {
        for &child in &node.children {
            if let Some(slot) = parents.get_mut(child) {
                *slot = Some(parent);
            }
        }
    }
    for joint in joints.iter().copied().filter(|&joint| joint < parents.len()) {
        let name = root.nodes[joint].name.clone();
        let stretch = parents[joint].filter(|node| !joints.contains(node));
        let rigid = stretch.and_then(|stretch| parents[stretch]).filter(|node| !joints.contains(node));
        for (node, suffix) in [(stretch, ".stretch"), (rigid, ".rigid")] {
            let Some(node) = node.map(|node| &mut root.nodes[node]) else { continue };
            if node.name.strip_suffix(suffix) == Some(name.as_str()) {
                node.name.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gltf::schema::{Accessor, Animation, AnimationSampler, Node, Skin};

    #[test]
    fn used_accessors_are_renumbered() {
        let accessor = |count: usize| Accessor { count, ..Accessor::default() };
        let sampler = AnimationSampler { input: 1, output: 3, interpolation: None };
        let mut root = Root {
            accessors: (0..4).map(accessor).collect(),
            animations: vec![Animation { samplers: vec![sampler], ..Animation::default() }],
            ..Root::default()
        };
        drop_unused(&mut root);
        let sampler = &root.animations[0].samplers[0];
        assert_eq!((root.accessors.len(), sampler.input, sampler.output), (2, 0, 1));
        assert_eq!(root.accessors[1].count, 3);
    }

    #[test]
    fn nodes_are_rounded_to_the_given_length() {
        let node = Node {
            translation: Some([0.911_748_1, -1.6e-9, 12.0]),
            rotation: Some([3e-9, -2e-8, 5e-9, 1.0]),
            ..Node::default()
        };
        let mut root = Root { nodes: vec![node], ..Root::default() };
        round_nodes(&mut root, 2e-4, 2.0);
        assert_eq!(root.nodes[0].translation, Some([0.9117, 0.0, 12.0]));
        assert_eq!(root.nodes[0].rotation, None);
    }

    #[test]
    fn only_names_of_inner_nodes_are_dropped() {
        let node = |name: &str, children: &[usize]| Node {
            name: name.to_owned(),
            children: children.to_vec(),
            ..Node::default()
        };
        let nodes = vec![
            node("a.rigid", &[1]),
            node("a.stretch", &[2]),
            node("a", &[]),
            node("hip.rigid", &[4]),
            node("hip", &[]),
        ];
        let skins = vec![Skin { joints: vec![2, 3, 4], ..Skin::default() }];
        let mut root = Root { nodes, skins, ..Root::default() };
        drop_inner_names(&mut root);
        let names: Vec<&str> = root.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names, ["", "", "a", "hip.rigid", "hip"]);
    }
}
