//! The simulated part of a mesh, in the numbering of the simulator.
//!
//! Only elements with a free node are simulated (§4.2, "Efficient Computation"). Their other nodes are driven; all
//! remaining nodes are not part of the model. Mass is lumped: each corner receives a quarter of an element's mass.

use dermis_math::block_sparse::SymmetricBlocks;
use dermis_math::polar::polar_rotation;
use dermis_mesh::{Note, TetMesh};
use glam::{DMat3, DQuat, Vec3A};

use super::elements::{Element, Elements, Line, deformation_gradient};
use super::material::{Material, MaterialError};
use super::order::order_nodes;
use super::pattern::Pattern;

/// Six times the volume, relative to the cubed longest edge, at which an element counts as flat. The stiffness of a flat
/// element would exceed that of all others by orders of magnitude.
const FLATNESS: f64 = 1e-5;
/// Body sizes in metres that can be simulated in `f32`.
const SIZE_RANGE_M: std::ops::RangeInclusive<f32> = 1e-4..=1e5;
/// Maximum number of elements: contributions have 32-bit indices, sixteen per element.
const MAX_ELEMENTS: usize = 1 << 28;

/// Simulated elements and nodes, free nodes first.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) elements: Elements,
    pub(crate) pattern: Pattern,
    pub(crate) matrix: SymmetricBlocks,
    pub(crate) shapes: Vec<Element>,
    pub(crate) rest: Vec<Vec3A>,
    pub(crate) masses: Vec<f32>,
    /// Mean mass of the free nodes.
    pub(crate) mean_mass: f32,
    /// Mesh node of each simulated node.
    pub(crate) nodes: Vec<u32>,
    pub(crate) free_count: usize,
    mesh_node_count: usize,
    /// Free nodes on the boundary of the mesh.
    pub(crate) skin: Vec<u32>,
    /// λ/μ.
    pub(crate) ratio: f32,
    /// Diagonal of the bounding box, in metres.
    pub(crate) size: f32,
    pub(crate) notes: Vec<Note>,
}

