//! Conversion of the text of an OBJ file to a polygon mesh.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use dermis_mesh::polygons::flip_v;
use dermis_mesh::{CornerData, Material, Note, PolygonMesh};
use glam::{Vec2, Vec3, Vec4};

use crate::color;
use crate::error::Error;

/// Index of a corner without a UV or normal.
const NONE: u32 = u32::MAX;
/// Maximum number of unknown statements that a note lists.
const NAMED: usize = 8;

/// Contents of a file.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub mesh: PolygonMesh,
    /// The object's name, if there is exactly one.
    pub name: Option<String>,
    /// The material libraries, as written in the file.
    pub libraries: Vec<String>,
    pub notes: Vec<Note>,
}

/// Parses the text of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<Parsed, Error> {
    let mut state = State::default();
    for (number, line) in logical_lines(bytes) {
        state.statement(&line).map_err(|error| error.at(format!("line {number}")))?;
    }
    state.finish()
}

/// Lines with their numbers; a line that ends with a backslash continues on the next one.
fn logical_lines(bytes: &[u8]) -> impl Iterator<Item = (usize, Cow<'_, [u8]>)> {
    let mut lines = bytes.split(|&byte| byte == b'\n').enumerate();
    std::iter::from_fn(move || {
        let (index, line) = lines.next()?;
        let mut line = Cow::Borrowed(line.trim_ascii_end());
        while let Some(before) = line.strip_suffix(b"\\") {
            let mut joined = before.to_vec();
            joined.push(b' ');
            let next = lines.next();
            joined.extend(next.map_or(&b""[..], |(_, next)| next.trim_ascii_end()));
            line = Cow::Owned(joined);
        }
        Some((index + 1, line))
    })
}

#[derive(Default)]
struct State {
    points: Vec<Vec3>,
    /// Empty before the first colour, then as long as `points`.
    colors: Vec<Vec4>,
    uvs: Vec<Vec2>,
    normals: Vec<Vec3>,
    sizes: Vec<u32>,
    corner_points: Vec<u32>,
    corner_uvs: Vec<u32>,
    corner_normals: Vec<u32>,
    materials: Vec<Material>,
    material_indices: HashMap<String, u32>,
    polygon_materials: Vec<u32>,
    material: Option<u32>,
    names: Vec<String>,
    libraries: Vec<String>,
    unknown: BTreeSet<String>,
    too_small: usize,
    not_finite: usize,
}

impl State {
    fn statement(&mut self, line: &[u8]) -> Result<(), Error> {
        let line = line.trim_ascii_start();
        let split = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
        let (keyword, rest) = line.split_at(split);
        match keyword {
            b"v" => self.point(rest),
            b"vt" => self.uv(rest),
            b"vn" => self.normal(rest),
            b"f" => self.face(rest),
            b"usemtl" => {
                self.use_material(&text(rest));
                Ok(())
            }
            b"mtllib" => {
                self.libraries.push(text(rest));
                Ok(())
            }
            b"o" => {
                self.names.push(text(rest));
                Ok(())
            }
            b"g" | b"s" => Ok(()),
            _ if keyword.is_empty() || keyword.starts_with(b"#") => Ok(()),
            _ => {
                if self.unknown.len() < NAMED {
                    self.unknown.insert(String::from_utf8_lossy(&keyword[..keyword.len().min(16)]).into_owned());
                }
                Ok(())
            }
        }
    }

    fn point(&mut self, rest: &[u8]) -> Result<(), Error> {
        let mut numbers = [0.0f32; 7];
        let count = floats(rest, &mut numbers)?;
        if count < 3 {
            return Err(Error::malformed(format!("a position has {count} numbers; 3 are required")));
        }
        self.points.push(Vec3::new(numbers[0], numbers[1], numbers[2]));
        // Three additional numbers are a colour, one is a weight, and four are both.
        let color = match count {
            6 => Some([numbers[3], numbers[4], numbers[5]]),
            7 => Some([numbers[4], numbers[5], numbers[6]]),
            _ => None,
        };
        if let Some([r, g, b]) = color.filter(|color| color.iter().all(|channel| channel.is_finite())) {
            self.colors.resize(self.points.len() - 1, Vec4::ONE);
            self.colors.push(color::to_linear(Vec4::new(r, g, b, 1.0)));
        }
        Ok(())
    }

    fn uv(&mut self, rest: &[u8]) -> Result<(), Error> {
        let mut numbers = [0.0f32; 3];
        floats(rest, &mut numbers)?;
        let uv = flip_v(Vec2::new(numbers[0], numbers[1]));
        self.not_finite += usize::from(!uv.is_finite());
        self.uvs.push(if uv.is_finite() { uv } else { Vec2::ZERO });
        Ok(())
    }

    fn normal(&mut self, rest: &[u8]) -> Result<(), Error> {
        let mut numbers = [0.0f32; 3];
        floats(rest, &mut numbers)?;
        let normal = Vec3::from(numbers);
        self.not_finite += usize::from(!normal.is_finite());
        self.normals.push(if normal.is_finite() { normal } else { Vec3::ZERO });
        Ok(())
    }

