//! The joint tree of fitted bones (after Le & Deng 2014, *Robust and accurate skeletal rigging from mesh sequences*).
//!
//! Two bones that touch are joined at the point that both move in the same way over all frames of all clips: `c_ab =
//! argmin Σ_t ‖T_a^t c − T_b^t c‖² + λ ‖c − m_ab‖²`, with m the mean of their contact, which determines the position
//! along the axis of a hinge and for bones that do not rotate relative to each other. The residual r of that point and
//! the contact o (products of weights over the edges of the surface, relative to the smaller of the two bones' sums)
//! give the cost `(r + r₀) / √o` of the joint; a minimum spanning tree of the costs is the hierarchy. If the rest pose
//! has a mirror plane, the costs of joints within the plane are reduced, and those of joints across it increased, so that
//! spines are connected and mirrored limbs are branches ([`IN_PLANE`], [`ACROSS`]). Bones of shells that do not touch are
//! joined by proximity if their residual is small; otherwise the result is a forest. A bone without a common point with
//! its parent ([`MAX_JOINT_RESIDUAL`]), as in cloth, keeps its own translation.
//!
//! All positions are in the normalized units of [`Trajectories`], in which the rest pose has RMS radius 1.

mod fixed_offsets;
mod names;
mod root;

use glam::{DAffine3, DMat3, DQuat, DVec3};

pub(super) use fixed_offsets::{FixedOffsets, solve_fixed_offsets, solve_rotations};
use names::joint_names;
pub(super) use names::{Mirror, find_mirror};
use root::find_root;

use super::state::State;
use super::surface::Surface;
use super::trajectories::Trajectories;
use super::transforms::affine_at;
use dermis_mesh::{Joint, Rig};

/// λ, relative to the mean curvature of the residual.
const PULL: f64 = 1e-2;
/// Largest distance of a joint from the mean of the contact, relative to the spread of the contact.
const MAX_REACH: f64 = 1.0;
/// Distance added to this limit, because contacts can be single edges.
const MIN_REACH: f64 = 0.05;
/// r₀: residuals below this do not distinguish joints.
const SMALL_RESIDUAL: f64 = 0.01;
/// Largest residual of a joint between shells that do not touch.
const MAX_BRIDGE_RESIDUAL: f64 = 0.05;
/// Largest residual of a joint.
const MAX_JOINT_RESIDUAL: f64 = 0.05;

/// Factor of the cost of a joint between two bones on the mirror plane: the spine of a symmetric character is connected, and
/// its limbs are branches.
const IN_PLANE: f64 = 0.5;
/// Factor of the cost of a joint between bones on opposite sides of the mirror plane: limbs that touch, such as the thighs,
/// are joined to the spine, not to each other.
const ACROSS: f64 = 4.0;

/// Motion that the joints of a skeleton allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkeletonKind {
    /// Bones have parents and pivots at their joints, and keep their own translations.
    Free,
    /// Rotations about joints with fixed offsets; only roots translate.
    Fixed,
}

/// Report of a skeleton.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SkeletonReport {
    /// Number of joints.
    pub joints: usize,
    /// Number of roots; more than one is a forest.
    pub roots: usize,
    /// Distortion of the same bones without the skeleton.
    pub distortion_percent_free: f64,
    /// Number of bones that have no common point with their parent and keep their own translation.
    pub without_joint: usize,
    /// True if the rest pose has a mirror plane, from which the sides in joint names are derived.
    pub is_symmetric: bool,
}

/// Parents and joints of bones.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Skeleton {
    pub(super) parents: Vec<Option<usize>>,
    /// Position of each bone's joint in the rest pose.
    pub(super) positions: Vec<DVec3>,
    /// Root mean square residual of each joint, relative to the RMS radius of the rest pose; 0 for roots.
    pub(super) residuals: Vec<f64>,
}

/// A possible joint of two bones.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    bones: [usize; 2],
    position: DVec3,
    residual: f64,
    cost: f64,
}

