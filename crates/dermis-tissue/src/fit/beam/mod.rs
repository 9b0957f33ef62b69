//! Stiffness and damping of a clamped beam from the motion of markers on it.
//!
//! A beam is held level, released, swings and comes to rest under its own weight. Young's modulus and damping follow from
//! that take alone, with the model, step and adjoint of bodies; takes with a weight at the tip are then predicted.
//!
//! 1. A rigid transform maps the markers before the release to their nominal positions; each marker is attached to the
//!    nearest element.
//! 2. The modulus at which the static sag is that of the last frames is found by the secant method.
//! 3. Modulus and damping minimize the squared distances of the markers over the swing, by L-BFGS with the adjoint
//!    gradient. A hand touches the beam in the first frames, so the swing starts at the first turning point, in the
//!    static shape under a multiple of the load that has the measured deflection.
//!
//! Rubber dissipates a constant fraction of the energy per period (structural damping). The decay rate of a mode is thus
//! `ηω/2` with a loss factor η, and the damping rate of a take of angular frequency ω is `α = ηω − ω²Δt`. The last term is
//! the dissipation of the implicit step itself.
//!
//! Rubber also creeps: the modulus of the swing exceeds that of the sag at rest, both from the same take. Swings are
//! predicted with the first, shapes at rest with the second.

mod recording;

use dermis_math::lbfgs::{Bounds, Lbfgs};
use dermis_math::polar::polar_rotation;
use dermis_mesh::TetMesh;
use glam::{DMat3, DVec3, Vec3};

use super::model::{Attachment, FitModel, Order};
use super::parameters::Parameters;
use super::step::{SolveOptions, State, outer};
use super::swing::{Swing, swing_of};
use super::trajectory::{Clip, TrajectoryOptions, gradient, simulate_clip};

pub use recording::{BeamError, BeamRecording, BeamTake};

/// Fraction of the beam from the tip within which markers are compared; the others are on the clamp.
const COMPARED_FRACTION: f64 = 0.5;
/// Frames at the end of a take that are averaged for the shape at rest.
const RESTING_FRAMES: usize = 50;
/// Steps in which a shape under constant load is found.
const STATIC_STEPS: usize = 70;
/// Secant iterations of modulus and load factor.
const SECANT_STEPS: usize = 8;
/// Relative change at which the secant iterations stop.
const SECANT_TOLERANCE: f64 = 1e-4;
/// Range of moduli, in pascals.
const MODULI_PA: [f64; 2] = [1e3, 1e8];
/// Range of damping rates, per second.
const RATES_PER_S: [f64; 2] = [0.01, 100.0];

/// Options of [`fit_beam`].
#[derive(Debug, Clone, PartialEq)]
pub struct BeamOptions {
    /// Cells along length, width and height, five tetrahedra each.
    pub cells: [usize; 3],
    /// Order of the elements. Linear ones lock: moduli depend on the grid.
    pub order: Order,
    /// Poisson's ratio.
    pub poisson_ratio: f64,
    /// Steps per frame. More reduces the dissipation of the step.
    pub substeps: usize,
    /// Length of the swing that is fitted, in seconds.
    pub fitted_s: f64,
    /// Maximum number of iterations.
    pub max_iterations: usize,
    /// Grids on which the static modulus is compared.
    pub compared_grids: Vec<[usize; 3]>,
}

impl Default for BeamOptions {
    fn default() -> Self {
        Self {
            cells: [7, 2, 2],
            order: Order::Quadratic,
            poisson_ratio: 0.45,
            substeps: 12,
            fitted_s: 0.4,
            max_iterations: 12,
            compared_grids: vec![[7, 2, 2], [10, 3, 3], [14, 4, 4]],
        }
    }
}

/// Result of [`fit_beam`].
#[derive(Debug, Clone, PartialEq)]
pub struct BeamFit {
    /// Young's modulus from the swing, in pascals.
    pub young_modulus_pa: f64,
    /// Young's modulus from the sag at rest alone, in pascals.
    pub static_modulus_pa: f64,
    /// Loss factor η.
    pub loss_factor: f64,
    /// Damping rate α of the fitted take, per second.
    pub damping_rate_per_s: f64,
    /// Iterations of the minimization.
    pub iterations: usize,
    /// RMS distance of the markers over the fitted swing, in metres.
    pub fitted_rms_m: f64,
    /// Static modulus on each compared grid: with linear and with quadratic elements.
    pub grids: Vec<([usize; 3], [f64; 2])>,
    /// Measured and simulated motion of each take.
    pub takes: Vec<TakeFit>,
}

