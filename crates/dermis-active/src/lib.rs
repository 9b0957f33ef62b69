//! Active geometric layers on top of any animation (Rohmer, Hahmann & Cani 2010): volume preservation for skin and
//! wrinkles for compressed cloth.
//!
//! Both layers are prepared once for a mesh and then applied frame by frame to positions from any source.

#![forbid(unsafe_code)]

pub mod intersections;
pub mod volume;
pub mod wrinkle;
