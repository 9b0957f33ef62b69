//! Alembic (`.abc`) in its Ogawa container: animated polygon meshes, read and written without the Alembic library.
//!
//! Layers, from the bytes up: `ogawa` (groups and blocks), `archive` (what the root holds), `objects` and
//! `property` (trees of objects and of their properties over time), `sampling` (when samples are taken),
//! `transform` and `poly_mesh` (the two schemas we need), `reader` and `writer` (scenes).
//!
//! Every mesh becomes an object named by its path; the transforms above it are applied, so that all positions are in
//! the space of the file. Frames stay in the file until they are asked for. Alembic has no units; ours travel in the
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
mod sampling;
mod transform;
mod values;
mod writer;

use std::path::Path;
use std::sync::Arc;

use dermis_math::progress::Progress;
use dermis_mesh::{Note, Scene};

use crate::error::Error;
use crate::mapped::Mapped;
use crate::options::ReadOptions;
use crate::output::Output;

/// Reads the file `path`.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    reader::read(Arc::new(Mapped::open(path)?), options).map_err(|error| error.in_file(path))
}

/// Reads a file that is in memory.
pub fn read_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Scene, Error> {
    reader::read(Arc::new(bytes.to_vec()), options)
}

/// Writes `scene` to `target`.
pub fn write(scene: &Scene, target: &Path, output: &mut Output, progress: &dyn Progress) -> Result<Vec<Note>, Error> {
    writer::write(scene, output.create(target)?, progress)
}
