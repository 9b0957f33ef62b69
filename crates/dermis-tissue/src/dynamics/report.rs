//! Report of time steps.

use std::time::{Duration, Instant};

use dermis_math::pcg::PcgReport;

/// Report of one or more steps.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepReport {
    /// Report of the linear solve; with several steps, that of the solve with the most iterations.
    pub solve: PcgReport,
    /// Number of steps.
    pub steps: usize,
    /// Total number of iterations of the linear solves.
    pub iterations: usize,
    /// Number of nodes that were stopped because they would have left the range of single precision.
    pub stopped_nodes: usize,
    /// Time per phase.
    pub phases: Phases,
}

/// Time per phase of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phases {
    /// Rotations and forces of the elements.
    pub elements: Duration,
    /// Assembly of the matrix and its preconditioner.
    pub assembly: Duration,
    /// Loads, right-hand side and position update.
    pub right_hand_side: Duration,
    /// Conjugate gradients.
    pub solve: Duration,
}

impl StepReport {
    /// Adds the report of later steps.
    pub fn add(&mut self, other: Self) {
        if other.solve.iterations >= self.solve.iterations {
            self.solve = other.solve;
        }
        self.steps += other.steps;
        self.iterations += other.iterations;
        self.stopped_nodes += other.stopped_nodes;
        self.phases.elements += other.phases.elements;
        self.phases.assembly += other.phases.assembly;
        self.phases.right_hand_side += other.phases.right_hand_side;
        self.phases.solve += other.phases.solve;
    }
}

/// Stopwatch of the phases.
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.0, now)
    }
}
