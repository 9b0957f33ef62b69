//! Discretization of the fit: nodes, integration points and the sparsity of the matrix, in `f64`.
//!
//! An integration point stores the nodes of its element and the derivatives `N'_i` of their shape functions in the
//! reference element. With `D_s = Σ x_i ⊗ N'_i` and `D_m = Σ X_i ⊗ N'_i`, the deformation gradient is `F = D_s D_m⁻¹` for
//! every order of element, so that force, stiffness and adjoint are written once.
//!
//! Linear tetrahedra are those of [`crate::fem`]. They lock: they are too stiff in bending on coarse grids. Quadratic
//! tetrahedra (ten nodes, four points) do not, and give the same modulus on all grids. Masses are lumped: a quarter per
//! corner, and in quadratic elements 1/36 per corner and 4/27 per edge node (Hinton, Rock & Zienkiewicz 1976).

use std::collections::BTreeMap;

use dermis_mesh::TetMesh;
use glam::{DMat3, DVec3};

use crate::fem::ModelError;

/// Edges of a tetrahedron, in the order of the edge nodes of a quadratic element.
const EDGES: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
/// Barycentric coordinates of the four points that integrate quadratic functions exactly.
const NEAR: f64 = 0.585_410_196_624_968_5;
const FAR: f64 = 0.138_196_601_125_010_5;
/// Six times the volume, relative to the cubed longest edge, at which an element counts as flat.
const FLATNESS: f64 = 1e-5;
/// Marks a pair of nodes without a block in the matrix.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// Order of the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Four nodes and one point, as simulated by [`crate::dynamics`].
    #[default]
    Linear,
    /// Ten nodes and four points; free of locking, and about ten times as expensive per element.
    Quadratic,
}

/// Nodes, integration points and matrix structure of a simulated mesh; free nodes come first.
#[derive(Debug, Clone)]
pub struct FitModel {
    /// Node of the mesh for each node; edge nodes of quadratic elements are numbered after the nodes of the mesh.
    pub nodes: Vec<u32>,
    /// Rest positions in metres.
    pub rest: Vec<DVec3>,
    /// Number of free nodes.
    pub free_count: usize,
    /// Corners of each element.
    pub(super) corners: Vec<[u32; 4]>,
    /// Nodes of each element, `nodes_per_element` each.
    pub(super) element_nodes: Vec<u32>,
    pub(super) nodes_per_element: usize,
    /// Derivatives of the shape functions at each point of the reference element.
    pub(super) derivatives: Vec<Vec<DVec3>>,
    /// Fraction of the mass of an element at each of its nodes.
    pub(super) mass_fractions: Vec<f64>,
    /// Block of the matrix for each pair of nodes of each element, or [`NO_SLOT`].
    pub(super) slots: Vec<u32>,
    /// Sparse rows of the free nodes.
    pub(super) starts: Vec<u32>,
    pub(super) columns: Vec<u32>,
    /// Driven node, counted from the first, to whose velocity the damping of each free node is relative.
    pub(super) nearest_driven: Vec<u32>,
    order: Order,
}

/// A point of the mesh as a combination of nodes; see [`FitModel::attach`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attachment {
    /// Nodes and weights, which sum to 1.
    pub weights: Vec<(u32, f64)>,
}

impl FitModel {
    /// Creates the model of the elements of `mesh` with a `free` node; their other nodes are driven. An edge node is free
    /// if one of its ends is.
    pub fn new(mesh: &TetMesh, free: &[bool], order: Order) -> Result<Self, ModelError> {
        if free.len() != mesh.nodes().len() {
            return Err(ModelError::FlagCount { flags: free.len(), nodes: mesh.nodes().len() });
        }
        let mut positions: Vec<DVec3> = mesh.nodes().iter().map(|node| node.as_dvec3()).collect();
        let mut is_free = free.to_vec();
        let mut elements: Vec<Vec<u32>> = Vec::new();
        let mut middles: BTreeMap<[u32; 2], u32> = BTreeMap::new();
        for &tetrahedron in mesh.tetrahedra() {
            let Some(corners) = simulated(tetrahedron, &positions, free) else { continue };
            let mut nodes = corners.to_vec();
            if order == Order::Quadratic {
                for [a, b] in EDGES {
                    let (a, b) = (corners[a], corners[b]);
                    let node = *middles.entry([a.min(b), a.max(b)]).or_insert_with(|| {
                        positions.push((positions[a as usize] + positions[b as usize]) * 0.5);
                        is_free.push(free[a as usize] || free[b as usize]);
                        positions.len() as u32 - 1
                    });
                    nodes.push(node);
                }
            }
            elements.push(nodes);
        }
        if elements.is_empty() {
            return Err(ModelError::NothingFree);
        }
        Ok(Self::numbered(&positions, &is_free, &elements, order))
    }

