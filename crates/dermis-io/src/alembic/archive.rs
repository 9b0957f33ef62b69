//! Contents of the root group of an Alembic archive: versions, the top object, metadata and time samplings.
//!
//! Its six entries are the version of the layout (0), the version of the library, the group of the top object, the
//! archive's metadata (`key=value` pairs separated by `;`), the time samplings, and up to 254 metadata strings that
//! headers refer to by index.

use std::sync::Arc;

use super::cursor::Cursor;
use super::ogawa::{Group, Ogawa};
use super::sampling::TimeSampling;
use crate::error::Error;
use crate::mapped::Mapped;

/// Metadata index that marks metadata stored inline in the header.
pub(super) const INLINE_METADATA: u8 = 0xff;

/// An open archive.
#[derive(Debug)]
pub(super) struct Archive {
    pub(super) ogawa: Ogawa,
    pub(super) metadata: Metadata,
    pub(super) samplings: Vec<Arc<TimeSampling>>,
    pub(super) top: Group,
    indexed: Vec<Metadata>,
}

/// `key=value` pairs separated by `;`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Metadata(Arc<str>);

impl Metadata {
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Self(String::from_utf8_lossy(bytes).into())
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        let pairs = self.0.split(';').filter_map(|pair| pair.split_once('='));
        pairs.filter(|(name, _)| *name == key).map(|(_, value)| value).next()
    }
}

impl Archive {
    pub(super) fn open(bytes: Mapped) -> Result<Self, Error> {
        let (ogawa, root) = Ogawa::open(bytes)?;
        if root.len < 6 {
            return Err(Error::malformed(format!("the root group has {} entries; an Alembic archive has 6", root.len)));
        }
        let version = ogawa.data(root, 0)?;
        if version != [0; 4] {
            let known = "unknown version of the archive layout; only version 0 is supported";
            return Err(Error::unsupported(known));
        }
        Ok(Self {
            metadata: Metadata::of_bytes(ogawa.data(root, 3)?),
            samplings: TimeSampling::read_all(ogawa.data(root, 4)?)?,
            indexed: indexed_metadata(ogawa.data(root, 5)?)?,
            top: ogawa.group(root, 2)?,
            ogawa,
        })
    }

    /// Metadata that a header refers to by index.
    pub(super) fn indexed_metadata(&self, index: usize) -> Result<Metadata, Error> {
        self.indexed.get(index).cloned().ok_or_else(|| {
            Error::malformed(format!("a header refers to metadata {index}, but there are only {}", self.indexed.len()))
        })
    }

    /// The times of a property's samples.
    pub(super) fn sampling(&self, index: usize) -> Result<&Arc<TimeSampling>, Error> {
        self.samplings.get(index).ok_or_else(|| {
            let count = self.samplings.len();
            Error::malformed(format!("a property refers to time sampling {index}, but there are only {count}"))
        })
    }
}

fn indexed_metadata(bytes: &[u8]) -> Result<Vec<Metadata>, Error> {
    // Index 0 is the empty string and is not stored.
    let mut indexed = vec![Metadata::default()];
    let mut cursor = Cursor::new(bytes, "the indexed metadata");
    while !cursor.is_empty() {
        let length = cursor.u8()?;
        indexed.push(Metadata::of_bytes(cursor.bytes(length as usize)?));
    }
    Ok(indexed)
}
