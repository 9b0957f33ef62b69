//! `dermis volume`: a character that keeps its volume.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::ValueEnum;
use dermis::active::volume::{Effects, Mode, Target, VolumeLayer, VolumeOptions, Workspace, corrected, deformer};
use dermis::io::{Format as FileFormat, ReadOptions, WriteOptions, check_target};
use dermis::math::progress::Progress;
use dermis::mesh::pose::bake_lazily;
use dermis::mesh::{Clip, MeshSequence, Note, Object, Scene, SequenceError};
use serde::Serialize;

use crate::args::{EXIT_CODES, Format, Shared};
use crate::commands::convert::Part;
use crate::input;
use crate::interrupt;
use crate::notes::NoteFacts;
use crate::numbers::{bytes, counted, seconds, short};
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

/// A quality that was asked for was missed.
const EXIT_MISSED: u8 = 1;

const EXAMPLES: &str = "Examples:
  dermis volume sample:arm -o arm.glb
      the arm with its clip; the layer goes with it as DERMIS_deformers
  dermis volume hero.glb --clip Walk --effects muscles.toml -o walk.abc
      one clip with muscles, as frames
  dermis volume scan.abc --cap --target 0:1,2:1.1,4:1 -o breathing.abc
      recorded frames that breathe

Effects are a TOML file, one line per pattern of joint names:
  \"*elbow*\" = { effect = \"muscle\", axis = [0, 1, 0] }
  \"spine*\"  = { effect = \"folds\", omega = 2, sigma = 0.1 }";

/// Keep the volume of a character while it bends
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The input: a rigged character with clips, or recorded frames
    input: String,
    /// The output: .glb and .gltf keep the rig and carry the layer, other formats hold the corrected frames
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// What happens near which joints, a TOML file
    #[arg(long, value_name = "FILE")]
    effects: Option<PathBuf>,
    /// The volume to reach as a multiple of the rest volume: a number, or seconds:factor keys such as 0:1,2:1.2
    #[arg(long, value_name = "FACTOR", allow_hyphen_values = true, default_value_t = Target::default())]
    target: Target,
    /// How exactly and where the volume is restored
    #[arg(long, value_name = "MODE", default_value = "exact")]
    mode: ModeName,
    /// Close the holes of an open mesh, for the volume alone
    #[arg(long)]
    cap: bool,
    /// The attribute, a value per point, by which the body takes what joints do not [default: evenly]
    #[arg(long, value_name = "NAME")]
    attribute: Option<String>,
    /// Write the corrected frames of the first clip into .glb and .gltf too
    #[arg(long)]
    bake: bool,
    /// Exit with 1 if a frame's relative volume error stays above this
    #[arg(long, value_name = "R")]
    max_drift: Option<f64>,
    #[command(flatten)]
    part: Part,
    /// The mesh whose faces a point cache (pc2, mdd) moves [default: the OBJ of the same name]
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Replace outputs that exist
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ModeName {
    /// Near the joints, to rounding
    Exact,
    /// Near the joints, about right, in less time
    Fast,
    /// Over the whole body, to rounding
    Global,
}

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    output: String,
    files: Vec<String>,
    bytes: u64,
    objects: Vec<ObjectSummary>,
    /// The worst frame of all, relative to its target.
    volume_drift_before: f64,
    volume_drift_after: f64,
    milliseconds_per_frame: f64,
    notes: Vec<NoteFacts>,
    seconds: Times,
}

#[derive(Debug, Serialize)]
struct ObjectSummary {
    name: String,
    rest_volume: f64,
    /// Joints near which volume is restored.
    joints: usize,
    clips: Vec<ClipSummary>,
}

#[derive(Debug, Serialize)]
struct ClipSummary {
    /// Empty for recorded frames.
    name: String,
    frames: usize,
    volume_drift_before: f64,
    volume_drift_after: f64,
    milliseconds_per_frame: f64,
}

#[derive(Debug, Serialize)]
struct Times {
    read: f64,
    correct: f64,
    write: f64,
    total: f64,
}

