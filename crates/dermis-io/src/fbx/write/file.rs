//! Writer of a binary FBX file: objects are written one by one, connections at the end.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};

use dermis_mesh::{Units, UpAxis};

use super::curves::ticks;
use super::node::{HEADER, Node, classed, enumerated, header, integer, number, properties, property};
use crate::error::Error;

const MAGIC: &[u8; 23] = b"Kaydara FBX Binary  \x00\x1a\x00";
const VERSION: u32 = 7500;
/// A creation time, and the identifier and footer derived from it, which Autodesk's reader compares.
const CREATION_TIME: &str = "1970-01-01 10:00:00:000";
const FILE_ID: [u8; 16] =
    [0x28, 0xb3, 0x2a, 0xeb, 0xb6, 0x24, 0xcc, 0xc2, 0xbf, 0xc8, 0xb0, 0x2a, 0xa9, 0x2b, 0xfc, 0xf1];
const FOOTER_ID: [u8; 16] =
    [0xfa, 0xbc, 0xab, 0x09, 0xd0, 0xc8, 0xd4, 0x66, 0xb1, 0x76, 0xfb, 0x83, 0x1c, 0xf7, 0x26, 0x7e];
const FOOTER_MAGIC: [u8; 16] =
    [0xf8, 0x5a, 0x8c, 0x6a, 0xde, 0xf5, 0xd9, 0x7e, 0xec, 0xe9, 0x0c, 0xe3, 0x75, 0x8f, 0x29, 0x0b];
/// Identifier of the root node.
pub(super) const ROOT: i64 = 0;
const FIRST_ID: i64 = 1_000_000;
/// Classes of objects, all of which the definitions list.
const CLASSES: [&str; 11] = [
    "Model", "NodeAttribute", "Geometry", "Material", "Texture", "Video", "Deformer", "Pose", "AnimationStack",
    "AnimationLayer", "AnimationCurveNode",
];
const CURVES: &str = "AnimationCurve";

/// Frames of the whole file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub rate_hz: f64,
    pub start_seconds: f64,
    pub end_seconds: f64,
}

/// Writer of a file.
pub(super) struct FbxFile {
    out: BufWriter<File>,
    position: u64,
    definitions: u64,
    objects: u64,
    counts: BTreeMap<&'static str, i32>,
    connections: Vec<Node>,
    names: HashSet<String>,
    next_id: i64,
    /// Names that were changed because another node has them, and their replacements.
    pub renamed: Vec<(String, String)>,
}

impl FbxFile {
    /// Writes everything before the objects.
    pub(super) fn begin(out: BufWriter<File>, units: Units, range: Option<Range>) -> Result<Self, Error> {
        let mut file = Self {
            out,
            position: 0,
            definitions: 0,
            objects: 0,
            counts: BTreeMap::new(),
            connections: Vec::new(),
            names: HashSet::new(),
            next_id: FIRST_ID,
            renamed: Vec::new(),
        };
        file.bytes(MAGIC)?;
        file.bytes(&VERSION.to_le_bytes())?;
        for node in [
            header_extension(),
            Node::of("FileId", FILE_ID.to_vec()),
            Node::of("CreationTime", CREATION_TIME),
            Node::of("Creator", generator()),
            settings(units, range),
            documents(),
            Node::new("References"),
        ] {
            file.node(&node)?;
        }
        file.definitions = file.position;
        file.node(&definitions(&file.counts))?;
        file.objects = file.position;
        file.bytes(&header(0, 0, 0, "Objects"))?;
        file.bytes(b"Objects")?;
        Ok(file)
    }

    /// A new identifier.
    pub(super) fn id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id
    }

    /// Makes a name unique: programs find the nodes of an animation by name.
    pub(super) fn unique(&mut self, name: &str) -> String {
        let mut candidates =
            (1u64..).map(|number| if number == 1 { name.to_owned() } else { format!("{name}_{number}") });
        let given = candidates.find(|name| !self.names.contains(name)).unwrap_or_default();
        if given != name {
            self.renamed.push((name.to_owned(), given.clone()));
        }
        self.names.insert(given.clone());
        given
    }

    /// Writes an object; `node` is its record without the values that all objects have.
    pub(super) fn object(&mut self, class: &'static str, node: &Node) -> Result<(), Error> {
        *self.counts.entry(class).or_default() += 1;
        self.node(node)
    }

    /// Connects an object to the one that it belongs to.
    pub(super) fn connect(&mut self, child: i64, parent: i64) {
        self.connections.push(Node::of("C", "OO").with(child).with(parent));
    }

    /// Connects an object to a property of another.
    pub(super) fn connect_to(&mut self, child: i64, parent: i64, property: &str) {
        self.connections.push(Node::of("C", "OP").with(child).with(parent).with(property));
    }

    /// Writes everything after the objects.
    pub(super) fn finish(mut self, takes: &Node) -> Result<(), Error> {
        self.bytes(&[0; HEADER])?;
        let end = self.position;
        let connections = Node::new("Connections").children(std::mem::take(&mut self.connections));
        self.node(&connections)?;
        self.node(takes)?;
        self.bytes(&[0; HEADER])?;
        self.bytes(&FOOTER_ID)?;
        self.bytes(&[0; 4])?;
        // If the position is at the start of a block, a whole block is skipped.
        let padding = 16 - self.position % 16;
        self.bytes(&vec![0; padding as usize])?;
        self.bytes(&VERSION.to_le_bytes())?;
        self.bytes(&[0; 120])?;
        self.bytes(&FOOTER_MAGIC)?;
        self.out.seek(SeekFrom::Start(self.definitions))?;
        self.out.write_all(&definitions(&self.counts).encoded(self.definitions))?;
        self.out.seek(SeekFrom::Start(self.objects))?;
        self.out.write_all(&header(end, 0, 0, "Objects"))?;
        Ok(self.out.flush()?)
    }

    fn node(&mut self, node: &Node) -> Result<(), Error> {
        self.bytes(&node.encoded(self.position))
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}

