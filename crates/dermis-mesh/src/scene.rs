//! Contents of a file: objects with their shapes and motions, and the units of the file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use glam::Vec3;

use crate::clip::Clip;
use crate::deformer::Deformer;
use crate::pose::{bake_lazily, pose_with};
use crate::rig::{Rig, RigError, RigPose, Shape, SkinWeights};
use crate::sequence::{DEFAULT_FRAME_RATE_HZ, MeshSequence, SequenceError};
use crate::tet_mesh::TetMesh;
use crate::tri_mesh::TriMesh;

/// The contents of a file.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// The objects, in the file's order.
    pub objects: Vec<Object>,
    /// The units of all positions.
    pub units: Units,
    /// Assumptions, omissions and repairs of the reader, for the user.
    pub notes: Vec<Note>,
}

impl Scene {
    /// Shares equal joints and joint transforms of rigs and clips in memory.
    pub fn share_skeletons(&mut self) {
        let mut rigs: Vec<Arc<Rig>> = Vec::new();
        let mut clips: Vec<Arc<Clip>> = Vec::new();
        for object in &mut self.objects {
            let Some(rig) = object.rig.as_mut().filter(|rig| !rig.joints().is_empty()) else { continue };
            match rigs.iter().find(|known| known.joints() == rig.joints() && known.has_skeleton_of(rig)) {
                Some(known) => {
                    if !Arc::ptr_eq(known.shared_joints(), rig.shared_joints()) {
                        Arc::make_mut(rig).share_joints_of(known);
                    }
                }
                None => rigs.push(Arc::clone(rig)),
            }
            for clip in &mut object.clips {
                match clips.iter().find(|known| known.moves_joints_like(clip)) {
                    Some(known) => {
                        if !Arc::ptr_eq(known.shared_transforms(), clip.shared_transforms()) {
                            Arc::make_mut(clip).share_transforms_of(known);
                        }
                    }
                    None => clips.push(Arc::clone(clip)),
                }
            }
        }
    }
}

/// A shape and its motion.
#[derive(Debug, Clone, Default)]
pub struct Object {
    /// Name of the object, or its path inside the file if the format has paths.
    pub name: String,
    /// The rest shape in scene space; of a rigged object, the shape in its bind pose. See [`Object::rest_points`].
    pub mesh: Arc<TriMesh>,
    /// Recorded frames of the mesh. If the object has a rig, they are its example shapes, one per frame of the first
    /// clip.
    pub sequence: Option<MeshSequence>,
    /// Rig that moves the mesh.
    pub rig: Option<Arc<Rig>>,
    /// Motions of the rig. Clip k of every rigged object of a scene is the scene's clip k, with the same frames.
    pub clips: Vec<Arc<Clip>>,
    /// Tetrahedra that fill the shape; their nodes are the mesh's points.
    pub tets: Option<Arc<TetMesh>>,
    /// Attributes of the points (painted maps, distances, …), by name.
    pub attributes: BTreeMap<String, Vec<f32>>,
    /// Layers that deform the mesh after its rig or its frames, in order.
    pub deformers: Vec<Deformer>,
    /// Coarser versions of the mesh, from fine to coarse.
    pub levels: Vec<Level>,
}

/// A level of detail: a coarser version of an object's mesh, moved by the same joints and clips.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Level {
    /// The rest shape, in the space of the object's mesh.
    pub mesh: Arc<TriMesh>,
    /// Weights of the joints of the object's rig; empty if it has no joints.
    pub weights: SkinWeights,
    /// The shapes of the object's rig, for this mesh.
    pub shapes: Vec<Shape>,
    /// The attributes of the object, for this mesh.
    pub attributes: BTreeMap<String, Vec<f32>>,
}

impl Object {
    /// The object with the mesh of level `level` (0 is the first below the full mesh), and without levels.
    ///
    /// Fails if the level does not belong to the object's rig.
    pub fn at_level(&self, level: usize) -> Result<Self, RigError> {
        let Some(Level { mesh, weights, shapes, attributes }) = self.levels.get(level).cloned() else {
            return Err(RigError::CountMismatch {
                what: "levels of detail",
                found: self.levels.len(),
                expected: level + 1,
            });
        };
        let rig = match &self.rig {
            Some(rig) => {
                crate::rig::expect_length("shapes of a level", shapes.len(), rig.shapes().len())?;
                let own = Rig::sharing(&mesh, Arc::clone(rig.shared_joints()), weights, shapes)?;
                Some(Arc::new(match rig.stored_pose() {
                    Some(pose) => own.with_stored_pose(pose.clone())?,
                    None => own,
                }))
            }
            None => None,
        };
        let levels = Vec::new();
        Ok(Self { mesh, rig, attributes, levels, sequence: None, tets: None, ..self.clone() })
    }

