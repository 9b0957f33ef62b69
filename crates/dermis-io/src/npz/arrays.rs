//! The arrays of an archive as such, for files that hold more than a scene.

use std::path::Path;

pub use super::array::Array;
use super::read::with_arrays;
pub use super::read::{points, units_of};
pub use super::write::ArrayWriter;
use crate::error::Error;
use crate::mapped::Mapped;
pub use crate::smpl::{Arrays, Sparse};

/// Returns the value that `read` makes of the arrays in the archive `path`.
pub fn read<T>(path: &Path, read: impl FnOnce(&mut dyn Arrays) -> Result<T, Error>) -> Result<T, Error> {
    with_arrays(Mapped::open(path)?, read).map_err(|error| error.in_file(path))
}

/// Returns the value that `read` makes of the arrays in the contents of an archive.
pub fn read_bytes<T>(bytes: &[u8], read: impl FnOnce(&mut dyn Arrays) -> Result<T, Error>) -> Result<T, Error> {
    with_arrays(Mapped::of_bytes(bytes.to_vec()), read)
}
