//! Replacement of several files as a whole.
//!
//! Before the first rename, a journal in the folder lists the complete temporary files and their targets, and it is
//! removed after the last. If the process is killed in between, the journal remains: readers of the listed files report
//! [an incomplete set](check_whole) if some but not all of them are in place, and the next output to the folder
//! completes the set. A rename that fails is undone: existing targets have a second link until all files are in place.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rayon::prelude::*;
use tempfile::{NamedTempFile, TempPath};

use crate::error::Error;

/// Prefix of the names of temporary files, followed by the process id and the [host](host).
pub(crate) const PREFIX: &str = ".dermis-";
/// Extension of temporary files.
pub(crate) const PART: &str = ".part";
/// Extension of journals.
const JOURNAL: &str = ".set";

/// One change: `part` becomes `target`, or `target` is removed.
#[derive(Debug)]
pub(crate) struct Change {
    pub part: Option<TempPath>,
    pub target: PathBuf,
}

/// Applies all changes or, if one fails, none. For tests, it stops without cleaning up, like a killed process, when
/// `go_on` returns false before a step.
pub(crate) fn apply(process: u32, changes: Vec<Change>, go_on: &mut dyn FnMut() -> bool) -> Result<(), Error> {
    // The contents must be on disk before the files are renamed.
    changes.par_iter().try_for_each(|change| match &change.part {
        Some(part) => {
            File::open(part).and_then(|file| file.sync_data()).map_err(|error| in_file(error, &change.target))
        }
        None => Ok(()),
    })?;
    if changes.len() < 2 {
        return changes.into_iter().try_for_each(|change| place(change.part, &change.target));
    }
    if !go_on() {
        forget(changes);
        return Ok(());
    }
    let journals = write_journals(process, &changes)?;
    let mut done: Vec<(PathBuf, Option<TempPath>)> = Vec::new();
    let mut left = changes.into_iter();
    let mut failed = None;
    while let Some(Change { part, target }) = left.next() {
        if !go_on() {
            std::mem::forget(journals);
            std::mem::forget(done);
            forget(std::iter::once(Change { part, target }).chain(left).collect());
            return Ok(());
        }
        let backup = second_link(process, &target);
        match place(part, &target) {
            Ok(()) => done.push((target, backup)),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if let Some(error) = failed {
        for (target, backup) in done.into_iter().rev() {
            let undone = match backup {
                Some(backup) => backup.persist(&target).map_err(|error| error.error),
                None => std::fs::remove_file(&target),
            };
            undone.map_err(|error| in_file(error, &target))?;
        }
        return Err(error.detail("no file of the set was changed"));
    }
    drop(journals);
    Ok(())
}

/// Stops like a killed process: nothing is cleaned up.
fn forget(changes: Vec<Change>) {
    changes.into_iter().for_each(std::mem::forget);
}

fn place(part: Option<TempPath>, target: &Path) -> Result<(), Error> {
    let placed = match part {
        Some(part) => part.persist(target).map_err(|error| error.error),
        None => std::fs::remove_file(target),
    };
    placed.map_err(|error| in_file(error, target))
}

fn in_file(error: std::io::Error, path: &Path) -> Error {
    Error::from(error).in_file(path)
}

/// A second link to an existing target, from which it is restored if a later rename fails; `None` if there is no target,
/// or its file system has no links.
fn second_link(process: u32, target: &Path) -> Option<TempPath> {
    if !target.is_file() {
        return None;
    }
    let name = new_part(process, folder_of(target)).ok()?.into_temp_path();
    std::fs::remove_file(&name).ok()?;
    std::fs::hard_link(target, &name).ok()?;
    Some(name)
}

/// Creates a temporary file of `process` in `folder`.
pub(crate) fn new_part(process: u32, folder: &Path) -> std::io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    // Temporary files are private to their owner by default; an output is as readable as any new file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.prefix(&format!("{PREFIX}{process}-{}-", host())).suffix(PART).tempfile_in(folder)
}

/// Tag of the host, so that computers that share a folder do not remove each other's temporary files. Process ids are
/// unique on one host only.
pub(crate) fn host() -> &'static str {
    static HOST: LazyLock<String> = LazyLock::new(|| {
        let name = std::fs::read("/proc/sys/kernel/hostname").unwrap_or_default();
        // FNV-1a: host names can contain characters that would separate the parts of the name of a file.
        let hash = name.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
        format!("{hash:08x}")
    });
    &HOST
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a journal of the changes into each folder.
fn write_journals(process: u32, changes: &[Change]) -> Result<Vec<TempPath>, Error> {
    let mut by_folder: BTreeMap<&Path, Vec<u8>> = BTreeMap::new();
    for change in changes {
        let part = change.part.as_deref().and_then(Path::file_name).unwrap_or_default();
        let bytes = by_folder.entry(folder_of(&change.target)).or_default();
        for name in [part, change.target.file_name().unwrap_or_default()] {
            bytes.extend(name.as_encoded_bytes());
            bytes.push(0);
        }
    }
    let mut journals = Vec::new();
    for (folder, bytes) in by_folder {
        let write = || {
            // The journal is renamed to its final name only when it is complete.
            let mut part = new_part(process, folder)?;
            part.write_all(&bytes)?;
            part.as_file().sync_data()?;
            let name = part.path().with_extension(&JOURNAL[1..]);
            part.into_temp_path().persist(&name).map_err(|error| error.error)?;
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
            TempPath::try_from_path(name)
        };
        journals.push(write().map_err(|error| in_file(error, folder))?);
    }
    Ok(journals)
}

/// Changes of one journal whose process may have ended.
struct Journal {
    path: PathBuf,
    /// Names of the temporary file, empty for a removal, and of the target.
    changes: Vec<(OsString, OsString)>,
}

impl Journal {
    /// All journals in `folder`.
    fn all(folder: &Path) -> Vec<Self> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let is_journal = |name: &str| name.starts_with(PREFIX) && name.ends_with(JOURNAL);
        let paths =
            entries.filter(|entry| entry.file_name().to_str().is_some_and(is_journal)).map(|entry| entry.path());
        paths.filter_map(Self::read).collect()
    }

    fn read(path: PathBuf) -> Option<Self> {
        let bytes = std::fs::read(&path).ok()?;
        let mut names = bytes.split(|byte| *byte == 0).map(name_of);
        let mut changes = Vec::new();
        while let (Some(part), Some(target)) = (names.next(), names.next()) {
            changes.push((part?, target?));
        }
        Some(Self { path, changes })
    }

    fn is_pending(folder: &Path, (part, target): &(OsString, OsString)) -> bool {
        let name = if part.is_empty() { target } else { part };
        folder.join(name).symlink_metadata().is_ok()
    }

    /// Returns whether some but not all files of the set are in place.
    fn is_torn(&self) -> bool {
        let folder = folder_of(&self.path);
        let pending = self.changes.iter().filter(|change| Self::is_pending(folder, change)).count();
        let begun = self.changes.iter().any(|change| !change.0.is_empty() && !Self::is_pending(folder, change));
        begun && pending > 0
    }

    /// Applies the remaining changes and removes the journal.
    fn complete(self) {
        let folder = folder_of(&self.path);
        let is_begun = self.is_torn();
        for change in self.changes.iter().filter(|change| Self::is_pending(folder, change)) {
            let done = match (change.0.is_empty(), is_begun) {
                // Nothing was replaced: the old set remains, and its replacement is dropped.
                (false, false) => std::fs::remove_file(folder.join(&change.0)),
                (true, false) => Ok(()),
                (false, true) => std::fs::rename(folder.join(&change.0), folder.join(&change.1)),
                (true, true) => std::fs::remove_file(folder.join(&change.1)),
            };
            if done.is_err() {
                return;
            }
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
#[allow(clippy::unnecessary_wraps, reason = "other systems have names that are not bytes")]
fn name_of(bytes: &[u8]) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;
    Some(OsString::from_vec(bytes.to_vec()))
}

#[cfg(not(unix))]
fn name_of(bytes: &[u8]) -> Option<OsString> {
    String::from_utf8(bytes.to_vec()).ok().map(OsString::from)
}

/// Error if one of `files` belongs to a set of which some but not all files were replaced.
pub(crate) fn check_whole<'a>(files: impl IntoIterator<Item = &'a Path>) -> Result<(), Error> {
    let mut by_folder: BTreeMap<PathBuf, Vec<&Path>> = BTreeMap::new();
    for file in files {
        by_folder.entry(folder_of(file).to_path_buf()).or_default().push(file);
    }
    for (folder, files) in by_folder {
        for journal in Journal::all(&folder).into_iter().filter(Journal::is_torn) {
            let is_listed =
                |file: &&Path| journal.changes.iter().any(|(_, target)| Some(target.as_os_str()) == file.file_name());
            if let Some(file) = files.iter().copied().find(|file| is_listed(file)) {
                return Err(Error::malformed("the file belongs to a set of files that was only partly replaced")
                    .in_file(file)
                    .detail("the program that wrote the set was stopped between its files")
                    .with_hint("write the set again"));
            }
        }
    }
    Ok(())
}

/// Completes sets and removes temporary files of processes of this host that no longer run. Without a list of processes,
/// all are assumed to be running.
pub(crate) fn clean(folder: &Path) {
    if !Path::new("/proc/self").exists() {
        return;
    }
    let is_dead = |name: &str| {
        let mut parts = name.strip_prefix(PREFIX).unwrap_or_default().split('-');
        let process = parts.next().and_then(|id| id.parse::<u32>().ok());
        parts.next() == Some(host()) && process.is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists())
    };
    for journal in Journal::all(folder) {
        if journal.path.file_name().and_then(|name| name.to_str()).is_some_and(is_dead) {
            journal.complete();
        }
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_str().is_some_and(|name| name.ends_with(PART) && is_dead(name)) {
            // For example, a folder of another user; the remaining file is harmless.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
