//! The normals of a posed surface, in parallel and without sums whose order could change.

use dermis_mesh::TriMesh;
use dermis_mesh::adjacency::{Lists, point_triangles};
use dermis_mesh::geometry::point_normals;
use glam::Vec3;
use rayon::prelude::*;

/// Points or triangles that are worth a task of their own.
const TASK: usize = 4096;

/// The triangles around each point.
#[derive(Debug)]
pub(super) struct SurfaceNormals {
    triangles: Vec<[u32; 3]>,
    around: Lists,
    /// Where the posed surface has no normal.
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

    /// Puts the unit normals of the points, which are at `positions`, into `normals`; `areas` is memory to keep.
    pub(super) fn of_frame(&self, positions: &[Vec3], areas: &mut Vec<Vec3>, normals: &mut [Vec3]) {
        assert_eq!(normals.len(), self.rest.len(), "the buffer holds all normals");
        areas.resize(self.triangles.len(), Vec3::ZERO);
        areas.par_chunks_mut(TASK).zip(self.triangles.par_chunks(TASK)).for_each(|(areas, triangles)| {
            for (area, triangle) in areas.iter_mut().zip(triangles) {
                let [a, b, c] = triangle.map(|point| positions[point as usize]);
                *area = (b - a).cross(c - a);
            }
        });
        let areas = &*areas;
        normals.par_chunks_mut(TASK).enumerate().for_each(|(task, normals)| {
            for (point, normal) in (task * TASK..).zip(normals) {
                let sum: Vec3 = self.around.of(point).iter().map(|&triangle| areas[triangle as usize]).sum();
                *normal = sum.try_normalize().unwrap_or(self.rest[point]);
            }
        });
    }
}
