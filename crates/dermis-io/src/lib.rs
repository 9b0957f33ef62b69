//! Reading and writing of files: one module and one Cargo feature per format, with a common [`read`] and [`write()`].
//!
//! [`FORMATS`] lists the formats. Readers accept untrusted bytes: they check each count against the available bytes
//! before they allocate ([`budget`]), never panic, and always terminate. Writers create temporary files next to the
//! target and rename them when they are complete ([`output`]).

#![cfg_attr(not(feature = "all"), allow(dead_code, unused_imports, reason = "parts that only some formats use"))]

#[cfg(feature = "alembic")]
mod alembic;
pub mod budget;
#[cfg(feature = "bvh")]
mod bvh;
mod color;
pub mod dyna;
pub mod error;
#[cfg(feature = "fbx")]
mod fbx;
#[cfg(any(feature = "gltf", feature = "alembic"))]
mod following_normals;
pub mod format;
mod frame_rate;
#[cfg(feature = "gltf")]
mod gltf;
#[cfg(feature = "gmsh")]
mod gmsh;
#[cfg(feature = "image")]
pub mod image;
mod input;
mod magic;
mod mapped;
#[cfg(feature = "point-cache")]
mod mdd;
#[cfg(feature = "medit")]
mod medit;
#[cfg(any(feature = "gltf", feature = "fbx"))]
mod negative_weights;
mod neighbours;
#[cfg(feature = "npz")]
pub mod npz;
mod numbered;
#[cfg(feature = "obj")]
pub mod obj;
pub mod options;
pub mod output;
mod pattern;
#[cfg(feature = "point-cache")]
mod pc2;
#[cfg(feature = "ply")]
mod ply;
#[cfg(feature = "point-cache")]
mod point_cache;
mod raw_frames;
mod read;
pub mod reads;
pub mod samples;
mod scaled;
mod set;
#[cfg(any(feature = "gltf", feature = "fbx", feature = "usd"))]
mod skeletons;
#[cfg(feature = "npz")]
pub mod smpl;
mod still;
#[cfg(feature = "tetgen")]
pub mod tetgen;
mod tokenizer;
#[cfg(feature = "usd")]
mod usd;
mod volume_mesh;
mod write;

pub use error::{Error, ErrorKind};
pub use format::{FORMATS, Format, Holds, readable_extensions, single_file_extensions, writable_extensions};
#[cfg(feature = "gltf")]
pub use gltf::pack::{PackedGlb, Packing, pack_glb};
pub use numbered::{frame_numbers, glob_matches, source_files};
pub use options::{ReadOptions, WriteOptions};
pub use output::Written;
pub use read::{read, read_bytes};
pub use write::{check_target, write};