    fn numbered(positions: &[DVec3], is_free: &[bool], elements: &[Vec<u32>], order: Order) -> Self {
        let mut used = vec![false; positions.len()];
        elements.iter().flatten().for_each(|&node| used[node as usize] = true);
        let with = |free: bool| -> Vec<u32> {
            let wanted = |&node: &u32| used[node as usize] && is_free[node as usize] == free;
            (0..positions.len() as u32).filter(wanted).collect()
        };
        let free_nodes = with(true);
        let nodes = [&free_nodes[..], &with(false)].concat();
        let mut index = vec![0; positions.len()];
        nodes.iter().enumerate().for_each(|(at, &node)| index[node as usize] = at as u32);
        let rest: Vec<DVec3> = nodes.iter().map(|&node| positions[node as usize]).collect();
        let element_nodes: Vec<u32> = elements.iter().flatten().map(|&node| index[node as usize]).collect();
        let nodes_per_element = elements[0].len();
        let free_count = free_nodes.len();
        let corners = element_nodes.chunks_exact(nodes_per_element).map(|n| [n[0], n[1], n[2], n[3]]).collect();
        let (starts, columns, slots) = structure(&element_nodes, nodes_per_element, free_count);
        let (derivatives, mass_fractions) = match order {
            Order::Linear => (vec![linear_derivatives().to_vec()], vec![0.25; 4]),
            Order::Quadratic => {
                let point = |near: usize| std::array::from_fn(|k| if k == near { NEAR } else { FAR });
                let fractions = [[1.0 / 36.0; 4].to_vec(), [4.0 / 27.0; 6].to_vec()].concat();
                ((0..4).map(|near| quadratic_derivatives(point(near))).collect(), fractions)
            }
        };
        Self {
            nearest_driven: nearest_driven(&rest, free_count),
            nodes,
            rest,
            free_count,
            corners,
            element_nodes,
            nodes_per_element,
            derivatives,
            mass_fractions,
            slots,
            starts,
            columns,
            order,
        }
    }

    /// Number of elements.
    pub fn element_count(&self) -> usize {
        self.corners.len()
    }

    /// Number of driven nodes.
    pub fn driven_count(&self) -> usize {
        self.nodes.len() - self.free_count
    }

    /// Nodes of an element.
    pub(super) fn nodes_of(&self, element: usize) -> &[u32] {
        &self.element_nodes[element * self.nodes_per_element..][..self.nodes_per_element]
    }

    /// Attaches a point rigidly to the mesh: it follows the nearest location of the nearest element, and the offset
    /// from there is transformed by the deformation gradient.
    pub fn attach(&self, at: DVec3) -> Attachment {
        let mut best: Option<(f64, usize, [f64; 4])> = None;
        for (element, corners) in self.corners.iter().enumerate() {
            let x = corners.map(|corner| self.rest[corner as usize]);
            let inverse = DMat3::from_cols(x[1] - x[0], x[2] - x[0], x[3] - x[0]).inverse();
            let local = inverse * (at - x[0]);
            let mut weights = [1.0 - local.element_sum(), local.x, local.y, local.z].map(|w| w.max(0.0));
            let sum: f64 = weights.iter().sum();
            for weight in &mut weights {
                *weight /= sum;
            }
            let nearest: DVec3 = x.iter().zip(weights).map(|(x, w)| *x * w).sum();
            let distance = nearest.distance(at);
            if best.is_none_or(|(least, ..)| distance < least) {
                best = Some((distance, element, weights));
            }
        }
        let Some((_, element, weights)) = best else { return Attachment::default() };
        let x = self.corners[element].map(|corner| self.rest[corner as usize]);
        let inverse = DMat3::from_cols(x[1] - x[0], x[2] - x[0], x[3] - x[0]).inverse();
        let nearest: DVec3 = x.iter().zip(weights).map(|(x, w)| *x * w).sum();
        let offset = inverse * (at - nearest);
        let (values, derivatives) = match self.order {
            Order::Linear => (weights.to_vec(), linear_derivatives().to_vec()),
            Order::Quadratic => (quadratic_values(weights), quadratic_derivatives(weights)),
        };
        let weight = |k: usize| values[k] + derivatives[k].dot(offset);
        Attachment { weights: self.nodes_of(element).iter().enumerate().map(|(k, &node)| (node, weight(k))).collect() }
    }
}

