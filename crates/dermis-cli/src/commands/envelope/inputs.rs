//! What a model is learned from or compared with: a clip of a rig, and the shape of the skin in some of its frames.

use std::path::Path;
use std::sync::Arc;

use dermis::io::{ReadOptions, frame_numbers};
use dermis::mesh::merge::single;
use dermis::mesh::{Clip, MeshSequence, Note, Object, Rig, Scene, TriMesh};
use dermis::retarget::retarget;
use dermis::skin::envelope::{Examples, ExamplesError, one_to_one, same_topology};
use dermis::{Selection, select};

use super::args::Shapes;
use crate::input;
use crate::report::Report;
use crate::watch::Watch;

/// A rigged object and the scene that it came from.
pub(super) struct Rigged {
    pub(super) object: Object,
    pub(super) rig: Arc<Rig>,
    pub(super) clip: Option<Arc<Clip>>,
    /// The scene without its objects.
    pub(super) scene: Scene,
}

/// Poses with their shapes.
pub(super) struct Poses {
    pub(super) clip: Arc<Clip>,
    pub(super) shapes: MeshSequence,
    /// A frame of the clip and the frame of its shape.
    pub(super) pairs: Vec<(usize, usize)>,
}

/// The rigged object of `source`, with the chosen clip.
pub(super) fn read_rigged(source: &str, shapes: &Shapes, watch: &Watch) -> Result<Rigged, Report> {
    let options = ReadOptions { frame_rate_hz: shapes.fps, topology: None };
    let mut scene = input::read(source, &options, watch)?;
    scene.objects.retain(|object| object.rig.as_ref().is_some_and(|rig| !rig.joints().is_empty()));
    if scene.objects.is_empty() {
        let report = Report::new("this file has no joints").in_file(source);
        return Err(report.hint("multi-weights follow a skeleton: give a rigged file, or make one with 'dermis skin'"));
    }
    let has_clips = scene.objects.iter().any(|object| !object.clips.is_empty());
    let selection = Selection {
        mesh: shapes.mesh.clone(),
        clip: shapes.clip.clone().filter(|_| has_clips),
        frame_rate_hz: shapes.fps.filter(|_| has_clips),
        ..Selection::default()
    };
    let mut scene = select(scene, &selection).map_err(|error| Report::from(error).in_file(source))?;
    let count = scene.objects.len();
    if count > 1 {
        let name = &scene.objects[0].name;
        scene.notes.push(Note::new(format!("the mesh '{name}' is taken, the first of {count}; --mesh names another")));
    }
    let object = scene.objects.swap_remove(0);
    scene.objects.clear();
    let rig = object.rig.clone().unwrap_or_default();
    Ok(Rigged { clip: object.clips.first().cloned(), rig, object, scene })
}

impl Rigged {
    /// The clip, or that there is none.
    pub(super) fn clip(&self, source: &str) -> Result<Arc<Clip>, Report> {
        self.clip.clone().ok_or_else(|| {
            let report = Report::new("this file has no clip").in_file(source);
            report.hint("poses come from a clip: give an animated rig")
        })
    }
}

/// The frames of `clip` that have a shape, and those shapes. `own` are the shapes beside the rig, for points of `mesh`.
pub(super) fn read_poses(
    clip: Arc<Clip>,
    own: Option<&MeshSequence>,
    mesh: &TriMesh,
    args: &Shapes,
    watch: &Watch,
) -> Result<Poses, Report> {
    let (shapes, numbers) = if let Some(source) = &args.targets {
        let (shapes, numbers) = read_shapes(source, args, watch)?;
        same_topology(mesh, shapes.mesh()).map_err(|error| Report::from(error).in_file(source))?;
        (shapes, numbers)
    } else {
        let missing = || Report::new("there are no shapes").hint("give the shape of each frame with --targets FILE");
        (own.cloned().ok_or_else(missing)?, None)
    };
    let place = || args.targets.clone().unwrap_or_default();
    let mut pairs = pairs_of(&clip, &shapes, numbers, &args.pose_times).map_err(|report| report.in_file(place()))?;
    keep_frames(&mut pairs, &clip, args)?;
    Ok(Poses { clip, shapes, pairs })
}

fn read_shapes(source: &str, args: &Shapes, watch: &Watch) -> Result<(MeshSequence, Option<Vec<usize>>), Report> {
    let options = ReadOptions { frame_rate_hz: args.fps, topology: args.topology.clone() };
    let scene = input::read(source, &options, watch)?;
    let (object, _) = single(&scene).map_err(|error| Report::new(error.to_string()).in_file(source))?;
    let report = |error: dermis::mesh::SequenceError| Report::from(error).in_file(source);
    let has_shapes = object.rig.as_ref().is_some_and(|rig| !rig.shapes().is_empty());
    if args.morphs && !has_shapes {
        return Err(Report::new("this file has no morph targets").in_file(source));
    }
    let moves = !args.morphs && (object.sequence.is_some() || !object.clips.is_empty());
    let sequence = match object.motion().map_err(report)? {
        Some(sequence) if moves => sequence,
        _ if has_shapes => morph_targets(&object).map_err(report)?,
        _ => MeshSequence::new(Arc::clone(&object.mesh), object.mesh.points().to_vec(), 24.0).map_err(report)?,
    };
    let numbers = frame_numbers(Path::new(source)).map_err(|error| Report::from(error).in_file(source))?;
    Ok((sequence, numbers))
}

