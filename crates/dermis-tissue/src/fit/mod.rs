//! Learning of flesh from motion (Kim et al. 2017, §5): exact gradients of trajectories.
//!
//! | file | contents |
//! |---|---|
//! | `model` | nodes, elements of first and second order, sparsity |
//! | `parameters` | moduli, Poisson's ratio, damping, ties and rest shape; their gradient |
//! | `step` | implicit step (Eq. 13) in `f64` and its adjoint with the rotation terms |
//! | `trajectory` | simulation of a clip; gradient of a loss with checkpoints |
//! | `beam`, `swing` | stiffness and damping of a recorded beam |
//! | `poses` | poses and shape of scans (Eq. 16–17) |
//! | `amplitude` | mean amplitude (Eq. 18–20) |
//! | `subject` | flesh of a subject from scans, by the gradient or as in the paper; validation |
//! | `scans` | generated scans with hidden flesh |
//! | `locate` | location of points in tetrahedra |
//!
//! The paper updates moduli by a heuristic (§5.5) because a numerical gradient needs a simulation per parameter. The
//! adjoint of the step gives all derivatives at the cost of about three simulations.

mod amplitude;
mod beam;
mod locate;
mod model;
mod parameters;
mod poses;
mod scans;
mod step;
mod subject;
mod swing;
mod trajectory;

pub use amplitude::{deviation, mean_amplitude, mean_amplitudes};
pub use beam::{BeamError, BeamFit, BeamOptions, BeamRecording, BeamTake, TakeFit, fit_beam};
pub use model::{Attachment, FitModel, Order};
pub use parameters::{Gradient, Parameters};
pub use poses::{PoseOptions, fit_poses, fit_shape, unpose};
pub use scans::{HiddenSubject, Scan, ScanOptions, SubjectKind, generate_scans};
pub use step::{SolveOptions, State};
pub use subject::{
    CurvePoint, CurveStep, FitState, HISTOGRAM_BIN_M, HISTOGRAM_BINS, Method, RestReport, RestShape, ScanMotion,
    SequenceValidation, SubjectError, SubjectFit, SubjectOptions, check_scans, farthest_points, fit_subject,
    validate_subject,
};
pub use swing::{Swing, swing_of};
pub use trajectory::{Clip, Loss, TrajectoryOptions, gradient, simulate_clip};