    /// Creates a static object.
    pub fn of_mesh(name: impl Into<String>, mesh: Arc<TriMesh>) -> Self {
        Self { name: name.into(), mesh, ..Self::default() }
    }

    /// Creates an object with a recorded motion.
    pub fn of_sequence(name: impl Into<String>, sequence: MeshSequence) -> Self {
        Self { name: name.into(), mesh: Arc::clone(sequence.mesh()), sequence: Some(sequence), ..Self::default() }
    }

    /// Creates a rigged object with its motions.
    pub fn of_rig(name: impl Into<String>, mesh: Arc<TriMesh>, rig: Rig, clips: Vec<Clip>) -> Self {
        let clips = clips.into_iter().map(Arc::new).collect();
        Self { name: name.into(), mesh, rig: Some(Arc::new(rig)), clips, ..Self::default() }
    }

    /// The points that a viewer shows when no clip plays: those of the mesh in the stored pose of its rig.
    pub fn rest_points(&self) -> Cow<'_, [Vec3]> {
        let posed = self.rig.as_ref().and_then(|rig| Some((rig, rig.stored_pose()?)));
        let Some((rig, pose)) = posed else { return Cow::Borrowed(self.mesh.points()) };
        let mut points = vec![Vec3::ZERO; self.mesh.point_count()];
        let RigPose { transforms, shape_weights } = pose;
        match self.deformers.first() {
            Some(Deformer::DualQuaternions(layer)) if layer.fits(points.len()) => {
                layer.pose_with(&self.mesh, rig, transforms, shape_weights, &mut points);
            }
            _ => pose_with(&self.mesh, rig, transforms, shape_weights, &mut points),
        }
        Cow::Owned(points)
    }

    /// The stored pose as a clip of one frame; `None` if it is the bind pose.
    pub fn stored_clip(&self) -> Option<Clip> {
        let rig = self.rig.as_ref()?;
        let RigPose { transforms, shape_weights } = rig.stored_pose()?.clone();
        Clip::sharing(rig, "stored pose", DEFAULT_FRAME_RATE_HZ, transforms, shape_weights).ok()
    }

    /// The object in its stored pose, without its rig, for formats that store only shapes.
    pub fn at_rest(&self) -> Result<Self, crate::tri_mesh::MeshError> {
        let mesh = match self.rest_points() {
            Cow::Borrowed(_) => Arc::clone(&self.mesh),
            Cow::Owned(points) => Arc::new(crate::reshape::reshaped(&self.mesh, points)?),
        };
        let mut deformers = self.deformers.clone();
        // Dual quaternions are included in the stored pose.
        deformers.retain(|layer| !matches!(layer, Deformer::DualQuaternions(_)));
        Ok(Self { mesh, rig: None, clips: Vec::new(), levels: Vec::new(), deformers, ..self.clone() })
    }

    /// Returns the motion without the object's layers: the recorded frames, or the first clip of the rig, posed on
    /// demand. The evaluator of the crate `dermis` applies the layers.
    pub fn base_motion(&self) -> Result<Option<MeshSequence>, SequenceError> {
        match (&self.sequence, &self.rig, self.clips.first()) {
            (Some(sequence), _, _) => Ok(Some(sequence.clone())),
            (None, Some(rig), Some(clip)) => bake_lazily(&self.mesh, rig, clip).map(Some),
            _ => Ok(None),
        }
    }
}

/// Units and orientation of a file's positions; `None` if the file does not define them.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Units {
    /// The length of one unit in metres.
    pub metres_per_unit: Option<f64>,
    /// The axis that points up.
    pub up_axis: Option<UpAxis>,
}

/// The axis that points up. All formats are right-handed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are self-explanatory")]
pub enum UpAxis {
    X,
    Y,
    Z,
}

/// Information for the user from a reader or writer, returned with the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Message in one sentence, without a full stop.
    pub message: String,
    /// Location inside the file: an object's path, a frame, an accessor.
    pub location: Option<String>,
}

impl Note {
    /// Creates a note about the whole file.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), location: None }
    }

    /// Creates a note about a location inside the file.
    pub fn at(location: impl Into<String>, message: impl Into<String>) -> Self {
        Self { message: message.into(), location: Some(location.into()) }
    }
}
