//! Numerical kernels of dermis. This crate knows no mesh and no file.

#![forbid(unsafe_code)]

pub mod polar;
pub mod progress;
pub mod sparse;
pub mod sum;
pub mod svd3;
