//! Outputs that are whole or absent.
//!
//! Files are written beside their targets under temporary names and renamed when all of them are complete. What is
//! dropped before [`Output::commit`], by an error or by Ctrl-C, leaves nothing behind. Temporary files of processes
//! that were killed are removed by the next output to the same folder. A link is followed, and the permissions of a
//! replaced file are kept.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use dermis_math::progress::Progress;
use dermis_mesh::Note;
use tempfile::TempPath;

use crate::error::{Error, ErrorKind};

/// Names of temporary files: the number of the process is between the two.
const PREFIX: &str = ".dermis-";
const SUFFIX: &str = ".part";

/// Report of a writer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The files, in the order in which they were begun.
    pub files: Vec<PathBuf>,
    /// The size of all of them.
    pub bytes: u64,
    /// Notes on what the format could not hold.
    pub notes: Vec<Note>,
}

/// A file that is being written: its target, notes on it, and the observer.
pub(crate) struct Job<'a> {
    pub target: &'a Path,
    pub output: &'a mut Output,
    pub notes: Vec<Note>,
    pub nested_bones: bool,
    pub progress: &'a dyn Progress,
}

impl Job<'_> {
    /// Begins the target.
    pub(crate) fn create(&mut self) -> Result<BufWriter<std::fs::File>, Error> {
        self.output.create(self.target)
    }

    /// Reports that `done` of `total` frames are written; an error if the observer requests a stop.
    pub(crate) fn step(&self, done: usize, total: usize) -> Result<(), Error> {
        step(self.progress, "frames", done, total)
    }
}

/// Reports progress; an error if the observer requests a stop.
pub(crate) fn step(progress: &dyn Progress, what: &str, done: usize, total: usize) -> Result<(), Error> {
    if progress.report(what, done, total).is_break() { Err(ErrorKind::Stopped.into()) } else { Ok(()) }
}

/// Files that are being written.
#[derive(Debug)]
pub struct Output {
    force: bool,
    files: Vec<(PathBuf, TempPath)>,
    made_folders: Vec<PathBuf>,
    outdated: Vec<PathBuf>,
    /// Folders without abandoned files.
    cleaned: BTreeSet<PathBuf>,
}

impl Output {
    /// Nothing yet. With `force`, existing files will be replaced; without it they are an error.
    pub fn new(force: bool) -> Self {
        Self { force, files: Vec::new(), made_folders: Vec::new(), outdated: Vec::new(), cleaned: BTreeSet::new() }
    }

    /// Begins the file `target`; its folder is made if it is missing (the last level only).
    pub fn create(&mut self, target: &Path) -> Result<BufWriter<std::fs::File>, Error> {
        check_free(target, self.force)?;
        let linked = target.is_symlink().then(|| target.canonicalize().ok()).flatten();
        let target = linked.as_deref().unwrap_or(target);
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !folder.exists() {
            std::fs::create_dir(folder).map_err(|error| {
                Error::from(error).in_file(folder).with_hint("create the folder first, or choose another output")
            })?;
            self.made_folders.push(folder.to_path_buf());
        }
        if self.cleaned.insert(folder.to_path_buf()) {
            remove_abandoned(folder);
        }
        let mut builder = tempfile::Builder::new();
        // Temporary files are private to their owner by default; an output is as readable as any new file.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let temporary = builder
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .suffix(SUFFIX)
            .tempfile_in(folder)
            .map_err(|error| Error::from(error).in_file(target))?;
        // Only the path is kept: a sequence of thousands of files must not hold as many open.
        let (file, temporary) = temporary.into_parts();
        self.files.push((target.to_path_buf(), temporary));
        // Large writes go straight through; the buffer is for the small ones.
        Ok(BufWriter::with_capacity(1 << 18, file))
    }

    /// Writes the whole file `target` at once.
    pub fn write_all(&mut self, target: &Path, bytes: &[u8]) -> Result<(), Error> {
        let mut file = self.create(target)?;
        file.write_all(bytes).and_then(|()| file.flush()).map_err(|error| Error::from(error).in_file(target))
    }

