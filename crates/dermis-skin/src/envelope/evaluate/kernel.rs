//! Data read by the kernels for a run of points, and the choice of the kernel for the processor.

use half::f16;
use multiversion::multiversion;

use super::portable;

/// Rows of a 3×4 matrix, or of the weights of its entries.
pub(super) type Rows = [[f32; 4]; 3];
/// Rows in half precision, as bits.
pub(super) type HalfRows = [[u16; 4]; 3];

/// Columns x, y, z and translation of a transform, each padded to the length of a register.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(align(64))]
pub(super) struct HomeColumns(pub(super) [[f32; 4]; 4]);

/// Data of a point besides its weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct PointHead {
    /// Rest position relative to the centre of the home bone's points.
    pub(super) rest: [f32; 3],
    /// Index of the home bone among the homes.
    pub(super) home: u32,
    /// End of the entries of the point; they start at the end of those of the previous point.
    pub(super) end: u32,
}

/// Run of points with the data needed to pose it.
pub(super) struct Run<'a, I, E> {
    pub(super) pairs: &'a [Rows],
    pub(super) homes: &'a [HomeColumns],
    pub(super) heads: &'a [PointHead],
    /// First entry of the first point.
    pub(super) first: usize,
    /// Pair of each entry of all points.
    pub(super) entry_pairs: &'a [I],
    pub(super) entries: &'a [E],
}

/// Integer type of pair indices.
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
            #[allow(clippy::inline_always, reason = "a call would cost more than the function")]
            fn pair(self) -> usize {
                self as usize
            }
        }
    )* };
}
pair_index!(u16, u32);

/// Weights of one bone and point.
pub(super) trait WeightEntry: bytemuck::Pod + Send + Sync + std::fmt::Debug {
    /// True for [`HalfRows`], false for [`Rows`].
    const HALF: bool;
    fn rounded(rows: [[f64; 4]; 3]) -> Self;
    fn widened(&self) -> Rows;
}

impl WeightEntry for Rows {
    const HALF: bool = false;

    fn rounded(rows: [[f64; 4]; 3]) -> Self {
        rows.map(|row| row.map(|weight| weight as f32))
    }

    fn widened(&self) -> Rows {
        *self
    }
}

impl WeightEntry for HalfRows {
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
pub(super) fn pose_run<I: PairIndex, E: WeightEntry>(run: &Run<'_, I, E>, positions: &mut [[f32; 3]]) {
    multiversion::target::match_target! {
        "x86_64+avx2+fma+f16c" => super::avx2::pose(run, positions),
        _ => portable::pose(run, positions),
    }
}
