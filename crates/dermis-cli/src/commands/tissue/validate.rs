//! `dermis tissue validate`: compares a fitted body with scans.

use std::path::PathBuf;
use std::process::ExitCode;

use dermis::fit_tissue::{TruthAgreement, compare_with_truth, read_scans};
use dermis::tissue::fit::{SequenceValidation, validate_subject};
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::text::Text;

/// Compare a fitted body with scans: mean amplitude deviation per sequence
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Fitted body
    model: String,
    /// Mesh sequences of the subject, or folders of them
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    scans: Vec<PathBuf>,
    /// Sequences that the body was fitted to; all others are held out
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    train: Vec<String>,
    /// Hidden flesh of generated scans, to compare with
    #[arg(long, value_name = "FILE")]
    truth: Option<PathBuf>,
}

/// JSON summary of a validation.
#[derive(Debug, Serialize)]
pub(super) struct Validation {
    model: String,
    sequences: Vec<Score>,
    held_out_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) iterations: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) losses_mm2: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truth: Option<TruthAgreement>,
}

/// Deviations of one sequence, in metres summed over points.
#[derive(Debug, Serialize)]
pub(super) struct Score {
    name: String,
    held_out: bool,
    deviation_pose_model: f64,
    deviation_fit: f64,
    rigid_rms_mm: f64,
}

/// Scores of the sequences; those in `training` are not held out.
pub(super) fn scores(found: &[SequenceValidation], training: &[&str]) -> Vec<Score> {
    let score = |sequence: &SequenceValidation| Score {
        held_out: !training.contains(&sequence.name.as_str()),
        name: sequence.name.clone(),
        deviation_pose_model: sequence.deviation_pose_model,
        deviation_fit: sequence.deviation_fit,
        rigid_rms_mm: 1e3 * sequence.rigid_rms_m,
    };
    found.iter().map(score).collect()
}

impl Validation {
    /// Summary with the worst ratio of the held-out sequences.
    pub(super) fn new(model: &str, sequences: Vec<Score>) -> Self {
        let ratios = sequences.iter().filter(|score| score.held_out && score.deviation_pose_model > 0.0);
        let held_out_ratio =
            ratios.map(|score| score.deviation_fit / score.deviation_pose_model).max_by(f64::total_cmp);
        Self {
            model: model.to_owned(),
            sequences,
            held_out_ratio,
            iterations: None,
            losses_mm2: Vec::new(),
            truth: None,
        }
    }
}

/// Simulates the poses of every scan and prints the deviations.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let mut job = Job::new(format!("validating {}", args.model), shared);
    let body = super::read(&args.model, &mut job)?.body;
    let (scans, notes) = read_scans(&args.scans, &body).in_file(args.scans[0].display())?;
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
        summary.truth = Some(compare_with_truth(&body, truth)?);
    }
    job.answer(&summary)
}

impl Facts for Validation {
    fn write(&self, text: &mut Text) {
        if let (Some(iterations), [first, .., last]) = (self.iterations, &self.losses_mm2[..]) {
            text.row("fit", format!("{iterations} iterations, loss {first:.2} to {last:.2} mm²"));
        }
        let row = |score: &Score| {
            vec![
                score.name.clone(),
                if score.held_out { "held out" } else { "training" }.to_owned(),
                format!("{:.2}", score.deviation_pose_model),
                format!("{:.2}", score.deviation_fit),
                format!("{:.0} %", 100.0 * score.deviation_fit / score.deviation_pose_model.max(f64::MIN_POSITIVE)),
                format!("{:.2}", score.rigid_rms_mm),
            ]
        };
        let rows: Vec<Vec<String>> = self.sequences.iter().map(row).collect();
        text.table(2, &["sequence", "", "pose model m", "fit m", "ratio", "rigid mm"], &rows);
        if let Some(truth) = &self.truth {
            let [error, correlation] = [100.0 * truth.median_stiffness_error, truth.thickness_correlation];
            text.row(
                "hidden flesh",
                format!("median stiffness error {error:.0} %, thickness correlation {correlation:.2}"),
            );
        }
    }
}
