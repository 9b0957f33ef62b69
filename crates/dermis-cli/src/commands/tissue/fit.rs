//! `dermis tissue fit`: learns the flesh of a subject from scans (Kim et al. 2017, §5).

use std::path::PathBuf;
use std::process::ExitCode;

use dermis::fit_tissue::{FitTissueOptions, fit_tissue_with, read_scans};
use dermis::tissue::fit::{SubjectOptions, validate_subject};

use super::validate::{Validation, scores};
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::Output;
use crate::parse;

const EXAMPLES: &str = "Examples:
  dermis sample scans --subject heavy -o scans
  dermis tissue fit sample:body --scans scans -o heavy.npz
      layers, stiffness and damping of the subject; sequences that are not used are held out";

/// Learn layers, stiffness and damping of a subject from scans of its motion
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(super) struct Args {
    /// Body model of the scans; bodies without layers are built first
    body: String,
    /// Mesh sequences of the subject, or folders of them
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    scans: Vec<PathBuf>,
    /// Training sequences by name; without it, the two with the largest mean amplitude
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    train: Vec<String>,
    /// Maximum number of iterations
    #[arg(long, default_value_t = SubjectOptions::default().max_iterations, value_parser = parse::count)]
    iterations: usize,
    /// Number of representative points, 1 to 500
    #[arg(
        long,
        default_value_t = SubjectOptions::default().representative_points,
        value_parser = parse::representative_points
    )]
    points: usize,
    /// Continue from the checkpoint beside the output
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    output: Output,
}

/// Fits the flesh, writes the body and prints the validation.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    super::check(&args.output)?;
    let mut job = Job::new(format!("fitting {}", args.body), shared);
    let body = super::read(&args.body, &mut job)?.body;
    let (scans, notes) = read_scans(&args.scans, &body).in_file(args.scans[0].display())?;
    job.notes.extend(notes);
    job.clock.lap("read");
    let checkpoint = args.output.output.with_extension("checkpoint.json");
    let options = FitTissueOptions {
        subject: SubjectOptions {
            train: args.train.clone(),
            max_iterations: args.iterations,
            representative_points: args.points,
            ..SubjectOptions::default()
        },
        checkpoint: Some(checkpoint.clone()),
        resume: args.resume,
    };
    let fit = job.stoppable(|watch| fit_tissue_with(&body, &scans, &options, watch)).map_err(|error| {
        let diagnostic = Diagnostic::from(error);
        if checkpoint.is_file() { diagnostic.hint("continue from the checkpoint with --resume") } else { diagnostic }
    });
    let fit = fit.in_file(&args.body)?;
    job.clock.lap("fit");
    let found = job.stoppable(|watch| validate_subject(&fit.body, &scans, watch)).in_file(&args.body)?;
    job.clock.lap("validate");
    let training: Vec<&str> = fit.training.iter().map(|&index| scans[index].name.as_str()).collect();
    let mut summary = Validation::new(&args.body, scores(&found, &training));
    summary.iterations = Some(fit.iterations);
    summary.losses_mm2.clone_from(&fit.losses);
    super::write(&fit.body, &args.output, &mut job)?;
    // The result is complete; a checkpoint that cannot be removed is harmless.
    let _ = std::fs::remove_file(&checkpoint);
    job.summarize(&summary)
}
