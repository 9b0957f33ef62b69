//! Gmsh `.msh` files: versions 2.2 and 4.1, text and binary (little-endian), tetrahedra or a surface. Written as text
//! 2.2, which every reader supports.
//!
//! `$Nodes` and `$Elements` are read; nodes are identified by tags, which need not be consecutive. Triangles (2),
//! quadrangles (3) and tetrahedra (4, and the corners of second-order 11) are read; other elements and sections are
//! skipped. Text and binary differ in the encoding of numbers only, so one parser serves both.

use std::collections::{BTreeMap, HashMap};
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

/// Nodes per element, by its type; 0 if the type is unknown.
const ELEMENT_NODES: [usize; 20] = [0, 2, 3, 4, 4, 8, 6, 5, 3, 6, 9, 10, 27, 18, 14, 1, 8, 20, 15, 13];
const TRIANGLE: i64 = 2;
const QUADRANGLE: i64 = 3;
const TETRAHEDRON: i64 = 4;
const SECOND_ORDER_TETRAHEDRON: i64 = 11;

/// Reads a file.
pub(crate) fn read(input: &Input, _options: &ReadOptions) -> Result<Scene, Error> {
    let contents = Contents::parse(&input.bytes)?;
    let mut notes = Vec::new();
    if !contents.skipped.is_empty() {
        let kinds: Vec<String> =
            contents.skipped.iter().map(|(kind, count)| format!("{count} of type {kind}")).collect();
        notes.push(Note::new(format!("elements skipped: {}", kinds.join(", "))));
    }
    Ok(Scene { objects: vec![contents.mesh.into_object(&input.name)?], notes, ..Scene::default() })
}

/// Reader of the numbers of a section.
enum Numbers<'a> {
    Text(Tokenizer<'a>),
    Binary(&'a [u8]),
}

impl Numbers<'_> {
    fn bytes<const K: usize>(bytes: &mut &[u8]) -> Result<[u8; K], Error> {
        let (taken, rest) =
            bytes.split_first_chunk::<K>().ok_or_else(|| Error::truncated("a number", K as u64, bytes.len() as u64))?;
        *bytes = rest;
        Ok(*taken)
    }

    /// An `int`.
    fn int(&mut self) -> Result<i64, Error> {
        match self {
            Self::Text(words) => words.number(),
            Self::Binary(bytes) => Ok(i64::from(i32::from_le_bytes(Self::bytes(bytes)?))),
        }
    }

    /// A `size_t`.
    fn size(&mut self) -> Result<i64, Error> {
        match self {
            Self::Text(words) => words.number(),
            Self::Binary(bytes) => Ok(i64::from_le_bytes(Self::bytes(bytes)?)),
        }
    }

    fn double(&mut self) -> Result<f64, Error> {
        match self {
            Self::Text(words) => words.number(),
            Self::Binary(bytes) => Ok(f64::from_le_bytes(Self::bytes(bytes)?)),
        }
    }

    fn position(&mut self) -> Result<Vec3, Error> {
        Ok(Vec3::from([self.double()?, self.double()?, self.double()?].map(|number| number as f32)))
    }

    /// A count, if the remaining bytes suffice for that many rows of `width` numbers of at least 4 bytes.
    fn rows(&self, count: i64, width: usize) -> Result<usize, Error> {
        let count = usize::try_from(count).map_err(|_| Error::malformed(format!("invalid count {count}")))?;
        match self {
            Self::Text(words) => words.check_rows(count, width)?,
            Self::Binary(bytes) if count.saturating_mul(4 * width) > bytes.len() => {
                return Err(Error::truncated(
                    format!("{count} rows"),
                    (count as u64).saturating_mul(4 * width as u64),
                    bytes.len() as u64,
                ));
            }
            Self::Binary(_) => {}
        }
        Ok(count)
    }
}

#[derive(Debug, Default)]
struct Contents {
    mesh: VolumeMesh,
    /// Index of each node, by its tag.
    index_of: HashMap<i64, u32>,
    /// Number of skipped elements by type.
    skipped: BTreeMap<i64, usize>,
}

