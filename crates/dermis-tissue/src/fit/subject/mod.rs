//! Flesh of a subject from scans: moduli, layer field, damping and rest shape (Kim et al. 2017, §5, with extensions).
//!
//! | file | contents |
//! |---|---|
//! | `check` | checks of the scans |
//! | `track` | shape, poses, unposing, simulation along poses |
//! | `training` | choice of the training sequences |
//! | `representatives` | representative points |
//! | `start` | sweeps of uniform flesh |
//! | `problem` | loss and adjoint gradient |
//! | `paper` | Algorithms 1 and 2 of the paper |
//! | `rest` | rest shape |
//! | `state` | stored state of a fit |
//! | `validate` | deviations of held-out sequences |
//!
//! The default method sweeps uniform flesh, minimizes the distance from the scans by L-BFGS with the adjoint gradient
//! over moduli, depths and damping, corrects the rest shape, and refines moduli and damping on exactly the elements that
//! are simulated.

mod check;
mod paper;
mod problem;
mod representatives;
mod rest;
mod start;
mod state;
mod track;
mod training;
mod validate;

use dermis_body::BodyError;
use dermis_math::lbfgs::Lbfgs;
use dermis_math::progress::Progress;

use super::scans::Scan;
use crate::layered::{Flesh, LayeredBody, LayeredError};
use problem::{Boundary, Problem};
use representatives::Representatives;
use start::Training;

pub use check::check_scans;
pub use paper::{CurvePoint, CurveStep};
pub use representatives::farthest_points;
pub use rest::{RestReport, RestShape};
pub use state::FitState;
pub use training::{HISTOGRAM_BIN_M, HISTOGRAM_BINS, ScanMotion};
pub use validate::{SequenceValidation, validate_subject};

/// Largest change of a variable in one iteration.
const MAX_STEP: f64 = 0.4;
/// Relative decrease of the loss at which a minimization has converged.
const CONVERGED: f64 = 2e-3;
/// Fraction of the iterations in which depths are variables.
const SMOOTH_PART: f64 = 0.6;

/// Factors on the depth of the layer that are tried before its boundary becomes sharp.
const DEPTH_FACTORS: [f32; 5] = [1.0, 0.8, 0.9, 1.12, 1.25];

/// Method of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Minimization with the adjoint gradient.
    #[default]
    Adjoint,
    /// Algorithms 1 and 2 of the paper.
    Paper,
}

/// Options of [`fit_subject`].
#[derive(Debug, Clone, PartialEq)]
pub struct SubjectOptions {
    /// Method of the fit.
    pub method: Method,
    /// Number of representative points. More resolve finer differences and need more motion.
    pub representative_points: usize,
    /// Representative points by index; empty: chosen by farthest-point sampling.
    pub given_points: Vec<u32>,
    /// Steps per frame of the gradient; `None` is that of simulations.
    pub substeps: Option<usize>,
    /// Maximum number of iterations: of the minimization, or of Algorithm 1.
    pub max_iterations: Option<usize>,
    /// Maximum number of fitted frames per training sequence.
    pub max_frames: usize,
    /// Names of the training sequences; empty: the two with the largest mean amplitude (§5.1).
    pub train: Vec<String>,
    /// Estimation of the rest shape; `None` is that of the method.
    pub rest_shape: Option<RestShape>,
    /// Uses the same layer on the left and the right side (method of the paper).
    pub symmetric: bool,
}

impl Default for SubjectOptions {
    fn default() -> Self {
        Self {
            method: Method::Adjoint,
            representative_points: 40,
            given_points: Vec::new(),
            substeps: None,
            max_iterations: None,
            max_frames: 75,
            train: Vec::new(),
            rest_shape: None,
            symmetric: false,
        }
    }
}

impl SubjectOptions {
    /// Maximum number of iterations of the method.
    pub fn iterations(&self) -> usize {
        self.max_iterations.unwrap_or(match self.method {
            Method::Adjoint => 20,
            Method::Paper => 3,
        })
    }

