//! `dermis envelope export`: a model for engines that cannot evaluate multi-weights.

use std::process::ExitCode;

use dermis::Engine;
use dermis::corrective_shapes::{ShapeErrors, ShapeOptions, corrective_shapes};
use dermis::io::ReadOptions;
use dermis::mesh::{Note, Scene};
use dermis::train_envelope::multi_weights;
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::engine_name::EngineName;
use crate::job::{Facts, Job};
use crate::numbers::{counted, measured};
use crate::options::{Output, count, non_negative};
use crate::text::Text;

/// Write a model as a linear skin with animated corrective shapes, which engines can play
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Trained model with clips
    model: String,
    #[command(flatten)]
    output: Output,
    /// Apply the limits of this engine to influences and shapes
    #[arg(long, value_name = "ENGINE", default_value = "three")]
    engine: EngineName,
    #[arg(long, value_name = "N", value_parser = count, default_value_t = ShapeOptions::default().count, help = "Use at most N shapes; more shapes are more accurate")]
    shapes: usize,
    /// Exit with code 1 if the RMS error of a clip exceeds E, in scene units
    #[arg(long, value_name = "E", value_parser = non_negative)]
    error: Option<f64>,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    model: String,
    /// Number of shapes.
    shapes: usize,
    /// Maximum number of influences per point.
    max_influences: usize,
    clips: Vec<ShapeErrors>,
}

/// Writes the shapes and prints their errors.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    args.output.check_apart_from(&args.model)?;
    let mut job = Job::new(format!("exporting {}", args.model), shared);
    let mut scene = job.read(&args.model, &ReadOptions::default())?;
    job.notes.append(&mut scene.notes);
    job.clock.lap("read");
    let layered = scene.objects.iter().position(|object| multi_weights(object).is_ok());
    let index = layered.ok_or(dermis::train_envelope::EnvelopeError::NoMultiWeights).in_file(&args.model)?;
    let profile = Engine::from(args.engine).profile();
    let count = profile.max_morphs.map_or(args.shapes, |max| max.min(args.shapes));
    if count < args.shapes {
        job.notes.push(Note::new(format!("{} blends at most {count} shapes", profile.name)));
    }
    let options = ShapeOptions { count, max_influences: profile.influences };
    let shaped = job.stoppable(|_| corrective_shapes(&scene.objects[index], &options)).in_file(&args.model)?;
    job.notes.extend(shaped.warnings);
    job.clock.lap("shapes");
    let (shapes, max_influences) =
        shaped.object.rig.as_ref().map_or((0, 0), |rig| (rig.shapes().len(), rig.weights().max_influences()));
    scene.objects[index] = shaped.object;
    job.write(&args.output.output, &Scene { notes: Vec::new(), ..scene }, &args.output.options(), &args.model)?;
    let worst = shaped.clips.iter().map(|clip| clip.rms_error).fold(0.0, f64::max);
    if let Some(allowed) = args.error {
        job.expect(worst <= allowed, || format!("RMS error {worst:.3e}, requested {allowed}"));
    }
    job.summarize(&Summary { model: args.model.clone(), shapes, max_influences, clips: shaped.clips })
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        let shapes = counted(self.shapes, "corrective shape", "corrective shapes");
        let influences = counted(self.max_influences, "influence", "influences");
        text.title(&self.model, format!("{shapes}, at most {influences} per point"));
        for clip in &self.clips {
            let errors = |rms: f64, max: f64| format!("{} RMS, {} max", measured(rms), measured(max));
            let linear = errors(clip.linear_rms_error, clip.linear_max_error);
            let error = errors(clip.rms_error, clip.max_error);
            text.row(&clip.name, format!("error {error} (linear skin {linear})"));
        }
    }
}
