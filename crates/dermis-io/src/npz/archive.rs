//! The container of an `.npz` file: a zip archive with one `.npy` file per array.
//!
//! Uncompressed arrays stay in the (mapped) file. Compressed arrays are decompressed on request: to memory, or to an
//! unnamed temporary file, which is then mapped, if they are larger than [`MAX_IN_MEMORY`]. Only checksums of
//! compressed arrays are verified, since uncompressed ones are read on demand.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek};

use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::budget::Budget;
use crate::error::Error;
use crate::mapped::Mapped;
use crate::npz::array::Array;
use crate::npz::npy::Header;

/// Arrays with a larger decompressed size are decompressed to disk.
const MAX_IN_MEMORY: u64 = 1 << 30;
/// Sufficient for any header of a numeric array.
const MAX_HEADER: u64 = 1 << 16;
/// Maximum number of arrays; a larger central directory indicates an attack.
const MAX_ARRAYS: usize = 65_536;

/// An open archive.
pub(super) struct Archive {
    bytes: Mapped,
    zip: ZipArchive<Cursor<Mapped>>,
    entries: BTreeMap<String, usize>,
    budget: Budget,
}

impl Archive {
    /// Opens the archive in `bytes`.
    pub(super) fn open(bytes: Mapped) -> Result<Self, Error> {
        if bytes.is_empty() {
            return Err(Error::malformed("the file is empty"));
        }
        let mut zip = ZipArchive::new(Cursor::new(bytes.clone())).map_err(|error| zip_error(error, &bytes))?;
        if zip.len() > MAX_ARRAYS {
            return Err(Error::malformed(format!(
                "the archive lists {} arrays; the maximum is {MAX_ARRAYS}",
                zip.len()
            )));
        }
        let mut entries = BTreeMap::new();
        for index in 0..zip.len() {
            let entry = zip.by_index_raw(index).map_err(|error| zip_error(error, &bytes))?;
            if let Some(name) = entry.name().strip_suffix(".npy") {
                entries.insert(name.to_owned(), index);
            }
        }
        let budget = Budget::for_file(bytes.len() as u64);
        Ok(Self { bytes, zip, entries, budget })
    }

    /// The names of the arrays, sorted.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The names of the arrays, in the order of the file.
    pub(super) fn names_in_order(&self) -> Vec<String> {
        let mut names: Vec<(usize, &String)> = self.entries.iter().map(|(name, &index)| (index, name)).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name.clone()).collect()
    }

    /// Returns whether there is an array `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The array `name`, if there is one.
    pub(super) fn get(&mut self, name: &str) -> Result<Option<Array>, Error> {
        let Some(&index) = self.entries.get(name) else {
            return Ok(None);
        };
        let (bytes, start, end) = self.file(name, index).map_err(|error| error.at(name))?;
        Array::parse(name, bytes, start, end).map(Some)
    }

    /// Reads only the header of the array `name`.
    pub(super) fn header(&mut self, name: &str) -> Result<Option<Header>, Error> {
        let Some(&index) = self.entries.get(name) else {
            return Ok(None);
        };
        let entry = self.zip.by_index(index).map_err(|error| zip_error(error, &self.bytes))?;
        let mut head = Vec::new();
        entry.take(MAX_HEADER).read_to_end(&mut head)?;
        Header::parse(&head).map(Some).map_err(|error| error.at(name))
    }

    /// Location of the `.npy` file: in the archive itself, or decompressed.
    fn file(&mut self, name: &str, index: usize) -> Result<(Mapped, usize, usize), Error> {
        let failed = |error| zip_error(error, &self.bytes);
        let entry = self.zip.by_index_raw(index).map_err(failed)?;
        if entry.encrypted() {
            return Err(Error::unsupported("the array is encrypted"));
        }
        let (stored, declared) = (entry.compressed_size(), entry.size());
        if entry.compression() == CompressionMethod::Stored {
            let start = entry.data_start().unwrap_or(u64::MAX);
            let available = (self.bytes.len() as u64).saturating_sub(start);
            if stored > available {
                return Err(Error::truncated("the array", stored, available));
            }
            return Ok((self.bytes.clone(), start as usize, (start + stored) as usize));
        }
        drop(entry);
        self.budget.take(name, usize::try_from(declared).unwrap_or(usize::MAX), 1)?;
        let entry = self.zip.by_index(index).map_err(|error| zip_error(error, &self.bytes))?;
        let inflated = inflate(entry, declared)?;
        if inflated.len() as u64 != declared {
            let found = inflated.len();
            return Err(Error::malformed(format!("the compressed array has {found} bytes, but {declared} are stated")));
        }
        Ok((inflated, 0, declared as usize))
    }
}

fn inflate(entry: impl Read, declared: u64) -> Result<Mapped, Error> {
    // One additional byte detects an array that is larger than stated, and triggers the checksum test at the end.
    let mut limited = entry.take(declared.saturating_add(1));
    if declared <= MAX_IN_MEMORY {
        let mut bytes = Vec::new();
        limited.read_to_end(&mut bytes)?;
        return Ok(Mapped::of_bytes(bytes));
    }
    let mut file = tempfile::tempfile()?;
    std::io::copy(&mut limited, &mut file)?;
    file.rewind()?;
    Mapped::of_nameless(&file)
}

fn zip_error(error: ZipError, bytes: &[u8]) -> Error {
    let zip_begin: &[u8] = b"PK";
    match error {
        ZipError::Io(error) => error.into(),
        ZipError::UnsupportedArchive(what) => Error::unsupported(format!("unknown type of archive: {what}")),
        _ if !bytes.starts_with(zip_begin) => Error::malformed("the file is not an .npz archive: it is not a zip file"),
        ZipError::InvalidArchive(_) => {
            Error::malformed("the archive is truncated or corrupt: its list of arrays cannot be read")
                .with_hint("copy or save the file again")
        }
        error => Error::malformed(format!("the archive is corrupt: {error}")),
    }
}