    /// Estimation of the rest shape.
    pub fn rest_shape(&self) -> RestShape {
        self.rest_shape.unwrap_or(match self.method {
            Method::Adjoint => RestShape::InverseStatic,
            Method::Paper => RestShape::InverseGravity,
        })
    }
}

/// Error of [`fit_subject`] and [`validate_subject`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SubjectError {
    /// The body is invalid or cannot be simulated.
    #[error(transparent)]
    Layered(#[from] LayeredError),
    /// A scan has another number of points.
    #[error(
        "the scan '{scan}' has {found} points in frame {frame}, but the body has {expected}: the topologies differ"
    )]
    Topology {
        /// Name of the scan.
        scan: String,
        /// The frame.
        frame: usize,
        /// Its number of points.
        found: usize,
        /// Number of points of the body.
        expected: usize,
    },
    /// Frame rates differ.
    #[error("the scan '{scan}' has {found} frames per second, the first scan {expected}")]
    FrameRate {
        /// Name of the scan.
        scan: String,
        /// Its rate.
        found: f64,
        /// The rate of the first scan.
        expected: f64,
    },
    /// Too many frames are not finite.
    #[error("{invalid} of {frames} frames of the scan '{scan}' are dropped or not finite")]
    InvalidFrames {
        /// Name of the scan.
        scan: String,
        /// Number of invalid frames.
        invalid: usize,
        /// Number of frames.
        frames: usize,
    },
    /// No sequence has the name.
    #[error("no scan is called '{name}'")]
    NoSuchScan {
        /// The name.
        name: String,
    },
    /// There are no scans or too few frames.
    #[error("the scan '{scan}' has {frames} frames; at least {min} are required")]
    TooShort {
        /// Name of the scan.
        scan: String,
        /// Number of frames.
        frames: usize,
        /// Required number.
        min: usize,
    },
    /// The scans do not move.
    #[error(
        "the flesh in the scan '{scan}' does not move (mean amplitude {amplitude_mm:.2} mm): its material cannot be identified"
    )]
    Still {
        /// Name of the scan.
        scan: String,
        /// Mean amplitude in millimetres.
        amplitude_mm: f64,
    },
    /// The scans do not have the size of the body.
    #[error(
        "the scan '{scan}' has a size of {found:.3} m, but the body {expected:.3} m: check the unit and the subject"
    )]
    Size {
        /// Name of the scan.
        scan: String,
        /// Its size.
        found: f64,
        /// The size of the body.
        expected: f64,
    },
    /// The scans do not have the shape of the body.
    #[error(
        "rigid parts of the scans are {rms_mm:.0} mm from the fitted body, more than {max_mm:.0} mm: \
         check the subject, sex and template"
    )]
    Shape {
        /// Median distance in millimetres.
        rms_mm: f64,
        /// Accepted distance.
        max_mm: f64,
    },
    /// The body has no flesh.
    #[error("the body has no simulated layer: nothing can be fitted; raise its thickness")]
    NoFlesh,
    /// A given representative point does not exist.
    #[error("representative point {point} does not exist: the body has {points} points")]
    NoSuchPoint {
        /// The point.
        point: u32,
        /// Number of points of the body.
        points: usize,
    },
    /// A stored state does not belong to the fit.
    #[error("the checkpoint belongs to a fit of other scans or with other options")]
    OtherFit,
    /// The observer stopped the work.
    #[error("stopped before the fit was complete")]
    Stopped,
}

impl From<BodyError> for SubjectError {
    fn from(error: BodyError) -> Self {
        Self::Layered(error.into())
    }
}

