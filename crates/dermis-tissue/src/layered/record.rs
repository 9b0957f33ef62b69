//! Simulated motion of a layered body as a mesh sequence.
//!
//! The flesh settles in the first pose under the constant forces, takes on the velocity of the motion, and follows it
//! frame by frame. Frames are simulated when they are read and not stored, so memory does not grow with the length of
//! the motion. Reading frames in order simulates each once; reading an earlier frame restarts the simulation from the
//! first, with the same result. Measurements are taken when a frame is reached for the first time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dermis_mesh::{FrameSource, MeshSequence, Note, SequenceError, UpAxis};
use glam::Vec3;
use serde::Serialize;

use super::{BodySimulation, BodySimulationOptions, LayeredBody, LayeredError};
use crate::dynamics::{Force, StepReport, TimedForce, active_at};
use dermis_body::{BodyMotion, BodyPose};

/// Target step length of [`steps_in`], in seconds.
pub const STEP_S: f64 = 0.004;
/// Maximum number of steps per frame.
pub const MAX_SUBSTEPS: usize = 1000;
/// Frame rate of a body at rest, in Hz.
const STANDING_HZ: f64 = 60.0;
/// Maximum plausible distance of flesh from its pose, as a fraction of the body's diagonal.
const MAX_DISTANCE: f32 = 0.5;

/// Options of [`simulate`].
#[derive(Debug, Clone, PartialEq)]
pub struct SimulateOptions {
    /// Shape, accuracy and extent of the simulation.
    pub body: BodySimulationOptions,
    /// Steps per frame; more is more accurate and slower. `None`: as many as give steps of about [`STEP_S`].
    pub substeps: Option<usize>,
    /// Time for the flesh to settle in the first pose before recording, in seconds.
    pub settle_s: f32,
    /// Forces on the body over time.
    pub forces: Vec<TimedForce>,
}

impl Default for SimulateOptions {
    fn default() -> Self {
        let body = BodySimulationOptions { follow_pose: true, ..BodySimulationOptions::default() };
        Self { body, substeps: None, settle_s: 1.0, forces: Vec::new() }
    }
}

/// A simulated motion.
#[derive(Debug, Clone)]
pub struct Recording {
    /// Skin; frames are simulated when they are read.
    pub sequence: MeshSequence,
    /// Steps per frame.
    pub substeps: usize,
    /// Assumptions and omissions.
    pub notes: Vec<Note>,
    frames: Arc<SimulatedFrames>,
}

/// Measurements of the frames of a [`Recording`] read so far.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct RecordingMeasures {
    /// Computing time per step.
    pub milliseconds_per_step: f64,
    /// Computing time per pose.
    pub milliseconds_per_pose: f64,
    /// Ratio of simulated time to computing time, posing included.
    pub real_time_factor: f64,
    /// Mean number of iterations of the linear solves over all steps.
    pub cg_iterations: f64,
    /// Maximum number of iterations of a solve.
    pub max_cg_iterations: usize,
    /// Number of simulated elements.
    pub fem_elements: usize,
    /// Number of all elements of the body.
    pub all_elements: usize,
    /// Root mean square distance of the skin from the posed skin in motion, in metres: over all frames except the
    /// first.
    pub displacement_rms: f64,
    /// Largest such distance.
    pub displacement_max: f64,
    /// Root mean square distance of the skin from the posed skin in the first frame, when the flesh has settled.
    pub static_displacement_rms: f64,
    /// Largest such distance.
    pub static_displacement_max: f64,
    /// Number of inverted elements in the last frame read.
    pub inverted_elements: usize,
    /// Largest number of inverted elements in a frame.
    pub max_inverted_elements: usize,
    /// Total computing time in seconds, settling included.
    #[serde(skip)]
    pub seconds: f64,
}

/// Returns the number of steps of about [`STEP_S`] in `seconds`.
pub fn steps_in(seconds: f64) -> usize {
    (seconds / STEP_S).round().clamp(1.0, MAX_SUBSTEPS as f64) as usize
}

