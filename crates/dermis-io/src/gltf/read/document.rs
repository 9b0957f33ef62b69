//! A glTF file in memory: its JSON, its buffers, and the remaining memory budget of the reader.
//!
//! A `.glb` is a 12-byte header followed by chunks: first the JSON, then the first buffer (glTF 2.0, §4.4).
//! Compressed buffer views are decoded once, when the file is opened.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use dermis_mesh::Note;

use super::meshopt::{self, Decompressed};
use super::uri;
use crate::budget::Budget;
use crate::error::Error;
use crate::gltf::schema::{BufferView, Root};
use crate::input::clip_name;
use crate::neighbours::Neighbours;

const GLB_MAGIC: &[u8] = b"glTF";
const JSON_CHUNK: u32 = 0x4E4F_534A;
const BINARY_CHUNK: u32 = 0x004E_4942;

/// An open file.
pub(in crate::gltf) struct Document<'a> {
    pub root: Root,
    buffers: Vec<Bytes<'a>>,
    /// The contents of the views that were compressed.
    decompressed: BTreeMap<usize, Decompressed>,
    neighbours: Option<&'a Neighbours>,
    budget: RefCell<Budget>,
    notes: RefCell<Vec<Note>>,
}

enum Bytes<'a> {
    Borrowed(&'a [u8]),
    Owned(Rc<Vec<u8>>),
    /// A buffer without data: its contents are decompressed from another.
    Absent,
}

impl<'a> Document<'a> {
    /// Opens the file `bytes` and those of its `neighbours` that it references.
    pub(in crate::gltf) fn open(bytes: &'a [u8], neighbours: Option<&'a Neighbours>) -> Result<Self, Error> {
        let (json, binary) = split_container(bytes)?;
        let mut root: Root = serde_json::from_slice(json).map_err(|error| {
            let not_gltf = || Error::malformed(format!("the JSON of the file is not glTF: {error}"));
            older_version(json).map_or_else(not_gltf, |version| unsupported_version(&version))
        })?;
        // Named by its index in the file, so that the parts of one animation in several objects have the same name.
        for (index, animation) in root.animations.iter_mut().enumerate().filter(|(_, found)| found.name.is_empty()) {
            animation.name = clip_name(index);
        }
        check_version(&root)?;
        let (buffers, external_bytes) = load_buffers(&root, binary, neighbours)?;
        let budget = RefCell::new(Budget::for_file((bytes.len() + external_bytes) as u64));
        let notes = RefCell::default();
        let mut document = Self { root, buffers, decompressed: BTreeMap::new(), neighbours, budget, notes };
        document.decompressed = meshopt::decompress_views(&document)?;
        Ok(document)
    }

    /// Reserves memory beyond the size of the file.
    pub(super) fn take(&self, what: &str, count: usize, element_bytes: usize) -> Result<(), Error> {
        self.budget.borrow_mut().take(what, count, element_bytes)
    }

