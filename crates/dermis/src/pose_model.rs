//! A model in motion: a clip of the model or of another file, played by the skin, blend shapes and layers of the model.

use std::sync::Arc;

use dermis_mesh::{Clip, Deformer, Note, Object, Scene, UpAxis};

use crate::error::Result;
use crate::evaluate::{clip_motion, with_frames};
use crate::files::ToScene;
use crate::frame_range::FrameRange;
use crate::retarget::{FootSlide, RetargetError, RetargetOptions, Retargeted, foot_slide, in_units, retarget};
use crate::select::{Selection, select};

pub use crate::error::PoseError;

/// Options of [`pose_model`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PoseOptions {
    /// The objects to pose: a name or path, a unique part of either, or a pattern with `*` and `?`. `None`: all.
    pub mesh: Option<String>,
    /// The clip to play: its name, a unique part of its name, or its index from 0. `None`: the first.
    pub clip: Option<String>,
    /// The frames to play. `None`: all.
    pub frames: Option<FrameRange>,
    /// Rate to resample the clip to, in Hz. `None`: as in the file.
    pub frame_rate_hz: Option<f64>,
    /// Plays the skin and blend shapes only, without layers.
    pub base: bool,
    /// Matching of the joints of the motion with those of the model.
    pub retarget: RetargetOptions,
}

/// A model in motion.
#[derive(Debug, Clone)]
pub struct PosedModel {
    /// The model: a rig with one clip, or frames if there are layers on top of its skin.
    pub scene: Scene,
    /// Each object and the clip that moves it.
    pub objects: Vec<PosedObject>,
    /// Assumptions and omissions.
    pub warnings: Vec<Note>,
}

/// One object of a posed model.
#[derive(Debug, Clone)]
pub struct PosedObject {
    /// Name of the object.
    pub name: String,
    /// Number of points.
    pub points: usize,
    /// Number of vertices.
    pub vertices: usize,
    /// Number of joints.
    pub joints: usize,
    /// Types of the layers applied on top of the skin.
    pub layers: Vec<String>,
    /// The clip; `None` if the object does not move.
    pub clip: Option<Arc<Clip>>,
    /// Movement of the feet while those of the motion are on the ground; `None` for clips of the model itself.
    pub foot_slide: Option<FootSlide>,
}

impl ToScene for PosedModel {
    fn to_scene(&self) -> Scene {
        self.scene.clone()
    }
}

/// Plays a clip of `model`, or one of `motion`, whose joints are matched as [`mod@crate::retarget`] describes.
pub fn pose_model(
    model: &(impl ToScene + ?Sized),
    motion: Option<&Scene>,
    options: &PoseOptions,
) -> Result<PosedModel> {
    let (mut scene, motion) = inputs(model.to_scene(), motion, options)?;
    if !scene.objects.iter().any(|object| object.rig.is_some()) {
        return Err(PoseError::NoRig.into());
    }
    let mut warnings = std::mem::take(&mut scene.notes);
    let mut objects = Vec::new();
    for object in &mut scene.objects {
        let (clip, foot_slide) = match &motion {
            Some(motion) => {
                let up = scene.units.up_axis.unwrap_or(UpAxis::Y);
                clip_of_other(motion, object, up, &options.retarget, &mut warnings)?
            }
            None => (own_clip(object, &mut warnings), None),
        };
        let layers = object.deformers.iter().filter(|_| !options.base);
        objects.push(PosedObject {
            name: object.name.clone(),
            points: object.mesh.point_count(),
            vertices: object.mesh.vertex_count(),
            joints: object.rig.as_ref().map_or(0, |rig| rig.joints().len()),
            layers: layers.map(Deformer::kind).map(ToOwned::to_owned).collect(),
            clip: clip.clone(),
            foot_slide,
        });
        *object = play(std::mem::take(object), clip, options.base, &mut warnings)?;
    }
    if objects.iter().all(|object| object.clip.is_none()) {
        return Err(PoseError::NoClip.into());
    }
    Ok(PosedModel { scene, objects, warnings })
}

