//! `dermis envelope train`: from a rig, a clip and shapes to a model.

use std::time::Instant;

use dermis::ToScene;
use dermis::io::{WriteOptions, Written, check_target};
use dermis::skin::envelope::Precision;
use dermis::train_envelope::{EnvelopeOptions, ExampleOptions, TrainingSet, train_envelope_with};

use super::args::TrainArgs;
use super::summary::{Facts, ModelFacts, Summary};
use super::{example_options, report_of};
use crate::args::Shared;
use crate::input;
use crate::interrupt;
use crate::report::Report;
use crate::watch::Watch;

/// Learns a model, writes it and prints its errors; whether an error that was asked for was missed.
pub(super) fn run(args: &TrainArgs, shared: &Shared) -> Result<bool, Report> {
    let write_options = WriteOptions { force: args.force };
    for target in [Some(&args.output), args.more.save_examples.as_ref()].into_iter().flatten() {
        check_target(target, &write_options)?;
    }
    let watch = Watch::new(format!("learning {}", args.rig), shared);
    let began = Instant::now();
    let set = training_set(args, &watch)?;
    let mut seconds = vec![("read", began.elapsed().as_secs_f64())];
    let options = EnvelopeOptions {
        train: args.options(),
        maps: args.influence.maps.clone(),
        map_options: args.map_options(),
        precision: if args.half { Precision::Half } else { Precision::Single },
    };
    let envelope = interrupt::while_writing(|| train_envelope_with(&set, &options, &watch));
    watch.clear();
    let envelope = envelope.map_err(|error| report_of(error, &args.influence.maps).in_file(&args.rig))?;
    seconds.extend(envelope.trained.seconds.iter().copied());
    seconds.push(("validate", envelope.validation_seconds));
    let start = Instant::now();
    let written = write(args, &envelope, &write_options, &watch)?;
    if let Some(target) = &args.more.save_examples {
        let examples = set.to_examples_scene()?;
        let written = interrupt::while_writing(|| dermis::write_with(target, &examples, &write_options, &watch));
        written.map_err(|error| Report::from(error).in_file(target.display().to_string()))?;
    }
    seconds.push(("write", start.elapsed().as_secs_f64()));
    let notes: Vec<_> = envelope.warnings.iter().chain(&written.notes).cloned().collect();
    let facts = Facts { poses: set.pose_count(), validation: &envelope.validation, notes: &notes, seconds: &seconds };
    let mut summary = Summary::new(&facts, began.elapsed().as_secs_f64());
    summary.model = ModelFacts::of(args, &envelope, &written);
    summary.print(shared)?;
    Ok(args.error.is_some_and(|most| envelope.validation.rms_error > most))
}

fn training_set(args: &TrainArgs, watch: &Watch) -> Result<TrainingSet, Report> {
    let scene = input::read(&args.rig, &args.shapes.rig_options(), watch)?;
    let options = example_options(&args.shapes)?;
    let blamed = args.shapes.targets.as_ref().unwrap_or(&args.rig);
    let mut set = TrainingSet::new(&scene, &options).map_err(|error| Report::from(error).in_file(blamed))?;
    for given in &args.more.pose_weights {
        set.weigh_pose(given.frame, given.weight).map_err(|error| Report::from(dermis::Error::from(error)))?;
    }
    for source in &args.more.add {
        let other = input::read(source, &dermis::io::ReadOptions::default(), watch)?;
        set.add(&other, &ExampleOptions::default()).map_err(|error| Report::from(error).in_file(source))?;
    }
    Ok(set)
}

fn write(args: &TrainArgs, model: &impl ToScene, options: &WriteOptions, watch: &Watch) -> Result<Written, Report> {
    let written = interrupt::while_writing(|| dermis::write_with(&args.output, model, options, watch));
    watch.clear();
    written.map_err(|error| Report::from(error).in_file(args.output.display().to_string()))
}
