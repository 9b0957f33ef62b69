//! glTF 2.0, `.glb` and `.gltf`.
//!
//! The specification is Khronos' "glTF 2.0 Specification"; section numbers in the parts are its. Reading takes
//! everything that concerns shape and motion, with the compressions in use; writing says everything in plain glTF, so
//! that it plays anywhere. What plain glTF cannot hold (units, exact frame times, which vertices are one point) is
//! marked in `extras` under `dermis`, where other programs pass it by.

mod images;
mod read;
mod schema;
mod units;
mod write;

use std::path::Path;

use dermis_math::progress::Progress;
use dermis_mesh::{Note, Scene};

use crate::error::Error;
use crate::mapped::Mapped;
use crate::options::ReadOptions;
use crate::output::Output;

/// The custom attribute (without its underscore) that says which point a vertex is, where welding would not find out.
const POINT_ATTRIBUTE: &str = "DERMIS_POINT";
/// The extension that holds layers on top of an object's motion.
const DEFORMERS: &str = "DERMIS_deformers";

/// Reads the file `path`, and the files beside it that it names.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    let bytes = Mapped::open(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    read::read_scene(&bytes, Some(folder), options)
}

/// Reads a file that lies in memory and is whole: a `.glb`, or a `.gltf` whose data are embedded.
pub fn read_bytes(bytes: &[u8], options: &ReadOptions) -> Result<Scene, Error> {
    read::read_scene(bytes, None, options)
}

/// Writes `scene` to `target`: a `.glb`, or a `.gltf` with a `.bin` beside it.
pub fn write(scene: &Scene, target: &Path, output: &mut Output, progress: &dyn Progress) -> Result<Vec<Note>, Error> {
    write::write_scene(scene, target, output, progress)
}
