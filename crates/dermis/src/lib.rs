//! dermis learns, corrects and simulates the skin of animated characters.
//!
//! This crate is what users, the command line, the viewer and Python depend on: it gathers the parts under one name
//! and adds what they do together ([`mod@select`], [`mod@replay`], [`mod@retarget`],
//! [`mod@bodies`]).
//!
//! ```
//! use dermis::prelude::*;
//!
//! // A triangle that rises: one topology, two frames, 24 frames per second.
//! let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2]])?);
//! let frames = [0.0, 1.0].iter().flat_map(|&z| mesh.points().iter().map(move |&point| point + z * Vec3::Z)).collect();
//! let sequence = MeshSequence::new(mesh, frames, 24.0)?;
//! let scene = Scene { objects: vec![Object::of_sequence("triangle", sequence)], ..Scene::default() };
//!
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("triangle.npz");
//! # let file = file.to_str().unwrap();
//! # /*
//! let file = "triangle.npz";
//! # */
//! dermis::io::write(file.as_ref(), &scene, &WriteOptions::default(), &Silent)?;
//! let back = dermis::io::read(file, &ReadOptions::default())?;
//!
//! // Only its last frame, as `dermis convert --frames -1:` does.
//! let last = select(back, &Selection { frames: Some("-1:".parse()?), ..Selection::default() })?;
//! let motion = last.objects[0].sequence.as_ref().unwrap();
//! assert_eq!(motion.frame(0)?[0], Vec3::Z);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod bodies;
pub mod build_body;
pub mod frame_range;
pub mod inspect;
pub mod layered_file;
pub mod replay;
pub mod resample;
pub mod retarget;
pub mod select;
pub mod wrinkle_files;

pub use dermis_active as active;
pub use dermis_body as body;
pub use dermis_io as io;
pub use dermis_math as math;
pub use dermis_mesh as mesh;
pub use dermis_mesh::names;
pub use dermis_samples as samples;
pub use dermis_skin as skin;
pub use dermis_tet as tet;
pub use dermis_tissue as tissue;

pub use frame_range::{FrameRange, FrameRangeError};
pub use replay::{ReplayError, replay};
pub use retarget::{RetargetError, retarget};
pub use select::{SelectError, Selection, find_clip, select};

/// The names that most programs need, for `use dermis::prelude::*`.
pub mod prelude {
    pub use std::sync::Arc;

    pub use crate::frame_range::FrameRange;
    pub use crate::io::{ReadOptions, WriteOptions};
    pub use crate::math::progress::{Progress, Silent};
    pub use crate::mesh::glam::{DAffine3, Vec2, Vec3};
    pub use crate::mesh::{
        Clip, Joint, MeshSequence, Note, Object, Rig, Scene, Shape, SkinWeights, TetMesh, TriMesh, Units, UpAxis,
    };
    pub use crate::select::{Selection, select};
}
