//! A file that is being read: its bytes, its name, and the folder with the files that it can reference.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::mapped::Mapped;

/// Contents of a file and their origin.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    pub bytes: Mapped,
    /// Name of the contents, unless the file contains another.
    pub name: String,
    /// The file itself; `None` if the contents are in memory and have no neighbours.
    pub path: Option<PathBuf>,
}

impl Input {
    /// The file `path`. A large file is mapped if `can_map` is set, for formats that are read in parts.
    pub(crate) fn open(path: &Path, can_map: bool) -> Result<Self, Error> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { bytes: Mapped::open(path, can_map)?, name, path: Some(path.to_path_buf()) })
    }

    /// Contents in memory.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self { bytes: Mapped::of_bytes(bytes.to_vec()), name: "object".to_owned(), path: None }
    }
}

/// Name of the clip `index` of a file if the file does not name it.
pub(crate) fn clip_name(index: usize) -> String {
    format!("clip_{index}")
}
