//! Simulated trajectories of a clip and the gradient of a loss on them, by the adjoint of the implicit step.
//!
//! The forward run keeps a state at the start of every segment of steps; the backward run repeats each segment and stores
//! its states. Segments are as long as [`TrajectoryOptions::memory_bytes`] allows, so that memory is bounded for clips of
//! any length. A gradient costs about three forward runs, regardless of the number of parameters.

use glam::DVec3;

use super::model::FitModel;
use super::parameters::{Gradient, Parameters, Prepared};
use super::step::{Adjoint, Conditions, SolveOptions, State, Workspace, step, step_back};

/// Damping rate while the flesh settles in the first pose, per second.
const SETTLING_RATE_PER_S: f64 = 20.0;
/// Time step while the flesh settles, in seconds.
const SETTLING_STEP_S: f64 = 0.02;

/// Motion of the driven nodes and external forces.
#[derive(Debug, Clone, PartialEq)]
pub struct Clip {
    /// Time between frames in seconds.
    pub frame_s: f64,
    /// Steps per frame.
    pub substeps: usize,
    /// Positions of the driven nodes in each frame; they move linearly in between.
    pub driven: Vec<Vec<DVec3>>,
    /// Posed positions of the free nodes in each frame, to which they are tied; empty without ties.
    pub ties: Vec<Vec<DVec3>>,
    /// Positions and velocities of all nodes before the first frame.
    pub start: State,
    /// Velocities after settling; zero if empty.
    pub launch: Vec<DVec3>,
    /// Steps in which the flesh settles in the first pose.
    pub settling_steps: usize,
    /// Acceleration in m/s².
    pub gravity: DVec3,
    /// Constant forces on nodes in newtons.
    pub loads: Vec<(u32, DVec3)>,
}

/// Options of a trajectory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrajectoryOptions {
    /// Linear solves.
    pub solve: SolveOptions,
    /// Memory for states. If it does not hold all states, one forward run is repeated.
    pub memory_bytes: usize,
}

impl Default for TrajectoryOptions {
    fn default() -> Self {
        Self { solve: SolveOptions::default(), memory_bytes: 256 << 20 }
    }
}

/// A loss on the positions of each frame: adds its derivatives with respect to the positions and returns its value.
pub type Loss<'a> = dyn Fn(usize, &[DVec3], &mut [DVec3]) -> f64 + Sync + 'a;

/// One step of the schedule.
#[derive(Debug, Clone, Copy)]
struct Scheduled {
    dt: f64,
    settling: bool,
    /// Frame at the end of the motion of this step, and the fraction of the way from the previous frame.
    frame: usize,
    fraction: f64,
    /// True if a frame is complete after this step.
    completes: bool,
}

impl Clip {
    /// Number of frames.
    pub fn frame_count(&self) -> usize {
        self.driven.len()
    }

    /// Settling steps, then the steps of the frames after the first.
    fn schedule(&self) -> Vec<Scheduled> {
        let settling = Scheduled { dt: SETTLING_STEP_S, settling: true, frame: 0, fraction: 1.0, completes: false };
        let mut steps = vec![settling; self.settling_steps];
        let substeps = self.substeps.max(1);
        for frame in 1..self.frame_count() {
            steps.extend((1..=substeps).map(|substep| Scheduled {
                dt: self.frame_s / substeps as f64,
                settling: false,
                frame,
                fraction: substep as f64 / substeps as f64,
                completes: substep == substeps,
            }));
        }
        steps
    }

    fn between(frames: &[Vec<DVec3>], at: &Scheduled) -> Vec<DVec3> {
        let Some(end) = frames.get(at.frame) else { return Vec::new() };
        match at.frame.checked_sub(1) {
            Some(before) => frames[before].iter().zip(end).map(|(a, b)| a.lerp(*b, at.fraction)).collect(),
            None => end.clone(),
        }
    }
}

/// A run over a clip.
struct Run<'a> {
    model: &'a FitModel,
    clip: &'a Clip,
    prepared: Prepared,
    damping_rate_per_s: f64,
    options: TrajectoryOptions,
    schedule: Vec<Scheduled>,
}

impl<'a> Run<'a> {
    fn new(model: &'a FitModel, parameters: &Parameters, clip: &'a Clip, options: &TrajectoryOptions) -> Self {
        let prepared = parameters.prepare(model);
        let damping_rate_per_s = parameters.damping_rate_per_s;
        Self { model, clip, prepared, damping_rate_per_s, options: *options, schedule: clip.schedule() }
    }

