//! Sequences of numbered files: a folder of OBJ or PLY files, `walk_*.obj`, or `walk.%04d.obj`.
//!
//! Files are sorted naturally (`frame2` before `frame10`). The files of a folder must have one name apart from their
//! numbers. The first gives the faces and the rest pose; each further
//! one must have the same faces. The first and the last are compared at once, the others when their frame is read.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis_math::progress::Progress;
use dermis_mesh::{FrameSource, MeshSequence, Note, Object, Polygons, Scene, SequenceError};
use glam::Vec3;

use crate::error::{Error, Problem};
use crate::format::Format;
use crate::mapped::Mapped;
use crate::options::ReadOptions;
use crate::output::Output;
use crate::single::still;
use crate::{frame_rate, obj, ply};

/// A path whose file name has a place for a number, as in C: `%d`, `%4d`, `%04d`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pattern {
    folder: PathBuf,
    before: String,
    width: usize,
    after: String,
}

impl Pattern {
    fn of(path: &Path) -> Option<Self> {
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

    fn matches(&self, name: &str) -> bool {
        let digits = name.strip_prefix(&self.before).and_then(|rest| rest.strip_suffix(&self.after));
        digits.is_some_and(|digits| {
            let padded = digits.len() == self.width || (digits.len() > self.width && !digits.starts_with('0'));
            !digits.is_empty()
                && digits.bytes().all(|digit| digit.is_ascii_digit())
                && (padded || self.width == 0 && digits == "0")
        })
    }

    /// The files that fit, sorted by their numbers.
    fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        Ok(list(folder)?.into_iter().filter(|path| file_name(path).is_some_and(|name| self.matches(name))).collect())
    }
}

/// The path without the place for a number and the sign before it: `walk.%04d.obj` is `walk.obj`.
pub(crate) fn without_number(path: &Path) -> PathBuf {
    let Some(pattern) = Pattern::of(path) else {
        return path.to_path_buf();
    };
    let before = pattern.before.trim_end_matches(['.', '_', '-', ' ']);
    let before = if before.is_empty() { "frames" } else { before };
    pattern.folder.join(format!("{before}{}", pattern.after))
}

/// Refuses a place for a number in the name of a format that is not written as numbered files.
pub(crate) fn check_pattern(target: &Path) -> Result<(), Error> {
    let numbered = matches!(Format::of_path(target)?, Format::Obj | Format::Ply);
    if numbered || Pattern::of(target).is_none() {
        return Ok(());
    }
    Err(Error::unsupported("only OBJ and PLY files are written as numbered files")
        .in_file(target)
        .with_hint(format!("one file holds all frames: {}", without_number(target).display())))
}

/// Refuses a pattern that files fit already: what is written would mix with them.
pub(crate) fn check_free(target: &Path) -> Result<(), Error> {
    let files = Pattern::of(target).map_or(Ok(Vec::new()), |pattern| pattern.files())?;
    let Some(first) = files.first() else {
        return Ok(());
    };
    Err(Error::from(Problem::Exists)
        .in_file(first)
        .detail(format!("files that fit the pattern: {}", files.len()))
        .with_hint("use --force to replace the whole sequence, or choose another name"))
}

/// Has the frames of an older, longer sequence removed, which would mix with the `frames` new ones.
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

/// The files that `source` stands for where it names several: a folder, a pattern or a glob. `None` for a plain path.
pub(crate) fn files_of(source: &Path) -> Result<Option<Vec<PathBuf>>, Error> {
    if source.is_dir() {
        return folder_files(source).map(Some);
    }
    if source.exists() {
        return Ok(None);
    }
    let folder = source.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = source.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let pattern = Pattern::of(source);
    if pattern.is_none() && !name.contains(['*', '?']) {
        return Ok(None);
    }
    let fits = |file: &str| pattern.as_ref().map_or_else(|| glob_matches(name, file), |pattern| pattern.matches(file));
    let files = list(folder)?.into_iter().filter(|path| file_name(path).is_some_and(fits)).collect::<Vec<_>>();
    if files.is_empty() {
        return Err(Error::malformed("no file fits this pattern").in_file(source));
    }
    Ok(Some(files))
}

/// The number at the end of each file's name, in the order in which a sequence of several files is read; `None` where
/// `source` is one file or a name has no number.
pub fn frame_numbers(source: &Path) -> Result<Option<Vec<usize>>, Error> {
    let number = |path: &PathBuf| {
        let stem = path.file_stem()?.to_str()?;
        stem[stem.trim_end_matches(|c: char| c.is_ascii_digit()).len()..].parse().ok()
    };
    Ok(files_of(source)?.and_then(|files| files.iter().map(number).collect()))
}

