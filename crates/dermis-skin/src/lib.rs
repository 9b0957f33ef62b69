//! Skins: bones, weights and corrections that play a mesh animation; their fitting, evaluation and export.
//!
//! [`fit()`] turns mesh sequences into a [`Skin`] by *Skinning Mesh Animations* (James & Twigg 2005, SMA), refined beyond
//! the paper. [`envelope`] learns multi-weights (Wang & Phillips 2002, MWE).
//!
//! | looking for | file |
//! |---|---|
//! | the model: rest pose, bones, weights, corrections | `skin.rs`, `bone_model.rs` |
//! | evaluation in real time | `pose/` |
//! | mean shift of rotation sequences (SMA, §4) | `fit/sma/mean_shift_clusters.rs` |
//! | weights of given bones (SMA, Eq. 5–11) | `fit/sma/weights.rs` |
//! | corrections (SMA, Eq. 12–13) | `fit/corrections.rs` |
//! | refinement beyond the paper | `fit/refine/` |
//! | joint trees; existing rigs, helper bones | `fit/skeleton/`, `fit/given_rig/` |
//! | multi-weights by ridge regression (MWE, Eq. 8–9) | `envelope/local_ridge.rs` |
//! | measures | `measure/` |
//! | bones as nodes of a file | `export/` |
//!
//! Each module depends only on those listed before it: `pose`, `skin`, `measure`, `fit`, `envelope`. `export` depends on
//! none of them.

#![forbid(unsafe_code)]

mod blend;
mod blocks;
pub mod bone_model;
mod clock;
pub mod envelope;
pub mod export;
pub mod fit;
pub mod measure;
pub mod pose;
pub mod skin;
mod surface_graph;

pub use bone_model::BoneModel;
pub use fit::refine;
pub use fit::{
    Animation, Bones, Corrections, Fit, FitError, FitOptions, RigOptions, RigReport, SkeletonKind, SkeletonReport,
    WeightMethod, fit, fit_motion, fit_rig, fit_weights,
};
pub use measure::{Measures, RigQuality, compare, measure, rig_quality, statistics};
pub use pose::{Pose, Poser};
pub use skin::{PoseError, Skin, SkinError};
