//! Sparse matrices in compressed sparse row (CSR) format.
//!
//! Row i owns the entries `starts[i]..starts[i + 1]` of `columns` and `values`, sorted by column without duplicates. Rows
//! are multiplied in parallel and each is summed from left to right, so results are bitwise identical for any number of
//! threads.

use std::ops::{Add, Mul};

use rayon::prelude::*;

/// Number of entries from which a product is computed in parallel.
const PARALLEL_ENTRIES: usize = 1 << 15;

/// Sparse matrix of `f64`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseMatrix {
    column_count: usize,
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl SparseMatrix {
    /// Creates a matrix from entries `(row, column, value)`; duplicates are added in the given order.
    ///
    /// # Panics
    /// If an entry is outside the matrix.
    pub fn from_triplets(row_count: usize, column_count: usize, triplets: &[(u32, u32, f64)]) -> Self {
        let mut ends = vec![0; row_count + 1];
        for &(row, column, _) in triplets {
            assert!((row as usize) < row_count && (column as usize) < column_count, "entry {row}, {column} is outside");
            ends[row as usize + 1] += 1;
        }
        for row in 0..row_count {
            ends[row + 1] += ends[row];
        }
        let mut grouped = vec![(0, 0.0); triplets.len()];
        let mut next = ends.clone();
        for &(row, column, value) in triplets {
            grouped[next[row as usize]] = (column, value);
            next[row as usize] += 1;
        }
        let mut result = Self { column_count, starts: Vec::with_capacity(row_count + 1), ..Self::default() };
        result.starts.push(0);
        for row in 0..row_count {
            result.push_row(&mut grouped[ends[row]..ends[row + 1]]);
        }
        result
    }

    fn push_row(&mut self, entries: &mut [(u32, f64)]) {
        // The sort is stable and keeps duplicates in the given order.
        entries.sort_by_key(|&(column, _)| column);
        for same in entries.chunk_by(|a, b| a.0 == b.0) {
            self.columns.push(same[0].0);
            self.values.push(same.iter().map(|&(_, value)| value).sum());
        }
        self.starts.push(self.columns.len());
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Number of columns.
    pub fn column_count(&self) -> usize {
        self.column_count
    }

    /// Number of stored entries.
    pub fn entry_count(&self) -> usize {
        self.values.len()
    }

    /// Stored entries of a row as (column, value), in ascending order of column.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.starts[row]..self.starts[row + 1];
        self.columns[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }

    /// Product with a vector of numbers, or with three vectors at once as a vector of `DVec3`.
    ///
    /// # Panics
    /// If the length of `x` differs from the number of columns.
    pub fn multiply<T>(&self, x: &[T]) -> Vec<T>
    where
        T: Copy + Default + Add<Output = T> + Mul<f64, Output = T> + Send + Sync,
    {
        assert_eq!(x.len(), self.column_count, "the vector must have one element per column");
        let dot =
            |row: usize| self.row(row).fold(T::default(), |sum, (column, value)| sum + x[column as usize] * value);
        if self.entry_count() < PARALLEL_ENTRIES {
            (0..self.row_count()).map(dot).collect()
        } else {
            (0..self.row_count()).into_par_iter().with_min_len(1024).map(dot).collect()
        }
    }

    /// Transposed matrix.
    pub fn transpose(&self) -> Self {
        let mut starts = vec![0; self.column_count + 1];
        for &column in &self.columns {
            starts[column as usize + 1] += 1;
        }
        for column in 0..self.column_count {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut columns = vec![0; self.entry_count()];
        let mut values = vec![0.0; self.entry_count()];
        for row in 0..self.row_count() {
            for (column, value) in self.row(row) {
                let at = &mut next[column as usize];
                (columns[*at], values[*at]) = (row as u32, value);
                *at += 1;
            }
        }
        Self { column_count: self.row_count(), starts, columns, values }
    }

    /// Diagonal entries; zero if not stored.
    pub fn diagonal(&self) -> Vec<f64> {
        let entry = |i: usize| self.row(i).find(|&(column, _)| column as usize == i).map_or(0.0, |(_, value)| value);
        (0..self.row_count().min(self.column_count)).map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;
    use proptest::prelude::*;

    use super::*;

    fn dense(matrix: &SparseMatrix) -> Vec<Vec<f64>> {
        (0..matrix.row_count())
            .map(|row| {
                let mut values = vec![0.0; matrix.column_count()];
                for (column, value) in matrix.row(row) {
                    values[column as usize] = value;
                }
                values
            })
            .collect()
    }

    fn triplets() -> impl Strategy<Value = Vec<(u32, u32, f64)>> {
        proptest::collection::vec((0..7_u32, 0..5_u32, (-9..9_i32).prop_map(f64::from)), 0..60)
    }

    #[test]
    fn adds_duplicates_and_sorts_columns() {
        let matrix = SparseMatrix::from_triplets(2, 3, &[(1, 2, 1.0), (0, 1, 4.0), (1, 0, 2.0), (1, 2, 0.5)]);
        assert_eq!(matrix.row(0).collect::<Vec<_>>(), [(1, 4.0)]);
        assert_eq!(matrix.row(1).collect::<Vec<_>>(), [(0, 2.0), (2, 1.5)]);
        assert_eq!(matrix.diagonal(), [0.0, 0.0]);
    }

    #[test]
    fn a_matrix_without_entries_yields_zero_products() {
        assert_eq!(SparseMatrix::from_triplets(2, 1, &[]).multiply(&[3.0]), [0.0, 0.0]);
        assert!(SparseMatrix::default().multiply::<f64>(&[]).is_empty());
    }

    #[test]
    #[should_panic(expected = "outside")]
    fn rejects_an_entry_outside_the_matrix() {
        SparseMatrix::from_triplets(2, 2, &[(0, 2, 1.0)]);
    }

    #[test]
    fn large_products_are_bitwise_identical_for_any_number_of_threads() {
        let n = 20_000_u32;
        let triplets: Vec<_> = (0..4 * n).map(|k| (k % n, (k * 7919 + k / n) % n, f64::from(k).sin())).collect();
        let matrix = SparseMatrix::from_triplets(n as usize, n as usize, &triplets);
        assert!(matrix.entry_count() >= PARALLEL_ENTRIES);
        let x: Vec<f64> = (0..n).map(|k| f64::from(k).cos()).collect();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| matrix.multiply(&x))
        };
        assert_eq!(on(1), on(3));
    }

    proptest! {
        #[test]
        fn products_match_dense_products(triplets in triplets(), x in proptest::array::uniform5(-9..9_i32)) {
            let matrix = SparseMatrix::from_triplets(7, 5, &triplets);
            let x = x.map(f64::from);
            let dot = |row: Vec<f64>| row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>();
            let expected: Vec<f64> = dense(&matrix).into_iter().map(dot).collect();
            prop_assert_eq!(matrix.multiply(&x), expected.clone());
            let three = matrix.multiply(&x.map(|x| DVec3::new(x, 2.0 * x, -x)));
            prop_assert_eq!(three, expected.iter().map(|&y| DVec3::new(y, 2.0 * y, -y)).collect::<Vec<_>>());
        }

        #[test]
        fn transposing_exchanges_rows_and_columns(triplets in triplets()) {
            let matrix = SparseMatrix::from_triplets(7, 5, &triplets);
            let exchanged: Vec<_> = triplets.iter().map(|&(row, column, value)| (column, row, value)).collect();
            prop_assert_eq!(matrix.transpose(), SparseMatrix::from_triplets(5, 7, &exchanged));
            prop_assert_eq!(matrix.transpose().transpose(), matrix);
        }
    }
}