/// Error of a mesh that cannot be simulated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// The material is invalid for the mesh.
    #[error(transparent)]
    Material(#[from] MaterialError),
    /// The number of flags differs from the number of nodes.
    #[error("{flags} free-node flags given for {nodes} nodes; one per node is required")]
    FlagCount {
        /// Number of flags.
        flags: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// No element has a free node.
    #[error("no tetrahedron of positive volume has a free node; mark nodes as free, or raise the relative depth")]
    NothingFree,
    /// The mesh is too large or too small for single precision.
    #[error("invalid size of the simulated part, {size_m} m: it must be between {} and {} m; scale the body to metres", SIZE_RANGE_M.start(), SIZE_RANGE_M.end())]
    Size {
        /// Diagonal of the bounding box, in metres.
        size_m: f32,
    },
    /// The number of elements exceeds the supported maximum.
    #[error("too many tetrahedra, {count}: at most {MAX_ELEMENTS} are supported")]
    TooMany {
        /// Number of elements.
        count: usize,
    },
}

impl Model {
    /// Creates the model of the elements of `mesh` that have a `free` node. `stabilization` makes stretched elements
    /// resist rotation and damps inverted ones, which Eq. 13 does not.
    pub fn new(mesh: &TetMesh, free: &[bool], material: &Material, stabilization: bool) -> Result<Self, ModelError> {
        let node_count = mesh.nodes().len();
        if free.len() != node_count {
            return Err(ModelError::FlagCount { flags: free.len(), nodes: node_count });
        }
        material.check(node_count)?;
        let has_free = |tetrahedron: &&[u32; 4]| tetrahedron.iter().any(|&node| free[node as usize]);
        let candidates: Vec<[u32; 4]> = mesh.tetrahedra().iter().filter(has_free).copied().collect();
        if candidates.len() > MAX_ELEMENTS {
            return Err(ModelError::TooMany { count: candidates.len() });
        }
        let solid: Vec<[u32; 4]> = candidates.iter().filter_map(|&nodes| positively_oriented(mesh, nodes)).collect();
        let mut notes = Vec::new();
        if solid.len() < candidates.len() {
            notes.push(Note::new(format!("{} flat tetrahedra are not simulated", candidates.len() - solid.len())));
        }
        let (nodes, free_count) = order_nodes(mesh, &solid, free);
        if free_count == 0 {
            return Err(ModelError::NothingFree);
        }
        let rest: Vec<Vec3A> = nodes.iter().map(|&node| mesh.nodes()[node as usize].into()).collect();
        let size = size_of(&rest);
        if !SIZE_RANGE_M.contains(&size) {
            return Err(ModelError::Size { size_m: size });
        }
        let shapes = shapes_of(mesh, &solid, &nodes);
        let (pattern, matrix) = Pattern::new(&shapes, free_count, nodes.len());
        let ratio = material.lame_ratio();
        let masses = lumped_masses(&shapes, nodes.len(), material.density_kg_per_m3);
        let moduli = shear_moduli(material, &shapes, &nodes);
        Ok(Self {
            elements: Elements::new(&shapes, &moduli, ratio, stabilization),
            pattern,
            matrix,
            mean_mass: mean(&masses[..free_count]),
            masses,
            skin: free_skin(mesh, &nodes[..free_count]),
            shapes,
            rest,
            nodes,
            free_count,
            mesh_node_count: node_count,
            ratio,
            size,
            notes,
        })
    }

    /// Sets the rotation of every element from the displacements, regardless of the previous rotation.
    pub(crate) fn reset_rotations(&mut self, displacements: &[Vec3A]) {
        let shapes = &self.shapes;
        self.elements.set_rotations(|index| {
            DQuat::from_mat3(&polar_rotation(deformation_gradient(&shapes[index], displacements)))
        });
    }

    pub(crate) fn set_material(&mut self, material: &Material) -> Result<(), MaterialError> {
        material.check(self.mesh_node_count)?;
        let moduli = shear_moduli(material, &self.shapes, &self.nodes);
        self.ratio = material.lame_ratio();
        self.elements.set_material(&self.shapes, &moduli, self.ratio);
        self.masses = lumped_masses(&self.shapes, self.nodes.len(), material.density_kg_per_m3);
        self.mean_mass = mean(&self.masses[..self.free_count]);
        Ok(())
    }

    /// Allocates the lines that [`Elements::update`] writes.
    pub(crate) fn lines(&self) -> Vec<Line> {
        vec![Line::default(); self.elements.line_count()]
    }
}

/// The tetrahedron with its nodes ordered for a positive volume, or `None` if it is flat.
fn positively_oriented(mesh: &TetMesh, nodes: [u32; 4]) -> Option<[u32; 4]> {
    let edges = edges(mesh, nodes);
    let [a, b, c] = [edges.x_axis, edges.y_axis, edges.z_axis];
    let longest = [a, b, c, b - a, c - a, c - b].iter().map(|edge| edge.length()).fold(0.0, f64::max);
    let volume = edges.determinant();
    if volume.abs() <= FLATNESS * longest.powi(3) {
        return None;
    }
    let [a, b, c, d] = nodes;
    Some(if volume > 0.0 { nodes } else { [b, a, c, d] })
}

fn edges(mesh: &TetMesh, nodes: [u32; 4]) -> DMat3 {
    let [a, b, c, d] = nodes.map(|node| mesh.nodes()[node as usize].as_dvec3());
    DMat3::from_cols(b - a, c - a, d - a)
}

/// Elements in the numbering of the simulator, sorted by their nodes.
fn shapes_of(mesh: &TetMesh, solid: &[[u32; 4]], nodes: &[u32]) -> Vec<Element> {
    let mut indices = vec![0; mesh.nodes().len()];
    for (index, &node) in (0..).zip(nodes) {
        indices[node as usize] = index;
    }
    let mut sorted: Vec<_> =
        solid.iter().map(|&tetrahedron| (tetrahedron.map(|node| indices[node as usize]), tetrahedron)).collect();
    sorted.sort_by_key(|(renumbered, _)| {
        let mut key = *renumbered;
        key.sort_unstable();
        key
    });
    let shape = |(nodes, tetrahedron): ([u32; 4], [u32; 4])| {
        let edges = edges(mesh, tetrahedron);
        Element { nodes, inverse: edges.inverse(), volume: edges.determinant() / 6.0 }
    };
    sorted.into_iter().map(shape).collect()
}

fn shear_moduli(material: &Material, shapes: &[Element], nodes: &[u32]) -> Vec<f32> {
    shapes.iter().map(|shape| material.shear_modulus(shape.nodes.map(|node| nodes[node as usize]))).collect()
}

fn lumped_masses(shapes: &[Element], node_count: usize, density: f32) -> Vec<f32> {
    let mut masses = vec![0.0; node_count];
    for shape in shapes {
        for node in shape.nodes {
            masses[node as usize] += 0.25 * f64::from(density) * shape.volume;
        }
    }
    masses.into_iter().map(|mass| mass as f32).collect()
}

fn mean(masses: &[f32]) -> f32 {
    (masses.iter().map(|&mass| f64::from(mass)).sum::<f64>() / masses.len() as f64) as f32
}

fn free_skin(mesh: &TetMesh, free: &[u32]) -> Vec<u32> {
    let mut is_skin = vec![false; mesh.nodes().len()];
    for node in mesh.boundary().into_iter().flatten() {
        is_skin[node as usize] = true;
    }
    (0..free.len() as u32).filter(|&node| is_skin[free[node as usize] as usize]).collect()
}

fn size_of(rest: &[Vec3A]) -> f32 {
    let start = (Vec3A::splat(f32::MAX), Vec3A::splat(f32::MIN));
    let (low, high) = rest.iter().fold(start, |(low, high), x| (low.min(*x), high.max(*x)));
    (high - low).length()
}
