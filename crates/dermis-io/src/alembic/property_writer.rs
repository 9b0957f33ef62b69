//! Writing of properties and objects: samples immediately, headers after all samples.
//!
//! Alembic also stores a hash of each object's properties and children, computed with `SpookyHash`, with which clients
//! find equal objects. It depends on the order of writing and cannot be verified, so the hash of samples is used here.

use std::io::{Result, Seek, Write};

use super::archive::INLINE_METADATA;
use super::murmur3;
use super::ogawa_writer::OgawaWriter;
use super::property::{CONSTANT, HAS_CHANGE_RANGE, HAS_TIME_SAMPLING, HOMOGENEOUS, Kind, Pod};

/// The container and the metadata strings that headers refer to by index.
#[derive(Debug)]
pub(super) struct ArchiveWriter<W> {
    pub(super) ogawa: OgawaWriter<W>,
    pub(super) strings: MetadataStrings,
}

/// Short metadata strings, stored once for the archive.
#[derive(Debug, Default)]
pub(super) struct MetadataStrings(Vec<String>);

/// Contents of a property.
#[derive(Debug, Clone, Copy)]
pub(super) struct Type {
    pub(super) kind: Kind,
    pub(super) pod: Pod,
    pub(super) extent: u32,
}

/// A property to which samples are being added.
#[derive(Debug)]
pub(super) struct PropertyWriter {
    name: String,
    metadata: String,
    of: Type,
    sampling: u32,
    samples: u32,
    first_changed: u32,
    last_changed: u32,
    entries: Vec<u64>,
    /// Entry, key and length of the previous sample.
    previous: Option<(u64, [u8; 16], usize)>,
    one_element: bool,
    equally_long: bool,
    hash: [u8; 16],
}

/// The properties of a compound, or the children of an object, written so far.
#[derive(Debug, Default)]
pub(super) struct Members {
    entries: Vec<u64>,
    headers: Vec<u8>,
    hashes: Vec<u8>,
}

/// A written group, and the hash of its contents.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    entry: u64,
    hash: [u8; 16],
}

impl MetadataStrings {
    fn index(&mut self, metadata: &str) -> u8 {
        if metadata.is_empty() {
            return 0;
        }
        if let Some(index) = self.0.iter().position(|other| other == metadata) {
            return index as u8 + 1;
        }
        if metadata.len() > 255 || self.0.len() >= 254 {
            return INLINE_METADATA;
        }
        self.0.push(metadata.to_owned());
        self.0.len() as u8
    }

    /// The block that contains them, each preceded by its length.
    pub(super) fn block(&self) -> Vec<u8> {
        self.0.iter().flat_map(|text| std::iter::once(text.len() as u8).chain(text.bytes())).collect()
    }
}

impl PropertyWriter {
    /// A property without samples.
    pub(super) fn new(name: &str, metadata: &str, of: Type, sampling: u32) -> Self {
        Self {
            name: name.to_owned(),
            metadata: metadata.to_owned(),
            of,
            sampling,
            samples: 0,
            first_changed: 0,
            last_changed: 0,
            entries: Vec::new(),
            previous: None,
            one_element: true,
            equally_long: true,
            hash: [0; 16],
        }
    }

    /// Adds a sample; it is not stored if it equals the previous one.
    pub(super) fn push<W: Write + Seek>(&mut self, ogawa: &mut OgawaWriter<W>, values: &[u8]) -> Result<()> {
        let (entry, key) = ogawa.sample(values)?;
        self.hash = murmur3::key(&[self.hash, key].concat());
        let sample = self.samples;
        self.samples += 1;
        if let Some((previous, previous_key, previous_length)) = self.previous {
            if (previous_key, previous_length) == (key, values.len()) {
                return Ok(());
            }
            if self.first_changed == 0 {
                self.first_changed = sample;
            } else {
                // Between changes, every sample has its own entry.
                for _ in self.last_changed + 1..sample {
                    self.push_entry(previous);
                }
            }
            self.last_changed = sample;
            self.equally_long &= previous_length == values.len();
        }
        self.push_entry(entry);
        self.previous = Some((entry, key, values.len()));
        self.one_element &= values.len() == self.of.element_bytes();
        Ok(())
    }

    /// Adds `count` samples that equal the previous one.
    pub(super) fn repeat(&mut self, count: usize) {
        self.samples += count as u32;
    }

    fn push_entry(&mut self, entry: u64) {
        self.entries.push(entry);
        if self.of.kind == Kind::Array {
            // Plain arrays have no dimensions other than their length.
            self.entries.push(super::ogawa::DATA);
        }
    }

