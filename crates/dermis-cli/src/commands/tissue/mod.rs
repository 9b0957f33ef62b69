//! `dermis tissue`: layered bodies whose flesh moves.

mod build;
mod edit;
mod flesh;
mod inspect;
mod layers;
mod motion;
mod simulate;
mod transfer;

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use dermis::bodies::{BodyOptions, read_body};
use dermis::layered_file as layered;
use dermis::tissue::layered::{BuildOptions, LayeredBody};

use crate::args::{EXIT_CODES, Shared};
use crate::report::Report;
use crate::watch::Watch;

const EXAMPLES: &str = "Examples:
  dermis tissue build sample:body -o model.npz
      tetrahedra, weights inside, layers
  dermis tissue simulate model.npz --clip jumping_jacks -o jacks.abc
      its flesh in motion, as frames
  dermis tissue simulate model.npz --gravity 70 --forces pull.json -o heavy.glb
      under seven times the earth's gravity, pulled
  dermis view model.npz
      the same live, with the mouse";

/// Layered bodies: an inside that follows the pose, flesh that jiggles, sags and reacts to forces
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Build(Box<build::Args>),
    Simulate(Box<simulate::Args>),
    Edit(edit::Args),
    Transfer(transfer::Args),
    Inspect(inspect::Args),
}

/// Does what was asked.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    match &args.action {
        Action::Build(args) => build::run(args, shared),
        Action::Simulate(args) => simulate::run(args, shared),
        Action::Edit(args) => edit::run(args, shared),
        Action::Transfer(args) => transfer::run(args, shared),
        Action::Inspect(args) => inspect::run(args, shared),
    }
}

/// The layered body in the file `source`; a body that is not built yet is built with the defaults.
fn model(source: &str, watch: &Watch) -> Result<(LayeredBody, Vec<dermis::mesh::Note>), Report> {
    let named = |report: Report| report.in_file(source);
    if layered::is_layered(Path::new(source)) {
        let read = watch.during(&format!("reading {source}"), || layered::read(Path::new(source)));
        let file = read.map_err(|error| named(Report::from(error)))?;
        return Ok((file.body, file.notes));
    }
    let body = read_body(source, &BodyOptions::default()).map_err(|error| named(Report::from(error)))?;
    let model = body.model.ok_or_else(|| named(no_rig()))?;
    let (layered, report) =
        dermis::tissue::layered::build(model, body.motions, body.up, &BuildOptions::default(), watch)
            .map_err(|error| named(Report::from(error)))?;
    let mut notes = body.notes;
    notes.extend(report.notes);
    notes.push(dermis::mesh::Note::new("the body was built first, with the defaults of 'dermis tissue build'"));
    Ok((layered, notes))
}

/// Refuses to write over what is read.
fn check_apart(input: &str, output: &Path) -> Result<(), Report> {
    let same = |a: &Path| a.canonicalize().ok().zip(output.canonicalize().ok()).is_some_and(|(a, b)| a == b);
    if !same(Path::new(input)) {
        return Ok(());
    }
    let report = Report::new("the output is the input").in_file(input);
    Err(report.hint("frames would replace the model; choose another name"))
}

fn no_rig() -> Report {
    Report::new("the body has no rig")
        .hint("fit one with 'dermis tissue build --rig human', or give one with --rig FILE")
}
