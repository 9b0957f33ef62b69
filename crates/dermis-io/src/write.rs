//! Writing of a scene in the format of its target, and the check of a target before the computation starts.

use std::borrow::Cow;
use std::path::Path;

use dermis_math::progress::Progress;
use dermis_mesh::{Deformer, Note, Object, Scene, Units, merge};

use crate::error::{Error, ErrorKind};
use crate::format::{Format, Holds, Writer, extension_of, extensions_where, numbered_names, writable_extensions};
use crate::options::WriteOptions;
use crate::output::{Job, Output, Written, check_free};
use crate::pattern::{self, Pattern, without_number};

/// Writes `scene` to `target`, in the format of its extension.
pub fn write(target: &Path, scene: &Scene, options: &WriteOptions, progress: &dyn Progress) -> Result<Written, Error> {
    let (format, writer) = writer_of(target)?;
    check_layers(format, scene).map_err(|error| error.in_file(target))?;
    let mut output = Output::new(options.force);
    let nested_bones = options.nested_bones;
    let mut job = Job { target, output: &mut output, notes: Vec::new(), nested_bones, progress };
    if !format.holds.levels && scene.objects.iter().any(|object| !object.levels.is_empty()) {
        job.notes.push(Note::new("the format does not support levels of detail; only the full meshes are written"));
    }
    let scene = &*posed(scene, format.holds, &mut job.notes).map_err(|error| error.in_file(target))?;
    check_contents(format, scene).map_err(|error| error.in_file(target))?;
    let done = match writer {
        Writer::Scene(write) => write(scene, &mut job),
        Writer::Object(write) => merged(scene, format.holds).and_then(|(object, notes)| {
            job.notes.extend(notes);
            write(&object, scene.units, &mut job)
        }),
    };
    let notes = job.notes;
    done.map_err(|error| match error.kind() {
        // Frames are read while they are written, so errors of frames are errors of the input.
        ErrorKind::Sequence(_) => error,
        _ => error.in_file(target),
    })?;
    let mut written = output.commit()?;
    written.notes = notes;
    Ok(written)
}

/// Checks that `target` has a supported extension, that it does not exist or can be replaced, and that its folder
/// exists or can be created.
pub fn check_target(target: &Path, options: &WriteOptions) -> Result<(), Error> {
    writer_of(target)?;
    check_free(target, options.force)?;
    if !options.force {
        pattern::check_free(target)?;
    }
    check_folder(target)?;
    check_writable(target)
}

/// Format and writer of `target`.
fn writer_of(target: &Path) -> Result<(&'static Format, Writer), Error> {
    let extension = extension_of(target);
    let format = Format::of_path(target);
    let Some(format) = format.ok().filter(|format| format.written_extensions.contains(&extension.as_str())) else {
        let message = match Format::of_path(target) {
            Ok(_) => format!("'.{extension}' files are read but not written"),
            Err(_) if extension.is_empty() => {
                "the name of the output has no extension that identifies its format".to_owned()
            }
            Err(_) => format!("'.{extension}' is not the extension of a format that can be written"),
        };
        let hint = format!("choose one of .{}", writable_extensions().join(" ."));
        return Err(Error::unsupported(message).in_file(target).with_hint(hint));
    };
    if !format.is_numbered() && Pattern::of(target).is_some() {
        return Err(Error::unsupported(format!("only {} files are written as numbered files", numbered_names("and")))
            .in_file(target)
            .with_hint(format!("one file contains all frames: {}", without_number(target).display())));
    }
    let writer = format.writer.ok_or_else(|| format.not_compiled_in().in_file(target))?;
    Ok((format, writer))
}

/// The scene with all objects that no clip moves in their stored pose, for formats without rigs.
fn posed<'a>(scene: &'a Scene, holds: Holds, notes: &mut Vec<Note>) -> Result<Cow<'a, Scene>, Error> {
    let is_posed = |object: &Object| {
        let stored = object.rig.as_ref().is_some_and(|rig| rig.stored_pose().is_some());
        stored && object.clips.is_empty() && object.sequence.is_none() && object.deformers.is_empty()
    };
    if holds.rig || !scene.objects.iter().any(is_posed) {
        return Ok(Cow::Borrowed(scene));
    }
    let mut scene = scene.clone();
    for object in scene.objects.iter_mut().filter(|object| is_posed(object)) {
        notes.push(Note::at(&object.name, "the rig is dropped; the stored pose is written"));
        *object = object.at_rest()?;
    }
    Ok(Cow::Owned(scene))
}

/// Rejects a scene without anything to write.
fn check_contents(format: &Format, scene: &Scene) -> Result<(), Error> {
    if scene.objects.iter().any(|object| object.mesh.point_count() > 0) {
        return Ok(());
    }
    let has_joints = |object: &Object| object.rig.as_ref().is_some_and(|rig| !rig.joints().is_empty());
    match scene.objects.iter().any(has_joints) {
        true if format.holds.bare_rig => Ok(()),
        true => Err(Error::unsupported("the scene is a motion without a mesh, which the format does not support")
            .with_hint(format!(
                "write {}, or pose a rigged mesh with it",
                extensions_where(|format| format.holds.bare_rig)
            ))),
        false => Err(Error::malformed("there is nothing to write: the scene has no mesh")),
    }
}

