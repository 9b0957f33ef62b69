//! Skins: which nodes are joints, how they bind the mesh, and the weights that tie points to them.

use std::collections::BTreeMap;

use dermis_mesh::{Joint, SkinWeights};
use glam::{DAffine3, DMat4};

use super::document::{Document, missing};
use super::geometry::Geometry;
use super::nodes::NodeTree;
use crate::error::Error;

/// A skin of the file.
#[derive(Debug)]
pub(super) struct Skin {
    /// The node of each joint.
    pub nodes: Vec<usize>,
    pub joints: Vec<Joint>,
}

/// Reads skin `index`.
pub(super) fn read_skin(document: &Document<'_>, tree: &NodeTree, index: usize) -> Result<Skin, Error> {
    let count = document.root.skins.len();
    let skin = document.root.skins.get(index).ok_or_else(|| missing("skin", index, count))?;
    let at = |error: Error| error.at(format!("skins[{index}]"));
    let nodes = skin.joints.clone();
    if nodes.is_empty() {
        return Err(at(Error::malformed("the skin has no joints")));
    }
    document.take("joints", nodes.len(), size_of::<Joint>())?;
    let mut joint_of_node = BTreeMap::new();
    for (joint, &node) in nodes.iter().enumerate() {
        if node >= tree.parents.len() {
            return Err(at(missing("node", node, tree.parents.len())));
        }
        joint_of_node.entry(node).or_insert(joint);
    }
    let inverse_binds = inverse_binds(document, skin.inverse_bind_matrices, nodes.len()).map_err(at)?;
    let marked = skin.extras.dermis.as_ref().map(|mark| mark.parents.as_slice()).unwrap_or_default();
    let parent = |joint: usize, node: usize| match marked.get(joint) {
        Some(&parent) if marked.len() == nodes.len() => usize::try_from(parent).ok(),
        _ => tree.upwards(node).skip(1).find_map(|above| joint_of_node.get(&above).copied()),
    };
    let joints = nodes
        .iter()
        .zip(inverse_binds)
        .enumerate()
        .map(|(joint, (&node, inverse_bind))| Joint {
            name: document.root.nodes[node].name.clone(),
            parent: parent(joint, node),
            inverse_bind,
        })
        .collect();
    Ok(Skin { nodes, joints })
}

fn inverse_binds(document: &Document<'_>, accessor: Option<usize>, count: usize) -> Result<Vec<DAffine3>, Error> {
    let Some(accessor) = accessor else {
        return Ok(vec![DAffine3::IDENTITY; count]);
    };
    let numbers = document.floats(accessor, 16)?;
    let (matrices, _) = numbers.as_chunks::<16>();
    if matrices.len() < count {
        let found = matrices.len();
        return Err(Error::malformed(format!("{count} joints have only {found} inverse bind matrices")));
    }
    let affine = |matrix: &[f32; 16]| DAffine3::from_mat4(DMat4::from_cols_array(&matrix.map(f64::from)));
    Ok(matrices[..count].iter().map(affine).collect())
}

/// The weights of the points, scaled so that each row's magnitudes sum to 1; a row without weight is tied to the
/// joint in its first slot, as three.js does.
pub(super) fn skin_weights(geometry: &Geometry<'_>) -> SkinWeights {
    let row = |&vertex: &u32| {
        let slots = geometry.influences.iter().flat_map(|[joints, weights]| {
            joints[vertex as usize]
                .into_iter()
                .zip(weights[vertex as usize])
                .map(|(joint, weight)| (joint as u32, weight))
        });
        let used: Vec<(u32, f32)> = slots.clone().filter(|(_, weight)| *weight != 0.0).collect();
        let sum: f64 = used.iter().map(|(_, weight)| f64::from(weight.abs())).sum();
        if sum == 0.0 {
            return vec![(slots.map(|(joint, _)| joint).next().unwrap_or(0), 1.0)];
        }
        used.into_iter().map(|(joint, weight)| (joint, (f64::from(weight) / sum) as f32)).collect()
    };
    SkinWeights::from_rows(geometry.weld.point_vertices.iter().map(row))
}
