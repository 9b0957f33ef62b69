//! Posing a run of points: what the kernels read, and the choice of the kernel that the processor can run.

use half::f16;
use multiversion::multiversion;

use super::portable;

/// The rows of a 3×4 matrix, or of the weights that belong to its entries.
pub(super) type Rows = [[f32; 4]; 3];
/// The same in half precision, as bits.
pub(super) type HalfRows = [[u16; 4]; 3];

/// The columns x, y, z and translation of a transform, each as long as a register.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(64))]
pub(super) struct HomeColumns(pub(super) [[f32; 4]; 4]);

/// What a point has besides its weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct PointHead {
    /// Where it rests, from the centre of its home bone's points.
    pub(super) rest: [f32; 3],
    /// Its home, by its place among the homes.
    pub(super) home: u32,
    /// Where its entries end; they begin where those of the point before end.
    pub(super) end: u32,
}

/// A run of points and all that poses it.
pub(super) struct Run<'a, I, E> {
    pub(super) pairs: &'a [Rows],
    pub(super) homes: &'a [HomeColumns],
    pub(super) heads: &'a [PointHead],
    /// The first entry of the first point.
    pub(super) first: usize,
    /// The pair of each entry of all points.
    pub(super) entry_pairs: &'a [I],
    pub(super) entries: &'a [E],
}

/// A type that numbers pairs.
pub(super) trait PairIndex: Copy + Send + Sync + std::fmt::Debug + 'static {
    fn numbered(pair: usize) -> Self;
    fn pair(self) -> usize;
}

macro_rules! pair_index {
    ($($type:ty),*) => { $(
        impl PairIndex for $type {
            fn numbered(pair: usize) -> Self {
                pair as Self
            }

            #[inline(always)]
            #[allow(clippy::inline_always, reason = "a call per bone would cost more than the bone")]
            fn pair(self) -> usize {
                self as usize
            }
        }
    )* };
}
pair_index!(u16, u32);

/// The weights of one bone and point.
pub(super) trait Entry: bytemuck::Pod + Send + Sync + std::fmt::Debug {
    /// Whether it is [`HalfRows`], else it is [`Rows`].
    const HALF: bool;
    fn rounded(rows: [[f64; 4]; 3]) -> Self;
    fn widened(&self) -> Rows;
}

impl Entry for Rows {
    const HALF: bool = false;

    fn rounded(rows: [[f64; 4]; 3]) -> Self {
        rows.map(|row| row.map(|weight| weight as f32))
    }

    fn widened(&self) -> Rows {
        *self
    }
}

impl Entry for HalfRows {
    const HALF: bool = true;

    fn rounded(rows: [[f64; 4]; 3]) -> Self {
        rows.map(|row| row.map(|weight| f16::from_f64(weight).to_bits()))
    }

    fn widened(&self) -> Rows {
        self.map(|row| row.map(|bits| f16::from_bits(bits).to_f32()))
    }
}

/// Poses a run of points.
#[multiversion(targets("x86_64+avx2+fma+f16c"))]
pub(super) fn pose_run<I: PairIndex, E: Entry>(run: &Run<'_, I, E>, positions: &mut [[f32; 3]]) {
    multiversion::target::match_target! {
        "x86_64+avx2+fma+f16c" => super::avx2::pose(run, positions),
        _ => portable::pose(run, positions),
    }
}
