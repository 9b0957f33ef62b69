//! Properties: the named values of an object, sampled over time.
//!
//! A compound property's group has an entry for each property in it and, last, a block with all their headers. A header
//! packs kind, type, metadata index and flags into 32 bits, then the number of samples, the first and last sample that
//! differ from the one before, and the time sampling, each only if it is not implied.
//!
//! The group of a scalar property contains one block per stored sample. That of an array contains two: the values at
//! 2k, and the dimensions, which are empty for plain arrays, at 2k + 1. Values follow a 16-byte key. Samples before the
//! first change and after the last are not stored again.

use super::archive::{Archive, INLINE_METADATA, Metadata};
use super::cursor::Cursor;
use super::ogawa::{Group, Ogawa};
use crate::budget::Budget;
use crate::error::Error;

pub(super) const HAS_TIME_SAMPLING: u32 = 0x100;
pub(super) const HAS_CHANGE_RANGE: u32 = 0x200;
pub(super) const HOMOGENEOUS: u32 = 0x400;
pub(super) const CONSTANT: u32 = 0x800;
/// The bytes of the hash before each sample.
pub(super) const KEY_BYTES: usize = 16;

/// Memory per header byte: the shortest header, of 6 bytes, becomes a [`Property`].
const BYTES_PER_HEADER_BYTE: usize = size_of::<Property>() / 6;

/// Kind of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Compound,
    Scalar,
    Array,
}

/// The types of values, numbered as in headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pod {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
    Text,
    WideText,
}

impl Pod {
    const ALL: [Self; 14] = [
        Self::Bool,
        Self::U8,
        Self::I8,
        Self::U16,
        Self::I16,
        Self::U32,
        Self::I32,
        Self::U64,
        Self::I64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Text,
        Self::WideText,
    ];
}

/// A property with its header.
#[derive(Debug, Clone)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) metadata: Metadata,
    pub(super) kind: Kind,
    pub(super) pod: Pod,
    /// Number of values per element.
    pub(super) extent: usize,
    /// The number of samples, stored or implied.
    pub(super) samples: usize,
    /// The number of the time sampling.
    pub(super) sampling: usize,
    first_changed: usize,
    last_changed: usize,
    group: Group,
}

/// A compound property: the properties in it.
#[derive(Debug, Default)]
pub(super) struct Compound {
    properties: Vec<Property>,
}

impl Compound {
    /// Reads the headers of all properties in `group`.
    pub(super) fn read(archive: &Archive, group: Group, budget: &mut Budget) -> Result<Self, Error> {
        let Some(last) = group.len.checked_sub(1) else {
            return Ok(Self::default());
        };
        let headers = archive.ogawa.data(group, last)?;
        // Several groups may share one block of headers; each use counts against the budget.
        budget.take("property headers", headers.len(), BYTES_PER_HEADER_BYTE)?;
        let mut cursor = Cursor::new(headers, "a property header");
        let mut properties = Vec::new();
        while !cursor.is_empty() {
            let group = archive.ogawa.group(group, properties.len())?;
            properties.push(Property::read(archive, &mut cursor, group)?);
        }
        Ok(Self { properties })
    }

