//! Multi-weight skins learned from examples (*Multi-Weight Enveloping*, Wang & Phillips 2002, MWE).

pub mod cross_validation;
mod design_matrix;
pub mod evaluate;
pub mod examples;
pub mod frames;
pub mod half_error;
pub mod influences;
mod linear;
mod local_ridge;
mod range;
mod region_volume;
mod solve;
pub mod train;
pub mod validate;

pub use cross_validation::Curve;
pub use dermis_mesh::deformer::multi_weights::{MultiWeights, MultiWeightsError, Precision};
pub use evaluate::{MultiPose, MultiPoser};
pub use examples::{Examples, ExamplesError, one_to_one, same_topology};
pub use frames::{PlayError, play};
pub use half_error::{HalfError, half_error};
pub use influences::{InfluenceMaps, MapOptions};
pub use range::{RangeDistance, TrainedRange};
pub use train::{TrainError, TrainOptions, Trained, Underlying, automatic_influences, train};
pub use validate::{PoseValidation, Validation, trained_range, validate};
