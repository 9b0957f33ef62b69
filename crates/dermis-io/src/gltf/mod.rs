//! glTF 2.0, `.glb` and `.gltf`.
//!
//! The specification is Khronos' "glTF 2.0 Specification"; section numbers in this module refer to it. The reader
//! supports everything that concerns shape and motion, with the compressions in use; the writer expresses everything in
//! plain glTF, so that any viewer supports it. Data that plain glTF cannot represent (units, exact frame times, the
//! points of vertices) is stored in `extras` under `dermis`, which other programs ignore.

mod images;
pub(crate) mod pack;
mod read;
mod schema;
mod units;
mod write;

use dermis_mesh::Scene;

use crate::error::Error;
use crate::input::Input;
use crate::neighbours::Neighbours;
use crate::options::ReadOptions;

pub(crate) use write::write;

/// Custom attribute (without its underscore) with the point index of a vertex, written if welding would not restore it.
const POINT_ATTRIBUTE: &str = "DERMIS_POINT";
/// Extension for layers on top of an object's motion.
const DEFORMERS: &str = "DERMIS_deformers";
/// Extension for the levels of detail of a node.
const LEVELS: &str = "MSFT_lod";

/// Reads a `.glb` or `.gltf` file and the files that it references.
pub(crate) fn read(input: &Input, options: &ReadOptions) -> Result<Scene, Error> {
    read::read_scene(&input.bytes, Neighbours::of(input, options)?.as_ref(), options)
}
