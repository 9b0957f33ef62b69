//! `dermis tissue transfer`: the flesh of one body on another of the same topology (§6).

use std::process::ExitCode;

use dermis::tissue::layered::LayeredBody;

use super::Changed;
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::Output;

const EXAMPLES: &str = "Examples:
  dermis tissue transfer heavy.npz thin.npz -o thin-with-heavy-flesh.npz
      both are models, or bodies, with the same points and triangles";

/// Give the flesh of one body, its thickness and material, to another of the same topology
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(super) struct Args {
    /// The model that has the flesh
    from: String,
    /// The model that gets it; a body that is not built yet is built first
    to: String,
    #[command(flatten)]
    output: Output,
}

/// Transfers, writes, and prints what was made.
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
        let diagnostic = Diagnostic::new("the two bodies do not have the same skin topology").in_file(&args.to);
        let diagnostic = diagnostic.detail(format!("one has {ours} points, the other {theirs}"));
        return Err(diagnostic.hint("flesh is transferred between shapes of one model, as SMPL's are"));
    }
    to.set_flesh(from.flesh().clone()).in_file(&args.to)?;
    job.notes.extend(to.layers().notes());
    let facts = super::write(&to, &args.output, &mut job).in_file(&args.to)?;
    job.summarize(&Changed { model: args.from.clone(), facts })
}
