//! Normals of a posed surface, computed in parallel with a fixed order of sums.

use dermis_mesh::TriMesh;
use dermis_mesh::adjacency::{Lists, point_triangles};
use dermis_mesh::geometry::point_normals;
use glam::Vec3;
use rayon::prelude::*;

/// Minimum number of points or triangles per task.
const MIN_TASK: usize = 4096;

/// Triangles of each point.
#[derive(Debug)]
pub(super) struct SurfaceNormals {
    triangles: Vec<[u32; 3]>,
    around: Lists,
    /// Normals of points at which the posed surface has none.
    rest: Vec<Vec3>,
}

impl SurfaceNormals {
    pub(super) fn new(mesh: &TriMesh) -> Self {
        Self {
            triangles: mesh.triangles().to_vec(),
            around: point_triangles(mesh.point_count(), mesh.triangles()),
            rest: point_normals(mesh.points(), mesh.triangles()),
        }
    }

    /// Writes the unit normals of points at `positions` to `normals`; `areas` is a buffer that is reused.
    pub(super) fn of_frame(&self, positions: &[Vec3], areas: &mut Vec<Vec3>, normals: &mut [Vec3]) {
        assert_eq!(normals.len(), self.rest.len(), "one normal per point");
        areas.resize(self.triangles.len(), Vec3::ZERO);
        areas.par_chunks_mut(MIN_TASK).zip(self.triangles.par_chunks(MIN_TASK)).for_each(|(areas, triangles)| {
            for (area, triangle) in areas.iter_mut().zip(triangles) {
                let [a, b, c] = triangle.map(|point| positions[point as usize]);
                *area = (b - a).cross(c - a);
            }
        });
        let areas = &*areas;
        normals.par_chunks_mut(MIN_TASK).enumerate().for_each(|(task, normals)| {
            for (point, normal) in (task * MIN_TASK..).zip(normals) {
                let sum: Vec3 = self.around.of(point).iter().map(|&triangle| areas[triangle as usize]).sum();
                *normal = sum.try_normalize().unwrap_or(self.rest[point]);
            }
        });
    }
}
