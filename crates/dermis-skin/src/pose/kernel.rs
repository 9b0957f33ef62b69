//! Posing a run of vertices: what the kernels read, and the choice of the kernel that the processor can run.

use multiversion::multiversion;

use super::{SMALL_PALETTE, portable};

/// Vertices that are posed together: the largest number whose blended bones stay in registers.
pub(super) const QUAD: usize = 4;

/// The columns x, y, translation, z of a 3×4 transform, each as long as a register. A cache line holds it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(64))]
pub(super) struct Matrix(pub(super) [[f32; 4]; 4]);

/// Four joints and their weights; unused ones weigh 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C)]
pub(super) struct Influences<J> {
    pub(super) joints: [J; 4],
    pub(super) weights: [f32; 4],
}

/// The first four influences of four vertices.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Quad<J>(pub(super) [Influences<J>; QUAD]);

/// The points or normals of four vertices.
pub(super) type Vectors = [[f32; 3]; QUAD];

/// How normals follow the bones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NormalRule {
    /// Not at all: they are not asked for.
    None,
    /// By the cofactors of the blended linear part.
    Cofactor,
    /// By the blended linear part itself (SMA, Eq. 13).
    Linear,
}

/// A run of quads and all that poses it.
pub(super) struct Run<'a, J: Joint> {
    pub(super) palette: &'a J::Palette,
    pub(super) quads: &'a [Quad<J>],
    /// The rest points of each quad, corrected.
    pub(super) rest: &'a [Vectors],
    /// The rest normals of each quad, corrected; not read where normals are not asked for.
    pub(super) normals: &'a [Vectors],
    /// The influences beyond four of the k-th vertex are `more[more_starts[k]..more_starts[k + 1]]`; empty where no
    /// vertex of the skin has any.
    pub(super) more_starts: &'a [usize],
    pub(super) more: &'a [Influences<J>],
}

/// A type that numbers joints.
pub(super) trait Joint: Copy + Default + Send + Sync {
    /// A palette that needs as few checks as the type allows.
    type Palette: ?Sized;
    /// All joints of a skin fit the type: see `Prepared`.
    fn numbered(index: u32) -> Self;
    fn palette(matrices: &[Matrix]) -> &Self::Palette;
    fn matrix(self, palette: &Self::Palette) -> &Matrix;
}

impl Joint for u8 {
    type Palette = [Matrix; SMALL_PALETTE];

    fn numbered(index: u32) -> Self {
        index as Self
    }

    fn palette(matrices: &[Matrix]) -> &Self::Palette {
        matrices.first_chunk().expect("no palette is shorter")
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a call per bone would cost more than the bone")]
    fn matrix(self, palette: &Self::Palette) -> &Matrix {
        &palette[usize::from(self)]
    }
}

macro_rules! checked_joint {
    ($($type:ty),*) => { $(
        impl Joint for $type {
            type Palette = [Matrix];

            fn numbered(index: u32) -> Self {
                index as Self
            }

            fn palette(matrices: &[Matrix]) -> &Self::Palette {
                matrices
            }

            #[inline(always)]
            #[allow(clippy::inline_always, reason = "a call per bone would cost more than the bone")]
            fn matrix(self, palette: &Self::Palette) -> &Matrix {
                &palette[self as usize]
            }
        }
    )* };
}
checked_joint!(u16, u32);

/// Poses a run of vertices; `normals` is not touched where the rule is `None`.
pub(super) fn pose_run<J: Joint>(
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
fn pose<J: Joint, const RULE: u8, const MORE: bool>(
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

/// What stands for a normal that the bones have flattened: the rest normal.
#[cold]
pub(super) fn keep_rest_normals(rest: &Vectors, lengths_squared: [f32; QUAD], normals: &mut Vectors) {
    for ((normal, rest), squared) in normals.iter_mut().zip(rest).zip(lengths_squared) {
        if !has_direction(squared) {
            *normal = glam::Vec3::from_array(*rest).normalize_or_zero().to_array();
        }
    }
}

/// Whether a vector of this squared length can be made a unit vector.
pub(super) fn has_direction(length_squared: f32) -> bool {
    (f32::MIN_POSITIVE..=f32::MAX).contains(&length_squared)
}
