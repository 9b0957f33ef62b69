//! Wavefront OBJ: one static shape as text, or one frame of a numbered sequence (see `numbered`).
//!
//! Each `v` line is a point; the order is kept, and points are neither merged nor dropped. Polygons keep their corners;
//! `vt` and `vn` split points into vertices. All `o` and `g` groups are one object. Colours after a position are sRGB,
//! as Blender writes them. In material libraries, `Kd`, `Ke`, `d`, `Tr`, `Pr`, `Pm` and `map_Kd` are used; libraries
//! and images are read only from the folders of the project. Lines, curves and surfaces are skipped.

mod lines;
mod mtl;
mod parse;
mod write;

use std::sync::Arc;

use dermis_mesh::{Object, Polygons, Scene};
use glam::Vec3;

use crate::error::Error;
use crate::input::Input;
use crate::neighbours::Neighbours;
use crate::options::ReadOptions;

pub use lines::lines;
pub(crate) use write::{write, write_mesh};

/// Reads a file and its material libraries; without a folder, materials have only names.
pub(crate) fn read(input: &Input, options: &ReadOptions) -> Result<Scene, Error> {
    let mut parsed = parse::parse(&input.bytes)?;
    if let Some(neighbours) = Neighbours::of(input, options)? {
        mtl::read(&neighbours, &parsed.libraries, &mut parsed.mesh.materials, &mut parsed.notes);
    }
    let name = parsed.name.unwrap_or_else(|| input.name.clone());
    let object = Object::of_mesh(name, Arc::new(parsed.mesh.into_tri_mesh()?));
    Ok(Scene { objects: vec![object], notes: parsed.notes, ..Scene::default() })
}

/// The points and polygons of one file of a sequence.
pub(crate) fn read_frame(bytes: &[u8]) -> Result<(Vec<Vec3>, Polygons), Error> {
    let mesh = parse::parse(bytes)?.mesh;
    Ok((mesh.points, mesh.polygons))
}
