//! Edited assets, as objects to write and as files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis::io::WriteOptions;
use dermis::math::progress::Silent;
use dermis::mesh::glam::Vec3;
use dermis::mesh::reshape::reshaped;
use dermis::mesh::{MeshError, Object, Scene, TetMesh};

use crate::asset::Asset;

/// Why an edit cannot be saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SaveError {
    #[error("{found} numbers were sent, but the asset needs {expected}")]
    Count { found: usize, expected: usize },
    #[error("value {0} is not finite")]
    NotFinite(usize),
    #[error("an attribute's name is made of 1 to 64 letters, digits, '_' and '-'")]
    Name,
    #[error("{0}")]
    Mesh(#[from] MeshError),
    #[error("{0}")]
    Write(#[from] dermis::io::Error),
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// The asset's object with another rest pose; bones, weights, corrections and clips stay.
pub(crate) fn with_rest(asset: &Asset, numbers: &[f32]) -> Result<Object, SaveError> {
    let object = &asset.object;
    expect_count(numbers.len(), 3 * object.mesh.point_count())?;
    let points: Vec<Vec3> = numbers.chunks_exact(3).map(Vec3::from_slice).collect();
    let mesh = Arc::new(reshaped(&object.mesh, points)?);
    let tets = match &object.tets {
        Some(tets) => Some(Arc::new(TetMesh::new(mesh.points().to_vec(), tets.tetrahedra().to_vec())?)),
        None => None,
    };
    Ok(Object { mesh, tets, ..object.clone() })
}

/// The asset's object with the attribute `name` set to `values`.
pub(crate) fn with_attribute(asset: &Asset, name: &str, values: &[f32]) -> Result<Object, SaveError> {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(letter) {
        return Err(SaveError::Name);
    }
    expect_count(values.len(), asset.object.mesh.point_count())?;
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        return Err(SaveError::NotFinite(at));
    }
    let mut object = asset.object.clone();
    object.attributes.insert(name.to_owned(), values.to_vec());
    Ok(object)
}

/// Writes `object` to `target`; gives the files written.
pub(crate) fn write(asset: &Asset, object: Object, target: &Path, force: bool) -> Result<Vec<PathBuf>, SaveError> {
    let objects = std::iter::once(object).chain(asset.lods.iter().cloned()).collect();
    let scene = Scene { objects, units: asset.units, notes: Vec::new() };
    Ok(dermis::io::write(target, &scene, &WriteOptions { force }, &Silent)?.files)
}

/// `object` as the bytes of a `.glb`, for a download.
pub(crate) fn glb_bytes(asset: &Asset, object: Object) -> Result<Vec<u8>, SaveError> {
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("edited.glb");
    write(asset, object, &target, false)?;
    Ok(std::fs::read(target)?)
}

fn expect_count(found: usize, expected: usize) -> Result<(), SaveError> {
    if found == expected { Ok(()) } else { Err(SaveError::Count { found, expected }) }
}
