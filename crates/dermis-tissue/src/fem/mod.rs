//! Finite elements of the outer layer (§4.2): corotational linear tetrahedra, in `f32` and four at a time.
//!
//! [`Model`] numbers what is simulated, `elements` turns displacements into factors and forces, `pattern` adds them
//! up into the matrix of Eq. 13. Time stepping is in [`crate::dynamics`].

pub(crate) mod elements;
mod lanes;
pub(crate) mod material;
mod model;
mod order;
pub(crate) mod pattern;
mod rotation;

pub use material::{DENSITY_RANGE_KG_PER_M3, Material, MaterialError, POISSON_RATIO_RANGE, YOUNG_MODULUS_RANGE_PA};
pub use model::{Model, ModelError};
