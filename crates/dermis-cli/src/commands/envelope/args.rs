//! The arguments of `dermis envelope`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;
use dermis::FrameRange;
use dermis::io::ReadOptions;
use dermis::skin::envelope::{MapOptions, TrainOptions};
use dermis::train_envelope::MapSource;

use crate::args::EXIT_CODES;
use crate::commands::convert::frame_rate;

const EXAMPLES: &str = "Examples:
  dermis envelope train sample:arm -o arm.glb
      a rig that brings its example shapes
  dermis envelope train hero.fbx --clip exercise --targets sculpts/ -o hero.glb
      a folder of OBJ files, numbered by the clip's frames
  dermis envelope validate hero.glb --rig hero.fbx --clip test --targets test.abc
      how well it does on a motion that it has not seen
  dermis pose hero.glb --rig hero.fbx --clip run -o run.abc
      apply it to new motion";

/// Learn how skin follows a skeleton from example shapes: twelve weights per bone and point
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) action: Action,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Action {
    Train(Box<TrainArgs>),
    Validate(Box<ValidateArgs>),
}

/// Learn a model from poses and the shape that the skin had in each
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct TrainArgs {
    /// The rig: a file with joints and a clip, or sample:NAME
    pub(super) rig: String,
    /// The model to write: a .glb that plays the linear skin anywhere, with the multi-weights on top
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: PathBuf,
    /// Replace outputs that exist
    #[arg(long)]
    pub(super) force: bool,
    /// Store weights in half precision; what that costs is printed
    #[arg(long)]
    pub(super) half: bool,
    /// Exit with 1 where the RMS error on the examples is above this
    #[arg(long, value_name = "E")]
    pub(super) error: Option<f64>,
    #[command(flatten)]
    pub(super) shapes: Shapes,
    #[command(flatten)]
    pub(super) more: More,
    #[command(flatten)]
    pub(super) influence: InfluenceMaps,
    #[command(flatten)]
    pub(super) learning: Learning,
}

/// Compare what a model makes of poses with the shapes that it should
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct ValidateArgs {
    /// The model that was learned
    pub(super) model: String,
    /// The file whose clip is played; joints are matched by name, or else by order [default: the model]
    #[arg(long, value_name = "FILE")]
    pub(super) rig: Option<String>,
    /// Exit with 1 where the RMS error is above this
    #[arg(long, value_name = "E")]
    pub(super) error: Option<f64>,
    #[command(flatten)]
    pub(super) shapes: Shapes,
}

/// Poses and their shapes.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Examples")]
pub(super) struct Shapes {
    /// The clip: its name or its number from 0 [default: the first]
    #[arg(long, value_name = "NAME")]
    pub(super) clip: Option<String>,
    /// The shapes: any mesh sequence, or a folder of OBJ files numbered by frame [default: those in the rig's file]
    #[arg(long, value_name = "FILE")]
    pub(super) targets: Option<String>,
    /// The shapes are the morph targets of the targets' file, not its motion
    #[arg(long = "target-shapes")]
    pub(super) morphs: bool,
    /// Use these frames of the clip: half-open and from 0, as a slice in Python; may be given several times
    #[arg(long, value_name = "A:B[:STEP]", allow_hyphen_values = true)]
    pub(super) frames: Vec<FrameRange>,
    /// When in the clip each shape stands, in seconds [default: one shape per frame]
    #[arg(long, value_name = "T,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub(super) pose_times: Vec<f64>,
    /// Use only this mesh: its name or path, or a part that no other has
    #[arg(long, value_name = "NAME")]
    pub(super) mesh: Option<String>,
    /// Sample animation at this rate, in frames per second; it is also taken where a file states none
    #[arg(long, value_name = "HZ", value_parser = frame_rate, allow_hyphen_values = true)]
    pub(super) fps: Option<f64>,
    /// The mesh whose faces a point cache (pc2, mdd) moves [default: the OBJ of the same name]
    #[arg(long, value_name = "FILE")]
    pub(super) topology: Option<PathBuf>,
}

