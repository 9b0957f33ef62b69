//! Names of numbered files: patterns like `walk.%04d.obj`, their files in natural order, and writing one per frame.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use dermis_mesh::{Note, Object};
use glam::Vec3;

use crate::error::{Error, ErrorKind};
use crate::output::{Job, Output};
use crate::still::still;

/// A path whose file name has a placeholder for a number, as in C: `%d`, `%4d`, `%04d`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    folder: PathBuf,
    before: String,
    width: usize,
    after: String,
}

impl Pattern {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let (before, rest) = name.split_once('%')?;
        let (digits, after) = rest.split_once('d')?;
        let width = if digits.is_empty() { 0 } else { digits.parse().ok().filter(|width| *width <= 20)? };
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Some(Self { folder, before: before.to_owned(), width, after: after.to_owned() })
    }

    fn file(&self, number: usize) -> PathBuf {
        self.folder.join(format!("{}{number:0width$}{}", self.before, self.after, width = self.width))
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        let digits = name.strip_prefix(&self.before).and_then(|rest| rest.strip_suffix(&self.after));
        digits.is_some_and(|digits| {
            let padded = digits.len() == self.width || (digits.len() > self.width && !digits.starts_with('0'));
            !digits.is_empty()
                && digits.bytes().all(|digit| digit.is_ascii_digit())
                && (padded || self.width == 0 && digits == "0")
        })
    }

    /// The files that match, sorted by their numbers.
    fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        Ok(list(folder)?.into_iter().filter(|path| file_name(path).is_some_and(|name| self.matches(name))).collect())
    }
}

/// The path without the placeholder and the sign before it: `walk.%04d.obj` is `walk.obj`.
pub(crate) fn without_number(path: &Path) -> PathBuf {
    let Some(pattern) = Pattern::of(path) else {
        return path.to_path_buf();
    };
    let before = pattern.before.trim_end_matches(['.', '_', '-', ' ']);
    let before = if before.is_empty() { "frames" } else { before };
    pattern.folder.join(format!("{before}{}", pattern.after))
}

/// Rejects a pattern that existing files match, since new files would mix with them.
pub(crate) fn check_free(target: &Path) -> Result<(), Error> {
    let files = Pattern::of(target).map_or(Ok(Vec::new()), |pattern| pattern.files())?;
    let Some(first) = files.first() else {
        return Ok(());
    };
    Err(Error::from(ErrorKind::Exists)
        .in_file(first)
        .detail(format!("files that match the pattern: {}", files.len()))
        .with_hint("allow the whole sequence to be replaced, or choose another name"))
}

/// Schedules the removal of frames of an older, longer sequence, which would mix with the `frames` new ones.
fn remove_older(pattern: &Pattern, frames: usize, output: &mut Output) -> Result<Option<Note>, Error> {
    let written: HashSet<PathBuf> =
        (0..frames).filter_map(|frame| Some(pattern.file(frame).file_name()?.into())).collect();
    let is_written = |path: &PathBuf| path.file_name().is_some_and(|name| written.contains(Path::new(name)));
    let older: Vec<PathBuf> = pattern.files()?.into_iter().filter(|path| !is_written(path)).collect();
    let note =
        (!older.is_empty()).then(|| Note::new(format!("{} frames of an older sequence are removed", older.len())));
    for path in older {
        output.remove_at_commit(path);
    }
    Ok(note)
}

pub(crate) fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// The files in `folder`, sorted naturally.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |error: std::io::Error| Error::from(error).in_file(folder);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort_by(|a, b| {
        natural_order(file_name(a).unwrap_or_default(), file_name(b).unwrap_or_default()).then(a.cmp(b))
    });
    Ok(files)
}

