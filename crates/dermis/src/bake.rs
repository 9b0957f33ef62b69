//! All clips of a scene with their layers applied: as shapes of one object, or as one scene of frames per clip.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis_mesh::glam::Vec3;
use dermis_mesh::{Clip, Deformer, Note, Object, Rig, Scene, Shape, SkinWeights};

use crate::error::Result;
use crate::evaluate::{self, EvaluateError, Motion};

/// A scene with the frames of one clip.
#[derive(Debug, Clone)]
pub struct BakedClip {
    /// Label of the clip for file names: its name without special characters, unique among all clips.
    pub label: String,
    /// The scene whose objects have recorded frames instead of layers.
    pub scene: Scene,
}

/// Returns whether an object of the scene has layers and several clips.
pub fn has_several_clips(scene: &Scene) -> bool {
    scene.objects.iter().any(|object| !object.deformers.is_empty() && object.clips.len() > 1)
}

/// The scene in which objects with layers have the frames of all clips as shapes; each clip shows its shapes one after
/// the other.
pub fn bake_as_shapes(scene: &Scene, warnings: &mut Vec<Note>) -> Result<Scene> {
    let mut scene = scene.clone();
    for object in &mut scene.objects {
        *object = match object.clips.len() {
            0 | 1 => evaluate::baked(std::mem::take(object), warnings)?,
            _ if object.deformers.is_empty() => continue,
            _ => with_frames_as_shapes(object, warnings)?,
        };
    }
    Ok(scene)
}

/// One scene of frames for each clip of the objects with layers, in the order of the first of them.
pub fn bake_clip_by_clip(scene: &Scene, warnings: &mut Vec<Note>) -> Result<Vec<BakedClip>> {
    let lead = scene.objects.iter().find(|object| !object.deformers.is_empty() && object.clips.len() > 1);
    let names: Vec<String> =
        lead.map_or_else(Vec::new, |lead| lead.clips.iter().map(|clip| clip.name().into()).collect());
    let mut baked = Vec::new();
    for (index, clip) in names.into_iter().enumerate() {
        let mut scene = scene.clone();
        for object in scene.objects.iter_mut().filter(|object| !object.clips.is_empty()) {
            expect_known(object)?;
            let found = object.clips.iter().position(|other| other.name() == clip);
            let Some(at) = found.or((index < object.clips.len()).then_some(index)) else {
                warnings.push(Note::at(&object.name, format!("it has no clip '{clip}' and stays at rest")));
                *object = Object { rig: None, clips: Vec::new(), deformers: Vec::new(), ..std::mem::take(object) };
                continue;
            };
            let Motion { sequence, warnings: skipped, .. } = evaluate::motion_of_clip(object, at)?;
            warnings.extend(skipped);
            *object = evaluate::with_frames(std::mem::take(object), sequence.named(clip.as_str()));
        }
        let mut label: String = clip.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        if label.is_empty() || baked.iter().any(|other: &BakedClip| other.label == label) {
            label = format!("{label}{index}");
        }
        baked.push(BakedClip { label, scene });
    }
    Ok(baked)
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "-_".contains(c)
}

/// `path` with the label of a clip before its extension: `hero.abc` becomes `hero.walk.abc`.
pub fn path_of_clip(path: &Path, label: &str) -> PathBuf {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    match path.extension() {
        Some(extension) => path.with_file_name(format!("{stem}.{label}.{}", extension.to_string_lossy())),
        None => path.with_file_name(format!("{stem}.{label}")),
    }
}

/// Rejects layers that cannot be evaluated.
fn expect_known(object: &Object) -> Result<()> {
    match object.deformers.iter().find(|layer| matches!(layer, Deformer::Unknown(_))) {
        Some(layer) => {
            Err(EvaluateError::UnknownLayer { object: object.name.clone(), layer: layer.kind().to_owned() }.into())
        }
        None => Ok(()),
    }
}

/// The object with one shape per frame of each clip, and clips that show them one after the other.
fn with_frames_as_shapes(object: &Object, warnings: &mut Vec<Note>) -> Result<Object> {
    expect_known(object)?;
    let motions = evaluate::motions(object)?;
    let rest = object.mesh.points();
    let mut shapes = Vec::new();
    for motion in &motions {
        for frame in 0..motion.sequence.frame_count() {
            let positions = motion.sequence.frame(frame)?;
            let offsets: Vec<Vec3> = positions.iter().zip(rest).map(|(position, rest)| *position - *rest).collect();
            shapes.push(Shape { name: format!("{}_{frame}", motion.name()), offsets, normal_offsets: None });
        }
    }
    let count = shapes.len();
    let none = SkinWeights::from_rows(vec![Vec::new(); object.mesh.point_count()]);
    let rig = Rig::new(&object.mesh, Vec::new(), none, shapes)?;
    let (mut first, mut clips) = (0, Vec::new());
    for motion in motions {
        warnings.extend(motion.warnings.iter().cloned());
        let frames = motion.sequence.frame_count();
        let mut weights = vec![0.0; frames * count];
        (0..frames).for_each(|frame| weights[frame * count + first + frame] = 1.0);
        first += frames;
        let clip = Clip::new(&rig, motion.name(), motion.sequence.frame_rate_hz(), Vec::new(), weights)?;
        clips.push(Arc::new(clip.starting_at(motion.sequence.start_seconds())));
    }
    let layers: Vec<&str> = object.deformers.iter().map(Deformer::kind).collect();
    let (layers, clip_count) = (layers.join(", "), clips.len());
    let message =
        format!("the layers ({layers}) are applied; {count} frames of {clip_count} clips are written as shapes");
    warnings.push(Note::at(&object.name, message));
    Ok(Object { rig: Some(Arc::new(rig)), clips, sequence: None, deformers: Vec::new(), ..object.clone() })
}
