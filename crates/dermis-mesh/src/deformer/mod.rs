//! Layers on top of an object's motion, as data shared by objects, files and the crates that evaluate layers.
//!
//! Layers are applied to the points in order, after the rig or the recorded frames have positioned them. A file
//! contains the stored form of a layer, a JSON object and named buffers. [`Deformer::decode`] and [`Deformer::encode`]
//! are the only conversions between the two forms and the only code with the names of the types.

pub mod dual_quaternions;
pub mod multi_weights;
pub mod volume;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use self::dual_quaternions::{DualQuaternionError, DualQuaternionLayer};
use self::multi_weights::{MultiWeightsError, MultiWeightsLayer};
use self::volume::{EffectsError, VolumeOptions};

const DUAL_QUATERNIONS: &str = "dual_quaternions";
const MULTI_WEIGHTS: &str = "multi_weights";
const VOLUME: &str = "volume";

/// A layer on top of an object's motion.
#[derive(Debug, Clone, PartialEq)]
pub enum Deformer {
    /// Dual quaternions that replace the linear skin (Kavan et al. 2008).
    DualQuaternions(Arc<DualQuaternionLayer>),
    /// Multi-weights that replace the linear skin (Wang & Phillips 2002).
    MultiWeights(Arc<MultiWeightsLayer>),
    /// Constant volume (Rohmer, Hahmann & Cani 2010).
    Volume(Arc<VolumeOptions>),
    /// Layer of another program or a later version: preserved as it was read, and not evaluated.
    Unknown(StoredDeformer),
}

/// Stored form of a layer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredDeformer {
    /// The settings; the member `type` names the kind of the layer.
    pub settings: Map<String, Value>,
    /// Named buffers of numbers, which would be too large for JSON.
    pub buffers: BTreeMap<String, Values>,
}

/// Reasons why a stored layer of a known kind cannot be decoded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeformerError {
    /// Invalid dual quaternions.
    #[error(transparent)]
    DualQuaternions(#[from] DualQuaternionError),
    /// Invalid multi-weights.
    #[error(transparent)]
    MultiWeights(#[from] MultiWeightsError),
    /// Invalid settings of a volume layer.
    #[error("invalid settings of a volume layer: {0}")]
    Volume(String),
}

impl Deformer {
    /// Name of the kind of the layer; empty if an unknown layer has none.
    pub fn kind(&self) -> &str {
        match self {
            Self::DualQuaternions(_) => DUAL_QUATERNIONS,
            Self::MultiWeights(_) => MULTI_WEIGHTS,
            Self::Volume(_) => VOLUME,
            Self::Unknown(stored) => stored.kind().unwrap_or_default(),
        }
    }

    /// Decodes a stored layer. Layers of other kinds become [`Deformer::Unknown`].
    pub fn decode(stored: StoredDeformer) -> Result<Self, DeformerError> {
        match stored.kind() {
            Some(DUAL_QUATERNIONS) => Ok(Self::DualQuaternions(Arc::new(DualQuaternionLayer::decode(stored)?))),
            Some(MULTI_WEIGHTS) => Ok(Self::MultiWeights(Arc::new(MultiWeightsLayer::decode(stored)?))),
            Some(VOLUME) => decode_volume(stored).map(|options| Self::Volume(Arc::new(options))),
            _ => Ok(Self::Unknown(stored)),
        }
    }

    /// Encodes the layer for a file.
    pub fn encode(&self) -> StoredDeformer {
        let mut stored = match self {
            Self::DualQuaternions(layer) => layer.encode(),
            Self::MultiWeights(layer) => layer.encode(),
            Self::Volume(options) => encode_volume(options),
            Self::Unknown(stored) => return stored.clone(),
        };
        stored.settings.insert("type".to_owned(), self.kind().into());
        stored
    }
}

impl From<DualQuaternionLayer> for Deformer {
    fn from(layer: DualQuaternionLayer) -> Self {
        Self::DualQuaternions(Arc::new(layer))
    }
}

impl From<VolumeOptions> for Deformer {
    fn from(options: VolumeOptions) -> Self {
        Self::Volume(Arc::new(options))
    }
}

impl From<MultiWeightsLayer> for Deformer {
    fn from(layer: MultiWeightsLayer) -> Self {
        Self::MultiWeights(Arc::new(layer))
    }
}

impl StoredDeformer {
    fn kind(&self) -> Option<&str> {
        self.settings.get("type")?.as_str()
    }
}

fn decode_volume(mut stored: StoredDeformer) -> Result<VolumeOptions, DeformerError> {
    stored.settings.remove("type");
    let options: VolumeOptions = serde_json::from_value(Value::Object(stored.settings))
        .map_err(|error| DeformerError::Volume(error.to_string()))?;
    options.effects.check().map_err(|EffectsError(reason)| DeformerError::Volume(reason))?;
    Ok(options)
}

fn encode_volume(options: &VolumeOptions) -> StoredDeformer {
    // Options consist of numbers and names, so serialization to a JSON object cannot fail.
    let settings = match serde_json::to_value(options) {
        Ok(Value::Object(settings)) => settings,
        _ => Map::new(),
    };
    StoredDeformer { settings, buffers: BTreeMap::new() }
}

/// Numbers of one type.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Measures.
    F32(Vec<f32>),
    /// Indices and counts.
    U32(Vec<u32>),
    /// Small indices, or the bits of half-precision floats.
    U16(Vec<u16>),
}

