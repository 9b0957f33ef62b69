//! Why a cloth cannot be wrinkled.

/// Why a cloth cannot be wrinkled. [`WrinkleError::hint`] says how to fix it.
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
    /// The radius makes no sense.
    #[error("a smallest radius of {0} makes no sense; it must be positive and finite")]
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

impl WrinkleError {
    /// How to fix it, in the words of the command line.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::RestPoints { .. } | Self::RestTopology { .. } => {
                Some("the rest shape must be the same mesh in another pose; use --rest-frame K for one of its frames")
            }
            Self::NoArea | Self::NoUvs => Some("give a rest shape with --rest FILE, or a frame with --rest-frame K"),
            Self::Radius(_) => Some("give --min-radius in scene units, such as 0.02 for cloth in metres"),
            Self::Coarsen { .. } => Some("give --coarsen a number between 4 and that of the triangles"),
            Self::NoTriangles => None,
        }
    }
}
