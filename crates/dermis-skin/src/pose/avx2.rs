//! Kernel for AVX2 and fused multiply-add.
//!
//! A bone is two registers of two columns each, so four influences are blended with eight instructions. The remaining
//! steps operate on the columns of one vertex; normals are normalized for four vertices at once. Intrinsics are safe
//! to call in functions that declare the required features, and these are called only if `multiversion` has detected
//! them. Closures around intrinsics are avoided: passed to a function that does not declare the same features, they
//! are not inlined.

use std::arch::x86_64::{
    __m128, __m256, _mm_and_ps, _mm_cmpge_ps, _mm_cmple_ps, _mm_div_ps, _mm_fmadd_ps, _mm_fmsub_ps, _mm_insert_ps,
    _mm_movehl_ps, _mm_movelh_ps, _mm_movemask_ps, _mm_mul_ps, _mm_set1_ps, _mm_setzero_ps, _mm_shuffle_ps,
    _mm_sqrt_ps, _mm_unpackhi_ps, _mm_unpacklo_ps, _mm256_castps256_ps128, _mm256_extractf128_ps, _mm256_fmadd_ps,
    _mm256_mul_ps, _mm256_set1_ps,
};

use bytemuck::cast;

use super::kernel::{FourInfluences, JointIndex, NormalRule, QUAD, Quad, Run, Vectors, keep_rest_normals};

/// Number of quads whose normals are normalized together; otherwise the latency of division and root would delay the
/// next bones.
const NORMALIZED_QUADS: usize = 16;

/// Columns x and y, and translation and z, of a transform.
type Halves = [__m256; 2];

/// Poses the quads of `run`. `RULE` is a `NormalRule`; `MORE` is true if vertices can have more than four influences.
#[target_feature(enable = "avx2,fma")]
pub(super) fn pose<J: JointIndex, const RULE: u8, const MORE: bool>(
    run: &Run<'_, J>,
    positions: &mut [Vectors],
    normals: &mut [Vectors],
) {
    if RULE == NormalRule::None as u8 {
        for (index, ((quad, rest), positions)) in run.quads.iter().zip(run.rest).zip(positions).enumerate() {
            pose_quad::<J, RULE, MORE>(run, index, quad, rest, &[[0.0; 3]; QUAD], positions);
        }
        return;
    }
    let mut normals_of_quads = [[_mm_setzero_ps(); 3]; NORMALIZED_QUADS];
    let outs = positions.chunks_mut(NORMALIZED_QUADS).zip(normals.chunks_mut(NORMALIZED_QUADS));
    for (block, (positions, normals)) in outs.enumerate() {
        let quads = block * NORMALIZED_QUADS..block * NORMALIZED_QUADS + positions.len();
        let read = run.quads[quads.clone()].iter().zip(&run.rest[quads.clone()]).zip(&run.normals[quads.clone()]);
        for (k, ((((quad, rest), normals), positions), normals_of_quads)) in
            read.zip(positions).zip(&mut normals_of_quads).enumerate()
        {
            *normals_of_quads = pose_quad::<J, RULE, MORE>(run, quads.start + k, quad, rest, normals, positions);
        }
        for ((normals_of_quads, rest), normals) in normals_of_quads.iter().zip(&run.normals[quads]).zip(normals) {
            write_normalized(*normals_of_quads, rest, normals);
        }
    }
}

