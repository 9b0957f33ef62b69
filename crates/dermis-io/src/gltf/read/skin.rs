//! Skins: the nodes that are joints, their bind matrices, and the weights that bind points to them.

use dermis_mesh::{Joint, SkinWeights};
use glam::{DAffine3, DMat4};

use super::document::{Document, missing};
use super::geometry::Geometry;
use super::nodes::NodeTree;
use crate::error::Error;
use crate::skeletons::SkinSource;

/// Reads skin `index`; its masses and candidates are those of the meshes that it moves.
pub(super) fn read_skin(document: &Document<'_>, tree: &NodeTree, index: usize) -> Result<SkinSource, Error> {
    let count = document.root.skins.len();
    let skin = document.root.skins.get(index).ok_or_else(|| missing("skin", index, count))?;
    let at = |error: Error| error.at(format!("skins[{index}]"));
    let nodes = skin.joints.clone();
    if nodes.is_empty() {
        return Err(at(Error::malformed("the skin has no joints")));
    }
    document.take("joints", nodes.len(), 2 * size_of::<Joint>())?;
    if let Some(&node) = nodes.iter().find(|&&node| node >= tree.parents.len()) {
        return Err(at(missing("node", node, tree.parents.len())));
    }
    let inverse_binds = inverse_binds(document, skin.inverse_bind_matrices, nodes.len()).map_err(at)?;
    let marked = skin.extras.dermis.as_ref().map(|mark| mark.parents.as_slice()).unwrap_or_default();
    let parents = || marked.iter().map(|&parent| usize::try_from(parent).ok()).collect();
    let parents = (marked.len() == nodes.len()).then(parents);
    // The node above the skeleton.
    let joints: std::collections::BTreeSet<usize> = nodes.iter().copied().collect();
    let armature = tree.upwards(nodes[0]).find(|node| !joints.contains(node)).map(|node| tree.rest[node]);
    let masses = vec![0.0; nodes.len()];
    Ok(SkinSource { nodes, inverse_binds, masses, candidates: armature.into_iter().collect(), parents })
}

fn inverse_binds(document: &Document<'_>, accessor: Option<usize>, count: usize) -> Result<Vec<DAffine3>, Error> {
    let Some(accessor) = accessor else {
        return Ok(vec![DAffine3::IDENTITY; count]);
    };
    let numbers = document.floats(accessor, 16)?;
    let (matrices, _) = numbers.as_chunks::<16>();
    if matrices.len() < count {
        let found = matrices.len();
        return Err(Error::malformed(format!("the skin has {count} joints, but only {found} inverse bind matrices")));
    }
    let affine = |matrix: &[f32; 16]| DAffine3::from_mat4(DMat4::from_cols_array(&matrix.map(f64::from)));
    Ok(matrices[..count].iter().map(affine).collect())
}

/// The weights of the points, scaled so that each row's magnitudes sum to 1; a row without weights is bound to the
/// joint in its first slot, as in three.js. `order` contains the joint of the skeleton for each joint of the skin.
pub(super) fn skin_weights(geometry: &Geometry<'_>, order: &[u32]) -> Result<SkinWeights, Error> {
    let row = |&vertex: &u32| {
        let slots = geometry.influences.iter().flat_map(|[joints, weights]| {
            joints[vertex as usize]
                .into_iter()
                .zip(weights[vertex as usize])
                .map(|(joint, weight)| (order.get(joint as usize).copied().unwrap_or(u32::MAX), weight))
        });
        let used: Vec<(u32, f32)> = slots.clone().filter(|(_, weight)| *weight != 0.0).collect();
        let sum: f64 = used.iter().map(|(_, weight)| f64::from(weight.abs())).sum();
        if sum == 0.0 {
            return vec![(slots.map(|(joint, _)| joint).next().unwrap_or(0), 1.0)];
        }
        used.into_iter().map(|(joint, weight)| (joint, (f64::from(weight) / sum) as f32)).collect()
    };
    let weights = SkinWeights::from_rows(geometry.weld.point_vertices.iter().map(row));
    let missing = weights.rows().position(|mut row| row.any(|(joint, _)| joint == u32::MAX));
    match missing {
        Some(point) => {
            let count = order.len();
            Err(Error::malformed(format!(
                "point {point} is bound to a joint that does not exist; the skin has {count}"
            )))
        }
        None => Ok(weights),
    }
}

/// Adds the weights of a mesh to the masses of the joints.
pub(super) fn add_masses(geometry: &Geometry<'_>, masses: &mut [f64]) {
    for [joints, weights] in &geometry.influences {
        for (&joint, &weight) in joints.as_flattened().iter().zip(weights.as_flattened()) {
            if let Some(mass) = masses.get_mut(joint as usize) {
                *mass += f64::from(weight.max(0.0));
            }
        }
    }
}
