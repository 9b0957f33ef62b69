//! The elements of a PLY file.

use std::collections::BTreeMap;

use dermis_mesh::{Note, Polygons};
use glam::{Vec2, Vec3, Vec4};

use crate::color;
use crate::error::Error;
use crate::ply::header::{self, Element, Encoding, Property, Scalar};

/// Contents of a file, per vertex as it is stored.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub positions: Vec<Vec3>,
    pub normals: Option<Vec<Vec3>>,
    /// Origin at the lower left.
    pub uvs: Option<Vec<Vec2>>,
    /// Linear.
    pub colors: Option<Vec<Vec4>>,
    /// Point of each vertex, in files written by dermis.
    pub points: Option<Vec<u32>>,
    pub attributes: BTreeMap<String, Vec<f32>>,
    /// Over vertices.
    pub polygons: Polygons,
    pub notes: Vec<Note>,
}

/// Reads the whole file.
pub(super) fn read(bytes: &[u8]) -> Result<Contents, Error> {
    let header = header::parse(bytes)?;
    let mut numbers = Numbers { encoding: header.encoding, bytes, at: header.body_start };
    let mut contents = Contents::default();
    let mut skipped = Vec::new();
    for element in &header.elements {
        let at = |error: Error| error.at(format!("element '{}'", element.name));
        numbers.check_room(element).map_err(at)?;
        match element.name.as_str() {
            "vertex" => vertices(&mut numbers, element, &mut contents).map_err(at)?,
            "face" => faces(&mut numbers, element, &mut contents).map_err(at)?,
            _ => {
                numbers.skip(element).map_err(at)?;
                skipped.push(element.name.as_str());
            }
        }
    }
    if contents.positions.is_empty() {
        return Err(Error::malformed("the file has no vertices"));
    }
    if !skipped.is_empty() {
        contents.notes.push(Note::new(format!("elements skipped: {}", skipped.join(", "))));
    }
    Ok(contents)
}

/// A stream of numbers.
struct Numbers<'a> {
    encoding: Encoding,
    bytes: &'a [u8],
    at: usize,
}

impl Numbers<'_> {
    /// Checks that the file is long enough for `element` before anything is allocated for it.
    fn check_room(&self, element: &Element) -> Result<(), Error> {
        let available = self.bytes.len() - self.at;
        let needed = element.count.saturating_mul(element.min_bytes(self.encoding));
        // The last number of a text need not be followed by a space.
        if needed > available + 1 {
            return Err(Error::truncated("the element", needed as u64, available as u64));
        }
        Ok(())
    }

    fn number(&mut self, scalar: Scalar) -> Result<f64, Error> {
        if self.encoding == Encoding::Text {
            return self.word();
        }
        let rest = &self.bytes[self.at..];
        let Some(stored) = rest.get(..scalar.bytes()) else {
            return Err(Error::truncated("a number", scalar.bytes() as u64, rest.len() as u64));
        };
        self.at += stored.len();
        let mut little = [0u8; 8];
        little[..stored.len()].copy_from_slice(stored);
        if self.encoding == Encoding::Big {
            little[..stored.len()].reverse();
        }
        let [a, b, c, d, ..] = little;
        Ok(match scalar {
            Scalar::I8 => i8::from_le_bytes([a]).into(),
            Scalar::U8 => a.into(),
            Scalar::I16 => i16::from_le_bytes([a, b]).into(),
            Scalar::U16 => u16::from_le_bytes([a, b]).into(),
            Scalar::I32 => i32::from_le_bytes([a, b, c, d]).into(),
            Scalar::U32 => u32::from_le_bytes([a, b, c, d]).into(),
            Scalar::F32 => f32::from_le_bytes([a, b, c, d]).into(),
            Scalar::F64 => f64::from_le_bytes(little),
        })
    }

    fn word(&mut self) -> Result<f64, Error> {
        let rest = self.bytes[self.at..].trim_ascii_start();
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.at = self.bytes.len() - rest.len() + length;
        if length == 0 {
            return Err(Error::truncated("a number", 1, 0));
        }
        let word = &rest[..length];
        std::str::from_utf8(word).ok().and_then(|word| word.parse().ok()).ok_or_else(|| {
            let shown = String::from_utf8_lossy(&word[..word.len().min(32)]).into_owned();
            Error::malformed(format!("'{shown}' is not a number"))
        })
    }

    /// The length of a list.
    fn length(&mut self, scalar: Scalar) -> Result<usize, Error> {
        let length = self.number(scalar)?;
        let room = self.bytes.len() - self.at;
        if length >= 0.0 && length.fract() == 0.0 && length <= room as f64 {
            Ok(length as usize)
        } else {
            Err(Error::malformed(format!("a list has length {length}, but only {room} bytes remain")))
        }
    }

    fn skip_property(&mut self, property: &Property) -> Result<(), Error> {
        let count = property.list.map_or(Ok(1), |list| self.length(list))?;
        (0..count).try_for_each(|_| self.number(property.scalar).map(drop))
    }

    fn skip(&mut self, element: &Element) -> Result<(), Error> {
        if element.properties.is_empty() {
            return Ok(());
        }
        for _ in 0..element.count {
            element.properties.iter().try_for_each(|property| self.skip_property(property))?;
        }
        Ok(())
    }
}

