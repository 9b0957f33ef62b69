//! `dermis envelope`: multi-weights from examples.

mod args;
mod inputs;
mod maps;
mod summary;
mod train;
mod validate;

use std::process::ExitCode;

use dermis::skin::envelope::TrainError;

pub(crate) use self::args::Args;
use self::args::{Action, MapSource};
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

fn report_of(error: &TrainError, maps: &MapSource) -> Report {
    let hint = match (error, maps) {
        (TrainError::NoInfluence { .. }, MapSource::Weights) => {
            Some("give it skin weights, widen the maps with --widen, or find them with --maps auto")
        }
        (TrainError::NoInfluence { .. }, _) => Some("paint at least one joint's map there"),
        (TrainError::NoPoses, _) => Some("give poses whose weight is not 0"),
        _ => None,
    };
    Report::new(error.to_string()).maybe_hint(hint.map(ToOwned::to_owned))
}
