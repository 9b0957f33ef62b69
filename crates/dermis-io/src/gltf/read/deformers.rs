//! The extension `DERMIS_deformers` of a node; see the writer.

use std::collections::BTreeMap;

use dermis_mesh::{Deformer, StoredDeformer};
use serde_json::{Map, Value};

use super::document::Document;
use crate::error::Error;
use crate::gltf::DEFORMERS;

/// The layers of `node`; empty if it has none.
pub(super) fn read_deformers(document: &Document<'_>, node: usize) -> Result<Vec<Deformer>, Error> {
    let Some(list) = &document.root.nodes[node].extensions.deformers else { return Ok(Vec::new()) };
    let items = list.get("deformers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let at_node = |error: Error| error.at(format!("nodes[{node}].extensions.{DEFORMERS}"));
    items.map(|item| read_deformer(document, item).map_err(at_node)).collect()
}

fn read_deformer(document: &Document<'_>, item: &Map<String, Value>) -> Result<Deformer, Error> {
    let mut item = item.clone();
    let mut buffers = BTreeMap::new();
    if let Some(Value::Object(accessors)) = item.remove("buffers") {
        for (name, accessor) in accessors {
            let Some(accessor) = accessor.as_u64() else {
                return Err(Error::malformed(format!("the buffer '{name}' has no accessor")));
            };
            buffers.insert(name, document.values(accessor as usize)?);
        }
    }
    Ok(Deformer::decode(StoredDeformer { settings: item, buffers })?)
}
