//! `dermis tissue inspect`: facts of layered bodies, and the time per step.

use std::process::ExitCode;

use dermis::tissue::layered::{LayerFacts, StepTimes};
use serde::Serialize;

use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::text::Text;

/// Show the contents of layered bodies
#[derive(Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Layered bodies
    #[arg(required = true, value_name = "MODEL")]
    models: Vec<String>,
    /// Measure the time per step with the layer and with all elements
    #[arg(long)]
    time: bool,
}

/// JSON summary of a model.
#[derive(Debug, Serialize)]
struct Summary {
    model: String,
    #[serde(flatten)]
    facts: LayerFacts,
    speed: Option<StepTimes>,
}

/// Prints the facts of each model.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    for model in &args.models {
        let mut job = Job::new(format!("inspecting {model}"), shared);
        let body = super::read(model, &mut job)?.body;
        job.clock.lap("read");
        let facts = body.facts().in_file(model)?;
        let speed = args.time.then(|| body.time_steps()).transpose().in_file(model)?;
        job.clock.lap("measure");
        job.answer(&Summary { model: model.clone(), facts, speed })?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        text.title(&self.model, "");
        self.facts.write(text);
        if let Some(StepTimes {
            layer_milliseconds_per_step: layer,
            all_elements_milliseconds_per_step: all,
            speed_up,
        }) = self.speed
        {
            text.row(
                "speed",
                format!("{layer:.2} ms per step; {all:.2} ms with all elements, {speed_up:.1} times as long"),
            );
        }
    }
}
