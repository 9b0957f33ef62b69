//! Multi-weights of a skin: twelve per bone and point (MWE, Eq. 3), with the rest coordinates folded in.
//!
//! `p'_j = Σ_k Σ_i w_ij,k m_ij,k`, then `p = H p'`: H is the skinning transform of a home bone and `M_k = H⁻¹ T_k` the
//! transform of bone k relative to it (Eq. 2), so a character keeps its shape if it rotates or moves as a whole. Points
//! are columns, `p' = M [p; 1]`: row j of the 3×4 matrix `M_k` yields coordinate j, and entry `[j][i]` of a point's
//! weights multiplies entry `[j][i]` of `M_k`. The underlying linear skin is included in the weights (`w_b p_i` on
//! every row), so the evaluation is a single sum.
//!
//! In the transition region between home bones, a point has a part for each: `p = Σ fraction · H p'`. With a single home
//! bone per point, neighbours with different home bones would separate in poses outside the examples.

mod centred;
mod check;
mod storage;

pub use centred::{HomeFrame, centred, home_frames, others, rest_points};
pub use check::MultiWeightsError;
pub use storage::{MultiWeightsLayer, Precision};

/// Twelve weights per bone and part of a point.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MultiWeights {
    /// Index of each point's first part, followed by the number of parts; empty if every point has one part.
    pub parts: Vec<u32>,
    /// Weight of each part, summing to 1 for each point; empty if every point has one part.
    pub fractions: Vec<f32>,
    /// Home bone of each part: the part is computed in its frame.
    pub home: Vec<u32>,
    /// Index of each part's first entry, followed by the number of entries.
    pub offsets: Vec<u32>,
    /// Bone of each entry, ascending within a part.
    pub bones: Vec<u32>,
    /// Weights of each entry: three rows of four.
    pub weights: Vec<[[f32; 4]; 3]>,
}