/// Poses one quad. Returns x, y and z of its four normals, before normalization.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn pose_quad<J: JointIndex, const RULE: u8, const MORE: bool>(
    run: &Run<'_, J>,
    index: usize,
    quad: &Quad<J>,
    rest: &Vectors,
    normals: &Vectors,
    positions: &mut Vectors,
) -> [__m128; 3] {
    let (mut points, mut normals_of_quads) = ([_mm_setzero_ps(); QUAD], [_mm_setzero_ps(); QUAD]);
    for k in 0..QUAD {
        let mut halves = blend(run.palette, &quad.0[k]);
        if MORE {
            let starts = &run.more_starts[QUAD * index + k..];
            for influences in &run.more[starts[0]..starts[1]] {
                halves = add_influences(halves, run.palette, influences);
            }
        }
        let [right, up, origin, back] = columns(halves);
        points[k] = combine([right, up, back], rest[k], origin);
        let axes = if RULE == NormalRule::Cofactor as u8 { cofactors(right, up, back) } else { [right, up, back] };
        normals_of_quads[k] = combine(axes, normals[k], _mm_setzero_ps());
    }
    *positions = pack(points);
    let [x, y, z] = transpose(normals_of_quads);
    if RULE == NormalRule::Cofactor as u8 { [y, z, x] } else { [x, y, z] }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn blend<J: JointIndex>(palette: &J::Palette, influences: &FourInfluences<J>) -> Halves {
    let bone: Halves = cast(influences.joints[0].matrix(palette).0);
    let weight = _mm256_set1_ps(influences.weights[0]);
    let mut sum = [_mm256_mul_ps(bone[0], weight), _mm256_mul_ps(bone[1], weight)];
    for k in 1..4 {
        sum = add_bone(sum, palette, influences, k);
    }
    sum
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_influences<J: JointIndex>(mut sum: Halves, palette: &J::Palette, influences: &FourInfluences<J>) -> Halves {
    for k in 0..4 {
        sum = add_bone(sum, palette, influences, k);
    }
    sum
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_bone<J: JointIndex>(sum: Halves, palette: &J::Palette, influences: &FourInfluences<J>, k: usize) -> Halves {
    let bone: Halves = cast(influences.joints[k].matrix(palette).0);
    let weight = _mm256_set1_ps(influences.weights[k]);
    [_mm256_fmadd_ps(bone[0], weight, sum[0]), _mm256_fmadd_ps(bone[1], weight, sum[1])]
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn columns([a, b]: Halves) -> [__m128; 4] {
    [_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a), _mm256_castps256_ps128(b), _mm256_extractf128_ps::<1>(b)]
}

/// Returns `origin` + x · a + y · b + z · c.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn combine([a, b, c]: [__m128; 3], [x, y, z]: [f32; 3], origin: __m128) -> __m128 {
    let sum = _mm_fmadd_ps(a, _mm_set1_ps(x), origin);
    _mm_fmadd_ps(c, _mm_set1_ps(z), _mm_fmadd_ps(b, _mm_set1_ps(y), sum))
}

/// b×c, c×a and a×b in the order z, x, y, which saves a permutation per cross product; four vertices are reordered at
/// once.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn cofactors(a: __m128, b: __m128, c: __m128) -> [__m128; 3] {
    let (next_a, next_b, next_c) = (next_axes(a), next_axes(b), next_axes(c));
    [
        _mm_fmsub_ps(b, next_c, _mm_mul_ps(next_b, c)),
        _mm_fmsub_ps(c, next_a, _mm_mul_ps(next_c, a)),
        _mm_fmsub_ps(a, next_b, _mm_mul_ps(next_a, b)),
    ]
}

/// Permutation (y, z, x).
#[inline]
#[target_feature(enable = "avx2,fma")]
fn next_axes(v: __m128) -> __m128 {
    _mm_shuffle_ps::<0b11_00_10_01>(v, v)
}

/// First three lanes of each vector, concatenated.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn pack([a, b, c, d]: [__m128; 4]) -> Vectors {
    let first = _mm_insert_ps::<0b0011_0000>(a, b);
    let second = _mm_shuffle_ps::<0b01_00_10_01>(b, c);
    let third = _mm_insert_ps::<0b1000_0000>(_mm_shuffle_ps::<0b10_01_00_00>(d, d), c);
    cast([first, second, third])
}

/// x, y and z of four vectors.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn transpose([a, b, c, d]: [__m128; 4]) -> [__m128; 3] {
    let (ab, cd) = (_mm_unpacklo_ps(a, b), _mm_unpacklo_ps(c, d));
    let z = _mm_movelh_ps(_mm_unpackhi_ps(a, b), _mm_unpackhi_ps(c, d));
    [_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab), z]
}

/// Normalizes four vectors and writes them to `out`; `rest` is used for vectors without a direction.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn write_normalized([x, y, z]: [__m128; 3], rest: &Vectors, out: &mut Vectors) {
    let squared = _mm_fmadd_ps(z, z, _mm_fmadd_ps(y, y, _mm_mul_ps(x, x)));
    let scale = _mm_div_ps(_mm_set1_ps(1.0), _mm_sqrt_ps(squared));
    *out = interleave(_mm_mul_ps(x, scale), _mm_mul_ps(y, scale), _mm_mul_ps(z, scale));
    let above = _mm_cmpge_ps(squared, _mm_set1_ps(f32::MIN_POSITIVE));
    let below = _mm_cmple_ps(squared, _mm_set1_ps(f32::MAX));
    if _mm_movemask_ps(_mm_and_ps(above, below)) != 0b1111 {
        keep_rest_normals(rest, cast(squared), out);
    }
}

/// Four vectors, concatenated, from their x, y and z.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn interleave(x: __m128, y: __m128, z: __m128) -> Vectors {
    let xy = _mm_shuffle_ps::<0b10_00_10_00>(x, y);
    let yz = _mm_shuffle_ps::<0b11_01_11_01>(y, z);
    let zx = _mm_shuffle_ps::<0b11_01_10_00>(z, x);
    let first = _mm_shuffle_ps::<0b10_00_10_00>(xy, zx);
    let second = _mm_shuffle_ps::<0b11_01_10_00>(yz, xy);
    let third = _mm_shuffle_ps::<0b11_01_11_01>(zx, yz);
    cast([first, second, third])
}
