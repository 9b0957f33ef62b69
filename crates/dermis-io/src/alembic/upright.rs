//! The rotation of a scene with any up axis to Y up.
//!
//! Alembic has no up axis; programs assume Y up. A scene with another one keeps its coordinates: the topmost transforms
//! rotate it, and a mark in the metadata of the archive names its axis, so that the reader of dermis restores it. The matrices
//! contain only 0 and ±1, so that both rotations are exact.

use dermis_mesh::UpAxis;
use glam::{DAffine3, DMat3, DVec3};

use super::archive::Metadata;

/// The up axis of the coordinates below the topmost transforms.
const SOURCE_UP_AXIS_KEY: &str = "dermis_source_up_axis";

/// The rotation from `axis` up to Y up; the identity if the axis is unknown.
pub(super) fn upright(axis: Option<UpAxis>) -> DAffine3 {
    DAffine3::from_mat3(match axis {
        Some(UpAxis::X) => DMat3::from_cols(DVec3::Y, DVec3::NEG_X, DVec3::Z),
        Some(UpAxis::Z) => DMat3::from_cols(DVec3::X, DVec3::NEG_Z, DVec3::Y),
        Some(UpAxis::Y) | None => DMat3::IDENTITY,
    })
}

/// The mark for the metadata of the archive.
pub(super) fn mark(axis: UpAxis) -> String {
    format!("{SOURCE_UP_AXIS_KEY}={axis:?}")
}

/// The axis in the metadata of an archive that dermis has written.
pub(super) fn marked(metadata: &Metadata) -> Option<UpAxis> {
    let text = metadata.get(SOURCE_UP_AXIS_KEY)?;
    [UpAxis::X, UpAxis::Y, UpAxis::Z].into_iter().find(|axis| format!("{axis:?}") == text)
}
