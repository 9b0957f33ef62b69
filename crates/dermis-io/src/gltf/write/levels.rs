//! Levels of detail, in the extension `MSFT_lod`: nodes outside the scene, each with a coarser mesh on the same skin,
//! that replace the object's node at a distance. The extension is used, not required: other viewers show the full mesh.

use dermis_mesh::Object;

use super::Writer;
use super::file::push;
use super::object::{Carried, shape_names};
use super::skin::write_influences;
use super::surface::Surface;
use crate::error::Error;
use crate::gltf::LEVELS;
use crate::gltf::schema::{Extras, Lod, Mesh, MeshMark, Node};

impl Writer<'_> {
    /// Writes the levels of `object`, whose full mesh is at the node `full`.
    pub(super) fn levels(&mut self, object: &Object, carried: &Carried, full: usize) -> Result<(), Error> {
        let mut ids = Vec::with_capacity(object.levels.len());
        for number in 0..object.levels.len() {
            let level = object.at_level(number)?;
            let name = format!("{} LOD{}", object.name, number + 1);
            let mesh = self.level_mesh(&level, carried, &name, full)?;
            let Node { skin, matrix, .. } = self.file.root.nodes[full].clone();
            let node =
                push(&mut self.file.root.nodes, Node { name, mesh: Some(mesh), skin, matrix, ..Node::default() });
            if let Some(rig) = &level.rig {
                self.animate_shapes(object, rig, &carried.animations, node)?;
            }
            ids.push(node);
        }
        if !ids.is_empty() {
            self.file.root.nodes[full].extensions.lod = Some(Lod { ids });
            self.extensions.insert(LEVELS);
        }
        Ok(())
    }

    fn level_mesh(&mut self, level: &Object, carried: &Carried, name: &str, full: usize) -> Result<usize, Error> {
        let surface = Surface::new(&level.mesh);
        let mut attributes = self.attributes(level, &surface)?;
        let mut extras = Extras::default();
        let mut targets = Vec::new();
        if let Some(rig) = &level.rig {
            if !rig.joints().is_empty() && carried.part.is_none() {
                // The notes would repeat those of the full mesh.
                write_influences(&mut self.file, &mut attributes, rig, &surface, name, &mut Vec::new())?;
            }
            extras.target_names = shape_names(rig);
            targets = self.shape_targets(rig, &surface)?;
        }
        if surface.marked {
            extras.dermis = Some(MeshMark::default());
        }
        let weights = match self.file.root.nodes[full].mesh {
            Some(mesh) => self.file.root.meshes[mesh].weights.clone(),
            None => Vec::new(),
        };
        let primitives = self.primitives(&surface, &attributes, &targets)?;
        Ok(push(&mut self.file.root.meshes, Mesh { name: name.to_owned(), primitives, weights, extras }))
    }
}
