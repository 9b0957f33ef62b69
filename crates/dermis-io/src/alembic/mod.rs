//! Alembic (`.abc`) in its Ogawa container: animated polygon meshes, read and written without the Alembic library.
//!
//! Layers, from the bytes up: `ogawa` (groups and blocks), `archive` (what the root holds), `objects` and
//! `property` (trees of objects and of their properties over time), `sampling` (when samples are taken),
//! `transform` and `poly_mesh` (the two schemas we need), `reader` and `writer` (scenes).
//!
//! Every mesh becomes an object named by its path; the transforms above it are applied, so that all positions are in
//! the space of the file. Frames are read when they are needed. Alembic has no units; ours are stored in the
//! archive's metadata.

mod archive;
mod cursor;
mod frames;
mod mesh_writer;
mod murmur3;
mod objects;
mod ogawa;
mod ogawa_writer;
mod poly_mesh;
mod property;
mod property_writer;
mod reader;
mod rigid_motion;
mod sampling;
mod transform;
mod values;
mod writer;

use dermis_mesh::Scene;

use crate::error::Error;
use crate::input::Input;
use crate::options::ReadOptions;

pub(crate) use writer::write;

/// Reads a file.
pub(crate) fn read(input: &Input, options: &ReadOptions) -> Result<Scene, Error> {
    reader::read(input.bytes.clone(), options)
}
