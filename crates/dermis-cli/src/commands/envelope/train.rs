//! `dermis envelope train`: trains a model from a rig, a clip and shapes.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use dermis::io::{ReadOptions, check_target};
use dermis::skin::envelope::{self, MapOptions, Precision, TrainOptions};
use dermis::train_envelope::{EnvelopeOptions, ExampleOptions, MapSource, TrainingSet, train_envelope_with};

use super::Shapes;
use super::parse::{map_source, pose_weight};
use super::summary::{ModelFacts, Summary};
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::Job;
use crate::options::{Output, count, count_or_none, expect_effect, fraction, non_negative};

/// Train a model on poses and the shape of the skin in each pose
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Rig with joints and a clip, or sample:NAME
    rig: String,
    #[command(flatten)]
    output: Output,
    /// Store weights in half precision; the additional error is printed
    #[arg(long)]
    half: bool,
    /// Exit with code 1 if the RMS error on the examples exceeds E, in scene units
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

/// Weights of poses and additional training sets.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Training set")]
struct More {
    /// Set the weight of this frame of the clip to W; repeatable [default: 1]
    #[arg(long = "pose-weight", value_name = "FRAME=W", value_parser = pose_weight)]
    pose_weights: Vec<(usize, f64)>,
    /// Add another training set: a rig with a clip and a shape for each frame; repeatable
    #[arg(long, value_name = "FILE")]
    add: Vec<String>,
    /// Write the training set to this .npz file, for --add in a later run
    #[arg(long, value_name = "FILE")]
    save_examples: Option<PathBuf>,
    #[arg(long, value_name = "T", value_parser = non_negative, default_value_t = TrainOptions::default().duplicate_tolerance, help = "Average poses whose bone matrices, relative to a home bone, differ by at most T in every entry")]
    duplicate_tolerance: f64,
}

/// Selection of the bones that influence each point.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Influence maps")]
struct InfluenceMaps {
    /// Select the influence maps: weights (skin weights of the rig), auto (found from the examples), attribute:PREFIX (one
    /// attribute per joint), textures:FOLDER (JOINT.png over the first UVs), or a file with skin weights
    #[arg(long, value_name = "SOURCE", default_value = "weights", value_parser = map_source)]
    maps: MapSource,
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value_t = MapOptions::default().widen, help = "Widen and smooth the maps over N edges")]
    widen: usize,
    #[arg(long, value_name = "R", value_parser = fraction, help = format!("Extend the influence of a joint to its parent and children by this fraction, with --maps weights or auto; 0 disables it [default: {}]", MapOptions::default().reach))]
    reach: Option<f64>,
    #[arg(long, value_name = "N", value_parser = count, help = format!("Limit the number of bones per point, with --maps weights or auto [default: {}]", MapOptions::default().max_bones))]
    max_bones: Option<usize>,
}

/// Options of the solver.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Learning")]
struct Learning {
    /// Set the regularization: 0 fits the examples as closely as possible, larger values give smoother weights [default: chosen by cross-validation]
    #[arg(long, value_name = "S", value_parser = non_negative)]
    smoothness: Option<f64>,
    #[arg(long, value_name = "N", value_parser = count, conflicts_with = "smoothness", default_value_t = TrainOptions::default().blocks, help = "Divide the poses into N blocks for cross-validation")]
    blocks: usize,
    #[arg(long, value_name = "V", value_parser = fraction, default_value_t = TrainOptions::default().retained_variance, help = "Keep principal components up to this fraction of the total variance")]
    retained_variance: f64,
    #[arg(long, value_name = "C", value_parser = fraction, default_value_t = TrainOptions::default().cut_off, help = "Drop singular values below this fraction of the largest")]
    cut_off: f64,
    /// Select the underlying linear skin
    #[arg(long, value_name = "SKIN", default_value = "best")]
    underlying: Underlying,
    #[arg(long, value_name = "N", value_parser = count, help = format!("Limit the number of bones per point, with --underlying best or auto [default: {}]", TrainOptions::default().linear_influences))]
    influences: Option<usize>,
    /// Extrapolate beyond the joint rotations of the examples instead of fading to the linear skin
    #[arg(long)]
    no_fade: bool,
}

/// The underlying linear skin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Underlying {
    /// The skin of the rig, unless another one predicts held-out poses clearly better
    Auto,
    /// One bone per point
    Rigid,
    /// The linear skin of the rig
    Rig,
    /// The linear skin fitted to the examples
    Best,
}

/// Trains a model, writes it and prints its errors.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let write_options = args.output.options();
    let options = args.options()?;
    args.output.check()?;
    args.more.save_examples.iter().try_for_each(|target| check_target(target, &write_options))?;
    let mut job = Job::new(format!("learning {}", args.rig), shared);
    let set = training_set(args, &job)?;
    job.clock.lap("read");
    let envelope = job.stoppable(|watch| train_envelope_with(&set, &options, watch)).in_file(&args.rig)?;
    job.notes.extend(envelope.warnings.iter().cloned());
    job.clock.lap_in_parts(&envelope.trained.seconds);
    job.clock.lap_in_parts(&[("validate", envelope.validation_seconds)]);
    job.write(&args.output.output, &envelope, &write_options, &args.rig)?;
    if let Some(target) = &args.more.save_examples {
        job.write(target, &set.to_examples_scene()?, &write_options, &args.rig)?;
    }
    if let Some(allowed) = args.error {
        let found = envelope.validation.rms_error;
        job.expect(found <= allowed, || format!("RMS error {found:.3e}, requested {allowed}"));
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
    fn options(&self) -> Result<EnvelopeOptions, Diagnostic> {
        let Learning { smoothness, blocks, retained_variance, cut_off, underlying, influences, no_fade } =
            self.learning;
        let InfluenceMaps { widen, reach, max_bones, maps } = &self.influence;
        let is_found = matches!(maps, MapSource::Weights | MapSource::Automatic);
        let fits_skin = matches!(underlying, Underlying::Best | Underlying::Auto);
        expect_effect([
            (reach.is_some(), is_found, "--reach", "with --maps weights or auto"),
            (max_bones.is_some(), is_found, "--max-bones", "with --maps weights or auto"),
            (influences.is_some(), fits_skin, "--influences", "with --underlying best or auto"),
        ])?;
        let (train, map) = (TrainOptions::default(), MapOptions::default());
        let (reach, max_bones) = (reach.map_or(map.reach, |reach| reach as f32), max_bones.unwrap_or(map.max_bones));
        let underlying = match underlying {
            Underlying::Auto => envelope::Underlying::Auto,
            Underlying::Rigid => envelope::Underlying::Rigid,
            Underlying::Rig => envelope::Underlying::Rig,
            Underlying::Best => envelope::Underlying::Best,
        };
        Ok(EnvelopeOptions {
            train: TrainOptions {
                smoothness,
                retained_variance,
                cut_off,
                underlying,
                linear_influences: influences.unwrap_or(train.linear_influences),
                duplicate_tolerance: self.more.duplicate_tolerance,
                blocks,
            },
            maps: maps.clone(),
            map_options: MapOptions { widen: *widen, reach, max_bones },
            fade: !no_fade,
            precision: if self.half { Precision::Half } else { Precision::Single },
        })
    }
}
