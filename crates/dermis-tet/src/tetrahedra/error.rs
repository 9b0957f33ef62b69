//! Errors of the tetrahedral meshers.

use dermis_mesh::MeshError;
use glam::Vec3;

use super::{Intersection, MAX_LATTICE_NODES};

/// Error of the tetrahedral meshers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TetError {
    /// The skin is empty.
    #[error("the skin has no triangles")]
    NoTriangles,
    /// The skin has holes.
    #[error("the skin is open: {count} edges have only one triangle, the first between points {} and {} near {position}; close the holes or use the lattice mesher", edge[0], edge[1])]
    Open {
        /// Number of open edges.
        count: usize,
        /// First open edge.
        edge: [u32; 2],
        /// Position of the first open edge.
        position: Vec3,
    },
    /// The skin is an open sheet.
    #[error(
        "the skin is open and encloses no volume: {:.1} % of the cells of its lattice are inside; cloth and hair have no flesh",
        100.0 * inner_fraction
    )]
    Sheet {
        /// Fraction of the cells that are inside and not crossed by the skin.
        inner_fraction: f64,
    },
    /// More than two triangles share an edge.
    #[error("the skin is not manifold: {count} edges have more than two triangles, the first between points {} and {} near {position}; split the surface there or use the lattice mesher", edge[0], edge[1])]
    NonManifold {
        /// Number of non-manifold edges.
        count: usize,
        /// First non-manifold edge.
        edge: [u32; 2],
        /// Position of the first non-manifold edge.
        position: Vec3,
    },
    /// Neighbouring triangles have opposite orientations.
    #[error("the orientation of the skin is inconsistent at {count} edges, the first between points {} and {} near {position}; make the winding consistent or use the lattice mesher", edge[0], edge[1])]
    Inconsistent {
        /// Number of inconsistent edges.
        count: usize,
        /// First inconsistent edge.
        edge: [u32; 2],
        /// Position of the first inconsistent edge.
        position: Vec3,
    },
    /// A triangle has no area.
    #[error(
        "{count} triangles of the skin have no area, the first is triangle {triangle} near {position}; remove them or use the lattice mesher"
    )]
    Degenerate {
        /// First degenerate triangle.
        triangle: usize,
        /// Number of degenerate triangles.
        count: usize,
        /// Position of the first degenerate triangle.
        position: Vec3,
    },
    /// Two points of triangles have the same position.
    #[error("points {} and {} of the skin are both at {position}; weld them or use the lattice mesher", points[0], points[1])]
    CoincidentPoints {
        /// The two points.
        points: [u32; 2],
        /// Their position.
        position: Vec3,
    },
    /// The skin self-intersects.
    #[error(
        "the skin self-intersects: {count} pairs of triangles{}; separate them, allow points to move, or use the lattice mesher",
        listed(pairs)
    )]
    SelfIntersecting {
        /// Number of intersecting pairs of triangles.
        count: usize,
        /// First intersecting pairs.
        pairs: Vec<Intersection>,
    },
    /// A coordinate of a bone is not finite.
    #[error("bone {bone} has a coordinate that is not finite")]
    BoneNotFinite {
        /// Index of the bone.
        bone: usize,
    },
    /// An option is out of range.
    #[error("invalid {option} {value}: it must be positive")]
    InvalidOption {
        /// Name of the option.
        option: &'static str,
        /// The invalid value.
        value: f64,
    },
    /// A skin point is not a node of the given tetrahedra.
    #[error(
        "point {point} of the skin, at {position}, is not a node of the given tetrahedra; mesh this skin without moving its points"
    )]
    MissingPoint {
        /// Index of the point.
        point: usize,
        /// Position of the point.
        position: Vec3,
    },
    /// The spacing gives more nodes than supported.
    #[error(
        "invalid spacing {spacing}: it gives {count:.1e} nodes, the maximum is {MAX_LATTICE_NODES:.1e}; use a larger spacing"
    )]
    TooFine {
        /// The invalid spacing.
        spacing: f64,
        /// Number of nodes that it gives.
        count: f64,
    },
    /// The progress observer stopped the mesher.
    #[error("stopped before the tetrahedra were complete")]
    Stopped,
    /// The tetrahedra are not a valid mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

fn listed(pairs: &[Intersection]) -> String {
    let lines = pairs.iter().map(|pair| {
        let [first, second] = pair.triangles;
        format!("\n  triangles {first} and {second} near {}", pair.position)
    });
    lines.collect()
}