/// Result of [`fit_subject`].
#[derive(Debug, Clone)]
pub struct SubjectFit {
    /// The body in the shape of the subject with the fitted flesh.
    pub body: LayeredBody,
    /// Shape coefficients.
    pub betas: Vec<f64>,
    /// Representative points of the skin.
    pub representative_points: Vec<u32>,
    /// Young's modulus at each.
    pub young_modulus_pa: Vec<f64>,
    /// Motion of the flesh in every scan.
    pub motions: Vec<ScanMotion>,
    /// Indices of the training scans.
    pub training: Vec<usize>,
    /// Value of the loss before each iteration and after the last, in mm² (adjoint method).
    pub losses: Vec<f64>,
    /// Deviation, mean modulus and size of the layer after each step (method of the paper; Figures 8 and 9).
    pub curves: Vec<CurvePoint>,
    /// Estimation of the rest shape.
    pub rest: Option<RestReport>,
    /// Iterations of the minimization, or of Algorithm 1.
    pub iterations: usize,
}

/// Reports progress; an error if the observer stops the work.
fn report(progress: &dyn Progress, stage: &str, done: usize, total: usize) -> Result<(), SubjectError> {
    if progress.report(stage, done, total).is_break() { Err(SubjectError::Stopped) } else { Ok(()) }
}

/// Learns the flesh of the subject in `scans`, which [`check_scans`] accepted. `resume` continues from a stored state;
/// `checkpoint` receives the state after every iteration.
pub fn fit_subject(
    body: &LayeredBody,
    scans: &[Scan],
    options: &SubjectOptions,
    resume: Option<&FitState>,
    checkpoint: &mut dyn FnMut(&FitState),
    progress: &dyn Progress,
) -> Result<SubjectFit, SubjectError> {
    if scans.is_empty() {
        return Err(SubjectError::TooShort { scan: "none".to_owned(), frames: 0, min: 10 });
    }
    let mut state = FitState::new(body, scans, options);
    if let Some(stored) = resume {
        if !state.is_of_same_fit(stored) {
            return Err(SubjectError::OtherFit);
        }
        state = stored.clone();
    }
    let tracked = track::track(body, scans, progress)?;
    let shaped = body.in_shape(&tracked.betas)?;
    let motions = training::scan_motions(&shaped, scans, &tracked)?;
    let size = f64::from(shaped.body().mesh().diagonal());
    let training = training::training_scans(&motions, &options.train, size)?;
    let chosen = training.iter().map(|&index| (&scans[index], &tracked.poses[index][..])).collect();
    let captured = training.iter().map(|&index| &motions[index].of_points[..]).collect();
    let trained = Training::new(&shaped, chosen, captured)?;
    let at_rest = rest::standing(&shaped, scans, &tracked.poses)?;
    let mut work = Work { body: shaped, training: &trained, at_rest, options, state, checkpoint, progress };
    let (representatives, rest) = match options.method {
        Method::Adjoint => work.minimize()?,
        Method::Paper => work.paper()?,
    };
    let flesh = work.body.flesh();
    let modulus = |&point: &u32| f64::from(flesh.young_modulus_pa[point as usize]);
    Ok(SubjectFit {
        betas: tracked.betas,
        young_modulus_pa: representatives.points.iter().map(modulus).collect(),
        representative_points: representatives.points,
        training,
        losses: work.state.losses(),
        curves: work.state.curves(),
        iterations: work.state.iterations(),
        rest,
        body: work.body,
        motions,
    })
}

/// A fit in progress.
struct Work<'a> {
    body: LayeredBody,
    training: &'a Training<'a>,
    /// Unposed points of the subject standing still, and its pose.
    at_rest: Option<rest::Standing>,
    options: &'a SubjectOptions,
    state: FitState,
    checkpoint: &'a mut dyn FnMut(&FitState),
    progress: &'a dyn Progress,
}

