//! `dermis tissue edit`: other flesh for a layered body.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use dermis::bodies::{BodyOptions, read_body};
use dermis::io::{WriteOptions, check_target};
use serde::Serialize;

use super::flesh::FleshArgs;
use super::layers::LayerFacts;
use crate::args::{EXIT_CODES, Format, Shared};
use crate::interrupt;
use crate::notes::NoteFacts;
use crate::numbers::bytes;
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

const EXAMPLES: &str = "Examples:
  dermis tissue edit model.npz --stiffness 20000 -o stiff.npz
  dermis view model.npz --paint fat -o painted.npz
  dermis tissue edit model.npz --thickness painted.npz:fat --thickness-range 1:2 -o fat.npz
      flesh where it was painted";

/// Change the flesh of a layered body: thickness, stiffness, density, damping
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"), allow_negative_numbers = true)]
pub(super) struct Args {
    /// The model
    model: String,
    /// The changed model, an .npz file
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    flesh: FleshArgs,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
}

/// What was made, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    model: String,
    output: String,
    bytes: u64,
    #[serde(flatten)]
    facts: LayerFacts,
    notes: Vec<NoteFacts>,
}

/// Edits, writes, and says what was made.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let options = WriteOptions { force: args.force };
    check_target(&args.output, &options)?;
    let named = |report: Report| report.in_file(args.model.as_str());
    let watch = Watch::new(format!("editing {}", args.model), shared);
    let (mut body, notes) = super::model(&args.model, &watch)?;
    let attributes = if args.flesh.is_painted_on_the_input() {
        read_body(&args.model, &BodyOptions::default()).map_err(|error| named(error.into()))?.attributes
    } else {
        BTreeMap::new()
    };
    let mut flesh = body.flesh().clone();
    args.flesh.edit(&mut flesh, &attributes).map_err(named)?;
    body.set_flesh(flesh).map_err(|error| named(error.into()))?;
    let written = interrupt::while_writing(|| dermis::layered_file::write(&args.output, &body, &options));
    watch.clear();
    let written = written.map_err(|error| named(error.into()))?;
    let notes: Vec<_> = notes.into_iter().chain(body.layers().notes()).collect();
    let summary = Summary {
        model: args.model.clone(),
        output: args.output.display().to_string(),
        bytes: written.bytes,
        facts: LayerFacts::new(&body).map_err(|error| named(error.into()))?,
        notes: NoteFacts::each_once(&notes),
    };
    summary.show(shared)
}

impl Summary {
    pub(super) fn new(model: &str, output: String, bytes: u64, facts: LayerFacts, notes: Vec<NoteFacts>) -> Self {
        Self { model: model.to_owned(), output, bytes, facts, notes }
    }

    pub(super) fn show(&self, shared: &Shared) -> Result<ExitCode, Report> {
        match shared.format {
            Format::Json => terminal::print_json(self)?,
            Format::Pretty if shared.quiet => {}
            Format::Pretty => {
                let paint = Paint::for_stdout(shared.color);
                let wrote = format!("wrote {} ({})\n", paint.title(&self.output), bytes(self.bytes));
                let notes: String = self.notes.iter().map(|note| note.line(paint)).collect();
                terminal::print(&(self.facts.text(paint) + &wrote + &notes))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
