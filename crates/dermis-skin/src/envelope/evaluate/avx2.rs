//! Kernel for AVX2, fused multiply-add and, for half precision, F16C.
//!
//! The first two rows of an entry are one register and the third is half of one, so an entry costs two multiply-adds
//! with operands in memory. Points are not interleaved, since out-of-order execution overlaps them. See `crate::pose`
//! for the use of intrinsics without unsafe code.

use std::arch::x86_64::{
    __m128, __m128i, __m256, _mm_add_ps, _mm_cvtph_ps, _mm_fmadd_ps, _mm_hadd_ps, _mm_setzero_ps, _mm_shuffle_ps,
    _mm256_castps256_ps128, _mm256_cvtph_ps, _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_setzero_ps,
};

use bytemuck::cast;

use super::kernel::{HalfRows, HomeColumns, PairIndex, Rows, Run, WeightEntry};

/// Poses the points of `run`.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn pose<I: PairIndex, E: WeightEntry>(run: &Run<'_, I, E>, positions: &mut [[f32; 3]]) {
    let mut begin = run.first;
    for (head, position) in run.heads.iter().zip(positions) {
        let end = head.end as usize;
        let (mut upper, mut lower) = (_mm256_setzero_ps(), _mm_setzero_ps());
        for (pair, entry) in run.entry_pairs[begin..end].iter().zip(&run.entries[begin..end]) {
            let (matrix_upper, matrix_lower) = split(&run.pairs[pair.pair()]);
            let (weights_upper, weights_lower) = widened(entry);
            upper = _mm256_fmadd_ps(weights_upper, matrix_upper, upper);
            lower = _mm_fmadd_ps(weights_lower, matrix_lower, lower);
        }
        begin = end;
        let [x, y, z] = head.rest;
        let moved = _mm_add_ps(row_sums(upper, lower), cast([x, y, z, 0.0f32]));
        let [x, y, z, _]: [f32; 4] = cast(placed(&run.homes[head.home as usize], moved));
        *position = [x, y, z];
    }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn widened<E: WeightEntry>(entry: &E) -> (__m256, __m128) {
    if E::HALF {
        let [a, b, c]: HalfRows = cast(*entry);
        let upper: __m128i = cast([a, b]);
        let lower: __m128i = cast([c, [0u16; 4]]);
        return (_mm256_cvtph_ps(upper), _mm_cvtph_ps(lower));
    }
    split(&cast(*entry))
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn split([a, b, c]: &Rows) -> (__m256, __m128) {
    (cast([*a, *b]), cast(*c))
}

/// Sums of the three rows.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn row_sums(upper: __m256, lower: __m128) -> __m128 {
    let pairs = _mm_hadd_ps(_mm256_castps256_ps128(upper), _mm256_extractf128_ps::<1>(upper));
    _mm_hadd_ps(pairs, _mm_hadd_ps(lower, _mm_setzero_ps()))
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn placed(home: &HomeColumns, point: __m128) -> __m128 {
    let [right, up, back, origin]: [__m128; 4] = cast(home.0);
    let x = _mm_shuffle_ps::<0b00_00_00_00>(point, point);
    let y = _mm_shuffle_ps::<0b01_01_01_01>(point, point);
    let z = _mm_shuffle_ps::<0b10_10_10_10>(point, point);
    _mm_fmadd_ps(back, z, _mm_fmadd_ps(up, y, _mm_fmadd_ps(right, x, origin)))
}
