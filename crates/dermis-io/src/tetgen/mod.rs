//! `TetGen`'s `.node` and `.ele` files (text): nodes in one, tetrahedra in the other, with the same name.
//!
//! `.node`: count, dimension, attributes, markers; rows of index, x y z, attributes, marker. `.ele`: count, nodes per
//! tetrahedron (4 or 10), attributes; rows of index, nodes, attributes. Indices start at that of the first node, which
//! is 0 or 1. The path of either file refers to the pair. Attributes, markers and the middle nodes of 10-node
//! tetrahedra are skipped.
//!
//! This crate supports the file formats of `TetGen` and contains none of its code. [`run`] starts the program if it is
//! installed.

mod run;

use std::io::Write;
use std::path::Path;

use dermis_mesh::{Note, Object, Scene, Units};
use glam::Vec3;

use crate::error::Error;
use crate::input::Input;
use crate::mapped::Mapped;
use crate::options::ReadOptions;
use crate::output::Job;
use crate::still::still;
use crate::tokenizer::Tokenizer;
use crate::volume_mesh::VolumeMesh;

pub use run::{TetgenOptions, run};

/// Reads the pair of files of which `input` is one; without an `.ele` file there are only points.
pub(crate) fn read(input: &Input, _options: &ReadOptions) -> Result<Scene, Error> {
    let Some(path) = &input.path else {
        return scene(&input.bytes, None, &input.name);
    };
    let [node, ele] = pair(path);
    let nodes = Mapped::open(&node, false)
        .map_err(|error| error.in_file(&node).with_hint("the nodes are in a separate file"))?;
    let elements = ele.exists().then(|| Mapped::open(&ele, false)).transpose()?;
    scene(&nodes, elements.as_deref(), &input.name)
}

/// Reads the contents of a pair of files.
pub fn read_bytes(nodes: &[u8], elements: Option<&[u8]>, _options: &ReadOptions) -> Result<Scene, Error> {
    scene(nodes, elements, "object")
}

fn pair(path: &Path) -> [std::path::PathBuf; 2] {
    ["node", "ele"].map(|extension| path.with_extension(extension))
}

fn scene(nodes: &[u8], elements: Option<&[u8]>, name: &str) -> Result<Scene, Error> {
    let mut notes = Vec::new();
    let (nodes, first) = parse_nodes(nodes).map_err(|error| error.at("the .node file"))?;
    let mut mesh = VolumeMesh { nodes, ..VolumeMesh::default() };
    match elements {
        Some(elements) => {
            let (tetrahedra, corners) = parse_elements(elements, first).map_err(|error| error.at("the .ele file"))?;
            mesh.tetrahedra = tetrahedra;
            if corners > 4 {
                notes.push(Note::new("tetrahedra of 10 nodes are read as their 4 corners"));
            }
        }
        None => notes.push(Note::new("there is no .ele file of the same name; only points are read")),
    }
    Ok(Scene { objects: vec![mesh.into_object(name)?], notes, ..Scene::default() })
}

/// The nodes, and the index of the first.
fn parse_nodes(bytes: &[u8]) -> Result<(Vec<Vec3>, u32), Error> {
    let mut words = Tokenizer::new(bytes);
    let [count, dimension, attributes, markers]: [usize; 4] =
        [words.number()?, words.number()?, words.number()?, words.number()?];
    if dimension != 3 {
        return Err(Error::unsupported(format!("the mesh has {dimension} dimensions; only 3 are supported")));
    }
    let more = attributes.saturating_add(markers);
    words.check_rows(count, more.saturating_add(4))?;
    let mut nodes = Vec::with_capacity(count);
    let mut first = 1;
    for row in 0..count {
        let index: u32 = words.number()?;
        if row == 0 {
            first = index;
        }
        if u64::from(index) != u64::from(first) + row as u64 {
            return Err(Error::malformed(format!("row {row} has the index {index}; indices must be consecutive")));
        }
        let position: [f64; 3] = [words.number()?, words.number()?, words.number()?];
        nodes.push(Vec3::from(position.map(|number| number as f32)));
        skip(&mut words, more);
    }
    Ok((nodes, first))
}

/// The tetrahedra, and the number of nodes that each has in the file.
fn parse_elements(bytes: &[u8], first: u32) -> Result<(Vec<[u32; 4]>, usize), Error> {
    let mut words = Tokenizer::new(bytes);
    let [count, corners, attributes]: [usize; 3] = [words.number()?, words.number()?, words.number()?];
    if corners != 4 && corners != 10 {
        return Err(Error::unsupported(format!("elements have {corners} nodes; only 4 or 10 are supported")));
    }
    let more = (corners - 4).saturating_add(attributes);
    words.check_rows(count, more.saturating_add(5))?;
    let mut tetrahedra = Vec::with_capacity(count);
    for row in 0..count {
        words.next();
        let mut tetrahedron = [0; 4];
        for node in &mut tetrahedron {
            let number: u32 = words.number()?;
            let from_zero = number.checked_sub(first);
            *node = from_zero.ok_or_else(|| {
                Error::malformed(format!("row {row} refers to node {number}; nodes are numbered from {first}"))
            })?;
        }
        skip(&mut words, more);
        tetrahedra.push(tetrahedron);
    }
    Ok((tetrahedra, corners))
}

fn skip(words: &mut Tokenizer<'_>, count: usize) {
    for _ in 0..count {
        words.next();
    }
}

/// Writes `object` to the pair of files of which `target` is one.
pub(crate) fn write(object: &Object, _units: Units, job: &mut Job<'_>) -> Result<(), Error> {
    let positions = still(object, job.target, "choose a frame, or write .npz, .abc or .glb")?;
    let Some(tets) = &object.tets else {
        return Err(Error::unsupported("the format stores tetrahedra, but the object has none")
            .with_hint("fill the mesh with tetrahedra first, or write .obj or .mesh"));
    };
    let [node, ele] = pair(job.target);
    let mut file = job.output.create(&node)?;
    write_nodes(&mut file, positions.iter().copied())?;
    let mut file = job.output.create(&ele)?;
    writeln!(file, "{} 4 0", tets.tetrahedra().len())?;
    for (index, [a, b, c, d]) in tets.tetrahedra().iter().enumerate() {
        writeln!(file, "{index} {a} {b} {c} {d}")?;
    }
    Ok(file.flush()?)
}

/// Writes the nodes, with indices from 0.
fn write_nodes(file: &mut impl Write, positions: impl ExactSizeIterator<Item = Vec3>) -> Result<(), Error> {
    writeln!(file, "{} 3 0 0", positions.len())?;
    for (index, p) in positions.enumerate() {
        writeln!(file, "{index} {} {} {}", p.x, p.y, p.z)?;
    }
    Ok(file.flush()?)
}
