//! `dermis tissue fit`: learns the flesh of a subject from scans (Kim et al. 2017, §5).

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use dermis::fit_tissue::{FitTissueOptions, fit_tissue_with};
use dermis::tissue::fit::{Method, RestShape, SubjectOptions, validate_subject};

use super::scans::ScanArgs;
use super::validate::write_report;
use super::validation::{Validation, scores};
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::Output;
use crate::parse;

const EXAMPLES: &str = "Examples:
  dermis sample scans --subject heavy -o scans
  dermis tissue fit sample:body --scans scans -o heavy.npz
      sequences that are not used for training are held out";

/// Methods by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum MethodArg {
    /// Minimization with exact gradients
    Adjoint,
    /// Algorithms 1 and 2 of the paper
    Paper,
}

impl From<MethodArg> for Method {
    fn from(method: MethodArg) -> Self {
        match method {
            MethodArg::Adjoint => Self::Adjoint,
            MethodArg::Paper => Self::Paper,
        }
    }
}

/// Rest shapes by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum RestArg {
    /// The shape that sags to the scan under gravity
    InverseStatic,
    /// The scan under inverse gravity, as in the paper
    InverseGravity,
    /// The shape of the body model
    None,
}

impl From<RestArg> for RestShape {
    fn from(rest: RestArg) -> Self {
        match rest {
            RestArg::InverseStatic => Self::InverseStatic,
            RestArg::InverseGravity => Self::InverseGravity,
            RestArg::None => Self::Unchanged,
        }
    }
}

/// Learn the layers, stiffness and damping of a subject from scans of its motion
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
#[command(mut_arg("output", |output| output.help(super::OUTPUT_HELP)))]
pub(super) struct Args {
    /// Body model of the scans; bodies without layers are built first
    body: String,
    #[command(flatten)]
    scans: ScanArgs,
    /// Train on these sequences, by file name without extension [default: the two with the largest mean amplitude]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    train: Vec<String>,
    /// Select the method of the fit
    #[arg(long, value_enum, default_value_t = MethodArg::Adjoint)]
    method: MethodArg,
    /// Limit the number of iterations [default: 20, or 3 with --method paper]
    #[arg(long, value_name = "N", value_parser = parse::count)]
    iterations: Option<usize>,
    /// Use this number of representative points, 1 to 500
    #[arg(
        long,
        default_value_t = SubjectOptions::default().representative_points,
        value_parser = parse::representative_points
    )]
    points: usize,
    /// Use these representative points, by index [default: chosen by farthest-point sampling]
    #[arg(long, value_delimiter = ',', value_name = "INDICES")]
    given_points: Vec<u32>,
    /// Fit this number of frames per training sequence, starting at the first
    #[arg(long, value_name = "N", default_value_t = SubjectOptions::default().max_frames)]
    frames: usize,
    /// Select the rest shape [default: inverse-static, or inverse-gravity with --method paper]
    #[arg(long, value_enum, value_name = "METHOD")]
    rest_shape: Option<RestArg>,
    /// With --method paper, make the thickness of the layer symmetric
    #[arg(long)]
    symmetric: bool,
    /// Write a report with tables, curves and heat maps (.html)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Continue from the checkpoint next to the output
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
    let (scans, notes) = args.scans.read(&body)?;
    job.notes.extend(notes);
    job.clock.lap("read");
    let checkpoint = args.output.output.with_extension("checkpoint.json");
    let options = FitTissueOptions {
        subject: SubjectOptions {
            train: args.train.clone(),
            method: args.method.into(),
            max_iterations: args.iterations,
            representative_points: args.points,
            given_points: args.given_points.clone(),
            max_frames: args.frames.max(10),
            rest_shape: args.rest_shape.map(Into::into),
            symmetric: args.symmetric,
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
    summary.describe(&fit);
    super::write(&fit.body, &args.output, &mut job)?;
    if let Some(file) = &args.report {
        write_report(file, args.output.force, &fit.body, &found, &training, Some(&fit), &mut job)?;
    }
    // The result is complete; a checkpoint that cannot be removed is harmless.
    let _ = std::fs::remove_file(&checkpoint);
    job.summarize(&summary)
}
