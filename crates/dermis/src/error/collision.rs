//! Errors of collision detection.

use dermis_collide::CollideError;

/// Reasons why contacts of two assets cannot be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollisionError {
    /// A scene has no triangles.
    #[error("the asset has no triangles")]
    NoTriangles,
    /// The positions of the two scenes cannot be compared.
    #[error("the assets have different units or up axes")]
    UnitsDiffer,
    /// An object cannot be a collider.
    #[error(transparent)]
    Collider(#[from] CollideError),
    /// The observer stopped the work.
    #[error("stopped before there was a result")]
    Stopped,
}

impl CollisionError {
    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::UnitsDiffer => Some("convert one of the assets to the unit of length and the up axis of the other"),
            Self::Collider(error) => error.hint(),
            _ => None,
        }
    }
}