/// Compares runs of digits as numbers and everything else as text.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (run_a, run_b) = (digit_run(a), digit_run(b));
        let order = if run_a > 0 && run_b > 0 {
            let (x, y) = (a[..run_a].trim_start_matches('0'), b[..run_b].trim_start_matches('0'));
            let order = x.len().cmp(&y.len()).then_with(|| x.cmp(y));
            (a, b) = (&a[run_a..], &b[run_b..]);
            order
        } else {
            let (mut rest_a, mut rest_b) = (a.chars(), b.chars());
            let (x, y) = (rest_a.next(), rest_b.next());
            if x.is_none() && y.is_none() {
                return Ordering::Equal;
            }
            (a, b) = (rest_a.as_str(), rest_b.as_str());
            x.cmp(&y)
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn digit_run(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Calls `one` with each file to write and its positions: one file for a plain target, one per frame for a pattern.
pub(crate) fn write_each(
    object: &Object,
    job: &mut Job<'_>,
    one: impl Fn(&Path, &[Vec3], &mut Output) -> Result<(), Error>,
) -> Result<(), Error> {
    let target = job.target;
    let Some(pattern) = Pattern::of(target) else {
        let extension = target.extension().unwrap_or_default().to_string_lossy();
        let stem = target.with_extension("");
        let hint = format!("write one file per frame: {}.%04d.{extension}", stem.display());
        let positions = still(object, target, &hint)?;
        job.notes.extend(lost_poses(object, &positions, usize::from(*positions != *object.mesh.points())));
        return one(target, &positions, job.output);
    };
    if !job.output.replaces() {
        check_free(target)?;
    }
    let Some(motion) = object.base_motion()? else {
        job.notes.extend(remove_older(&pattern, 1, job.output)?);
        return one(&pattern.file(0), object.mesh.points(), job.output);
    };
    let frames = motion.frame_count();
    let rate = motion.frame_rate_hz();
    job.notes.push(Note::new(format!("numbered files do not store the frame rate of {rate} fps")));
    job.notes.extend(remove_older(&pattern, frames, job.output)?);
    let mut posed = 0;
    for frame in 0..frames {
        job.step(frame, frames)?;
        let positions = motion.frame(frame)?;
        posed += usize::from(*positions != *object.mesh.points());
        one(&pattern.file(frame), &positions, job.output)?;
    }
    job.notes.extend(lost_poses(object, &motion.frame(0)?, posed));
    Ok(())
}

/// Notes on data that single-pose files cannot store; `posed` of them are not in the rest pose.
fn lost_poses(object: &Object, first: &[Vec3], posed: usize) -> Vec<Note> {
    let mut notes = Vec::new();
    if first != object.mesh.points() {
        notes.push(Note::at(&object.name, "the rest pose differs from the first frame; it is dropped"));
    }
    // Normals are known only for the rest pose.
    if posed > 0 && object.mesh.layout().is_some_and(|layout| layout.normals.is_some()) {
        notes.push(Note::at(
            &object.name,
            format!("normals are dropped from {posed} files, which are not in the rest pose"),
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_sort_as_numbers() {
        let mut names = ["f10.obj", "f2.obj", "f02.obj", "f1.obj", "g1.obj", "f.obj"];
        names.sort_by(|a, b| natural_order(a, b).then(a.cmp(b)));
        assert_eq!(names, ["f.obj", "f1.obj", "f02.obj", "f2.obj", "f10.obj", "g1.obj"]);
    }

    #[test]
    fn patterns_match_the_names_they_generate() {
        let pattern = Pattern::of(Path::new("folder/walk.%04d.obj")).unwrap();
        for number in [0, 7, 12345] {
            assert!(pattern.matches(file_name(&pattern.file(number)).unwrap()), "{number}");
        }
        for other in ["walk.0.obj", "walk.1.obj", "walk.00001.obj", "walk..obj", "walk.000a.obj", "run.0001.obj"] {
            assert!(!pattern.matches(other), "{other}");
        }
        assert_eq!(without_number(Path::new("folder/walk.%04d.obj")), Path::new("folder/walk.obj"));
        assert_eq!(Pattern::of(Path::new("100%.obj")), None);
        assert_eq!(Pattern::of(Path::new("%99999999999d.obj")), None);
    }
}
