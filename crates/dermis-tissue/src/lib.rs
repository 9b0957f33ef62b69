//! Layered bodies: a statistical inner layer that follows the pose and a finite-element outer layer that jiggles, sags
//! and reacts to forces (*Data-Driven Physics for Human Soft Tissue Animation*, Kim et al. 2017).

#![forbid(unsafe_code)]

pub mod dynamics;
pub mod fem;
pub mod fit;
pub mod layered;
pub mod layers;
