//! Numerical kernels of dermis. This crate knows no mesh and no file.

pub mod progress;