/// Finds the joint tree of the bones of `state`.
pub(super) fn find_skeleton(
    trajectories: &Trajectories,
    state: &State,
    surface: &Surface,
    mirror: Option<Mirror>,
) -> Skeleton {
    let bones = state.bone_count();
    let means = mean_positions(state, &masses(state));
    let mut candidates = candidates(trajectories, state, surface);
    if let Some(mirror) = mirror {
        for candidate in &mut candidates {
            candidate.cost *= symmetry_factor(mirror, candidate.bones.map(|bone| means[bone]));
        }
    }
    candidates.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.bones.cmp(&b.bones)));
    // Kruskal.
    let mut groups: Vec<usize> = (0..bones).collect();
    let mut links: Vec<Vec<(usize, Candidate)>> = vec![Vec::new(); bones];
    for candidate in candidates {
        let [a, b] = candidate.bones;
        if groups[a] != groups[b] {
            let (from, to) = (groups[a].max(groups[b]), groups[a].min(groups[b]));
            groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
            links[a].push((b, candidate));
            links[b].push((a, candidate));
        }
    }
    let mut parents = vec![None; bones];
    let mut positions = means.clone();
    let areas = areas(state, surface);
    let mut residuals = vec![0.0; bones];
    for tree in (0..bones).filter(|&bone| groups[bone] == bone) {
        let members: Vec<usize> = (0..bones).filter(|&bone| groups[bone] == tree).collect();
        let root = find_root(&members, &links, &areas, &means, mirror);
        for (bone, parent, joint) in descend(root, &links) {
            parents[bone] = Some(parent);
            positions[bone] = joint.position;
            residuals[bone] = joint.residual;
        }
    }
    Skeleton { parents, positions, residuals }
}

/// Factor of the cost of a joint between two bones with these mean positions.
fn symmetry_factor(mirror: Mirror, means: [DVec3; 2]) -> f64 {
    match means.map(|mean| mirror.sign(mean)) {
        [0.0, 0.0] => IN_PLANE,
        [a, b] if a * b < 0.0 => ACROSS,
        _ => 1.0,
    }
}

fn masses(state: &State) -> Vec<f64> {
    let mut masses = vec![0.0; state.bone_count()];
    for influences in &state.influences {
        influences.iter().for_each(|(bone, weight)| masses[bone] += weight);
    }
    masses
}

/// Area of the surface that each bone moves, by weight.
fn areas(state: &State, surface: &Surface) -> Vec<f64> {
    let mut areas = vec![0.0; state.bone_count()];
    for triangle in surface.triangles.iter().map(|triangle| triangle.map(|point| point as usize)) {
        let [a, b, c] = triangle.map(|point| state.rest[point]);
        let area = (b - a).cross(c - a).length() / 6.0;
        for point in triangle {
            state.influences[point].iter().for_each(|(bone, weight)| areas[bone] += weight * area);
        }
    }
    areas
}

/// The weighted mean of each bone's points.
fn mean_positions(state: &State, masses: &[f64]) -> Vec<DVec3> {
    let mut sums = vec![DVec3::ZERO; masses.len()];
    for (influences, rest) in state.influences.iter().zip(&state.rest) {
        influences.iter().for_each(|(bone, weight)| sums[bone] += weight * *rest);
    }
    sums.iter().zip(masses).map(|(sum, mass)| if *mass > 0.0 { *sum / *mass } else { DVec3::ZERO }).collect()
}

