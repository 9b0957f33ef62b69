//! `dermis tissue simulate`: a layered body in motion, as a mesh sequence.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dermis::body::BodyMotion;
use dermis::io::{WRITABLE_ENDINGS, WriteOptions, check_target};
use dermis::math::progress::Progress;
use dermis::mesh::glam::Vec3;
use dermis::mesh::{MeshSequence, Object, Scene, Units};
use dermis::tissue::dynamics::{Force, StepReport, TimedForce, active_at};
use dermis::tissue::layered::{BodySimulation, BodySimulationOptions};
use serde::Serialize;

use super::motion::MotionArgs;
use crate::EXIT_MISSED;
use crate::args::{EXIT_CODES, Format, Shared};
use crate::interrupt;
use crate::notes::NoteFacts;
use crate::numbers::{bytes, counted, grouped, seconds};
use crate::report::Report;
use crate::terminal::{self, Paint};
use crate::watch::Watch;

/// Steps are about this long, in seconds, unless their number is given.
const STEP_S: f64 = 0.004;

const EXAMPLES: &str = "Examples:
  dermis tissue simulate model.npz -o clip.abc
      the first clip
  dermis tissue simulate model.npz --clip running --shape heavier=1.5 -o run.glb
      a heavier body
  dermis tissue simulate model.npz --stand 3 --gravity 9.81 --forces pull.json -o pulled.npz
      standing still, pulled
  dermis skin run.abc -o run.glb --bones 40
      the result as an asset that plays anywhere";

/// Simulate the flesh of a layered body while it moves
#[derive(Debug, clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"), allow_negative_numbers = true)]
pub(super) struct Args {
    /// The model that 'build' made; a body that is not built yet is built first
    model: String,
    #[arg(long, short, value_name = "FILE", help = format!("The frames; the ending names the format ({})", WRITABLE_ENDINGS.join(" ")))]
    output: PathBuf,
    #[command(flatten)]
    motion: MotionArgs,
    /// Steps per frame [default: of about 4 ms]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    substeps: Option<u16>,
    /// How long the flesh settles in the first pose, under gravity, before anything is recorded, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = settling)]
    settle: f32,
    /// Residual of the linear solves, relative: larger is faster and loses fine motion
    #[arg(long, value_name = "R", default_value_t = 1e-4, value_parser = tolerance)]
    tolerance: f64,
    /// Simulate all elements, not only the layer: what the layer saves
    #[arg(long)]
    all_elements: bool,
    /// Exit with 1 if it is slower than this many times real time
    #[arg(long, value_name = "FACTOR")]
    min_real_time_factor: Option<f64>,
    /// Replace outputs that exist
    #[arg(long)]
    force: bool,
}

/// What was done, as JSON.
#[derive(Debug, Serialize)]
struct Summary {
    model: String,
    output: String,
    files: Vec<String>,
    bytes: u64,
    clip: String,
    frames: usize,
    frame_rate_hz: f64,
    substeps: usize,
    #[serde(flatten)]
    speed: Speed,
    fem_elements: usize,
    all_elements: usize,
    /// How far the skin is from where the pose alone has it, in metres.
    displacement_rms: f64,
    displacement_max: f64,
    inverted_elements: usize,
    notes: Vec<NoteFacts>,
    seconds: Times,
}

#[derive(Debug, Serialize)]
struct Speed {
    milliseconds_per_step: f64,
    milliseconds_per_pose: f64,
    /// Simulated time over computing time, posing included.
    real_time_factor: f64,
    /// The mean over all steps.
    cg_iterations: f64,
    most_cg_iterations: usize,
}

#[derive(Debug, Serialize)]
struct Times {
    read: f64,
    simulate: f64,
    write: f64,
    total: f64,
}

