//! The Ogawa container: a tree of groups and blocks of bytes, all numbers little-endian.
//!
//! The file begins with `Ogawa`, a byte that is 0xff if the file was closed, a 2-byte version and the offset of the
//! root group. A group is a count and that many 64-bit entries. An entry with its top bit set is the offset of a block,
//! which is a length and that many bytes; any other entry is the offset of a group. Offset 0 is an empty block or
//! group.
//!
//! Nothing is copied and every offset and length is checked against the file before it is used. Groups can refer to
//! each other in a cycle, so a traversal must remember the groups that it has visited.

use std::fmt;

use crate::error::Error;
use crate::mapped::Mapped;

/// Marks an entry of a group as a block.
pub(super) const DATA: u64 = 1 << 63;
/// The first bytes of the file, with the mark of a closed file and the version.
pub(super) const SIGNATURE: [u8; 8] = [b'O', b'g', b'a', b'w', b'a', 0xff, 0, 1];
/// Index of the closing mark in [`SIGNATURE`].
pub(super) const CLOSED_AT: u64 = 5;
const HDF5_SIGNATURE: [u8; 8] = [0x89, b'H', b'D', b'F', b'\r', b'\n', 0x1a, b'\n'];
const HEADER_BYTES: u64 = 16;

/// An open container.
#[derive(Clone)]
pub(super) struct Ogawa {
    bytes: Mapped,
}

/// A group whose entries were checked to be inside the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Group {
    /// Offset in the file; 0 for the empty group.
    pub(super) offset: u64,
    /// The number of entries.
    pub(super) len: usize,
}

impl fmt::Debug for Ogawa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ogawa({} bytes)", self.bytes.len())
    }
}

impl Ogawa {
    /// Checks the header and finds the root group.
    pub(super) fn open(bytes: Mapped) -> Result<(Self, Group), Error> {
        if bytes.starts_with(&HDF5_SIGNATURE) {
            return Err(Error::unsupported("this Alembic file is stored in HDF5, which is not supported")
                .with_hint("export it again with the Ogawa backend (the default since Alembic 1.5)"));
        }
        let ogawa = Self { bytes };
        let header = ogawa.slice(0, HEADER_BYTES, "the header")?;
        if header[..5] != SIGNATURE[..5] {
            return Err(Error::malformed("this is not an Alembic file: it does not begin with 'Ogawa'"));
        }
        if header[5] != SIGNATURE[5] {
            return Err(Error::malformed("the file was never closed; its export was interrupted")
                .with_hint("export it again and let the export finish"));
        }
        if header[6..8] != SIGNATURE[6..] {
            let version = u16::from_be_bytes([header[6], header[7]]);
            return Err(Error::unsupported(format!("unknown version {version} of Ogawa; only version 1 is supported")));
        }
        let root = ogawa.group_at(ogawa.number(8, "the root group")?)?;
        Ok((ogawa, root))
    }

    /// Error if another program has changed the file.
    pub(super) fn revalidate(&self) -> Result<(), Error> {
        self.bytes.revalidate()
    }

    /// The size of the file.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The group at entry `index` of `group`.
    pub(super) fn group(&self, group: Group, index: usize) -> Result<Group, Error> {
        let entry = self.entry(group, index)?;
        if entry & DATA != 0 {
            return Err(Error::malformed(format!("entry {index} of a group is a block, not a group"))
                .at(format!("byte {}", group.offset)));
        }
        self.group_at(entry)
    }

    /// The block at entry `index` of `group`.
    pub(super) fn data(&self, group: Group, index: usize) -> Result<&[u8], Error> {
        let entry = self.entry(group, index)?;
        if entry & DATA == 0 {
            return Err(Error::malformed(format!("entry {index} of a group is a group, not a block"))
                .at(format!("byte {}", group.offset)));
        }
        match entry & !DATA {
            0 => Ok(&[]),
            offset => {
                let length = self.number(offset, "the length of a block")?;
                self.slice(offset + 8, length, "a block")
            }
        }
    }

    /// The raw entry `index`. Equal entries refer to the same block or group.
    pub(super) fn entry(&self, group: Group, index: usize) -> Result<u64, Error> {
        if index >= group.len {
            let message = format!("a group has {} entries, but entry {index} is needed", group.len);
            return Err(Error::malformed(message).at(format!("byte {}", group.offset)));
        }
        self.number(group.offset + 8 + 8 * index as u64, "an entry of a group")
    }

    fn group_at(&self, offset: u64) -> Result<Group, Error> {
        if offset == 0 {
            return Ok(Group::default());
        }
        let len = self.number(offset, "the length of a group")?;
        self.slice(offset + 8, len.saturating_mul(8), "the entries of a group")?;
        Ok(Group { offset, len: len as usize })
    }

    fn number(&self, offset: u64, what: &str) -> Result<u64, Error> {
        let bytes = self.slice(offset, 8, what)?;
        Ok(u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    fn slice(&self, offset: u64, length: u64, what: &str) -> Result<&[u8], Error> {
        let available = (self.bytes.len() as u64).saturating_sub(offset);
        if length > available {
            return Err(Error::truncated(what, length, available).at(format!("byte {offset}")));
        }
        // Both fit in memory, since they are inside the bytes of the file.
        Ok(&self.bytes[offset as usize..][..length as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(words: &[u64]) -> Mapped {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        Mapped::of_bytes(bytes)
    }

    #[test]
    fn reads_groups_and_blocks() {
        // The root at 16 contains a block at 40, and an empty block.
        let (ogawa, root) = Ogawa::open(container(&[16, 2, DATA | 0x28, DATA, 3, 0x0003_0201])).unwrap();
        assert_eq!(root.len, 2);
        assert_eq!(ogawa.data(root, 0).unwrap(), [1, 2, 3]);
        assert!(ogawa.data(root, 1).unwrap().is_empty());
        assert!(ogawa.group(root, 0).is_err());
        assert!(ogawa.data(root, 2).is_err());
    }

    #[test]
    fn rejects_offsets_and_lengths_past_the_end() {
        for words in [&[u64::MAX >> 1][..], &[16, u64::MAX], &[16, 1 << 61], &[20, 1]] {
            assert!(Ogawa::open(container(words)).is_err(), "{words:?}");
        }
        let (ogawa, root) = Ogawa::open(container(&[16, 2, DATA | 0x28, !0, u64::MAX])).unwrap();
        assert!(ogawa.data(root, 0).is_err());
        assert!(ogawa.data(root, 1).is_err());
    }
}