/// Rejects layers that the format does not support, so that none is lost silently.
fn check_layers(format: &Format, scene: &Scene) -> Result<(), Error> {
    let layered = scene.objects.iter().find(|object| !object.deformers.is_empty());
    match layered.filter(|_| !format.holds.layers) {
        None => Ok(()),
        Some(object) => {
            let kinds: Vec<&str> = object.deformers.iter().map(Deformer::kind).collect();
            let message = format!("the format does not support the layers of the object ({})", kinds.join(", "));
            let storing = extensions_where(|format| format.holds.layers);
            let hint = format!("write {storing}, or evaluate the layers first");
            Err(Error::unsupported(message).at(&object.name).with_hint(hint))
        }
    }
}

/// The last level of folders is created when writing; those above it must exist.
fn check_folder(target: &Path) -> Result<(), Error> {
    let named = |path: &Path| path.parent().filter(|folder| !folder.as_os_str().is_empty()).map(Path::to_path_buf);
    let Some(folder) = named(target) else {
        return Ok(());
    };
    if folder.is_dir() || (!folder.exists() && named(&folder).is_none_or(|above| above.is_dir())) {
        return Ok(());
    }
    let message = if folder.exists() { "the output's folder is a file" } else { "the output's folder does not exist" };
    Err(Error::malformed(message).in_file(&folder).with_hint("create the folder first, or choose another output"))
}

/// Fails before any work is done if no file can be created in the target's folder.
fn check_writable(target: &Path) -> Result<(), Error> {
    let parents =
        target.ancestors().skip(1).map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    match parents.into_iter().find(|folder| folder.is_dir()) {
        Some(folder) => tempfile::tempfile_in(folder).map(drop).map_err(|error| {
            let message =
                format!("the output cannot be written: no file can be created in its folder ({})", error.kind());
            Error::malformed(message).in_file(target).with_hint("choose another folder")
        }),
        None => Ok(()),
    }
}

/// The objects of the scene merged into one, and notes on the parts that a format with `holds` does not support.
fn merged(scene: &Scene, holds: Holds) -> Result<(Object, Vec<Note>), Error> {
    let (object, mut notes) = merge::single(scene).map_err(|error| {
        Error::from(error)
            .with_hint("write one of the objects, or use a format that stores several (.glb, .usda, .abc)")
    })?;
    let skipped = skipped(&object, scene.units, holds);
    if !skipped.is_empty() {
        notes.push(Note::at(&object.name, format!("the format does not support {}", skipped.join(", "))));
    }
    if object.clips.len() > 1 && !holds.rig {
        let names: Vec<&str> = object.clips[1..].iter().map(|clip| clip.name()).collect();
        notes.push(Note::at(&object.name, format!("only the first clip is written, not {}", names.join(", "))));
    }
    Ok((object, notes))
}

fn skipped(object: &Object, units: Units, holds: Holds) -> Vec<&'static str> {
    let mut parts = vec![
        (holds.rig, object.rig.is_some(), "rigs"),
        (holds.tets, object.tets.is_some(), "tetrahedra"),
        (holds.attributes, !object.attributes.is_empty(), "attributes of points"),
        (holds.units, units.metres_per_unit.is_some() || units.up_axis.is_some(), "units and the up axis"),
    ];
    if let Some(layout) = object.mesh.layout() {
        parts.extend([
            (holds.surface, layout.normals.is_some(), "normals"),
            (holds.surface, !layout.uvs.is_empty(), "UVs"),
            (holds.surface, !layout.colors.is_empty(), "colours"),
            (holds.all_sets || !holds.surface, layout.uvs.len() > 1, "a second UV set"),
            (holds.all_sets || !holds.surface, layout.colors.len() > 1, "a second colour set"),
            (holds.all_sets, layout.tangents.is_some(), "tangents"),
            (holds.materials, !layout.materials.is_empty(), "materials"),
        ]);
    }
    parts.into_iter().filter(|(held, present, _)| *present && !held).map(|(_, _, part)| part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(target: &Path, force: bool) -> String {
        let options = WriteOptions { force, ..WriteOptions::default() };
        check_target(target, &options).map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    }

    #[test]
    fn reports_invalid_targets_before_writing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("there.npz"), b"old").unwrap();
        std::fs::create_dir(at("folder.npz")).unwrap();
        assert_eq!(message(&at("new.npz"), false), "fine");
        assert_eq!(message(&at("new/new.npz"), false), "fine");
        assert_eq!(message(&at("there.npz"), true), "fine");
        assert_eq!(message(&at("there.npz"), false), "the output already exists");
        assert_eq!(message(&at("folder.npz"), true), "the output is a folder");
        assert_eq!(message(&at("not/there/new.npz"), false), "the output's folder does not exist");
        assert_eq!(message(&at("there.npz/new.npz"), false), "the output's folder is a file");
        assert_eq!(message(&at("new.pkl"), false), "'.pkl' files are read but not written");
        assert_eq!(message(&at("new.xyz"), false), "'.xyz' is not the extension of a format that can be written");
        assert_eq!(message(&at("new"), false), "the name of the output has no extension that identifies its format");
    }
}
