//! Hashes of contents (SHA-256, as hexadecimal text).

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const BLOCK_BYTES: usize = 1 << 18;
/// Maximum depth of folders, which ends loops of links.
const MAX_DEPTH: usize = 32;

/// A file or folder with the hash of its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hashed {
    /// Path, relative to the folder of the job file.
    pub path: String,
    /// Hash of the contents.
    pub sha256: String,
    /// Size of the contents.
    pub bytes: u64,
}

/// Hash of some bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// Hash of `path`, relative to `folder`: of a file, of all files in a folder, or of all files of a numbered sequence.
/// `None` if there is no such file.
pub fn of_path(folder: &Path, path: &str) -> std::io::Result<Option<Hashed>> {
    let full = folder.join(path);
    let (sha256, bytes) = if full.is_file() {
        of_file(&full)?
    } else {
        let files = if full.is_dir() {
            let mut files = Vec::new();
            list(&full, MAX_DEPTH, &mut files)?;
            files
        } else {
            match dermis_io::source_files(&full) {
                Ok(Some(files)) => files,
                _ => return Ok(None),
            }
        };
        of_files(&full, &files)?
    };
    Ok(Some(Hashed { path: path.to_owned(), sha256, bytes }))
}

fn of_file(path: &Path) -> std::io::Result<(String, u64)> {
    let (mut file, mut hash, mut size) = (File::open(path)?, Sha256::new(), 0);
    let mut block = vec![0; BLOCK_BYTES];
    loop {
        let count = file.read(&mut block)?;
        if count == 0 {
            return Ok((HEXLOWER.encode(&hash.finalize()), size));
        }
        hash.update(&block[..count]);
        size += count as u64;
    }
}

/// Hash of the names and contents of several files.
fn of_files(folder: &Path, files: &[PathBuf]) -> std::io::Result<(String, u64)> {
    let (mut hash, mut size) = (Sha256::new(), 0);
    for file in files {
        let (contents, bytes) = of_file(file)?;
        let name = file.strip_prefix(folder).unwrap_or(file);
        hash.update(name.as_os_str().as_encoded_bytes());
        hash.update([0]);
        hash.update(contents);
        size += bytes;
    }
    Ok((HEXLOWER.encode(&hash.finalize()), size))
}

/// All files in `folder` and its subfolders, sorted, except hidden ones.
fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries.iter().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b".")) {
        let path = entry.path();
        if path.is_dir() && depth > 0 {
            list(&path, depth - 1, files)?;
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}
