//! Polygons as lists of corners.

use crate::mesh_error::{MeshError, expect_count, expect_nameable};

/// Polygons over some set of vertices: how many corners each has, and the corners of all of them in a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Polygons {
    /// The number of corners of each polygon.
    pub sizes: Vec<u32>,
    /// The vertices at the corners, polygon after polygon.
    pub corners: Vec<u32>,
}

impl Polygons {
    /// The corners of each polygon; fewer than its size where corners are missing.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let mut rest = self.corners.as_slice();
        self.sizes.iter().map(move |&size| {
            let (polygon, tail) = rest.split_at(rest.len().min(size as usize));
            rest = tail;
            polygon
        })
    }

    /// How many triangles the polygons are cut into.
    pub fn triangle_count(&self) -> usize {
        self.sizes.iter().map(|size| size.saturating_sub(2) as usize).sum()
    }

    /// Checks that every polygon has at least three corners, all below `count`.
    pub fn check(&self, count: usize) -> Result<(), MeshError> {
        expect_nameable("corners of polygons", self.corners.len())?;
        let mut total = 0usize;
        for (polygon, &size) in self.sizes.iter().enumerate() {
            if size < 3 {
                return Err(MeshError::TooFewCorners { polygon, size: size as usize });
            }
            total = total.saturating_add(size as usize);
        }
        expect_count("corners of polygons", self.corners.len(), total)?;
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
