//! Errors of invalid meshes, and the checks that all kinds of meshes share.

use glam::Vec3;

/// Invalid points, triangles, tetrahedra or layout.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// A coordinate is NaN or infinite.
    #[error("point {point} has a non-finite coordinate ({position})")]
    NotFinite {
        /// The offending point.
        point: usize,
        /// Its position.
        position: Vec3,
    },
    /// A face refers to a point or vertex that does not exist.
    #[error("{element} {index} refers to {kind} {target}, but there are only {count}")]
    IndexOutOfRange {
        /// `"triangle"`, `"polygon"`, `"tetrahedron"`, `"vertex"` or `"material of triangle"`.
        element: &'static str,
        /// Index of the offending element.
        index: usize,
        /// `"point"`, `"vertex"` or `"material"`.
        kind: &'static str,
        /// The index it refers to.
        target: usize,
        /// Number of elements of this kind.
        count: usize,
    },
    /// Two arrays that must have the same length differ in length.
    #[error("expected {expected} {what}, found {found}")]
    CountMismatch {
        /// Description of the counted elements.
        what: &'static str,
        /// Actual number.
        found: usize,
        /// Required number.
        expected: usize,
    },
    /// A polygon has fewer than three corners.
    #[error("polygon {polygon} has {size} corners: at least 3 are required")]
    TooFewCorners {
        /// The offending polygon.
        polygon: usize,
        /// Its number of corners.
        size: usize,
    },
    /// The number of points, triangles or corners exceeds the range of 32-bit indices.
    #[error("too many {what}: {count} exceed the range of 32-bit indices")]
    TooMany {
        /// Description of the counted elements.
        what: &'static str,
        /// Actual number.
        count: usize,
    },
    /// A triangle of the layout refers to other points than the triangle of the mesh with the same index.
    #[error("triangle {triangle} has different points in the layout and in the mesh")]
    LayoutMismatch {
        /// The offending triangle.
        triangle: usize,
    },
}

/// Index of the first point that is not finite.
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

pub(crate) fn expect_indexable(what: &'static str, count: usize) -> Result<(), MeshError> {
    // The largest index is reserved for "none".
    if count < u32::MAX as usize { Ok(()) } else { Err(MeshError::TooMany { what, count }) }
}

pub(crate) fn expect_count(what: &'static str, found: usize, expected: usize) -> Result<(), MeshError> {
    if found == expected { Ok(()) } else { Err(MeshError::CountMismatch { what, found, expected }) }
}
