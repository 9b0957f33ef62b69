//! FBX.

use std::path::Path;

use dermis_mesh::Scene;

use crate::error::Error;
use crate::options::ReadOptions;

/// Reads the file `path`.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    let _ = (path, options);
    Err(Error::unsupported("not read yet"))
}
