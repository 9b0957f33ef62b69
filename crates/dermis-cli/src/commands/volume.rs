//! `dermis volume`: a character that keeps its volume.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::ValueEnum;
use dermis::active::volume::{Effects, Mode, Target, VolumeDrift, VolumeOptions, effects_from_toml};
use dermis::evaluate;
use dermis::io::{Format as FileFormat, ReadOptions, WriteOptions, check_target};
use dermis::keep_volume::{KeptVolume, ObjectVolume};
use dermis::mesh::Note;
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
    let kept = interrupt::while_writing(|| dermis::keep_volume_with(&scene, &options, &watch));
    let mut kept = kept.map_err(|error| named(Report::from(error)))?;
    let correct = began.elapsed().as_secs_f64() - read;
    let mut notes = std::mem::take(&mut scene.notes);
    notes.append(&mut kept.warnings);
    if args.bake {
        for object in &mut kept.scene.objects {
            *object =
                evaluate::baked(std::mem::take(object), &mut notes).map_err(|error| named(Report::from(error)))?;
        }
    }
    notes.extend(layer_note(&kept, &args.output));
    let written = interrupt::while_writing(|| dermis::write_with(&args.output, &kept, &write_options, &watch));
    watch.clear();
    let written = written.map_err(|error| named(Report::from(error)))?;
    let total = began.elapsed().as_secs_f64();
    let summary = Summary {
        input: args.input.clone(),
        output: args.output.display().to_string(),
        files: written.files.iter().map(|file| file.display().to_string()).collect(),
        bytes: written.bytes,
        volume_drift_before: kept.drift_before(),
        volume_drift_after: kept.drift_after(),
        milliseconds_per_frame: kept.milliseconds_per_frame(),
        notes: NoteFacts::each_once(notes.iter().chain(&written.notes)),
        seconds: Times { read, correct, write: total - read - correct, total },
        objects: kept.objects.iter().map(ObjectSummary::of).collect(),
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
    effects_from_toml(&text).map_err(|error| named(Report::from(error)))
}

/// A note on the layer that goes with a rig into `output`.
fn layer_note(kept: &KeptVolume, output: &Path) -> Option<Note> {
    let format = FileFormat::of_path(output).ok()?;
    let layered = kept.scene.objects.iter().find(|object| !object.deformers.is_empty())?;
    let said = "the rig is written with its layer as DERMIS_deformers; viewers that do not know it play the rig alone \
                (--bake writes frames)";
    matches!(format, FileFormat::Glb | FileFormat::Gltf).then(|| Note::at(&layered.name, said))
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

impl ObjectSummary {
    fn of(object: &ObjectVolume) -> Self {
        let clip = |drift: &VolumeDrift| ClipSummary {
            name: drift.name.clone(),
            frames: drift.frames,
            volume_drift_before: drift.before,
            volume_drift_after: drift.after,
            milliseconds_per_frame: drift.milliseconds_per_frame,
        };
        Self {
            name: object.name.clone(),
            rest_volume: object.rest_volume,
            joints: object.joint_count,
            clips: object.motions.iter().map(clip).collect(),
        }
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
