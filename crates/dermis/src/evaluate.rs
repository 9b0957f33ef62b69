//! Evaluation of an object's motion: recorded frames or a clip of the rig, then all layers in order.
//!
//! Layers are evaluated when a frame is read, so a motion can be larger than memory. Recorded frames of a rigged object
//! are example shapes of the rig; they are its motion only if it has no layers. An object with layers plays its clips,
//! because layers are made for the rig. Unknown layers are skipped with a note.

use std::sync::Arc;

use dermis_active::volume::{self, VolumeError, VolumeLayer};
use dermis_mesh::merge::{self, MergeError};
use dermis_mesh::pose::bake_lazily;
use dermis_mesh::tri_mesh::bounds;
use dermis_mesh::{Clip, Deformer, MeshError, MeshSequence, Note, Object, Rig, Scene, SequenceError};
use dermis_skin::envelope::{self, PlayError, TrainedRange};

/// An evaluated motion.
#[derive(Debug, Clone)]
pub struct Motion {
    /// The frames, evaluated on demand.
    pub sequence: MeshSequence,
    /// The clip that poses the joints in each frame; `None` for recorded frames.
    pub clip: Option<Arc<Clip>>,
    /// Layers that were skipped.
    pub warnings: Vec<Note>,
}

impl Motion {
    /// Name of the clip; empty for recorded frames.
    pub fn name(&self) -> &str {
        self.clip.as_ref().map_or("", |clip| clip.name())
    }
}

/// Reasons why an object cannot be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// The object has no joints.
    #[error("'{0}' has no rig")]
    NoRig(String),
    /// The object has no clip with that number.
    #[error("'{object}' has no clip {clip}: it has {count}")]
    NoSuchClip {
        /// The object.
        object: String,
        /// Number of the clip, from 0.
        clip: usize,
        /// Number of clips of the object.
        count: usize,
    },
    /// The clip has other joints or shapes than the rig.
    #[error("the clip '{clip}' does not belong to the rig of '{object}'")]
    OtherRig {
        /// The object.
        object: String,
        /// The clip.
        clip: String,
    },
    /// The object has neither recorded frames nor a clip.
    #[error("'{0}' does not move: it has neither recorded frames nor a clip")]
    NoMotion(String),
    /// A layer requires a skeleton, but the motion consists of recorded frames.
    #[error(
        "the layer '{layer}' of '{object}' depends on the joints of a clip, but the motion consists of recorded frames"
    )]
    NoClip {
        /// The object.
        object: String,
        /// Type of the layer.
        layer: String,
    },
    /// The format does not support layers, and this one cannot be evaluated.
    #[error("the format cannot store the layer '{layer}' of '{object}', and this version cannot evaluate it")]
    UnknownLayer {
        /// The object.
        object: String,
        /// Type of the layer.
        layer: String,
    },
    /// Dual quaternions have weights for another number of points.
    #[error(
        "the layer 'dual_quaternions' of '{object}' belongs to another mesh: it does not have weights for {points} points"
    )]
    LayerSize {
        /// The object.
        object: String,
        /// Number of points of the mesh.
        points: usize,
    },
    /// A pose is so large or small that the rig and its clip cannot match.
    #[error(
        "implausible motion of '{object}': its extent is {rest:.3e} at rest and {posed:.3e} in frame {frame} of '{clip}'"
    )]
    Extent {
        /// The object.
        object: String,
        /// Diagonal of the rest pose.
        rest: f64,
        /// Diagonal of the posed frame.
        posed: f64,
        /// The frame.
        frame: usize,
        /// The clip; empty for recorded frames.
        clip: String,
    },
    /// Multi-weights do not belong to the mesh or the rig.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// The volume layer cannot be applied to the mesh.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The objects cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The frames cannot be read.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// The posed points are not a valid mesh.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// Note on the clips of an object other than `used`, which are not used.
pub fn other_clips(object: &Object, used: &Clip) -> Option<Note> {
    let count = object.clips.len();
    (count > 1).then(|| Note::at(&object.name, format!("of {count} clips, only '{}' is used", used.name())))
}

/// The motion of an object with all of its layers: its recorded frames or its first clip. `None` if it does not move.
pub fn motion(object: &Object) -> Result<Option<Motion>, EvaluateError> {
    match (&object.sequence, first_clip(object)) {
        (_, Some(clip)) if !object.deformers.is_empty() || object.sequence.is_none() => {
            clip_motion(object, clip).map(Some)
        }
        (Some(sequence), _) => Evaluation::new(object, None, sequence.clone()).finish().map(Some),
        (None, _) => Ok(None),
    }
}

/// The motions of an object with all of its layers: one per clip of its rig, or else its recorded frames.
pub fn motions(object: &Object) -> Result<Vec<Motion>, EvaluateError> {
    match first_clip(object) {
        Some(_) => object.clips.iter().map(|clip| clip_motion(object, clip)).collect(),
        None => Ok(motion(object)?.into_iter().collect()),
    }
}

