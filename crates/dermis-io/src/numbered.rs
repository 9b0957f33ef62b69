//! Sequences of numbered files: a folder of OBJ or PLY files, `walk_*.obj`, or `walk.%04d.obj`.
//!
//! Files are sorted naturally (`frame2` before `frame10`). The names of the files in a folder must differ only in their
//! numbers. The first file defines the faces and the rest pose; all others must have the same faces. The last file is
//! compared with the first immediately, the others when their frame is read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis_mesh::{MeshSequence, Note, Polygons, Scene};
use glam::Vec3;

use crate::error::{Error, ErrorKind};
use crate::format::{FORMATS, Format, FrameReader, FrameReaders, numbered_names};
use crate::frame_rate;
use crate::input::Input;
use crate::mapped::Mapped;
use crate::options::ReadOptions;
use crate::pattern::{Pattern, file_name, list};
use crate::set;

/// Files of `source` if it is a folder, a pattern or a glob; `None` for a plain path.
pub fn source_files(source: &Path) -> Result<Option<Vec<PathBuf>>, Error> {
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
        return Err(Error::malformed("no file matches this pattern").in_file(source));
    }
    Ok(Some(files))
}

/// The number at the end of each file's name, in the order in which a sequence of several files is read; `None` if
/// `source` is one file or a name has no number.
pub fn frame_numbers(source: &Path) -> Result<Option<Vec<usize>>, Error> {
    let number = |path: &PathBuf| {
        let stem = path.file_stem()?.to_str()?;
        stem[stem.trim_end_matches(|c: char| c.is_ascii_digit()).len()..].parse().ok()
    };
    Ok(source_files(source)?.and_then(|files| files.iter().map(number).collect()))
}

fn folder_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let files = list(folder)?;
    let of = |format: &Format| -> Vec<PathBuf> {
        files.iter().filter(|path| Format::of_path(path).is_ok_and(|found| found.id == format.id)).cloned().collect()
    };
    let numbered = FORMATS.iter().filter(|format| format.is_numbered());
    let mut found: Vec<(&Format, Vec<PathBuf>)> = numbered.map(|format| (format, of(format))).collect();
    found.retain(|(_, files)| !files.is_empty());
    match &mut found[..] {
        [] => {
            let names = numbered_names("or");
            let hint = format!("a folder is read as a sequence of {names} files; for other formats, specify the file");
            Err(Error::malformed(format!("the folder contains no {names} files")).in_file(folder).with_hint(hint))
        }
        [(_, files)] => one_sequence(folder, std::mem::take(files)),
        [(first, _), ..] => {
            let message = format!("the folder contains both {} files", numbered_names("and"));
            let hint = format!("select one format, for example with 'folder/*.{}'", first.extensions[0]);
            Err(Error::malformed(message).in_file(folder).with_hint(hint))
        }
    }
}

