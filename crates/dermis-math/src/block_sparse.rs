//! Symmetric sparse matrices of 3×3 blocks in `f32`, for real-time solvers.
//!
//! Only blocks above the diagonal are stored, row by row. Blocks below it are read through their transposes: `K_jiᵀ x_j`
//! is accumulated per component and summed once at the end of the row, which adds no cost. This streams half the memory
//! of a full matrix. Rows are independent and summed in a fixed order, so results are bitwise identical for any number
//! of threads. Columns beyond the last row belong to known values, such as driven nodes, and are used only by
//! [`SymmetricBlocks::multiply_known`].

use glam::{Mat3A, Vec3A};
use rayon::prelude::*;

/// Rows per parallel task; sums over rows are accumulated in runs of this length.
pub const ROWS_PER_TASK: usize = 256;

/// Row and column of a block.
type BlockIndex = (u32, u32);

/// A symmetric block matrix: the sparsity pattern is fixed, the values are set by the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct SymmetricBlocks {
    /// Diagonal blocks.
    pub diagonal: Vec<Mat3A>,
    /// Blocks above the diagonal, in the order of [`Self::pattern`].
    pub upper: Vec<Mat3A>,
    row_count: usize,
    pattern: Vec<BlockIndex>,
    /// Row i owns the blocks `starts[i]..known_starts[i]` of unknowns and `known_starts[i]..starts[i + 1]` of known values.
    starts: Vec<u32>,
    known_starts: Vec<u32>,
    /// Row i reads the blocks `across[across_starts[i]..across_starts[i + 1]]` (block, column), transposed.
    across: Vec<(u32, u32)>,
    across_starts: Vec<u32>,
}