/// Returns a motion of `joints` joints that stays in the rest pose for `seconds`.
pub fn standing(joints: usize, seconds: f64) -> BodyMotion {
    let frames = (seconds * STANDING_HZ).round().max(1.0) as usize;
    BodyMotion {
        name: "standing".to_owned(),
        frame_rate_hz: STANDING_HZ,
        poses: vec![BodyPose::rest(joints); frames],
        notes: Vec::new(),
    }
}

/// Checks that all parameters of `forces` are valid.
pub fn check_forces(forces: &[TimedForce]) -> Result<(), LayeredError> {
    let check =
        |(index, force): (usize, &TimedForce)| force.check().map_err(|reason| LayeredError::Force { index, reason });
    forces.iter().enumerate().try_for_each(check)
}

/// Simulates the flesh of `body` during `motion`.
pub fn simulate(body: LayeredBody, motion: BodyMotion, options: SimulateOptions) -> Result<Recording, LayeredError> {
    check_forces(&options.forces)?;
    if motion.poses.is_empty() {
        return Err(LayeredError::NoFrames);
    }
    let substeps = options.substeps.unwrap_or_else(|| steps_in(1.0 / motion.frame_rate_hz)).clamp(1, MAX_SUBSTEPS);
    let simulation = BodySimulation::for_motion(body, Some(&motion), options.body)?;
    let notes = motion.notes.iter().cloned().chain(simulation.notes()).collect();
    let mesh = Arc::new(simulation.layered().body().mesh().with_points(simulation.rest_skin().to_vec())?);
    let max_distance_m = MAX_DISTANCE * mesh.diagonal();
    let frame_rate_hz = motion.frame_rate_hz;
    let state = Mutex::new(State { simulation, at: None, totals: Totals::default() });
    let (settle_s, forces) = (options.settle_s, options.forces);
    let frames = Arc::new(SimulatedFrames { motion, forces, substeps, settle_s, max_distance_m, state });
    let source: Arc<dyn FrameSource> = Arc::clone(&frames) as Arc<dyn FrameSource>;
    let sequence = MeshSequence::from_source(mesh, source, frame_rate_hz).map_err(|_| LayeredError::NoFrames)?;
    Ok(Recording { sequence, substeps, notes, frames })
}

impl Recording {
    /// Direction that points up.
    pub fn up_axis(&self) -> UpAxis {
        self.frames.lock().simulation.layered().parts().up
    }

    /// Measurements of the frames read so far.
    pub fn measures(&self) -> RecordingMeasures {
        let state = self.frames.lock();
        state.totals.measures(&state.simulation, self.sequence.frame_rate_hz())
    }
}

/// Frame source that simulates frames when they are read.
#[derive(Debug)]
struct SimulatedFrames {
    motion: BodyMotion,
    forces: Vec<TimedForce>,
    substeps: usize,
    settle_s: f32,
    max_distance_m: f32,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    simulation: BodySimulation,
    /// Frame that the simulation is at.
    at: Option<usize>,
    totals: Totals,
}

/// Sums over the frames reached so far.
#[derive(Debug, Default)]
struct Totals {
    frames: usize,
    steps: StepReport,
    posing: Duration,
    stepping: Duration,
    computing: Duration,
    /// Distances from the posed skin in the first frame, and in all others.
    settled: Distances,
    moving: Distances,
    inverted: usize,
    max_inverted: usize,
}

/// Distances of the skin from the posed skin.
#[derive(Debug, Clone, Copy, Default)]
struct Distances {
    squares: f64,
    points: usize,
    farthest: f32,
}

impl Distances {
    fn add(&mut self, skin: &[Vec3], posed: &[Vec3]) {
        for (at, posed) in skin.iter().zip(posed) {
            let squared = at.distance_squared(*posed);
            self.squares += f64::from(squared);
            // `max` would ignore NaN.
            self.farthest = if self.farthest >= squared.sqrt() { self.farthest } else { squared.sqrt() };
        }
        self.points += skin.len();
    }

    fn rms(&self) -> f64 {
        (self.squares / self.points.max(1) as f64).sqrt()
    }
}

impl FrameSource for SimulatedFrames {
    fn frame_count(&self) -> usize {
        self.motion.poses.len()
    }

