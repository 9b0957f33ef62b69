//! Layers: which nodes follow the pose and which are simulated (Kim et al. 2017, §4.2–4.3).
//!
//! The relative distance field `d` is harmonic inside, 0 at the bones and `d_i` at skin node i (Eq. 14–15). Nodes with
//! `d > σ` are free, the domain of the finite elements; the others follow the pose. Of these only the ones that share an
//! element with a free node matter to the simulation: they drive it. All elements without a free node are removed (§4.2).
//!
//! Where we deviate, and why:
//! - Nodes with exactly `d = σ` are posed. The paper says "less than σ", but also that `d = σ` on the skin leaves no node to
//!   the finite elements (§5.4), which is how end effectors are kept out.
//! - Bones have a radius ([`bone_nodes`]): a line has no capacity in space, and points on it hardly pull `d` down.
//! - Edge weights are non-negative, so that `d` stays between 0 and the largest `d_i` ([`dermis_tet::harmonic`]).
//! - Free nodes that hang from fewer than three driven ones would fly off; they are posed instead and counted.
//!
//! `d_i` may be uniform, painted or given per vertex; [`flesh_thickness`] finds one from the body's shape.

mod end_effectors;
mod flesh;
mod smooth;

use std::collections::BTreeSet;

use dermis_mesh::{Note, TetMesh};

pub use end_effectors::{END_EFFECTOR_NAMES, end_effector_joints, end_effector_vertices};
pub use flesh::{FleshOptions, FleshThickness, flesh_thickness};
pub use smooth::{SmoothOptions, smooth};

use dermis_tet::harmonic::{Harmonic, HarmonicError};

/// The threshold σ between posed and free nodes.
pub const THRESHOLD: f64 = 1.0;
/// A uniform `d` on the skin that leaves a layer of useful thickness on a body.
pub const UNIFORM_THICKNESS: f64 = 1.2;
/// Values above the threshold by less than this part of it are rounding.
const MARGIN: f64 = 1e-6;
/// Fewer driven nodes cannot hold a piece of flesh: it could still turn.
const ANCHORS: usize = 3;

/// What moves a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeRole {
    /// The finite elements.
    Free,
    /// The pose; it drives an element with a free node.
    Driven,
    /// The pose; no simulated element has it.
    Posed,
}

/// The prepared Laplace problem of Eq. 14–15 of one body.
#[derive(Debug)]
pub struct DistanceField {
    harmonic: Harmonic,
    skin_count: usize,
}

/// The layers of a body; see the [module](self).
#[derive(Debug, Clone, PartialEq)]
pub struct Layers {
    /// The relative distance of each node, 0 at the bones.
    pub field: Vec<f64>,
    /// What moves each node.
    pub roles: Vec<NodeRole>,
    /// The tetrahedra with at least one free node, ascending.
    pub elements: Vec<u32>,
    /// The number of all tetrahedra of the body.
    pub all_elements: usize,
    /// Free nodes that had too few driven ones to hang from and are posed instead.
    pub unanchored_nodes: usize,
}

/// The simulated part of a body as a mesh of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct SimulatedMesh {
    /// Free nodes first, then driven ones, and the elements between them.
    pub mesh: TetMesh,
    /// The node of the body that each node is.
    pub nodes: Vec<u32>,
    /// How many nodes are free.
    pub free_count: usize,
}

/// Why a body has no layers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LayersError {
    /// There is not one value per skin node.
    #[error("there are {found} values, but the skin has {expected} nodes")]
    Count {
        /// How many values there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A value is not a finite number that is at least 0.
    #[error("skin vertex {vertex} has the thickness {value}; it must be finite and at least 0")]
    Thickness {
        /// The offending vertex.
        vertex: usize,
        /// Its value.
        value: f64,
    },
}

impl DistanceField {
    /// Prepares the field of `mesh`; bone nodes that are skin nodes too belong to the skin.
    pub fn new(mesh: &TetMesh, skin: &[u32], bone_nodes: &[u32]) -> Result<Self, HarmonicError> {
        let of_skin: BTreeSet<u32> = skin.iter().copied().collect();
        let inner: BTreeSet<u32> = bone_nodes.iter().copied().filter(|node| !of_skin.contains(node)).collect();
        let fixed: Vec<u32> = skin.iter().copied().chain(inner).collect();
        Ok(Self { harmonic: Harmonic::new(mesh, &fixed)?, skin_count: skin.len() })
    }

    /// The skin nodes, in the order of their values.
    pub fn skin(&self) -> &[u32] {
        &self.harmonic.fixed()[..self.skin_count]
    }

    /// The field `d` of all nodes for the values of the skin (Eq. 14–15).
    pub fn solve(&self, skin_values: &[f64]) -> Result<Vec<f64>, LayersError> {
        if skin_values.len() != self.skin_count {
            return Err(LayersError::Count { found: skin_values.len(), expected: self.skin_count });
        }
        if let Some(vertex) = skin_values.iter().position(|value| !(value.is_finite() && *value >= 0.0)) {
            return Err(LayersError::Thickness { vertex, value: skin_values[vertex] });
        }
        let mut fixed = skin_values.to_vec();
        fixed.resize(self.harmonic.fixed().len(), 0.0);
        Ok(self.harmonic.extend_scalar(&fixed))
    }
}

