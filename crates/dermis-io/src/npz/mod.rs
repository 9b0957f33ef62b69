//! `NumPy` archives.

use std::path::Path;

use dermis_math::progress::Progress;
use dermis_mesh::{Note, Scene};

use crate::error::Error;
use crate::options::ReadOptions;
use crate::output::Output;

/// Reads the file `path`.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    let _ = (path, options);
    Err(Error::unsupported("not read yet"))
}

/// Writes `scene` to `target`.
pub fn write(scene: &Scene, target: &Path, output: &mut Output, progress: &dyn Progress) -> Result<Vec<Note>, Error> {
    let _ = (scene, target, output, progress);
    Err(Error::unsupported("not written yet"))
}
