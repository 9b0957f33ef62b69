//! `dermis tissue transfer`: copies the flesh of one body to another of the same topology (Kim et al. 2017, §6).

use std::process::ExitCode;

use dermis::tissue::layered::LayeredBody;

use super::Changed;
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::Output;

const EXAMPLES: &str = "Examples:
  dermis tissue transfer heavy.npz thin.npz -o thin-with-heavy-flesh.npz
      both bodies have the same points and triangles";

/// Copy the thickness and material of the flesh to another body with the same topology
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(mut_arg("output", |output| output.help(super::OUTPUT_HELP)))]
pub(super) struct Args {
    /// Source of the flesh
    from: String,
    /// Body that receives the flesh; bodies without layers are built first
    to: String,
    #[command(flatten)]
    output: Output,
}

/// Transfers the flesh, writes the body and prints its facts.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    super::check(&args.output)?;
    let mut job = Job::new(format!("transferring to {}", args.to), shared);
    let from = super::read(&args.from, &mut job)?.body;
    job.notes.clear();
    let mut to = super::read(&args.to, &mut job)?.body;
    job.clock.lap("read");
    let triangles = |body: &LayeredBody| body.body().mesh().triangles().to_vec();
    let (ours, theirs) = (from.body().point_count(), to.body().point_count());
    if ours != theirs || triangles(&from) != triangles(&to) {
        let diagnostic = Diagnostic::new("the skins of the two bodies have different topologies").in_file(&args.to);
        let diagnostic = diagnostic.detail(format!("{ours} and {theirs} points"));
        return Err(diagnostic.hint("use two shapes of one body model"));
    }
    to.set_flesh(from.flesh().clone()).in_file(&args.to)?;
    job.notes.extend(to.layers().notes());
    let facts = super::write(&to, &args.output, &mut job).in_file(&args.to)?;
    job.summarize(&Changed { model: args.from.clone(), facts })
}
