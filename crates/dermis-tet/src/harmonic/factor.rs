//! Sparse factorizations for many right-hand sides.
//!
//! `faer`'s supernodal Cholesky for symmetric positive definite matrices and its LU for others, both sequential, so that
//! results do not depend on the number of threads. Right-hand sides are solved in blocks of columns, in parallel.

use dermis_math::sparse::SparseMatrix;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::LltRegularization;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LltRef, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::lu::{LuRef, LuSymbolicParams, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::sparse::{SparseColMat, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par, Side, Spec};
use rayon::prelude::*;

/// Number of columns solved together: enough for efficient kernels, few enough to distribute among threads.
pub(crate) const BLOCK: usize = 16;

/// A factorized square matrix.
#[derive(Debug)]
pub(crate) struct Factor {
    size: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Cholesky { symbolic: SymbolicCholesky<usize>, values: Vec<f64> },
    Lu { symbolic: SymbolicLu<usize>, numeric: NumericLu<usize, f64> },
}

/// Error of a factorization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FactorError {
    /// The matrix is singular, or not positive definite as the Cholesky factorization requires.
    #[error("the system of {0} unknowns is singular; check for tetrahedra without volume")]
    Singular(usize),
    /// The factor does not fit into memory.
    #[error("the system of {0} unknowns does not fit into memory")]
    Memory(usize),
}

impl Factor {
    /// Computes the Cholesky factor of a symmetric positive definite matrix.
    pub(crate) fn cholesky(matrix: &SparseMatrix) -> Result<Self, FactorError> {
        let size = matrix.row_count();
        let columns = columns_of(matrix);
        let (ordering, parameters) = (SymmetricOrdering::Amd, CholeskySymbolicParams::default());
        let symbolic = factorize_symbolic_cholesky(columns.symbolic(), Side::Lower, ordering, parameters)
            .map_err(|_| FactorError::Memory(size))?;
        let mut values = vec![0.0; symbolic.len_val()];
        let scratch = symbolic.factorize_numeric_llt_scratch::<f64>(Par::Seq, Spec::default());
        let mut buffer = MemBuffer::try_new(scratch).map_err(|_| FactorError::Memory(size))?;
        let stack = MemStack::new(&mut buffer);
        let (exact, parameters) = (LltRegularization::default(), Spec::default());
        symbolic
            .factorize_numeric_llt(&mut values, columns.as_ref(), Side::Lower, exact, Par::Seq, stack, parameters)
            .map_err(|_| FactorError::Singular(size))?;
        Ok(Self { size, kind: Kind::Cholesky { symbolic, values } })
    }

    /// Computes the LU factors of a square matrix.
    pub(crate) fn lu(matrix: &SparseMatrix) -> Result<Self, FactorError> {
        let size = matrix.row_count();
        let columns = columns_of(&matrix.transpose());
        let symbolic = factorize_symbolic_lu(columns.symbolic(), LuSymbolicParams::default())
            .map_err(|_| FactorError::Memory(size))?;
        let mut numeric = NumericLu::new();
        let scratch = symbolic.factorize_numeric_lu_scratch::<f64>(Par::Seq, Spec::default());
        let mut buffer = MemBuffer::try_new(scratch).map_err(|_| FactorError::Memory(size))?;
        let stack = MemStack::new(&mut buffer);
        symbolic
            .factorize_numeric_lu(&mut numeric, columns.as_ref(), Par::Seq, stack, Spec::default())
            .map_err(|_| FactorError::Singular(size))?;
        Ok(Self { size, kind: Kind::Lu { symbolic, numeric } })
    }

    /// Overwrites right-hand sides, stored by columns, with the solutions.
    pub(crate) fn solve(&self, columns: &mut [f64]) {
        if self.size > 0 {
            columns.par_chunks_mut(BLOCK * self.size).for_each(|block| self.solve_block(block));
        }
    }

    fn solve_block(&self, block: &mut [f64]) {
        let width = block.len() / self.size;
        let block = MatMut::from_column_major_slice_mut(block, self.size, width);
        match &self.kind {
            Kind::Cholesky { symbolic, values } => {
                let mut buffer = MemBuffer::new(symbolic.solve_in_place_scratch::<f64>(width, Par::Seq));
                let stack = MemStack::new(&mut buffer);
                LltRef::new(symbolic, values).solve_in_place_with_conj(Conj::No, block, Par::Seq, stack);
            }
            Kind::Lu { symbolic, numeric } => {
                let mut buffer = MemBuffer::new(symbolic.solve_in_place_scratch::<f64>(width, Par::Seq));
                let stack = MemStack::new(&mut buffer);
                LuRef::new_unchecked(symbolic, numeric).solve_in_place_with_conj(Conj::No, block, Par::Seq, stack);
            }
        }
    }
}

/// Sparse column matrix with the rows of `matrix` as its columns.
fn columns_of(matrix: &SparseMatrix) -> SparseColMat<usize, f64> {
    let count = matrix.row_count();
    let mut starts = vec![0];
    let mut indices = Vec::with_capacity(matrix.entry_count());
    let mut values = Vec::with_capacity(matrix.entry_count());
    for row in 0..count {
        indices.extend(matrix.row(row).map(|(column, _)| column as usize));
        values.extend(matrix.row(row).map(|(_, value)| value));
        starts.push(indices.len());
    }
    let symbolic = SymbolicSparseColMat::new_checked(matrix.column_count(), count, starts, None, indices);
    SparseColMat::new(symbolic, values)
}
