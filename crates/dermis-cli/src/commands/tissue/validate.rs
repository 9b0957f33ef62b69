//! `dermis tissue validate`: compares a fitted body with scans.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dermis::fit_report::{FitReport, fit_report};
use dermis::fit_tissue::{compare_with_truth, write_comparison};
use dermis::io::WriteOptions;
use dermis::io::output;
use dermis::tissue::fit::{SequenceValidation, SubjectFit, validate_subject};
use dermis::tissue::layered::LayeredBody;

use super::scans::ScanArgs;
use super::validation::{Validation, scores};
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;

const EXAMPLES: &str = "Examples:
  dermis tissue validate heavy.npz --scans scans --train running --report heavy.html
      deviation per sequence, with heat maps and curves
  dermis tissue validate heavy.npz --scans scans --frames compared
  dermis view compared/hips_scan.npz compared/hips_fit.npz
      the scan next to the fit, coloured by the attribute 'deviation'";

/// Compare a fitted body with scans: mean amplitude deviation per sequence
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(super) struct Args {
    /// Fitted body
    model: String,
    #[command(flatten)]
    scans: ScanArgs,
    /// Mark these sequences as training data; all others are held out [default: none]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    train: Vec<String>,
    /// Write a report with tables, curves and heat maps (.html)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the scan and the simulation of every sequence, with the deviation of every point, to this folder for the viewer
    #[arg(long, value_name = "FOLDER")]
    frames: Option<PathBuf>,
    /// Replace existing outputs
    #[arg(long)]
    force: bool,
    /// Compare with the hidden flesh of generated scans in this file
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
}

/// Simulates the poses of every scan and prints the deviations.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let mut job = Job::new(format!("validating {}", args.model), shared);
    let body = super::read(&args.model, &mut job)?.body;
    let (scans, notes) = args.scans.read(&body)?;
    job.notes.extend(notes);
    job.clock.lap("read");
    if let Some(name) = args.train.iter().find(|name| !scans.iter().any(|scan| scan.name == **name)) {
        return Err(Diagnostic::new(format!("no scan is called '{name}'")).in_file(&args.model));
    }
    let found = job.stoppable(|watch| validate_subject(&body, &scans, watch)).in_file(&args.model)?;
    job.clock.lap("validate");
    let training: Vec<&str> = args.train.iter().map(String::as_str).collect();
    let mut summary = Validation::new(&args.model, scores(&found, &training));
    if let Some(truth) = &args.truth {
        summary.truth = Some(compare_with_truth(&body, &found, truth)?);
    }
    if let Some(file) = &args.report {
        write_report(file, args.force, &body, &found, &training, None, &mut job)?;
    }
    if let Some(folder) = &args.frames {
        let options = WriteOptions { force: args.force, ..WriteOptions::default() };
        for written in write_comparison(folder, &body, &scans, &found, &options).in_file(folder.display())? {
            job.has_written(folder, written);
        }
    }
    if args.report.is_some() || args.frames.is_some() { job.summarize(&summary) } else { job.answer(&summary) }
}

/// Writes the report of a validation, with the curves of `fit` if it follows one.
pub(super) fn write_report(
    path: &Path,
    force: bool,
    body: &LayeredBody,
    found: &[SequenceValidation],
    training: &[&str],
    fit: Option<&SubjectFit>,
    job: &mut Job<'_>,
) -> Result<(), Diagnostic> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let html = fit_report(&FitReport {
        title: &name,
        mesh: body.body().mesh(),
        up: body.parts().up,
        sequences: found,
        training,
        losses_mm2: fit.map_or(&[], |fit| &fit.losses[..]),
        curves: fit.map_or(&[], |fit| &fit.curves[..]),
        thickness: &body.flesh().thickness,
        young_modulus_pa: &body.flesh().young_modulus_pa,
    })?;
    let mut file = output::Output::new(force);
    let written = job.stoppable(|_| {
        file.write_all(path, html.as_bytes())?;
        file.commit()
    })?;
    job.has_written(path, written);
    Ok(())
}
