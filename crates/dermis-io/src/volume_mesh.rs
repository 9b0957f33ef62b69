//! Common parts of the formats of volume meshes: nodes, tetrahedra, and faces if there are no tetrahedra.

use std::sync::Arc;

use dermis_mesh::{Object, PolygonMesh, Polygons, TetMesh};
use glam::Vec3;

use crate::error::Error;

/// The parts of a volume mesh that are read.
#[derive(Debug, Default)]
pub(crate) struct VolumeMesh {
    pub nodes: Vec<Vec3>,
    pub triangles: Vec<[u32; 3]>,
    pub quads: Vec<[u32; 4]>,
    pub tetrahedra: Vec<[u32; 4]>,
}

impl VolumeMesh {
    /// The object: with tetrahedra its shape is their boundary over all nodes, oriented outwards, and the faces of the
    /// file are not used; without tetrahedra, the faces of the file are the shape.
    pub(crate) fn into_object(self, name: &str) -> Result<Object, Error> {
        let mut object = Object { name: name.to_owned(), ..Object::default() };
        if self.tetrahedra.is_empty() {
            let sizes = [vec![3; self.triangles.len()], vec![4; self.quads.len()]].concat();
            let corners = [self.triangles.as_flattened(), self.quads.as_flattened()].concat();
            let polygons = Polygons { sizes, corners };
            let mesh = PolygonMesh { points: self.nodes, polygons, ..PolygonMesh::default() };
            object.mesh = Arc::new(mesh.into_tri_mesh()?);
        } else {
            let tets = TetMesh::new(self.nodes, self.tetrahedra)?;
            object.mesh = Arc::new(tets.surface());
            object.tets = Some(Arc::new(tets));
        }
        Ok(object)
    }
}
