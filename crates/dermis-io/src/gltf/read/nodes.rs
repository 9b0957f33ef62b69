//! The node tree: parents, children, and the transforms of nodes without animation.
//!
//! The specification requires a forest; a file in which a node is the child of two nodes or of itself is rejected.
//! Traversals do not recurse, so long chains of nodes cannot overflow the stack.

use dermis_mesh::{Units, UpAxis};
use glam::{DAffine3, DMat4, DQuat, DVec3};

use super::document::missing;
use crate::error::Error;
use crate::gltf::schema::{Node, Root};
use crate::gltf::units;

/// glTF's own units.
const METRES_Y_UP: Units = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) };

/// Transform of a node relative to its parent: as the components that an animation replaces, and as an exact matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local {
    pub translation: DVec3,
    pub rotation: DQuat,
    pub scale: DVec3,
    pub matrix: DAffine3,
}

impl Local {
    const IDENTITY: Self =
        Self { translation: DVec3::ZERO, rotation: DQuat::IDENTITY, scale: DVec3::ONE, matrix: DAffine3::IDENTITY };

    fn of_node(node: &Node) -> Self {
        let Some(matrix) = node.matrix else {
            let translation = node.translation.map_or(DVec3::ZERO, DVec3::from_array);
            let rotation = node.rotation.map_or(DQuat::IDENTITY, unit_quaternion);
            let scale = node.scale.map_or(DVec3::ONE, DVec3::from_array);
            let matrix = DAffine3::from_scale_rotation_translation(scale, rotation, translation);
            return Self { translation, rotation, scale, matrix };
        };
        let matrix = DAffine3::from_mat4(DMat4::from_cols_array(&matrix));
        if matrix.matrix3.determinant() == 0.0 {
            return Self { matrix, translation: matrix.translation, ..Self::IDENTITY };
        }
        let (scale, rotation, translation) = matrix.to_scale_rotation_translation();
        Self { translation, rotation, scale, matrix }
    }
}

/// The rotation nearest to four numbers that should be a unit quaternion; the identity if they are all zero.
pub(super) fn unit_quaternion(numbers: [f64; 4]) -> DQuat {
    let quaternion = DQuat::from_array(numbers);
    let length = quaternion.length();
    if length > 0.0 && length.is_finite() { quaternion / length } else { DQuat::IDENTITY }
}

/// The nodes of a file.
#[derive(Debug)]
pub(super) struct NodeTree {
    /// Parent of each node.
    pub parents: Vec<Option<usize>>,
    /// All nodes, each after its parent.
    pub order: Vec<usize>,
    /// Transform of each node in its parent.
    pub locals: Vec<Local>,
    /// World transform of each node.
    pub rest: Vec<DAffine3>,
    /// The units of the world's coordinates.
    pub units: Units,
    /// The nodes of the default scene, each after its parent, in the file's order.
    pub scene: Vec<usize>,
}

impl NodeTree {
    /// The tree of a file.
    pub(super) fn new(root: &Root) -> Result<Self, Error> {
        let parents = parents(root)?;
        let mut locals: Vec<Local> = root.nodes.iter().map(Local::of_node).collect();
        let units = marked_units(root, &mut locals);
        let all_roots: Vec<usize> = (0..parents.len()).filter(|&node| parents[node].is_none()).collect();
        let order = descend(root, &all_roots);
        if order.len() < parents.len() {
            return Err(Error::malformed("the node hierarchy has a cycle"));
        }
        let mut rest = vec![DAffine3::IDENTITY; parents.len()];
        for &node in &order {
            rest[node] = parents[node].map_or(DAffine3::IDENTITY, |parent| rest[parent]) * locals[node].matrix;
        }
        let scene = scene_nodes(root, &all_roots)?;
        Ok(Self { parents, order, locals, rest, units, scene })
    }

    /// `node`, its parent, the parent's parent and so on.
    pub(super) fn upwards(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(node), |&node| self.parents[node])
    }
}