/// Each morph target at full weight, as a frame.
fn morph_targets(object: &Object) -> Result<MeshSequence, dermis::mesh::SequenceError> {
    let shapes = object.rig.as_ref().map_or(&[][..], |rig| rig.shapes());
    let moved = |shape: &dermis::mesh::Shape| {
        object.mesh.points().iter().zip(&shape.offsets).map(|(point, offset)| *point + *offset).collect::<Vec<_>>()
    };
    MeshSequence::new(Arc::clone(&object.mesh), shapes.iter().flat_map(moved).collect(), 24.0)
}

/// Which frame of the clip each shape belongs to: by time, one to one, or by the numbers of the files.
fn pairs_of(
    clip: &Clip,
    shapes: &MeshSequence,
    numbers: Option<Vec<usize>>,
    times: &[f64],
) -> Result<Vec<(usize, usize)>, Report> {
    let (frames, count) = (clip.frame_count(), shapes.frame_count());
    if !times.is_empty() {
        if times.len() != count {
            let message = format!("--pose-times has {} times, but there are {count} shapes", times.len());
            return Err(Report::new(message).hint("give one time per shape, in their order"));
        }
        let frame_at = |(shape, &time): (usize, &f64)| {
            let frame = (time * clip.frame_rate_hz()).round();
            let last = (frames - 1) as f64 / clip.frame_rate_hz();
            let outside = || Report::new(format!("the pose time {time} s is outside the clip, which ends at {last} s"));
            if frame >= 0.0 && frame < frames as f64 { Ok((frame as usize, shape)) } else { Err(outside()) }
        };
        return times.iter().enumerate().map(frame_at).collect();
    }
    match numbers {
        Some(numbers) if count != frames && numbers.len() == count => {
            if let Some(outside) = numbers.iter().find(|&&number| number >= frames) {
                let message =
                    format!("the shape numbered {outside} has no frame: the clip '{}' has {frames}", clip.name());
                return Err(Report::new(message).hint("shapes are numbered by the frames of the clip, from 0"));
            }
            Ok(numbers.into_iter().enumerate().map(|(shape, frame)| (frame, shape)).collect())
        }
        _ => Ok(one_to_one(clip, shapes)?),
    }
}

/// Only the frames that were asked for.
fn keep_frames(pairs: &mut Vec<(usize, usize)>, clip: &Clip, args: &Shapes) -> Result<(), Report> {
    if args.frames.is_empty() {
        return Ok(());
    }
    let count = clip.frame_count();
    let mut wanted = vec![false; count];
    for range in &args.frames {
        if let Some((start, end, step)) = range.resolve(count) {
            (start..end).step_by(step).for_each(|frame| wanted[frame] = true);
        }
    }
    pairs.retain(|(frame, _)| wanted[*frame]);
    if pairs.is_empty() {
        let ranges: Vec<String> = args.frames.iter().map(ToString::to_string).collect();
        let message = format!("--frames {} leaves no pose", ranges.join(" --frames "));
        return Err(Report::new(message).hint(format!("the clip has {count} frames, numbered from 0")));
    }
    Ok(())
}

/// A file that brings rig, clip and shapes, as poses of the rig of `model`.
pub(super) fn read_training_set(source: &str, model: &Object, watch: &Watch) -> Result<(Poses, Vec<Note>), Report> {
    let everything = Shapes::default();
    let rigged = read_rigged(source, &everything, watch)?;
    same_topology(&model.mesh, &rigged.object.mesh).map_err(|error| Report::from(error).in_file(source))?;
    let clip = rigged.clip(source)?;
    let (clip, notes) = retarget(&clip, &rigged.object, model).map_err(|error| Report::from(error).in_file(source))?;
    let poses = read_poses(Arc::new(clip), rigged.object.sequence.as_ref(), &model.mesh, &everything, watch);
    Ok((poses.map_err(|report| report.in_file(source))?, notes))
}

/// All poses as one training set.
pub(super) fn examples_of(object: &Object, rig: &Rig, all: &[(Poses, Vec<f64>)]) -> Result<Examples, ExamplesError> {
    let mut examples = Examples::new(&object.mesh, rig);
    for (poses, weights) in all {
        examples.add(rig, &poses.clip, &poses.shapes, &poses.pairs, Some(weights))?;
    }
    Ok(examples)
}
