//! Finite elements of the outer layer (Kim et al. 2017, §4.2): corotational linear tetrahedra, in `f32` and four at a
//! time.
//!
//! [`Model`] numbers the simulated nodes and elements, `elements` computes factors and forces from displacements, and
//! `pattern` assembles them into the matrix of Eq. 13. Time stepping is in [`crate::dynamics`].

pub(crate) mod elements;
mod lanes;
pub(crate) mod material;
mod model;
mod order;
pub(crate) mod pattern;
mod rotation;
pub(crate) mod targets;

pub use material::{DENSITY_RANGE_KG_PER_M3, Material, MaterialError, POISSON_RATIO_RANGE, YOUNG_MODULUS_RANGE_PA};
pub use model::{Model, ModelError};
