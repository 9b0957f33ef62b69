//! The training set of multi-weights: a rigged object, and the shape of its skin in some frames of its clips.

use std::path::Path;
use std::sync::Arc;

use dermis_io::ReadOptions;
use dermis_mesh::sequence::DEFAULT_FRAME_RATE_HZ;
use dermis_mesh::{Clip, Deformer, MeshSequence, Note, Object, Rig, RigError, Scene, SequenceError, Shape};
use dermis_skin::envelope::{Examples, one_to_one, same_topology};

use super::EnvelopeError;
use crate::error::Result;
use crate::evaluate;
use crate::files::ToScene;
use crate::frame_range::FrameRange;
use crate::match_meshes::matched;
use crate::retarget::{RetargetOptions, retarget};
use crate::select::{Selection, select};

/// Options of [`TrainingSet::new`]: selection of poses, and source of their shapes.
#[derive(Debug, Clone, Default)]
pub struct ExampleOptions {
    /// The rigged mesh: its name or path, or a unique part of either. `None`: the first.
    pub mesh: Option<String>,
    /// The clip: its name, a unique part of its name, or its index from 0. `None`: the first.
    pub clip: Option<String>,
    /// Rate to resample the clip to, in Hz. `None`: as in the file.
    pub frame_rate_hz: Option<f64>,
    /// Frames of the clip to use. Empty: all that have a shape.
    pub frames: Vec<FrameRange>,
    /// Time of each shape in the clip, in seconds. Empty: by the numbers of the files, or one shape per frame.
    pub pose_times_s: Vec<f64>,
    /// The shapes. `None`: the recorded frames of the rigged object, or else the motion with its layers.
    pub targets: Option<Targets>,
}

/// Shapes that a skin should have.
#[derive(Debug, Clone)]
pub struct Targets {
    /// One shape per frame.
    pub shapes: MeshSequence,
    /// The frame of the clip that each shape belongs to, by the numbers of its files.
    pub frame_numbers: Option<Vec<usize>>,
}

impl Targets {
    /// Reads the shapes of a file or a folder of numbered files: its evaluated motion, or else its blend shapes (always
    /// with `morphs`), or else its rest pose.
    pub fn read(source: &str, options: &ReadOptions, morphs: bool) -> Result<Self> {
        let (object, _) = evaluate::single(&dermis_io::read(source, options)?)?;
        let has_shapes = object.rig.as_ref().is_some_and(|rig| !rig.shapes().is_empty());
        if morphs && !has_shapes {
            return Err(EnvelopeError::NoMorphTargets.into());
        }
        let motion = if morphs { None } else { evaluate::motion(&object)? };
        let shapes = match motion {
            Some(motion) => motion.sequence,
            None if has_shapes => morph_targets(&object)?,
            None => {
                let rest = object.rest_points().into_owned();
                MeshSequence::new(Arc::clone(&object.mesh), rest, DEFAULT_FRAME_RATE_HZ)?
            }
        };
        Ok(Self { shapes, frame_numbers: dermis_io::frame_numbers(Path::new(source))? })
    }
}

/// Each blend shape at full weight, as a frame.
fn morph_targets(object: &Object) -> std::result::Result<MeshSequence, SequenceError> {
    let shapes = object.rig.as_ref().map_or(&[][..], |rig| rig.shapes());
    let moved = |shape: &Shape| {
        object.mesh.points().iter().zip(&shape.offsets).map(|(point, offset)| *point + *offset).collect::<Vec<_>>()
    };
    MeshSequence::new(Arc::clone(&object.mesh), shapes.iter().flat_map(moved).collect(), DEFAULT_FRAME_RATE_HZ)
}

/// A rigged object and poses of its rig with their shapes.
#[derive(Debug, Clone)]
pub struct TrainingSet {
    pub(super) object: Object,
    pub(super) rig: Arc<Rig>,
    pub(super) poses: Vec<Poses>,
    /// The scene that the object came from, without objects.
    pub(super) scene: Scene,
    /// Assumptions and omissions.
    pub warnings: Vec<Note>,
}

/// Poses of one clip with their shapes.
#[derive(Debug, Clone)]
pub(super) struct Poses {
    pub(super) clip: Arc<Clip>,
    shapes: MeshSequence,
    /// A frame of the clip and the frame of its shape.
    pairs: Vec<(usize, usize)>,
    weights: Vec<f64>,
}

