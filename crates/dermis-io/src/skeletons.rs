//! Skeletons of files whose joints are nodes (glTF, FBX): one list of joints for all skins that share nodes, in scene
//! space.
//!
//! A skinned point is at `Σ w · N · B⁻¹ · p`: node transforms N, inverse bind matrices B⁻¹, and p in the space of the
//! mesh, which the file does not relate to the scene: only N places the mesh. If an exporter keeps centimetres and Z up
//! below a node of scale 0.01, p is in centimetres. The *placement* A transforms the bind shape to scene space, and
//! `B⁻¹` becomes `B⁻¹ A⁻¹`, so the posed points do not change. With `C_j = N_j B_j⁻¹` of the stored pose,
//!
//! - if all C are equal, the file is stored in its bind pose, and A = C;
//! - otherwise A is the transform of the mesh's node, of the skeleton's parent, or the identity, whichever has the
//!   scale of the C (a weighted median) and the rotation nearest to their mean;
//! - if none has that scale, A has it, with the nearest rotation along the axes, since shapes are modelled upright.
//!
//! Skins that share nodes, or whose nodes are below those of another skin, belong to one skeleton. The skin with the
//! most joints is placed first. The placement of further skins follows from the joints that they share with it, so that
//! all have the same bind pose; a mesh that was bound in another pose keeps its own bind matrices for the same joints.
//! Nodes below joints that have no mesh are joints as well: end joints, sockets, helpers. A joint whose bind transform
//! has a scale is expressed in a frame without it (`N k⁻¹` and `k B⁻¹`): the scale 0.01 of an armature is not a
//! property of its joints.

use std::collections::BTreeMap;
use std::sync::Arc;

use dermis_math::svd3::svd3;
use dermis_mesh::Joint;
use glam::{DAffine3, DMat3, DVec3};

/// Relative deviation up to which transforms of joints agree: bind matrices are rounded to f32, far from the origin.
const SAME: f64 = 1e-4;
/// Relative deviation up to which a scale agrees with that of the stored pose, which can stretch joints.
const SAME_SCALE: f64 = 0.25;
/// Distance between two rotations (Frobenius norm, about 10°) below which the first candidate is used.
const SAME_ROTATION: f64 = 0.25;

/// The nodes of a file.
pub(crate) struct NodeForest<'a> {
    pub parents: &'a [Option<usize>],
    /// All nodes, each after its parent.
    pub order: &'a [usize],
    /// World transforms of the stored pose.
    pub rest: &'a [DAffine3],
    pub names: Vec<String>,
    /// True for nodes that are joints if a node above them is a joint.
    pub can_be_joints: Vec<bool>,
}

/// A skin as stored in the file.
#[derive(Debug)]
pub(crate) struct SkinSource {
    /// The node of each joint.
    pub nodes: Vec<usize>,
    pub inverse_binds: Vec<DAffine3>,
    /// Sum of the weights of each joint.
    pub masses: Vec<f64>,
    /// Candidate placements, the most likely first.
    pub candidates: Vec<DAffine3>,
    /// Parents that differ from those of the nodes.
    pub parents: Option<Vec<Option<usize>>>,
}

/// A skeleton.
#[derive(Debug)]
pub(crate) struct Skeleton {
    /// The node of each joint.
    pub nodes: Vec<usize>,
    pub joints: Arc<Vec<Joint>>,
    /// Factor on the right of each node's transform.
    pub factors: Vec<f64>,
    /// Transforms of the joints in the stored pose.
    pub rest: Arc<Vec<DAffine3>>,
}

/// A skin on a skeleton.
#[derive(Debug)]
pub(crate) struct BoundSkin {
    pub skeleton: usize,
    /// Joints of the skeleton; with other bind matrices if the mesh was bound in another pose.
    pub joints: Arc<Vec<Joint>>,
    /// The joint of the skeleton for each joint of the skin.
    pub order: Vec<u32>,
    /// Transform of the points of the mesh to scene space.
    pub placement: DAffine3,
}

/// Skeletons of a file and the skins on them.
#[derive(Debug, Default)]
pub(crate) struct Skeletons {
    pub list: Vec<Skeleton>,
    /// The skins, in the order of the sources.
    pub skins: Vec<BoundSkin>,
    /// The skeleton and the joint of each node that is a joint.
    joints: BTreeMap<usize, (usize, usize)>,
}

