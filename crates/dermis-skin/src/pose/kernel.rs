//! Data read by the kernels for a run of vertices, and the choice of the kernel for the processor.

use multiversion::multiversion;

use super::{SMALL_PALETTE, portable};

/// Number of vertices posed together: the largest number whose blended bones fit in registers.
pub(super) const QUAD: usize = 4;

/// Columns x, y, translation and z of a 3×4 transform, each padded to the length of a register; one cache line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(64))]
pub(super) struct Matrix(pub(super) [[f32; 4]; 4]);

/// Four joints and their weights; unused ones have weight 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(super) struct FourInfluences<J> {
    pub(super) joints: [J; 4],
    pub(super) weights: [f32; 4],
}

/// First four influences of four vertices.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Quad<J>(pub(super) [FourInfluences<J>; QUAD]);

/// Points or normals of four vertices.
pub(super) type Vectors = [[f32; 3]; QUAD];

/// Transformation of normals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NormalRule {
    /// Normals are not computed.
    None,
    /// Cofactors of the blended linear part.
    Cofactor,
    /// Blended linear part (SMA, Eq. 13).
    Linear,
}

/// Run of quads with the data needed to pose it.
pub(super) struct Run<'a, J: JointIndex> {
    pub(super) palette: &'a J::Palette,
    pub(super) quads: &'a [Quad<J>],
    /// Corrected rest points of each quad.
    pub(super) rest: &'a [Vectors],
    /// Corrected rest normals of each quad; not read if normals are not computed.
    pub(super) normals: &'a [Vectors],
    /// The influences beyond four of the k-th vertex are `more[more_starts[k]..more_starts[k + 1]]`; empty if no
    /// vertex of the skin has any.
    pub(super) more_starts: &'a [usize],
    pub(super) more: &'a [FourInfluences<J>],
}

/// Integer type of joint indices.
pub(super) trait JointIndex: Copy + Default + Send + Sync {
    /// Palette type that needs as few bounds checks as the index type allows.
    type Palette: ?Sized;
    /// Converts an index; all joints of a skin fit the type, see `Prepared`.
    fn numbered(index: u32) -> Self;
    fn palette(matrices: &[Matrix]) -> &Self::Palette;
    fn matrix(self, palette: &Self::Palette) -> &Matrix;
}

impl JointIndex for u8 {
    type Palette = [Matrix; SMALL_PALETTE];

    fn numbered(index: u32) -> Self {
        index as Self
    }

    fn palette(matrices: &[Matrix]) -> &Self::Palette {
        matrices.first_chunk().expect("palettes have at least 256 matrices")
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call would cost more than the function")]
    fn matrix(self, palette: &Self::Palette) -> &Matrix {
        &palette[usize::from(self)]
    }
}

macro_rules! checked_joint {
    ($($type:ty),*) => { $(
        impl JointIndex for $type {
            type Palette = [Matrix];

            fn numbered(index: u32) -> Self {
                index as Self
            }

            fn palette(matrices: &[Matrix]) -> &Self::Palette {
                matrices
            }

            #[inline(always)]
            #[allow(clippy::inline_always, reason = "a call would cost more than the function")]
            fn matrix(self, palette: &Self::Palette) -> &Matrix {
                &palette[self as usize]
            }
        }
    )* };
}
checked_joint!(u16, u32);

/// Poses a run of vertices; `normals` is unchanged if the rule is `None`.
pub(super) fn pose_run<J: JointIndex>(
    run: &Run<'_, J>,
    rule: NormalRule,
    positions: &mut [Vectors],
    normals: &mut [Vectors],
) {
    const COFACTOR: u8 = NormalRule::Cofactor as u8;
    const LINEAR: u8 = NormalRule::Linear as u8;
    const NONE: u8 = NormalRule::None as u8;
    match (rule, run.more_starts.is_empty()) {
        (NormalRule::None, true) => pose::<J, NONE, false>(run, positions, normals),
        (NormalRule::None, false) => pose::<J, NONE, true>(run, positions, normals),
        (NormalRule::Cofactor, true) => pose::<J, COFACTOR, false>(run, positions, normals),
        (NormalRule::Cofactor, false) => pose::<J, COFACTOR, true>(run, positions, normals),
        (NormalRule::Linear, true) => pose::<J, LINEAR, false>(run, positions, normals),
        (NormalRule::Linear, false) => pose::<J, LINEAR, true>(run, positions, normals),
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn pose<J: JointIndex, const RULE: u8, const MORE: bool>(
    run: &Run<'_, J>,
    positions: &mut [Vectors],
    normals: &mut [Vectors],
) {
    multiversion::target::match_target! {
        "x86_64+avx2+fma" => super::avx2::pose::<J, RULE, MORE>(run, positions, normals),
        _ => portable::pose::<J, RULE, MORE>(run, positions, normals),
    }
}

/// `out += coefficient · offsets`.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn add_scaled(coefficient: f32, offsets: &[Vectors], out: &mut [Vectors]) {
    for (sum, offset) in out.as_flattened_mut().as_flattened_mut().iter_mut().zip(offsets.as_flattened().as_flattened())
    {
        *sum += coefficient * offset;
    }
}

/// Replaces normals that the bones have flattened by the rest normals.
#[cold]
pub(super) fn keep_rest_normals(rest: &Vectors, lengths_squared: [f32; QUAD], normals: &mut Vectors) {
    for ((normal, rest), squared) in normals.iter_mut().zip(rest).zip(lengths_squared) {
        if !has_direction(squared) {
            *normal = glam::Vec3::from_array(*rest).normalize_or_zero().to_array();
        }
    }
}

/// Returns true if a vector of this squared length can be normalized.
pub(super) fn has_direction(length_squared: f32) -> bool {
    (f32::MIN_POSITIVE..=f32::MAX).contains(&length_squared)
}
