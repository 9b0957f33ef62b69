//! glTF 2.0, `.glb` and `.gltf`.
//!
//! The specification is Khronos' "glTF 2.0 Specification"; section numbers in the parts are its. Reading takes
//! everything that concerns shape and motion, with the compressions in use; writing expresses everything in plain glTF,
//! so that it plays anywhere. What plain glTF cannot hold (units, exact frame times, which vertices are one point) is
//! marked in `extras` under `dermis`, where other programs pass it by.

mod images;
mod read;
mod schema;
mod units;
mod write;

use dermis_mesh::Scene;

use crate::error::Error;
use crate::input::Input;
use crate::options::ReadOptions;

pub(crate) use write::write;

/// The custom attribute (without its underscore) that states which point a vertex is, where welding would not find out.
const POINT_ATTRIBUTE: &str = "DERMIS_POINT";
/// The extension that holds layers on top of an object's motion.
const DEFORMERS: &str = "DERMIS_deformers";

/// Reads a file and the files beside it that it names: a `.glb`, or a `.gltf`.
pub(crate) fn read(input: &Input, options: &ReadOptions) -> Result<Scene, Error> {
    read::read_scene(&input.bytes, input.folder(), options)
}
