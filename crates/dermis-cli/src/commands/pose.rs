//! `dermis pose`: a clip, of the model or of another file, played by all that deforms the model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use dermis::evaluate::{EvaluateError, clip_motion, with_frames};
use dermis::io::{ReadOptions, WRITABLE_ENDINGS, WriteOptions, Written, check_target};
use dermis::mesh::{Clip, Note, Object, Scene};
use dermis::retarget::{RetargetError, in_units, retarget};
use dermis::{FrameRange, Selection, select};
use serde::Serialize;

use crate::args::{EXIT_CODES, Format, Shared};
use crate::commands::convert::frame_rate;
use crate::input;
use crate::interrupt;
use crate::motion::MotionFacts;
use crate::notes::NoteFacts;
use crate::numbers::{bytes, counted, grouped, seconds};
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

const EXAMPLES: &str = "Examples:
  dermis pose model.glb --clip run -o run.abc
      a clip of the model, as frames
  dermis pose model.glb --rig mocap.fbx --clip jump -o jump.npz
      the motion of another file with the same joints
  dermis pose model.glb --rig mocap.fbx --base -o jump.glb
      the same on the skin alone, which stays a rig";

/// Play a clip with all that deforms a model: its skin, blend shapes and learned layers
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The model: a rigged file, or sample:NAME
    model: String,
    #[arg(long, short, value_name = "FILE", help = format!("The output; its ending names the format ({})", WRITABLE_ENDINGS.join(" ")))]
    output: PathBuf,
    /// The clip to play: its name or its number from 0 [default: the first]
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Take the clip from this file; joints are matched by name, or else by order
    #[arg(long, value_name = "FILE")]
    rig: Option<String>,
    /// Pose only this mesh: its name or path, a part that no other has, or a pattern with * and ?
    #[arg(long, value_name = "NAME")]
    mesh: Option<String>,
    /// Play these frames: half-open and from 0, as a slice in Python; negative numbers count from the end
    #[arg(long, value_name = "A:B[:STEP]", allow_hyphen_values = true)]
    frames: Option<FrameRange>,
    /// Sample the clip at this rate, in frames per second
    #[arg(long, value_name = "HZ", value_parser = frame_rate, allow_hyphen_values = true)]
    fps: Option<f64>,
    /// Play the skin and blend shapes alone, without the layers on top
    #[arg(long)]
    base: bool,
    /// Replace outputs that exist
    #[arg(long)]
    force: bool,
}

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Summary {
    model: String,
    rig: Option<String>,
    output: String,
    files: Vec<String>,
    bytes: u64,
    objects: Vec<ObjectSummary>,
    /// Of the longest motion.
    frames: usize,
    /// Posed and written.
    frames_per_second: f64,
    vertices_per_second: f64,
    notes: Vec<NoteFacts>,
    seconds: Times,
}

#[derive(Debug, Serialize)]
struct ObjectSummary {
    name: String,
    points: usize,
    vertices: usize,
    joints: usize,
    /// The layers that were played on top of the skin.
    layers: Vec<String>,
    clip: Option<MotionFacts>,
}

#[derive(Debug, Serialize)]
struct Times {
    read: f64,
    /// Posing included: frames are posed as they are written.
    write: f64,
    total: f64,
}

