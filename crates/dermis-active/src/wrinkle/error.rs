//! Errors of the wrinkle layer.

/// Error of the wrinkle layer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WrinkleError {
    /// The cloth is empty.
    #[error("the cloth has no triangles")]
    NoTriangles,
    /// The rest shape has a different number of points.
    #[error("the rest shape has {found} points, but the cloth has {expected}")]
    RestPoints {
        /// Number of points of the rest shape.
        found: usize,
        /// Number of points of the cloth.
        expected: usize,
    },
    /// The rest shape has a different topology.
    #[error("triangle {triangle} differs between the rest shape and the cloth: both must have the same topology")]
    RestTopology {
        /// First triangle that differs.
        triangle: usize,
    },
    /// The rest shape has no area.
    #[error("the rest shape has no area")]
    NoArea,
    /// The rest shape is to be derived from UVs, but the cloth has none.
    #[error("the cloth has no UVs from which its rest shape could be derived")]
    NoUvs,
    /// The radius is invalid.
    #[error("invalid minimum radius {0}: it must be positive and finite")]
    Radius(f32),
    /// The requested number of triangles is out of range.
    #[error("invalid number of triangles {requested}: the cloth has {found}")]
    Coarsen {
        /// Requested number of triangles.
        requested: usize,
        /// Number of triangles of the cloth.
        found: usize,
    },
}
