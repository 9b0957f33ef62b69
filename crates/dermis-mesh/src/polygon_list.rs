//! Polygons as lists of corners.

use crate::mesh_error::{MeshError, expect_count, expect_indexable};

/// Polygons over vertices: the number of corners of each polygon, and the corners of all polygons concatenated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Polygons {
    /// Number of corners of each polygon.
    pub sizes: Vec<u32>,
    /// Vertices at the corners, concatenated polygon by polygon.
    pub corners: Vec<u32>,
}

impl Polygons {
    /// Corners of each polygon; fewer than its size if corners are missing.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = self.corners.as_slice();
        self.sizes.iter().map(move |&size| {
            let (polygon, tail) = rest.split_at(rest.len().min(size as usize));
            rest = tail;
            polygon
        })
    }

    /// Number of triangles of all polygons.
    pub fn triangle_count(&self) -> usize {
        self.sizes.iter().map(|size| size.saturating_sub(2) as usize).sum()
    }

    /// Checks that every polygon has at least three corners and that all vertices are below `count`.
    pub fn check(&self, count: usize) -> Result<(), MeshError> {
        expect_indexable("polygon corners", self.corners.len())?;
        let mut total = 0usize;
        for (polygon, &size) in self.sizes.iter().enumerate() {
            if size < 3 {
                return Err(MeshError::TooFewCorners { polygon, size: size as usize });
            }
            total = total.saturating_add(size as usize);
        }
        expect_count("polygon corners", self.corners.len(), total)?;
        for (index, polygon) in self.iter().enumerate() {
            for &target in polygon {
                if target as usize >= count {
                    let (element, kind, target) = ("polygon", "vertex", target as usize);
                    return Err(MeshError::IndexOutOfRange { element, index, kind, target, count });
                }
            }
        }
        Ok(())
    }
}
