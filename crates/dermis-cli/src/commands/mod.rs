//! Definition of the command line; each command has its own file.

mod batch;
mod collide;
mod completions;
mod convert;
mod edit;
mod envelope;
mod inspect;
mod light;
mod lod;
mod man;
mod pack;
mod pose;
mod render;
mod report;
mod sample;
mod skin;
mod tissue;
mod view;
mod volume;
mod wrinkle;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::Diagnostic;

const EXAMPLES: &str = "Examples:
  dermis inspect sample:gallop            show the contents of a built-in sample
  dermis convert sample:gallop horse.glb  write it as glTF
  dermis convert walk.abc walk.npz --frames 0:100 --fps 30";

/// Text after the list of commands.
fn after_help() -> String {
    let extensions = dermis::io::readable_extensions().join(" ");
    format!(
        "{EXAMPLES}\n\nInputs are files ({extensions}), folders or numbered sequences of obj and ply files, or built-in \
         samples (sample:NAME; see 'dermis sample --list').\n\n{EXIT_CODES}"
    )
}

/// Learn, correct and simulate the skin of animated characters
#[derive(Debug, Parser)]
#[command(name = "dermis", version, after_help = after_help(), max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Definition of arguments, help, completions and manual pages.
pub(crate) fn command() -> clap::Command {
    with_negative_numbers(Cli::command())
}

/// Parses `--bones -3` as a value out of range, in every command, instead of an unknown option `-3`.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    command.allow_negative_numbers(true).mut_subcommands(with_negative_numbers)
}

/// The command to run.
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
    Lod(lod::Args),
    Pack(pack::Args),
    Edit(edit::Args),
    Collide(collide::Args),
    Light(light::Args),
    Tissue(tissue::Args),
    Render(Box<render::Args>),
    View(view::Args),
    Report(report::Args),
    Batch(batch::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs the command and returns its exit code.
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
        Command::Lod(args) => lod::run(&args, shared),
        Command::Pack(args) => pack::run(&args, shared),
        Command::Edit(args) => edit::run(&args, shared),
        Command::Collide(args) => collide::run(&args, shared),
        Command::Light(args) => light::run(&args, shared),
        Command::Tissue(args) => tissue::run(&args, shared),
        Command::Render(args) => render::run(&args, shared),
        Command::View(args) => view::run(&args, shared),
        Command::Report(args) => report::run(&args, shared),
        Command::Batch(args) => batch::run(&args, shared),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}

#[cfg(test)]
mod tests;
