//! Direct access to the arrays of an archive, for files that contain more than a scene.

use std::collections::BTreeMap;
use std::path::Path;

pub use super::array::Array;
use super::read::with_arrays;
pub use super::read::{points, units_of};
pub use super::write::ArrayWriter;
use crate::error::Error;
use crate::mapped::Mapped;

/// Source of arrays.
pub trait Arrays {
    /// The array `name`, if there is one.
    fn array(&mut self, name: &'static str) -> Result<Option<Array>, Error>;

    /// The names of all arrays, in the order of the archive.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The array with a name that is computed at run time.
    fn named(&mut self, _name: &str) -> Result<Option<Array>, Error> {
        Ok(None)
    }

    /// The sparse matrix `name`, if there is one that is sparse.
    fn sparse(&mut self, _name: &'static str) -> Result<Option<Sparse>, Error> {
        Ok(None)
    }

    /// Floats per point, by name: the arrays of `points` floats that were not requested.
    fn attributes(&mut self, _points: usize) -> Result<BTreeMap<String, Vec<f32>>, Error> {
        Ok(BTreeMap::new())
    }
}

/// A sparse matrix: rows and columns, and entries of row, column and value.
#[derive(Debug, Clone)]
pub struct Sparse {
    /// Rows and columns.
    pub shape: [usize; 2],
    /// Row, column and value of each entry.
    pub entries: Vec<(u32, u32, f64)>,
}

/// Calls `read` with the arrays in the archive `path` and returns its result.
pub fn read<T>(path: &Path, read: impl FnOnce(&mut dyn Arrays) -> Result<T, Error>) -> Result<T, Error> {
    with_arrays(Mapped::open(path, true)?, read).map_err(|error| error.in_file(path))
}

/// Calls `read` with the arrays in the contents of an archive and returns its result.
pub fn read_bytes<T>(bytes: &[u8], read: impl FnOnce(&mut dyn Arrays) -> Result<T, Error>) -> Result<T, Error> {
    with_arrays(Mapped::of_bytes(bytes.to_vec()), read)
}