/// The selected parts of the model and the motion.
fn inputs(scene: Scene, motion: Option<&Scene>, options: &PoseOptions) -> Result<(Scene, Option<Scene>)> {
    let part = Selection {
        clip: options.clip.clone(),
        frames: options.frames,
        frame_rate_hz: options.frame_rate_hz,
        ..Selection::default()
    };
    let mut scene = select(scene, &Selection { mesh: options.mesh.clone(), ..Selection::default() })?;
    drop_examples(&mut scene);
    let has_clips = |scene: &Scene| scene.objects.iter().any(|object| !object.clips.is_empty());
    let Some(motion) = motion else {
        // The error for a model without clips is more specific than that for a missing frame or clip.
        let scene = if has_clips(&scene) { select(scene, &part)? } else { scene };
        return Ok((scene, None));
    };
    let mut motion = motion.clone();
    drop_examples(&mut motion);
    motion.objects.retain(|object| object.rig.as_ref().is_some_and(|rig| !rig.joints().is_empty()));
    if !has_clips(&motion) {
        return Err(PoseError::NoOtherClip.into());
    }
    let mut motion = select(motion, &part)?;
    scene.notes.append(&mut motion.notes);
    for object in &mut motion.objects {
        if let Some(converted) = in_units(object, motion.units, scene.units)? {
            *object = converted;
        }
    }
    Ok((scene, Some(motion)))
}

/// Drops the example shapes of rigs, which are not their motion.
fn drop_examples(scene: &mut Scene) {
    for object in scene.objects.iter_mut().filter(|object| object.rig.is_some()) {
        object.sequence = None;
    }
}

fn own_clip(object: &Object, warnings: &mut Vec<Note>) -> Option<Arc<Clip>> {
    let clip = object.clips.first()?;
    warnings.extend(first_of_several(object, clip));
    Some(Arc::clone(clip))
}

fn first_of_several(object: &Object, clip: &Clip) -> Option<Note> {
    let count = object.clips.len();
    let message = || format!("the clip '{}' is played, the first of {count}", clip.name());
    (count > 1).then(|| Note::at(object.name.clone(), message()))
}

/// A clip of `motion` for `object`, of the rig there with the most joints in common, and the sliding of its feet.
fn clip_of_other(
    motion: &Scene,
    object: &Object,
    up: UpAxis,
    options: &RetargetOptions,
    warnings: &mut Vec<Note>,
) -> std::result::Result<(Option<Arc<Clip>>, Option<FootSlide>), RetargetError> {
    if object.rig.as_ref().is_none_or(|rig| rig.joints().is_empty()) {
        return Ok((None, None));
    }
    let sources = motion.objects.iter().filter_map(|source| Some((source, source.clips.first()?)));
    // The source that moves the most joints.
    let mut best: Option<(&Object, &Arc<Clip>, Retargeted)> = None;
    let mut failed = None;
    let joints = |moved: &Retargeted| moved.sources.iter().flatten().count();
    for (source, clip) in sources {
        match retarget(clip, source, object, options) {
            Ok(moved) => {
                if best.as_ref().is_none_or(|(.., other)| joints(&moved) > joints(other)) {
                    best = Some((source, clip, moved));
                }
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    let Some((source, clip, moved)) = best else { return failed.map_or(Ok((None, None)), Err) };
    let slide = foot_slide(clip, source, &moved, object, up);
    warnings.extend(first_of_several(source, clip));
    warnings.extend(moved.notes);
    Ok((Some(Arc::new(moved.clip)), slide))
}

/// `object` with `clip`: a rig if it has no layers on top of its skin, otherwise frames.
fn play(object: Object, clip: Option<Arc<Clip>>, base: bool, warnings: &mut Vec<Note>) -> Result<Object> {
    let Some(clip) = clip else {
        warnings.push(Note::at(object.name.clone(), "no clip moves this object; it is written unchanged"));
        return Ok(object);
    };
    if base || object.deformers.is_empty() {
        return Ok(Object { clips: vec![clip], deformers: Vec::new(), ..object });
    }
    let motion = clip_motion(&object, &clip)?;
    warnings.extend(motion.warnings);
    Ok(with_frames(object, motion.sequence))
}