/// `files`, if their names differ only in their numbers.
fn one_sequence(folder: &Path, files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Error> {
    let names: BTreeSet<String> = files.iter().map(|path| name_pattern(path)).collect();
    let Some(first) = names.first().filter(|_| names.len() > 1) else {
        return Ok(files);
    };
    const MAX_LISTED: usize = 5;
    let mut listed: Vec<&str> = names.iter().take(MAX_LISTED).map(String::as_str).collect();
    if names.len() > MAX_LISTED {
        listed.push("...");
    }
    // `*` also matches padded numbers, unlike `%d`.
    let example = names.iter().find(|name| name.contains("%d")).unwrap_or(first).replace("%d", "*");
    let extension = Path::new(first).extension().unwrap_or_default().to_string_lossy();
    Err(Error::malformed("the folder contains files of more than one name")
        .in_file(folder)
        .detail(format!("names: {}", listed.join(", ")))
        .with_hint(format!(
            "use '{}', or '{}' for all of them",
            folder.join(example).display(),
            folder.join(format!("*.{extension}")).display()
        )))
}

/// The name of a file with `%d` for the number at its end, or for all its numbers if none is at the end.
fn name_pattern(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let before = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    if before.len() < stem.len() {
        return format!("{before}%d.{extension}");
    }
    let mut pattern = String::new();
    for c in stem.chars() {
        if !c.is_ascii_digit() {
            pattern.push(c);
        } else if !pattern.ends_with("%d") {
            pattern.push_str("%d");
        }
    }
    format!("{pattern}.{extension}")
}

/// Returns true if `name` matches `glob`: `*` matches any text and `?` any single character.
pub fn glob_matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut g, mut n) = (0, 0);
    // Position to continue from if the last star must match a longer text.
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
        return Err(Error::malformed("the sequence has no files"));
    };
    let format = Format::of_path(&first)?;
    if !format.is_numbered() {
        return Err(Error::unsupported(format!("only {} files are read as a sequence", numbered_names("and")))
            .in_file(first)
            .with_hint("specify a single file"));
    }
    set::check_whole(files.iter().map(PathBuf::as_path))?;
    let FrameReaders { first: read_first, each: parse } =
        format.frame_readers.ok_or_else(|| format.not_compiled_in())?;
    let mut scene = read_first(&Input::open(&first, false)?, options).map_err(|error| error.in_file(&first))?;
    let (points, faces) = parse_file(parse, &first)?;
    let frames = Arc::new(NumberedFrames { parse, faces, point_count: points.len(), files: files.to_vec() });
    frames.check(files.len() - 1, &parse_file(parse, last)?)?;
    let rate = frame_rate::assumed(options, &mut scene.notes);
    scene.notes.extend(gaps(files));
    for object in &mut scene.objects {
        let frames = Arc::clone(&frames);
        let read = move |frame: usize, out: &mut [Vec3]| frames.read(frame, out).map_err(|error| error.of_frame(frame));
        object.sequence = Some(MeshSequence::from_fn(Arc::clone(&object.mesh), files.len(), rate, read)?);
        object.name = sequence_name(&first);
    }
    Ok(scene)
}

fn parse_file(parse: FrameReader, path: &Path) -> Result<(Vec<Vec3>, Polygons), Error> {
    parse(&Mapped::open(path, false)?).map_err(|error| error.in_file(path))
}

/// The name of a file without its number and extension.
fn sequence_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['.', '_', '-', ' ']);
    if name.is_empty() { stem.into_owned() } else { name.to_owned() }
}

struct NumberedFrames {
    parse: FrameReader,
    faces: Polygons,
    point_count: usize,
    files: Vec<PathBuf>,
}

impl NumberedFrames {
    fn check(&self, frame: usize, (points, faces): &(Vec<Vec3>, Polygons)) -> Result<(), Error> {
        let (expected, found) = (self.point_count, points.len());
        let problem = if found != expected {
            ErrorKind::PointCountChanges { frame, expected, found }
        } else if *faces != self.faces {
            ErrorKind::TopologyChanges { frame }
        } else {
            return Ok(());
        };
        Err(Error::from(problem)
            .in_file(&self.files[frame])
            .detail(format!("the first file has {expected} points and {} faces", self.faces.sizes.len()))
            .detail(format!("this one has {found} points and {} faces", faces.sizes.len()))
            .with_hint("all files of a sequence must have the same faces; use a pattern that matches only these files"))
    }

    fn read(&self, frame: usize, out: &mut [Vec3]) -> Result<(), Error> {
        let parsed = parse_file(self.parse, &self.files[frame])?;
        self.check(frame, &parsed)?;
        out.copy_from_slice(&parsed.0);
        Ok(())
    }
}

/// Note on numbers that are missing between files.
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
        "the numbering has a gap between {before} and {after}; the frames are treated as successive"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_in_a_shell() {
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
        assert!(gaps(&files(&[1, 2, 4])).unwrap().message.contains("gap between 2 and 4"));
        assert_eq!(gaps(&files(&[2, 4, 6])), None);
        assert_eq!(gaps(&files(&[5])), None);
    }
}