    /// Returns whether existing files will be replaced.
    pub fn replaces(&self) -> bool {
        self.force
    }

    /// Has the existing file `path` removed once all new files are complete.
    pub fn remove_at_commit(&mut self, path: PathBuf) {
        self.outdated.push(path);
    }

    /// Renames all files to their targets. Every writer of [`Output::create`] must have been flushed.
    pub fn commit(mut self) -> Result<Written, Error> {
        for (target, _) in &self.files {
            check_free(target, self.force)?;
        }
        let mut written = Written::default();
        for (target, temporary) in std::mem::take(&mut self.files) {
            let failed = |error: std::io::Error| Error::from(error).in_file(&target);
            written.bytes += std::fs::metadata(&temporary).map_err(failed)?.len();
            if let Ok(replaced) = std::fs::metadata(&target) {
                std::fs::set_permissions(&temporary, replaced.permissions()).map_err(failed)?;
            }
            temporary.persist(&target).map_err(|error| failed(error.error))?;
            written.files.push(target);
        }
        self.made_folders.clear();
        for path in std::mem::take(&mut self.outdated) {
            std::fs::remove_file(&path).map_err(|error| Error::from(error).in_file(&path))?;
        }
        Ok(written)
    }
}

/// Removes temporary files of processes that no longer run. Without a list of processes, none is known to be dead.
fn remove_abandoned(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    if !Path::new("/proc/self").exists() {
        return;
    }
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.split('-').next());
        let is_dead = |id: u32| !Path::new("/proc").join(id.to_string()).exists();
        if process.and_then(|id| id.parse().ok()).is_some_and(is_dead) {
            // The folder of another user, for example; the file does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Checks that `target` is not a folder or device and, without `force`, that nothing has its name, not even a broken
/// link.
pub(crate) fn check_free(target: &Path, force: bool) -> Result<(), Error> {
    if target.is_dir() {
        return Err(Error::malformed("the output is a folder").in_file(target).with_hint("name a file in it"));
    }
    if target.metadata().is_ok_and(|found| !found.is_file()) {
        let error = Error::malformed("the output is a pipe or device, which cannot be replaced");
        return Err(error.in_file(target).with_hint("name a regular file"));
    }
    if !force && target.symlink_metadata().is_ok() {
        return Err(Error::from(ErrorKind::Exists)
            .in_file(target)
            .with_hint("allow it to be replaced, or choose another name"));
    }
    Ok(())
}

impl Drop for Output {
    fn drop(&mut self) {
        self.files.clear();
        for folder in self.made_folders.iter().rev() {
            // Fails, as it should, if another process has created files in the folder.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_is_not_committed_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("new/out.bin");
        let mut output = Output::new(false);
        output.write_all(&target, b"half").unwrap();
        drop(output);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn an_existing_output_is_replaced_only_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("out.bin");
        std::fs::write(&target, b"old").unwrap();
        let error = Output::new(false).write_all(&target, b"new").unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Exists));
        let mut output = Output::new(true);
        output.write_all(&target, b"new").unwrap();
        assert_eq!(output.commit().unwrap().bytes, 3);
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("out.bin"), folder.path().join("link.bin"));
        std::fs::write(&target, b"old").unwrap();
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&target, &link).unwrap();
        let mut output = Output::new(true);
        output.write_all(&link, b"new").unwrap();
        output.commit().unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read(&target).unwrap(), b"new");
        assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let error = Output::new(true).write_all(Path::new("/dev/null"), b"new").unwrap_err();
        assert!(error.to_string().contains("device"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn parts_of_dead_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = folder.path().join(format!("{PREFIX}{}-abc{SUFFIX}", child.id()));
        let alive = folder.path().join(format!("{PREFIX}{}-abc{SUFFIX}", std::process::id()));
        child.wait().unwrap();
        std::fs::write(&dead, b"half").unwrap();
        std::fs::write(&alive, b"half").unwrap();
        Output::new(false).write_all(&folder.path().join("out.bin"), b"whole").unwrap();
        assert!(!dead.exists() && alive.exists());
    }
}
