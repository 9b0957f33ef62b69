//! Layers: the division of nodes into those that follow the pose and those that are simulated (Kim et al. 2017,
//! §4.2–4.3).
//!
//! The relative depth `d`, the relative distance field of the paper, is harmonic inside, 0 at the bones and `d_i` at skin
//! node i (Eq. 14–15). Nodes with `d > σ` are free, the domain of the finite elements; all others follow the pose. Posed
//! nodes that share an element with a free node are the boundary condition of the simulation: they are driven. Elements
//! without a free node are removed (§4.2).
//!
//! Deviations from the paper:
//! - Nodes with exactly `d = σ` are posed. The paper labels nodes "less than σ" as posed, but also states that `d = σ` on
//!   the skin leaves no node to the finite elements (§5.4), which excludes end effectors from the simulation.
//! - Bones have a radius ([`dermis_tet::bone_nodes`]): a line has zero capacity in space, and nodes on it alone hardly
//!   lower `d`.
//! - Edge weights are non-negative, so that `d` stays between 0 and the largest `d_i` ([`dermis_tet::harmonic`]).
//! - Regions of free nodes with fewer than three driven nodes could detach; they are posed instead and counted.
//!
//! `d_i`, the relative depth, is uniform, painted or given per point; [`flesh_thickness`] derives it from the body's
//! shape.

mod end_effectors;
mod flesh;
mod smooth;

use std::collections::BTreeSet;

use dermis_mesh::{Note, TetMesh};

pub use end_effectors::{END_EFFECTOR_NAMES, end_effector_joints, end_effector_vertices};
pub use flesh::{FleshOptions, FleshThickness, flesh_thickness};
pub use smooth::{SmoothOptions, smooth};

use dermis_tet::harmonic::{Harmonic, HarmonicError};

/// Threshold σ between posed and free nodes.
pub const THRESHOLD: f64 = 1.0;
/// Relative tolerance above the threshold that is attributed to rounding.
const THRESHOLD_MARGIN: f64 = 1e-6;
/// Minimum number of driven nodes of a connected region of flesh. With fewer, the region could rotate freely.
const MIN_ANCHORS: usize = 3;

/// Role of a node in the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeRole {
    /// Moved by the finite elements.
    Free,
    /// Moved by the pose, in an element with a free node.
    Driven,
    /// Moved by the pose, in no simulated element.
    Posed,
}

/// The factorized Laplace problem of Eq. 14–15 of one body.
#[derive(Debug)]
pub struct DistanceField {
    harmonic: Harmonic,
    skin_count: usize,
}

/// Layers of a body; see the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub struct Layers {
    /// Relative depth `d` of each node, 0 at the bones.
    pub field: Vec<f64>,
    /// Role of each node.
    pub roles: Vec<NodeRole>,
    /// Indices of the tetrahedra with at least one free node, ascending.
    pub elements: Vec<u32>,
    /// Number of all tetrahedra of the body.
    pub all_elements: usize,
    /// Number of nodes above the threshold that are posed because their region has too few driven nodes.
    pub unanchored_nodes: usize,
}

/// The simulated part of a body as a separate mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedMesh {
    /// Mesh of the simulated elements, with free nodes before driven nodes.
    pub mesh: TetMesh,
    /// Node of the body for each node of the mesh.
    pub nodes: Vec<u32>,
    /// Number of free nodes.
    pub free_count: usize,
}

/// Error of invalid relative depths.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LayersError {
    /// The number of depths differs from the number of skin nodes.
    #[error("{found} relative depths given for {expected} skin nodes; one per node is required")]
    Count {
        /// Number of depths.
        found: usize,
        /// Number of skin nodes.
        expected: usize,
    },
    /// A depth is negative or not finite.
    #[error("invalid relative depth {value} of skin node {node}: it must be finite and at least 0")]
    RelativeDepth {
        /// Index of the skin node.
        node: usize,
        /// The invalid depth.
        value: f64,
    },
}