fn file_name(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// The files in `folder`, sorted naturally.
fn list(folder: &Path) -> Result<Vec<PathBuf>, Error> {
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

fn folder_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let files = list(folder)?;
    let of = |format| -> Vec<PathBuf> {
        files.iter().filter(|path| Format::of_path(path).is_ok_and(|found| found == format)).cloned().collect()
    };
    match (of(Format::Obj), of(Format::Ply)) {
        (obj, ply) if !obj.is_empty() && !ply.is_empty() => {
            Err(Error::malformed("the folder holds both OBJ and PLY files")
                .in_file(folder)
                .with_hint("say which, for example 'folder/*.obj'"))
        }
        (obj, ply) if obj.is_empty() && ply.is_empty() => Err(Error::malformed("the folder holds no OBJ or PLY files")
            .in_file(folder)
            .with_hint("a folder is read as a sequence of .obj or .ply files; for other formats name the file")),
        (obj, ply) => one_sequence(folder, if obj.is_empty() { ply } else { obj }),
    }
}

/// `files`, if their names differ in nothing but their numbers.
fn one_sequence(folder: &Path, files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Error> {
    let names: BTreeSet<String> = files.iter().map(|path| name_pattern(path)).collect();
    let Some(first) = names.first().filter(|_| names.len() > 1) else {
        return Ok(files);
    };
    const MOST: usize = 5;
    let mut listed: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    if names.len() > MOST {
        listed.push("...");
    }
    // A star fits padded numbers too, which `%d` does not.
    let example = names.iter().find(|name| name.contains("%d")).unwrap_or(first).replace("%d", "*");
    let ending = Path::new(first).extension().unwrap_or_default().to_string_lossy();
    Err(Error::malformed("the folder holds files of more than one name")
        .in_file(folder)
        .detail(format!("names: {}", listed.join(", ")))
        .with_hint(format!(
            "say which: '{}', or '{}' for all of them",
            folder.join(example).display(),
            folder.join(format!("*.{ending}")).display()
        )))
}

/// The name of a file with `%d` for the number at its end, or for all its numbers where none is at the end.
fn name_pattern(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let before = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    if before.len() < stem.len() {
        return format!("{before}%d.{ending}");
    }
    let mut pattern = String::new();
    for c in stem.chars() {
        if !c.is_ascii_digit() {
            pattern.push(c);
        } else if !pattern.ends_with("%d") {
            pattern.push_str("%d");
        }
    }
    format!("{pattern}.{ending}")
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

/// Whether `name` fits `glob`, where `*` is any text and `?` any one character.
fn glob_matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut g, mut n) = (0, 0);
    // Where to go on if the text that the last star stands for must be longer.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if glob.get(g) == Some(&'*') {
            star = Some((g, n));
            g += 1;
        } else if glob.get(g).is_some_and(|&c| c == '?' || c == name[n]) {
            (g, n) = (g + 1, n + 1);
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            (g, n) = (at + 1, taken + 1);
        } else {
            return false;
        }
    }
    glob[g..].iter().all(|&c| c == '*')
}

/// Reads `files` as the frames of one sequence.
pub(crate) fn read(files: &[PathBuf], options: &ReadOptions) -> Result<Scene, Error> {
    let (Some(first), Some(last)) = (files.first().cloned(), files.last()) else {
        return Err(Error::malformed("there are no files"));
    };
    let parse = match Format::of_path(&first)? {
        Format::Obj => obj::read_frame,
        Format::Ply => ply::read_frame,
        _ if files.len() == 1 => return crate::format::read_file(&first, options),
        _ => {
            return Err(Error::unsupported("only OBJ and PLY files are read as a sequence")
                .in_file(first)
                .with_hint("name one file"));
        }
    };
    let mut scene = match Format::of_path(&first)? {
        Format::Ply => ply::read_unwelded(&first)?,
        _ => obj::read(&first, options)?,
    };
    let (points, faces) = parse_file(parse, &first)?;
    let frames = NumberedFrames { parse, faces, point_count: points.len(), files: files.to_vec() };
    frames.check(files.len() - 1, &parse_file(parse, last)?)?;
    let rate = frame_rate::assumed(options, &mut scene.notes);
    scene.notes.extend(gaps(files));
    for object in &mut scene.objects {
        let sequence = MeshSequence::from_source(Arc::clone(&object.mesh), Arc::new(frames.clone()), rate)?;
        object.sequence = Some(sequence);
        object.name = sequence_name(&first);
    }
    Ok(scene)
}

/// A function that reads the points and the polygons (over points) of one file.
type Parse = fn(&[u8]) -> Result<(Vec<Vec3>, Polygons), Error>;

fn parse_file(parse: Parse, path: &Path) -> Result<(Vec<Vec3>, Polygons), Error> {
    parse(&Mapped::open(path)?).map_err(|error| error.in_file(path))
}

/// The name of a file without its number and ending.
fn sequence_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['.', '_', '-', ' ']);
    if name.is_empty() { stem.into_owned() } else { name.to_owned() }
}

#[derive(Debug, Clone)]
struct NumberedFrames {
    parse: Parse,
    faces: Polygons,
    point_count: usize,
    files: Vec<PathBuf>,
}