impl Contents {
    fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let header =
            section(bytes, "MeshFormat").ok_or_else(|| Error::malformed("the file has no $MeshFormat section"))?;
        let mut words = Tokenizer::new(header);
        let version: f64 = words.number()?;
        let binary = words.number::<u32>()? == 1;
        let mut contents = Self::default();
        if binary {
            check_byte_order(header)?;
        }
        let open = |name: &str| -> Result<(i64, Numbers<'_>), Error> {
            let body =
                section(bytes, name).ok_or_else(|| Error::malformed(format!("the file has no ${name} section")))?;
            if binary && version < 4.0 {
                // The count is text, the rows are not.
                let end = body.iter().position(|&byte| byte == b'\n').unwrap_or(body.len());
                let count = Tokenizer::new(&body[..end]).number()?;
                return Ok((count, Numbers::Binary(body.get(end + 1..).unwrap_or_default())));
            }
            let mut numbers = if binary { Numbers::Binary(body) } else { Numbers::Text(Tokenizer::new(body)) };
            Ok((numbers.size()?, numbers))
        };
        let (node_count, mut nodes) = open("Nodes")?;
        let (element_count, mut elements) = open("Elements")?;
        match version {
            2.0..3.0 => {
                contents.nodes_2(&mut nodes, node_count).map_err(|error| error.at("$Nodes"))?;
                contents.elements_2(&mut elements, element_count, binary).map_err(|error| error.at("$Elements"))?;
            }
            4.1..5.0 => {
                contents.nodes_4(&mut nodes, node_count).map_err(|error| error.at("$Nodes"))?;
                contents.elements_4(&mut elements, element_count).map_err(|error| error.at("$Elements"))?;
            }
            _ => {
                return Err(Error::unsupported(format!("version {version} is not supported"))
                    .with_hint("save it as version 2.2 or 4.1"));
            }
        }
        if contents.mesh.nodes.is_empty() { Err(Error::malformed("the file has no nodes")) } else { Ok(contents) }
    }

    fn add_node(&mut self, tag: i64, position: Vec3) -> Result<(), Error> {
        if self.index_of.insert(tag, self.mesh.nodes.len() as u32).is_some() {
            return Err(Error::malformed(format!("node {tag} is defined twice")));
        }
        self.mesh.nodes.push(position);
        Ok(())
    }

    fn nodes_2(&mut self, numbers: &mut Numbers<'_>, count: i64) -> Result<(), Error> {
        for _ in 0..numbers.rows(count, 4)? {
            let tag = numbers.int()?;
            let position = numbers.position()?;
            self.add_node(tag, position)?;
        }
        Ok(())
    }

    fn nodes_4(&mut self, numbers: &mut Numbers<'_>, blocks: i64) -> Result<(), Error> {
        numbers.size()?;
        numbers.size()?;
        numbers.size()?;
        for _ in 0..numbers.rows(blocks, 4)? {
            let dimension = numbers.int()?;
            numbers.int()?;
            let parametric = numbers.int()? != 0;
            let count = numbers.size()?;
            let count = numbers.rows(count, 4)?;
            let tags = (0..count).map(|_| numbers.size()).collect::<Result<Vec<_>, _>>()?;
            for tag in tags {
                let position = numbers.position()?;
                self.add_node(tag, position)?;
                for _ in 0..if parametric { dimension.clamp(0, 3) } else { 0 } {
                    numbers.double()?;
                }
            }
        }
        Ok(())
    }

    fn elements_2(&mut self, numbers: &mut Numbers<'_>, count: i64, binary: bool) -> Result<(), Error> {
        let count = numbers.rows(count, 3)?;
        let mut done = 0;
        while done < count {
            // In text each element states its type; in binary files a block of them does.
            if !binary {
                numbers.int()?;
            }
            let kind = numbers.int()?;
            let of_block = if binary { numbers.int()? } else { 1 };
            let tags = numbers.int()?;
            let tags = numbers.rows(tags, 1)?;
            let of_block = numbers.rows(of_block.max(1), 1)?.min(count - done);
            for _ in 0..of_block {
                if binary {
                    numbers.int()?;
                }
                for _ in 0..tags {
                    numbers.int()?;
                }
                self.element(kind, || numbers.int())?;
            }
            done += of_block;
        }
        Ok(())
    }

    fn elements_4(&mut self, numbers: &mut Numbers<'_>, blocks: i64) -> Result<(), Error> {
        numbers.size()?;
        numbers.size()?;
        numbers.size()?;
        for _ in 0..numbers.rows(blocks, 4)? {
            numbers.int()?;
            numbers.int()?;
            let kind = numbers.int()?;
            let count = numbers.size()?;
            for _ in 0..numbers.rows(count, 2)? {
                numbers.size()?;
                self.element(kind, || numbers.size())?;
            }
        }
        Ok(())
    }

    /// Adds one element of the type `kind`, whose nodes are returned by `next`.
    fn element(&mut self, kind: i64, mut next: impl FnMut() -> Result<i64, Error>) -> Result<(), Error> {
        let count = usize::try_from(kind).ok().and_then(|kind| ELEMENT_NODES.get(kind)).copied().unwrap_or(0);
        if count == 0 {
            return Err(Error::unsupported(format!("unknown element type {kind}")));
        }
        let mut nodes = [0; 27];
        for node in &mut nodes[..count] {
            let tag = next()?;
            *node = *self
                .index_of
                .get(&tag)
                .ok_or_else(|| Error::malformed(format!("an element refers to node {tag}, which does not exist")))?;
        }
        let [a, b, c, d, ..] = nodes;
        match kind {
            TRIANGLE => self.mesh.triangles.push([a, b, c]),
            QUADRANGLE => self.mesh.quads.push([a, b, c, d]),
            TETRAHEDRON | SECOND_ORDER_TETRAHEDRON => self.mesh.tetrahedra.push([a, b, c, d]),
            _ => *self.skipped.entry(kind).or_default() += 1,
        }
        Ok(())
    }
}

