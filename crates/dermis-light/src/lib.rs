//! Precomputed lighting of animated surfaces: diffuse radiance transfer with shadows, and its low-rank approximation.
//!
//! [`transfer()`] computes the transfer vector of every point in every frame (Sloan, Kautz & Snyder 2002): the light that
//! a point reflects is the scalar product of its vector and the coefficients of the lighting in spherical harmonics.
//! [`reduce()`] approximates the vectors of all frames by a truncated singular value decomposition; [`factorize()`]
//! approximates lit colours by non-negative factors (James & Twigg 2005, section 6).

#![forbid(unsafe_code)]

pub mod harmonics;
mod nmf;
mod svd;
mod transfer;
mod visibility;

pub use nmf::{Factors, factorize};
pub use svd::{Reduction, reduce};
pub use transfer::{LightOptions, Transfer, transfer};

/// Reasons why light cannot be precomputed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LightError {
    /// The order of the harmonics is not supported.
    #[error("invalid order {0} of spherical harmonics: it must be from 1 to {max}", max = harmonics::MAX_ORDER)]
    Order(usize),
    /// The number of rays is not supported.
    #[error("invalid number of rays {0}: it must be from 1 to 65536")]
    Rays(usize),
    /// The rank is 0.
    #[error("invalid rank 0: it must be at least 1")]
    Rank,
    /// There are no triangles.
    #[error("the asset has no triangles")]
    NoTriangles,
    /// The transfer vectors do not fit in memory.
    #[error("{points} points in {frames} frames need {bytes} bytes of transfer vectors, which is too much")]
    TooLarge {
        /// Number of points.
        points: usize,
        /// Number of frames.
        frames: usize,
        /// Required memory.
        bytes: usize,
    },
    /// A value to be factorized is negative or not finite.
    #[error("value {0} is negative or not finite and cannot be factorized")]
    Negative(usize),
    /// The observer stopped the work.
    #[error("stopped before there was a result")]
    Stopped,
}

impl LightError {
    /// Hint for a fix.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Order(_) => Some("order 4 has 16 coefficients, order 5 has 25"),
            Self::Rays(_) => Some("256 rays resolve soft shadows"),
            Self::Rank => Some("try 8"),
            Self::TooLarge { .. } => Some("use fewer frames, or a coarser level of detail"),
            _ => None,
        }
    }
}
