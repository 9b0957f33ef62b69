//! Which format a file is in, and the two functions that serve all of them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use dermis_math::progress::Progress;
use dermis_mesh::{Deformer, Note, Scene};
use dermis_samples as samples;

use crate::error::{Error, Problem};
use crate::options::{ReadOptions, WriteOptions};
use crate::output::{Output, Written};
use crate::{alembic, fbx, gltf, gmsh, mdd, medit, npz, numbered, obj, pc2, ply, smpl, tetgen, usd};

/// The formats that dermis knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say all")]
pub enum Format {
    Glb,
    Gltf,
    Obj,
    Ply,
    Npz,
    Pc2,
    Mdd,
    Alembic,
    Usd,
    Usda,
    Fbx,
    Medit,
    Pickle,
    Gmsh,
    Tetgen,
}

impl Format {
    /// The format that a path's ending names.
    pub fn of_path(path: &Path) -> Result<Self, Error> {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        Ok(match ending.as_str() {
            "glb" => Self::Glb,
            "gltf" => Self::Gltf,
            "obj" => Self::Obj,
            "ply" => Self::Ply,
            "npz" => Self::Npz,
            "pc2" => Self::Pc2,
            "mdd" => Self::Mdd,
            "abc" => Self::Alembic,
            "usda" => Self::Usda,
            "usd" | "usdc" | "usdz" => Self::Usd,
            "fbx" => Self::Fbx,
            "mesh" => Self::Medit,
            "pkl" => Self::Pickle,
            "msh" => Self::Gmsh,
            "node" | "ele" => Self::Tetgen,
            _ => {
                let message = match ending.as_str() {
                    "" => "the name has no ending that says its format".to_owned(),
                    _ => format!("'.{ending}' is not the ending of a format that dermis knows"),
                };
                return Err(Error::unsupported(message).in_file(path).with_hint(
                    "known endings: glb gltf obj ply npz pc2 mdd abc usda usd usdc usdz fbx mesh pkl msh node ele",
                ));
            }
        })
    }
}

impl Format {
    /// Whether files of this format store the layers of an object ([`dermis_mesh::Deformer`]).
    pub fn holds_layers(self) -> bool {
        matches!(self, Self::Glb | Self::Gltf | Self::Npz)
    }
}

/// Reads whatever `source` names: a file, a built-in `sample:NAME`, or a sequence of OBJ or PLY files as a folder, as
/// a pattern (`walk.%04d.obj`) or with `*` and `?` (`walk_*.obj`).
pub fn read(source: &str, options: &ReadOptions) -> Result<Scene, Error> {
    if let Some(name) = source.strip_prefix("sample:") {
        return samples::build(name).ok_or_else(|| no_such_sample(name).in_file(source));
    }
    let path = Path::new(source);
    let mut scene = match numbered::files_of(path)? {
        Some(files) => numbered::read(&files, options).map_err(|error| error.in_file(path))?,
        None => read_file(path, options)?,
    };
    if options.topology.is_some() && !matches!(Format::of_path(path), Ok(Format::Pc2 | Format::Mdd)) {
        scene.notes.push(Note::new("--topology is for files without faces (.pc2, .mdd); this one has its own"));
    }
    Ok(scene)
}

fn no_such_sample(name: &str) -> Error {
    let closest = samples::NAMES.iter().min_by_key(|known| edit_distance(known, name));
    // A name of which more than half would have to change was not mistyped.
    let closest = closest.filter(|known| 2 * edit_distance(known, name) <= known.len());
    let hint = closest.map_or("name one of these".to_owned(), |known| format!("did you mean 'sample:{known}'?"));
    let error = Error::unsupported(format!("there is no sample called '{name}'"));
    error.detail(format!("samples: {}", samples::NAMES.join(", "))).with_hint(hint)
}

/// Reads one file.
pub(crate) fn read_file(path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    let format = Format::of_path(path)?;
    if !path.exists() {
        return Err(missing(path));
    }
    let scene = match format {
        Format::Glb | Format::Gltf => gltf::read(path, options),
        Format::Obj => obj::read(path, options),
        Format::Ply => ply::read(path, options),
        Format::Npz => npz::read(path, options),
        Format::Pc2 => pc2::read(path, options),
        Format::Mdd => mdd::read(path, options),
        Format::Alembic => alembic::read(path, options),
        Format::Usd | Format::Usda => usd::read(path, options),
        Format::Fbx => fbx::read(path, options),
        Format::Medit => medit::read(path, options),
        Format::Pickle => smpl::read_pickle(path),
        Format::Gmsh => gmsh::read(path, options),
        Format::Tetgen => tetgen::read(path, options),
    };
    scene.map_err(|error| error.in_file(path))
}