impl NumberedFrames {
    fn check(&self, frame: usize, (points, faces): &(Vec<Vec3>, Polygons)) -> Result<(), Error> {
        let (expected, found) = (self.point_count, points.len());
        let problem = if found != expected {
            Problem::PointCountChanges { frame, expected, found }
        } else if *faces != self.faces {
            Problem::TopologyChanges { frame }
        } else {
            return Ok(());
        };
        Err(Error::from(problem)
            .in_file(&self.files[frame])
            .detail(format!("the first file has {expected} points and {} faces", self.faces.sizes.len()))
            .detail(format!("this one has {found} points and {} faces", faces.sizes.len()))
            .with_hint("all files of a sequence need the same faces; name the files that belong together"))
    }
}

impl FrameSource for NumberedFrames {
    fn frame_count(&self) -> usize {
        self.files.len()
    }

    fn point_count(&self) -> usize {
        self.point_count
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let failed = |cause: Error| SequenceError::Source { frame, cause: Box::new(cause) };
        let parsed = parse_file(self.parse, &self.files[frame]).map_err(failed)?;
        self.check(frame, &parsed).map_err(failed)?;
        out.copy_from_slice(&parsed.0);
        Ok(())
    }
}

/// A note where numbers are missing between files.
fn gaps(files: &[PathBuf]) -> Option<Note> {
    let number = |path: &PathBuf| -> Option<u64> {
        let stem = path.file_stem()?.to_str()?;
        let digits = stem.len() - stem.bytes().rev().take_while(u8::is_ascii_digit).count();
        stem[digits..].parse().ok()
    };
    let numbers: Vec<u64> = files.iter().map(number).collect::<Option<_>>()?;
    let step = numbers.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min()?;
    let gap = numbers.windows(2).find(|pair| pair[1].saturating_sub(pair[0]) != step)?;
    let (before, after) = (gap[0], gap[1]);
    Some(Note::new(format!(
        "the numbering has a gap: after {before} comes {after}; the frames are taken as successive"
    )))
}

/// Calls `one` with each file to write and its positions: one file for a plain target, one per frame for a pattern.
pub(crate) fn write_each(
    object: &Object,
    target: &Path,
    output: &mut Output,
    progress: &dyn Progress,
    notes: &mut Vec<Note>,
    mut one: impl FnMut(&Path, &[Vec3], &mut Output) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(pattern) = Pattern::of(target) else {
        let ending = target.extension().unwrap_or_default().to_string_lossy();
        let stem = target.with_extension("");
        let hint = format!("write one file per frame: {}.%04d.{ending}", stem.display());
        let positions = still(object, target, &hint)?;
        notes.extend(lost_poses(object, &positions, usize::from(*positions != *object.mesh.points())));
        return one(target, &positions, output);
    };
    if !output.replaces() {
        check_free(target)?;
    }
    let Some(motion) = object.base_motion()? else {
        notes.extend(remove_older(&pattern, 1, output)?);
        return one(&pattern.file(0), object.mesh.points(), output);
    };
    let frames = motion.frame_count();
    notes.push(Note::new(format!("numbered files hold no frame rate; these are at {} fps", motion.frame_rate_hz())));
    notes.extend(remove_older(&pattern, frames, output)?);
    let mut posed = 0;
    for frame in 0..frames {
        if progress.report("frames", frame, frames).is_break() {
            return Err(Problem::Stopped.into());
        }
        let positions = motion.frame(frame)?;
        posed += usize::from(*positions != *object.mesh.points());
        one(&pattern.file(frame), &positions, output)?;
    }
    notes.extend(lost_poses(object, &motion.frame(0)?, posed));
    Ok(())
}

/// Notes on what files of one pose each lose, where `posed` of them are not in the rest pose.
fn lost_poses(object: &Object, first: &[Vec3], posed: usize) -> Vec<Note> {
    let mut notes = Vec::new();
    if first != object.mesh.points() {
        notes.push(Note::at(&object.name, "the rest pose is not that of the first frame and is left out"));
    }
    // Normals are known for the rest pose alone.
    if posed > 0 && object.mesh.layout().is_some_and(|layout| layout.normals.is_some()) {
        notes
            .push(Note::at(&object.name, format!("normals are left out of {posed} files, which are not in rest pose")));
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
    fn patterns_fit_what_they_write() {
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

    #[test]
    fn globs_fit_as_in_a_shell() {
        for (glob, name, fits) in [
            ("walk_*.obj", "walk_01.obj", true),
            ("*", "anything", true),
            ("w?lk*", "walk", true),
            ("*a*b", "xaxbxb", true),
            ("walk_*.obj", "walk_01.ply", false),
            ("?", "", false),
        ] {
            assert_eq!(glob_matches(glob, name), fits, "{glob} {name}");
        }
    }

    #[test]
    fn a_gap_in_the_numbers_is_noted() {
        let files =
            |numbers: &[u32]| numbers.iter().map(|n| PathBuf::from(format!("f.{n:03}.obj"))).collect::<Vec<_>>();
        assert!(gaps(&files(&[1, 2, 4])).unwrap().message.contains("after 2 comes 4"));
        assert_eq!(gaps(&files(&[2, 4, 6])), None);
        assert_eq!(gaps(&files(&[5])), None);
    }
}