impl TrainingSet {
    /// The rigged object of a scene with the poses that `options` select.
    pub fn new(rigged: &(impl ToScene + ?Sized), options: &ExampleOptions) -> Result<Self> {
        let mut set = Self::of_rig(rigged, options)?;
        let clip = set.object.clips.first().cloned().ok_or(EnvelopeError::NoClip)?;
        let own = own_shapes(&set.object, &clip)?;
        set.push(clip, own, options)?;
        Ok(set)
    }

    /// The rigged object of a scene, without poses.
    pub fn of_rig(rigged: &(impl ToScene + ?Sized), options: &ExampleOptions) -> Result<Self> {
        let mut scene = rigged.to_scene();
        scene.objects.retain(|object| object.rig.as_ref().is_some_and(|rig| !rig.joints().is_empty()));
        if scene.objects.is_empty() {
            return Err(EnvelopeError::NoJoints.into());
        }
        let has_clips = scene.objects.iter().any(|object| !object.clips.is_empty());
        let selection = Selection {
            mesh: options.mesh.clone(),
            clip: options.clip.clone().filter(|_| has_clips),
            frame_rate_hz: options.frame_rate_hz.filter(|_| has_clips),
            ..Selection::default()
        };
        let mut scene = select(scene, &selection)?;
        let mut warnings = std::mem::take(&mut scene.notes);
        if scene.objects.len() > 1 {
            let (name, count) = (&scene.objects[0].name, scene.objects.len());
            warnings.push(Note::new(format!("the mesh '{name}' is used, the first of {count}")));
        }
        let object = scene.objects.swap_remove(0);
        scene.objects.clear();
        Ok(Self { rig: object.rig.clone().unwrap_or_default(), object, poses: Vec::new(), scene, warnings })
    }

    /// Adds poses of another scene with the same skin: its clip, retargeted by the names or else the order of the
    /// joints, and its shapes.
    pub fn add(&mut self, rigged: &(impl ToScene + ?Sized), options: &ExampleOptions) -> Result<()> {
        let other = Self::of_rig(rigged, options)?;
        same_topology(&self.object.mesh, &other.object.mesh)?;
        let clip = other.object.clips.first().ok_or(EnvelopeError::NoClip)?;
        let moved = retarget(clip, &other.object, &self.object, &RetargetOptions::default())?;
        self.warnings.extend(other.warnings.into_iter().chain(moved.notes));
        self.push(Arc::new(moved.clip), other.object.sequence, options)
    }

    fn push(&mut self, clip: Arc<Clip>, own: Option<MeshSequence>, options: &ExampleOptions) -> Result<()> {
        let (shapes, numbers) = match &options.targets {
            Some(Targets { shapes, frame_numbers }) => {
                let (shapes, notes) = matched(shapes, &self.object).map_err(EnvelopeError::from)?;
                self.warnings.extend(notes);
                (shapes, frame_numbers.as_deref())
            }
            None => (own.ok_or(EnvelopeError::NoShapes)?, None),
        };
        let mut pairs = pairs_of(&clip, &shapes, numbers, &options.pose_times_s)?;
        keep_frames(&mut pairs, clip.frame_count(), &options.frames)?;
        let weights = vec![1.0; pairs.len()];
        self.poses.push(Poses { clip, shapes, pairs, weights });
        Ok(())
    }

    /// Sets the weight of frame `frame` of the first clip in the fit; the default is 1.
    pub fn weigh_pose(&mut self, frame: usize, weight: f64) -> std::result::Result<(), EnvelopeError> {
        let found = self.poses.first_mut().and_then(|poses| {
            let index = poses.pairs.iter().position(|(pose, _)| *pose == frame)?;
            poses.weights.get_mut(index)
        });
        *found.ok_or(EnvelopeError::NoSuchPose { frame })? = weight;
        Ok(())
    }

    /// The rigged object.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Number of poses.
    pub fn pose_count(&self) -> usize {
        self.poses.iter().map(|poses| poses.pairs.len()).sum()
    }

    /// Poses and shapes for the solver.
    pub fn examples(&self) -> Result<Examples> {
        let mut examples = Examples::new(&self.object.mesh, &self.rig);
        for Poses { clip, shapes, pairs, weights } in &self.poses {
            examples.add(&self.rig, clip, shapes, pairs, Some(weights))?;
        }
        Ok(examples)
    }