fn missing(path: &Path) -> Error {
    let error = Error::malformed("there is no such file").in_file(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return error.with_hint(format!("there is no folder '{}' either", folder.display()));
    }
    let similar = similar_names(folder, path);
    if similar.is_empty() { error } else { error.with_hint(format!("did you mean {}?", similar.join(" or "))) }
}

/// Files in `folder` with the stem of `path` or nearly its name; else some with its ending.
fn similar_names(folder: &Path, path: &Path) -> Vec<String> {
    const MOST: usize = 3;
    const FARTHEST: usize = 2;
    let part = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().to_lowercase();
    let (wanted, stem, ending) = (part(path.file_name()), part(path.file_stem()), part(path.extension()));
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name().into()).collect();
    names.retain(|name| Format::of_path(name).is_ok());
    names.sort();
    let close = |name: &&PathBuf| {
        part(name.file_stem()) == stem || edit_distance(&part(Some(name.as_os_str())), &wanted) <= FARTHEST
    };
    let mut found: Vec<&PathBuf> = names.iter().filter(close).collect();
    if found.is_empty() {
        found = names.iter().filter(|name| part(name.extension()) == ending).collect();
    }
    found.into_iter().take(MOST).map(|name| format!("'{}'", folder.join(name).display())).collect()
}

/// How many characters must be put in, taken out or replaced (Levenshtein).
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Writes `scene` to `target`, in the format that its ending names.
pub fn write(target: &Path, scene: &Scene, options: &WriteOptions, progress: &dyn Progress) -> Result<Written, Error> {
    numbered::check_pattern(target)?;
    let format = Format::of_path(target)?;
    check_layers(format, scene).map_err(|error| error.in_file(target))?;
    let mut output = Output::new(options.force);
    let writer = match format {
        Format::Glb | Format::Gltf => gltf::write,
        Format::Obj => obj::write,
        Format::Ply => ply::write,
        Format::Npz => npz::write,
        Format::Pc2 => pc2::write,
        Format::Mdd => mdd::write,
        Format::Alembic => alembic::write,
        Format::Usda => usd::write,
        Format::Medit => medit::write,
        Format::Gmsh => gmsh::write,
        Format::Tetgen => tetgen::write,
        format @ (Format::Usd | Format::Fbx | Format::Pickle) => {
            return Err(Error::unsupported(format!("{format:?} files are read but not written"))
                .in_file(target)
                .with_hint("write .usda, .abc or .glb instead"));
        }
    };
    let notes = writer(scene, target, &mut output, progress).map_err(|error| match error.problem() {
        // Frames are read while they are written: what is wrong with them is wrong with the input.
        Problem::Sequence(_) => error,
        _ => error.in_file(target),
    })?;
    let mut written = output.commit()?;
    written.notes = notes;
    Ok(written)
}

/// A layer that is not written would be lost without a trace.
fn check_layers(format: Format, scene: &Scene) -> Result<(), Error> {
    let layered = scene.objects.iter().find(|object| !object.deformers.is_empty());
    match layered.filter(|_| !format.holds_layers()) {
        None => Ok(()),
        Some(object) => {
            let kinds: Vec<&str> = object.deformers.iter().map(Deformer::kind).collect();
            let message = format!("the format does not hold the layers of the object ({})", kinds.join(", "));
            let hint = "write .glb, .gltf or .npz, or evaluate the layers first";
            Err(Error::unsupported(message).at(&object.name).with_hint(hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_answered_with_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("walk.obj"), b"").unwrap();
        for name in ["walk.npz", "wlak.obj", "run.obj"] {
            let error = read(folder.path().join(name).to_str().unwrap(), &ReadOptions::default()).unwrap_err();
            assert!(error.hint().unwrap().contains("walk.obj"), "{name}: {:?}", error.hint());
        }
        let error = read("nowhere/walk.obj", &ReadOptions::default()).unwrap_err();
        assert!(error.hint().unwrap().contains("'nowhere'"));
    }

    #[test]
    fn edit_distance_counts_the_changes() {
        for (a, b, distance) in [("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("walk", "wlak", 2), ("ab", "xb", 1)] {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
        }
    }
}
