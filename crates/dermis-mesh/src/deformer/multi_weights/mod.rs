//! The multi-weights of a skin: twelve per bone and point (MWE, Eq. 3), rest coordinates folded in.
//!
//! `p'_j = Σ_k Σ_i w_ij,k m_ij,k`, then `p = H p'`: H is the skinning transform of a home bone and
//! `M_k = H⁻¹ T_k` the transform of bone k seen from there (Eq. 2), so a character that turns or walks as a whole keeps
//! its shape. Points are columns, `p' = M [p; 1]`: row j of the 3×4 matrix `M_k` makes coordinate j, and entry
//! `[j][i]` of a point's weights multiplies entry `[j][i]` of `M_k`. The linear skin below is part of the weights
//! (`w_b p_i` on every row), so there is one sum and nothing to add.
//!
//! Where one home bone gives way to the next, a point has a part for each: `p = Σ share · H p'`. Seen from one home alone,
//! neighbours with different homes would part in poses that no example shows.

mod centred;
mod check;
mod storage;

pub use centred::{HomeFrame, centred, home_frames, others, rest_points};
pub use check::MultiWeightsError;
pub use storage::{MultiWeightsLayer, Precision};

/// Twelve weights per bone and part of a point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MultiWeights {
    /// Where each point's parts begin, and at the end their number; empty where every point is one part.
    pub parts: Vec<u32>,
    /// How much each part counts, summing to 1 for each point; empty where every point is one part.
    pub shares: Vec<f32>,
    /// The bone in whose frame each part is computed.
    pub home: Vec<u32>,
    /// Where each part's entries begin, and at the end their number.
    pub offsets: Vec<u32>,
    /// The bone of each entry, ascending within a part.
    pub bones: Vec<u32>,
    /// The weights of each entry: three rows of four.
    pub weights: Vec<[[f32; 4]; 3]>,
}
