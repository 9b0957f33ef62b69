//! `dermis envelope`: multi-weights learned from examples.

mod curve;
mod export;
mod parse;
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
use crate::input_units::InputUnits;
use crate::options::{InputPart, frame_rate};

const EXAMPLES: &str = "Examples:
  dermis envelope train sample:arm -o arm.glb
      a rig whose file contains the example shapes
  dermis envelope train hero.fbx --clip exercise --targets sculpts/ -o hero.glb
      a folder of OBJ files, numbered by frame of the clip
  dermis envelope validate hero.glb --rig hero.fbx --clip test --targets test.abc
      measure the model on another motion
  dermis pose hero.glb --rig hero.fbx --clip run -o run.abc
      apply the model to another clip";

/// Learn multi-weights from example shapes: twelve weights per bone and point
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    Train(Box<train::Args>),
    Export(Box<export::Args>),
    Validate(Box<validate::Args>),
}

/// Poses and the shape of each.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Poses and shapes")]
struct Shapes {
    /// Use this clip: its name, a unique part of its name, or its index from 0 [default: the first]
    #[arg(long, value_name = "CLIP")]
    clip: Option<String>,
    /// Read shapes from this mesh sequence, or from a folder of OBJ files numbered by frame [default: the file of the rig]
    #[arg(long, value_name = "FILE")]
    targets: Option<String>,
    /// Use the blend shapes of the --targets file as shapes instead of its motion
    #[arg(long = "target-shapes", requires = "targets")]
    morphs: bool,
    /// Use these frames of the clip: a half-open range from 0 as in Python; repeatable [default: all]
    #[arg(long, value_name = "A:B[:STEP]", allow_hyphen_values = true)]
    frames: Vec<FrameRange>,
    /// Set the times of the shapes in the clip, in seconds [default: one shape per frame]
    #[arg(long, value_name = "T,…", value_delimiter = ',', allow_hyphen_values = true)]
    pose_times: Vec<f64>,
    /// Use this mesh: its name or path, or a unique part of its name
    #[arg(long, value_name = "NAME")]
    mesh: Option<String>,
    /// Sample animations at this rate, in frames per second; also the rate of files that do not state one [default: the rate of the file, or 24]
    #[arg(long, value_name = "HZ", value_parser = frame_rate)]
    fps: Option<f64>,
    /// Read the faces of a point cache (pc2, mdd) from this mesh [default: the OBJ file of the same name]
    #[arg(long, value_name = "FILE", requires = "targets")]
    topology: Option<PathBuf>,
    #[command(flatten)]
    units: InputUnits,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    match &args.action {
        Action::Train(args) => train::run(args, shared),
        Action::Export(args) => export::run(args, shared),
        Action::Validate(args) => validate::run(args, shared),
    }
}

impl Shapes {
    /// Options for reading the file of the rig.
    fn rig_options(&self) -> ReadOptions {
        ReadOptions { frame_rate_hz: self.fps, ..ReadOptions::default() }
    }

    /// Options of the examples; reads the shapes if they are in a separate file.
    fn options(&self) -> Result<ExampleOptions, Diagnostic> {
        let part = InputPart { topology: self.topology.clone(), ..InputPart::default() };
        part.expect_point_cache(self.targets.as_deref())?;
        let topology = self.topology.clone();
        let read_options = ReadOptions { frame_rate_hz: self.fps, topology, ..ReadOptions::default() };
        let read_options = self.units.applied(read_options);
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