    fn face(&mut self, rest: &[u8]) -> Result<(), Error> {
        let first = self.corner_points.len();
        for corner in words(rest) {
            let mut parts = corner.split(|&byte| byte == b'/');
            let mut part = |count| match parts.next() {
                None | Some(b"") => Ok(NONE),
                Some(digits) => index(digits, count),
            };
            let (point, uv, normal) = (part(self.points.len())?, part(self.uvs.len())?, part(self.normals.len())?);
            if point == NONE {
                return Err(Error::malformed(format!("'{}' does not refer to a position", text(corner))));
            }
            self.corner_points.push(point);
            self.corner_uvs.push(uv);
            self.corner_normals.push(normal);
        }
        let size = self.corner_points.len() - first;
        if size < 3 {
            self.too_small += 1;
            self.corner_points.truncate(first);
            self.corner_uvs.truncate(first);
            self.corner_normals.truncate(first);
            return Ok(());
        }
        self.sizes.push(size as u32);
        if let Some(material) = self.material {
            if self.polygon_materials.len() + 1 < self.sizes.len() {
                // Faces before the first `usemtl`.
                let plain = self.material_index("");
                self.polygon_materials.resize(self.sizes.len() - 1, plain);
            }
            self.polygon_materials.push(material);
        }
        Ok(())
    }

    fn use_material(&mut self, name: &str) {
        self.material = Some(self.material_index(name));
    }

    fn material_index(&mut self, name: &str) -> u32 {
        if let Some(&known) = self.material_indices.get(name) {
            return known;
        }
        let index = self.materials.len() as u32;
        self.materials.push(Material { name: name.to_owned(), ..Material::default() });
        self.material_indices.insert(name.to_owned(), index);
        index
    }

    fn finish(mut self) -> Result<Parsed, Error> {
        if self.points.is_empty() {
            return Err(Error::malformed("the file contains no position (no line that begins with 'v')"));
        }
        let mut notes = self.notes_on_repairs();
        let uvs = corner_data(self.uvs, self.corner_uvs, Vec2::ZERO, |missing| {
            notes.push(Note::new(format!("{missing} corners have no UV; 0, 0 is used")));
            true
        });
        let normals = corner_data(self.normals, self.corner_normals, Vec3::ZERO, |missing| {
            notes.push(Note::new(format!("{missing} corners have no normal; all normals are skipped")));
            false
        });
        let colors = (!self.colors.is_empty()).then(|| {
            self.colors.resize(self.points.len(), Vec4::ONE);
            // Faces can refer to positions that do not exist; this is reported separately.
            CornerData { values: self.colors, indices: self.corner_points.clone() }
        });
        let mesh = PolygonMesh {
            points: self.points,
            polygons: dermis_mesh::Polygons { sizes: self.sizes, corners: self.corner_points },
            normals,
            uvs: uvs.into_iter().collect(),
            colors: colors.into_iter().collect(),
            materials: if self.polygon_materials.is_empty() { Vec::new() } else { self.materials },
            polygon_materials: self.polygon_materials,
        };
        let name = if self.names.len() == 1 { self.names.pop() } else { None };
        Ok(Parsed { mesh, name, libraries: self.libraries, notes })
    }

    fn notes_on_repairs(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        if self.too_small > 0 {
            notes.push(Note::new(format!("{} faces with fewer than 3 corners are skipped", self.too_small)));
        }
        if self.not_finite > 0 {
            notes.push(Note::new(format!("{} UVs or normals are not finite; they are set to 0", self.not_finite)));
        }
        if !self.unknown.is_empty() {
            let names: Vec<&str> = self.unknown.iter().map(String::as_str).collect();
            notes.push(Note::new(format!("statements skipped: {}", names.join(", "))));
        }
        notes
    }
}

/// Values with their indices per corner, if any corner has one. `fill` receives the number of corners without a value
/// and returns true if they get `missing`, or false if all values are dropped.
fn corner_data<T: Copy>(
    mut values: Vec<T>,
    mut indices: Vec<u32>,
    missing: T,
    fill: impl FnOnce(usize) -> bool,
) -> Option<CornerData<T>> {
    let without = indices.iter().filter(|&&index| index == NONE).count();
    if without == indices.len() || (without > 0 && !fill(without)) {
        return None;
    }
    if without > 0 {
        let filler = values.len() as u32;
        values.push(missing);
        indices.iter_mut().filter(|index| **index == NONE).for_each(|index| *index = filler);
    }
    Some(CornerData { values, indices })
}

/// The words of a line, without comments.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).take_while(|word| !word.starts_with(b"#"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.trim_ascii()).into_owned()
}

/// Reads up to `out.len()` numbers and returns their count.
fn floats(line: &[u8], out: &mut [f32]) -> Result<usize, Error> {
    let mut count = 0;
    for (slot, word) in out.iter_mut().zip(words(line)) {
        let number = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        *slot = number.ok_or_else(|| Error::malformed(format!("'{}' is not a number", text(word))))?;
        count += 1;
    }
    Ok(count)
}

/// OBJ index: counted from 1, or, if negative, backwards from the last of `count`.
fn index(digits: &[u8], count: usize) -> Result<u32, Error> {
    let wrong = || Error::malformed(format!("'{}' is not a valid index for {count} elements", text(digits)));
    let number: i64 = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
    let index = if number < 0 { count as i64 + number } else { number - 1 };
    u32::try_from(index).ok().filter(|&index| index != NONE).ok_or_else(wrong)
}
