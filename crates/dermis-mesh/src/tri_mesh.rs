//! Triangle mesh: the points of a shape and its triangles.
//!
//! Shape operators work on points. A file can split a point into several *vertices* if its UVs, normals or colours differ
//! between faces. This split and all other properties of the representation in the file are stored in the [`Layout`].

use glam::Vec3;

use crate::layout::Layout;
use crate::mesh_error::{check_finite, check_indices, expect_count, expect_indexable};

pub use crate::mesh_error::{MeshError, first_not_finite};

/// Points, triangles, and optionally their layout in a file. Always valid: see [`TriMesh::new`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TriMesh {
    points: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    layout: Option<Box<Layout>>,
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
        layout.check(self.points.len(), &self.triangles)?;
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

impl Layout {
    /// Layout of a mesh whose vertices are its points.
    pub fn plain(mesh: &TriMesh) -> Self {
        let vertex_points = (0..mesh.point_count() as u32).collect();
        Self { vertex_points, triangles: mesh.triangles().to_vec(), ..Self::default() }
    }
}

/// Corners of the axis-aligned bounding box of `points`; both zero if there are none.
pub fn bounds(points: &[Vec3]) -> (Vec3, Vec3) {
    let Some(&first) = points.first() else {
        return (Vec3::ZERO, Vec3::ZERO);
    };
    points.iter().fold((first, first), |(low, high), &point| (low.min(point), high.max(point)))
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
