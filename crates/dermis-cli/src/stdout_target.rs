//! Outputs to stdout: `-` is a GLB file, `-.EXT` a file of another format that consists of one file.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use dermis::io::{FORMATS, WriteOptions, Written, check_target};
use tempfile::TempDir;

use crate::diagnostic::Diagnostic;

/// Format of `-`.
const DEFAULT_EXTENSION: &str = "glb";
const BLOCK_BYTES: usize = 1 << 16;

/// Extension of an output to stdout; `None` for a file.
fn extension(target: &Path) -> Option<&str> {
    match target.to_str()? {
        "-" => Some(DEFAULT_EXTENSION),
        name => name.strip_prefix("-."),
    }
}

/// Checks that `target`, a file or stdout, can be written.
pub(crate) fn check(target: &Path, options: &WriteOptions) -> Result<(), Diagnostic> {
    match extension(target) {
        None => Ok(check_target(target, options)?),
        Some(extension) if FORMATS.iter().any(|format| format.extensions_of_sets.contains(&extension)) => {
            let message = format!("a .{extension} output consists of several files and cannot be written to stdout");
            Err(Diagnostic::new(message).hint("use --output=-.glb, or specify a file"))
        }
        Some(_) => Spool::new(target).map(drop),
    }
}

/// A temporary file for an output to stdout.
#[derive(Debug)]
pub(crate) struct Spool {
    /// Removed when it is dropped.
    _folder: TempDir,
    pub(crate) path: PathBuf,
}

impl Spool {
    fn new(target: &Path) -> Result<Self, Diagnostic> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("stdout").with_extension(extension(target).unwrap_or_default());
        check_target(&path, &WriteOptions::default())?;
        Ok(Self { _folder: folder, path })
    }

    /// The spool of `target` if it is stdout.
    pub(crate) fn of(target: &Path) -> Result<Option<Self>, Diagnostic> {
        extension(target).map(|_| Self::new(target)).transpose()
    }

    /// Copies the file to stdout and returns its report.
    pub(crate) fn print(self, written: Written) -> Result<Written, Diagnostic> {
        let mut file = std::fs::File::open(&self.path)?;
        let mut stdout = std::io::stdout().lock();
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let count = file.read(&mut block)?;
            if count == 0 {
                break;
            }
            stdout.write_all(&block[..count]).map_err(|error| cannot_write(&error))?;
        }
        stdout.flush().map_err(|error| cannot_write(&error))?;
        Ok(Written { files: vec![PathBuf::from("-")], ..written })
    }
}

fn cannot_write(error: &std::io::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot write to stdout: {}", error.kind()))
}
