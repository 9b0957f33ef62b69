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
    pub buffers: BTreeMap<String, Vec<f32>>,
}
