//! Closed surface for the volume computation: each boundary loop is capped with a fan of triangles around its centre.
//!
//! The centres are additional points, stored after those of the mesh. A centre is the mean of its loop, so the volume
//! remains linear in each coordinate and the correction remains exact.

use dermis_mesh::TriMesh;
use dermis_mesh::adjacency::Edges;
use dermis_mesh::boundary::{boundary_loops, is_closed};
use glam::DVec3;

use super::error::{Loop, VolumeError};

/// Triangles of a mesh and of its caps, oriented outwards.
#[derive(Debug, Clone)]
pub struct ClosedSurface {
    point_count: usize,
    triangles: Vec<[u32; 3]>,
    loops: Vec<Vec<u32>>,
    /// 1, or −1 if the faces of the mesh point inwards.
    orientation: f32,
}

impl ClosedSurface {
    /// Builds the surface of `mesh`. An open mesh is an error unless `cap` is set.
    pub fn new(mesh: &TriMesh, cap: bool) -> Result<Self, VolumeError> {
        let point_count = mesh.point_count();
        let mut triangles = mesh.triangles().to_vec();
        let edges = Edges::new(point_count, &triangles);
        if is_closed(&edges) {
            return Ok(Self { point_count, triangles, loops: Vec::new(), orientation: 1.0 });
        }
        let loops = boundary_loops(&edges);
        if triangles.is_empty() || loops.is_empty() {
            return Err(VolumeError::NotASolid);
        }
        if !cap {
            return Err(VolumeError::Open {
                loops: loops.iter().map(|points| Loop::of(points, mesh.points())).collect(),
            });
        }
        for (number, ring) in loops.iter().enumerate() {
            let center = (point_count + number) as u32;
            let sides = ring.iter().zip(ring.iter().cycle().skip(1));
            triangles.extend(sides.map(|(&from, &to)| [to, from, center]));
        }
        if !is_closed(&Edges::new(point_count + loops.len(), &triangles)) {
            return Err(VolumeError::NotASolid);
        }
        Ok(Self { point_count, triangles, loops, orientation: 1.0 })
    }

    /// Reverses the orientation of all triangles.
    pub(super) fn reversed(mut self) -> Self {
        for triangle in &mut self.triangles {
            triangle.swap(1, 2);
        }
        self.orientation = -self.orientation;
        self
    }

    /// 1, or −1 if the faces of the mesh point inwards.
    pub(super) fn orientation(&self) -> f32 {
        self.orientation
    }

    /// Triangles, oriented outwards; those of the caps are last.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Boundary loops that were capped.
    pub fn loops(&self) -> &[Vec<u32>] {
        &self.loops
    }

    /// Number of points of the mesh, without the centres of the caps.
    pub fn point_count(&self) -> usize {
        self.point_count
    }

    /// Points of the mesh, followed by the centres of the loops.
    pub(super) fn with_centers(&self, points: impl Iterator<Item = DVec3>) -> Vec<DVec3> {
        let mut all = Vec::new();
        self.fill(&mut all, points);
        all
    }

    /// Moves the centres of the loops to the means of their points.
    pub(super) fn follow(&self, all: &mut [DVec3]) {
        for (number, ring) in self.loops.iter().enumerate() {
            let sum: DVec3 = ring.iter().map(|&point| all[point as usize]).sum();
            all[self.point_count + number] = sum / ring.len() as f64;
        }
    }

    /// Writes the points of the mesh and the centres of the loops into `all`.
    pub(super) fn fill(&self, all: &mut Vec<DVec3>, points: impl Iterator<Item = DVec3>) {
        all.clear();
        all.extend(points);
        all.resize(self.point_count + self.loops.len(), DVec3::ZERO);
        self.follow(all);
    }
}