impl DistanceField {
    /// Factorizes the field of `mesh`. Bone nodes that are also skin nodes are treated as skin.
    pub fn new(mesh: &TetMesh, skin: &[u32], bone_nodes: &[u32]) -> Result<Self, HarmonicError> {
        let of_skin: BTreeSet<u32> = skin.iter().copied().collect();
        let inner: BTreeSet<u32> = bone_nodes.iter().copied().filter(|node| !of_skin.contains(node)).collect();
        let fixed: Vec<u32> = skin.iter().copied().chain(inner).collect();
        Ok(Self { harmonic: Harmonic::new(mesh, &fixed)?, skin_count: skin.len() })
    }

    /// Skin nodes, in the order of their relative depths.
    pub fn skin(&self) -> &[u32] {
        &self.harmonic.fixed()[..self.skin_count]
    }

    /// Extends `columns` values per skin node to all nodes, to 0 at the bones (Eq. 14–15).
    pub(crate) fn extend(&self, skin: &[f64], columns: usize) -> Vec<f64> {
        let mut fixed = skin.to_vec();
        fixed.resize(self.harmonic.fixed().len() * columns, 0.0); // Eq. 15
        self.harmonic.extend(&fixed, columns) // Eq. 14
    }

    /// Computes the field `d` of all nodes from the relative depths of the skin (Eq. 14–15).
    pub fn solve(&self, relative_depths: &[f64]) -> Result<Vec<f64>, LayersError> {
        if relative_depths.len() != self.skin_count {
            return Err(LayersError::Count { found: relative_depths.len(), expected: self.skin_count });
        }
        if let Some(node) = relative_depths.iter().position(|value| !(value.is_finite() && *value >= 0.0)) {
            return Err(LayersError::RelativeDepth { node, value: relative_depths[node] });
        }
        let mut fixed = relative_depths.to_vec();
        fixed.resize(self.harmonic.fixed().len(), 0.0); // Eq. 15
        Ok(self.harmonic.extend_scalar(&fixed)) // Eq. 14
    }
}

impl Layers {
    /// Creates the layers of `mesh` for the relative depths `d_i` of the skin, with the [`THRESHOLD`] σ = 1.
    pub fn new(mesh: &TetMesh, field: &DistanceField, relative_depths: &[f64]) -> Result<Self, LayersError> {
        Ok(Self::from_field(mesh, field.solve(relative_depths)?))
    }

    /// Creates the layers for a given field `d` of all nodes.
    ///
    /// # Panics
    /// If the number of values differs from the number of nodes.
    pub fn from_field(mesh: &TetMesh, field: Vec<f64>) -> Self {
        assert_eq!(field.len(), mesh.nodes().len(), "one value per node");
        let mut free: Vec<bool> = field.iter().map(|&value| value > THRESHOLD * (1.0 + THRESHOLD_MARGIN)).collect();
        let unanchored_nodes = pose_unanchored(mesh, &mut free);
        let mut roles: Vec<NodeRole> =
            free.iter().map(|&free| if free { NodeRole::Free } else { NodeRole::Posed }).collect();
        let mut elements = Vec::new();
        for (index, tetrahedron) in (0..).zip(mesh.tetrahedra()) {
            if tetrahedron.iter().any(|&node| free[node as usize]) {
                elements.push(index);
                for &node in tetrahedron.iter().filter(|&&node| !free[node as usize]) {
                    roles[node as usize] = NodeRole::Driven;
                }
            }
        }
        Self { field, roles, elements, all_elements: mesh.tetrahedra().len(), unanchored_nodes }
    }

    /// Number of nodes with a role.
    pub fn count(&self, role: NodeRole) -> usize {
        self.roles.iter().filter(|&&other| other == role).count()
    }

    /// Fraction of the elements that are simulated.
    pub fn element_fraction(&self) -> f64 {
        self.elements.len() as f64 / self.all_elements.max(1) as f64
    }

    /// Fraction of the nodes that are free or driven.
    pub fn node_fraction(&self) -> f64 {
        1.0 - self.count(NodeRole::Posed) as f64 / self.roles.len().max(1) as f64
    }

