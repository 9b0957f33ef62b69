//! Writing an Ogawa container: blocks and groups one after another, the closing mark and the root last.

use std::collections::HashMap;
use std::io::{Result, Seek, SeekFrom, Write};

use super::murmur3;
use super::ogawa::{CLOSED_AT, DATA, SIGNATURE};

/// A container that is being written. Without [`OgawaWriter::finish`] readers treat it as unclosed.
#[derive(Debug)]
pub(super) struct OgawaWriter<W> {
    file: W,
    offset: u64,
    /// The samples written so far, by key and length: equal ones are stored once.
    samples: HashMap<([u8; 16], usize), u64>,
}

impl<W: Write + Seek> OgawaWriter<W> {
    pub(super) fn start(mut file: W) -> Result<Self> {
        let mut header = SIGNATURE;
        header[CLOSED_AT as usize] = 0;
        file.write_all(&header)?;
        file.write_all(&[0; 8])?;
        Ok(Self { file, offset: 16, samples: HashMap::new() })
    }

    /// Writes a block; the result is its entry for a group.
    pub(super) fn block(&mut self, parts: &[&[u8]]) -> Result<u64> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        if length == 0 {
            return Ok(DATA);
        }
        let entry = DATA | self.offset;
        self.file.write_all(&(length as u64).to_le_bytes())?;
        for part in parts {
            self.file.write_all(part)?;
        }
        self.offset += 8 + length as u64;
        Ok(entry)
    }

    /// Writes the key and the values of a sample, unless they have been written before. Returns the entry and the key.
    pub(super) fn sample(&mut self, values: &[u8]) -> Result<(u64, [u8; 16])> {
        let key = murmur3::key(values);
        if values.is_empty() {
            return Ok((DATA, key));
        }
        if let Some(&entry) = self.samples.get(&(key, values.len())) {
            return Ok((entry, key));
        }
        let entry = self.block(&[&key, values])?;
        self.samples.insert((key, values.len()), entry);
        Ok((entry, key))
    }

    /// Writes a group; the result is its entry for a group above.
    pub(super) fn group(&mut self, entries: &[u64]) -> Result<u64> {
        if entries.is_empty() {
            return Ok(0);
        }
        let entry = self.offset;
        self.file.write_all(&(entries.len() as u64).to_le_bytes())?;
        for child in entries {
            self.file.write_all(&child.to_le_bytes())?;
        }
        self.offset += 8 + 8 * entries.len() as u64;
        Ok(entry)
    }

    /// Writes the offset of the root group and marks the file as closed.
    pub(super) fn finish(mut self, root: u64) -> Result<()> {
        self.file.seek(SeekFrom::Start(8))?;
        self.file.write_all(&root.to_le_bytes())?;
        self.file.seek(SeekFrom::Start(CLOSED_AT))?;
        self.file.write_all(&SIGNATURE[CLOSED_AT as usize..][..1])?;
        self.file.flush()
    }
}
