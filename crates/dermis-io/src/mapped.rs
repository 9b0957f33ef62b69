//! Bytes of a file: a private copy, or a memory map if the file is large and its format is read in parts.
//!
//! Another program can truncate or rewrite a file while it is read. A private copy does not change; its size and time
//! are compared before and after copying. Frames of a mapped file are read with positioned reads or after
//! [`Mapped::revalidate`]: access to a page that no longer exists would end the process.

#![allow(unsafe_code, reason = "mapping a file is unsafe by nature; this module is the only place that does it")]

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::Read;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use memmap2::Mmap;

use crate::budget::{max_memory, too_large};
use crate::error::Error;
use crate::reads;

/// The bytes of a file, read-only. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Mapped(Arc<Bytes>);

/// Files up to this size are copied, even if their format can be mapped.
const MAX_COPIED: u64 = 1 << 30;
/// Maximum number of bytes that are read from a pipe or device, which can be endless.
const MAX_PIPE: u64 = 1 << 30;

#[derive(Debug)]
enum Bytes {
    Memory(Vec<u8>),
    /// A file without a name, which no other program can change.
    Nameless(Mmap),
    /// A file that other programs can change.
    File {
        map: Mmap,
        file: File,
        stamp: Stamp,
    },
}

/// Size and time of change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(about: &Metadata) -> Self {
        Self { bytes: about.len(), modified: about.modified().ok() }
    }

    /// Error if the file has changed since.
    fn expect_same(self, file: &File) -> Result<(), Error> {
        if Self::of(&file.metadata()?) == self {
            return Ok(());
        }
        Err(Error::malformed("the file was changed by another program while it was read")
            .with_hint("wait until the export is complete, then try again"))
    }
}

impl Mapped {
    /// Opens the file `path`. A large file is mapped if `can_map`; other contents are copied.
    pub(crate) fn open(path: &Path, can_map: bool) -> Result<Self, Error> {
        let open = || {
            let file = File::open(path)?;
            reads::add(path);
            if can_map && file.metadata()?.is_file() { Self::of_large_file(file) } else { Self::copy_of(file) }
        };
        open().map_err(|error| error.in_file(path))
    }

    fn of_large_file(file: File) -> Result<Self, Error> {
        let about = file.metadata()?;
        if about.len() <= MAX_COPIED.min(max_memory()) {
            return Self::copy_of(file);
        }
        // SAFETY: the map is read-only and private. Another program can still shorten or rewrite the file while it is
        // mapped; readers of frames check for it. dermis itself never changes a file in place: outputs are written next
        // to their targets and renamed, which keeps the bytes of a mapped file.
        let map = unsafe { Mmap::map(&file) }?;
        Ok(Self(Arc::new(Bytes::File { map, stamp: Stamp::of(&about), file })))
    }

    /// Copies an open file, pipe or device.
    fn copy_of(mut file: File) -> Result<Self, Error> {
        let about = file.metadata()?;
        let limit = if about.is_file() { max_memory() } else { MAX_PIPE.min(max_memory()) };
        if about.len() > limit {
            return Err(too_large("the file", about.len(), limit));
        }
        let mut bytes = Vec::with_capacity(about.len() as usize);
        (&mut file).take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(Error::malformed(format!("the pipe or device has more than {limit} bytes")));
        }
        if about.is_file() {
            Stamp::of(&about).expect_same(&file)?;
        }
        Ok(Self::of_bytes(bytes))
    }

    /// Maps a temporary file without a name.
    pub(crate) fn of_nameless(file: &File) -> Result<Self, Error> {
        // SAFETY: the file has no name, so that no other program can open it, and this one does not write to it again.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self(Arc::new(Bytes::Nameless(map))))
    }

    /// Bytes that are already in memory.
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Bytes::Memory(bytes)))
    }

    /// Returns whether no other program can change the bytes.
    pub(crate) fn is_private(&self) -> bool {
        !matches!(*self.0, Bytes::File { .. })
    }

    /// Error if another program has changed the file since it was opened.
    pub(crate) fn revalidate(&self) -> Result<(), Error> {
        match &*self.0 {
            Bytes::File { file, stamp, .. } => stamp.expect_same(file),
            _ => Ok(()),
        }
    }

    /// Reads the bytes from `start`, which must be inside the file; those of a mapped file are read from the file
    /// itself.
    pub(crate) fn read_at(&self, start: usize, length: usize) -> Result<Cow<'_, [u8]>, Error> {
        #[cfg(unix)]
        if let Bytes::File { file, stamp, .. } = &*self.0 {
            let mut bytes = vec![0; length];
            let read = std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, start as u64);
            stamp.expect_same(file)?;
            read?;
            return Ok(Cow::Owned(bytes));
        }
        self.revalidate()?;
        Ok(Cow::Borrowed(&self[start..start + length]))
    }
}

/// Reads the whole file `path`, which must be a regular file within the memory limit.
pub(crate) fn read_whole(path: &Path) -> Result<Vec<u8>, Error> {
    if !path.is_file() {
        return Err(Error::malformed("this is not a regular file").in_file(path));
    }
    match Arc::into_inner(Mapped::open(path, false)?.0) {
        Some(Bytes::Memory(bytes)) => Ok(bytes),
        _ => Ok(Vec::new()),
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &*self.0 {
            Bytes::File { map, .. } | Bytes::Nameless(map) => map,
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
    fn a_copied_file_keeps_its_bytes_if_it_is_replaced_or_truncated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.bin");
        std::fs::write(&path, b"first").unwrap();
        let [replaced, truncated] = [0, 1].map(|_| Mapped::open(&path, true).unwrap());
        File::create(&path).unwrap();
        assert_eq!(&*truncated, b"first");
        let next = folder.path().join("next.bin");
        std::fs::write(&next, b"second").unwrap();
        std::fs::rename(&next, &path).unwrap();
        assert_eq!(&*replaced, b"first");
        assert!(replaced.is_private());
    }

    #[test]
    fn reading_a_truncated_mapped_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.bin");
        let length = MAX_COPIED + 4096;
        // A sparse file uses no disk space.
        File::create(&path).unwrap().set_len(length).unwrap();
        let mapped = Mapped::open(&path, true).unwrap();
        assert!(!mapped.is_private() && mapped.len() as u64 == length);
        assert_eq!(mapped.read_at(length as usize - 4, 4).unwrap().as_ref(), [0; 4]);
        File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
        let error = mapped.read_at(length as usize - 4, 4).unwrap_err();
        assert!(error.to_string().contains("changed by another program"), "{error}");
        assert!(mapped.revalidate().is_err());
    }

    #[test]
    fn files_that_are_read_whole_are_subject_to_the_memory_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("huge.obj");
        File::create(&path).unwrap().set_len(max_memory() + 1).unwrap();
        let error = Mapped::open(&path, false).unwrap_err();
        assert!(error.to_string().contains("the file would require"), "{error}");
    }

    #[test]
    fn an_empty_file_has_no_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty.bin");
        std::fs::write(&path, b"").unwrap();
        assert!(Mapped::open(&path, true).unwrap().is_empty());
        assert!(read_whole(folder.path()).is_err());
    }
}
