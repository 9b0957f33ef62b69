//! Skins: bones, weights and corrections that play a mesh animation; their fitting and their evaluation.
//!
//! [`fit()`] turns mesh sequences into a [`Skin`] by *Skinning Mesh Animations* (James & Twigg 2005, SMA), refined beyond
//! the paper.

#![forbid(unsafe_code)]

pub mod bone_model;
mod clock;
pub mod compare;
pub mod corrections;
pub mod envelope;
pub mod fit;
pub mod measure;
pub mod paper;
pub mod pose;
pub mod refine;
pub mod skin;
pub mod statistics;
pub mod trajectories;
mod transforms;

pub use bone_model::BoneModel;
pub use fit::{Animation, BoneCount, Corrections, Fit, FitError, FitOptions, WeightMethod, fit, fit_weights};
pub use measure::{Measures, measure};
pub use pose::{Pose, Poser};
pub use skin::{Skin, SkinError};