/// Weights of poses, and earlier training sets.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Training set")]
pub(super) struct More {
    /// Fit this frame of the clip more (or less) closely than the others, which have weight 1; may be given several times
    #[arg(long = "pose-weight", value_name = "FRAME=W")]
    pub(super) pose_weights: Vec<PoseWeight>,
    /// Learn from this training set as well: a rig with a clip and a shape for each of its frames; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(super) add: Vec<String>,
    /// Write the whole training set, for --add of a later run (.npz)
    #[arg(long, value_name = "FILE")]
    pub(super) save_examples: Option<PathBuf>,
    #[arg(long, value_name = "T", default_value_t = TrainOptions::default().duplicate_tolerance, help = "Average poses in which no entry of a nearby bone's matrix differs by more")]
    pub(super) duplicate_tolerance: f64,
}

/// Which bones a point may follow.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Influence maps")]
pub(super) struct InfluenceMaps {
    /// Where they come from: weights (of the rig's skin), auto (found from the examples), attribute:PREFIX (an attribute
    /// per joint), textures:FOLDER (JOINT.png over the first UVs), or a file whose skin weights are the maps
    #[arg(long, value_name = "SOURCE", default_value = "weights", value_parser = map_source)]
    pub(super) maps: MapSource,
    #[arg(long, value_name = "N", default_value_t = MapOptions::default().widen, help = "Widen and smooth them over so many mesh neighbours")]
    pub(super) widen: usize,
    #[arg(long, value_name = "R", default_value_t = MapOptions::default().reach, help = "The share of a joint's influence that its parent and children get; 0 keeps to the skin weights")]
    pub(super) reach: f32,
    #[arg(long, value_name = "N", default_value_t = MapOptions::default().most, help = "The most bones per point")]
    pub(super) max_bones: usize,
}

/// How weights are solved.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Learning")]
pub(super) struct Learning {
    /// The regularization: 0 fits the examples, larger is smoother [default: chosen by cross-validation]
    #[arg(long, value_name = "S")]
    pub(super) smoothness: Option<f64>,
    #[arg(long, value_name = "N", default_value_t = TrainOptions::default().blocks, help = "Blocks of poses that cross-validation holds out in turn")]
    pub(super) blocks: usize,
    #[arg(long, value_name = "V", default_value_t = TrainOptions::default().retained_variance, help = "The share of the variance that the principal components keep")]
    pub(super) retained_variance: f64,
    #[arg(long, value_name = "C", default_value_t = TrainOptions::default().cut_off, help = "Leave out singular values below this share of the largest")]
    pub(super) cut_off: f64,
    /// What is refined
    #[arg(long, value_name = "SKIN", default_value = "best")]
    pub(super) underlying: Underlying,
    #[arg(long, value_name = "N", default_value_t = TrainOptions::default().linear_influences, help = "The most bones per point of the best linear skin")]
    pub(super) influences: usize,
}

/// What is refined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Underlying {
    /// Each point moves with one bone
    Rigid,
    /// The rig's own linear skin
    Rig,
    /// The best linear skin of the examples
    Best,
}

impl From<Underlying> for dermis::skin::envelope::Underlying {
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

/// How much a frame counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PoseWeight {
    pub(super) frame: usize,
    pub(super) weight: f64,
}

impl FromStr for PoseWeight {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').and_then(|(frame, weight)| Some((frame.parse().ok()?, weight.parse().ok()?)));
        let (frame, weight): (usize, f64) =
            parts.ok_or_else(|| format!("'{text}' is not FRAME=WEIGHT, such as 12=3"))?;
        if weight.is_finite() && weight >= 0.0 {
            Ok(Self { frame, weight })
        } else {
            Err(format!("the weight {weight} makes no sense; it must be finite and not negative"))
        }
    }
}

impl Shapes {
    /// How the rig's file is read.
    pub(super) fn rig_options(&self) -> ReadOptions {
        ReadOptions { frame_rate_hz: self.fps, topology: None }
    }
}

impl TrainArgs {
    pub(super) fn options(&self) -> TrainOptions {
        let Learning { smoothness, blocks, retained_variance, cut_off, underlying, influences } = self.learning;
        TrainOptions {
            smoothness,
            retained_variance,
            cut_off,
            underlying: underlying.into(),
            linear_influences: influences,
            duplicate_tolerance: self.more.duplicate_tolerance,
            blocks,
        }
    }

    pub(super) fn map_options(&self) -> MapOptions {
        MapOptions { widen: self.influence.widen, reach: self.influence.reach, most: self.influence.max_bones.max(1) }
    }
}