impl Work<'_> {
    /// The default method. Stages: sweep, minimization with variable depths, rest shape, minimization without.
    fn minimize(&mut self) -> Result<(Representatives, Option<RestReport>), SubjectError> {
        let start = match self.state.flesh("start") {
            Some(flesh) => flesh,
            None => start::start(&self.body, self.training, self.progress)?,
        };
        self.store_flesh("start", &start);
        self.body.set_flesh(start.clone())?;
        let representatives = Representatives::new(&self.body, self.options)?;
        let total = self.options.iterations();
        let smooth = (SMOOTH_PART * total as f64).ceil() as usize;
        let flesh = self.descend(&representatives, Boundary::Smooth, &start, [0, smooth])?;
        let flesh = self.scale_depth(&flesh)?;
        self.body.set_flesh(flesh.clone())?;
        let rest = self.correct_rest_shape()?;
        let refined = self.descend(&representatives, Boundary::Sharp, &flesh, [smooth, total])?;
        self.body.set_flesh(refined)?;
        Ok((representatives, rest))
    }

    /// Minimizes over the iterations `range` of the whole fit and returns the flesh.
    fn descend(
        &mut self,
        representatives: &Representatives,
        boundary: Boundary,
        start: &Flesh,
        range: [usize; 2],
    ) -> Result<Flesh, SubjectError> {
        let name = if boundary == Boundary::Smooth { "smooth" } else { "sharp" };
        report(self.progress, "preparing the simulation", 0, 1)?;
        let problem = Problem::new(&self.body, &self.training.scans, representatives, boundary, self.options)?;
        let bounds = problem.bounds();
        let mut evaluate = |x: &[f64]| problem.evaluate(x);
        let mut minimization = match self.state.minimization(name) {
            Some(stored) if stored.x.len() == bounds.low.len() => stored,
            _ => {
                let begun = Lbfgs::start(problem.start(start), &bounds, &mut evaluate);
                self.state.push_loss(begun.value);
                self.state.set_minimization(name, &begun, false);
                (self.checkpoint)(&self.state);
                begun
            }
        };
        while range[0] + minimization.iterations < range[1] && !self.state.has_converged(name) {
            report(self.progress, "learning the flesh", range[0] + minimization.iterations, self.options.iterations())?;
            let before = minimization.value;
            let moved = minimization.iterate(&bounds, MAX_STEP, &mut evaluate);
            let converged = !moved || before - minimization.value < CONVERGED * before;
            if moved {
                self.state.push_loss(minimization.value);
            }
            self.state.set_minimization(name, &minimization, converged);
            (self.checkpoint)(&self.state);
        }
        Ok(problem.flesh(&minimization.x, start))
    }

    fn store_flesh(&mut self, name: &str, flesh: &Flesh) {
        self.state.set_flesh(name, flesh);
        (self.checkpoint)(&self.state);
    }

    /// Scales the depth of the layer to the smallest deviation of the simulation. Its sharp boundary runs along nodes of
    /// coarse tetrahedra, which shifts it.
    fn scale_depth(&mut self, flesh: &Flesh) -> Result<Flesh, SubjectError> {
        let mut best = (f64::INFINITY, flesh.clone());
        for (index, factor) in DEPTH_FACTORS.into_iter().enumerate() {
            report(self.progress, "scaling the layer", index, DEPTH_FACTORS.len())?;
            let scaled = |&d: &f32| if d > 1.0 { 1.0 + factor * (d - 1.0) } else { d };
            let next = Flesh { thickness: flesh.thickness.iter().map(scaled).collect(), ..flesh.clone() };
            self.body.set_flesh(next.clone())?;
            let found = self.training.measure(&self.body);
            if found < best.0 {
                best = (found, next);
            }
        }
        Ok(best.1)
    }

    /// Corrects the rest shape of the body for its flesh, if the scans contain the subject standing still.
    fn correct_rest_shape(&mut self) -> Result<Option<RestReport>, SubjectError> {
        let Some(standing) = &self.at_rest else { return Ok(None) };
        let (body, found) = rest::corrected(&self.body, standing, self.options.rest_shape(), self.progress)?;
        self.body = body;
        Ok(found)
    }
}
