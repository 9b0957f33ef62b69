//! Header of a PLY file: its elements, their counts and properties.

use crate::error::Error;

/// Encoding of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Text,
    Little,
    Big,
}

/// The type of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Scalar {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "char" | "int8" => Self::I8,
            "uchar" | "uint8" => Self::U8,
            "short" | "int16" => Self::I16,
            "ushort" | "uint16" => Self::U16,
            "int" | "int32" => Self::I32,
            "uint" | "uint32" => Self::U32,
            "float" | "float32" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    /// The bytes of one number.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// One property of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Property {
    pub name: String,
    /// For a list, the type of its length.
    pub list: Option<Scalar>,
    pub scalar: Scalar,
}

/// A kind of element: vertices, faces, …
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    pub name: String,
    pub count: usize,
    pub properties: Vec<Property>,
}

impl Element {
    /// Minimum size of one of these elements, in bytes.
    pub(super) fn min_bytes(&self, encoding: Encoding) -> usize {
        // In text, a digit and a space.
        let least = |property: &Property| match encoding {
            Encoding::Text => 2,
            _ => property.list.unwrap_or(property.scalar).bytes(),
        };
        self.properties.iter().map(least).sum()
    }
}

/// A parsed header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub encoding: Encoding,
    pub elements: Vec<Element>,
    /// Offset of the elements.
    pub body_start: usize,
}

/// Parses the header of a file.
pub(super) fn parse(bytes: &[u8]) -> Result<Header, Error> {
    let mut lines = Lines { bytes, at: 0, number: 0 };
    if lines.next().is_none_or(|line| line.trim_ascii() != b"ply") {
        return Err(Error::malformed("the file does not begin with 'ply'"));
    }
    let (mut encoding, mut elements) = (None, Vec::new());
    while let Some(line) = lines.next() {
        let number = lines.number;
        let line = String::from_utf8_lossy(line);
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let wrong =
            |what: &str| Err(Error::malformed(format!("{what}: '{}'", line.trim())).at(format!("line {number}")));
        match words.as_slice() {
            ["format", name, _version] => {
                encoding = match *name {
                    "ascii" => Some(Encoding::Text),
                    "binary_little_endian" => Some(Encoding::Little),
                    "binary_big_endian" => Some(Encoding::Big),
                    _ => return wrong("unknown encoding"),
                }
            }
            [] | ["comment" | "obj_info", ..] => {}
            ["element", name, count] => match count.parse() {
                Ok(count) => elements.push(Element { name: (*name).to_owned(), count, properties: Vec::new() }),
                Err(_) => return wrong("the count is not a number"),
            },
            ["property", rest @ ..] => match (elements.last_mut(), property(rest)) {
                (Some(element), Some(property)) => element.properties.push(property),
                _ => return wrong("invalid property"),
            },
            ["end_header"] => {
                let Some(encoding) = encoding else { return wrong("no 'format' line before the end") };
                return Ok(Header { encoding, elements, body_start: lines.at });
            }
            _ => return wrong("invalid line"),
        }
    }
    Err(Error::malformed("the header has no end ('end_header')"))
}

fn property(words: &[&str]) -> Option<Property> {
    match words {
        ["list", length, scalar, name] => {
            let (list, scalar) = (Some(Scalar::of(length)?), Scalar::of(scalar)?);
            Some(Property { name: (*name).to_owned(), list, scalar })
        }
        [scalar, name] => Some(Property { name: (*name).to_owned(), list: None, scalar: Scalar::of(scalar)? }),
        _ => None,
    }
}

/// Lines that end with LF, CR LF or, in old files, CR alone.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
        let line_break = if rest[length..].starts_with(b"\r\n") { 2 } else { 1 };
        self.at += length + line_break;
        self.number += 1;
        Some(&rest[..length])
    }
}