fn generator() -> &'static str {
    concat!("dermis ", env!("CARGO_PKG_VERSION"))
}

fn header_extension() -> Node {
    let stamp = ["Year", "Month", "Day", "Hour", "Minute", "Second", "Millisecond"];
    // The date is fixed, so that equal scenes result in equal files.
    let values = [1970, 1, 1, 10, 0, 0, 0];
    let time = Node::new("CreationTimeStamp").child(Node::of("Version", 1000));
    let time = time.children(stamp.into_iter().zip(values).map(|(name, value)| Node::of(name, value)));
    Node::new("FBXHeaderExtension").children([
        Node::of("FBXHeaderVersion", 1003),
        Node::of("FBXVersion", VERSION as i32),
        Node::of("EncryptionType", 0),
        time,
        Node::of("Creator", generator()),
    ])
}

fn settings(units: Units, range: Option<Range>) -> Node {
    let [up, front, right] = match units.up_axis {
        Some(UpAxis::X) => [(0, 1), (2, 1), (1, -1)],
        Some(UpAxis::Y) | None => [(1, 1), (2, 1), (0, 1)],
        Some(UpAxis::Z) => [(2, 1), (1, -1), (0, 1)],
    };
    // FBX units are centimetres; a scene without units is assumed to be in metres, as in glTF.
    let metres = units.metres_per_unit.filter(|length| length.is_finite() && *length > 0.0).unwrap_or(1.0);
    let centimetres = (metres * 100.0 * 1e12).round() / 1e12;
    let range = range.unwrap_or(Range { rate_hz: 24.0, start_seconds: 0.0, end_seconds: 0.0 });
    let mode = time_mode(range.rate_hz);
    let time = |name: &str, seconds: f64| property(name, "KTime", "Time", "", [ticks(seconds)]);
    Node::new("GlobalSettings").child(Node::of("Version", 1000)).child(properties([
        integer("UpAxis", up.0),
        integer("UpAxisSign", up.1),
        integer("FrontAxis", front.0),
        integer("FrontAxisSign", front.1),
        integer("CoordAxis", right.0),
        integer("CoordAxisSign", right.1),
        integer("OriginalUpAxis", up.0),
        integer("OriginalUpAxisSign", up.1),
        number("UnitScaleFactor", centimetres),
        number("OriginalUnitScaleFactor", centimetres),
        property("DefaultCamera", "KString", "", "", ["Producer Perspective"]),
        enumerated("TimeMode", mode),
        time("TimeSpanStart", range.start_seconds),
        time("TimeSpanStop", range.end_seconds),
        number("CustomFrameRate", if mode == CUSTOM { range.rate_hz } else { -1.0 }),
    ]))
}

const CUSTOM: i32 = 14;

/// The number of a frame rate.
fn time_mode(rate_hz: f64) -> i32 {
    const MODES: [(f64, i32); 14] = [
        (24.0, 11),
        (30.0, 6),
        (60.0, 3),
        (25.0, 10),
        (50.0, 4),
        (48.0, 5),
        (100.0, 2),
        (120.0, 1),
        (1000.0, 12),
        (96.0, 15),
        (72.0, 16),
        (30_000.0 / 1001.0, 9),
        (24_000.0 / 1001.0, 13),
        (60_000.0 / 1001.0, 17),
    ];
    MODES.iter().find(|(rate, _)| (rate / rate_hz - 1.0).abs() < 1e-9).map_or(CUSTOM, |(_, mode)| *mode)
}

fn documents() -> Node {
    let document = Node::of("Document", FIRST_ID).with("").with("Scene");
    let list = [property("SourceObject", "object", "", "", [""; 0])];
    let document = document.child(properties(list)).child(Node::of("RootNode", ROOT));
    Node::new("Documents").child(Node::of("Count", 1)).child(document)
}

/// The number of objects of each class; its size is fixed, so that it can be overwritten.
fn definitions(counts: &BTreeMap<&'static str, i32>) -> Node {
    let count = |class: &str| counts.get(class).copied().unwrap_or(0);
    let classes = CLASSES.iter().chain([&CURVES]);
    let total: i32 = 1 + classes.clone().map(|class| count(class)).sum::<i32>();
    let definition = |class: &str, count: i32| Node::of("ObjectType", class).child(Node::of("Count", count));
    Node::new("Definitions")
        .children([Node::of("Version", 100), Node::of("Count", total), definition("GlobalSettings", 1)])
        .children(classes.map(|class| definition(class, count(class))))
}

/// The list of takes, for readers that do not evaluate the objects.
pub(super) fn takes(list: &[(String, f64, f64)]) -> Node {
    let take = |(name, start, end): &(String, f64, f64)| {
        let span = |node: &'static str| Node::of(node, ticks(*start)).with(ticks(*end));
        Node::of("Take", name).children([
            Node::of("FileName", format!("{name}.tak")),
            span("LocalTime"),
            span("ReferenceTime"),
        ])
    };
    let current = list.first().map_or("", |(name, ..)| name);
    Node::new("Takes").child(Node::of("Current", current)).children(list.iter().map(take))
}

/// Opens the record of an object.
pub(super) fn object(class: &'static str, id: i64, name: &str, name_class: &str, kind: &str) -> Node {
    Node::of(class, id).with(classed(name, name_class)).with(kind)
}
