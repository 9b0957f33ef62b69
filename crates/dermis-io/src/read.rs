//! Reading of inputs: files, sequences and samples.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis_mesh::{Clip, MeshSequence, Note, Scene, merge};

use crate::error::Error;
use crate::format::{Format, extensions_where};
use crate::input::{Input, clip_name};
use crate::magic;
use crate::numbered;
use crate::options::ReadOptions;
use crate::samples;
use crate::scaled::with_units;
use crate::set;

/// Reads `source`: a file, a built-in `sample:NAME`, or a sequence of OBJ or PLY files as a folder, as a pattern
/// (`walk.%04d.obj`) or with `*` and `?` (`walk_*.obj`).
pub fn read(source: &str, options: &ReadOptions) -> Result<Scene, Error> {
    if let Some(name) = source.strip_prefix(samples::PREFIX) {
        let sample = samples::read(name).and_then(|sample| with_units(sample, options));
        return sample.map_err(|error| error.in_file(source));
    }
    let path = Path::new(source);
    let mut scene = match numbered::source_files(path)?.as_deref() {
        Some([file]) if Format::of_path(file).is_ok_and(|format| !format.is_numbered()) => read_file(file, options),
        Some(files) => numbered::read(files, options).map_err(|error| error.in_file(path)),
        None => read_file(path, options),
    }?;
    if options.topology.is_some() && Format::of_path(path).is_ok_and(|format| format.holds.faces) {
        let caches = extensions_where(|format| !format.holds.faces);
        scene.notes.push(Note::new(format!("a topology can be given only for files without faces ({caches})")));
    }
    with_units(scene, options).map_err(|error| error.in_file(path))
}

fn read_file(path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    let format = Format::of_path(path)?;
    if !path.exists() {
        return Err(missing(path));
    }
    set::check_whole([path])?;
    magic::check(format, path)?;
    let input = Input::open(path, format.is_streamed)?;
    let scene = read_input(format, &input, options);
    // If the file changed during reading, its contents are not the cause of the error.
    let scene = input.bytes.revalidate().and(scene).map_err(|error| error.in_file(path))?;
    if format.holds.faces { Ok(scene) } else { with_faces(scene, path, options) }
}

/// Reads a file in memory, without references to other files, in the format of the extension `extension`.
pub fn read_bytes(extension: &str, bytes: &[u8], options: &ReadOptions) -> Result<Scene, Error> {
    read_input(Format::of_path(&Path::new("file").with_extension(extension))?, &Input::of_bytes(bytes), options)
}

fn read_input(format: &Format, input: &Input, options: &ReadOptions) -> Result<Scene, Error> {
    let reader = format.reader.ok_or_else(|| format.not_compiled_in())?;
    if input.bytes.is_empty() {
        return Err(Error::malformed("the file is empty").with_hint("copy or export the file again"));
    }
    let mut scene = reader(input, options)?;
    name_clips(&mut scene);
    scene.share_skeletons();
    Ok(scene)
}

/// Names clips without a name, so that they can be printed and selected.
fn name_clips(scene: &mut Scene) {
    for object in &mut scene.objects {
        for (index, clip) in object.clips.iter_mut().enumerate().filter(|(_, clip)| clip.name().is_empty()) {
            *clip = Arc::new(Clip::clone(clip).named(clip_name(index)));
        }
    }
}

/// The points of the cache at `path` with the faces of the requested mesh, or of an OBJ file of the same name.
fn with_faces(mut scene: Scene, path: &Path, options: &ReadOptions) -> Result<Scene, Error> {
    let beside = path.with_extension("obj");
    let source = match &options.topology {
        Some(asked) => asked,
        None if beside.is_file() => &beside,
        None => {
            let message = "there is no mesh for the cache (an .obj file of the same name); it is read as points only";
            scene.notes.push(Note::new(message));
            return Ok(scene);
        }
    };
    let faces = read_file(source, options)?;
    let (with_faces, merged) = merge::single(&faces).map_err(|error| Error::from(error).in_file(source))?;
    scene.notes.extend(faces.notes.into_iter().chain(merged));
    for object in &mut scene.objects {
        let (points, found) = (object.mesh.point_count(), with_faces.mesh.point_count());
        if points != found {
            return Err(Error::malformed(format!("the cache has {points} points, but the mesh has {found}"))
                .in_file(path)
                .with_hint("specify the mesh from which the cache was exported as its topology"));
        }
        object.mesh = with_faces.mesh.clone();
        let moved = |sequence: MeshSequence| sequence.with_mesh(object.mesh.clone());
        object.sequence = object.sequence.take().map(moved).transpose()?;
    }
    Ok(scene)
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

/// Files in `folder` with the stem of `path` or nearly its name; else some with its extension.
fn similar_names(folder: &Path, path: &Path) -> Vec<String> {
    const MAX_NAMES: usize = 3;
    const MAX_DISTANCE: usize = 2;
    let part = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().to_lowercase();
    let (wanted, stem, extension) = (part(path.file_name()), part(path.file_stem()), part(path.extension()));
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name().into()).collect();
    names.retain(|name| Format::of_path(name).is_ok());
    names.sort();
    let close = |name: &&PathBuf| {
        part(name.file_stem()) == stem || strsim::levenshtein(&part(Some(name.as_os_str())), &wanted) <= MAX_DISTANCE
    };
    let mut found: Vec<&PathBuf> = names.iter().filter(close).collect();
    if found.is_empty() {
        found = names.iter().filter(|name| part(name.extension()) == extension).collect();
    }
    found.into_iter().take(MAX_NAMES).map(|name| format!("'{}'", folder.join(name).display())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_has_a_hint_with_similar_names() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("walk.obj"), b"").unwrap();
        for name in ["walk.npz", "wlak.obj", "run.obj"] {
            let error = read(folder.path().join(name).to_str().unwrap(), &ReadOptions::default()).unwrap_err();
            assert!(error.hint().unwrap().contains("walk.obj"), "{name}: {:?}", error.hint());
        }
        let error = read("nowhere/walk.obj", &ReadOptions::default()).unwrap_err();
        assert!(error.hint().unwrap().contains("'nowhere'"));
    }
}