    fn with_conditions<T>(&self, index: usize, work: impl FnOnce(&Conditions<'_>) -> T) -> T {
        let at = &self.schedule[index];
        let rate = if at.settling { SETTLING_RATE_PER_S } else { self.damping_rate_per_s };
        work(&Conditions {
            dt: at.dt,
            damping: (-rate * at.dt).exp(),
            driven: &Clip::between(&self.clip.driven, at),
            ties: &Clip::between(&self.clip.ties, at),
            gravity: self.clip.gravity,
            loads: &self.clip.loads,
        })
    }

    /// Steps from `state`; the first step of the motion starts with the launch velocities.
    fn advance(&self, index: usize, mut state: State, workspace: &mut Workspace) -> (State, State) {
        if index == self.clip.settling_steps {
            self.launch(&mut state);
        }
        let next = self
            .with_conditions(index, |at| step(self.model, &self.prepared, &state, at, &self.options.solve, workspace));
        (state, next)
    }

    fn launch(&self, state: &mut State) {
        if self.clip.launch.is_empty() {
            state.velocities.fill(DVec3::ZERO);
        } else {
            state.velocities.copy_from_slice(&self.clip.launch);
        }
    }

    /// Number of steps whose states fit into the memory.
    fn segment(&self) -> usize {
        let state = 2 * size_of::<DVec3>() * self.model.nodes.len();
        (self.options.memory_bytes / (2 * state)).clamp(2, self.schedule.len().max(2))
    }
}

/// Simulates `clip` and returns the positions of all nodes in every frame.
pub fn simulate_clip(
    model: &FitModel,
    parameters: &Parameters,
    clip: &Clip,
    options: &TrajectoryOptions,
) -> Vec<Vec<DVec3>> {
    let run = Run::new(model, parameters, clip, options);
    let mut workspace = Workspace::new(model, &run.prepared);
    let mut state = clip.start.clone();
    let mut frames = Vec::with_capacity(clip.frame_count());
    for index in 0..run.schedule.len() {
        if index == clip.settling_steps {
            frames.push(state.positions.clone());
        }
        state = run.advance(index, state, &mut workspace).1;
        if run.schedule[index].completes {
            frames.push(state.positions.clone());
        }
    }
    if frames.is_empty() {
        frames.push(state.positions);
    }
    frames
}

/// Value of `loss` over `clip` and its gradient with respect to all parameters.
pub fn gradient(
    model: &FitModel,
    parameters: &Parameters,
    clip: &Clip,
    loss: &Loss<'_>,
    options: &TrajectoryOptions,
) -> (f64, Gradient) {
    let run = Run::new(model, parameters, clip, options);
    let mut workspace = Workspace::new(model, &run.prepared);
    let (segment, steps) = (run.segment(), run.schedule.len());
    let mut checkpoints = Vec::with_capacity(steps.div_ceil(segment));
    let mut state = clip.start.clone();
    // If one segment covers the clip, its first run is not repeated.
    for index in 0..if steps <= segment { 0 } else { steps } {
        if index % segment == 0 {
            checkpoints.push(state.clone());
        }
        state = run.advance(index, state, &mut workspace).1;
    }
    if checkpoints.is_empty() {
        checkpoints.push(state);
    }
    let mut total = 0.0;
    let mut gradient = Gradient::zero(model);
    let zeros = || vec![DVec3::ZERO; model.nodes.len()];
    let mut adjoint = Adjoint { positions: zeros(), velocities: zeros() };
    for (number, checkpoint) in checkpoints.into_iter().enumerate().rev() {
        let range = number * segment..((number + 1) * segment).min(steps);
        let mut pairs: Vec<(State, State)> = Vec::with_capacity(range.len());
        for index in range.clone() {
            let from = pairs.last().map_or(&checkpoint, |pair| &pair.1).clone();
            pairs.push(run.advance(index, from, &mut workspace));
        }
        for (index, (before, after)) in range.zip(pairs).rev() {
            let at = run.schedule[index];
            if at.completes {
                total += loss(at.frame, &after.positions, &mut adjoint.positions);
            }
            run.with_conditions(index, |conditions| {
                step_back(
                    model, parameters, &run.prepared, &before, &after, conditions, !at.settling, &options.solve,
                    &mut workspace, &mut adjoint, &mut gradient,
                );
            });
            if index == clip.settling_steps {
                adjoint.velocities.fill(DVec3::ZERO);
                total += loss(0, &before.positions, &mut adjoint.positions);
            }
        }
    }
    gradient.finish(model);
    (total, gradient)
}
