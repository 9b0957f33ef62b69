//! Layers that are not part of glTF, in the extension `DERMIS_deformers` of the object's node: a list of their
//! settings, each with accessors for its numbers under `buffers`. The extension is used, not required: other viewers
//! play the motion without layers.

use dermis_mesh::{Object, StoredDeformer, Values};
use serde_json::{Map, Value, json};

use super::Writer;
use super::file::Usage;
use crate::error::Error;
use crate::gltf::DEFORMERS;
use crate::gltf::schema::Node;

impl Writer<'_> {
    /// Adds the object's layers to its node.
    pub(super) fn deformers(&mut self, object: &Object, node: &mut Node) -> Result<(), Error> {
        let mut list = Vec::new();
        for deformer in &object.deformers {
            let StoredDeformer { settings: mut item, buffers: stored } = deformer.encode();
            let mut buffers = Map::new();
            for (name, values) in stored.iter().filter(|(_, values)| !values.is_empty()) {
                buffers.insert(name.clone(), self.values(values)?.into());
            }
            if !buffers.is_empty() {
                item.insert("buffers".into(), Value::Object(buffers));
            }
            list.push(Value::Object(item));
        }
        if !list.is_empty() {
            node.extensions.deformers = Some(json!({ "deformers": list }));
            self.extensions.insert(DEFORMERS);
        }
        Ok(())
    }

    /// An accessor with `values`.
    fn values(&mut self, values: &Values) -> Result<usize, Error> {
        match values {
            Values::F32(values) => self.file.accessor(values, Usage::Other),
            Values::U32(values) => self.file.accessor(values, Usage::Other),
            Values::U16(values) => self.file.accessor(values, Usage::Other),
        }
    }
}
