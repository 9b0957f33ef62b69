//! Atomic outputs: complete or absent.
//!
//! Files are written next to their targets under temporary names and renamed when all of them are complete. An output
//! that is dropped before [`Output::commit`], because of an error or Ctrl-C, leaves no files behind. Several files
//! replace older ones as a whole, or none of them if one cannot be replaced. Temporary files of processes that were
//! killed are removed, and their sets completed, by the next output to the same folder. A link is followed, and the
//! permissions of a replaced file are kept.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dermis_math::progress::Progress;
use dermis_mesh::Note;
use tempfile::TempPath;

use crate::error::{Error, ErrorKind};
use crate::set::{self, Change};

/// Temporary files of this process that have not been renamed. The lock is held while files are renamed.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Report of a writer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    /// The files, in the order of their creation.
    pub files: Vec<PathBuf>,
    /// Their total size in bytes.
    pub bytes: u64,
    /// Notes on data that the format does not support.
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
    /// Folders that were already searched for abandoned files.
    cleaned: BTreeSet<PathBuf>,
    process: u32,
}

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files of this process, for a process that exits early. Sets that are being renamed are
/// completed first. No output can be committed afterwards.
pub fn remove_unfinished() {
    let files = unfinished();
    for file in &*files {
        let _ = std::fs::remove_file(file);
    }
    // The lock is never released: files renamed after this point would be incomplete.
    std::mem::forget(files);
}

/// Removes temporary files in `folder` of processes of this host that no longer run, and completes their sets.
pub fn remove_abandoned(folder: &Path) {
    set::clean(folder);
}

impl Output {
    /// Creates an empty output. With `force`, existing files are replaced; otherwise they are an error.
    pub fn new(force: bool) -> Self {
        Self {
            force,
            files: Vec::new(),
            made_folders: Vec::new(),
            outdated: Vec::new(),
            cleaned: BTreeSet::new(),
            process: std::process::id(),
        }
    }

