//! Layered bodies: a statistical inside that follows the pose, a finite-element outside that jiggles, sags and reacts
//! to forces (*Data-Driven Physics for Human Soft Tissue Animation*, Kim et al. 2017).

#![forbid(unsafe_code)]

pub mod dynamics;
pub mod fem;
pub mod layered;
pub mod layers;
