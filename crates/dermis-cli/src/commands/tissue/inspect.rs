//! `dermis tissue inspect`: what a layered body is made of, and what its layers save.

use std::process::ExitCode;

use dermis::body::BodyPose;
use dermis::tissue::layered::{BodySimulation, BodySimulationOptions, LayeredBody, LayeredError};
use serde::Serialize;

use super::layers::{GRAVITY, LayerFacts, gravity};
use crate::args::{EXIT_CODES, Format, Shared};
use crate::notes::NoteFacts;
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

/// The step that is timed, in seconds.
const STEP_S: f32 = 0.004;
/// Windows that are timed, of which the fastest counts, and the steps of each.
const WINDOWS: usize = 8;
const STEPS: usize = 25;

/// Show what a layered body is made of
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// The models
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<String>,
    /// Time steps of the layer and of all elements
    #[arg(long)]
    time: bool,
}

/// A model, as JSON.
#[derive(Debug, Serialize)]
struct Summary {
    model: String,
    #[serde(flatten)]
    facts: LayerFacts,
    speed: Option<Timing>,
    notes: Vec<NoteFacts>,
}

/// Milliseconds per step of 4 ms while the first clip plays, the fastest of several windows.
#[derive(Debug, Serialize)]
struct Timing {
    layer_milliseconds_per_step: f64,
    all_elements_milliseconds_per_step: f64,
    speed_up: f64,
}

/// Says what the models are.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    for model in &args.models {
        let named = |error: LayeredError| Report::from(error).in_file(model.as_str());
        let watch = Watch::new(format!("inspecting {model}"), shared);
        let (body, notes) = super::model(model, &watch)?;
        let facts = LayerFacts::new(&body).map_err(named)?;
        let speed = args.time.then(|| speed(&body)).transpose().map_err(named)?;
        watch.clear();
        let summary = Summary { model: model.clone(), facts, speed, notes: NoteFacts::each_once(&notes) };
        match shared.format {
            Format::Json => terminal::print_json(&summary)?,
            Format::Pretty => terminal::print(&summary.text(Paint::for_stdout(shared.color)))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn speed(body: &LayeredBody) -> Result<Timing, LayeredError> {
    let layer = milliseconds(body, false)?;
    let all = milliseconds(body, true)?;
    Ok(Timing {
        layer_milliseconds_per_step: layer,
        all_elements_milliseconds_per_step: all,
        speed_up: all / layer.max(1e-9),
    })
}

fn milliseconds(body: &LayeredBody, all_elements: bool) -> Result<f64, LayeredError> {
    let options = BodySimulationOptions { all_elements, ..BodySimulationOptions::default() };
    let rest = [BodyPose::rest(body.body().joints().len())];
    let poses = body.parts().motions.first().map_or(&rest[..], |motion| &motion.poses).to_vec();
    let gravity = [gravity(body.parts().up, GRAVITY)];
    let mut simulation = BodySimulation::new(body.clone(), options)?;
    simulation.start(&poses[0], 0.2, &gravity)?;
    let mut best = f64::INFINITY;
    let mut frames = poses.iter().cycle();
    for _ in 0..WINDOWS {
        let mut sum = 0.0;
        for pose in frames.by_ref().take(STEPS) {
            sum += simulation.advance(pose, STEP_S, 1, &gravity)?.stepping.as_secs_f64();
        }
        best = best.min(1e3 * sum / STEPS as f64);
    }
    Ok(best)
}

impl Summary {
    fn text(&self, paint: Paint) -> String {
        let mut lines = vec![format!("{}\n{}", paint.title(&self.model), self.facts.text(paint))];
        if let Some(speed) = &self.speed {
            lines.push(format!(
                "{}  {:.2} ms a step; with all elements {:.2} ms, {:.1} times as long\n",
                paint.title("speed"),
                speed.layer_milliseconds_per_step,
                speed.all_elements_milliseconds_per_step,
                speed.speed_up,
            ));
        }
        lines.extend(self.notes.iter().map(|note| note.line(paint)));
        lines.concat()
    }
}