    /// Adds a note, once.
    pub(super) fn note(&self, note: Note) {
        let mut notes = self.notes.borrow_mut();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// All notes.
    pub(super) fn into_notes(self) -> Vec<Note> {
        self.notes.into_inner()
    }

    /// The contents of a buffer view.
    pub(in crate::gltf) fn view(&self, index: usize) -> Result<&[u8], Error> {
        if let Some(bytes) = self.decompressed.get(&index) {
            return Ok(bytes.as_bytes());
        }
        let view = self.view_description(index)?;
        self.buffer_range(view.buffer, view.byte_offset, view.byte_length)
            .map_err(|error| error.at(format!("bufferViews[{index}]")))
    }

    /// Description of a buffer view in the file.
    pub(super) fn view_description(&self, index: usize) -> Result<&BufferView, Error> {
        let count = self.root.buffer_views.len();
        self.root.buffer_views.get(index).ok_or_else(|| missing("buffer view", index, count))
    }

    /// A range of a buffer.
    pub(super) fn buffer_range(&self, buffer: usize, offset: usize, length: usize) -> Result<&[u8], Error> {
        let bytes: &[u8] = match self.buffers.get(buffer) {
            Some(Bytes::Borrowed(bytes)) => bytes,
            Some(Bytes::Owned(bytes)) => bytes,
            Some(Bytes::Absent) => {
                return Err(Error::malformed(format!("buffer {buffer} has neither a URI nor data in the file")));
            }
            None => return Err(missing("buffer", buffer, self.buffers.len())),
        };
        let end = offset.saturating_add(length);
        bytes
            .get(offset..end)
            .ok_or_else(|| Error::truncated(format!("buffer {buffer}"), end as u64, bytes.len() as u64))
    }

    /// Bytes that a URI refers to, and the media type if the URI contains it.
    pub(super) fn resource(&self, uri: &str) -> Result<(Option<String>, Vec<u8>), Error> {
        match uri::data_uri(uri) {
            Some(data) => data.map(|(media_type, bytes)| (Some(media_type), bytes)),
            None => uri::read_file(uri, self.neighbours).map(|bytes| (None, bytes)),
        }
    }
}

/// Error of an index that is out of range.
pub(super) fn missing(kind: &str, index: usize, count: usize) -> Error {
    Error::malformed(format!("the file refers to {kind} {index}, but has only {count}"))
}

/// The JSON of a `.gltf` or `.glb`, and the binary chunk of the latter.
fn split_container(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), Error> {
    if !bytes.starts_with(GLB_MAGIC) {
        return Ok((bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), None));
    }
    let version = little_endian(bytes, 4)?;
    if version != 2 {
        return Err(unsupported_version(&format!("{version}.0")));
    }
    let length = little_endian(bytes, 8)? as usize;
    let bytes = bytes.get(..length).ok_or_else(|| Error::truncated("the file", length as u64, bytes.len() as u64))?;
    let (kind, json, next) = chunk(bytes, 12)?;
    if kind != JSON_CHUNK {
        return Err(Error::malformed("the first chunk of the file is not JSON"));
    }
    let mut at = next;
    while at < bytes.len() {
        let (kind, content, next) = chunk(bytes, at)?;
        if kind == BINARY_CHUNK {
            return Ok((json, Some(content)));
        }
        at = next;
    }
    Ok((json, None))
}

fn chunk(bytes: &[u8], at: usize) -> Result<(u32, &[u8], usize), Error> {
    let length = little_endian(bytes, at)? as usize;
    let kind = little_endian(bytes, at + 4)?;
    let (start, end) = (at + 8, at + 8 + length);
    let content = bytes
        .get(start..end)
        .ok_or_else(|| Error::truncated("a chunk", length as u64, bytes.len().saturating_sub(start) as u64))?;
    Ok((kind, content, end))
}

fn little_endian(bytes: &[u8], at: usize) -> Result<u32, Error> {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    let word = word.ok_or_else(|| Error::truncated("the header", at as u64 + 4, bytes.len() as u64))?;
    Ok(u32::from_le_bytes(*word))
}

fn check_version(root: &Root) -> Result<(), Error> {
    let version = root.asset.min_version.as_deref().unwrap_or(&root.asset.version);
    if version.starts_with("2.") { Ok(()) } else { Err(unsupported_version(version)) }
}

fn unsupported_version(version: &str) -> Error {
    let message = if version.is_empty() {
        "the file does not state its glTF version; only glTF 2.0 is supported".to_owned()
    } else {
        format!("this is glTF {version}; only glTF 2.0 is supported")
    };
    Error::unsupported(message).with_hint("convert or export it again as glTF 2.0")
}

