//! Alembic (`.abc`) in its Ogawa container: animated polygon meshes, read and written without the Alembic library.
//!
//! Layers, from the bytes up: `ogawa` (groups and blocks), `archive` (contents of the root), `objects` and `property`
//! (trees of objects and of their properties over time), `sampling` (sample times), `transform` and `poly_mesh` (the
//! two required schemas), `reader` and `writer` (scenes).
//!
//! Every mesh becomes an object named by its path; the transforms above it are applied, so that all positions are in
//! the space of the file. Frames are read on demand. Alembic has no units; dermis stores them in the metadata of the
//! archive.

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
mod upright;
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
