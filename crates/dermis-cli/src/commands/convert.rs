//! `dermis convert`: any format that is read to any that is written, or a part of it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use dermis::io::{ReadOptions, WRITABLE_ENDINGS, WriteOptions, Written, check_target};
use dermis::mesh::{Object, Scene};
use dermis::{FrameRange, Selection};
use serde::Serialize;

use crate::args::{EXIT_CODES, Format, Shared};
use crate::input;
use crate::interrupt;
use crate::motion::MotionFacts;
use crate::notes::NoteFacts;
use crate::numbers::{bytes, counted, seconds};
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

const EXAMPLES: &str = "Examples:
  dermis convert sample:gallop horse.glb
      a sample as glTF
  dermis convert walk.glb walk.npz --clip Walk --fps 30
      one clip, posed at 30 frames per second
  dermis convert shot.abc hero.abc --mesh /hero/body --frames 100:200
      one object and 100 frames of a shot
  dermis convert walk.pc2 walk.abc --topology hero.obj
      a point cache with its faces";

/// Write what is in one file to another, in the format that its ending names
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// The input: a file, a folder or numbered files, or sample:NAME
    input: String,
    #[arg(help = format!("The output; its ending names the format ({})", WRITABLE_ENDINGS.join(" ")))]
    output: PathBuf,
    #[command(flatten)]
    part: Part,
    /// The mesh whose faces a point cache (pc2, mdd) moves [default: the OBJ of the same name]
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Replace outputs that exist
    #[arg(long)]
    force: bool,
}

/// Which part of the input is wanted.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Part {
    /// Keep these frames: half-open and from 0, as a slice in Python; negative numbers count from the end
    #[arg(long, value_name = "A:B[:STEP]", allow_hyphen_values = true)]
    frames: Option<FrameRange>,
    /// Sample animation at this rate, in frames per second; it is also taken where a file states none
    #[arg(long, value_name = "HZ", value_parser = frame_rate, allow_hyphen_values = true)]
    pub(crate) fps: Option<f64>,
    /// Make this frame (counted before --frames drops any; −1 is the last) the rest pose; rigs become frames
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    rest_frame: Option<isize>,
    /// Keep this clip: its name or its number from 0
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// Keep this mesh: its name or path, a part that no other has, or a pattern with * and ?
    #[arg(long, value_name = "NAME")]
    mesh: Option<String>,
}

pub(super) fn frame_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        Ok(_) => Err("a frame rate must be positive and finite, such as 24".to_owned()),
        Err(_) => Err("this is not a number of frames per second, such as 24".to_owned()),
    }
}

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Summary {
    input: String,
    output: String,
    files: Vec<String>,
    bytes: u64,
    objects: Vec<ObjectSummary>,
    notes: Vec<NoteFacts>,
    seconds: Times,
}

#[derive(Debug, Serialize)]
struct ObjectSummary {
    name: String,
    points: usize,
    vertices: usize,
    triangles: usize,
    frames: Option<usize>,
    pub(crate) fps: Option<f64>,
    joints: usize,
    clips: Vec<MotionFacts>,
}

#[derive(Debug, Serialize)]
struct Times {
    read: f64,
    write: f64,
    total: f64,
}

/// Converts and says what was done.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let Args { input, output, part, topology, force } = args;
    convert(input, output, part, topology.clone(), *force, shared)
}

/// Reads `input`, keeps `part` of it and writes that to `output`.
pub(crate) fn convert(
    input: &str,
    output: &Path,
    part: &Part,
    topology: Option<PathBuf>,
    force: bool,
    shared: &Shared,
) -> Result<ExitCode, Report> {
    let options = WriteOptions { force };
    check_target(output, &options)?;
    let watch = Watch::new(format!("writing {}", output.display()), shared);
    let began = Instant::now();
    let scene = input::read(input, &ReadOptions { frame_rate_hz: part.fps, topology }, &watch)?;
    let scene = dermis::select(scene, &part.selection()).map_err(|error| Report::from(error).in_file(input))?;
    let read = began.elapsed().as_secs_f64();
    let written = interrupt::while_writing(|| dermis::write_with(output, &scene, &options, &watch));
    watch.clear();
    let written = written.map_err(|error| Report::from(error).in_file(input))?;
    let total = began.elapsed().as_secs_f64();
    let summary = Summary::new(input, output, &scene, &written, Times { read, write: total - read, total });
    match shared.format {
        Format::Json => terminal::print_json(&summary)?,
        Format::Pretty if shared.quiet => {}
        Format::Pretty => terminal::print(&summary.text(Paint::for_stdout(shared.color)))?,
    }
    Ok(ExitCode::SUCCESS)
}

impl Part {
    pub(crate) fn selection(&self) -> Selection {
        Selection {
            mesh: self.mesh.clone(),
            clip: self.clip.clone(),
            frames: self.frames,
            frame_rate_hz: self.fps,
            rest_frame: self.rest_frame,
        }
    }
}

impl Summary {
    fn new(input: &str, output: &Path, scene: &Scene, written: &Written, seconds: Times) -> Self {
        let notes = NoteFacts::each_once(scene.notes.iter().chain(&written.notes));
        Self {
            input: input.to_owned(),
            output: output.display().to_string(),
            files: written.files.iter().map(|file| file.display().to_string()).collect(),
            bytes: written.bytes,
            objects: scene.objects.iter().map(ObjectSummary::of).collect(),
            notes,
            seconds,
        }
    }

    fn text(&self, paint: Paint) -> String {
        let object = |object: &ObjectSummary| format!("{}  {}\n", paint.title(&object.name), object.words());
        let objects: String = self.objects.iter().map(object).collect();
        let files = match self.files.len() {
            0 | 1 => String::new(),
            count => format!("{count} files, "),
        };
        let Times { read, write, .. } = self.seconds;
        let (read, write) = (seconds(read), seconds(write));
        let size = bytes(self.bytes);
        let output = paint.title(&self.output);
        let notes: String = self.notes.iter().map(|note| note.line(paint)).collect();
        format!("{objects}wrote {output} ({files}{size}); read in {read}, written in {write}\n{notes}")
    }
}

impl ObjectSummary {
    fn of(object: &Object) -> Self {
        let motion = object.sequence.as_ref().map(MotionFacts::of_sequence);
        Self {
            name: object.name.clone(),
            points: object.mesh.point_count(),
            vertices: object.mesh.vertex_count(),
            triangles: object.mesh.triangle_count(),
            frames: motion.as_ref().map(|motion| motion.frames),
            fps: motion.as_ref().map(|motion| motion.fps),
            joints: object.rig.as_ref().map_or(0, |rig| rig.joints().len()),
            clips: MotionFacts::of_clips(object),
        }
    }

    fn words(&self) -> String {
        let mut words = vec![counted(self.points, "point", "points"), counted(self.triangles, "triangle", "triangles")];
        if let (Some(frames), Some(fps)) = (self.frames, self.fps) {
            words.push(MotionFacts::new("", frames, fps).words());
        }
        if self.joints > 0 {
            words.push(counted(self.joints, "joint", "joints"));
        }
        match &self.clips[..] {
            [] => {}
            [clip] => words.push(clip.titled()),
            clips => words.push(counted(clips.len(), "clip", "clips")),
        }
        words.join(", ")
    }
}
