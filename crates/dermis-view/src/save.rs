//! Saving of edited assets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis::io::{Format, WriteOptions};
use dermis::math::progress::NoProgress;
use dermis::mesh::glam::Vec3;
use dermis::mesh::reshape::reshaped;
use dermis::mesh::{MeshError, Object, Scene, TetMesh};
use dermis::tissue::layered::LayeredBody;
use serde::Serialize;

use crate::asset::Asset;

/// Error of saving an edit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SaveError {
    #[error("invalid edit: it has {found} numbers, but the asset needs {expected}")]
    Count { found: usize, expected: usize },
    #[error("invalid edit: value {0} is not finite")]
    NotFinite(usize),
    #[error("invalid attribute name: it must have 1 to 64 letters, digits, '_' and '-'")]
    Name,
    #[error("unsupported output {}: layered bodies are stored as .npz; restart with -o model.npz", .0.display())]
    NotAnArchive(PathBuf),
    #[error("another page has saved since: {found} saves instead of {known}; save again to replace its edits")]
    SavedByOther { known: u64, found: u64 },
    #[error("{0}")]
    Mesh(#[from] MeshError),
    #[error("{0}")]
    Write(#[from] dermis::io::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Result of saving to the output.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Written {
    /// Names of the files.
    pub(crate) written: Vec<String>,
    /// Number of saves by all pages.
    pub(crate) revision: u64,
}

/// Returns `object` with a new rest pose, a new attribute, or both, given by `numbers` in this order. Bones, weights,
/// corrections and clips are unchanged.
pub(crate) fn edited(
    object: &Object,
    rest: bool,
    attribute: Option<&str>,
    numbers: &[f32],
) -> Result<Object, SaveError> {
    let points = object.mesh.point_count();
    let positions = if rest { 3 * points } else { 0 };
    let expected = positions + if attribute.is_some() { points } else { 0 };
    if numbers.len() != expected || expected == 0 {
        return Err(SaveError::Count { found: numbers.len(), expected });
    }
    let (positions, values) = numbers.split_at(positions);
    let mut edited = if rest { with_rest(object, positions)? } else { object.clone() };
    if let Some(name) = attribute {
        edited.attributes.insert(checked_name(name)?.to_owned(), finite(values)?.to_vec());
    }
    Ok(edited)
}

fn with_rest(object: &Object, numbers: &[f32]) -> Result<Object, SaveError> {
    let points: Vec<Vec3> = numbers.chunks_exact(3).map(Vec3::from_slice).collect();
    let mesh = Arc::new(reshaped(&object.mesh, points)?);
    let tets = match &object.tets {
        Some(tets) => Some(Arc::new(TetMesh::new(mesh.points().to_vec(), tets.tetrahedra().to_vec())?)),
        None => None,
    };
    Ok(Object { mesh, tets, ..object.clone() })
}

fn checked_name(name: &str) -> Result<&str, SaveError> {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let fine = (1..=64).contains(&name.len()) && name.chars().all(letter);
    fine.then_some(name).ok_or(SaveError::Name)
}

fn finite(values: &[f32]) -> Result<&[f32], SaveError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(SaveError::NotFinite(at)),
        None => Ok(values),
    }
}

/// Writes `object` to `target`. Returns the files written.
pub(crate) fn write(asset: &Asset, object: Object, target: &Path, force: bool) -> Result<Vec<PathBuf>, SaveError> {
    // Levels of the object are written with it.
    let lods = if object.levels.is_empty() { asset.lods.as_slice() } else { &[] };
    let objects = std::iter::once(object).chain(lods.iter().cloned()).collect();
    let scene = Scene { objects, units: asset.units, notes: Vec::new() };
    Ok(dermis::io::write(target, &scene, &WriteOptions { force, ..WriteOptions::default() }, &NoProgress)?.files)
}

/// Writes a layered body to `target`. Returns the files written.
pub(crate) fn write_body(body: &LayeredBody, target: &Path, force: bool) -> Result<Vec<PathBuf>, SaveError> {
    if !Format::is_path_of("npz", target) {
        return Err(SaveError::NotAnArchive(target.to_owned()));
    }
    Ok(dermis::layered_file::write(target, body, &WriteOptions { force, ..WriteOptions::default() })?.files)
}

/// Contents of a `.npz` file of a layered body, for a download.
pub(crate) fn body_bytes(body: &LayeredBody) -> Result<Vec<u8>, SaveError> {
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("model.npz");
    write_body(body, &target, false)?;
    Ok(std::fs::read(target)?)
}

/// Checks that a file can be written to `target`. Its folder is created if only the last level is missing.
pub fn check_output(target: &Path) -> std::io::Result<()> {
    let folder = folder_of(target);
    tempfile::tempfile_in(if folder.exists() { folder } else { folder_of(folder) })?;
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Contents of a `.glb` file of `object`, for a download.
pub(crate) fn glb_bytes(asset: &Asset, object: Object) -> Result<Vec<u8>, SaveError> {
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("edited.glb");
    write(asset, object, &target, false)?;
    Ok(std::fs::read(target)?)
}