impl Attachment {
    /// Current position of the point.
    pub fn position(&self, positions: &[DVec3]) -> DVec3 {
        self.weights.iter().map(|&(node, weight)| positions[node as usize] * weight).sum()
    }

    /// Adds the derivative of a scalar with respect to the point to those with respect to the nodes.
    pub fn add_gradient(&self, of_point: DVec3, of_nodes: &mut [DVec3]) {
        for &(node, weight) in &self.weights {
            of_nodes[node as usize] += of_point * weight;
        }
    }
}

/// The positively oriented element if it is solid and has a free node.
fn simulated(nodes: [u32; 4], positions: &[DVec3], free: &[bool]) -> Option<[u32; 4]> {
    if !nodes.iter().any(|&node| free[node as usize]) {
        return None;
    }
    let [a, b, c, d] = nodes.map(|node| positions[node as usize]);
    let longest = [b - a, c - a, d - a, c - b, d - b, d - c].map(DVec3::length).into_iter().fold(0.0, f64::max);
    let volume = (b - a).cross(c - a).dot(d - a);
    if volume.abs() <= FLATNESS * longest.powi(3) {
        return None;
    }
    let [a, b, c, d] = nodes;
    Some(if volume > 0.0 { nodes } else { [b, a, c, d] })
}

/// Block rows of the free nodes, and the block of each pair of nodes of each element.
fn structure(element_nodes: &[u32], per_element: usize, free_count: usize) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
    let mut rows: Vec<Vec<u32>> = vec![Vec::new(); free_count];
    let is_free = |node: u32| (node as usize) < free_count;
    for nodes in element_nodes.chunks_exact(per_element) {
        for &row in nodes.iter().filter(|&&node| is_free(node)) {
            rows[row as usize].extend(nodes.iter().filter(|&&node| is_free(node)));
        }
    }
    let (mut starts, mut columns) = (vec![0], Vec::new());
    for row in &mut rows {
        row.sort_unstable();
        row.dedup();
        columns.extend_from_slice(row);
        starts.push(columns.len() as u32);
    }
    let slot = |row: u32, column: u32| {
        if !(is_free(row) && is_free(column)) {
            return NO_SLOT;
        }
        let start = starts[row as usize];
        start + rows[row as usize].binary_search(&column).expect("pairs of elements have blocks") as u32
    };
    let mut slots = Vec::with_capacity(element_nodes.len() * per_element);
    for nodes in element_nodes.chunks_exact(per_element) {
        slots.extend(nodes.iter().flat_map(|&row| nodes.iter().map(move |&column| slot(row, column))));
    }
    (starts, columns, slots)
}

fn nearest_driven(rest: &[DVec3], free_count: usize) -> Vec<u32> {
    let (free, driven) = rest.split_at(free_count);
    let nearest = |at: &DVec3| {
        let distances = (0..).zip(driven.iter().map(|other| at.distance_squared(*other)));
        distances.min_by(|a: &(u32, f64), b| a.1.total_cmp(&b.1)).map(|(index, _)| index)
    };
    free.iter().filter_map(nearest).collect()
}

/// Derivatives of the barycentric coordinates.
fn linear_derivatives() -> [DVec3; 4] {
    [DVec3::NEG_ONE, DVec3::X, DVec3::Y, DVec3::Z]
}

fn quadratic_values(l: [f64; 4]) -> Vec<f64> {
    l.iter().map(|l| l * (2.0 * l - 1.0)).chain(EDGES.iter().map(|&[a, b]| 4.0 * l[a] * l[b])).collect()
}

fn quadratic_derivatives(l: [f64; 4]) -> Vec<DVec3> {
    let d = linear_derivatives();
    let corner = (0..4).map(|k| d[k] * (4.0 * l[k] - 1.0));
    corner.chain(EDGES.iter().map(|&[a, b]| (d[b] * l[a] + d[a] * l[b]) * 4.0)).collect()
}
