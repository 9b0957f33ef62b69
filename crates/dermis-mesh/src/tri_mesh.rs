//! Triangle mesh: the points of a shape and its triangles.
//!
//! Shape operators work on points. A file can split a point into several *vertices* if its UVs, normals or colours differ
//! between faces. This split and all other data on the representation in the file are stored in the [`Layout`].

use glam::Vec3;

use crate::layout::Layout;

/// Points, triangles, and optionally their layout in a file. Always valid: see [`TriMesh::new`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TriMesh {
    points: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    layout: Option<Box<Layout>>,
}

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
    /// Two arrays that must have the same length have not.
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

impl TriMesh {
    /// Creates a mesh of `points` and `triangles`; every coordinate must be finite and every index in range.
    ///
    /// Degenerate triangles are allowed (real files have them), and so is a mesh without triangles (a point cache).
    pub fn new(points: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        expect_indexable("points", points.len())?;
        expect_indexable("triangles", triangles.len())?;
        check_finite(&points)?;
        check_indices("triangle", "point", &triangles, points.len())?;
        Ok(Self { points, triangles, layout: None })
    }

    /// Creates a mesh from points and triangles known to be valid.
    pub(crate) fn new_unchecked(points: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Self {
        Self { points, triangles, layout: None }
    }

    /// Attaches `layout`, whose triangles must be those of this mesh, in the same order.
    pub fn with_layout(mut self, layout: Layout) -> Result<Self, MeshError> {
        layout.check(&self)?;
        self.layout = Some(Box::new(layout));
        Ok(self)
    }

    /// The same topology and layout with other rest positions.
    pub fn with_points(&self, points: Vec<Vec3>) -> Result<Self, MeshError> {
        expect_count("points", points.len(), self.points.len())?;
        check_finite(&points)?;
        Ok(Self { points, triangles: self.triangles.clone(), layout: self.layout.clone() })
    }

    /// The same shape without its layout.
    pub fn without_layout(&self) -> Self {
        Self { points: self.points.clone(), triangles: self.triangles.clone(), layout: None }
    }

    /// Positions of the points.
    pub fn points(&self) -> &[Vec3] {
        &self.points
    }

    /// Triangles, as point indices.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Layout in the file; `None` if every vertex is a point and there are no attributes.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_deref()
    }

    /// Number of points.
    pub fn point_count(&self) -> usize {
        self.points.len()
    }

    /// Number of vertices of the layout; the number of points if there is none.
    pub fn vertex_count(&self) -> usize {
        self.layout().map_or(self.points.len(), |layout| layout.vertex_points.len())
    }

    /// Number of triangles.
    pub fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    /// Corners of the axis-aligned bounding box; both zero if there are no points.
    pub fn bounds(&self) -> (Vec3, Vec3) {
        bounds(&self.points)
    }

    /// Length of the diagonal of [`TriMesh::bounds`].
    pub fn diagonal(&self) -> f32 {
        let (low, high) = self.bounds();
        (high - low).length()
    }
}

/// Corners of the axis-aligned bounding box of `points`; both zero if there are none.
pub fn bounds(points: &[Vec3]) -> (Vec3, Vec3) {
    let Some(&first) = points.first() else {
        return (Vec3::ZERO, Vec3::ZERO);
    };
    points.iter().fold((first, first), |(low, high), &point| (low.min(point), high.max(point)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_a_triangle_with_a_missing_point() {
        let error = TriMesh::new(vec![Vec3::ZERO; 3], vec![[0, 1, 2], [0, 1, 3]]).unwrap_err();
        assert_eq!(error.to_string(), "triangle 1 refers to point 3, but there are only 3");
    }

    #[test]
    fn rejects_a_non_finite_point() {
        let mut points = vec![Vec3::ONE; 3000];
        points[2500].y = f32::NAN;
        assert!(matches!(TriMesh::new(points, vec![]), Err(MeshError::NotFinite { point: 2500, .. })));
    }

    #[test]
    fn bounds_of_no_points_are_zero() {
        assert_eq!(TriMesh::default().bounds(), (Vec3::ZERO, Vec3::ZERO));
    }
}
