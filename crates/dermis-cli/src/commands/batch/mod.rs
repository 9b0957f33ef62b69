//! `dermis batch`: runs the jobs of a file.

mod arguments;
mod process;
mod summary;

use std::path::PathBuf;
use std::process::ExitCode;

use dermis::batch::{
    Batch, BatchOptions, JobResult, collect_results, read_batch, run_batch_with, tables::write_tables,
};
use dermis::io::Written;

use self::process::Processes;
use self::summary::{Plan, Summary};
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::interrupt;
use crate::job::Job;
use crate::options::{count, expect_effect};
use crate::parse::memory;

const EXAMPLES: &str = "Examples:
  dermis batch jobs.toml
      run all jobs of the file whose results are not up to date
  dermis batch jobs.toml --plan
      list the jobs and their state
  dermis batch jobs.toml --only fit --force
      run the jobs of one entry again";

/// Run many commands on many inputs, described by a job file, on all cores
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    /// Job file (.toml)
    jobs: PathBuf,
    /// List the jobs and their state without running them
    #[arg(long, conflicts_with_all = ["tables", "only", "force", "parallel", "memory"])]
    plan: bool,
    /// Write the tables of stored results without running jobs
    #[arg(long, conflicts_with_all = ["only", "force", "parallel", "memory"])]
    tables: bool,
    /// Run only these jobs: their names, names of entries, or patterns with * and ?; the tables are not written
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// Write records, logs and tables to this folder [default: that of the file, or its name with the extension .results]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Run at most this many jobs at the same time [default: that of the file, or one per thread]
    #[arg(long, value_name = "N", value_parser = count)]
    parallel: Option<usize>,
    /// Limit the memory of all running jobs, in bytes; accepts the suffixes K, M, G and T [default: that of the file, or 80 % of the available memory]
    #[arg(long, value_name = "BYTES", value_parser = memory)]
    memory: Option<u64>,
    /// Run jobs even if their results are up to date, and replace existing outputs
    #[arg(long)]
    force: bool,
}

/// Runs the jobs and prints their results.
pub(crate) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    expect_effect([
        (shared.root.is_some(), false, "--root", "in the options of a job"),
        (shared.allow_parent, false, "--allow-parent", "in the options of a job"),
    ])?;
    let job = Job::new(format!("running {}", args.jobs.display()), shared);
    let batch = read_batch(&args.jobs, args.results.as_deref()).map_err(|error| {
        let location = error.location();
        let diagnostic = Diagnostic::from(error).in_file(args.jobs.display());
        if let Some(location) = location { diagnostic.at(location) } else { diagnostic }
    })?;
    arguments::check(&batch)?;
    let shown = batch.select(&args.only)?;
    if args.plan {
        return job.answer(&Plan::new(&batch));
    }
    let results = if args.tables { collect_results(&batch) } else { execute(args, shared, &batch, &job)? };
    let is_stopped = interrupt::take();
    finish(job, &batch, &results, &shown, args.only.is_empty(), is_stopped)
}

fn execute(args: &Args, shared: &Shared, batch: &Batch, job: &Job<'_>) -> Result<Vec<JobResult>, Diagnostic> {
    let _lock = args.only.is_empty().then(|| batch.lock()).transpose()?;
    let options = BatchOptions {
        parallel_jobs: args.parallel,
        memory_bytes: args.memory,
        force: args.force,
        only: (!args.only.is_empty()).then(|| batch.select(&args.only)).transpose()?,
        ..BatchOptions::default()
    };
    let executor = Processes { program: std::env::current_exe()?, max_memory: shared.max_memory };
    let results = interrupt::while_serving(|| run_batch_with(batch, &options, &executor, &job.watch));
    results.in_file(args.jobs.display())
}

/// Writes the tables, if `has_tables`, and prints the summary of the jobs `shown`.
fn finish(
    mut job: Job<'_>,
    batch: &Batch,
    results: &[JobResult],
    shown: &[usize],
    has_tables: bool,
    is_stopped: bool,
) -> Result<ExitCode, Diagnostic> {
    job.watch.clear();
    job.clock.lap("run");
    if has_tables {
        let files = write_tables(batch, results)?;
        let bytes = files.iter().filter_map(|file| file.metadata().ok()).map(|data| data.len()).sum();
        let page = files.last().cloned().unwrap_or_default();
        job.has_written(&page, Written { files, bytes, notes: Vec::new() });
    }
    let summary = Summary::new(batch, results, shown);
    let problems = summary.problems();
    if is_stopped {
        let message = format!("stopped with {} of {} jobs to do", problems.len(), shown.len());
        return Err(Diagnostic::new(message).hint("run the command again: jobs that are done are skipped"));
    }
    for problem in problems {
        job.expect(false, || problem);
    }
    job.summarize(&summary)
}
