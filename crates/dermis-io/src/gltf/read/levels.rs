//! Levels of detail in the extension `MSFT_lod`: nodes with coarser meshes, which replace a node at a distance.

use std::sync::Arc;

use dermis_mesh::{Level, Note, Object};

use super::document::missing;
use super::object::{Builder, Carrier, Source};
use crate::error::Error;
use crate::gltf::LEVELS;

impl Builder<'_> {
    /// The levels of detail of `object`, which `node` places. A level without a mesh of its own, or with other shapes or
    /// another skin than the object, is skipped with a note.
    pub(super) fn levels(&mut self, node: usize, object: &Object) -> Result<Vec<Level>, Error> {
        let root = &self.document.root;
        let ids = root.nodes[node].extensions.lod.as_ref().map_or_else(Vec::new, |lod| lod.ids.clone());
        let mut levels = Vec::new();
        for id in ids {
            let found = root.nodes.get(id).ok_or_else(|| missing("node", id, root.nodes.len()))?;
            let is_same_skin = found.skin == root.nodes[node].skin;
            let level = match found.mesh.filter(|_| is_same_skin) {
                Some(mesh) => self.level(node, mesh, object).map_err(|error| error.at(format!("nodes[{id}]")))?,
                None => None,
            };
            match level {
                Some(level) => levels.push(level),
                None => {
                    self.document.note(Note::at(&object.name, format!("{LEVELS}: the level at node {id} is skipped")))
                }
            }
        }
        Ok(levels)
    }

    fn level(&mut self, node: usize, mesh: usize, object: &Object) -> Result<Option<Level>, Error> {
        let geometry = self.geometry(mesh)?;
        if geometry.positions.is_empty() {
            return Ok(None);
        }
        let skin = self.document.root.nodes[node].skin.and_then(|skin| self.skins.get(&skin));
        let skin = skin.filter(|_| !geometry.influences.is_empty()).map(|&number| &self.skeletons.skins[number]);
        let source = Source { node, mesh, geometry: &geometry, skin };
        let (carrier, placement) = self.carrier(&source);
        let shape = Arc::new(self.placed(&geometry, placement)?);
        let gather =
            |values: &Vec<f32>| geometry.weld.point_vertices.iter().map(|&vertex| values[vertex as usize]).collect();
        let attributes = geometry.scalars.iter().map(|(name, values)| (name.clone(), gather(values))).collect();
        let mut level = Level { mesh: Arc::clone(&shape), attributes, ..Level::default() };
        let is_rigged = !matches!(carrier, Carrier::Nothing) || !geometry.targets.is_empty();
        match (&object.rig, is_rigged) {
            (Some(full), true) => {
                let (rig, _) = self.rig(&source, &carrier, placement, &shape)?;
                if rig.joints().len() != full.joints().len() || rig.shapes().len() != full.shapes().len() {
                    return Ok(None);
                }
                level.weights = rig.weights().clone();
                level.shapes = rig.shapes().to_vec();
            }
            (None, false) => {}
            _ => return Ok(None),
        }
        Ok(Some(level))
    }
}
