//! Medit `.mesh` files (text): tetrahedra or a surface.
//!
//! Keywords followed by counts and rows: `Vertices` (x y z reference), `Triangles`, `Quadrilaterals`, `Tetrahedra`
//! (indices from 1, reference); other sections are skipped. If there are tetrahedra, the shape is their boundary over
//! all nodes, oriented outwards, and the triangles of the file are ignored.

use std::io::Write;

use dermis_mesh::{Note, Object, Scene, Units};
use glam::Vec3;

use crate::error::Error;
use crate::input::Input;
use crate::options::ReadOptions;
use crate::output::Job;
use crate::still::still;
use crate::tokenizer::Tokenizer;
use crate::volume_mesh::VolumeMesh;

/// Reads a file.
pub(crate) fn read(input: &Input, _options: &ReadOptions) -> Result<Scene, Error> {
    let contents = Contents::parse(&input.bytes)?;
    let mut notes = Vec::new();
    if !contents.skipped.is_empty() {
        notes.push(Note::new(format!("sections skipped: {}", contents.skipped.join(", "))));
    }
    Ok(Scene { objects: vec![contents.mesh.into_object(&input.name)?], notes, ..Scene::default() })
}

#[derive(Debug, Default)]
struct Contents {
    mesh: VolumeMesh,
    skipped: Vec<String>,
}

impl Contents {
    fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut words = Tokenizer::new(bytes);
        if words.next() != Some(b"MeshVersionFormatted") {
            return Err(Error::malformed("the file does not begin with 'MeshVersionFormatted'")
                .with_hint("only the text form of Medit files is read"));
        }
        words.next();
        let mut contents = Self::default();
        while let Some(keyword) = words.next() {
            let at = |error: Error| error.at(String::from_utf8_lossy(keyword).into_owned());
            match keyword {
                b"Dimension" => dimension(&mut words).map_err(at)?,
                b"Vertices" => contents.mesh.nodes = nodes(&mut words).map_err(at)?,
                b"Triangles" => contents.mesh.triangles = rows(&mut words).map_err(at)?,
                b"Quadrilaterals" => contents.mesh.quads = rows(&mut words).map_err(at)?,
                b"Tetrahedra" => contents.mesh.tetrahedra = rows(&mut words).map_err(at)?,
                b"End" => break,
                _ if keyword.first().is_some_and(u8::is_ascii_alphabetic) => {
                    skip_numbers(&mut words);
                    contents.skipped.push(String::from_utf8_lossy(&keyword[..keyword.len().min(40)]).into_owned());
                }
                _ => return Err(at(Error::malformed("expected a keyword"))),
            }
        }
        if contents.mesh.nodes.is_empty() { Err(Error::malformed("the file has no vertices")) } else { Ok(contents) }
    }
}

fn dimension(words: &mut Tokenizer<'_>) -> Result<(), Error> {
    match words.number()? {
        3u32 => Ok(()),
        other => Err(Error::unsupported(format!("the mesh has {other} dimensions; only 3 are supported"))),
    }
}

fn nodes(words: &mut Tokenizer<'_>) -> Result<Vec<Vec3>, Error> {
    let count = words.count(4)?;
    let mut nodes = Vec::with_capacity(count);
    for _ in 0..count {
        let position: [f64; 3] = [words.number()?, words.number()?, words.number()?];
        nodes.push(Vec3::from(position.map(|number| number as f32)));
        words.next();
    }
    Ok(nodes)
}

fn rows<const K: usize>(words: &mut Tokenizer<'_>) -> Result<Vec<[u32; K]>, Error> {
    let count = words.count(K + 1)?;
    let mut rows = Vec::with_capacity(count);
    for row in 0..count {
        let mut indices = [0; K];
        for index in &mut indices {
            let number: u32 = words.number()?;
            let from_zero = number.checked_sub(1);
            *index = from_zero.ok_or_else(|| {
                Error::malformed(format!("row {row} refers to vertex 0; vertices are numbered from 1"))
            })?;
        }
        words.next();
        rows.push(indices);
    }
    Ok(rows)
}

/// Advances to the next keyword.
fn skip_numbers(words: &mut Tokenizer<'_>) {
    loop {
        let before = words.clone();
        match words.next() {
            Some(word) if !word[0].is_ascii_alphabetic() => {}
            _ => {
                *words = before;
                return;
            }
        }
    }
}

/// Writes `object` to `target`.
pub(crate) fn write(object: &Object, _units: Units, job: &mut Job<'_>) -> Result<(), Error> {
    let positions = still(object, job.target, "choose a frame, or write .npz, .abc or .glb")?;
    let mut file = job.create()?;
    writeln!(file, "MeshVersionFormatted 1\nDimension 3\n\nVertices\n{}", positions.len())?;
    for point in &*positions {
        writeln!(file, "{} {} {} 0", point.x, point.y, point.z)?;
    }
    let polygons = object.mesh.to_polygon_mesh().polygons;
    // Medit has no faces of more than four corners.
    let as_drawn = polygons.sizes.iter().all(|&size| size <= 4);
    let of_size = |size: usize| polygons.iter().filter(move |polygon| polygon.len() == size);
    if as_drawn && object.tets.is_none() {
        write_rows(&mut file, "Triangles", of_size(3))?;
        write_rows(&mut file, "Quadrilaterals", of_size(4))?;
    } else {
        write_rows(&mut file, "Triangles", object.mesh.triangles().iter().map(<[u32; 3]>::as_slice))?;
    }
    if let Some(tets) = &object.tets {
        write_rows(&mut file, "Tetrahedra", tets.tetrahedra().iter().map(<[u32; 4]>::as_slice))?;
    }
    writeln!(file, "\nEnd")?;
    Ok(file.flush()?)
}

fn write_rows<'a>(file: &mut impl Write, keyword: &str, rows: impl Iterator<Item = &'a [u32]>) -> std::io::Result<()> {
    let rows: Vec<&[u32]> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(file, "\n{keyword}\n{}", rows.len())?;
    for row in rows {
        for index in row {
            write!(file, "{} ", index + 1)?;
        }
        writeln!(file, "0")?;
    }
    Ok(())
}
