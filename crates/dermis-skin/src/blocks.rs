//! Parallel loops over blocks of fixed size, so that sums over blocks do not depend on the number of threads.

use rayon::prelude::*;

/// Runs `work` on blocks of `0..count` in parallel and returns the results in order.
pub(crate) fn in_blocks<T: Send>(count: usize, work: impl Fn(std::ops::Range<usize>) -> T + Sync) -> Vec<T> {
    const BLOCK: usize = 256;
    (0..count.div_ceil(BLOCK)).into_par_iter().map(|k| work(k * BLOCK..((k + 1) * BLOCK).min(count))).collect()
}
