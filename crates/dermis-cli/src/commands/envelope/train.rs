//! `dermis envelope train`: from a rig, a clip and shapes to a model.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use dermis::io::{ReadOptions, check_target};
use dermis::skin::envelope::{self, MapOptions, Precision, TrainOptions};
use dermis::train_envelope::{EnvelopeOptions, ExampleOptions, MapSource, TrainingSet, train_envelope_with};

use super::Shapes;
use super::summary::{ModelFacts, Summary};
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::{Output, count, count_or_none, fraction, non_negative};

/// Learn a model from poses and the shape that the skin had in each
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// The rig: a file with joints and a clip, or sample:NAME
    rig: String,
    #[command(flatten)]
    output: Output,
    /// Store weights in half precision; what that costs is printed
    #[arg(long)]
    half: bool,
    /// Exit with 1 if the RMS error on the examples is above this
    #[arg(long, value_name = "E", value_parser = non_negative)]
    error: Option<f64>,
    #[command(flatten)]
    shapes: Shapes,
    #[command(flatten)]
    more: More,
    #[command(flatten)]
    influence: InfluenceMaps,
    #[command(flatten)]
    learning: Learning,
}

/// Weights of poses, and earlier training sets.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Training set")]
struct More {
    /// Fit this frame of the clip more (or less) closely than the others, which have weight 1; may be given several times
    #[arg(long = "pose-weight", value_name = "FRAME=W", value_parser = pose_weight)]
    pose_weights: Vec<(usize, f64)>,
    /// Learn from this training set as well: a rig with a clip and a shape for each of its frames; may be given several times
    #[arg(long, value_name = "FILE")]
    add: Vec<String>,
    /// Write the whole training set, for --add of a later run (.npz)
    #[arg(long, value_name = "FILE")]
    save_examples: Option<PathBuf>,
    #[arg(long, value_name = "T", default_value_t = TrainOptions::default().duplicate_tolerance, help = "Average poses in which no entry of a nearby bone's matrix differs by more")]
    duplicate_tolerance: f64,
}

/// Which bones a point may follow.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Influence maps")]
struct InfluenceMaps {
    /// Where they come from: weights (of the rig's skin), auto (found from the examples), attribute:PREFIX (an attribute
    /// per joint), textures:FOLDER (JOINT.png over the first UVs), or a file whose skin weights are the maps
    #[arg(long, value_name = "SOURCE", default_value = "weights", value_parser = map_source)]
    maps: MapSource,
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value_t = MapOptions::default().widen, help = "Widen and smooth them over so many mesh neighbours")]
    widen: usize,
    #[arg(long, value_name = "R", default_value_t = MapOptions::default().reach, help = "The share of a joint's influence that its parent and children get; 0 keeps to the skin weights")]
    reach: f32,
    #[arg(long, value_name = "N", value_parser = count, default_value_t = MapOptions::default().most, help = "The most bones per point")]
    max_bones: usize,
}

/// How weights are solved.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Learning")]
struct Learning {
    /// The regularization: 0 fits the examples, larger is smoother [default: chosen by cross-validation]
    #[arg(long, value_name = "S")]
    smoothness: Option<f64>,
    #[arg(long, value_name = "N", value_parser = count, default_value_t = TrainOptions::default().blocks, help = "Blocks of poses that cross-validation holds out in turn")]
    blocks: usize,
    #[arg(long, value_name = "V", value_parser = fraction, default_value_t = TrainOptions::default().retained_variance, help = "The share of the variance that the principal components keep")]
    retained_variance: f64,
    #[arg(long, value_name = "C", default_value_t = TrainOptions::default().cut_off, help = "Leave out singular values below this share of the largest")]
    cut_off: f64,
    /// What is refined
    #[arg(long, value_name = "SKIN", default_value = "best")]
    underlying: Underlying,
    #[arg(long, value_name = "N", value_parser = count, default_value_t = TrainOptions::default().linear_influences, help = "The most bones per point of the best linear skin")]
    influences: usize,
}

/// What is refined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Underlying {
    /// Each point moves with one bone
    Rigid,
    /// The rig's own linear skin
    Rig,
    /// The best linear skin of the examples
    Best,
}

