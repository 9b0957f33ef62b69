//! Wavefront OBJ: one static shape as text, or one frame of a numbered sequence (see `numbered`).
//!
//! A point is a `v` line: their order is kept, none is merged and none dropped. Polygons keep their corners; `vt`
//! and `vn` make vertices of them. All `o` and `g` groups are one object. Colours behind a position are sRGB, as
//! Blender writes them. Of material libraries `Kd`, `Ke`, `d`, `Tr`, `Pr`, `Pm` and `map_Kd` are used; libraries and
//! images are looked for beside the file or below it, nowhere else. Lines, curves and surfaces are left out.

mod lines;
mod mtl;
mod parse;
mod write;

use std::path::Path;
use std::sync::Arc;

use dermis_mesh::{Object, Polygons, Scene};
use glam::Vec3;

use crate::error::Error;
use crate::mapped::Mapped;
use crate::options::ReadOptions;

pub use lines::lines;
pub use write::write;
pub(crate) use write::write_mesh;

/// Reads the file `path`.
pub fn read(path: &Path, _options: &ReadOptions) -> Result<Scene, Error> {
    let in_file = |error: Error| error.in_file(path);
    let mut parsed = parse::parse(&Mapped::open(path)?).map_err(in_file)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    mtl::read(folder, &parsed.libraries, &mut parsed.mesh.materials, &mut parsed.notes);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    scene(parsed, &stem).map_err(in_file)
}

/// Reads the contents of a file; its materials have no more than names.
pub fn read_bytes(bytes: &[u8], _options: &ReadOptions) -> Result<Scene, Error> {
    scene(parse::parse(bytes)?, "object")
}

/// The points and polygons of one file of a sequence.
pub(crate) fn read_frame(bytes: &[u8]) -> Result<(Vec<Vec3>, Polygons), Error> {
    let mesh = parse::parse(bytes)?.mesh;
    Ok((mesh.points, mesh.polygons))
}

fn scene(parsed: parse::Parsed, name: &str) -> Result<Scene, Error> {
    let name = parsed.name.unwrap_or_else(|| name.to_owned());
    let object = Object::of_mesh(name, Arc::new(parsed.mesh.into_tri_mesh()?));
    Ok(Scene { objects: vec![object], notes: parsed.notes, ..Scene::default() })
}
