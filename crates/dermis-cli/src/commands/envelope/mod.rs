//! `dermis envelope`: multi-weights from examples.

mod args;
mod summary;
mod train;
mod validate;

use std::process::ExitCode;

use dermis::io::ReadOptions;
use dermis::skin::envelope::TrainError;
use dermis::train_envelope::{ExampleOptions, MapSource, Targets};

pub(crate) use self::args::Args;
use self::args::{Action, Shapes};
use crate::EXIT_MISSED;
use crate::args::Shared;
use crate::report::Report;

/// Learns or compares.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let missed = match &args.action {
        Action::Train(args) => train::run(args, shared)?,
        Action::Validate(args) => validate::run(args, shared)?,
    };
    Ok(if missed { ExitCode::from(EXIT_MISSED) } else { ExitCode::SUCCESS })
}

/// The poses and shapes that the arguments choose.
fn example_options(shapes: &Shapes) -> Result<ExampleOptions, Report> {
    let targets = match &shapes.targets {
        Some(source) => {
            let options = ReadOptions { frame_rate_hz: shapes.fps, topology: shapes.topology.clone() };
            let targets = Targets::read(source, &options, shapes.morphs);
            Some(targets.map_err(|error| Report::from(error).in_file(source))?)
        }
        None => None,
    };
    Ok(ExampleOptions {
        mesh: shapes.mesh.clone(),
        clip: shapes.clip.clone(),
        frame_rate_hz: shapes.fps,
        frames: shapes.frames.clone(),
        pose_times_s: shapes.pose_times.clone(),
        targets,
    })
}

fn report_of(error: dermis::Error, maps: &MapSource) -> Report {
    let hint = match (&error, maps) {
        (dermis::Error::Train(TrainError::NoInfluence { .. }), MapSource::Weights) => {
            Some("give it skin weights, widen the maps with --widen, or find them with --maps auto")
        }
        (dermis::Error::Train(TrainError::NoInfluence { .. }), _) => Some("paint at least one joint's map there"),
        (dermis::Error::Train(TrainError::NoPoses), _) => Some("give poses whose weight is not 0"),
        _ => None,
    };
    Report::from(error).maybe_hint(hint.map(ToOwned::to_owned))
}
