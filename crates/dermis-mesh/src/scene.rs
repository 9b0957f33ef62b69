//! What a file holds: objects with their shapes and motions, and what the file says about units.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clip::Clip;
use crate::deformer::Deformer;
use crate::pose::bake_lazily;
use crate::rig::Rig;
use crate::sequence::{MeshSequence, SequenceError};
use crate::tet_mesh::TetMesh;
use crate::tri_mesh::TriMesh;

/// The contents of a file.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// The objects, in the file's order.
    pub objects: Vec<Object>,
    /// The units of all positions.
    pub units: Units,
    /// What the reader assumed, left out or repaired, for the user to know.
    pub notes: Vec<Note>,
}

/// One shape and all that is known about its motion.
#[derive(Debug, Clone, Default)]
pub struct Object {
    /// The object's name, or its path inside the file where the format has paths.
    pub name: String,
    /// The rest shape.
    pub mesh: Arc<TriMesh>,
    /// Recorded frames of the mesh. Beside a rig they are the rig's example shapes, one per frame of the first clip.
    pub sequence: Option<MeshSequence>,
    /// What moves the mesh other than recorded frames.
    pub rig: Option<Arc<Rig>>,
    /// Motions of the rig.
    pub clips: Vec<Arc<Clip>>,
    /// Tetrahedra that fill the shape; their nodes are the mesh's points.
    pub tets: Option<Arc<TetMesh>>,
    /// Scalars per point (painted maps, distances, …), by name.
    pub attributes: BTreeMap<String, Vec<f32>>,
    /// Layers that deform the mesh further after its rig or its frames have moved it, in order.
    pub deformers: Vec<Deformer>,
}

impl Object {
    /// A shape that does not move.
    pub fn of_mesh(name: impl Into<String>, mesh: Arc<TriMesh>) -> Self {
        Self { name: name.into(), mesh, ..Self::default() }
    }

    /// A recorded motion.
    pub fn of_sequence(name: impl Into<String>, sequence: MeshSequence) -> Self {
        Self { name: name.into(), mesh: Arc::clone(sequence.mesh()), sequence: Some(sequence), ..Self::default() }
    }

    /// A rigged shape with its motions.
    pub fn of_rig(name: impl Into<String>, mesh: Arc<TriMesh>, rig: Rig, clips: Vec<Clip>) -> Self {
        let clips = clips.into_iter().map(Arc::new).collect();
        Self { name: name.into(), mesh, rig: Some(Arc::new(rig)), clips, ..Self::default() }
    }

    /// The motion below the object's layers: the recorded frames, or the first clip of the rig, posed when read. The
    /// evaluator of the crate `dermis` adds the layers.
    pub fn base_motion(&self) -> Result<Option<MeshSequence>, SequenceError> {
        match (&self.sequence, &self.rig, self.clips.first()) {
            (Some(sequence), _, _) => Ok(Some(sequence.clone())),
            (None, Some(rig), Some(clip)) => bake_lazily(&self.mesh, rig, clip).map(Some),
            _ => Ok(None),
        }
    }
}

/// What the numbers of a file's positions mean; `None` where the file does not say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Units {
    /// The length of one unit in metres.
    pub metres_per_unit: Option<f64>,
    /// Which axis points up.
    pub up_axis: Option<UpAxis>,
}

/// The axis that points up. All formats are right-handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say all")]
pub enum UpAxis {
    X,
    Y,
    Z,
}

/// Something a reader or writer wants its user to know; it travels with the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What, in one sentence without a full stop.
    pub message: String,
    /// Where inside the file: an object's path, a frame, an accessor.
    pub place: Option<String>,
}

impl Note {
    /// A note about the whole file.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), place: None }
    }

    /// A note about a place inside the file.
    pub fn at(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { message: message.into(), place: Some(place.into()) }
    }
}
