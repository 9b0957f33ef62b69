//! Time stepping of the outer layer (§4.2): implicit Euler over corotational elements.
//!
//! Each step solves `(M + Δt²K′ + C) v⁺ = c M v + Δt (f_int(x) + f_ext)` for the free nodes (Eq. 13), with the known
//! velocities of driven nodes on the right-hand side, and moves `x⁺ = x + Δt v⁺`. C is what forces contribute that are taken
//! implicitly (springs, contact). The solver is conjugate gradients from the velocities of the step before.
//!
//! Deviation: the paper's c is a factor on velocities per step; here c = exp(−α Δt) with a rate α, so that results do not
//! change with the time step. Steps of one body are deterministic for any number of threads.
//!
//! Any finite input gives a finite state: driven positions and forces are limited to what single precision can carry, and
//! nodes that would still leave that range stay where they are, counted in [`StepReport::stopped_nodes`].

mod contact;
mod energy;
mod forces;
mod simulation;

pub use contact::Shape;
pub use energy::Energy;
pub use forces::{Collider, EARTH_GRAVITY, Force, NodalForce, PathKey, Pull, Spin, TimedForce, active_at};
pub use simulation::{DriveError, Phases, Simulation, SimulationOptions, StepReport};