/// Version of a file whose JSON has the form of glTF 1.0: its lists are objects, and the version can be missing.
fn older_version(json: &[u8]) -> Option<String> {
    let root: serde_json::Value = serde_json::from_slice(json).ok()?;
    let of_older = ["accessors", "bufferViews", "meshes", "nodes"].iter().any(|list| root[*list].is_object());
    let version = match &root["asset"]["version"] {
        serde_json::Value::String(version) => version.clone(),
        serde_json::Value::Number(version) => version.to_string(),
        _ => "1.0".to_owned(),
    };
    (of_older && !version.starts_with('2')).then_some(version)
}

/// The buffers, and the number of their bytes that are in other files.
fn load_buffers<'a>(
    root: &Root,
    binary: Option<&'a [u8]>,
    neighbours: Option<&Neighbours>,
) -> Result<(Vec<Bytes<'a>>, usize), Error> {
    let mut external: BTreeMap<&str, Rc<Vec<u8>>> = BTreeMap::new();
    let mut buffers = Vec::with_capacity(root.buffers.len());
    for (index, buffer) in root.buffers.iter().enumerate() {
        let at = |error: Error| error.at(format!("buffers[{index}]"));
        buffers.push(match (&buffer.uri, binary) {
            (None, Some(binary)) if index == 0 => Bytes::Borrowed(binary),
            (None, _) => Bytes::Absent,
            (Some(uri), _) => Bytes::Owned(match (uri::data_uri(uri), external.get(uri.as_str())) {
                (Some(data), _) => Rc::new(data.map_err(at)?.1),
                (None, Some(known)) => Rc::clone(known),
                (None, None) => {
                    let bytes = Rc::new(uri::read_file(uri, neighbours).map_err(at)?);
                    external.insert(uri, Rc::clone(&bytes));
                    bytes
                }
            }),
        });
        check_length(&mut buffers[index], buffer.byte_length).map_err(at)?;
    }
    let external_bytes = external.values().map(|bytes| bytes.len()).sum();
    Ok((buffers, external_bytes))
}

fn check_length(buffer: &mut Bytes<'_>, stated: usize) -> Result<(), Error> {
    let found = match buffer {
        Bytes::Borrowed(bytes) => bytes.len(),
        Bytes::Owned(bytes) => bytes.len(),
        Bytes::Absent => return Ok(()),
    };
    if found >= stated { Ok(()) } else { Err(Error::truncated("the buffer", stated as u64, found as u64)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glb(json: &str, binary: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::from(GLB_MAGIC);
        let length = 12 + 8 + json.len() + 8 + binary.len();
        bytes.extend([2, length as u32, json.len() as u32, JSON_CHUNK].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(json.as_bytes());
        bytes.extend([binary.len() as u32, BINARY_CHUNK].iter().flat_map(|word| word.to_le_bytes()));
        bytes.extend(binary);
        bytes
    }

    #[test]
    fn the_binary_chunk_is_the_first_buffer() {
        let json = r#"{"asset":{"version":"2.0"},"buffers":[{"byteLength":3}],"bufferViews":[{"byteOffset":1,"byteLength":2}]}"#;
        let bytes = glb(json, &[7, 8, 9, 0]);
        let document = Document::open(&bytes, None).unwrap();
        assert_eq!(document.view(0).unwrap(), [8, 9]);
        assert!(document.view(1).is_err());
    }

    #[test]
    fn rejects_other_versions_and_buffers_that_are_too_short() {
        let old = Document::open(br#"{"asset":{"version":"1.0"}}"#, None).err().unwrap();
        assert!(old.to_string().contains("1.0"), "{old}");
        let json = r#"{"asset":{"version":"2.0"},"buffers":[{"byteLength":30}]}"#;
        assert!(Document::open(&glb(json, &[0; 4]), None).is_err());
        let elsewhere = r#"{"asset":{"version":"2.0"},"buffers":[{"uri":"x.bin","byteLength":30}]}"#;
        assert!(Document::open(elsewhere.as_bytes(), None).is_err());
    }
}