/// Measured and simulated motion of one take.
#[derive(Debug, Clone, PartialEq)]
pub struct TakeFit {
    /// Name of the take.
    pub name: String,
    /// True if the parameters were fitted to this take; otherwise it was predicted.
    pub fitted: bool,
    /// Weight at the tip in newtons.
    pub tip_load_n: f64,
    /// Mean sag of the markers at rest, in metres: measured and simulated.
    pub sag_m: [f64; 2],
    /// RMS of the vertical errors of the markers at rest, in metres.
    pub rest_error_m: f64,
    /// Measured and simulated swing.
    pub swing: [Swing; 2],
    /// Mean height of the markers over the rest position, from the first turning point: measured and simulated.
    pub tracks_m: [Vec<f64>; 2],
}

/// Identifies modulus and damping from the take without a weight, and predicts the other takes.
pub fn fit_beam(recording: &BeamRecording, options: &BeamOptions) -> Result<BeamFit, BeamError> {
    recording.check()?;
    let unloaded = recording.takes.iter().position(|take| take.tip_load_n == 0.0).ok_or(BeamError::NoUnloadedTake)?;
    let take = &recording.takes[unloaded];
    let beam = Beam::new(recording, options.cells, options.order, options)?;
    let setup = beam.setup(take)?;
    let static_modulus = beam.static_modulus(&setup)?;
    let start = beam.turning_shape(&setup, static_modulus);
    let frames = ((options.fitted_s * recording.rate_hz).round() as usize + 1).min(setup.swing_frames.len());
    let (fitted, rms) = beam.fit_swing(&setup, static_modulus, start, frames, options.max_iterations);
    let [young_modulus, rate] = [fitted.x[0].exp(), fitted.x[1].exp()];
    let dt = 1.0 / (recording.rate_hz * options.substeps.max(1) as f64);
    let own = beam.simulated(&setup, young_modulus, rate).1;
    let omega = own.angular_frequency();
    let loss_factor = (rate + omega * omega * dt) / omega;
    let mut takes = Vec::with_capacity(recording.takes.len());
    for (index, take) in recording.takes.iter().enumerate() {
        let setup = beam.setup(take)?;
        let rate = if index == unloaded {
            rate
        } else {
            // The period hardly depends on the damping.
            let omega = beam.simulated(&setup, young_modulus, rate).1.angular_frequency();
            (loss_factor * omega - omega * omega * dt).max(0.0)
        };
        takes.push(beam.compared(&setup, take, index == unloaded, [static_modulus, young_modulus], rate));
    }
    let mut grids = Vec::with_capacity(options.compared_grids.len());
    for &cells in &options.compared_grids {
        let modulus = |order: Order| {
            let beam = Beam::new(recording, cells, order, options)?;
            beam.static_modulus(&beam.setup(take)?)
        };
        grids.push((cells, [modulus(Order::Linear)?, modulus(Order::Quadratic)?]));
    }
    Ok(BeamFit {
        young_modulus_pa: young_modulus,
        static_modulus_pa: static_modulus,
        loss_factor,
        damping_rate_per_s: rate,
        iterations: fitted.iterations,
        fitted_rms_m: rms,
        grids,
        takes,
    })
}

/// A beam on one grid.
struct Beam<'a> {
    recording: &'a BeamRecording,
    model: FitModel,
    poisson_ratio: f64,
    substeps: usize,
    /// Nodes of the upper edge of the free end.
    edge: Vec<u32>,
}

/// A take in the frame of the beam.
struct Setup {
    /// Compared markers.
    attachments: Vec<Attachment>,
    /// Their displacements at rest.
    sag: Vec<DVec3>,
    /// Their displacements from the first turning point on; `None` if a marker was not visible.
    swing_frames: Vec<Vec<Option<DVec3>>>,
    down: DVec3,
    tip_load_n: f64,
}

impl<'a> Beam<'a> {
    fn new(
        recording: &'a BeamRecording,
        cells: [usize; 3],
        order: Order,
        options: &BeamOptions,
    ) -> Result<Self, BeamError> {
        let mesh = grid(cells, recording.size_m);
        let free: Vec<bool> =
            mesh.nodes().iter().map(|node| f64::from(node.x) > -recording.size_m.x * (1.0 - 1e-6)).collect();
        let model = FitModel::new(&mesh, &free, order)?;
        let on_edge = |at: &DVec3| at.x > -1e-6 && at.z > recording.size_m.z - 1e-6;
        let edge = (0..).zip(&model.rest).filter(|(_, at)| on_edge(at)).map(|(node, _)| node).collect();
        Ok(Self { recording, model, poisson_ratio: options.poisson_ratio, substeps: options.substeps, edge })
    }