impl Skeletons {
    /// Finds the skeletons of `skins`.
    pub(crate) fn new(forest: &NodeForest<'_>, skins: &[SkinSource]) -> Self {
        let mut found = Self::default();
        let mut bound: Vec<Option<BoundSkin>> = skins.iter().map(|_| None).collect();
        for group in groups(forest, skins) {
            let number = found.list.len();
            let (skeleton, of_skins) = skeleton(forest, skins, &group, number);
            for (joint, &node) in skeleton.nodes.iter().enumerate() {
                found.joints.entry(node).or_insert((number, joint));
            }
            group.iter().zip(of_skins).for_each(|(&skin, of_skin)| bound[skin] = Some(of_skin));
            found.list.push(skeleton);
        }
        found.skins = bound.into_iter().flatten().collect();
        found
    }

    /// The skeleton and the joint of `node`.
    pub(crate) fn joint_of(&self, node: usize) -> Option<(usize, usize)> {
        self.joints.get(&node).copied()
    }
}

/// Groups of skins that share nodes or are below each other, in the order of the first of each group.
fn groups(forest: &NodeForest<'_>, skins: &[SkinSource]) -> Vec<Vec<usize>> {
    let mut leaders: Vec<usize> = (0..skins.len()).collect();
    fn leader(leaders: &mut [usize], mut skin: usize) -> usize {
        while leaders[skin] != skin {
            leaders[skin] = leaders[leaders[skin]];
            skin = leaders[skin];
        }
        skin
    }
    let unite = |leaders: &mut Vec<usize>, a: usize, b: usize| {
        let (a, b) = (leader(leaders, a), leader(leaders, b));
        let (low, high) = (a.min(b), a.max(b));
        leaders[high] = low;
    };
    let mut owners: Vec<Option<usize>> = vec![None; forest.parents.len()];
    for (skin, source) in skins.iter().enumerate() {
        for &node in &source.nodes {
            match owners[node] {
                Some(owner) => unite(&mut leaders, owner, skin),
                None => owners[node] = Some(skin),
            }
        }
    }
    // The skin of the nearest joint at or above each node.
    for &node in forest.order {
        let above = forest.parents[node].and_then(|parent| owners[parent]);
        match (owners[node], above) {
            (Some(owner), Some(above)) => unite(&mut leaders, owner, above),
            (None, above) => owners[node] = above,
            _ => {}
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for skin in 0..skins.len() {
        groups.entry(leader(&mut leaders, skin)).or_default().push(skin);
    }
    groups.into_values().collect()
}

fn skeleton(
    forest: &NodeForest<'_>,
    skins: &[SkinSource],
    group: &[usize],
    number: usize,
) -> (Skeleton, Vec<BoundSkin>) {
    let (nodes, orders) = joint_nodes(forest, skins, group);
    let mut inverse_binds: Vec<Option<DAffine3>> = vec![None; nodes.len()];
    let mut own_binds: Vec<Option<Vec<(usize, DAffine3)>>> = vec![None; group.len()];
    let mut placements = vec![DAffine3::IDENTITY; group.len()];
    for at in by_joint_count(skins, group) {
        let (source, order) = (&skins[group[at]], &orders[at]);
        let shared = shared_placement(source, order, &inverse_binds);
        let placement = match shared {
            Shared::Agree(placement) => placement,
            Shared::Nothing | Shared::Differ => placement(forest, source),
        };
        let to_scene = |inverse_bind: DAffine3| {
            if placement == DAffine3::IDENTITY { inverse_bind } else { inverse_bind * placement.inverse() }
        };
        let placed = || order.iter().zip(&source.inverse_binds).map(|(&joint, &bind)| (joint as usize, to_scene(bind)));
        placed().for_each(|(joint, bind)| _ = inverse_binds[joint].get_or_insert(bind));
        own_binds[at] = matches!(shared, Shared::Differ).then(|| placed().collect());
        placements[at] = placement;
    }
    let parents = parents(forest, skins, group, &nodes);
    let inverse_binds = complete(forest, &nodes, &parents, &inverse_binds);
    let factors: Vec<f64> = inverse_binds.iter().map(|&inverse_bind| unit_factor(inverse_bind)).collect();
    let joint = |joint: usize, inverse_bind: DAffine3| Joint {
        name: forest.names[nodes[joint]].clone(),
        parent: parents[joint],
        inverse_bind: scaled_left(inverse_bind, factors[joint].recip()),
    };
    let joints = Arc::new((0..nodes.len()).map(|at| joint(at, inverse_binds[at])).collect::<Vec<_>>());
    let of_skin = |order: &Vec<u32>, placement: DAffine3, own: Option<Vec<(usize, DAffine3)>>| {
        let joints = own.map_or_else(
            || Arc::clone(&joints),
            |own| {
                let mut joints = (*joints).clone();
                for (at, inverse_bind) in own {
                    joints[at] = joint(at, inverse_bind);
                }
                Arc::new(joints)
            },
        );
        BoundSkin { skeleton: number, joints, order: order.clone(), placement }
    };
    let skins = orders.iter().zip(placements).zip(own_binds);
    let bound = skins.map(|((order, placement), own)| of_skin(order, placement, own)).collect();
    let rest = nodes.iter().zip(&factors).map(|(&node, &factor)| scaled_right(forest.rest[node], factor));
    let rest = Arc::new(rest.collect());
    (Skeleton { nodes, joints, factors, rest }, bound)
}

/// Indices of the skins of `group`, those with the most joints first. A part on one joint, such as a belt, is in its
/// bind pose with any placement; if it came first, the stored pose of that joint would place the other skins.
fn by_joint_count(skins: &[SkinSource], group: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..group.len()).collect();
    let joints = |at: usize| skins[group[at]].masses.iter().filter(|mass| **mass > 0.0).count();
    order.sort_by_key(|&at| std::cmp::Reverse(joints(at)));
    order
}

/// `transform` after a uniform scale.
pub(crate) fn scaled_right(transform: DAffine3, factor: f64) -> DAffine3 {
    if factor == 1.0 { transform } else { transform * DAffine3::from_scale(DVec3::splat(factor)) }
}

/// `transform` before a uniform scale.
pub(crate) fn scaled_left(transform: DAffine3, factor: f64) -> DAffine3 {
    if factor == 1.0 { transform } else { DAffine3::from_scale(DVec3::splat(factor)) * transform }
}

/// The nodes of the joints of a skeleton, and for each skin of `group` the joints among them that are its own.
fn joint_nodes(forest: &NodeForest<'_>, skins: &[SkinSource], group: &[usize]) -> (Vec<usize>, Vec<Vec<u32>>) {
    let mut nodes = Vec::new();
    let mut joint_of: BTreeMap<usize, usize> = BTreeMap::new();
    let mut orders = Vec::new();
    for &skin in group {
        let mut used = std::collections::BTreeSet::new();
        let order = skins[skin].nodes.iter().map(|&node| {
            // A node that one skin lists twice has two bind matrices.
            let known = joint_of.get(&node).copied().filter(|_| used.insert(node));
            let joint = known.unwrap_or_else(|| {
                nodes.push(node);
                used.insert(node);
                nodes.len() - 1
            });
            joint_of.entry(node).or_insert(joint);
            joint as u32
        });
        orders.push(order.collect());
    }
    if group.iter().all(|&skin| skins[skin].parents.is_none()) {
        for &node in forest.order {
            let below = forest.parents[node].is_some_and(|parent| joint_of.contains_key(&parent));
            if below && forest.can_be_joints[node] && !joint_of.contains_key(&node) {
                joint_of.insert(node, nodes.len());
                nodes.push(node);
            }
        }
    }
    (nodes, orders)
}

fn parents(forest: &NodeForest<'_>, skins: &[SkinSource], group: &[usize], nodes: &[usize]) -> Vec<Option<usize>> {
    if let Some(parents) = skins[group[0]].parents.as_ref().filter(|parents| parents.len() == nodes.len()) {
        return parents.clone();
    }
    let mut joint_of: BTreeMap<usize, usize> = BTreeMap::new();
    nodes.iter().enumerate().for_each(|(joint, &node)| _ = joint_of.entry(node).or_insert(joint));
    // The nearest joint at or above each node.
    let mut nearest: Vec<Option<usize>> = vec![None; forest.parents.len()];
    for &node in forest.order {
        nearest[node] = joint_of.get(&node).copied().or_else(|| nearest[forest.parents[node]?]);
    }
    nodes.iter().map(|&node| forest.parents[node].and_then(|parent| nearest[parent])).collect()
}

/// Relation of a skin to the joints bound by earlier skins.
enum Shared {
    /// It has none of these joints.
    Nothing,
    /// It has the same bind pose, with this placement.
    Agree(DAffine3),
    /// It was bound in another pose.
    Differ,
}

fn shared_placement(source: &SkinSource, order: &[u32], known: &[Option<DAffine3>]) -> Shared {
    let joints = order.iter().zip(&source.inverse_binds).zip(&source.masses);
    let shared: Vec<(DAffine3, DVec3, f64)> = joints
        .filter_map(|((&joint, &own), &mass)| {
            let placement = known[joint as usize]?.inverse() * own;
            let at = own.inverse().translation;
            (placement.is_finite() && at.is_finite()).then_some((placement, at, mass))
        })
        .collect();
    let with_mass: Vec<_> = shared.iter().copied().filter(|(_, _, mass)| *mass > 0.0).collect();
    let shared = if with_mass.is_empty() { shared } else { with_mass };
    match common(&shared) {
        _ if shared.is_empty() => Shared::Nothing,
        Some(placement) if placement.inverse().is_finite() => Shared::Agree(snapped(placement, &[], &shared)),
        _ => Shared::Differ,
    }
}

/// The transform of the heaviest joint if all agree with it at their bind positions.
fn common(joints: &[(DAffine3, DVec3, f64)]) -> Option<DAffine3> {
    let mut heaviest = *joints.first()?;
    for joint in joints {
        if joint.2 > heaviest.2 {
            heaviest = *joint;
        }
    }
    joints.iter().all(|(transform, ..)| agrees(heaviest.0, *transform, joints)).then_some(heaviest.0)
}

/// Returns whether two transforms agree on the joints.
fn agrees(a: DAffine3, b: DAffine3, joints: &[(DAffine3, DVec3, f64)]) -> bool {
    let first = joints.first().map_or(DVec3::ZERO, |(_, at, _)| a.transform_point3(*at));
    let extent = joints.iter().map(|(_, at, _)| a.transform_point3(*at).distance(first)).fold(0.0, f64::max);
    let size = max_entry(a.matrix3);
    let near = |(_, at, _): &(DAffine3, DVec3, f64)| {
        // A single joint has no extent; its distance from the origin bounds the rounding of its matrix.
        let reach = extent.max(size * at.length()).max(a.translation.length()).max(1e-6 * size);
        a.transform_point3(*at).distance(b.transform_point3(*at)) <= SAME * reach
    };
    max_entry(a.matrix3 - b.matrix3) <= SAME * size && joints.iter().all(near)
}

fn max_entry(matrix: DMat3) -> f64 {
    matrix.to_cols_array().iter().fold(0.0, |size: f64, number| size.max(number.abs()))
}

/// The identity or the candidate that `placement` equals up to rounding; otherwise `placement`.
fn snapped(placement: DAffine3, candidates: &[DAffine3], joints: &[(DAffine3, DVec3, f64)]) -> DAffine3 {
    let known = std::iter::once(&DAffine3::IDENTITY).chain(candidates);
    known.copied().find(|&candidate| agrees(candidate, placement, joints)).unwrap_or(placement)
}

/// Placement of a single skin; see the [module](self).
fn placement(forest: &NodeForest<'_>, source: &SkinSource) -> DAffine3 {
    let joints = source.nodes.iter().zip(&source.inverse_binds).zip(&source.masses);
    let joints: Vec<(DAffine3, DVec3, f64)> = joints
        .map(|((&node, &inverse_bind), &mass)| {
            (forest.rest[node] * inverse_bind, inverse_bind.inverse().translation, mass)
        })
        .filter(|(transform, at, _)| transform.is_finite() && at.is_finite() && transform.matrix3.determinant() != 0.0)
        .collect();
    let with_mass: Vec<_> = joints.iter().copied().filter(|(_, _, mass)| *mass > 0.0).collect();
    let joints =
        if with_mass.is_empty() { joints.into_iter().map(|(c, at, _)| (c, at, 1.0)).collect() } else { with_mass };
    if joints.is_empty() {
        return DAffine3::IDENTITY;
    }
    if let Some(common) = common(&joints) {
        return snapped(common, &source.candidates, &joints);
    }
    let scale = median_scale(&joints);
    let mean = joints.iter().fold(DMat3::ZERO, |sum, (transform, _, mass)| sum + transform.matrix3 * *mass);
    let svd = svd3(mean);
    let rotation = svd.u * svd.v.transpose();
    let off =
        |linear: DMat3| (linear * scale.recip() - rotation).to_cols_array().iter().map(|x| x * x).sum::<f64>().sqrt();
    let usable = |candidate: &DAffine3| {
        let own = candidate.matrix3.determinant().abs().cbrt();
        candidate.is_finite() && (own - scale).abs() <= SAME_SCALE * scale
    };
    let candidates = std::iter::once(DAffine3::IDENTITY).chain(source.candidates.iter().copied());
    let candidates: Vec<(f64, DAffine3)> = candidates.filter(usable).map(|known| (off(known.matrix3), known)).collect();
    let least = candidates.iter().map(|(off, _)| *off).fold(f64::INFINITY, f64::min);
    if let Some((_, candidate)) = candidates.into_iter().find(|(off, _)| *off <= least + SAME_ROTATION) {
        return candidate;
    }
    let linear = along_axes(rotation) * scale;
    let heaviest = joints.iter().fold(joints[0], |most, joint| if joint.2 > most.2 { *joint } else { most });
    let (transform, at, _) = heaviest;
    DAffine3::from_mat3_translation(linear, transform.transform_point3(at) - linear * at)
}

/// The weighted median of the scales of the joints.
fn median_scale(joints: &[(DAffine3, DVec3, f64)]) -> f64 {
    let mut scales: Vec<(f64, f64)> =
        joints.iter().map(|(transform, _, mass)| (transform.matrix3.determinant().abs().cbrt(), *mass)).collect();
    scales.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * scales.iter().map(|(_, mass)| mass).sum::<f64>();
    let mut sum = 0.0;
    let middle = scales.iter().find(|(_, mass)| {
        sum += mass;
        sum >= half
    });
    middle.map_or(1.0, |(scale, _)| *scale)
}

/// The signed permutation of the axes that is nearest to `rotation`, which can be mirrored.
fn along_axes(rotation: DMat3) -> DMat3 {
    const AXES: [DVec3; 6] = [DVec3::X, DVec3::Y, DVec3::Z, DVec3::NEG_X, DVec3::NEG_Y, DVec3::NEG_Z];
    let mirrors = rotation.determinant() < 0.0;
    let mut best = (f64::NEG_INFINITY, DMat3::IDENTITY);
    for x in AXES {
        for y in AXES.into_iter().filter(|y| x.dot(*y) == 0.0) {
            let z = if mirrors { y.cross(x) } else { x.cross(y) };
            let overlap = x.dot(rotation.x_axis) + y.dot(rotation.y_axis) + z.dot(rotation.z_axis);
            if overlap > best.0 {
                best = (overlap, DMat3::from_cols(x, y, z));
            }
        }
    }
    best.1
}

/// Inverse bind matrices of all joints. That of a joint without a skin follows from the bind pose of its parent.
fn complete(
    forest: &NodeForest<'_>,
    nodes: &[usize],
    parents: &[Option<usize>],
    known: &[Option<DAffine3>],
) -> Vec<DAffine3> {
    let mut binds: Vec<Option<DAffine3>> = known.to_vec();
    // Joints that skins list can precede their parents, but they have bind matrices; all others follow their parents.
    for joint in 0..nodes.len() {
        if binds[joint].is_some() {
            continue;
        }
        let rest = forest.rest[nodes[joint]];
        let above = parents[joint].and_then(|parent| Some((binds[parent]?, forest.rest[nodes[parent]])));
        let bound = match above {
            // The inverse bind of the parent, then the inverse of the transform relative to the parent.
            Some((inverse_bind, parent)) => (parent.inverse() * rest).inverse() * inverse_bind,
            None => rest.inverse(),
        };
        binds[joint] = Some(if bound.is_finite() { bound } else { DAffine3::IDENTITY });
    }
    binds.into_iter().map(Option::unwrap_or_default).collect()
}

/// Factor that removes the scale of a bind transform.
pub(crate) fn unit_factor(inverse_bind: DAffine3) -> f64 {
    let factor = inverse_bind.matrix3.determinant().abs().cbrt();
    let is_usable = factor.is_finite() && factor.recip().is_finite() && factor > 0.0;
    if is_usable && (factor - 1.0).abs() > SAME { factor } else { 1.0 }
}
