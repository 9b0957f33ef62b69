//! `dermis tissue edit`: changes the flesh of a layered body.

use std::process::ExitCode;

use super::Changed;
use super::flesh::{FleshArgs, keep_by_default};
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::Output;

const EXAMPLES: &str = "Examples:
  dermis tissue edit model.npz --stiffness 20000 -o stiff.npz
  dermis view model.npz --paint fat -o painted.npz
  dermis tissue edit model.npz --thickness painted.npz:fat --thickness-range 1:2 -o fat.npz
      painted thickness";

/// Change the flesh of a layered body: thickness, stiffness, density, damping
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(mut_arg("output", |output| output.help(super::OUTPUT_HELP)), mut_args(keep_by_default))]
pub(super) struct Args {
    /// Layered body
    model: String,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    flesh: FleshArgs,
}

/// Changes the flesh, writes the body and prints its facts.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    super::check(&args.output)?;
    if args.flesh.is_empty() {
        let diagnostic = Diagnostic::new("no change requested");
        return Err(diagnostic.hint("set --thickness, --stiffness, --poisson, --density or --damping"));
    }
    let mut job = Job::new(format!("editing {}", args.model), shared);
    let file = super::read(&args.model, &mut job)?;
    job.clock.lap("read");
    let (mut body, mut flesh) = (file.body.clone(), file.body.flesh().clone());
    args.flesh.edit(&mut flesh, &file.attributes).in_file(&args.model)?;
    body.set_flesh(flesh).in_file(&args.model)?;
    job.notes.extend(body.layers().notes());
    let facts = super::write(&body, &args.output, &mut job).in_file(&args.model)?;
    job.summarize(&Changed { model: args.model.clone(), facts })
}
