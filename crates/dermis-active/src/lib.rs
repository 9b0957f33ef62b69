//! Active geometric layers on top of any animation (Rohmer, Hahmann & Cani 2010): skin that keeps its volume, cloth that
//! wrinkles where it is compressed.
//!
//! Both layers are prepared once for a mesh and then applied frame by frame to positions, wherever those come from.

#![forbid(unsafe_code)]

pub mod volume;
pub mod wrinkle;