fn vertices(numbers: &mut Numbers<'_>, element: &Element, contents: &mut Contents) -> Result<(), Error> {
    if element.properties.is_empty() || !contents.positions.is_empty() {
        return Err(Error::malformed("vertices have no properties or are defined twice"));
    }
    let mut columns: Vec<Vec<f64>> = element.properties.iter().map(|_| Vec::with_capacity(element.count)).collect();
    for _ in 0..element.count {
        for (property, column) in element.properties.iter().zip(&mut columns) {
            if property.list.is_some() {
                numbers.skip_property(property)?;
            } else {
                column.push(numbers.number(property.scalar)?);
            }
        }
    }
    let mut columns: BTreeMap<&str, (Scalar, Vec<f64>)> = element
        .properties
        .iter()
        .zip(columns)
        .filter(|(property, _)| property.list.is_none())
        .map(|(property, column)| (property.name.as_str(), (property.scalar, column)))
        .collect();
    let positions =
        take(&mut columns, ["x", "y", "z"]).ok_or_else(|| Error::malformed("vertices have no x, y or z"))?;
    contents.positions = rows(&positions, |[x, y, z]| Vec3::new(x as f32, y as f32, z as f32));
    let normals = take(&mut columns, ["nx", "ny", "nz"]);
    note_not_finite("normals", normals.as_ref().map(<[_; 3]>::as_slice), &mut contents.notes);
    contents.normals =
        normals.map(|columns| rows(&columns, |[x, y, z]| Vec3::from(finite([x as f32, y as f32, z as f32]))));
    let uvs = [["s", "t"], ["u", "v"], ["texture_u", "texture_v"]].into_iter().find_map(|uv| take(&mut columns, uv));
    note_not_finite("UVs", uvs.as_ref().map(<[_; 2]>::as_slice), &mut contents.notes);
    contents.uvs = uvs.map(|columns| rows(&columns, |[u, v]| Vec2::from(finite([u as f32, v as f32]))));
    contents.colors = colors(&mut columns);
    contents.points = take(&mut columns, ["point"])
        .map(|[(_, column)]| column.iter().map(|&point| index(point)).collect())
        .transpose()?;
    for (name, (_, column)) in columns {
        contents.attributes.insert(name.to_owned(), column.iter().map(|&number| number as f32).collect());
    }
    Ok(())
}

/// Removes columns from the table and returns them, if all of them exist.
fn take<const K: usize>(
    columns: &mut BTreeMap<&str, (Scalar, Vec<f64>)>,
    names: [&str; K],
) -> Option<[(Scalar, Vec<f64>); K]> {
    names
        .iter()
        .all(|name| columns.contains_key(name))
        .then(|| names.map(|name| columns.remove(name).unwrap_or_else(|| (Scalar::F64, Vec::new()))))
}

fn rows<const K: usize, T>(columns: &[(Scalar, Vec<f64>); K], row: impl Fn([f64; K]) -> T) -> Vec<T> {
    let count = columns.iter().map(|(_, column)| column.len()).min().unwrap_or(0);
    (0..count).map(|at| row(std::array::from_fn(|k| columns[k].1[at]))).collect()
}

fn note_not_finite(what: &str, columns: Option<&[(Scalar, Vec<f64>)]>, notes: &mut Vec<Note>) {
    let not_finite = |(_, column): &(Scalar, Vec<f64>)| column.iter().any(|number| !(*number as f32).is_finite());
    if columns.is_some_and(|columns| columns.iter().any(not_finite)) {
        notes.push(Note::new(format!("some {what} are not finite; they are set to 0")));
    }
}

/// Replaces values that are not finite with zero: invalid appearance must not prevent reading the shape.
fn finite<const K: usize>(values: [f32; K]) -> [f32; K] {
    if values.iter().all(|value| value.is_finite()) { values } else { [0.0; K] }
}

fn colors(columns: &mut BTreeMap<&str, (Scalar, Vec<f64>)>) -> Option<Vec<Vec4>> {
    let [red, green, blue] = take(columns, ["red", "green", "blue"])?;
    let alpha = take(columns, ["alpha"]).map(|[alpha]| alpha);
    let channel = |(scalar, column): &(Scalar, Vec<f64>), at: usize| {
        let scale = match scalar {
            Scalar::U8 => 255.0,
            Scalar::U16 => 65535.0,
            _ => 1.0,
        };
        (column[at] / scale) as f32
    };
    let color = |at| {
        let alpha = alpha.as_ref().map_or(1.0, |alpha| channel(alpha, at));
        color::to_linear(Vec4::from(finite([channel(&red, at), channel(&green, at), channel(&blue, at), alpha])))
    };
    Some((0..red.1.len()).map(color).collect())
}

fn index(number: f64) -> Result<u32, Error> {
    let index = number as u32;
    if f64::from(index) == number && index != u32::MAX {
        Ok(index)
    } else {
        Err(Error::malformed(format!("{number} is not an index")))
    }
}

fn faces(numbers: &mut Numbers<'_>, element: &Element, contents: &mut Contents) -> Result<(), Error> {
    let is_corners = |property: &Property| {
        property.list.is_some() && matches!(property.name.as_str(), "vertex_indices" | "vertex_index")
    };
    if !element.properties.iter().any(is_corners) {
        contents.notes.push(Note::new("the faces have no list of vertices and are skipped"));
        return numbers.skip(element);
    }
    let mut too_small = 0;
    for _ in 0..element.count {
        for property in &element.properties {
            match property.list {
                Some(list) if is_corners(property) => {
                    let size = numbers.length(list)?;
                    let first = contents.polygons.corners.len();
                    for _ in 0..size {
                        contents.polygons.corners.push(index(numbers.number(property.scalar)?)?);
                    }
                    if size >= 3 {
                        contents.polygons.sizes.push(size as u32);
                    } else {
                        contents.polygons.corners.truncate(first);
                        too_small += 1;
                    }
                }
                _ => numbers.skip_property(property)?,
            }
        }
    }
    if too_small > 0 {
        contents.notes.push(Note::new(format!("{too_small} faces with fewer than 3 corners are skipped")));
    }
    Ok(())
}