/// Simulates, writes, and says how it went.
pub(super) fn run(args: &Args, shared: &Shared) -> Result<ExitCode, Report> {
    let write_options = WriteOptions { force: args.force };
    check_target(&args.output, &write_options)?;
    let named = |report: Report| report.in_file(args.model.as_str());
    super::check_apart(&args.model, &args.output)?;
    let watch = Watch::new(format!("simulating {}", args.model), shared);
    let began = Instant::now();
    let (body, mut notes) = super::model(&args.model, &watch)?;
    let motion = args.motion.motion(&body, &mut notes).map_err(named)?;
    let betas = args.motion.betas(body.body()).map_err(named)?;
    let forces = args.motion.forces(body.parts().up)?;
    let units = Units { metres_per_unit: Some(1.0), up_axis: Some(body.parts().up) };
    let read = began.elapsed().as_secs_f64();
    let options = BodySimulationOptions { betas, tolerance: args.tolerance, all_elements: args.all_elements };
    let mut simulation = BodySimulation::new(body, options).map_err(|error| named(error.into()))?;
    notes.extend(simulation.notes());
    let substeps = args.substeps.map_or_else(|| steps_of(motion.frame_rate_hz), usize::from);
    let (sequence, measures) =
        record(&mut simulation, &motion, &forces, substeps, args.settle, &watch).map_err(named)?;
    let simulate = began.elapsed().as_secs_f64() - read;
    let object = Object::of_sequence(motion.name.clone(), sequence);
    let scene = Scene { objects: vec![object], units, notes: notes.clone() };
    let written = interrupt::while_writing(|| dermis::io::write(&args.output, &scene, &write_options, &watch));
    watch.clear();
    let written = written.map_err(|error| named(error.into()))?;
    let total = began.elapsed().as_secs_f64();
    notes.extend(written.notes.iter().cloned());
    let seconds = Times { read, simulate, write: total - read - simulate, total };
    let summary = Summary {
        model: args.model.clone(),
        output: args.output.display().to_string(),
        files: written.files.iter().map(|file| file.display().to_string()).collect(),
        bytes: written.bytes,
        clip: motion.name.clone(),
        frames: motion.poses.len(),
        frame_rate_hz: motion.frame_rate_hz,
        substeps,
        fem_elements: simulation.simulation().element_count(),
        all_elements: simulation.layered().layers().all_elements,
        inverted_elements: simulation.simulation().inverted_elements(),
        speed: measures.speed(&motion),
        displacement_rms: (measures.squares / measures.points.max(1) as f64).sqrt(),
        displacement_max: measures.farthest,
        notes: NoteFacts::each_once(&notes),
        seconds,
    };
    match shared.format {
        Format::Json => terminal::print_json(&summary)?,
        Format::Pretty if shared.quiet => {}
        Format::Pretty => terminal::print(&summary.text(Paint::for_stdout(shared.color)))?,
    }
    let missed = args.min_real_time_factor.is_some_and(|least| summary.speed.real_time_factor < least);
    if missed && !shared.quiet {
        eprintln!("it is slower than was asked for: {:.2} times real time", summary.speed.real_time_factor);
    }
    Ok(if missed { ExitCode::from(EXIT_MISSED) } else { ExitCode::SUCCESS })
}

/// Steps per frame of about [`STEP_S`].
fn steps_of(frame_rate_hz: f64) -> usize {
    (1.0 / (frame_rate_hz * STEP_S)).round().clamp(1.0, 1000.0) as usize
}

/// What is measured while frames are recorded.
#[derive(Debug, Default)]
struct Measures {
    steps: StepReport,
    posing: Duration,
    stepping: Duration,
    squares: f64,
    points: usize,
    farthest: f64,
}