    /// The set as a scene that a later run can add: the rig with all poses as one clip, and a shape for each.
    pub fn to_examples_scene(&self) -> Result<Scene> {
        let Object { mesh, .. } = &self.object;
        let all = || self.poses.iter().flat_map(|poses| poses.pairs.iter().map(move |pair| (poses, *pair)));
        let transforms = all().flat_map(|(poses, (frame, _))| poses.clip.transforms(frame).iter().copied()).collect();
        let rate = self.poses.first().map_or(DEFAULT_FRAME_RATE_HZ, |poses| poses.clip.frame_rate_hz());
        let bare = self.bare_rig()?;
        let clip = Clip::new(&bare, "examples", rate, transforms, Vec::new())?;
        let mut targets = Vec::new();
        for (poses, (_, shape)) in all() {
            targets.extend_from_slice(&poses.shapes.frame(shape)?);
        }
        let object = Object {
            sequence: Some(MeshSequence::new(Arc::clone(mesh), targets, rate)?),
            rig: Some(Arc::new(bare)),
            clips: vec![Arc::new(clip)],
            deformers: Vec::new(),
            levels: Vec::new(),
            ..self.object.clone()
        };
        Ok(Scene { objects: vec![object], ..self.scene.clone() })
    }

    fn bare_rig(&self) -> std::result::Result<Rig, RigError> {
        Rig::new(&self.object.mesh, self.rig.joints().to_vec(), self.rig.weights().clone(), Vec::new())
    }
}

/// The recorded shapes of the rigged object; or, if it has layers other than multi-weights, the shapes that they
/// produce, to learn them.
fn own_shapes(object: &Object, clip: &Arc<Clip>) -> Result<Option<MeshSequence>> {
    let is_learned = |layer: &Deformer| matches!(layer, Deformer::MultiWeights(_));
    if object.sequence.is_some() || object.deformers.is_empty() || object.deformers.iter().any(is_learned) {
        return Ok(object.sequence.clone());
    }
    Ok(Some(evaluate::clip_motion(object, clip)?.sequence))
}

/// The frame of the clip that each shape belongs to: by time, one to one, or by the numbers of the files.
fn pairs_of(
    clip: &Clip,
    shapes: &MeshSequence,
    numbers: Option<&[usize]>,
    times: &[f64],
) -> Result<Vec<(usize, usize)>> {
    let (frames, count) = (clip.frame_count(), shapes.frame_count());
    if !times.is_empty() {
        return frames_at(clip, count, times);
    }
    match numbers {
        Some(numbers) if count != frames && numbers.len() == count => {
            if let Some(&number) = numbers.iter().find(|&&number| number >= frames) {
                return Err(EnvelopeError::NumberOutside { number, clip: clip.name().to_owned(), frames }.into());
            }
            Ok(numbers.iter().enumerate().map(|(shape, &frame)| (frame, shape)).collect())
        }
        _ => Ok(one_to_one(clip, shapes)?),
    }
}

fn frames_at(clip: &Clip, shapes: usize, times: &[f64]) -> Result<Vec<(usize, usize)>> {
    if times.len() != shapes {
        return Err(EnvelopeError::PoseTimes { times: times.len(), shapes }.into());
    }
    let frames = clip.frame_count();
    let frame_at = |(shape, &time): (usize, &f64)| {
        let frame = (time * clip.frame_rate_hz()).round();
        let last = (frames - 1) as f64 / clip.frame_rate_hz();
        let inside = frame >= 0.0 && frame < frames as f64;
        if inside { Ok((frame as usize, shape)) } else { Err(EnvelopeError::TimeOutside { time, last }.into()) }
    };
    times.iter().enumerate().map(frame_at).collect()
}

/// Keeps only the pairs of the frames in `ranges`, or all if there are none.
fn keep_frames(
    pairs: &mut Vec<(usize, usize)>,
    count: usize,
    ranges: &[FrameRange],
) -> std::result::Result<(), EnvelopeError> {
    if ranges.is_empty() {
        return Ok(());
    }
    let mut wanted = vec![false; count];
    for (start, end, step) in ranges.iter().filter_map(|range| range.resolve(count)) {
        (start..end).step_by(step).for_each(|frame| wanted[frame] = true);
    }
    pairs.retain(|(frame, _)| wanted[*frame]);
    let ranges = || ranges.iter().map(ToString::to_string).collect();
    if pairs.is_empty() { Err(EnvelopeError::NoPoses { ranges: ranges(), count }) } else { Ok(()) }
}
