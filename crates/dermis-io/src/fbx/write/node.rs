//! Nodes of a binary FBX file, version 7.5: a name, values, and nested nodes.
//!
//! A record consists of its end position in the file, the number and size of its values, its name, its values and its
//! nested records, closed by a record of zeros. Ends are absolute, so a node is encoded for a known position.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Size of the numbers and the name length at the start of a record, which is also the size of a record of zeros.
pub(super) const HEADER: usize = 25;
/// Arrays of at least this many bytes are compressed.
const COMPRESSED: usize = 128;

/// A value of a node.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    I32(i32),
    I64(i64),
    F64(f64),
    Text(String),
    Bytes(Vec<u8>),
    I32s(Vec<i32>),
    I64s(Vec<i64>),
    F32s(Vec<f32>),
    F64s(Vec<f64>),
}

/// A node with its values and the nodes in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    name: &'static str,
    values: Vec<Value>,
    children: Vec<Node>,
}

impl Node {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, values: Vec::new(), children: Vec::new() }
    }

    /// A node with one value.
    pub(super) fn of(name: &'static str, value: impl Into<Value>) -> Self {
        Self::new(name).with(value)
    }

    #[must_use]
    pub(super) fn with(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into());
        self
    }

    #[must_use]
    pub(super) fn child(mut self, child: Self) -> Self {
        self.children.push(child);
        self
    }

    #[must_use]
    pub(super) fn children(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children);
        self
    }

    /// Bytes of the node at `position` in the file.
    pub(super) fn encoded(&self, position: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode(position, &mut bytes);
        bytes
    }

    fn encode(&self, position: u64, bytes: &mut Vec<u8>) {
        let begin = bytes.len();
        bytes.extend([0; HEADER]);
        bytes.extend(self.name.as_bytes());
        let values_begin = bytes.len();
        self.values.iter().for_each(|value| value.encode(bytes));
        let values_size = bytes.len() - values_begin;
        for child in &self.children {
            child.encode(position + (bytes.len() - begin) as u64, bytes);
        }
        // Autodesk's reader expects the closing record in these nodes even if they are empty.
        let closed = matches!(self.name, "AnimationStack" | "AnimationLayer") || self.values.is_empty();
        if closed || !self.children.is_empty() {
            bytes.extend([0; HEADER]);
        }
        let end = position + (bytes.len() - begin) as u64;
        let header = header(end, self.values.len(), values_size, self.name);
        bytes[begin..begin + HEADER].copy_from_slice(&header);
    }
}

/// The opening of a record.
pub(super) fn header(end: u64, values: usize, values_size: usize, name: &str) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&end.to_le_bytes());
    header[8..16].copy_from_slice(&(values as u64).to_le_bytes());
    header[16..24].copy_from_slice(&(values_size as u64).to_le_bytes());
    header[24] = name.len() as u8;
    header
}

/// The name of an object as FBX stores it, with its class.
pub(super) fn classed(name: &str, class: &str) -> String {
    // The two bytes separate name and class.
    format!("{}\0\u{1}{class}", name.replace('\0', " "))
}

/// The list of properties of an object.
pub(super) fn properties(list: impl IntoIterator<Item = Node>) -> Node {
    Node::new("Properties70").children(list)
}

/// A property: name, type, and values; `flags` are `A` for animated and `U` for user-defined.
pub(super) fn property(
    name: &str,
    kind: &str,
    label: &str,
    flags: &str,
    values: impl IntoIterator<Item = impl Into<Value>>,
) -> Node {
    let head = Node::of("P", name).with(kind).with(label).with(flags);
    values.into_iter().fold(head, Node::with)
}

/// Properties of the most common types.
pub(super) fn integer(name: &str, value: i32) -> Node {
    property(name, "int", "Integer", "", [value])
}

pub(super) fn enumerated(name: &str, value: i32) -> Node {
    property(name, "enum", "", "", [value])
}

