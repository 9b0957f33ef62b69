//! Multi-weight skins learned from examples (*Multi-Weight Enveloping*, Wang & Phillips 2002, MWE).

mod centred;
pub mod check;
pub mod evaluate;
pub mod frames;
pub mod half_error;
pub mod multi_weights;
pub mod storage;

pub use check::MultiWeightsError;
pub use evaluate::{MultiPose, MultiPoser, Precision};
pub use frames::{PlayError, play};
pub use half_error::{HalfError, half_error};
pub use multi_weights::MultiWeights;
