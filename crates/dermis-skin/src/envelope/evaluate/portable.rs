//! Kernel for any processor: the same steps as with AVX2, vectorized by the compiler.

use super::kernel::{PairIndex, Run, WeightEntry};

/// Poses the points of `run`.
pub(super) fn pose<I: PairIndex, E: WeightEntry>(run: &Run<'_, I, E>, positions: &mut [[f32; 3]]) {
    let mut begin = run.first;
    for (head, position) in run.heads.iter().zip(positions) {
        let end = head.end as usize;
        let mut sums = [[0.0f32; 4]; 3];
        for (pair, entry) in run.entry_pairs[begin..end].iter().zip(&run.entries[begin..end]) {
            let rows = sums.iter_mut().zip(entry.widened()).zip(&run.pairs[pair.pair()]);
            for ((sums, weights), matrix) in rows {
                for lane in 0..4 {
                    sums[lane] += weights[lane] * matrix[lane]; // MWE, Eq. 3
                }
            }
        }
        begin = end;
        let row = |j: usize| head.rest[j] + ((sums[j][0] + sums[j][1]) + (sums[j][2] + sums[j][3]));
        let (x, y, z) = (row(0), row(1), row(2));
        let [right, up, back, origin] = &run.homes[head.home as usize].0;
        *position = [0, 1, 2].map(|lane| right[lane] * x + up[lane] * y + back[lane] * z + origin[lane]);
    }
}
