//! Layers of an object, as arrays.
//!
//! `deformers` has the settings of each layer as JSON text, in their order; `deformer0_NAME`, `deformer1_NAME`, … are
//! the buffers of the first, the second, … in their original type (f32, u32 or u16).

use std::collections::BTreeMap;

use dermis_mesh::{Deformer, Object, StoredDeformer, Values};

use crate::error::Error;
use crate::npz::array::Array;
use crate::npz::npy::Kind;
use crate::npz::read::Reader;
use crate::npz::write::{ArrayWriter, MAX_NAME_BYTES};

const SETTINGS: &str = "deformers";
const BUFFER: &str = "deformer";

/// Returns whether an array called `name` belongs to a layer.
pub(super) fn is_key(name: &str) -> bool {
    name == SETTINGS || buffer_of(name).is_some()
}

/// The layer and the buffer that an array called `name` contains.
fn buffer_of(name: &str) -> Option<(usize, &str)> {
    let (layer, buffer) = name.strip_prefix(BUFFER)?.split_once('_')?;
    Some((layer.parse().ok()?, buffer))
}

/// The layers in the archive.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Vec<Deformer>, Error> {
    let Some(settings) = reader.take(SETTINGS)? else { return Ok(Vec::new()) };
    let mut buffers: Vec<BTreeMap<String, Values>> = vec![BTreeMap::new(); settings.len()];
    for name in reader.names() {
        let Some((layer, buffer)) = buffer_of(&name) else { continue };
        let Some(of_layer) = buffers.get_mut(layer) else {
            return Err(Error::malformed(format!("there is no layer {layer}")).at(name));
        };
        if let Some(array) = reader.array(&name)? {
            of_layer.insert(buffer.to_owned(), values(&array)?);
        }
    }
    let layers = settings.texts()?.into_iter().zip(buffers).enumerate().map(|(layer, (text, buffers))| {
        let at_layer = |error: Error| error.at(format!("{SETTINGS}[{layer}]"));
        let settings = serde_json::from_str(&text).map_err(|error| {
            at_layer(Error::malformed(format!("the settings of a layer are not a JSON object: {error}")))
        })?;
        Deformer::decode(StoredDeformer { settings, buffers }).map_err(|error| at_layer(error.into()))
    });
    layers.collect()
}

fn values(array: &Array) -> Result<Values, Error> {
    Ok(match (array.header.dtype.kind, array.header.dtype.size) {
        (Kind::Float, _) => Values::F32(array.floats()?),
        (_, 2) => match Values::narrowest(&array.indices()?) {
            values @ Values::U16(_) => values,
            _ => return Err(Error::malformed("the numbers exceed 16 bits").at(&array.name)),
        },
        _ => Values::U32(array.indices()?),
    })
}

/// Writes the layers of `object`.
pub(super) fn write(writer: &mut ArrayWriter, object: &Object) -> Result<(), Error> {
    if object.deformers.is_empty() {
        return Ok(());
    }
    let mut settings = Vec::new();
    for (layer, deformer) in object.deformers.iter().enumerate() {
        let stored = deformer.encode();
        settings.push(serde_json::Value::Object(stored.settings).to_string());
        for (name, values) in &stored.buffers {
            let name = format!("{BUFFER}{layer}_{name}");
            if name.len() > MAX_NAME_BYTES {
                let message = format!("the layer '{}' has a buffer whose name is too long", deformer.kind());
                return Err(Error::unsupported(message).at(&object.name));
            }
            let (descr, bytes): (_, Vec<u8>) = match values {
                Values::F32(values) => ("<f4", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
                Values::U32(values) => ("<u4", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
                Values::U16(values) => ("<u2", values.iter().flat_map(|value| value.to_le_bytes()).collect()),
            };
            writer.array(&name, descr, &[values.len()], bytes)?;
        }
    }
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    writer.texts(SETTINGS, &settings)
}
