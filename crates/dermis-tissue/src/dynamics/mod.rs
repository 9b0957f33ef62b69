//! Time stepping of the outer layer (Kim et al. 2017, §4.2): implicit Euler with corotational elements.
//!
//! Each step solves `(M + Δt²K′ + C) v⁺ = c M v + Δt (f_int(x) + f_ext)` for the free nodes (Eq. 13), with the known
//! velocities of driven nodes on the right-hand side, and advances `x⁺ = x + Δt v⁺`. C is the contribution of forces that
//! are integrated implicitly (springs, contact). The linear solver is conjugate gradients, started from the velocities of
//! the previous step.
//!
//! Deviation: the paper's c is a factor on velocities per step; here c = exp(−α Δt) with a rate α, so that damping does
//! not depend on the time step. Steps are deterministic for any number of threads.
//!
//! Any finite input gives a finite state: driven positions and forces are limited to the range of single precision, and
//! nodes that would still leave that range are stopped and counted in [`StepReport::stopped_nodes`].

mod contact;
mod energy;
mod forces;
mod report;
mod simulation;
mod step;

pub use contact::Shape;
pub use energy::Energy;
pub use forces::{Collider, EARTH_GRAVITY, Force, NodalForce, PathKey, Pull, Spin, TimedForce, active_at};
pub use report::{Phases, StepReport};
pub use simulation::{DriveError, Simulation, SimulationOptions};
