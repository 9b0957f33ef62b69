//! `dermis wrinkle train`: learns folds from a coarse and a fine simulation.

use std::path::PathBuf;
use std::process::ExitCode;

use dermis::active::wrinkle::{FoldTraining, LearnOptions};
use dermis::evaluate::Motion;
use dermis::io::check_target;
use dermis::{fold_file, train_wrinkles_with};
use serde::Serialize;

use super::cloth::cloth_of;
use crate::args::Shared;
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::numbers::{counted, short};
use crate::options::{Input, Output, positive};
use crate::text::Text;

/// Learn folds from a coarse and a fine simulation of the same motion
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Coarse cloth animation
    coarse: String,
    /// Fine cloth animation with the same frames
    fine: String,
    #[command(flatten)]
    output: Output,
    /// Set the regularization; larger values give weaker but more reliable folds [default: by cross-validation]
    #[arg(long, value_name = "S", value_parser = positive)]
    smoothness: Option<f64>,
    #[command(flatten)]
    part: Input,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    coarse: String,
    fine: String,
    frames: usize,
    points: usize,
    /// RMS distances to the fine cloth.
    coarse_distance: f64,
    relaxed_distance: f64,
    distance: f64,
    smoothness: f64,
    /// Fraction of the distance to the coarse points that a step of the relaxation corrects.
    anchoring: f32,
    /// Held-out errors for each smoothness.
    smoothness_curve: Vec<(f64, f64)>,
}

/// Learns folds, writes them and prints their errors.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    let Output { output, .. } = &args.output;
    if output.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("npz")) {
        let diagnostic = Diagnostic::new("learned folds are stored as .npz").in_file(output.display());
        return Err(diagnostic.hint(format!("use -o {}", PathBuf::from(output).with_extension("npz").display())));
    }
    check_target(output, &args.output.options())?;
    let mut job = Job::new(format!("learning {}", args.fine), shared);
    let [coarse, fine] = [&args.coarse, &args.fine].map(|source| {
        let mut scene = args.part.read(source, &job)?;
        let (_, Motion { sequence, warnings, .. }) = cloth_of(&scene, source, &mut job)?;
        job.notes.append(&mut scene.notes);
        job.notes.extend(warnings);
        Ok::<_, Diagnostic>(sequence)
    });
    let (coarse, fine) = (coarse?, fine?);
    job.clock.lap("read");
    let options = LearnOptions { smoothness: args.smoothness };
    let training = job.stoppable(|watch| train_wrinkles_with(&coarse, &fine, &options, watch)).in_file(&args.coarse)?;
    job.clock.lap("learn");
    let written = fold_file::write(output, &training.folds, &args.output.options())?;
    job.has_written(output, written);
    job.summarize(&Summary::new(args, training))
}

impl Summary {
    fn new(args: &Args, training: FoldTraining) -> Self {
        let FoldTraining { folds, frames, coarse_distance, relaxed_distance, distance, curve } = training;
        Self {
            coarse: args.coarse.clone(),
            fine: args.fine.clone(),
            frames,
            points: folds.parts().mesh.point_count(),
            coarse_distance,
            relaxed_distance,
            distance,
            smoothness: folds.parts().smoothness,
            anchoring: folds.parts().anchoring,
            smoothness_curve: curve,
        }
    }
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        text.title(
            &self.fine,
            format!("{}, {}", counted(self.points, "point", "points"), counted(self.frames, "frame", "frames")),
        );
        let [coarse, relaxed, found] = [self.coarse_distance, self.relaxed_distance, self.distance].map(short);
        text.row("distance", format!("{found} rms to the fine cloth; coarse cloth {coarse}, relaxed {relaxed}"));
        let curve: Vec<String> = self
            .smoothness_curve
            .iter()
            .map(|(smoothness, error)| format!("{smoothness}: {}", short(*error)))
            .collect();
        text.row("smoothness", self.smoothness.to_string());
        if !curve.is_empty() {
            text.row("held out", curve.join(", "));
        }
    }
}
