//! Why arrays do not make a mesh, and the checks that all kinds of meshes share.

use glam::Vec3;

/// Why points, triangles, tetrahedra or their layout do not make a mesh.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// A coordinate is NaN or infinite.
    #[error("point {point} has a coordinate that is not finite ({position})")]
    NotFinite {
        /// The offending point.
        point: usize,
        /// Its position.
        position: Vec3,
    },
    /// A face names a point or vertex that does not exist.
    #[error("{element} {index} names {kind} {target}, but there are only {count}")]
    IndexOutOfRange {
        /// `"triangle"`, `"polygon"`, `"tetrahedron"`, `"vertex"` or `"material of triangle"`.
        element: &'static str,
        /// Which of them.
        index: usize,
        /// `"point"`, `"vertex"` or `"material"`.
        kind: &'static str,
        /// The index it names.
        target: usize,
        /// How many there are.
        count: usize,
    },
    /// Two arrays that must be equally long are not.
    #[error("there are {found} {what}, but there should be {expected}")]
    CountMismatch {
        /// What was counted, in words.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// A polygon has fewer than three corners.
    #[error("polygon {polygon} has {size} corners; a polygon needs at least 3")]
    TooFewCorners {
        /// The offending polygon.
        polygon: usize,
        /// Its number of corners.
        size: usize,
    },
    /// More points, triangles or corners than 32-bit indices can name.
    #[error("{count} {what} are more than 32-bit indices can name")]
    TooMany {
        /// What was counted, in words.
        what: &'static str,
        /// How many there are.
        count: usize,
    },
    /// A triangle over vertices does not stand for the triangle over points at the same place.
    #[error("triangle {triangle} joins other points by its vertices than by its points")]
    LayoutDisagrees {
        /// The offending triangle.
        triangle: usize,
    },
}

/// The first point that is not finite, if any.
pub fn first_not_finite(points: &[Vec3]) -> Option<usize> {
    // One branch per block keeps the scan at memory speed.
    const BLOCK: usize = 1024;
    points.chunks(BLOCK).enumerate().find_map(|(block, chunk)| {
        let finite = chunk.iter().fold(true, |finite, point| finite & point.is_finite());
        if finite { None } else { chunk.iter().position(|point| !point.is_finite()).map(|at| block * BLOCK + at) }
    })
}

pub(crate) fn check_finite(points: &[Vec3]) -> Result<(), MeshError> {
    match first_not_finite(points) {
        Some(point) => Err(MeshError::NotFinite { point, position: points[point] }),
        None => Ok(()),
    }
}

pub(crate) fn check_indices<const K: usize>(
    element: &'static str,
    kind: &'static str,
    faces: &[[u32; K]],
    count: usize,
) -> Result<(), MeshError> {
    for (index, face) in faces.iter().enumerate() {
        for &target in face {
            if target as usize >= count {
                return Err(MeshError::IndexOutOfRange { element, index, kind, target: target as usize, count });
            }
        }
    }
    Ok(())
}

pub(crate) fn expect_nameable(what: &'static str, count: usize) -> Result<(), MeshError> {
    // The largest index is left free to mean "none".
    if count < u32::MAX as usize { Ok(()) } else { Err(MeshError::TooMany { what, count }) }
}

pub(crate) fn expect_count(what: &'static str, found: usize, expected: usize) -> Result<(), MeshError> {
    if found == expected { Ok(()) } else { Err(MeshError::CountMismatch { what, found, expected }) }
}
