//! `dermis pose`: evaluates a clip with the skin, blend shapes and layers of a model.

use std::path::PathBuf;
use std::process::ExitCode;

use dermis::FrameRange;
use dermis::io::ReadOptions;
use dermis::pose_model::{PoseOptions, PosedModel, PosedObject, pose_model};
use dermis::retarget::{FootSlide, RetargetOptions, joint_map_from_toml};
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::input_units::InputUnits;
use crate::job::{Facts, Job};
use crate::motion::{MotionFacts, Words};
use crate::numbers::{counted, grouped, short};
use crate::options::{Output, frame_rate};
use crate::text::Text;

const EXAMPLES: &str = "Examples:
  dermis pose model.glb --clip run -o run.abc
      a clip of the model, as frames
  dermis pose model.glb --rig mocap.fbx --clip jump -o jump.npz
      a clip of another file with the same joints
  dermis pose model.glb --rig mocap.fbx --base -o jump.glb
      without layers, as a rig";

/// Evaluate a clip with the skin, blend shapes and layers of a model
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Rigged file, or sample:NAME
    model: String,
    #[command(flatten)]
    output: Output,
    /// Use this clip: its name, a unique part of its name, or its index from 0 [default: the first]
    #[arg(long, value_name = "CLIP")]
    clip: Option<String>,
    /// Read the clip from this file; joints are matched by name, otherwise by order or hierarchy [default: the model]
    #[arg(long, value_name = "FILE")]
    rig: Option<String>,
    /// Match joints as listed in this TOML file, with lines such as Hips = "pelvis": joint of the model, then joint of --rig
    #[arg(long, value_name = "FILE", requires = "rig")]
    joint_map: Option<PathBuf>,
    /// Use this mesh: its name or path, a unique part of its name, or a pattern with * and ?
    #[arg(long, value_name = "NAME")]
    mesh: Option<String>,
    /// Use these frames: a half-open range from 0 as in Python; negative numbers count from the end [default: all]
    #[arg(long, value_name = "A:B[:STEP]", allow_hyphen_values = true)]
    frames: Option<FrameRange>,
    /// Sample animations at this rate, in frames per second; also the rate of files that do not state one [default: the rate of the file, or 24]
    #[arg(long, value_name = "HZ", value_parser = frame_rate)]
    fps: Option<f64>,
    /// Evaluate only the skin and blend shapes, without layers
    #[arg(long)]
    base: bool,
    #[command(flatten)]
    units: InputUnits,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    model: String,
    rig: Option<String>,
    objects: Vec<ObjectSummary>,
    /// Frames of the longest motion.
    frames: usize,
    /// Speed of posing and writing together.
    frames_per_second: f64,
    vertices_per_second: f64,
}

#[derive(Debug, Serialize)]
struct ObjectSummary {
    name: String,
    points: usize,
    vertices: usize,
    joints: usize,
    /// Types of the layers that were applied.
    layers: Vec<String>,
    clip: Option<MotionFacts>,
    /// Movement of the feet while those of the motion are on the ground.
    #[serde(skip_serializing_if = "Option::is_none")]
    foot_slide: Option<FootSlide>,
}

/// Poses the model, writes the result and prints a summary.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    args.output.check()?;
    let mut job = Job::new(format!("posing {}", args.model), shared);
    let read_options = ReadOptions { frame_rate_hz: args.fps, ..ReadOptions::default() };
    let model = job.read(&args.model, &args.units.applied(read_options.clone()))?;
    let motion = args.rig.as_ref().map(|rig| job.read(rig, &read_options)).transpose()?;
    let options = PoseOptions {
        mesh: args.mesh.clone(),
        clip: args.clip.clone(),
        frames: args.frames,
        frame_rate_hz: args.fps,
        base: args.base,
        retarget: match &args.joint_map {
            Some(path) => {
                let text = std::fs::read_to_string(path).in_file(path.display())?;
                let joint_map = joint_map_from_toml(&text).map_err(dermis::Error::from).in_file(path.display())?;
                RetargetOptions { joint_map }
            }
            None => RetargetOptions::default(),
        },
    };
    let blamed = args.rig.as_ref().unwrap_or(&args.model);
    let mut posed = pose_model(&model, motion.as_ref(), &options).in_file(blamed)?;
    job.notes.append(&mut posed.warnings);
    job.clock.lap("read");
    // Frames are posed while they are written.
    let start = std::time::Instant::now();
    job.write(&args.output.output, &posed, &args.output.options(), &args.model)?;
    job.summarize(&Summary::new(args, &posed, start.elapsed().as_secs_f64()))
}

impl Summary {
    fn new(args: &Args, posed: &PosedModel, seconds: f64) -> Self {
        let moving =
            || posed.objects.iter().filter_map(|object| Some((object.clip.as_ref()?.frame_count(), object.vertices)));
        let frames = moving().map(|(frames, _)| frames).max().unwrap_or(0);
        let vertices: f64 = moving().map(|(frames, vertices)| frames as f64 * vertices as f64).sum();
        Self {
            model: args.model.clone(),
            rig: args.rig.clone(),
            objects: posed.objects.iter().map(ObjectSummary::of).collect(),
            frames,
            frames_per_second: frames as f64 / seconds,
            vertices_per_second: vertices / seconds,
        }
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        let mut shown = None;
        for object in &self.objects {
            let mut words = vec![counted(object.points, "point", "points"), counted(object.joints, "joint", "joints")];
            words.extend(object.layers.iter().map(|layer| format!("layer '{layer}'")));
            words.extend(object.clip.as_ref().map(MotionFacts::titled));
            text.title(&object.name, words.join(", "));
            // Meshes on one skeleton have the same feet.
            let repeated = object.foot_slide.is_some() && object.foot_slide == shown;
            shown = object.foot_slide.or(shown);
            if let Some(slide) = object.foot_slide.filter(|_| !repeated) {
                let (own, source) = (short(slide.speed), short(slide.source_speed));
                text.row("feet", format!("slide at {own} units/s while on the ground, {source} in the source motion"));
            }
        }
        let [frames, vertices] =
            [self.frames_per_second, self.vertices_per_second].map(|speed| grouped(speed as usize));
        text.row("speed", format!("{frames} frames/s, {vertices} vertices/s, posed and written"));
    }
}

impl ObjectSummary {
    fn of(object: &PosedObject) -> Self {
        let PosedObject { name, points, vertices, joints, layers, clip, foot_slide } = object.clone();
        Self { name, points, vertices, joints, layers, clip: clip.as_deref().map(MotionFacts::of_clip), foot_slide }
    }
}