    fn point_count(&self) -> usize {
        self.lock().simulation.skin().len()
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), SequenceError> {
        let mut state = self.lock();
        let began = Instant::now();
        let reached = self.go_to(frame, &mut state);
        state.totals.computing += began.elapsed();
        if let Err(cause) = reached {
            // After a failure within a frame, the state of the simulation belongs to no frame.
            state.at = None;
            return Err(SequenceError::Source { frame, cause: Box::new(cause) });
        }
        out.copy_from_slice(state.simulation.skin());
        Ok(())
    }
}

impl SimulatedFrames {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn go_to(&self, frame: usize, state: &mut State) -> Result<(), LayeredError> {
        let mut at = if let Some(at) = state.at.filter(|&at| at <= frame) {
            at
        } else {
            self.begin(&mut state.simulation)?;
            state.totals.reach(0, &state.simulation);
            self.expect_near(0, &state.totals)?;
            0
        };
        let frame_s = 1.0 / self.motion.frame_rate_hz;
        while at < frame {
            at += 1;
            let acting = active_at(&self.forces, at as f64 * frame_s);
            let report = state.simulation.advance(&self.motion.poses[at], frame_s as f32, self.substeps, &acting)?;
            if state.totals.reach(at, &state.simulation) {
                state.totals.steps.add(report.steps);
                state.totals.posing += report.posing;
                state.totals.stepping += report.stepping;
            }
            self.expect_near(at, &state.totals)?;
        }
        state.at = Some(at);
        Ok(())
    }

    /// Sets the body to its first pose.
    fn begin(&self, simulation: &mut BodySimulation) -> Result<(), LayeredError> {
        // Only constant forces act before the first frame.
        let mut constant = active_at(&self.forces, 0.0);
        constant.retain(|force| matches!(force, Force::Gravity { .. }));
        simulation.start(&self.motion.poses[0], self.settle_s, &constant)?;
        if let Some(second) = self.motion.poses.get(1) {
            simulation.launch(second, (1.0 / self.motion.frame_rate_hz) as f32)?;
        }
        Ok(())
    }

    fn expect_near(&self, frame: usize, totals: &Totals) -> Result<(), LayeredError> {
        let limit_m = self.max_distance_m;
        match [totals.settled.farthest, totals.moving.farthest]
            .into_iter()
            .find(|distance| distance.is_nan() || *distance > limit_m)
        {
            None => Ok(()),
            Some(distance_m) => Err(LayeredError::TooFar { frame, distance_m, limit_m }),
        }
    }
}

impl Totals {
    /// Measures `frame` if it is the next one; returns true if it was measured.
    fn reach(&mut self, frame: usize, simulation: &BodySimulation) -> bool {
        if frame != self.frames {
            return false;
        }
        self.frames += 1;
        let distances = if frame == 0 { &mut self.settled } else { &mut self.moving };
        distances.add(simulation.skin(), simulation.posed_skin());
        self.inverted = simulation.simulation().inverted_elements();
        self.max_inverted = self.max_inverted.max(self.inverted);
        true
    }

    fn measures(&self, simulation: &BodySimulation, frame_rate_hz: f64) -> RecordingMeasures {
        let steps = self.steps.steps.max(1) as f64;
        let poses = self.frames.saturating_sub(1) as f64;
        RecordingMeasures {
            milliseconds_per_step: 1e3 * self.stepping.as_secs_f64() / steps,
            milliseconds_per_pose: 1e3 * self.posing.as_secs_f64() / poses.max(1.0),
            real_time_factor: poses / frame_rate_hz / (self.posing + self.stepping).as_secs_f64().max(1e-9),
            cg_iterations: self.steps.iterations as f64 / steps,
            max_cg_iterations: self.steps.solve.iterations,
            fem_elements: simulation.simulation().element_count(),
            all_elements: simulation.layered().layers().all_elements,
            displacement_rms: self.moving.rms(),
            displacement_max: f64::from(self.moving.farthest),
            static_displacement_rms: self.settled.rms(),
            static_displacement_max: f64::from(self.settled.farthest),
            inverted_elements: self.inverted,
            max_inverted_elements: self.max_inverted,
            seconds: self.computing.as_secs_f64(),
        }
    }
}
