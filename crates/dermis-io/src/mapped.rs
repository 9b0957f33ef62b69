//! Files mapped into memory: their bytes are fetched when they are touched, so that a file may be larger than memory.

#![allow(unsafe_code, reason = "mapping a file is unsafe by nature; this module is the only place that does it")]

use std::fs::File;
use std::io::Read;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use crate::error::Error;

/// The bytes of a file, read-only. Clones share one mapping.
#[derive(Debug, Clone)]
pub(crate) struct Mapped(Arc<Bytes>);

/// Maximum number of bytes that are read from a pipe or device, which can be endless.
const MAX_PIPE: u64 = 1 << 30;

#[derive(Debug)]
enum Bytes {
    File(Mmap),
    /// Contents that cannot be mapped: of pipes, devices and empty files.
    Memory(Vec<u8>),
}

impl Mapped {
    /// Maps the file `path`; what is not a regular file (a pipe) is read into memory instead.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| Error::from(error).in_file(path))?;
        Self::of_file(file).map_err(|error| error.in_file(path))
    }

    /// Maps an open file.
    pub(crate) fn of_file(mut file: File) -> Result<Self, Error> {
        let about = file.metadata()?;
        if about.is_file() && about.len() > 0 {
            // SAFETY: the map is read-only and private. The one thing the language cannot rule out is that another
            // program shortens or rewrites the file meanwhile. dermis itself never changes a file in place: outputs
            // are made beside their targets and renamed over them, which leaves a mapped file's bytes as they were.
            let map = unsafe { Mmap::map(&file) }?;
            return Ok(Self(Arc::new(Bytes::File(map))));
        }
        let mut bytes = Vec::new();
        (&mut file).take(MAX_PIPE + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_PIPE {
            return Err(Error::malformed(format!("the pipe or device has more than {MAX_PIPE} bytes")));
        }
        Ok(Self::of_bytes(bytes))
    }

    /// Bytes that are in memory already.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Bytes::Memory(bytes)))
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Bytes::File(map) => map,
            Bytes::Memory(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_is_its_bytes_even_when_it_is_replaced_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.bin");
        std::fs::write(&path, b"first").unwrap();
        let mapped = Mapped::open(&path).unwrap();
        let next = folder.path().join("next.bin");
        std::fs::write(&next, b"second").unwrap();
        std::fs::rename(&next, &path).unwrap();
        assert_eq!(&*mapped, b"first");
    }

    #[test]
    fn an_empty_file_has_no_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty.bin");
        std::fs::write(&path, b"").unwrap();
        assert!(Mapped::open(&path).unwrap().is_empty());
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Mapped::open(Path::new("nowhere.bin")).unwrap_err();
        assert_eq!(error.path(), Some(Path::new("nowhere.bin")));
    }
}