fn parents(root: &Root) -> Result<Vec<Option<usize>>, Error> {
    let mut parents = vec![None; root.nodes.len()];
    for (index, node) in root.nodes.iter().enumerate() {
        for &child in &node.children {
            let slot: &mut Option<usize> =
                parents.get_mut(child).ok_or_else(|| missing("node", child, root.nodes.len()))?;
            if let Some(other) = slot.replace(index) {
                return Err(Error::malformed(format!("node {child} is a child of both node {other} and node {index}")));
            }
        }
    }
    Ok(parents)
}

/// `starts` and everything below them, parents first, in the file's order.
fn descend(root: &Root, starts: &[usize]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut stack: Vec<usize> = starts.iter().rev().copied().collect();
    while let Some(node) = stack.pop() {
        order.push(node);
        stack.extend(root.nodes[node].children.iter().rev());
    }
    order
}

fn scene_nodes(root: &Root, all_roots: &[usize]) -> Result<Vec<usize>, Error> {
    let starts = match (root.scene, root.scenes.first()) {
        (Some(scene), _) => {
            let found = root.scenes.get(scene).ok_or_else(|| missing("scene", scene, root.scenes.len()))?;
            found.nodes.as_slice()
        }
        (None, Some(first)) => first.nodes.as_slice(),
        (None, None) => all_roots,
    };
    let mut seen = vec![false; root.nodes.len()];
    let mut distinct = Vec::new();
    for &start in starts {
        let seen = seen.get_mut(start).ok_or_else(|| missing("node", start, root.nodes.len()))?;
        if !std::mem::replace(seen, true) {
            distinct.push(start);
        }
    }
    // A root of the scene below another root would be visited twice.
    let order = descend(root, &distinct);
    let mut met = vec![false; root.nodes.len()];
    Ok(order.into_iter().filter(|&node| !std::mem::replace(&mut met[node], true)).collect())
}

/// The units stored by the writer of dermis; the transform of its conversion node is removed.
fn marked_units(root: &Root, locals: &mut [Local]) -> Units {
    let Some(mark) = &root.asset.extras.dermis else {
        return METRES_Y_UP;
    };
    let up_axis = mark.up_axis.as_deref().and_then(units::axis_of_name);
    let metres_per_unit = mark.metres_per_unit.filter(|metres| metres.is_finite() && *metres > 0.0);
    let marked = Units { metres_per_unit, up_axis };
    let upright = units::upright_transform(marked);
    if upright.abs_diff_eq(DAffine3::IDENTITY, 0.0) {
        return marked;
    }
    // Another program may have kept the mark, but applied or changed the transform; the file is then treated like any other
    // glTF file.
    const TOLERANCE: f64 = 1e-6;
    let scale = upright.matrix3.x_axis.length();
    let ours = (0..locals.len()).find(|&node| {
        root.nodes[node].extras.dermis.as_ref().is_some_and(|mark| mark.units)
            && locals[node].matrix.abs_diff_eq(upright, TOLERANCE * scale)
    });
    match ours {
        Some(node) => {
            locals[node] = Local::IDENTITY;
            marked
        }
        None => METRES_Y_UP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(json: &str) -> Result<NodeTree, Error> {
        NodeTree::new(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn rejects_cycles_and_nodes_with_two_parents() {
        for json in [
            r#"{"nodes":[{"children":[0]}]}"#,
            r#"{"nodes":[{},{"children":[2]},{"children":[1]}]}"#,
            r#"{"nodes":[{"children":[2]},{"children":[2]},{}]}"#,
            r#"{"nodes":[{"children":[1,1]},{}]}"#,
            r#"{"nodes":[{"children":[7]}]}"#,
            r#"{"nodes":[{}],"scenes":[{"nodes":[1]}]}"#,
            r#"{"nodes":[{}],"scene":3}"#,
        ] {
            assert!(tree(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_chain_of_a_hundred_thousand_nodes_does_not_overflow_the_stack() {
        let count = 100_000;
        let link = |i| {
            if i + 1 < count { format!(r#"{{"translation":[1,0,0],"children":[{}]}}"#, i + 1) } else { "{}".into() }
        };
        let nodes: Vec<String> = (0..count).map(link).collect();
        let tree = tree(&format!(r#"{{"nodes":[{}]}}"#, nodes.join(","))).unwrap();
        assert_eq!(tree.rest[count - 1].translation.x, (count - 1) as f64);
        assert_eq!(tree.scene.len(), count);
    }
}