    fn setup(&self, take: &BeamTake) -> Result<Setup, BeamError> {
        let vanished =
            |marker: usize, when: &'static str| BeamError::Vanished { take: take.name.clone(), marker, when };
        let nominal = &self.recording.markers_m;
        let mean = |frames: &[Vec<DVec3>], when: &'static str| -> Result<Vec<DVec3>, BeamError> {
            let of = |marker: usize| {
                let seen: Vec<DVec3> = frames.iter().map(|frame| frame[marker]).filter(|at| at.is_finite()).collect();
                if seen.is_empty() { Err(vanished(marker, when)) } else { Ok(mean_of(&seen)) }
            };
            (0..nominal.len()).map(of).collect()
        };
        let held = mean(&take.frames[..take.release_frame.saturating_sub(2).max(1)], "before the release")?;
        let resting = mean(&take.frames[take.frames.len() - RESTING_FRAMES..], "at rest")?;
        let (rotation, translation) = rigid(&held, nominal);
        let local = |at: DVec3| rotation * at + translation;
        let compared: Vec<usize> = (0..nominal.len())
            .filter(|&marker| nominal[marker].x > -COMPARED_FRACTION * self.recording.size_m.x)
            .collect();
        let down = rotation * -self.recording.up;
        let attachments = compared.iter().map(|&marker| self.model.attach(local(held[marker]))).collect();
        let displacement = |marker: usize, at: DVec3| rotation * (at - held[marker]);
        let sag: Vec<DVec3> = compared.iter().map(|&marker| displacement(marker, resting[marker])).collect();
        let after: Vec<Vec<Option<DVec3>>> = take.frames[take.release_frame..]
            .iter()
            .map(|frame| {
                let of = |&marker: &usize| frame[marker].is_finite().then(|| displacement(marker, frame[marker]));
                compared.iter().map(of).collect()
            })
            .collect();
        let depth = |frame: &Vec<Option<DVec3>>| {
            let seen: Vec<DVec3> = frame.iter().flatten().copied().collect();
            if seen.is_empty() { f64::NAN } else { mean_of(&seen).dot(down) }
        };
        let depths: Vec<f64> = after.iter().map(depth).collect();
        let rest = mean_of(&sag).dot(down);
        let turning = (1..depths.len() - 1)
            .find(|&f| depths[f] > rest && depths[f] >= depths[f - 1] && depths[f] > depths[f + 1])
            .filter(|_| rest > 0.0)
            .ok_or_else(|| BeamError::Still { take: take.name.clone() })?;
        Ok(Setup { attachments, sag, swing_frames: after[turning..].to_vec(), down, tip_load_n: take.tip_load_n })
    }

    fn parameters(&self, setup: &Setup, young_modulus: f64, rate: f64) -> Parameters {
        let recording = self.recording;
        let mut parameters =
            Parameters::uniform(&self.model, young_modulus, self.poisson_ratio, recording.density_kg_per_m3);
        parameters.damping_rate_per_s = rate;
        let mass = setup.tip_load_n / recording.gravity_m_per_s2 / self.edge.len() as f64;
        parameters.added_masses_kg = self.edge.iter().map(|&node| (node, mass)).filter(|_| mass > 0.0).collect();
        parameters
    }

    /// The clip from `start`; the weight at the tip is that of its added mass.
    fn clip(&self, setup: &Setup, start: Vec<DVec3>, frames: usize, settling_steps: usize, load_factor: f64) -> Clip {
        let zeros = vec![DVec3::ZERO; start.len()];
        Clip {
            frame_s: 1.0 / self.recording.rate_hz,
            substeps: self.substeps,
            driven: vec![self.model.rest[self.model.free_count..].to_vec(); frames],
            ties: Vec::new(),
            start: State { positions: start, velocities: zeros },
            launch: Vec::new(),
            settling_steps,
            gravity: setup.down * (self.recording.gravity_m_per_s2 * load_factor),
            loads: Vec::new(),
        }
    }

    fn options() -> TrajectoryOptions {
        TrajectoryOptions { solve: SolveOptions { tolerance: 1e-6, max_iterations: 1000 }, ..Default::default() }
    }

    /// Shape under `load_factor` times the loads.
    fn static_shape(&self, setup: &Setup, young_modulus: f64, load_factor: f64, start: Vec<DVec3>) -> Vec<DVec3> {
        let clip = self.clip(setup, start, 1, STATIC_STEPS, load_factor);
        let parameters = self.parameters(setup, young_modulus, 0.0);
        simulate_clip(&self.model, &parameters, &clip, &Self::options()).pop().unwrap_or_default()
    }

    /// Mean displacement of the compared markers along gravity.
    fn depth(&self, setup: &Setup, positions: &[DVec3]) -> f64 {
        mean_of(&self.displacements(setup, positions)).dot(setup.down)
    }

    fn displacements(&self, setup: &Setup, positions: &[DVec3]) -> Vec<DVec3> {
        setup.attachments.iter().map(|a| a.position(positions) - a.position(&self.model.rest)).collect()
    }

    /// Modulus at which the static sag is the measured one. Sag is almost proportional to compliance.
    fn static_modulus(&self, setup: &Setup) -> Result<f64, BeamError> {
        let wanted = mean_of(&setup.sag).dot(setup.down);
        // Beam theory: w L⁴ / 8 E I, with the line load w and I = b h³ / 12.
        let DVec3 { x: length, y: width, z: height } = self.recording.size_m;
        let line_load = self.recording.density_kg_per_m3 * width * height * self.recording.gravity_m_per_s2;
        let mut modulus = line_load * length.powi(4) / (8.0 * wanted * width * height.powi(3) / 12.0);
        modulus = modulus.clamp(MODULI_PA[0], MODULI_PA[1]);
        let mut shape = self.model.rest.clone();
        for _ in 0..SECANT_STEPS {
            shape = self.static_shape(setup, modulus, 1.0, shape);
            let ratio = self.depth(setup, &shape) / wanted;
            if !(ratio.is_finite() && ratio > 0.0) {
                return Err(BeamError::Invalid { what: "sag", value: wanted });
            }
            modulus = (modulus * ratio).clamp(MODULI_PA[0], MODULI_PA[1]);
            if (ratio - 1.0).abs() < SECANT_TOLERANCE {
                break;
            }
        }
        Ok(modulus)
    }

    /// Static shape with the deflection of the first turning point.
    fn turning_shape(&self, setup: &Setup, young_modulus: f64) -> Vec<DVec3> {
        let seen: Vec<DVec3> = setup.swing_frames[0].iter().flatten().copied().collect();
        let wanted = mean_of(&seen).dot(setup.down);
        let mut factor = wanted / mean_of(&setup.sag).dot(setup.down);
        let mut shape = self.model.rest.clone();
        for _ in 0..SECANT_STEPS {
            shape = self.static_shape(setup, young_modulus, factor, shape);
            let ratio = wanted / self.depth(setup, &shape);
            factor *= ratio;
            if (ratio - 1.0).abs() < SECANT_TOLERANCE {
                break;
            }
        }
        shape
    }

    /// Minimizes the squared marker distances over the logarithms of modulus and damping rate; also returns the RMS.
    fn fit_swing(
        &self,
        setup: &Setup,
        modulus: f64,
        start: Vec<DVec3>,
        frames: usize,
        max_iterations: usize,
    ) -> (Lbfgs, f64) {
        let clip = self.clip(setup, start, frames, 0, 1.0);
        let rest: Vec<DVec3> = setup.attachments.iter().map(|a| a.position(&self.model.rest)).collect();
        let count = setup.swing_frames[..frames].iter().flatten().flatten().count().max(1) as f64;
        let loss = |frame: usize, positions: &[DVec3], derivatives: &mut [DVec3]| -> f64 {
            let mut total = 0.0;
            for (k, attachment) in setup.attachments.iter().enumerate() {
                let Some(measured) = setup.swing_frames[frame][k] else { continue };
                let difference = attachment.position(positions) - rest[k] - measured;
                total += 0.5 * difference.length_squared() / count;
                attachment.add_gradient(difference / count, derivatives);
            }
            total
        };
        // Micrometres squared: of the order of 1.
        let scale = 1e6;
        let mut evaluate = |x: &[f64]| {
            let parameters = self.parameters(setup, x[0].exp(), x[1].exp());
            let (value, found) = gradient(&self.model, &parameters, &clip, &loss, &Self::options());
            let modulus = found.young_modulus_pa.iter().sum::<f64>() * x[0].exp();
            (scale * value, vec![scale * modulus, scale * found.damping_rate_per_s * x[1].exp()])
        };
        let bounds = Bounds {
            low: vec![MODULI_PA[0].ln(), RATES_PER_S[0].ln()],
            high: vec![MODULI_PA[1].ln(), RATES_PER_S[1].ln()],
        };
        let mut state = Lbfgs::start(vec![modulus.ln(), 1.0], &bounds, &mut evaluate);
        while state.iterations < max_iterations {
            let before = state.value;
            if !state.iterate(&bounds, 0.3, &mut evaluate) || before - state.value < 1e-5 * before {
                break;
            }
        }
        let rms = (2.0 * state.value / scale).sqrt();
        (state, rms)
    }

    /// Simulated positions from the first turning point on, and their swing.
    fn simulated(&self, setup: &Setup, young_modulus: f64, rate: f64) -> (Vec<f64>, Swing) {
        let start = self.turning_shape(setup, young_modulus);
        let rest = self.static_shape(setup, young_modulus, 1.0, start.clone());
        let clip = self.clip(setup, start, setup.swing_frames.len().min(250), 0, 1.0);
        let parameters = self.parameters(setup, young_modulus, rate);
        let frames = simulate_clip(&self.model, &parameters, &clip, &Self::options());
        let depth = self.depth(setup, &rest);
        let heights: Vec<f64> = frames.iter().map(|positions| depth - self.depth(setup, positions)).collect();
        let swing = swing_of(&heights, self.recording.rate_hz);
        (heights, swing)
    }

    /// Compares a take with its simulation, given the moduli of the sag and of the swing.
    fn compared(&self, setup: &Setup, take: &BeamTake, fitted: bool, moduli: [f64; 2], rate: f64) -> TakeFit {
        let rest = self.static_shape(setup, moduli[0], 1.0, self.model.rest.clone());
        let errors: Vec<f64> = self
            .displacements(setup, &rest)
            .iter()
            .zip(&setup.sag)
            .map(|(found, measured)| (*found - *measured).dot(setup.down))
            .collect();
        let (track, swing) = self.simulated(setup, moduli[1], rate);
        let sag = mean_of(&setup.sag).dot(setup.down);
        let measured: Vec<f64> = setup.swing_frames[..track.len()]
            .iter()
            .map(|frame| sag - mean_of(&frame.iter().flatten().copied().collect::<Vec<_>>()).dot(setup.down))
            .collect();
        TakeFit {
            name: take.name.clone(),
            fitted,
            tip_load_n: take.tip_load_n,
            sag_m: [sag, self.depth(setup, &rest)],
            rest_error_m: (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt(),
            swing: [swing_of(&measured, self.recording.rate_hz), swing],
            tracks_m: [measured, track],
        }
    }
}