/// Joints of all pairs of bones that touch, or that a bridge between shells joins.
fn candidates(trajectories: &Trajectories, state: &State, surface: &Surface) -> Vec<Candidate> {
    let bones = state.bone_count();
    let touching = contacts(state, &surface.graph.edges);
    let bridged = contacts(state, &surface.graph.bridges);
    let mut sums = vec![0.0; bones];
    for (pair, contact) in touching.iter().enumerate() {
        sums[pair / bones] += contact.weight;
    }
    let mut candidates = Vec::new();
    for a in 0..bones {
        for b in a + 1..bones {
            let (touch, bridge) = (touching[a * bones + b], bridged[a * bones + b]);
            let is_touching = touch.weight > 0.0;
            let contact = if is_touching { touch } else { bridge };
            if contact.weight <= 0.0 {
                continue;
            }
            let (position, residual) = common_point(trajectories, state, [a, b], &contact);
            let fraction = if is_touching { touch.weight / sums[a].min(sums[b]).max(touch.weight) } else { 1.0 };
            if is_touching || residual <= MAX_BRIDGE_RESIDUAL {
                let cost = (residual + SMALL_RESIDUAL) / fraction.sqrt();
                candidates.push(Candidate { bones: [a, b], position, residual, cost });
            }
        }
    }
    candidates
}

/// Contact of two bones: sums over edges of the products of their weights at both ends.
#[derive(Debug, Clone, Copy, Default)]
struct Contact {
    weight: f64,
    /// Weighted sum of the middles of the edges.
    sum: DVec3,
    /// Weighted sum of their squared lengths.
    squares: f64,
}

impl Contact {
    fn mean(&self) -> DVec3 {
        self.sum / self.weight
    }

    /// Root mean square distance from the mean.
    fn spread(&self) -> f64 {
        (self.squares / self.weight - self.mean().length_squared()).max(0.0).sqrt()
    }
}

/// Contact of each pair of bones over `edges`.
fn contacts(state: &State, edges: &[[u32; 2]]) -> Vec<Contact> {
    let bones = state.bone_count();
    let mut contacts = vec![Contact::default(); bones * bones];
    for &[i, j] in edges {
        let (i, j) = (i as usize, j as usize);
        let middle = 0.5 * (state.rest[i] + state.rest[j]);
        for (a, weight_a) in state.influences[i].iter() {
            for (b, weight_b) in state.influences[j].iter().filter(|entry| entry.0 != a) {
                let weight = weight_a * weight_b;
                for pair in [a * bones + b, b * bones + a] {
                    contacts[pair].weight += weight;
                    contacts[pair].sum += weight * middle;
                    contacts[pair].squares += weight * middle.length_squared();
                }
            }
        }
    }
    contacts
}

/// Point near a contact that two bones move alike, and its root mean square residual.
fn common_point(trajectories: &Trajectories, state: &State, [a, b]: [usize; 2], contact: &Contact) -> (DVec3, f64) {
    let frames = trajectories.frame_count();
    let middle = contact.mean();
    let difference = |frame: usize| {
        let (first, second) = (affine_at(&state.transforms, frame, a), affine_at(&state.transforms, frame, b));
        let column = |k: usize| first[k] - second[k];
        let linear = DMat3::from_cols(column(0), column(1), column(2));
        // About the contact, so that the unknown is small.
        (linear, linear * middle + column(3))
    };
    let (mut normal, mut right) = (DMat3::ZERO, DVec3::ZERO);
    for (linear, offset) in (0..frames).map(difference) {
        normal += linear.transpose() * linear;
        right -= linear.transpose() * offset;
    }
    let pull = PULL * (normal.x_axis.x + normal.y_axis.y + normal.z_axis.z) / 3.0 + f64::MIN_POSITIVE;
    let moved = (normal + DMat3::from_diagonal(DVec3::splat(pull))).inverse() * right;
    let reach = MAX_REACH * contact.spread() + MIN_REACH;
    let moved = if moved.is_finite() { moved.clamp_length_max(reach) } else { DVec3::ZERO };
    let squares = (0..frames).map(difference).map(|(linear, offset)| (linear * moved + offset).length_squared());
    (middle + moved, (squares.sum::<f64>() / frames.max(1) as f64).sqrt())
}