    fn header(&self, strings: &mut MetadataStrings) -> Vec<u8> {
        let needs_range = self.first_changed != 0 && (self.first_changed != 1 || self.last_changed + 1 != self.samples);
        let longest = (self.name.len().max(self.metadata.len()) as u32).max(self.samples).max(self.sampling);
        let size_hint = size_hint(longest);
        let metadata_index = strings.index(&self.metadata);
        let kind = match self.of.kind {
            Kind::Compound => 0,
            Kind::Scalar => 1,
            Kind::Array => 2 | u32::from(self.one_element),
        };
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let info = kind
            | size_hint << 2
            | (self.of.pod as u32) << 4
            | flag(self.sampling != 0, HAS_TIME_SAMPLING)
            | flag(needs_range, HAS_CHANGE_RANGE)
            | flag(self.equally_long, HOMOGENEOUS)
            | flag(self.first_changed == 0, CONSTANT)
            | self.of.extent << 12
            | u32::from(metadata_index) << 20;
        let mut header = info.to_le_bytes().to_vec();
        push_sized(&mut header, self.samples, size_hint);
        if needs_range {
            push_sized(&mut header, self.first_changed, size_hint);
            push_sized(&mut header, self.last_changed, size_hint);
        }
        if self.sampling != 0 {
            push_sized(&mut header, self.sampling, size_hint);
        }
        push_name(&mut header, &self.name, metadata_index, &self.metadata, size_hint);
        header
    }
}

impl Type {
    /// The bytes of one element.
    fn element_bytes(self) -> usize {
        let number = match self.pod {
            Pod::Bool | Pod::U8 | Pod::I8 | Pod::Text | Pod::WideText => 1,
            Pod::U16 | Pod::I16 | Pod::F16 => 2,
            Pod::U32 | Pod::I32 | Pod::F32 => 4,
            Pod::U64 | Pod::I64 | Pod::F64 => 8,
        };
        number * self.extent as usize
    }
}

impl Members {
    /// Adds a property whose samples are all written.
    pub(super) fn add<W: Write + Seek>(
        &mut self,
        archive: &mut ArchiveWriter<W>,
        property: &PropertyWriter,
    ) -> Result<()> {
        let entry = archive.ogawa.group(&property.entries)?;
        let header = property.header(&mut archive.strings);
        self.hashes.extend(murmur3::key(&[&header, &property.hash[..]].concat()));
        self.headers.extend(header);
        self.entries.push(entry);
        Ok(())
    }

    /// Adds a compound whose members are all written.
    pub(super) fn add_compound<W: Write + Seek>(
        &mut self,
        archive: &mut ArchiveWriter<W>,
        name: &str,
        metadata: &str,
        members: Self,
    ) -> Result<()> {
        let size_hint = size_hint(name.len().max(metadata.len()) as u32);
        let metadata_index = archive.strings.index(metadata);
        let mut header = (size_hint << 2 | u32::from(metadata_index) << 20).to_le_bytes().to_vec();
        push_name(&mut header, name, metadata_index, metadata, size_hint);
        let written = members.finish(archive)?;
        self.hashes.extend(murmur3::key(&[&header, &written.hash[..]].concat()));
        self.headers.extend(header);
        self.entries.push(written.entry);
        Ok(())
    }

    /// Adds a child object.
    pub(super) fn add_object<W>(
        &mut self,
        archive: &mut ArchiveWriter<W>,
        name: &str,
        metadata: &str,
        object: Written,
    ) {
        let index = archive.strings.index(metadata);
        let mut header = (name.len() as u32).to_le_bytes().to_vec();
        header.extend(name.bytes());
        header.push(index);
        if index == INLINE_METADATA {
            header.extend((metadata.len() as u32).to_le_bytes());
            header.extend(metadata.bytes());
        }
        self.hashes.extend(murmur3::key(&[&header, &object.hash[..]].concat()));
        self.headers.extend(header);
        self.entries.push(object.entry);
    }

    /// Writes the group of a compound.
    fn finish<W: Write + Seek>(mut self, archive: &mut ArchiveWriter<W>) -> Result<Written> {
        if !self.entries.is_empty() {
            self.entries.push(archive.ogawa.block(&[&self.headers])?);
        }
        Ok(Written { entry: archive.ogawa.group(&self.entries)?, hash: murmur3::key(&self.hashes) })
    }
}

impl Written {
    /// The entry for a group above.
    pub(super) fn entry(self) -> u64 {
        self.entry
    }
}

/// Writes an object: the group of its properties, its children, their headers, and the hashes of both.
pub(super) fn write_object<W: Write + Seek>(
    archive: &mut ArchiveWriter<W>,
    properties: Members,
    children: Members,
) -> Result<Written> {
    let properties = properties.finish(archive)?;
    let children_hash = if children.hashes.is_empty() { [0; 16] } else { murmur3::key(&children.hashes) };
    let headers = archive.ogawa.block(&[&children.headers, &properties.hash, &children_hash])?;
    let mut entries = vec![properties.entry];
    entries.extend(children.entries);
    entries.push(headers);
    let entry = archive.ogawa.group(&entries)?;
    Ok(Written { entry, hash: murmur3::key(&[properties.hash, children_hash].concat()) })
}

/// 0, 1 or 2 for numbers of 1, 2 or 4 bytes.
fn size_hint(longest: u32) -> u32 {
    match longest {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        _ => 2,
    }
}

fn push_sized(header: &mut Vec<u8>, number: u32, size_hint: u32) {
    header.extend(&number.to_le_bytes()[..1 << size_hint]);
}

fn push_name(header: &mut Vec<u8>, name: &str, metadata_index: u8, metadata: &str, size_hint: u32) {
    push_sized(header, name.len() as u32, size_hint);
    header.extend(name.bytes());
    if metadata_index == INLINE_METADATA {
        push_sized(header, metadata.len() as u32, size_hint);
        header.extend(metadata.bytes());
    }
}