impl SymmetricBlocks {
    /// Creates a zero matrix with blocks at the (row, column) pairs of `pattern`, each with row < column.
    ///
    /// # Panics
    /// If `pattern` is not strictly ascending or contains a pair on or below the diagonal or outside the matrix.
    pub fn new(row_count: usize, column_count: usize, pattern: Vec<(u32, u32)>) -> Self {
        assert!(pattern.windows(2).all(|pair| pair[0] < pair[1]), "the pattern must be sorted and free of duplicates");
        let inside = |&(row, column): &BlockIndex| {
            row < column && (row as usize) < row_count && (column as usize) < column_count
        };
        assert!(pattern.iter().all(inside), "the pattern must lie above the diagonal and inside the matrix");
        let first_at = |index: BlockIndex| pattern.partition_point(|&other| other < index) as u32;
        let starts = (0..=row_count as u32).map(|row| first_at((row, 0))).collect();
        let known_starts = (0..row_count as u32).map(|row| first_at((row, row_count as u32))).collect();
        let mut across: Vec<(u32, u32, u32)> = (pattern.iter().zip(0..))
            .filter(|((_, column), _)| (*column as usize) < row_count)
            .map(|(&(row, column), block)| (column, row, block))
            .collect();
        across.sort_unstable();
        let across_starts =
            (0..=row_count as u32).map(|row| across.partition_point(|entry| entry.0 < row) as u32).collect();
        Self {
            diagonal: vec![Mat3A::ZERO; row_count],
            upper: vec![Mat3A::ZERO; pattern.len()],
            row_count,
            pattern,
            starts,
            known_starts,
            across: across.into_iter().map(|(_, row, block)| (block, row)).collect(),
            across_starts,
        }
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Row and column of each block above the diagonal.
    pub fn pattern(&self) -> &[(u32, u32)] {
        &self.pattern
    }

    /// Computes `y = A x` over the unknowns, and the dot product `x·y` of each run of rows into `dots`.
    ///
    /// # Panics
    /// If `x` has fewer elements than there are rows, or the length of `y` differs from the number of rows.
    pub fn multiply(&self, x: &[Vec3A], y: &mut [Vec3A], dots: &mut [f64]) {
        assert!(x.len() >= self.row_count && y.len() == self.row_count, "vectors must have one element per row");
        let runs = y.par_chunks_mut(ROWS_PER_TASK).zip(dots.par_iter_mut()).enumerate();
        runs.for_each(|(run, (y, dot))| {
            let mut sum = Vec3A::ZERO;
            for (row, y) in (run * ROWS_PER_TASK..).zip(y) {
                *y = self.multiply_row(row, x);
                sum += x[row] * *y;
            }
            *dot = f64::from(sum.element_sum());
        });
    }

    /// One row of `A x`, over the unknowns.
    ///
    /// # Panics
    /// If `x` has fewer elements than there are rows.
    #[inline]
    pub fn multiply_row(&self, row: usize, x: &[Vec3A]) -> Vec3A {
        let mut sum = self.diagonal[row] * x[row];
        let own = self.starts[row] as usize..self.known_starts[row] as usize;
        for (block, &(_, column)) in self.upper[own.clone()].iter().zip(&self.pattern[own]) {
            sum += *block * x[column as usize];
        }
        let across = self.across_starts[row] as usize..self.across_starts[row + 1] as usize;
        let [mut a, mut b, mut c] = [Vec3A::ZERO; 3];
        for &(block, column) in &self.across[across] {
            let (block, x) = (&self.upper[block as usize], x[column as usize]);
            a += block.x_axis * x;
            b += block.y_axis * x;
            c += block.z_axis * x;
        }
        sum + Vec3A::new(a.element_sum(), b.element_sum(), c.element_sum())
    }

    /// Contribution of the known values, the elements of `x` beyond the rows, to one row of `A x`.
    ///
    /// # Panics
    /// If `x` has fewer elements than there are columns.
    pub fn multiply_known(&self, row: usize, x: &[Vec3A]) -> Vec3A {
        let known = self.known_starts[row] as usize..self.starts[row + 1] as usize;
        let blocks = self.upper[known.clone()].iter().zip(&self.pattern[known]);
        blocks.fold(Vec3A::ZERO, |sum, (block, &(_, column))| sum + *block * x[column as usize])
    }

    /// Sets each diagonal block to `own(row)` minus the sum of all other blocks in its row, as in a stiffness matrix, whose
    /// rows sum to zero.
    pub fn set_diagonal(&mut self, own: impl Fn(usize) -> Mat3A + Sync) {
        let mut diagonal = std::mem::take(&mut self.diagonal);
        diagonal.par_chunks_mut(ROWS_PER_TASK).enumerate().for_each(|(run, diagonal)| {
            for (row, diagonal) in (run * ROWS_PER_TASK..).zip(diagonal) {
                *diagonal = own(row) - self.sum_off_diagonal(row);
            }
        });
        self.diagonal = diagonal;
    }

    fn sum_off_diagonal(&self, row: usize) -> Mat3A {
        let mut sum = Mat3A::ZERO;
        for block in &self.upper[self.starts[row] as usize..self.starts[row + 1] as usize] {
            sum += *block;
        }
        let mut transposed = Mat3A::ZERO;
        for &(block, _) in &self.across[self.across_starts[row] as usize..self.across_starts[row + 1] as usize] {
            transposed += self.upper[block as usize];
        }
        sum + transposed.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(k: usize) -> f32 {
        ((k * 7919 % 201) as f32 - 100.0) / 64.0
    }

    fn block(k: usize) -> Mat3A {
        Mat3A::from_cols_array(&std::array::from_fn(|i| number(9 * k + i)))
    }

    /// A matrix with `rows` unknowns and two known columns, and its dense equivalent.
    fn sample(rows: usize) -> (SymmetricBlocks, Vec<Vec<Mat3A>>) {
        let columns = rows + 2;
        let pattern: Vec<(u32, u32)> = (0..rows)
            .flat_map(|i| {
                (i + 1..columns).filter(move |j| (i * 31 + j * 17) % 3 != 0).map(move |j| (i as u32, j as u32))
            })
            .collect();
        let mut matrix = SymmetricBlocks::new(rows, columns, pattern.clone());
        let mut full = vec![vec![Mat3A::ZERO; columns]; rows];
        for (k, &(i, j)) in pattern.iter().enumerate() {
            matrix.upper[k] = block(k);
            full[i as usize][j as usize] = block(k);
            if (j as usize) < rows {
                full[j as usize][i as usize] = block(k).transpose();
            }
        }
        for (i, row) in full.iter_mut().enumerate() {
            let own = block(i + 1000);
            let own = own + own.transpose();
            matrix.diagonal[i] = own;
            row[i] = own;
        }
        (matrix, full)
    }

    #[test]
    fn products_match_the_dense_matrix() {
        let (matrix, full) = sample(9);
        let x: Vec<Vec3A> = (0..11).map(|k| Vec3A::new(number(3 * k), number(5 * k), number(11 * k))).collect();
        let product = |i: usize, end: usize| (0..end).fold(Vec3A::ZERO, |sum, j| sum + full[i][j] * x[j]);
        let (mut y, mut dots) = (vec![Vec3A::ZERO; 9], vec![0.0]);
        matrix.multiply(&x, &mut y, &mut dots);
        let mut dot = 0.0;
        for (i, y) in y.iter().enumerate() {
            assert!((*y - product(i, 9)).length() < 1e-4);
            let whole = matrix.multiply_row(i, &x) + matrix.multiply_known(i, &x);
            assert!((whole - product(i, 11)).length() < 1e-4);
            dot += f64::from(x[i].dot(*y));
        }
        assert!((dot - dots[0]).abs() < 1e-3);
    }

    #[test]
    fn set_diagonal_makes_rows_sum_to_the_given_block() {
        let (mut matrix, _) = sample(9);
        matrix.set_diagonal(|row| Mat3A::from_diagonal(glam::Vec3::splat(row as f32)));
        let x = vec![Vec3A::new(1.0, -2.0, 0.5); 11];
        for row in 0..9 {
            let whole = matrix.multiply_row(row, &x) + matrix.multiply_known(row, &x);
            assert!((whole - x[0] * row as f32).length() < 1e-3);
        }
    }

    #[test]
    fn products_are_bitwise_identical_for_any_number_of_threads() {
        let rows = 3 * ROWS_PER_TASK + 5;
        let pattern = (0..rows as u32 - 7).flat_map(|i| [(i, i + 1), (i, i + 7)]).collect();
        let mut matrix = SymmetricBlocks::new(rows, rows, pattern);
        (0..matrix.upper.len()).for_each(|k| matrix.upper[k] = block(k));
        let x: Vec<Vec3A> = (0..rows).map(|k| Vec3A::splat(number(k))).collect();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (mut y, mut dots) = (vec![Vec3A::ZERO; rows], vec![0.0; 4]);
            pool.install(|| matrix.multiply(&x, &mut y, &mut dots));
            (y, dots)
        };
        assert_eq!(on(1), on(2));
    }

    #[test]
    #[should_panic(expected = "sorted")]
    fn rejects_duplicate_blocks() {
        SymmetricBlocks::new(2, 2, vec![(0, 1), (0, 1)]);
    }
}