/// Corrects, writes, and says what was done.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let write_options = WriteOptions { force: args.force };
    check_target(&args.output, &write_options)?;
    let options = volume_options(args)?;
    let watch = Watch::new(format!("correcting {}", args.input), shared);
    let began = Instant::now();
    let read_options = ReadOptions { frame_rate_hz: args.part.fps, topology: args.topology.clone() };
    let scene = input::read(&args.input, &read_options, &watch)?;
    let named = |report: Report| report.in_file(args.input.as_str());
    let mut scene = dermis::select(scene, &args.part.selection()).map_err(|error| named(Report::from(error)))?;
    let read = began.elapsed().as_secs_f64();
    let keeps_rig = !args.bake && FileFormat::of_path(&args.output).is_ok_and(|format| format.holds.layers);
    let objects = correct(&mut scene, &options, keeps_rig, &watch).map_err(named)?;
    let correct = began.elapsed().as_secs_f64() - read;
    let written = interrupt::while_writing(|| dermis::io::write(&args.output, &scene, &write_options, &watch));
    watch.clear();
    let written = written.map_err(|error| named(Report::from(error)))?;
    let total = began.elapsed().as_secs_f64();
    let clips = || objects.iter().flat_map(|object| &object.clips);
    let frames = clips().map(|clip| clip.frames).sum::<usize>();
    let milliseconds = clips().map(|clip| clip.milliseconds_per_frame * clip.frames as f64).sum::<f64>();
    let summary = Summary {
        input: args.input.clone(),
        output: args.output.display().to_string(),
        files: written.files.iter().map(|file| file.display().to_string()).collect(),
        bytes: written.bytes,
        volume_drift_before: clips().map(|clip| clip.volume_drift_before).fold(0.0, f64::max),
        volume_drift_after: clips().map(|clip| clip.volume_drift_after).fold(0.0, f64::max),
        milliseconds_per_frame: milliseconds / frames.max(1) as f64,
        notes: NoteFacts::each_once(scene.notes.iter().chain(&written.notes)),
        seconds: Times { read, correct, write: total - read - correct, total },
        objects,
    };
    match shared.format {
        Format::Json => terminal::print_json(&summary)?,
        Format::Pretty if shared.quiet => {}
        Format::Pretty => terminal::print(&summary.text(Paint::for_stdout(shared.color)))?,
    }
    let missed = args.max_drift.is_some_and(|most| summary.volume_drift_after > most);
    Ok(if missed { ExitCode::from(EXIT_MISSED) } else { ExitCode::SUCCESS })
}

fn volume_options(args: &Args) -> Result<VolumeOptions, Report> {
    let mode = match args.mode {
        ModeName::Exact => Mode::Exact,
        ModeName::Fast => Mode::Fast,
        ModeName::Global => Mode::Global,
    };
    let effects = args.effects.as_deref().map(read_effects).transpose()?.unwrap_or_default();
    let (target, body_attribute) = (args.target.clone(), args.attribute.clone());
    Ok(VolumeOptions { mode, cap: args.cap, target, effects, body_attribute })
}

fn read_effects(path: &Path) -> Result<Effects, Report> {
    let named = |report: Report| report.in_file(path.display().to_string());
    let text = std::fs::read_to_string(path).map_err(|error| named(Report::from(dermis::io::Error::from(error))))?;
    Effects::from_toml(&text).map_err(|error| named(Report::from(error)))
}

/// Corrects every object that moves, in place, and measures each of its motions.
fn correct(
    scene: &mut Scene,
    options: &VolumeOptions,
    keeps_rig: bool,
    watch: &Watch,
) -> Result<Vec<ObjectSummary>, Report> {
    let total = scene.objects.iter().flat_map(motions_of).map(|motion| motion.1).sum::<usize>();
    if total == 0 {
        return Err(Report::new("nothing moves").hint("give a rig with a clip, or recorded frames"));
    }
    let mut done = 0;
    let mut summaries = Vec::new();
    for object in &mut scene.objects {
        if motions_of(object).is_empty() {
            continue;
        }
        let at_object = |report: Report| report.at(object.name.clone());
        let layer = VolumeLayer::new(object, options).map_err(|error| at_object(Report::from(error)))?;
        scene.notes.extend(layer.notes().iter().cloned());
        let layer = Arc::new(layer);
        let mut clips = Vec::new();
        for (clip, frames) in motions_of(object) {
            let motion = motion(object, clip.as_ref()).map_err(|error| at_object(Report::from(error)))?;
            let step = |frame: usize| watch.report("correcting", done + frame, total).is_break();
            clips.push(measure(&layer, &motion, clip.as_deref(), step).map_err(at_object)?);
            done += frames;
        }
        let (joints, rest_volume) = (layer.joint_count(), layer.rest_volume());
        summaries.push(ObjectSummary { name: object.name.clone(), rest_volume, joints, clips });
        let notes = keep(object, &layer, options, keeps_rig).map_err(Report::from)?;
        scene.notes.extend(notes);
    }
    Ok(summaries)
}

