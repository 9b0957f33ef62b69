//! Symmetric sparse matrices of 3×3 blocks in `f32`, for real-time solvers.
//!
//! Blocks above the diagonal are stored once, row after row; a row's blocks below it are read from where they are stored,
//! transposed: `K_jiᵀ x_j` is added by components and summed once at the row's end, so reading across costs nothing more.
//! Half the memory of a full matrix is streamed, rows are independent, and each is added in a fixed order: the same bits
//! on any number of threads. Columns beyond the rows stand for known values, such as driven nodes: they are part of
//! [`SymmetricBlocks::multiply_known`] alone.

use glam::{Mat3A, Vec3A};
use rayon::prelude::*;

/// Rows that a thread takes at a time; sums over rows are added in runs of this length.
pub const ROWS_PER_TASK: usize = 512;

/// A block: its row (of its column, where it is read across) and its column.
type Place = (u32, u32);

/// The matrix; places are fixed, values are written by the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct SymmetricBlocks {
    /// The blocks on the diagonal.
    pub diagonal: Vec<Mat3A>,
    /// The blocks above the diagonal, in the order of [`Self::places`].
    pub upper: Vec<Mat3A>,
    row_count: usize,
    places: Vec<Place>,
    /// Row i holds the blocks `starts[i]..known_starts[i]` of unknowns and up to `starts[i + 1]` of known values.
    starts: Vec<u32>,
    known_starts: Vec<u32>,
    /// Row i reads the blocks `across[across_starts[i]..across_starts[i + 1]]` (block, column) transposed.
    across: Vec<(u32, u32)>,
    across_starts: Vec<u32>,
}

impl SymmetricBlocks {
    /// A matrix of zeros with blocks at `places` (row, column), row < column, sorted, each once.
    ///
    /// # Panics
    /// If places are not as said, or outside.
    pub fn new(row_count: usize, column_count: usize, places: Vec<(u32, u32)>) -> Self {
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "places are sorted, each once");
        let inside =
            |&(row, column): &Place| row < column && (row as usize) < row_count && (column as usize) < column_count;
        assert!(places.iter().all(inside), "places are above the diagonal and inside");
        let first_from = |place: Place| places.partition_point(|&other| other < place) as u32;
        let starts = (0..=row_count as u32).map(|row| first_from((row, 0))).collect();
        let known_starts = (0..row_count as u32).map(|row| first_from((row, row_count as u32))).collect();
        let mut across: Vec<(u32, u32, u32)> = (places.iter().zip(0..))
            .filter(|((_, column), _)| (*column as usize) < row_count)
            .map(|(&(row, column), block)| (column, row, block))
            .collect();
        across.sort_unstable();
        let across_starts =
            (0..=row_count as u32).map(|row| across.partition_point(|entry| entry.0 < row) as u32).collect();
        Self {
            diagonal: vec![Mat3A::ZERO; row_count],
            upper: vec![Mat3A::ZERO; places.len()],
            row_count,
            places,
            starts,
            known_starts,
            across: across.into_iter().map(|(_, row, block)| (block, row)).collect(),
            across_starts,
        }
    }

    /// The number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// The row and column of each block above the diagonal.
    pub fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// `y = A x` over the unknowns; the products `x·y` of each run of rows go to `dots`.
    ///
    /// # Panics
    /// If a slice is shorter than the rows, or the runs.
    pub fn multiply(&self, x: &[Vec3A], y: &mut [Vec3A], dots: &mut [f64]) {
        assert!(x.len() >= self.row_count && y.len() == self.row_count, "a vector has an element for each row");
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

    /// `A x` of one row, over the unknowns.
    ///
    /// # Panics
    /// If `x` does not have an element for each row.
    #[inline]
    pub fn multiply_row(&self, row: usize, x: &[Vec3A]) -> Vec3A {
        let mut sum = self.diagonal[row] * x[row];
        let own = self.starts[row] as usize..self.known_starts[row] as usize;
        for (block, &(_, column)) in self.upper[own.clone()].iter().zip(&self.places[own]) {
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

    /// What the known values, `x` beyond the rows, add to one row of `A x`.
    ///
    /// # Panics
    /// If `x` does not have an element for each column.
    pub fn multiply_known(&self, row: usize, x: &[Vec3A]) -> Vec3A {
        let known = self.known_starts[row] as usize..self.starts[row + 1] as usize;
        let blocks = self.upper[known.clone()].iter().zip(&self.places[known]);
        blocks.fold(Vec3A::ZERO, |sum, (block, &(_, column))| sum + *block * x[column as usize])
    }

    /// Sets each diagonal block to `own(row)` less all other blocks of its row: for stiffness, whose rows sum to zero.
    pub fn set_diagonal(&mut self, own: impl Fn(usize) -> Mat3A + Sync) {
        let mut diagonal = std::mem::take(&mut self.diagonal);
        diagonal.par_chunks_mut(ROWS_PER_TASK).enumerate().for_each(|(run, diagonal)| {
            for (row, diagonal) in (run * ROWS_PER_TASK..).zip(diagonal) {
                *diagonal = own(row) - self.sum_beside_diagonal(row);
            }
        });
        self.diagonal = diagonal;
    }

    fn sum_beside_diagonal(&self, row: usize) -> Mat3A {
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

    /// A matrix of `rows` unknowns and two known columns, and the same in full.
    fn sample(rows: usize) -> (SymmetricBlocks, Vec<Vec<Mat3A>>) {
        let columns = rows + 2;
        let places: Vec<(u32, u32)> = (0..rows)
            .flat_map(|i| {
                (i + 1..columns).filter(move |j| (i * 31 + j * 17) % 3 != 0).map(move |j| (i as u32, j as u32))
            })
            .collect();
        let mut matrix = SymmetricBlocks::new(rows, columns, places.clone());
        let mut full = vec![vec![Mat3A::ZERO; columns]; rows];
        for (k, &(i, j)) in places.iter().enumerate() {
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
    fn products_match_the_full_matrix() {
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
    fn the_diagonal_makes_rows_sum_to_what_is_their_own() {
        let (mut matrix, _) = sample(9);
        matrix.set_diagonal(|row| Mat3A::from_diagonal(glam::Vec3::splat(row as f32)));
        let x = vec![Vec3A::new(1.0, -2.0, 0.5); 11];
        for row in 0..9 {
            let whole = matrix.multiply_row(row, &x) + matrix.multiply_known(row, &x);
            assert!((whole - x[0] * row as f32).length() < 1e-3);
        }
    }

    #[test]
    fn products_are_the_same_bits_on_any_number_of_threads() {
        let rows = 3 * ROWS_PER_TASK + 5;
        let places = (0..rows as u32 - 7).flat_map(|i| [(i, i + 1), (i, i + 7)]).collect();
        let mut matrix = SymmetricBlocks::new(rows, rows, places);
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
    fn a_place_given_twice_breaks_the_contract() {
        SymmetricBlocks::new(2, 2, vec![(0, 1), (0, 1)]);
    }
}
