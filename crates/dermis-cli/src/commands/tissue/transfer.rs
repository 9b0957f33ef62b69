//! `dermis tissue transfer`: the flesh of one body on another of the same topology (§6).

use std::path::PathBuf;
use std::process::ExitCode;

use dermis::io::{WriteOptions, check_target};

use super::edit::Summary;
use super::layers::LayerFacts;
use crate::args::{EXIT_CODES, Shared};
use crate::interrupt;
use crate::notes::NoteFacts;
use crate::report::Report;
use crate::watch::Watch;

const EXAMPLES: &str = "Examples:
  dermis tissue transfer heavy.npz thin.npz -o thin-with-heavy-flesh.npz
      both are models, or bodies, with the same points and triangles";

/// Give the flesh of one body, where and how soft it is, to another of the same topology
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(super) struct Args {
    /// The model that has the flesh
    from: String,
    /// The model that gets it; a body that is not built yet is built first
    to: String,
    /// The result, an .npz file
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(long)]
    force: bool,
}

/// Transfers, writes, and says what was made.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let options = WriteOptions { force: args.force };
    check_target(&args.output, &options)?;
    let named = |report: Report| report.in_file(args.to.as_str());
    let watch = Watch::new(format!("transferring to {}", args.to), shared);
    let (from, _) = super::model(&args.from, &watch)?;
    let (mut to, notes) = super::model(&args.to, &watch)?;
    let triangles = |body: &dermis::tissue::layered::LayeredBody| body.body().mesh().triangles().to_vec();
    let (ours, theirs) = (from.body().point_count(), to.body().point_count());
    if ours != theirs || triangles(&from) != triangles(&to) {
        let report = Report::new("the two bodies do not have the same skin topology");
        let report = report.detail(format!("one has {ours} points, the other {theirs}")).in_file(args.to.as_str());
        return Err(report.hint("transfer goes between shapes of one model, as SMPL's are"));
    }
    to.set_flesh(from.flesh().clone()).map_err(|error| named(error.into()))?;
    let written = interrupt::while_writing(|| dermis::layered_file::write(&args.output, &to, &options));
    watch.clear();
    let written = written.map_err(|error| named(error.into()))?;
    let notes: Vec<_> = notes.into_iter().chain(to.layers().notes()).collect();
    let facts = LayerFacts::new(&to).map_err(|error| named(error.into()))?;
    let output = args.output.display().to_string();
    Summary::new(&args.from, output, written.bytes, facts, NoteFacts::each_once(&notes)).show(shared)
}
