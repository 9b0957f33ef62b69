//! `dermis envelope`: multi-weights from examples.

mod summary;
mod train;
mod validate;

use std::path::PathBuf;
use std::process::ExitCode;

use dermis::FrameRange;
use dermis::io::ReadOptions;
use dermis::train_envelope::{ExampleOptions, Targets};

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::options::frame_rate;

const EXAMPLES: &str = "Examples:
  dermis envelope train sample:arm -o arm.glb
      a rig that brings its example shapes
  dermis envelope train hero.fbx --clip exercise --targets sculpts/ -o hero.glb
      a folder of OBJ files, numbered by the clip's frames
  dermis envelope validate hero.glb --rig hero.fbx --clip test --targets test.abc
      how well it does on a motion that it has not seen
  dermis pose hero.glb --rig hero.fbx --clip run -o run.abc
      apply it to new motion";

/// Learn how skin follows a skeleton from example shapes: twelve weights per bone and point
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Train(Box<train::Args>),
    Validate(Box<validate::Args>),
}

/// Poses and their shapes.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Examples")]
struct Shapes {
    /// The clip: its name or its number from 0 [default: the first]
    #[arg(long, value_name = "NAME")]
    clip: Option<String>,
    /// The shapes: any mesh sequence, or a folder of OBJ files numbered by frame [default: those in the rig's file]
    #[arg(long, value_name = "FILE")]
    targets: Option<String>,
    /// The shapes are the morph targets of the targets' file, not its motion
    #[arg(long = "target-shapes")]
    morphs: bool,
    /// Use these frames of the clip: half-open and from 0, as a slice in Python; may be given several times
    #[arg(long, value_name = "A:B[:STEP]", allow_hyphen_values = true)]
    frames: Vec<FrameRange>,
    /// When in the clip each shape stands, in seconds [default: one shape per frame]
    #[arg(long, value_name = "T,…", value_delimiter = ',', allow_hyphen_values = true)]
    pose_times: Vec<f64>,
    /// Use only this mesh: its name or path, or a part that no other has
    #[arg(long, value_name = "NAME")]
    mesh: Option<String>,
    /// Sample animation at this rate, in frames per second; it is also taken where a file states none
    #[arg(long, value_name = "HZ", value_parser = frame_rate)]
    fps: Option<f64>,
    /// The mesh whose faces a point cache (pc2, mdd) moves [default: the OBJ of the same name]
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
}

/// Learns or compares.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    match &args.action {
        Action::Train(args) => train::run(args, shared),
        Action::Validate(args) => validate::run(args, shared),
    }
}

impl Shapes {
    /// How the rig's file is read.
    fn rig_options(&self) -> ReadOptions {
        ReadOptions { frame_rate_hz: self.fps, topology: None }
    }

    /// The poses, and their shapes if they are in a file of their own.
    fn options(&self) -> Result<ExampleOptions, Diagnostic> {
        let read_options = ReadOptions { frame_rate_hz: self.fps, topology: self.topology.clone() };
        let targets = self.targets.as_ref().map(|file| Targets::read(file, &read_options, self.morphs).in_file(file));
        Ok(ExampleOptions {
            mesh: self.mesh.clone(),
            clip: self.clip.clone(),
            frame_rate_hz: self.fps,
            frames: self.frames.clone(),
            pose_times_s: self.pose_times.clone(),
            targets: targets.transpose()?,
        })
    }
}