    /// Posed nodes that are not part of the `skin`, ascending. They are neither simulated nor visible (§4.2).
    pub fn removed_nodes(&self, skin: &[u32]) -> Vec<u32> {
        let of_skin: BTreeSet<u32> = skin.iter().copied().collect();
        let posed = (0..).zip(&self.roles).filter(|(_, role)| **role == NodeRole::Posed).map(|(node, _)| node);
        posed.filter(|node| !of_skin.contains(node)).collect()
    }

    /// Extracts the simulated elements as a separate mesh.
    ///
    /// # Panics
    /// If `mesh` is not the body of these layers.
    pub fn simulated(&self, mesh: &TetMesh) -> SimulatedMesh {
        let with =
            |role: NodeRole| (0..).zip(&self.roles).filter(move |(_, other)| **other == role).map(|(node, _)| node);
        let nodes: Vec<u32> = with(NodeRole::Free).chain(with(NodeRole::Driven)).collect();
        let mut indices = vec![0; self.roles.len()];
        for (index, &node) in (0..).zip(&nodes) {
            indices[node as usize] = index;
        }
        let positions = nodes.iter().map(|&node| mesh.nodes()[node as usize]).collect();
        let renumbered = |&element: &u32| mesh.tetrahedra()[element as usize].map(|node| indices[node as usize]);
        let tetrahedra = self.elements.iter().map(renumbered).collect();
        let mesh = TetMesh::new(positions, tetrahedra).expect("a part of a valid mesh is valid");
        SimulatedMesh { mesh, nodes, free_count: self.count(NodeRole::Free) }
    }

    /// Notes about unanchored nodes and empty layers.
    pub fn notes(&self) -> Vec<Note> {
        let count = self.unanchored_nodes;
        let unanchored = || Note::new(format!("{count} nodes are not connected to a bone and follow the pose"));
        let nothing = || Note::new("nothing is simulated: no node is above the threshold; raise the relative depth");
        let unanchored = (count > 0).then(unanchored);
        unanchored.into_iter().chain(self.elements.is_empty().then(nothing)).collect()
    }
}

/// Clears `free` for connected regions with fewer than [`MIN_ANCHORS`] posed neighbours, and returns the number of
/// affected nodes.
fn pose_unanchored(mesh: &TetMesh, free: &mut [bool]) -> usize {
    let mut regions = DisjointSets::new(free.len());
    for tetrahedron in mesh.tetrahedra() {
        let mut members = tetrahedron.iter().copied().filter(|&node| free[node as usize]);
        if let Some(first) = members.next() {
            members.for_each(|node| regions.join(first, node));
        }
    }
    let mut anchors: Vec<Vec<u32>> = vec![Vec::new(); free.len()];
    for tetrahedron in mesh.tetrahedra() {
        let Some(&member) = tetrahedron.iter().find(|&&node| free[node as usize]) else { continue };
        let held = &mut anchors[regions.root(member) as usize];
        for &node in tetrahedron.iter().filter(|&&node| !free[node as usize]) {
            if held.len() < MIN_ANCHORS && !held.contains(&node) {
                held.push(node);
            }
        }
    }
    let mut count = 0;
    for node in 0..free.len() {
        if free[node] && anchors[regions.root(node as u32) as usize].len() < MIN_ANCHORS {
            free[node] = false;
            count += 1;
        }
    }
    count
}

/// Disjoint sets of nodes (union–find).
struct DisjointSets {
    parents: Vec<u32>,
}

impl DisjointSets {
    fn new(count: usize) -> Self {
        Self { parents: (0..count as u32).collect() }
    }

    fn root(&mut self, mut node: u32) -> u32 {
        while self.parents[node as usize] != node {
            let above = self.parents[self.parents[node as usize] as usize];
            self.parents[node as usize] = above;
            node = above;
        }
        node
    }

    fn join(&mut self, a: u32, b: u32) {
        let [a, b] = [self.root(a), self.root(b)];
        self.parents[a.max(b) as usize] = a.min(b);
    }
}
