//! `dermis envelope validate`: a model against shapes that it should make.

use std::time::Instant;

use dermis::train_envelope::{ExampleOptions, TrainingSet, validate_envelope};

use super::args::ValidateArgs;
use super::example_options;
use super::summary::{Facts, Summary};
use crate::args::Shared;
use crate::input;
use crate::report::Report;
use crate::watch::Watch;

/// Compares and prints the errors of the model; whether an error that was asked for was missed.
pub(super) fn run(args: &ValidateArgs, shared: &Shared) -> Result<bool, Report> {
    let watch = Watch::new(format!("validating {}", args.model), shared);
    let began = Instant::now();
    let model = input::read(&args.model, &args.shapes.rig_options(), &watch)?;
    let options = example_options(&args.shapes)?;
    let source = args.rig.as_ref().unwrap_or(&args.model);
    let named = |error: dermis::Error| Report::from(error).in_file(source);
    let set = match &args.rig {
        None => TrainingSet::new(&model, &options).map_err(named)?,
        Some(rig) => {
            let mut set = TrainingSet::of_rig(&model, &ExampleOptions::default())
                .map_err(|error| Report::from(error).in_file(&args.model))?;
            let rigged = input::read(rig, &args.shapes.rig_options(), &watch)?;
            set.add(&rigged, &options).map_err(named)?;
            set
        }
    };
    let mut seconds = vec![("read", began.elapsed().as_secs_f64())];
    let start = Instant::now();
    let validation = validate_envelope(&set).map_err(|error| Report::from(error).in_file(&args.model))?;
    seconds.push(("validate", start.elapsed().as_secs_f64()));
    let facts = Facts { poses: set.pose_count(), validation: &validation, notes: &set.warnings, seconds: &seconds };
    let mut summary = Summary::new(&facts, began.elapsed().as_secs_f64());
    summary.model.input(&args.model, args.rig.as_deref(), set.object());
    summary.print(shared)?;
    Ok(args.error.is_some_and(|most| validation.rms_error > most))
}