impl Layers {
    /// The layers of `mesh` for the values `d_i` of the skin, with the [`THRESHOLD`] σ = 1.
    pub fn new(mesh: &TetMesh, field: &DistanceField, skin_values: &[f64]) -> Result<Self, LayersError> {
        Ok(Self::from_field(mesh, field.solve(skin_values)?))
    }

    /// The layers that a field of all nodes gives.
    ///
    /// # Panics
    /// If there is not one value per node.
    pub fn from_field(mesh: &TetMesh, field: Vec<f64>) -> Self {
        assert_eq!(field.len(), mesh.nodes().len(), "a field has a value for each node");
        let mut free: Vec<bool> = field.iter().map(|&value| value > THRESHOLD * (1.0 + MARGIN)).collect();
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

    /// How many nodes have a role.
    pub fn count(&self, role: NodeRole) -> usize {
        self.roles.iter().filter(|&&other| other == role).count()
    }

    /// The part of the elements that is simulated.
    pub fn element_fraction(&self) -> f64 {
        self.elements.len() as f64 / self.all_elements.max(1) as f64
    }

    /// The part of the nodes that the simulation has: free and driven ones.
    pub fn node_fraction(&self) -> f64 {
        1.0 - self.count(NodeRole::Posed) as f64 / self.roles.len().max(1) as f64
    }

    /// The nodes that are neither simulated nor seen: posed ones that are not of the `skin`, ascending (§4.2).
    pub fn removed_nodes(&self, skin: &[u32]) -> Vec<u32> {
        let of_skin: BTreeSet<u32> = skin.iter().copied().collect();
        let posed = (0..).zip(&self.roles).filter(|(_, role)| **role == NodeRole::Posed).map(|(node, _)| node);
        posed.filter(|node| !of_skin.contains(node)).collect()
    }

    /// The simulated elements as a mesh of their own.
    ///
    /// # Panics
    /// If `mesh` is not the body that has these layers.
    pub fn simulated(&self, mesh: &TetMesh) -> SimulatedMesh {
        let with =
            |role: NodeRole| (0..).zip(&self.roles).filter(move |(_, other)| **other == role).map(|(node, _)| node);
        let nodes: Vec<u32> = with(NodeRole::Free).chain(with(NodeRole::Driven)).collect();
        let mut places = vec![0; self.roles.len()];
        for (place, &node) in (0..).zip(&nodes) {
            places[node as usize] = place;
        }
        let positions = nodes.iter().map(|&node| mesh.nodes()[node as usize]).collect();
        let renumbered = |&element: &u32| mesh.tetrahedra()[element as usize].map(|node| places[node as usize]);
        let tetrahedra = self.elements.iter().map(renumbered).collect();
        let mesh = TetMesh::new(positions, tetrahedra).expect("a part of a valid mesh is valid");
        SimulatedMesh { mesh, nodes, free_count: self.count(NodeRole::Free) }
    }

    /// What was changed to make the layers work.
    pub fn notes(&self) -> Vec<Note> {
        let count = self.unanchored_nodes;
        let unanchored = || Note::new(format!("{count} nodes have no bone to hang from and follow the pose"));
        let nothing = || Note::new("nothing is simulated: no thickness leaves flesh above the bones free");
        let unanchored = (count > 0).then(unanchored);
        unanchored.into_iter().chain(self.elements.is_empty().then(nothing)).collect()
    }
}

/// Takes pieces of free nodes that fewer than [`ANCHORS`] posed nodes hold out of `free`; returns how many nodes these are.
fn pose_unanchored(mesh: &TetMesh, free: &mut [bool]) -> usize {
    let mut pieces = Pieces::new(free.len());
    for tetrahedron in mesh.tetrahedra() {
        let mut members = tetrahedron.iter().copied().filter(|&node| free[node as usize]);
        if let Some(first) = members.next() {
            members.for_each(|node| pieces.join(first, node));
        }
    }
    let mut anchors: Vec<Vec<u32>> = vec![Vec::new(); free.len()];
    for tetrahedron in mesh.tetrahedra() {
        let Some(&member) = tetrahedron.iter().find(|&&node| free[node as usize]) else { continue };
        let held = &mut anchors[pieces.root(member) as usize];
        for &node in tetrahedron.iter().filter(|&&node| !free[node as usize]) {
            if held.len() < ANCHORS && !held.contains(&node) {
                held.push(node);
            }
        }
    }
    let mut count = 0;
    for node in 0..free.len() {
        if free[node] && anchors[pieces.root(node as u32) as usize].len() < ANCHORS {
            free[node] = false;
            count += 1;
        }
    }
    count
}

/// Disjoint sets of nodes.
struct Pieces {
    parents: Vec<u32>,
}

impl Pieces {
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