fn mean_of(vectors: &[DVec3]) -> DVec3 {
    vectors.iter().sum::<DVec3>() / vectors.len().max(1) as f64
}

/// Rotation and translation that map `from` closest to `to` (Kabsch 1976).
fn rigid(from: &[DVec3], to: &[DVec3]) -> (DMat3, DVec3) {
    let (a, b) = (mean_of(from), mean_of(to));
    let covariance: DMat3 = from.iter().zip(to).map(|(from, to)| outer(*to - b, *from - a)).sum();
    let rotation = polar_rotation(covariance);
    (rotation, b - rotation * a)
}

/// A box from (−length, 0, 0) to (0, width, height), five tetrahedra per cell, mirrored between neighbours.
fn grid(cells: [usize; 3], size: DVec3) -> TetMesh {
    let [nx, ny, nz] = cells.map(|count| count.max(1));
    let index = |x: usize, y: usize, z: usize| (x + (nx + 1) * (y + (ny + 1) * z)) as u32;
    let mut nodes = Vec::new();
    for z in 0..=nz {
        for y in 0..=ny {
            nodes.extend((0..=nx).map(|x| {
                let at = DVec3::new(x as f64 / nx as f64 - 1.0, y as f64 / ny as f64, z as f64 / nz as f64);
                (at * size).as_vec3()
            }));
        }
    }
    let mut tetrahedra = Vec::new();
    for (x, y, z) in (0..nz).flat_map(|z| (0..ny).flat_map(move |y| (0..nx).map(move |x| (x, y, z)))) {
        let corner = |k: usize| index(x + (k & 1), y + (k >> 1 & 1), z + (k >> 2));
        let five = if (x + y + z).is_multiple_of(2) {
            [[0, 1, 2, 4], [3, 2, 1, 7], [5, 4, 7, 1], [6, 7, 4, 2], [1, 2, 4, 7]]
        } else {
            [[1, 3, 0, 5], [2, 0, 3, 6], [4, 5, 6, 0], [7, 6, 5, 3], [0, 3, 5, 6]]
        };
        tetrahedra.extend(five.map(|tetrahedron| tetrahedron.map(corner)));
    }
    let nodes: Vec<Vec3> = nodes;
    TetMesh::new(nodes, tetrahedra).expect("indices are in range")
}