/// Contents between `$name` and `$Endname`.
fn section<'a>(bytes: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let (start, end) = (format!("${name}"), format!("$End{name}"));
    let begins_a_line = |at: usize| at == 0 || bytes[at - 1] == b'\n';
    let mut windows = bytes.windows(start.len()).enumerate();
    let (at, _) = windows.find(|&(at, window)| window == start.as_bytes() && begins_a_line(at))?;
    let body = &bytes[at + start.len()..];
    let first = body.iter().position(|&byte| byte == b'\n')? + 1;
    let body = &body[first..];
    // Binary data need not end with a line break.
    let length = body.windows(end.len()).position(|window| window == end.as_bytes())?;
    Some(&body[..length])
}

/// The integer 1 follows the header line.
fn check_byte_order(header: &[u8]) -> Result<(), Error> {
    let line = header.iter().position(|&byte| byte == b'\n').map_or(header.len(), |end| end + 1);
    match header.get(line..line + 4) {
        Some([1, 0, 0, 0]) => Ok(()),
        Some([0, 0, 0, 1]) => Err(Error::unsupported("the file is big-endian").with_hint("save it as text")),
        _ => Err(Error::malformed("the header does not state the byte order")),
    }
}

/// Writes `object` to `target`.
pub(crate) fn write(object: &Object, _units: Units, job: &mut Job<'_>) -> Result<(), Error> {
    let positions = still(object, job.target, "choose a frame, or write .npz, .abc or .glb")?;
    let mut file = job.create()?;
    writeln!(file, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{}", positions.len())?;
    for (index, p) in positions.iter().enumerate() {
        writeln!(file, "{} {} {} {}", index + 1, p.x, p.y, p.z)?;
    }
    writeln!(file, "$EndNodes\n$Elements")?;
    let polygons = object.mesh.to_polygon_mesh().polygons;
    let elements: Vec<(i64, &[u32])> = match &object.tets {
        Some(tets) => tets.tetrahedra().iter().map(|tet| (TETRAHEDRON, tet.as_slice())).collect(),
        None if polygons.sizes.iter().all(|&size| size <= 4) => {
            polygons.iter().map(|polygon| (if polygon.len() == 3 { TRIANGLE } else { QUADRANGLE }, polygon)).collect()
        }
        None => object.mesh.triangles().iter().map(|triangle| (TRIANGLE, triangle.as_slice())).collect(),
    };
    writeln!(file, "{}", elements.len())?;
    for (index, (kind, nodes)) in elements.iter().enumerate() {
        // Two tags, the physical and the elementary entity: some readers require them.
        write!(file, "{} {kind} 2 1 1", index + 1)?;
        for node in *nodes {
            write!(file, " {}", node + 1)?;
        }
        writeln!(file)?;
    }
    writeln!(file, "$EndElements")?;
    Ok(file.flush()?)
}
