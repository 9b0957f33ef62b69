//! Parallel sums that are bitwise identical for any number of threads.
//!
//! Terms are added in blocks of a fixed size, in parallel; the block sums are then added in order. This also loses less
//! precision than one long chain of additions.

use std::ops::Add;

use rayon::prelude::*;

const BLOCK: usize = 4096;

/// Sum of `term(0)`, …, `term(count − 1)`; the default value if `count` is 0.
pub fn sum<T>(count: usize, term: impl Fn(usize) -> T + Sync) -> T
where
    T: Default + Add<Output = T> + Send,
{
    let block_sum = |block: usize| {
        let range = block * BLOCK..count.min((block + 1) * BLOCK);
        range.map(&term).fold(T::default(), T::add)
    };
    if count <= BLOCK {
        return block_sum(0);
    }
    let blocks: Vec<T> = (0..count.div_ceil(BLOCK)).into_par_iter().map(block_sum).collect();
    blocks.into_iter().fold(T::default(), T::add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_every_term_once() {
        for count in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            assert_eq!(sum(count, |i| i), (0..count).sum(), "{count} terms");
        }
    }

    #[test]
    fn is_bitwise_identical_for_any_number_of_threads() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sum(100_000, |i| (i as f64).sin()))
        };
        assert_eq!(on(1).to_bits(), on(2).to_bits());
        assert_eq!(on(1).to_bits(), on(5).to_bits());
    }
}
