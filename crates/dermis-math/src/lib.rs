//! Numerical kernels of dermis, independent of meshes and file formats.

#![forbid(unsafe_code)]

pub mod block_sparse;
pub mod lbfgs;
pub mod mean_shift;
pub mod nnls;
pub mod pcg;
pub mod polar;
pub mod progress;
pub mod simplex;
pub mod small;
pub mod sparse;
pub mod sum;
pub mod svd3;
pub mod symmetric_eigen;
#[cfg(test)]
mod test_matrices;
pub mod tsvd;