pub(super) fn number(name: &str, value: f64) -> Node {
    property(name, "double", "Number", "", [value])
}

pub(super) fn boolean(name: &str, value: bool) -> Node {
    property(name, "bool", "", "", [i32::from(value)])
}

pub(super) fn color(name: &str, value: [f32; 3]) -> Node {
    property(name, "Color", "", "A", value.map(f64::from))
}

impl Value {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let sized = |bytes: &mut Vec<u8>, code: u8, data: &[u8]| {
            bytes.push(code);
            bytes.extend((data.len() as u32).to_le_bytes());
            bytes.extend(data);
        };
        match self {
            Self::Bool(value) => bytes.extend([b'C', u8::from(*value)]),
            Self::I32(value) => {
                bytes.push(b'I');
                bytes.extend(value.to_le_bytes());
            }
            Self::I64(value) => {
                bytes.push(b'L');
                bytes.extend(value.to_le_bytes());
            }
            Self::F64(value) => {
                bytes.push(b'D');
                bytes.extend(value.to_le_bytes());
            }
            Self::Text(text) => sized(bytes, b'S', text.as_bytes()),
            Self::Bytes(data) => sized(bytes, b'R', data),
            Self::I32s(values) => array(bytes, b'i', values.len(), values.iter().flat_map(|value| value.to_le_bytes())),
            Self::I64s(values) => array(bytes, b'l', values.len(), values.iter().flat_map(|value| value.to_le_bytes())),
            Self::F32s(values) => array(bytes, b'f', values.len(), values.iter().flat_map(|value| value.to_le_bytes())),
            Self::F64s(values) => array(bytes, b'd', values.len(), values.iter().flat_map(|value| value.to_le_bytes())),
        }
    }
}

/// An array: its length, whether it is compressed, its size in the file, and its bytes.
fn array(bytes: &mut Vec<u8>, code: u8, count: usize, data: impl Iterator<Item = u8>) {
    let raw: Vec<u8> = data.collect();
    let packed = (raw.len() >= COMPRESSED).then(|| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        // Writing to memory does not fail.
        encoder.write_all(&raw).ok().and_then(|()| encoder.finish().ok())
    });
    let packed = packed.flatten().filter(|packed| packed.len() < raw.len());
    bytes.push(code);
    bytes.extend((count as u32).to_le_bytes());
    bytes.extend(u32::from(packed.is_some()).to_le_bytes());
    let data = packed.unwrap_or(raw);
    bytes.extend((data.len() as u32).to_le_bytes());
    bytes.extend(data);
}

macro_rules! from {
    ($($kind:ty => $variant:ident),* $(,)?) => {
        $(impl From<$kind> for Value {
            fn from(value: $kind) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

from! {
    bool => Bool, i32 => I32, i64 => I64, f64 => F64, &str => Text, String => Text, &String => Text,
    Vec<u8> => Bytes, Vec<i32> => I32s, Vec<i64> => I64s, Vec<f32> => F32s, Vec<f64> => F64s,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_stores_its_end_position() {
        let node = Node::of("Parent", 7).child(Node::of("Child", "x"));
        let bytes = node.encoded(100);
        let end = u64::from_le_bytes(bytes[..8].try_into().unwrap());
        assert_eq!(end, 100 + bytes.len() as u64);
        let child = HEADER + "Parent".len() + 5;
        let child_end = u64::from_le_bytes(bytes[child..child + 8].try_into().unwrap());
        assert_eq!(child_end, 100 + (bytes.len() - HEADER) as u64, "the closing record follows the child");
        assert!(bytes[bytes.len() - HEADER..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn only_long_arrays_are_compressed() {
        let flag = |values: Vec<f64>| Node::of("A", values).encoded(0)[HEADER + 1 + 5];
        assert_eq!((flag(vec![1.0; 4]), flag(vec![1.0; 400])), (0, 1));
    }
}