/// Poses and says what was done.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let options = WriteOptions { force: args.force };
    check_target(&args.output, &options)?;
    let watch = Watch::new(format!("posing {}", args.model), shared);
    let began = Instant::now();
    let (mut scene, objects) = posed(args, &watch)?;
    let read = began.elapsed().as_secs_f64();
    let written = interrupt::while_writing(|| dermis::io::write(&args.output, &scene, &options, &watch));
    watch.clear();
    let written = written.map_err(|error| Report::from(error).in_file(&args.model))?;
    let total = began.elapsed().as_secs_f64();
    scene.notes.extend(written.notes.iter().cloned());
    let summary = Summary::new(args, &scene, objects, &written, Times { read, write: total - read, total });
    match shared.format {
        Format::Json => terminal::print_json(&summary)?,
        Format::Pretty if shared.quiet => {}
        Format::Pretty => terminal::print(&summary.text(Paint::for_stdout(shared.color)))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The model in motion, and what is said about each of its objects.
fn posed(args: &Args, watch: &Watch) -> Result<(Scene, Vec<ObjectSummary>), Report> {
    let in_model = |report: Report| report.in_file(&args.model);
    let (mut scene, motion) = inputs(args, watch)?;
    if !scene.objects.iter().any(|object| object.rig.is_some()) {
        let report = Report::new("the model has no rig, so no clip can move it").in_file(&args.model);
        return Err(report.hint("give a rigged file, or make one with 'dermis skin'"));
    }
    let mut summaries = Vec::new();
    for object in &mut scene.objects {
        let layers =
            if args.base { Vec::new() } else { object.deformers.iter().map(|layer| layer.kind().to_owned()).collect() };
        let joints = object.rig.as_ref().map_or(0, |rig| rig.joints().len());
        let clip = match &motion {
            Some(motion) => clip_of_other(motion, object, &mut scene.notes)
                .map_err(|report| report.in_file(args.rig.as_deref().unwrap_or_default()))?,
            None => own_clip(object, &mut scene.notes),
        };
        summaries.push(ObjectSummary {
            name: object.name.clone(),
            points: object.mesh.point_count(),
            vertices: object.mesh.vertex_count(),
            joints,
            layers,
            clip: clip.as_deref().map(MotionFacts::of_clip),
        });
        *object = play(std::mem::take(object), clip, args.base, &mut scene.notes).map_err(in_model)?;
    }
    if summaries.iter().all(|summary| summary.clip.is_none()) {
        let report = Report::new("the model has no clip to play").in_file(&args.model);
        return Err(report.hint("give a file that has one with --rig FILE"));
    }
    Ok((scene, summaries))
}

/// The model and, where the clip comes from another file, that. What is not to be played is gone from both.
fn inputs(args: &Args, watch: &Watch) -> Result<(Scene, Option<Scene>), Report> {
    let options = ReadOptions { frame_rate_hz: args.fps, topology: None };
    let mesh = Selection { mesh: args.mesh.clone(), ..Selection::default() };
    let part =
        Selection { clip: args.clip.clone(), frames: args.frames, frame_rate_hz: args.fps, ..Selection::default() };
    let reduced = |source: &str, selection: &Selection, scene: Scene| {
        select(scene, selection).map_err(|error| Report::from(error).in_file(source))
    };
    let mut scene = reduced(&args.model, &mesh, input::read(&args.model, &options, watch)?)?;
    forget_examples(&mut scene);
    let has_clips = |scene: &Scene| scene.objects.iter().any(|object| !object.clips.is_empty());
    let Some(source) = &args.rig else {
        // Without a clip there is a better answer than that frames or clips are missing.
        let scene = if has_clips(&scene) { reduced(&args.model, &part, scene)? } else { scene };
        return Ok((scene, None));
    };
    let mut motion = input::read(source, &options, watch)?;
    forget_examples(&mut motion);
    motion.objects.retain(|object| object.rig.as_ref().is_some_and(|rig| !rig.joints().is_empty()));
    if !has_clips(&motion) {
        let report = Report::new("this file has no clip that moves joints").in_file(source);
        return Err(report.hint("give a rigged and animated file to --rig"));
    }
    let mut motion = reduced(source, &part, motion)?;
    scene.notes.append(&mut motion.notes);
    for object in &mut motion.objects {
        if let Some(converted) = in_units(object, motion.units, scene.units)? {
            *object = converted;
        }
    }
    Ok((scene, Some(motion)))
}

/// A rig's example shapes are not what it plays.
fn forget_examples(scene: &mut Scene) {
    for object in scene.objects.iter_mut().filter(|object| object.rig.is_some()) {
        object.sequence = None;
    }
}

fn own_clip(object: &Object, notes: &mut Vec<Note>) -> Option<Arc<Clip>> {
    let clip = object.clips.first()?;
    if object.clips.len() > 1 {
        notes.push(first_of_several(object, clip));
    }
    Some(Arc::clone(clip))
}

fn first_of_several(object: &Object, clip: &Clip) -> Note {
    let message =
        format!("the clip '{}' is played, the first of {}; --clip names another", clip.name(), object.clips.len());
    Note::at(object.name.clone(), message)
}

/// A clip of `motion` for `object`: of the first rig there whose joints fit.
fn clip_of_other(motion: &Scene, object: &Object, notes: &mut Vec<Note>) -> Result<Option<Arc<Clip>>, Report> {
    if object.rig.as_ref().is_none_or(|rig| rig.joints().is_empty()) {
        return Ok(None);
    }
    let sources = motion.objects.iter().filter_map(|source| Some((source, source.clips.first()?)));
    let mut failed = None;
    for (source, clip) in sources {
        match retarget(clip, source, object) {
            Ok((moved, said)) => {
                if source.clips.len() > 1 {
                    notes.push(first_of_several(source, clip));
                }
                notes.extend(said);
                return Ok(Some(Arc::new(moved)));
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(None), |error| Err(error.into()))
}

/// `object` as it plays `clip`: a rig where nothing lies on top of its skin, else frames.
fn play(object: Object, clip: Option<Arc<Clip>>, base: bool, notes: &mut Vec<Note>) -> Result<Object, Report> {
    let Some(clip) = clip else {
        notes.push(Note::at(object.name.clone(), "no clip moves this object; it stays as it is"));
        return Ok(object);
    };
    if base || object.deformers.is_empty() {
        return Ok(Object { clips: vec![clip], deformers: Vec::new(), ..object });
    }
    let motion = clip_motion(&object, &clip)?;
    notes.extend(motion.warnings);
    Ok(with_frames(object, motion.sequence))
}

impl Summary {
    fn new(args: &Args, scene: &Scene, objects: Vec<ObjectSummary>, written: &Written, seconds: Times) -> Self {
        let moving = || objects.iter().filter_map(|object| Some((object.clip.as_ref()?.frames, object.vertices)));
        let frames = moving().map(|(frames, _)| frames).max().unwrap_or(0);
        let vertices: f64 = moving().map(|(frames, vertices)| frames as f64 * vertices as f64).sum();
        Self {
            model: args.model.clone(),
            rig: args.rig.clone(),
            output: args.output.display().to_string(),
            files: written.files.iter().map(|file| Path::display(file).to_string()).collect(),
            bytes: written.bytes,
            frames,
            frames_per_second: frames as f64 / seconds.write,
            vertices_per_second: vertices / seconds.write,
            notes: NoteFacts::each_once(&scene.notes),
            objects,
            seconds,
        }
    }

    fn text(&self, paint: Paint) -> String {
        let object = |object: &ObjectSummary| format!("{}  {}\n", paint.title(&object.name), object.words());
        let objects: String = self.objects.iter().map(object).collect();
        let output = paint.title(&self.output);
        let files = if self.files.len() > 1 { format!("{} files, ", self.files.len()) } else { String::new() };
        let Times { read, write, .. } = self.seconds;
        let [frames, vertices] =
            [self.frames_per_second, self.vertices_per_second].map(|speed| grouped(speed as usize));
        let speed = format!("{frames} frames/s, {vertices} vertices/s");
        let notes: String = self.notes.iter().map(|note| note.line(paint)).collect();
        format!(
            "{objects}wrote {output} ({files}{}); read in {}, posed and written in {} ({speed})\n{notes}",
            bytes(self.bytes),
            seconds(read),
            seconds(write)
        )
    }
}

impl ObjectSummary {
    fn words(&self) -> String {
        let mut words = vec![counted(self.points, "point", "points"), counted(self.joints, "joint", "joints")];
        words.extend(self.layers.iter().map(|layer| format!("layer '{layer}'")));
        words.extend(self.clip.as_ref().map(MotionFacts::titled));
        words.join(", ")
    }
}

impl From<EvaluateError> for Report {
    fn from(error: EvaluateError) -> Self {
        Self::new(error.to_string()).add_causes(std::error::Error::source(&error))
    }
}

impl From<RetargetError> for Report {
    fn from(error: RetargetError) -> Self {
        let report = Self::new(error.to_string()).maybe_hint(error.hint().map(ToOwned::to_owned));
        error.details().into_iter().fold(report, Report::detail)
    }
}