/// The bones below `root` with their parents and joints, parents first.
fn descend(root: usize, links: &[Vec<(usize, Candidate)>]) -> Vec<(usize, usize, Candidate)> {
    let mut found = Vec::new();
    let mut open = std::collections::VecDeque::from([(root, usize::MAX)]);
    while let Some((bone, from)) = open.pop_front() {
        for &(other, joint) in links[bone].iter().filter(|(other, _)| *other != from) {
            found.push((other, bone, joint));
            open.push_back((other, bone));
        }
    }
    found
}

impl Skeleton {
    /// The skeleton of a rig in its bind pose.
    pub(super) fn of_rig(rig: &Rig, trajectories: &Trajectories) -> Self {
        let position = |joint: &Joint| {
            let position = joint.bind().translation;
            let position = if position.is_finite() { position } else { DVec3::ZERO };
            (position - trajectories.centre) / trajectories.scale
        };
        Self {
            parents: rig.joints().iter().map(|joint| joint.parent).collect(),
            positions: rig.joints().iter().map(position).collect(),
            residuals: vec![0.0; rig.joints().len()],
        }
    }

    /// The number of roots.
    pub(super) fn root_count(&self) -> usize {
        self.parents.iter().filter(|parent| parent.is_none()).count()
    }

    /// Parent of `bone` if both share a joint.
    pub(super) fn attached_to(&self, bone: usize) -> Option<usize> {
        self.parents[bone].filter(|_| self.residuals[bone] <= MAX_JOINT_RESIDUAL)
    }

    /// Number of bones that have a parent and no joint with it.
    pub(super) fn without_joint(&self) -> usize {
        (0..self.parents.len()).filter(|&bone| self.parents[bone] != self.attached_to(bone)).count()
    }

    /// The bones, each after its parent.
    pub(super) fn parents_first(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.parents.len()).filter(|&bone| self.parents[bone].is_none()).collect();
        let mut next = 0;
        while next < order.len() {
            let parent = order[next];
            order.extend((0..self.parents.len()).filter(|&bone| self.parents[bone] == Some(parent)));
            next += 1;
        }
        order
    }

    /// Joints in the units of the input: bound at their positions, y towards their children, or towards the middle of
    /// their points if they have none.
    pub(super) fn joints(&self, trajectories: &Trajectories, state: &State, mirror: Option<Mirror>) -> Vec<Joint> {
        let means = mean_positions(state, &masses(state));
        let names = joint_names(self, &means, mirror);
        let joint = |bone: usize| {
            let children: Vec<DVec3> = (0..self.parents.len())
                .filter(|&other| self.parents[other] == Some(bone))
                .map(|other| self.positions[other])
                .collect();
            let target =
                if children.is_empty() { means[bone] } else { children.iter().sum::<DVec3>() / children.len() as f64 };
            let direction = (target - self.positions[bone]).try_normalize().unwrap_or(DVec3::Y);
            let position = (self.positions[bone] * trajectories.scale + trajectories.centre).as_vec3().as_dvec3();
            let rotation = DQuat::from_rotation_arc(DVec3::Y, direction).as_quat().normalize().as_dquat();
            let bind = DAffine3::from_rotation_translation(rotation.normalize(), position);
            Joint::at(names[bone].clone(), self.parents[bone], bind)
        };
        (0..self.parents.len()).map(joint).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrored_limbs_are_joined_to_the_spine_and_not_to_each_other() {
        let mirror = Mirror::at(0, 0.0);
        let (spine, chest, left, right) = (DVec3::ZERO, DVec3::Y, DVec3::X, DVec3::NEG_X);
        let factor = |a: DVec3, b: DVec3| symmetry_factor(mirror, [a, b]);
        assert!(factor(spine, chest) < factor(spine, left), "the spine is connected first");
        assert!((factor(spine, left) - factor(right, spine)).abs() < 1e-12, "both sides are treated alike");
        assert!(factor(left, right) > factor(spine, left) && factor(left, left + DVec3::Y) <= factor(spine, left));
    }
}