impl From<Underlying> for envelope::Underlying {
    fn from(underlying: Underlying) -> Self {
        match underlying {
            Underlying::Rigid => Self::Rigid,
            Underlying::Rig => Self::Rig,
            Underlying::Best => Self::Best,
        }
    }
}

/// The source of influence maps that `text` names.
#[allow(clippy::unnecessary_wraps, reason = "parsers of arguments return a result")]
fn map_source(text: &str) -> Result<MapSource, String> {
    Ok(match text.split_once(':') {
        Some(("attribute", prefix)) => MapSource::Attributes(prefix.to_owned()),
        Some(("textures", folder)) => MapSource::Textures(folder.into()),
        _ if text == "weights" => MapSource::Weights,
        _ if text == "auto" => MapSource::Automatic,
        _ => MapSource::File(text.to_owned()),
    })
}

/// A frame and its weight.
fn pose_weight(text: &str) -> Result<(usize, f64), String> {
    let parts = text.split_once('=').and_then(|(frame, weight)| Some((frame.parse().ok()?, weight.parse().ok()?)));
    let (frame, weight): (usize, f64) = parts.ok_or_else(|| format!("'{text}' is not FRAME=WEIGHT, such as 12=3"))?;
    if weight.is_finite() && weight >= 0.0 {
        Ok((frame, weight))
    } else {
        Err(format!("the weight {weight} makes no sense; it must be finite and not negative"))
    }
}

/// Learns a model, writes it and prints its errors.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let write_options = args.output.options();
    args.output.check()?;
    args.more.save_examples.iter().try_for_each(|target| check_target(target, &write_options))?;
    let mut job = Job::new(format!("learning {}", args.rig), shared);
    let set = training_set(args, &job)?;
    job.clock.lap("read");
    let envelope = job.stoppable(|watch| train_envelope_with(&set, &args.options(), watch)).in_file(&args.rig)?;
    job.notes.extend(envelope.warnings.iter().cloned());
    job.clock.lap_in_parts(&envelope.trained.seconds);
    job.clock.lap_in_parts(&[("validate", envelope.validation_seconds)]);
    job.write(&args.output.output, &envelope, &write_options, &args.rig)?;
    if let Some(target) = &args.more.save_examples {
        job.write(target, &set.to_examples_scene()?, &write_options, &args.rig)?;
    }
    if let Some(allowed) = args.error {
        let found = envelope.validation.rms_error;
        job.expect(found <= allowed, || format!("an error of {allowed}: it is {found:.3e}"));
    }
    let model = ModelFacts::trained(&args.rig, &envelope);
    job.summarize(&Summary::new(model, set.pose_count(), &envelope.validation))
}

fn training_set(args: &Args, job: &Job<'_>) -> Result<TrainingSet, Diagnostic> {
    let scene = job.read(&args.rig, &args.shapes.rig_options())?;
    let blamed = args.shapes.targets.as_ref().unwrap_or(&args.rig);
    let mut set = TrainingSet::new(&scene, &args.shapes.options()?).in_file(blamed)?;
    for &(frame, weight) in &args.more.pose_weights {
        set.weigh_pose(frame, weight)?;
    }
    for source in &args.more.add {
        let other = job.read(source, &ReadOptions::default())?;
        set.add(&other, &ExampleOptions::default()).in_file(source)?;
    }
    Ok(set)
}

impl Args {
    fn options(&self) -> EnvelopeOptions {
        let Learning { smoothness, blocks, retained_variance, cut_off, underlying, influences } = self.learning;
        let InfluenceMaps { widen, reach, max_bones: most, .. } = self.influence;
        EnvelopeOptions {
            train: TrainOptions {
                smoothness,
                retained_variance,
                cut_off,
                underlying: underlying.into(),
                linear_influences: influences,
                duplicate_tolerance: self.more.duplicate_tolerance,
                blocks,
            },
            maps: self.influence.maps.clone(),
            map_options: MapOptions { widen, reach, most },
            precision: if self.half { Precision::Half } else { Precision::Single },
        }
    }
}