/// Clip number `clip` of an object with a rig, from 0, with all of its layers; else its recorded frames.
pub fn motion_of_clip(object: &Object, clip: usize) -> Result<Motion, EvaluateError> {
    let no_motion = || EvaluateError::NoMotion(object.name.clone());
    if first_clip(object).is_none() {
        return motion(object)?.ok_or_else(no_motion);
    }
    let count = object.clips.len();
    let missing = || EvaluateError::NoSuchClip { object: object.name.clone(), clip, count };
    clip_motion(object, object.clips.get(clip).ok_or_else(missing)?)
}

fn first_clip(object: &Object) -> Option<&Arc<Clip>> {
    object.clips.first().filter(|_| object.rig.is_some())
}

/// The frames of `clip`, one of the object's or another of its rig, with all layers of the object.
pub fn clip_motion(object: &Object, clip: &Arc<Clip>) -> Result<Motion, EvaluateError> {
    let rig = object.rig.as_ref().ok_or_else(|| EvaluateError::NoRig(object.name.clone()))?;
    if clip.transforms(0).len() != rig.joints().len() || clip.shape_weights(0).len() != rig.shapes().len() {
        return Err(EvaluateError::OtherRig { object: object.name.clone(), clip: clip.name().to_owned() });
    }
    Evaluation::new(object, Some(clip), bake_lazily(&object.mesh, rig, clip)?).finish()
}

/// Ratio of the extents of two poses beyond which they cannot be poses of one object.
const MAX_EXTENT_RATIO: f64 = 1000.0;

/// Rejects a motion whose first, middle and last frames are all far larger or smaller than the rest pose: it is in other
/// units, or belongs to another object. Single frames can have no extent, as for objects that appear later.
pub fn check_extent(object: &Object, motion: &Motion) -> Result<(), EvaluateError> {
    let rest = f64::from(object.mesh.diagonal());
    let count = motion.sequence.frame_count();
    let mut worst = None;
    for frame in [0, count / 2, count - 1] {
        let (low, high) = bounds(&motion.sequence.frame(frame)?);
        let posed = f64::from((high - low).length());
        let is_possible = posed <= MAX_EXTENT_RATIO * rest && rest <= MAX_EXTENT_RATIO * posed;
        if is_possible || rest == 0.0 {
            return Ok(());
        }
        worst = worst.or(Some((frame, posed)));
    }
    let Some((frame, posed)) = worst else { return Ok(()) };
    let (object, clip) = (object.name.clone(), motion.name().to_owned());
    Err(EvaluateError::Extent { object, rest, posed, frame, clip })
}

/// Layers during the evaluation.
struct Evaluation<'a> {
    object: &'a Object,
    clip: Option<&'a Arc<Clip>>,
    frames: MeshSequence,
    /// True if `frames` are the linear skin only: multi-weights replace it, so it need not be evaluated.
    is_linear: bool,
    warnings: Vec<Note>,
}

impl<'a> Evaluation<'a> {
    fn new(object: &'a Object, clip: Option<&'a Arc<Clip>>, frames: MeshSequence) -> Self {
        let shaped = |clip: &Arc<Clip>| {
            (0..clip.frame_count()).any(|frame| clip.shape_weights(frame).iter().any(|&weight| weight != 0.0))
        };
        Self { object, clip, frames, is_linear: !clip.is_some_and(shaped), warnings: Vec::new() }
    }

    fn finish(mut self) -> Result<Motion, EvaluateError> {
        for layer in &self.object.deformers {
            self.add(layer)?;
        }
        Ok(Motion { sequence: self.frames, clip: self.clip.cloned(), warnings: self.warnings })
    }

    fn add(&mut self, layer: &Deformer) -> Result<(), EvaluateError> {
        let object = self.object;
        self.frames = match layer {
            Deformer::DualQuaternions(layer) => {
                let (Some(clip), Some(rig)) = (self.clip, &object.rig) else {
                    let layer = Deformer::DualQuaternions(Arc::clone(layer)).kind().to_owned();
                    return Err(EvaluateError::NoClip { object: object.name.clone(), layer });
                };
                let points = object.mesh.point_count();
                if !layer.fits(points) {
                    return Err(EvaluateError::LayerSize { object: object.name.clone(), points });
                }
                layer.play(&object.mesh, rig, clip)?
            }
            Deformer::MultiWeights(layer) => {
                let (Some(clip), Some(rig)) = (self.clip, &object.rig) else {
                    let layer = Deformer::MultiWeights(Arc::clone(layer)).kind().to_owned();
                    return Err(EvaluateError::NoClip { object: object.name.clone(), layer });
                };
                let below = (!self.is_linear).then_some(&self.frames);
                let range = TrainedRange::from_record(&layer.record, rig.joints().len());
                self.warnings.extend(beyond_range(object, range.as_ref(), rig, clip));
                envelope::play(layer.weights(), &object.mesh, rig, clip, below, range)?
            }
            Deformer::Volume(options) => {
                let layer = Arc::new(VolumeLayer::new(object, options)?);
                volume::corrected(&layer, &self.frames, self.clip)?
            }
            Deformer::Unknown(_) => {
                self.warnings.push(skipped(object, layer));
                return Ok(());
            }
        };
        self.is_linear = false;
        Ok(())
    }
}

