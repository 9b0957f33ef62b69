//! What else deforms an object: the carrier of layers that no file format knows.
//!
//! A deformer is applied to the points after the rig or the recorded frames have placed them. The crate that made one
//! understands its settings; files only keep them. Several are applied in their order.

use std::collections::BTreeMap;

/// A layer on top of an object's motion.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Deformer {
    /// A JSON object; its member `type` says which layer it describes.
    pub settings: String,
    /// Numbers that are too many for JSON, by name.
    pub buffers: BTreeMap<String, Values>,
}

/// Numbers of one kind.
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
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U16(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The floats; `None` where these are integers.
    pub fn floats(&self) -> Option<&[f32]> {
        match self {
            Self::F32(values) => Some(values),
            _ => None,
        }
    }

    /// The integers, 16 bits widened to 32; `None` where these are floats.
    pub fn integers(&self) -> Option<Vec<u32>> {
        match self {
            Self::F32(_) => None,
            Self::U32(values) => Some(values.clone()),
            Self::U16(values) => Some(values.iter().map(|&value| value.into()).collect()),
        }
    }

    /// Integers in as few bits as hold them all.
    pub fn narrowest(values: &[u32]) -> Self {
        let narrow: Result<_, _> = values.iter().map(|&value| u16::try_from(value)).collect();
        narrow.map_or_else(|_| Self::U32(values.to_vec()), Self::U16)
    }
}

impl From<Vec<f32>> for Values {
    fn from(values: Vec<f32>) -> Self {
        Self::F32(values)
    }
}
