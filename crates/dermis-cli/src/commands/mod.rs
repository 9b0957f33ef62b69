//! The commands, one file each.

mod completions;
mod convert;
mod envelope;
mod inspect;
mod man;
mod pose;
mod report;
mod sample;
mod skin;
mod tissue;
mod view;
mod volume;
mod wrinkle;

use std::process::ExitCode;

use clap::Subcommand;

use crate::args::Shared;
use crate::diagnostic::Diagnostic;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Skin(Box<skin::Args>),
    Envelope(envelope::Args),
    Pose(pose::Args),
    Inspect(inspect::Args),
    Convert(convert::Args),
    Sample(sample::Args),
    Volume(volume::Args),
    Wrinkle(wrinkle::Args),
    Tissue(tissue::Args),
    View(view::Args),
    Report(report::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs the command; the code tells a missed quality from success.
pub(crate) fn run(command: Command, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    match command {
        Command::Skin(args) => skin::run(&args, shared),
        Command::Envelope(args) => envelope::run(&args, shared),
        Command::Pose(args) => pose::run(&args, shared),
        Command::Inspect(args) => inspect::run(&args, shared),
        Command::Convert(args) => convert::run(&args, shared),
        Command::Sample(args) => sample::run(&args, shared),
        Command::Volume(args) => volume::run(&args, shared),
        Command::Wrinkle(args) => wrinkle::run(&args, shared),
        Command::Tissue(args) => tissue::run(&args, shared),
        Command::View(args) => view::run(&args, shared),
        Command::Report(args) => report::run(&args, shared),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
