//! Posing a run of vertices with AVX2 and fused multiply-add.
//!
//! A bone is two registers of two columns, so four influences blend in eight instructions. Everything after that is
//! done on columns of one vertex; normals are made unit for four vertices at once. The intrinsics are safe to call in
//! functions that declare what they need, and these are called only where `multiversion` found it. Closures are not
//! used around them: a closure handed to a function that does not declare the same is not inlined.

use std::arch::x86_64::{
    __m128, __m256, _mm_and_ps, _mm_cmpge_ps, _mm_cmple_ps, _mm_div_ps, _mm_fmadd_ps, _mm_fmsub_ps, _mm_insert_ps,
    _mm_movehl_ps, _mm_movelh_ps, _mm_movemask_ps, _mm_mul_ps, _mm_set1_ps, _mm_setzero_ps, _mm_shuffle_ps,
    _mm_sqrt_ps, _mm_unpackhi_ps, _mm_unpacklo_ps, _mm256_castps256_ps128, _mm256_extractf128_ps, _mm256_fmadd_ps,
    _mm256_mul_ps, _mm256_set1_ps,
};

use bytemuck::cast;

use super::kernel::{Influences, Joint, NormalRule, QUAD, Quad, Run, Vectors, keep_rest_normals};

/// Quads whose normals are made unit together: the division and root of one would hold up the bones of the next.
const TURNED: usize = 16;

/// The columns x and y, and translation and z, of a transform.
type Halves = [__m256; 2];

/// Poses the quads of `run`; `RULE` is a `NormalRule`, `MORE` says whether vertices may have more than four influences.
#[target_feature(enable = "avx2,fma")]
pub(super) fn pose<J: Joint, const RULE: u8, const MORE: bool>(
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
    let mut turned = [[_mm_setzero_ps(); 3]; TURNED];
    let outs = positions.chunks_mut(TURNED).zip(normals.chunks_mut(TURNED));
    for (block, (positions, normals)) in outs.enumerate() {
        let quads = block * TURNED..block * TURNED + positions.len();
        let read = run.quads[quads.clone()].iter().zip(&run.rest[quads.clone()]).zip(&run.normals[quads.clone()]);
        for (k, ((((quad, rest), normals), positions), turned)) in read.zip(positions).zip(&mut turned).enumerate() {
            *turned = pose_quad::<J, RULE, MORE>(run, quads.start + k, quad, rest, normals, positions);
        }
        for ((turned, rest), normals) in turned.iter().zip(&run.normals[quads]).zip(normals) {
            put_unit(*turned, rest, normals);
        }
    }
}

/// Poses one quad; the x, y and z of its four normals, not yet unit.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn pose_quad<J: Joint, const RULE: u8, const MORE: bool>(
    run: &Run<'_, J>,
    index: usize,
    quad: &Quad<J>,
    rest: &Vectors,
    normals: &Vectors,
    positions: &mut Vectors,
) -> [__m128; 3] {
    let (mut points, mut turned) = ([_mm_setzero_ps(); QUAD], [_mm_setzero_ps(); QUAD]);
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
        turned[k] = combine(axes, normals[k], _mm_setzero_ps());
    }
    *positions = pack(points);
    let [x, y, z] = transpose(turned);
    if RULE == NormalRule::Cofactor as u8 { [y, z, x] } else { [x, y, z] }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn blend<J: Joint>(palette: &J::Palette, influences: &Influences<J>) -> Halves {
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
fn add_influences<J: Joint>(mut sum: Halves, palette: &J::Palette, influences: &Influences<J>) -> Halves {
    for k in 0..4 {
        sum = add_bone(sum, palette, influences, k);
    }
    sum
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn add_bone<J: Joint>(sum: Halves, palette: &J::Palette, influences: &Influences<J>, k: usize) -> Halves {
    let bone: Halves = cast(influences.joints[k].matrix(palette).0);
    let weight = _mm256_set1_ps(influences.weights[k]);
    [_mm256_fmadd_ps(bone[0], weight, sum[0]), _mm256_fmadd_ps(bone[1], weight, sum[1])]
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn columns([a, b]: Halves) -> [__m128; 4] {
    [_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a), _mm256_castps256_ps128(b), _mm256_extractf128_ps::<1>(b)]
}

/// `origin` + x · a + y · b + z · c.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn combine([a, b, c]: [__m128; 3], [x, y, z]: [f32; 3], origin: __m128) -> __m128 {
    let sum = _mm_fmadd_ps(a, _mm_set1_ps(x), origin);
    _mm_fmadd_ps(c, _mm_set1_ps(z), _mm_fmadd_ps(b, _mm_set1_ps(y), sum))
}

/// b×c, c×a and a×b in the order z, x, y: so the cross product comes out, and four vertices are turned back at once.
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

/// (y, z, x).
#[inline]
#[target_feature(enable = "avx2,fma")]
fn next_axes(v: __m128) -> __m128 {
    _mm_shuffle_ps::<0b11_00_10_01>(v, v)
}

/// The first three lanes of each, in a row.
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

/// Puts four vectors, made unit, into `out`; `rest` where one has no direction.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn put_unit([x, y, z]: [__m128; 3], rest: &Vectors, out: &mut Vectors) {
    let squared = _mm_fmadd_ps(z, z, _mm_fmadd_ps(y, y, _mm_mul_ps(x, x)));
    let scale = _mm_div_ps(_mm_set1_ps(1.0), _mm_sqrt_ps(squared));
    *out = interleave(_mm_mul_ps(x, scale), _mm_mul_ps(y, scale), _mm_mul_ps(z, scale));
    let above = _mm_cmpge_ps(squared, _mm_set1_ps(f32::MIN_POSITIVE));
    let below = _mm_cmple_ps(squared, _mm_set1_ps(f32::MAX));
    if _mm_movemask_ps(_mm_and_ps(above, below)) != 0b1111 {
        keep_rest_normals(rest, cast(squared), out);
    }
}

/// x, y and z of four vectors, as vectors in a row.
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