fn record(
    simulation: &mut BodySimulation,
    motion: &BodyMotion,
    forces: &[TimedForce],
    substeps: usize,
    settle: f32,
    watch: &Watch,
) -> Result<(MeshSequence, Measures), Report> {
    let Some(first) = motion.poses.first() else {
        return Err(Report::new("the clip has no frames"));
    };
    let frame_s = 1.0 / motion.frame_rate_hz;
    // Only what always acts is there before the first frame.
    let mut constant = active_at(forces, 0.0);
    constant.retain(|force| matches!(force, Force::Gravity { .. }));
    simulation.start(first, settle, &constant)?;
    if let Some(second) = motion.poses.get(1) {
        simulation.launch(second, frame_s as f32)?;
    }
    let mut frames: Vec<Vec3> = Vec::with_capacity(motion.poses.len() * simulation.skin().len());
    let mut measures = Measures::default();
    for (frame, pose) in motion.poses.iter().enumerate() {
        if watch.report("simulating", frame, motion.poses.len()).is_break() {
            return Err(Report::new(interrupt::STOPPED));
        }
        if frame > 0 {
            let acting = active_at(forces, frame as f64 * frame_s);
            let report = simulation.advance(pose, frame_s as f32, substeps, &acting)?;
            measures.steps.add(report.steps);
            measures.posing += report.posing;
            measures.stepping += report.stepping;
        }
        measures.displacements(simulation.skin(), simulation.posed_skin());
        frames.extend_from_slice(simulation.skin());
    }
    let mesh = simulation.layered().body().mesh().with_points(simulation.rest_skin().to_vec());
    let mesh = Arc::new(mesh.map_err(dermis::io::Error::from)?);
    let sequence = MeshSequence::new(mesh, frames, motion.frame_rate_hz).map_err(dermis::io::Error::from)?;
    Ok((sequence, measures))
}

impl Measures {
    fn displacements(&mut self, skin: &[Vec3], posed: &[Vec3]) {
        for (at, posed) in skin.iter().zip(posed) {
            let squared = f64::from(at.distance_squared(*posed));
            self.squares += squared;
            self.farthest = self.farthest.max(squared.sqrt());
        }
        self.points += skin.len();
    }

    fn speed(&self, motion: &BodyMotion) -> Speed {
        let steps = self.steps.steps.max(1) as f64;
        let poses = motion.poses.len().saturating_sub(1) as f64;
        let simulated = poses / motion.frame_rate_hz;
        Speed {
            milliseconds_per_step: 1e3 * self.stepping.as_secs_f64() / steps,
            milliseconds_per_pose: 1e3 * self.posing.as_secs_f64() / poses.max(1.0),
            real_time_factor: simulated / (self.posing + self.stepping).as_secs_f64().max(1e-9),
            cg_iterations: self.steps.iterations as f64 / steps,
            most_cg_iterations: self.steps.solve.iterations,
        }
    }
}

impl Summary {
    fn text(&self, paint: Paint) -> String {
        let mut lines = vec![format!(
            "{}  {} at {} Hz, {} a frame\n",
            paint.title(&self.clip),
            counted(self.frames, "frame", "frames"),
            self.frame_rate_hz,
            counted(self.substeps, "step", "steps"),
        )];
        lines.push(format!(
            "  {:.2} ms a step, {:.2} ms a pose: {:.1} times real time; {} of {} elements, {:.1} CG iterations\n",
            self.speed.milliseconds_per_step,
            self.speed.milliseconds_per_pose,
            self.speed.real_time_factor,
            grouped(self.fem_elements),
            grouped(self.all_elements),
            self.speed.cg_iterations,
        ));
        lines.push(format!(
            "  the flesh is {:.1} mm from the pose, at most {:.1} mm; {} inside out at the end\n",
            1e3 * self.displacement_rms,
            1e3 * self.displacement_max,
            counted(self.inverted_elements, "element is", "elements are"),
        ));
        let Times { read, simulate, write, .. } = &self.seconds;
        let [read, simulate, write] = [read, simulate, write].map(|time| seconds(*time));
        let (output, size) = (paint.title(&self.output), bytes(self.bytes));
        lines.push(format!("wrote {output} ({size}); read in {read}, simulated in {simulate}, written in {write}\n"));
        lines.extend(self.notes.iter().map(|note| note.line(paint)));
        lines.concat()
    }
}

fn settling(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(seconds) if (0.0..=60.0).contains(&seconds) => Ok(seconds),
        _ => Err("this is not a time from 0 to 60 seconds".to_owned()),
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(tolerance) if (1e-9..=0.1).contains(&tolerance) => Ok(tolerance),
        _ => Err("this is not a tolerance from 1e-9 to 0.1".to_owned()),
    }
}
