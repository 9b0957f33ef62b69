//! Removal of unused accessors.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::gltf::schema::Root;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gltf::schema::{Accessor, Animation, AnimationSampler};

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
}
