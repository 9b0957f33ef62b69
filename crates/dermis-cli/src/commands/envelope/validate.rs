//! `dermis envelope validate`: a model against shapes that it should make.

use std::process::ExitCode;

use dermis::train_envelope::{ExampleOptions, TrainingSet, multi_weights, validate_envelope};

use super::Shapes;
use super::summary::{ModelFacts, Summary};
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::non_negative;

/// Compare what a model makes of poses with the shapes that it should
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// The model that was learned
    model: String,
    /// The file whose clip is played; joints are matched by name, or else by order [default: the model]
    #[arg(long, value_name = "FILE")]
    rig: Option<String>,
    /// Exit with 1 if the RMS error is above this
    #[arg(long, value_name = "E", value_parser = non_negative)]
    error: Option<f64>,
    #[command(flatten)]
    shapes: Shapes,
}

/// Compares and prints the errors of the model.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let mut job = Job::new(format!("validating {}", args.model), shared);
    let mut set = examples(args, &job)?;
    job.notes.append(&mut set.warnings);
    job.clock.lap("read");
    let validation = validate_envelope(&set).in_file(&args.model)?;
    job.clock.lap("validate");
    if let Some(allowed) = args.error {
        let found = validation.rms_error;
        job.expect(found <= allowed, || format!("an error of {allowed}: it is {found:.3e}"));
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
