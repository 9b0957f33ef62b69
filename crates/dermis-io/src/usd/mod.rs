//! Universal Scene Description: `.usda`, `.usdc` and `.usdz` in, `.usda` out.
//!
//! Reading ([`read`]) goes through the `openusd` crate, which parses and composes; writing ([`write`]) is our own text,
//! because the binary files that the crate writes are refused by Pixar's USD.

mod read;
mod write;

use std::path::Path;

use dermis_math::progress::Progress;
use dermis_mesh::{Note, Scene};

use crate::error::Error;
use crate::options::ReadOptions;
use crate::output::Output;

/// The entry of a prim's `customData` that keeps the name that the prim could not have.
const ORIGINAL_NAME: &str = "dermisName";

/// Reads the file `path`. Other files that it refers to are read where they lie in its folder or below.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    read::read(path, options)
}

/// Reads a file in memory, which refers to no other.
pub fn read_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Scene, Error> {
    read::read_bytes(bytes, options)
}

/// Writes `scene` to `target` as `.usda`, and its textures beside it.
pub fn write(scene: &Scene, target: &Path, output: &mut Output, progress: &dyn Progress) -> Result<Vec<Note>, Error> {
    write::write(scene, target, output, progress)
}
