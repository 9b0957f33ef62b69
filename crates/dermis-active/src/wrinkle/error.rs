//! Why a cloth cannot be wrinkled.

/// Why a cloth cannot be wrinkled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WrinkleError {
    /// There is nothing to wrinkle.
    #[error("the cloth has no triangles")]
    NoTriangles,
    /// The rest shape has another topology.
    #[error("the rest shape has {found} points, but the cloth has {expected}")]
    RestPoints {
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// The rest shape joins its points otherwise.
    #[error("triangle {triangle} of the rest shape joins other points than that of the cloth")]
    RestTopology {
        /// The first that differs.
        triangle: usize,
    },
    /// The rest shape is empty.
    #[error("the rest shape has no area")]
    NoArea,
    /// The pattern was asked for where there are no UVs.
    #[error("the cloth has no UVs to take its rest shape from")]
    NoUvs,
    /// The radius is out of range.
    #[error("invalid smallest radius {0}: it must be positive and finite")]
    Radius(f32),
    /// The simplification would leave nothing.
    #[error("{asked} triangles cannot be left of {found}")]
    Coarsen {
        /// How many were asked for.
        asked: usize,
        /// How many there are.
        found: usize,
    },
}
