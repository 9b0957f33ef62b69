//! Reading and writing for programs, including layers.

use std::path::Path;
use std::sync::Arc;

use dermis_io::{Format, ReadOptions, WriteOptions, Written};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::{MeshSequence, Object, Scene};
use dermis_skin::{Fit, Skin};

use crate::error::Result;
use crate::evaluate;

/// Reads a file, a folder or pattern of numbered files, or a built-in `sample:NAME`.
pub fn read(source: impl AsRef<str>) -> Result<Scene> {
    read_with(source, &ReadOptions::default())
}

/// [`read`] with options. The warnings are the notes of the scene.
pub fn read_with(source: impl AsRef<str>, options: &ReadOptions) -> Result<Scene> {
    let source = source.as_ref();
    let mut scene = dermis_io::read(source, options)?;
    let name: Arc<str> = stem(source).into();
    for sequence in scene.objects.iter_mut().filter_map(|object| object.sequence.as_mut()) {
        if sequence.name().is_empty() {
            *sequence = sequence.clone().named(Arc::clone(&name));
        }
    }
    Ok(scene)
}

/// `walk` for `clips/walk.abc`, `gallop` for `sample:gallop`.
pub fn stem(source: &str) -> String {
    let name = source.strip_prefix("sample:").unwrap_or(source);
    Path::new(name).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes to a new file, in the format of its extension.
pub fn write(target: impl AsRef<Path>, contents: &(impl Writable + ?Sized)) -> Result<()> {
    write_with(target, contents, &WriteOptions::default(), &NoProgress).map(drop)
}

/// [`write()`] with options and an observer; returns the files and the warnings.
///
/// For formats without layers the evaluated frames are written ([`evaluate::baked`]), with a warning.
pub fn write_with(
    target: impl AsRef<Path>,
    contents: &(impl Writable + ?Sized),
    options: &WriteOptions,
    progress: &dyn Progress,
) -> Result<Written> {
    contents.write_to(target.as_ref(), options, progress)
}

/// Types that [`write()`] accepts: scenes, results that can be converted to a scene, and layered bodies.
pub trait Writable {
    /// Writes to `target`; returns the files and the warnings.
    fn write_to(&self, target: &Path, options: &WriteOptions, progress: &dyn Progress) -> Result<Written>;
}

impl<T: ToScene + ?Sized> Writable for T {
    fn write_to(&self, target: &Path, options: &WriteOptions, progress: &dyn Progress) -> Result<Written> {
        let mut scene = self.to_scene();
        let warnings = storable(&mut scene, Format::of_path(target)?)?;
        let mut written = dermis_io::write(target, &scene, options, progress)?;
        written.notes.splice(0..0, warnings);
        Ok(written)
    }
}

/// Bakes the layers that `format` cannot store; returns warnings.
fn storable(scene: &mut Scene, format: &Format) -> Result<Vec<dermis_mesh::Note>> {
    let mut warnings = Vec::new();
    // Layers refer to the points of one object, so a format that merges objects cannot keep them.
    let merges = format.is_single_object() && scene.objects.len() > 1;
    if !format.holds.layers || merges {
        for object in &mut scene.objects {
            *object = evaluate::baked(std::mem::take(object), &mut warnings)?;
        }
        for warning in &mut warnings {
            warning.message.insert_str(0, "the format cannot store layers: ");
        }
    }
    Ok(warnings)
}

/// Types that can be converted to a scene.
pub trait ToScene {
    /// The scene to write.
    fn to_scene(&self) -> Scene;
}

impl ToScene for Scene {
    fn to_scene(&self) -> Scene {
        self.clone()
    }
}

impl ToScene for Object {
    fn to_scene(&self) -> Scene {
        Scene { objects: vec![self.clone()], ..Scene::default() }
    }
}

impl ToScene for MeshSequence {
    fn to_scene(&self) -> Scene {
        Object::of_sequence(self.name(), self.clone()).to_scene()
    }
}

impl ToScene for Skin {
    fn to_scene(&self) -> Scene {
        let name = self.clips().first().map_or("skin", |clip| clip.name());
        self.to_object(name).to_scene()
    }
}

impl ToScene for Fit {
    fn to_scene(&self) -> Scene {
        self.skin.to_scene()
    }
}

/// The evaluated motion of a scene or an object; in the prelude.
pub trait ToSequence {
    /// The motion with all layers: recorded frames, or the first clip. Several objects are merged into one.
    ///
    /// The sequence is named after the clip or the file, and reads its frames on demand.
    fn sequence(&self) -> Result<MeshSequence>;
}

impl ToSequence for Object {
    fn sequence(&self) -> Result<MeshSequence> {
        let motion = evaluate::motion(self)?;
        Ok(motion.ok_or_else(|| evaluate::EvaluateError::NoMotion(self.name.clone()))?.sequence)
    }
}

impl ToSequence for Scene {
    fn sequence(&self) -> Result<MeshSequence> {
        evaluate::single(self)?.0.sequence()
    }
}