    /// The compound in this one that is called `name`; empty if there is none.
    pub(super) fn inside(&self, archive: &Archive, name: &str, budget: &mut Budget) -> Result<Self, Error> {
        match self.find(name) {
            Some(property) if property.kind == Kind::Compound => Self::read(archive, property.group, budget),
            _ => Ok(Self::default()),
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<&Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Property> {
        self.properties.iter()
    }
}

impl Property {
    fn read(archive: &Archive, cursor: &mut Cursor<'_>, group: Group) -> Result<Self, Error> {
        let info = cursor.u32()?;
        let size_hint = info >> 2 & 3;
        let kind = match info & 3 {
            0 => Kind::Compound,
            1 => Kind::Scalar,
            _ => Kind::Array,
        };
        let mut property = Self {
            name: String::new(),
            metadata: Metadata::default(),
            kind,
            pod: Pod::U8,
            extent: (info >> 12 & 0xff) as usize,
            samples: 0,
            sampling: 0,
            first_changed: 0,
            last_changed: 0,
            group,
        };
        if kind != Kind::Compound {
            let pod = (info >> 4 & 0xf) as usize;
            property.pod = *Pod::ALL.get(pod).ok_or_else(|| Error::malformed("a property has an unknown type"))?;
            property.read_sampling(cursor, info, size_hint)?;
        }
        let name_length = cursor.sized(size_hint)?;
        property.name = cursor.text(name_length)?;
        let metadata = (info >> 20 & 0xff) as u8;
        property.metadata = if metadata == INLINE_METADATA {
            let length = cursor.sized(size_hint)?;
            Metadata::of_bytes(cursor.bytes(length as usize)?)
        } else {
            archive.indexed_metadata(metadata as usize)?
        };
        property.check_samples()?;
        Ok(property)
    }

    fn read_sampling(&mut self, cursor: &mut Cursor<'_>, info: u32, size_hint: u32) -> Result<(), Error> {
        self.samples = cursor.sized(size_hint)? as usize;
        (self.first_changed, self.last_changed) = if info & HAS_CHANGE_RANGE != 0 {
            (cursor.sized(size_hint)? as usize, cursor.sized(size_hint)? as usize)
        } else if info & CONSTANT != 0 || self.samples < 2 {
            (0, 0)
        } else {
            (1, self.samples - 1)
        };
        if info & HAS_TIME_SAMPLING != 0 {
            self.sampling = cursor.sized(size_hint)? as usize;
        }
        Ok(())
    }

    fn check_samples(&self) -> Result<(), Error> {
        let complaint = |what: String| Err(Error::malformed(format!("the property '{}' {what}", self.name)));
        if self.kind == Kind::Compound || self.samples == 0 {
            return Ok(());
        }
        let (first, last) = (self.first_changed, self.last_changed);
        if (first == 0) != (last == 0) || first > last || last >= self.samples {
            return complaint(format!("states changes from sample {first} to {last} of {}", self.samples));
        }
        let needed = self.stored_samples() * if self.kind == Kind::Array { 2 } else { 1 };
        if self.group.len < needed {
            return complaint(format!("requires {needed} blocks for its samples, but has {}", self.group.len));
        }
        if self.extent == 0 {
            return complaint("has elements without values".to_owned());
        }
        Ok(())
    }

    /// Returns whether all samples are equal.
    pub(super) fn is_constant(&self) -> bool {
        self.first_changed == 0
    }

    /// Number of samples with their own block.
    pub(super) fn stored_samples(&self) -> usize {
        if self.is_constant() { 1 } else { self.last_changed - self.first_changed + 2 }
    }

    /// First sample represented by a stored sample.
    pub(super) fn first_sample_of(&self, stored: usize) -> usize {
        if stored == 0 { 0 } else { self.first_changed + stored - 1 }
    }

    /// The values of a sample, without their key.
    pub(super) fn values<'a>(&self, ogawa: &'a Ogawa, sample: usize) -> Result<&'a [u8], Error> {
        let stored = match sample.min(self.last_changed).checked_sub(self.first_changed) {
            Some(past) if !self.is_constant() => past + 1,
            _ => 0,
        };
        self.stored_values(ogawa, stored)
    }

    /// The values of a stored sample, without their key.
    pub(super) fn stored_values<'a>(&self, ogawa: &'a Ogawa, stored: usize) -> Result<&'a [u8], Error> {
        let block = ogawa.data(self.group, self.entry_of(stored))?;
        if block.is_empty() {
            return Ok(block);
        }
        block.get(KEY_BYTES..).ok_or_else(|| Error::truncated("the key of a sample", 16, block.len() as u64))
    }

    /// Returns whether two stored samples are the same block.
    pub(super) fn shares_block(&self, ogawa: &Ogawa, one: usize, other: usize) -> Result<bool, Error> {
        Ok(ogawa.entry(self.group, self.entry_of(one))? == ogawa.entry(self.group, self.entry_of(other))?)
    }

    fn entry_of(&self, stored: usize) -> usize {
        stored * if self.kind == Kind::Array { 2 } else { 1 }
    }
}
