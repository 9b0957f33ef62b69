//! Files in and out: one folder or file per format, one [`read`] and one [`write()`] for all of them.
//!
//! Every reader takes bytes it does not trust: it checks each count against the bytes that are there before it
//! allocates ([`budget`]), never panics, and ends. Every writer puts its files beside the target and renames them when
//! they are whole ([`output`]).

pub mod alembic;
pub mod budget;
mod color;
pub mod error;
pub mod fbx;
mod flexible;
mod following_normals;
pub mod format;
mod frame_rate;
pub mod gltf;
pub mod gmsh;
pub mod image;
pub mod mapped;
pub mod mdd;
pub mod medit;
pub mod npz;
mod numbered;
pub mod obj;
pub mod options;
pub mod output;
pub mod pc2;
mod pivot;
pub mod ply;
mod point_cache;
pub mod raw_frames;
mod single;
pub mod smpl;
pub mod target;
pub mod tetgen;
pub mod usd;
mod volume_mesh;
mod words;

pub use error::{Error, Problem};
pub use format::{Format, read, write};
pub use numbered::frame_numbers;
pub use options::{ReadOptions, WriteOptions};
pub use output::Written;
pub use target::{WRITABLE_ENDINGS, check_target};