/// Note on a clip that exceeds the trained joint rotations.
fn beyond_range(object: &Object, range: Option<&TrainedRange>, rig: &Rig, clip: &Clip) -> Option<Note> {
    let joints = rig.joints();
    let (mut frames, mut worst) = (0, (0.0, String::new()));
    for frame in 0..clip.frame_count() {
        let skinning: Vec<_> =
            joints.iter().zip(clip.transforms(frame)).map(|(joint, pose)| *pose * joint.inverse_bind).collect();
        let found = range?.distance(joints, &skinning);
        let Some(joint) = found.joint.filter(|_| found.fades) else { continue };
        frames += 1;
        if found.degrees > worst.0 {
            worst = (found.degrees, joints[joint].name.clone());
        }
    }
    let (degrees, joint) = worst;
    let clip = clip.name();
    let message = format!(
        "{frames} frames of '{clip}' exceed the trained joint rotations, by up to {degrees:.0}° at '{joint}'; there the multi-weights can fade to the linear skin"
    );
    (frames > 0).then(|| Note::at(object.name.clone(), message))
}

fn skipped(object: &Object, layer: &Deformer) -> Note {
    let name = match layer.kind() {
        "" => "without a type".to_owned(),
        kind => format!("'{kind}'"),
    };
    Note::at(object.name.clone(), format!("the layer {name} is not supported by this version; it is skipped"))
}

/// The object as a sequence of its evaluated motion, with a warning. Objects without layers are unchanged.
///
/// Fails if a layer can be neither stored nor evaluated.
pub fn baked(object: Object, warnings: &mut Vec<Note>) -> Result<Object, EvaluateError> {
    if object.deformers.is_empty() {
        return Ok(object);
    }
    if let Some(layer) = object.deformers.iter().find(|layer| matches!(layer, Deformer::Unknown(_))) {
        return Err(EvaluateError::UnknownLayer { object: object.name.clone(), layer: layer.kind().to_owned() });
    }
    let is_static = object.clips.is_empty() && object.sequence.is_none();
    if is_static && object.deformers.iter().all(|layer| matches!(layer, Deformer::DualQuaternions(_))) {
        let at_rest = object.at_rest()?;
        warnings.push(Note::at(object.name, "dual quaternions are applied, and the stored pose is written"));
        return Ok(at_rest);
    }
    let layers: Vec<&str> = object.deformers.iter().map(Deformer::kind).collect();
    let motion = motion(&object)?.ok_or_else(|| EvaluateError::NoMotion(object.name.clone()))?;
    let frames = match &motion.clip {
        Some(clip) => format!("the frames of the clip '{}'", clip.name()),
        None => "its recorded frames".to_owned(),
    };
    let dropped = match object.clips.len() {
        0 | 1 => String::new(),
        count => format!(", without the other {}", count - 1),
    };
    warnings.push(Note::at(
        object.name.clone(),
        format!("the layers of the object ({}) are applied, and {frames} are written{dropped}", layers.join(", ")),
    ));
    if !object.levels.is_empty() {
        warnings.push(Note::at(object.name.clone(), "the levels of detail are dropped"));
    }
    Ok(with_frames(object, motion.sequence))
}

/// `object` with `frames` as its only motion.
pub fn with_frames(object: Object, frames: MeshSequence) -> Object {
    let (clips, deformers, levels) = (Vec::new(), Vec::new(), Vec::new());
    Object { sequence: Some(frames), rig: None, clips, deformers, levels, ..object }
}

/// The scene's only object with its layers, or all objects merged into one with their layers applied; and notes on the
/// losses.
pub fn single(scene: &Scene) -> Result<(Object, Vec<Note>), EvaluateError> {
    if scene.objects.len() < 2 {
        return Ok(merge::single(scene)?);
    }
    let mut notes = Vec::new();
    let objects = scene.objects.iter().map(|object| match motion(object)? {
        Some(motion) if !object.deformers.is_empty() => {
            notes.extend(motion.warnings);
            Ok(with_frames(object.clone(), motion.sequence))
        }
        _ => Ok(object.clone()),
    });
    let objects = objects.collect::<Result<Vec<_>, EvaluateError>>()?;
    let (object, merged) = merge::single(&Scene { objects, units: scene.units, notes: Vec::new() })?;
    notes.extend(merged);
    Ok((object, notes))
}