/// The clips of a rig, or the recorded frames, each with its number of frames.
fn motions_of(object: &Object) -> Vec<(Option<Arc<Clip>>, usize)> {
    let clips = object.clips.iter().filter(|_| object.rig.is_some());
    let clips: Vec<_> = clips.map(|clip| (Some(Arc::clone(clip)), clip.frame_count())).collect();
    match &object.sequence {
        Some(sequence) if clips.is_empty() => vec![(None, sequence.frame_count())],
        _ => clips,
    }
}

fn motion(object: &Object, clip: Option<&Arc<Clip>>) -> Result<MeshSequence, dermis::io::Error> {
    match (clip, &object.rig, &object.sequence) {
        (Some(clip), Some(rig), _) => Ok(bake_lazily(&object.mesh, rig, clip)?),
        (_, _, Some(sequence)) => Ok(sequence.clone()),
        _ => Err(SequenceError::NoFrames.into()),
    }
}

fn measure(
    layer: &VolumeLayer,
    motion: &MeshSequence,
    clip: Option<&Clip>,
    stops: impl Fn(usize) -> bool,
) -> Result<ClipSummary, Report> {
    let mut work = Workspace::default();
    let (mut before, mut after, mut elapsed) = (0.0f64, 0.0f64, 0.0);
    for frame in 0..motion.frame_count() {
        if stops(frame) {
            return Err(Report::new(crate::diagnostic::STOPPED));
        }
        let mut positions =
            motion.frame(frame).map_err(|error| Report::from(dermis::io::Error::from(error)))?.into_owned();
        let start = Instant::now();
        let target = layer.target_of_frame(frame, motion);
        let volumes = layer.apply(&mut positions, clip.map(|clip| clip.transforms(frame)), target, &mut work);
        elapsed += start.elapsed().as_secs_f64();
        before = before.max(volumes.drift_before());
        after = after.max(volumes.drift(layer.volume_of(&positions)));
    }
    Ok(ClipSummary {
        name: clip.map(|clip| clip.name().to_owned()).unwrap_or_default(),
        frames: motion.frame_count(),
        volume_drift_before: before,
        volume_drift_after: after,
        milliseconds_per_frame: 1e3 * elapsed / motion.frame_count() as f64,
    })
}

/// Leaves in `object` what the output shall hold: the rig with its layer, or corrected frames.
fn keep(
    object: &mut Object,
    layer: &Arc<VolumeLayer>,
    options: &VolumeOptions,
    keeps_rig: bool,
) -> Result<Vec<Note>, dermis::io::Error> {
    let mut notes = Vec::new();
    let is_ours = |settings: &str| settings.contains("\"type\":\"volume\"");
    object.deformers.retain(|deformer| !is_ours(&deformer.settings));
    if keeps_rig && object.rig.is_some() && !object.clips.is_empty() {
        object.deformers.push(deformer(options));
        object.sequence = None;
        notes.push(Note::at(
            &object.name,
            "the rig is written with its layer as DERMIS_deformers; viewers that do not know it play the rig alone \
             (--bake writes frames)",
        ));
        return Ok(notes);
    }
    if object.clips.len() > 1 {
        let first = object.clips[0].name();
        notes.push(Note::at(&object.name, format!("the frames of the first clip, '{first}', are written")));
    }
    let clip = object.clips.first().filter(|_| object.rig.is_some()).cloned();
    let motion = motion(object, clip.as_ref())?;
    object.sequence = Some(corrected(layer, &motion, clip.as_ref())?);
    object.rig = None;
    object.clips.clear();
    Ok(notes)
}

impl Summary {
    fn text(&self, paint: Paint) -> String {
        let mut lines = Vec::new();
        for object in &self.objects {
            let joints = counted(object.joints, "joint", "joints");
            let name = paint.title(&object.name);
            lines.push(format!("{name}  volume {}, restored near {joints}\n", short(object.rest_volume)));
            lines.extend(object.clips.iter().map(ClipSummary::line));
        }
        let Times { read, correct, write, .. } = self.seconds;
        let [read, correct, write] = [read, correct, write].map(seconds);
        let (output, size) = (paint.title(&self.output), bytes(self.bytes));
        lines.push(format!("wrote {output} ({size}); read in {read}, corrected in {correct}, written in {write}\n"));
        lines.extend(self.notes.iter().map(|note| note.line(paint)));
        lines.concat()
    }
}

impl ClipSummary {
    fn line(&self) -> String {
        let name = if self.name.is_empty() { "frames" } else { &self.name };
        let frames = counted(self.frames, "frame", "frames");
        let before = 100.0 * self.volume_drift_before;
        let Self { volume_drift_after: after, milliseconds_per_frame: time, .. } = self;
        format!("  {name}: {frames}, drift {before:.3} % before, {after:.1e} after, {time:.2} ms per frame\n")
    }
}
