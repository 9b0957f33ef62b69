//! Learning of flesh from motion (Kim et al. 2017, §5): exact gradients of trajectories.
//!
//! | file | contents |
//! |---|---|
//! | `model` | nodes, elements of first and second order, sparsity |
//! | `parameters` | moduli, Poisson's ratio, damping, ties and rest shape; their gradient |
//! | `step` | implicit step (Eq. 13) in `f64` and its adjoint with the rotation terms |
//! | `trajectory` | simulation of a clip; gradient of a loss with checkpoints |
//! | `beam`, `swing` | stiffness and damping of a recorded beam |
//!
//! The paper updates moduli by a heuristic (§5.5) because a numerical gradient needs a simulation per parameter. The
//! adjoint of the step gives all derivatives at the cost of about three simulations.

mod beam;
mod model;
mod parameters;
mod step;
mod swing;
mod trajectory;

pub use beam::{BeamError, BeamFit, BeamOptions, BeamRecording, BeamTake, TakeFit, fit_beam};
pub use model::{Attachment, FitModel, Order};
pub use parameters::{Gradient, Parameters};
pub use step::{SolveOptions, State};
pub use swing::{Swing, swing_of};
pub use trajectory::{Clip, Loss, TrajectoryOptions, gradient, simulate_clip};
