//! `dermis tissue simulate`: simulates a layered body and writes a mesh sequence.

use std::process::ExitCode;

use dermis::ToScene;
use dermis::tissue::layered::{BodySimulationOptions, MAX_SUBSTEPS, RecordingMeasures, SimulateOptions};
use serde::Serialize;

use super::motion::MotionArgs;
use crate::args::{EXIT_CODES, Shared};
use crate::diagnostic::{Diagnostic, InFile};
use crate::job::{Facts, Job};
use crate::numbers::{counted, grouped, short};
use crate::options::{Output, positive};
use crate::text::Text;

const EXAMPLES: &str = "Examples:
  dermis tissue simulate model.npz -o clip.abc
      the first clip
  dermis tissue simulate model.npz --clip running --shape heavier=1.5 -o run.glb
      a heavier body
  dermis tissue simulate model.npz --stand 3 --gravity 9.81 --forces pull.json -o pulled.npz
      in the rest pose, with gravity and a pull
  dermis skin run.abc -o run.glb --bones 40
      convert the result to a skinned asset";

/// Simulate the flesh of a layered body in motion
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(super) struct Args {
    /// Layered body; other bodies are built first with the default options
    model: String,
    #[command(flatten)]
    output: Output,
    /// Divide each frame into N time steps [default: steps of about 4 ms]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_SUBSTEPS as i64))]
    substeps: Option<u16>,
    #[arg(long, value_name = "SECONDS", default_value_t = SimulateOptions::default().settle_s, value_parser = settling, help = "Let the flesh settle in the first pose, under gravity, for this many seconds before the first frame")]
    settle: f32,
    #[arg(long, value_name = "R", default_value_t = BodySimulationOptions::default().tolerance, value_parser = tolerance, help = "Set the relative residual of the linear solves; larger values are faster and less accurate")]
    tolerance: f64,
    /// Simulate all elements instead of only the layer
    #[arg(long)]
    all_elements: bool,
    /// Use the rest shape of the template in every pose, so that the strain caused by skinning acts on the flesh
    #[arg(long)]
    template_rest: bool,
    /// Exit with code 1 if the simulation is slower than this multiple of real time
    #[arg(long, value_name = "FACTOR", value_parser = positive)]
    min_real_time_factor: Option<f64>,
    #[command(flatten)]
    motion: MotionArgs,
}

/// JSON summary.
#[derive(Debug, Serialize)]
struct Summary {
    model: String,
    clip: String,
    frames: usize,
    fps: f64,
    substeps: usize,
    #[serde(flatten)]
    measures: RecordingMeasures,
}

/// Simulates while writing, and prints the measures.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Diagnostic> {
    args.output.check_apart_from(&args.model)?;
    let mut job = Job::new(format!("simulating {}", args.model), shared);
    let body = super::read(&args.model, &mut job)?.body;
    let motion = args.motion.motion(&body, &mut job).in_file(&args.model)?;
    let betas = args.motion.betas(body.body()).in_file(&args.model)?;
    let forces = args.motion.forces(body.parts().up)?;
    let options = SimulateOptions {
        body: BodySimulationOptions {
            betas,
            tolerance: args.tolerance,
            all_elements: args.all_elements,
            follow_pose: !args.template_rest,
        },
        substeps: args.substeps.map(usize::from),
        settle_s: args.settle,
        forces,
    };
    job.clock.lap("read");
    let recording = dermis::simulate(&body, &motion, &options).in_file(&args.model)?;
    job.notes.extend(recording.notes.iter().cloned());
    job.write(&args.output.output, &recording.to_scene(), &args.output.options(), &args.model)?;
    let measures = recording.measures();
    job.clock.split("write", "simulate", measures.seconds);
    if let Some(asked) = args.min_real_time_factor {
        let factor = measures.real_time_factor;
        job.expect(factor >= asked, || format!("{factor:.2} times real time, requested {asked}"));
    }
    job.summarize(&Summary {
        model: args.model.clone(),
        clip: motion.name,
        frames: recording.sequence.frame_count(),
        fps: recording.sequence.frame_rate_hz(),
        substeps: recording.substeps,
        measures,
    })
}

impl Facts for Summary {
    fn write(&self, text: &mut Text) {
        let (frames, steps) = (counted(self.frames, "frame", "frames"), counted(self.substeps, "step", "steps"));
        text.title(&self.clip, format!("{frames} at {} fps, {steps} per frame", short(self.fps)));
        let m = &self.measures;
        let (step, pose, factor) = (m.milliseconds_per_step, m.milliseconds_per_pose, m.real_time_factor);
        text.row("speed", format!("{step:.2} ms per step, {pose:.2} ms per pose: {factor:.1} times real time"));
        let (elements, all) = (grouped(m.fem_elements), grouped(m.all_elements));
        text.row("elements", format!("{elements} of {all}, {:.1} CG iterations per step", m.cg_iterations));
        let (rms, max) = (1e3 * m.displacement_rms, 1e3 * m.displacement_max);
        let (still, still_max) = (1e3 * m.static_displacement_rms, 1e3 * m.static_displacement_max);
        text.row("flesh", format!("{rms:.1} mm RMS from the pose in motion, {max:.1} mm max"));
        text.row("", format!("{still:.1} mm RMS settled in the first pose, {still_max:.1} mm max"));
        let (last, most) = (counted(m.inverted_elements, "element", "elements"), m.max_inverted_elements);
        text.row("", format!("{last} inverted in the last frame, at most {most} in any frame"));
    }
}

fn settling(text: &str) -> Result<f32, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=60.0).contains(seconds));
    seconds.ok_or_else(|| "it must be a time from 0 to 60 seconds".to_owned())
}

fn tolerance(text: &str) -> Result<f64, String> {
    let tolerance = text.parse().ok().filter(|tolerance| (1e-9..=0.1).contains(tolerance));
    tolerance.ok_or_else(|| "it must be a number from 1e-9 to 0.1".to_owned())
}
