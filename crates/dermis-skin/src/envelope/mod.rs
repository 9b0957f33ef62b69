//! Multi-weight skins learned from examples (*Multi-Weight Enveloping*, Wang & Phillips 2002, MWE).

pub mod multi_weights;

pub use multi_weights::MultiWeights;