    /// Starts the file `target`; its folder is created if only its last level is missing.
    pub fn create(&mut self, target: &Path) -> Result<BufWriter<std::fs::File>, Error> {
        check_free(target, self.force)?;
        let linked = target.is_symlink().then(|| target.canonicalize().ok()).flatten();
        let target = linked.as_deref().unwrap_or(target);
        let folder = set::folder_of(target);
        if !folder.exists() {
            std::fs::create_dir(folder).map_err(|error| {
                Error::from(error).in_file(folder).with_hint("create the folder first, or choose another output")
            })?;
            self.made_folders.push(folder.to_path_buf());
        }
        if self.cleaned.insert(folder.to_path_buf()) {
            set::clean(folder);
        }
        let temporary = set::new_part(self.process, folder).map_err(|error| Error::from(error).in_file(target))?;
        // Only the path is kept, so that a sequence of thousands of files does not keep as many files open.
        let (file, temporary) = temporary.into_parts();
        unfinished().insert(temporary.to_path_buf());
        self.files.push((target.to_path_buf(), temporary));
        // Large writes bypass the buffer, which is for small ones.
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

    /// Schedules the removal of the existing file `path` after all new files are complete.
    pub fn remove_at_commit(&mut self, path: PathBuf) {
        self.outdated.push(path);
    }

    /// Schedules the removal of the files in `folder` whose names are `prefix`, a number of at least `first`, and a
    /// suffix of `suffixes`: those of an older and longer set.
    pub fn remove_later(&mut self, folder: &Path, prefix: &str, first: usize, suffixes: &[&str]) {
        let is_later = |name: &str| {
            let digits = suffixes.iter().find_map(|suffix| name.strip_prefix(prefix)?.strip_suffix(suffix));
            let number = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
            number.and_then(|digits| digits.parse().ok()).is_some_and(|number: usize| number >= first)
        };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut later: Vec<PathBuf> = entries
            .filter(|entry| entry.file_name().to_str().is_some_and(is_later))
            .map(|entry| entry.path())
            .collect();
        later.sort();
        self.outdated.extend(later);
    }

    /// Renames all files to their targets, or none. Every writer of [`Output::create`] must have been flushed.
    pub fn commit(self) -> Result<Written, Error> {
        self.commit_while(&mut || true)
    }

    fn commit_while(mut self, go_on: &mut dyn FnMut() -> bool) -> Result<Written, Error> {
        let mut renaming = unfinished();
        for (target, _) in &self.files {
            check_free(target, self.force)?;
        }
        let mut written = Written::default();
        let mut changes = Vec::new();
        for (target, temporary) in std::mem::take(&mut self.files) {
            let failed = |error: std::io::Error| Error::from(error).in_file(&target);
            renaming.remove(&*temporary);
            written.bytes += std::fs::metadata(&temporary).map_err(failed)?.len();
            if let Ok(replaced) = std::fs::metadata(&target) {
                std::fs::set_permissions(&temporary, replaced.permissions()).map_err(failed)?;
            }
            written.files.push(target.clone());
            changes.push(Change { part: Some(temporary), target });
        }
        changes.extend(std::mem::take(&mut self.outdated).into_iter().map(|target| Change { part: None, target }));
        set::apply(self.process, changes, go_on)?;
        self.made_folders.clear();
        Ok(written)
    }
}

/// Checks that `target` is not a folder or device and, without `force`, that it does not exist, not even as a broken
/// link.
pub(crate) fn check_free(target: &Path, force: bool) -> Result<(), Error> {
    if target.is_dir() {
        return Err(Error::malformed("the output is a folder")
            .in_file(target)
            .with_hint("specify a file in this folder"));
    }
    if target.metadata().is_ok_and(|found| !found.is_file()) {
        let error = Error::malformed("the output is a pipe or device, which cannot be replaced");
        return Err(error.in_file(target).with_hint("specify a regular file"));
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
        if !self.files.is_empty() {
            let mut unfinished = unfinished();
            for (_, temporary) in &self.files {
                unfinished.remove(&**temporary);
            }
        }
        self.files.clear();
        for folder in self.made_folders.iter().rev() {
            // Fails, as intended, if another process has created files in the folder.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uncommitted_output_leaves_no_files() {
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
    fn temporary_files_of_dead_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let name = |id: u32| format!("{}{id}-{}-abc{}", set::PREFIX, set::host(), set::PART);
        let [dead, alive] = [child.id(), std::process::id()].map(|id| folder.path().join(name(id)));
        child.wait().unwrap();
        std::fs::write(&dead, b"half").unwrap();
        std::fs::write(&alive, b"half").unwrap();
        Output::new(false).write_all(&folder.path().join("out.bin"), b"whole").unwrap();
        assert!(!dead.exists() && alive.exists());
    }

    fn texts(folder: &Path) -> Vec<String> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
    }

    fn set_of(folder: &Path, text: &str, count: usize, process: u32) -> Output {
        let mut output = Output::new(true);
        output.process = process;
        for index in 0..count {
            output.write_all(&folder.join(format!("f{index}.obj")), text.as_bytes()).unwrap();
        }
        output.remove_later(folder, "f", count, &[".obj"]);
        output
    }

    /// The process is killed before each step of a set. The remaining files are the old set, the new one, or an error
    /// for readers, and the next output completes the set.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_set_that_is_killed_between_renames_is_old_or_new_or_an_error() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        let (old, new) = (vec!["old"; 4], vec!["new"; 3]);
        let mut torn = 0;
        for steps in 0..6 {
            let folder = tempfile::tempdir().unwrap();
            set_of(folder.path(), "old", 4, dead).commit().unwrap();
            let mut left = steps;
            let mut go_on = || {
                left -= 1;
                left >= 0
            };
            set_of(folder.path(), "new", 3, dead).commit_while(&mut go_on).unwrap();
            let files: Vec<PathBuf> = (0..4).map(|index| folder.path().join(format!("f{index}.obj"))).collect();
            let visible = || files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect::<Vec<_>>();
            let present: Vec<&Path> = files.iter().map(PathBuf::as_path).filter(|file| file.exists()).collect();
            let whole = set::check_whole(present);
            assert_eq!(whole.is_ok(), visible() == old || visible() == new, "{steps}: {:?}", visible());
            torn += usize::from(whole.is_err());
            set::clean(folder.path());
            assert!(visible() == old || visible() == new, "{steps}: {:?}", visible());
            assert_eq!(texts(folder.path()), visible(), "{steps}: nothing else remains");
        }
        assert_eq!(torn, 3, "steps after which the set is mixed");
    }

    #[test]
    fn a_set_of_which_one_file_cannot_be_replaced_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        set_of(folder.path(), "old", 3, std::process::id()).commit().unwrap();
        let output = set_of(folder.path(), "new", 3, std::process::id());
        // A folder with contents has this name; it cannot be replaced.
        std::fs::remove_file(folder.path().join("f2.obj")).unwrap();
        let changes: Vec<Change> = {
            let mut output = output;
            let files = std::mem::take(&mut output.files);
            files.into_iter().map(|(target, part)| Change { part: Some(part), target }).collect()
        };
        std::fs::create_dir_all(folder.path().join("f2.obj/inside")).unwrap();
        assert!(set::apply(std::process::id(), changes, &mut || true).is_err());
        std::fs::remove_dir_all(folder.path().join("f2.obj")).unwrap();
        assert_eq!(texts(folder.path()), ["old", "old"]);
    }
}
