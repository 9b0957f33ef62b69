//! A triangle mesh: the points of a shape and the triangles between them.
//!
//! Points are what shape is made of; a file may split a point into several *vertices* where UVs, normals or colours
//! jump. That split, and everything else that concerns only how a file presents the shape, is the [`Layout`].

use glam::Vec3;

use crate::layout::Layout;
use crate::mesh_error::{check_finite, check_indices, expect_nameable};

pub use crate::mesh_error::{MeshError, first_not_finite};

/// Points, triangles, and optionally how a file presents them. Always valid: see [`TriMesh::new`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TriMesh {
    points: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    layout: Option<Box<Layout>>,
}

impl TriMesh {
    /// A mesh of `points` and `triangles`; every coordinate must be finite and every index in range.
    ///
    /// Degenerate triangles are allowed (real files have them), and so is a mesh without triangles (a point cache).
    pub fn new(points: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Result<Self, MeshError> {
        expect_nameable("points", points.len())?;
        expect_nameable("triangles", triangles.len())?;
        check_finite(&points)?;
        check_indices("triangle", "point", &triangles, points.len())?;
        Ok(Self { points, triangles, layout: None })
    }

    /// For callers whose points and triangles come out of a valid mesh.
    pub(crate) fn new_unchecked(points: Vec<Vec3>, triangles: Vec<[u32; 3]>) -> Self {
        Self { points, triangles, layout: None }
    }

    /// The same shape, presented by `layout`; its triangles must be those of this mesh, in the same order.
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

    /// The positions of the points.
    pub fn points(&self) -> &[Vec3] {
        &self.points
    }

    /// The triangles, as indices of points.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// How a file presents the mesh; `None` where every vertex is a point and nothing else is known.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_deref()
    }

    /// The number of points.
    pub fn point_count(&self) -> usize {
        self.points.len()
    }

    /// The number of vertices a file needs: points, or more where the layout splits them.
    pub fn vertex_count(&self) -> usize {
        self.layout().map_or(self.points.len(), |layout| layout.vertex_points.len())
    }

    /// The number of triangles.
    pub fn triangle_count(&self) -> usize {
        self.triangles.len()
    }

    /// The corners of the axis-aligned box around the points; both zero where there are none.
    pub fn bounds(&self) -> (Vec3, Vec3) {
        bounds(&self.points)
    }

    /// The length of the diagonal of [`TriMesh::bounds`].
    pub fn diagonal(&self) -> f32 {
        let (low, high) = self.bounds();
        (high - low).length()
    }
}

impl Layout {
    /// The layout of a mesh whose vertices are its points.
    pub fn plain(mesh: &TriMesh) -> Self {
        let vertex_points = (0..mesh.point_count() as u32).collect();
        Self { vertex_points, triangles: mesh.triangles().to_vec(), ..Self::default() }
    }
}

/// The corners of the axis-aligned box around `points`; both zero where there are none.
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
    fn rejects_a_triangle_that_names_a_missing_point() {
        let error = TriMesh::new(vec![Vec3::ZERO; 3], vec![[0, 1, 2], [0, 1, 3]]).unwrap_err();
        assert_eq!(error.to_string(), "triangle 1 names point 3, but there are only 3");
    }

    #[test]
    fn rejects_a_point_that_is_not_finite() {
        let mut points = vec![Vec3::ONE; 3000];
        points[2500].y = f32::NAN;
        assert!(matches!(TriMesh::new(points, vec![]), Err(MeshError::NotFinite { point: 2500, .. })));
    }

    #[test]
    fn bounds_of_nothing_are_zero() {
        assert_eq!(TriMesh::default().bounds(), (Vec3::ZERO, Vec3::ZERO));
    }
}
