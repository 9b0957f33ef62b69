//! `dermis envelope validate`: measures a model against example shapes.

use std::process::ExitCode;

use dermis::train_envelope::{ExampleOptions, TrainingSet, multi_weights, validate_envelope};

use super::Shapes;
use super::summary::{ModelFacts, Summary};
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::non_negative;

/// Measure the error of a model on poses with known shapes
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Trained model
    model: String,
    /// Read the clip from this file; joints are matched by name, then by order [default: the model]
    #[arg(long, value_name = "FILE")]
    rig: Option<String>,
    /// Exit with code 1 if the RMS error exceeds E, in scene units
    #[arg(long, value_name = "E", value_parser = non_negative)]
    error: Option<f64>,
    #[command(flatten)]
    shapes: Shapes,
}

/// Measures the model and prints its errors.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let mut job = Job::new(format!("validating {}", args.model), shared);
    let mut set = examples(args, &job)?;
    job.notes.append(&mut set.warnings);
    job.clock.lap("read");
    let validation = validate_envelope(&set).in_file(&args.model)?;
    job.clock.lap("validate");
    if let Some(allowed) = args.error {
        let found = validation.rms_error;
        job.expect(found <= allowed, || format!("RMS error {found:.3e}, requested {allowed}"));
    }
    let model = ModelFacts::stored(&args.model, args.rig.as_deref(), set.object());
    job.answer(&Summary::new(model, set.pose_count(), &validation))
}

fn examples(args: &Args, job: &Job<'_>) -> Result<TrainingSet, Diagnostic> {
    let model = job.read(&args.model, &args.shapes.rig_options())?;
    let mut set = TrainingSet::of_rig(&model, &ExampleOptions::default()).in_file(&args.model)?;
    multi_weights(set.object()).in_file(&args.model)?;
    let options = args.shapes.options()?;
    let Some(rig) = &args.rig else {
        return TrainingSet::new(&model, &options).in_file(&args.model);
    };
    set.add(&job.read(rig, &args.shapes.rig_options())?, &options).in_file(rig)?;
    Ok(set)
}