impl Values {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U16(values) => values.len(),
        }
    }

    /// Returns true if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The floats; `None` if these are integers.
    pub fn floats(&self) -> Option<&[f32]> {
        match self {
            Self::F32(values) => Some(values),
            _ => None,
        }
    }

    /// The integers, 16 bits widened to 32; `None` if these are floats.
    pub fn integers(&self) -> Option<Vec<u32>> {
        match self {
            Self::F32(_) => None,
            Self::U32(values) => Some(values.clone()),
            Self::U16(values) => Some(values.iter().map(|&value| value.into()).collect()),
        }
    }

    /// Integers in the narrowest type that can represent them all.
    pub fn narrowest(values: &[u32]) -> Self {
        let narrow: Result<_, _> = values.iter().map(|&value| u16::try_from(value)).collect();
        narrow.map_or_else(|_| Self::U32(values.to_vec()), Self::U16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(settings: &str) -> StoredDeformer {
        StoredDeformer { settings: serde_json::from_str(settings).unwrap(), ..StoredDeformer::default() }
    }

    #[test]
    fn an_unknown_layer_is_preserved() {
        for settings in ["{}", "{\"type\":\"melt\",\"strength\":0.1}", "{\"type\":3}"] {
            let stored = StoredDeformer {
                buffers: BTreeMap::from([("heat".to_owned(), Values::F32(vec![0.1, f32::NAN]))]),
                ..stored(settings)
            };
            let layer = Deformer::decode(stored.clone()).unwrap();
            let Deformer::Unknown(kept) = &layer else { panic!("{layer:?}") };
            assert_eq!(kept.settings, stored.settings);
            assert_eq!(format!("{:?}", layer.encode()), format!("{stored:?}"));
        }
    }

    #[test]
    fn a_volume_layer_round_trips() {
        let mut options = VolumeOptions { cap: true, ..VolumeOptions::default() };
        options.effects.push("*elbow*", volume::JointEffect { strength: 0.1, ..Default::default() }).unwrap();
        let layer = Deformer::from(options);
        assert_eq!(layer.encode().settings["type"], VOLUME);
        assert_eq!(Deformer::decode(layer.encode()).unwrap(), layer);
    }

    #[test]
    fn rejects_unknown_settings_of_a_known_layer() {
        for (settings, expected) in [
            ("{\"type\":\"volume\",\"mode\":\"slow\"}", "slow"),
            ("{\"type\":\"volume\",\"wobble\":1}", "wobble"),
            ("{\"type\":\"volume\",\"effects\":[{\"joints\":\"a\",\"settings\":{\"strength\":7}}]}", "must be between"),
            ("{\"type\":\"multi_weights\",\"version\":2}", "version 2"),
        ] {
            let error = Deformer::decode(stored(settings)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
