//! Data model of dermis: shapes, their motion, their rigs, and operators on them.
//!
//! A [`Scene`] is the content of a file: [`Object`]s with a [`TriMesh`] and, if the file provides them, recorded frames
//! ([`MeshSequence`]), a [`Rig`] with [`Clip`]s, or tetrahedra ([`TetMesh`]). All types are validated on construction, so
//! other crates index them without checks.

#![forbid(unsafe_code)]

pub mod adjacency;
pub mod boundary;
pub mod clip;
pub mod deformer;
mod first_equal;
pub mod geometry;
pub mod laplacian;
pub mod layout;
pub mod merge;
mod mesh_error;
pub mod names;
pub mod pattern;
mod polygon_list;
pub mod polygons;
pub mod pose;
pub mod problems;
pub mod reshape;
pub mod rig;
pub mod scene;
pub mod sequence;
pub mod shells;
pub mod surface_tree;
pub mod tet_mesh;
pub mod tri_mesh;
mod triangulate;
pub mod volume;
pub mod weld;

#[cfg(test)]
mod test_shapes;

pub use clip::Clip;
pub use deformer::{Deformer, StoredDeformer, Values};
pub use layout::{AlphaMode, Image, Layout, Material, Sampler, Texture};
pub use polygons::{CornerData, PolygonMesh, Polygons};
pub use rig::{Joint, Rig, RigError, RigPose, Shape, SkinWeights};
pub use scene::{Level, Note, Object, Scene, Units, UpAxis};
pub use sequence::{FrameSource, MeshSequence, SequenceError};
pub use tet_mesh::TetMesh;
pub use tri_mesh::{MeshError, TriMesh};

pub use glam;
