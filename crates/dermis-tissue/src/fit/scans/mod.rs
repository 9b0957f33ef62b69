//! Generated scans of a subject with hidden flesh, for the validation of fits.
//!
//! The generator differs from the fit in everything that the fit could exploit: finer tetrahedra, the stable neo-Hookean
//! law (Smith et al. 2018) in place of corotational elements, explicit symplectic Euler steps in place of implicit ones,
//! noise on every point, and frames between those of the motion. The hidden properties are Young's modulus
//! and thickness, which are smooth random fields over the skin, and the damping.

mod hidden;
mod random;

use dermis_body::{BodyModel, BodyMotion, BodyPose};
use dermis_math::progress::Progress;
use dermis_mesh::UpAxis;
use glam::Vec3;
use rayon::prelude::*;

use crate::layered::{BuildOptions, Flesh, LayeredError, build};
use crate::layers::FleshOptions;
use hidden::Truth;
use random::Random;

/// Explicit steps per recorded frame.
const SUBSTEPS: usize = 40;
/// Frames per second.
const FRAME_RATE_HZ: f64 = 60.0;
/// Time in seconds for the flesh to settle before recording.
const SETTLE_S: f64 = 0.8;
/// Damping while the flesh settles, per second.
const SETTLE_RATE_PER_S: f64 = 12.0;
/// Time in seconds over which the motion accelerates from rest.
const EASE_S: f64 = 0.4;
/// Root mean square distance of the noise, in metres.
const NOISE_M: f64 = 1e-3;
/// Relative depth below which the skin is rigid.
const MIN_DEPTH: f32 = 1.01;
/// Build of a generated subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectKind {
    /// Soft, thick flesh.
    Heavy,
    /// Flesh between the two.
    Average,
    /// Stiff, thin flesh.
    Slim,
}

impl SubjectKind {
    /// All kinds with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("heavy", Self::Heavy), ("average", Self::Average), ("slim", Self::Slim)];

    /// Median modulus in pascals, fraction of elements in the layer, and coefficient of the first shape.
    fn properties(self) -> (f64, f64, f64) {
        match self {
            Self::Heavy => (3e3, 0.36, 1.0),
            Self::Average => (4.2e3, 0.30, 0.0),
            Self::Slim => (6e3, 0.24, -0.7),
        }
    }
}

/// Options of [`generate_scans`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScanOptions {
    /// Build of the subject.
    pub kind: SubjectKind,
    /// Seed of the hidden fields, the shape, the phases and the noise.
    pub seed: u64,
    /// Lattice spacing relative to the diagonal of the body. With the default, an element of a body has the size of about
    /// three of the lattice.
    pub spacing: f64,
    /// Frames of each sequence.
    pub frames: usize,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self { kind: SubjectKind::Heavy, seed: 1, spacing: 0.008, frames: 120 }
    }
}

/// Recorded sequence: positions of the skin only.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// Name of the sequence.
    pub name: String,
    /// Frames per second.
    pub frame_rate_hz: f64,
    /// Points of each frame.
    pub frames: Vec<Vec<Vec3>>,
}

/// Hidden properties of a generated subject.
#[derive(Debug, Clone, PartialEq)]
pub struct HiddenSubject {
    /// Flesh under each point of the skin.
    pub flesh: Flesh,
    /// Shape coefficients.
    pub betas: Vec<f64>,
    /// Name and poses of each sequence.
    pub poses: Vec<(String, Vec<BodyPose>)>,
}

/// Records `motions` of a generated subject of `body`.
pub fn generate_scans(
    body: &BodyModel,
    motions: &[BodyMotion],
    up: UpAxis,
    options: &ScanOptions,
    progress: &dyn Progress,
) -> Result<(Vec<Scan>, HiddenSubject), LayeredError> {
    let ScanOptions { kind, seed, .. } = *options;
    let (modulus, fraction, weight) = kind.properties();
    let mut random = Random::new(seed.wrapping_mul(3).wrapping_add(kind as u64 + 1));
    let mut betas = vec![0.0; body.shapes().len()];
    for (index, beta) in betas.iter_mut().enumerate() {
        *beta = if index == 0 { weight } else { 0.0 } + 0.3 * random.symmetric();
    }
    // The template is meshed and then deformed to the shape: a shape whose skin touches itself cannot be meshed.
    let (layered, _) = build(body.clone(), Vec::new(), up, &BuildOptions::default(), progress)?;
    let mut layered = layered.in_shape(&betas)?;
    let height = f64::from(layered.body().mesh().diagonal());
    let thickness =
        layered.thickness_by_flesh(&FleshOptions { element_fraction: fraction, ..FleshOptions::default() })?;
    let points = layered.body().mesh().points().to_vec();
    let (stiffness, depth) = (random.field(&points, height), random.field(&points, height));
    // Interpolated depths of rigid skin exceed σ by rounding, which would make it a layer.
    let deepened = |(&d, g): (&f32, &f64)| if d < MIN_DEPTH { 1.0 } else { 1.0 + (d - 1.0) * (0.25 * g).exp() as f32 };
    let flesh = Flesh {
        thickness: thickness.iter().zip(&depth).map(deepened).collect(),
        young_modulus_pa: stiffness.iter().map(|g| (modulus * (0.3 * g).exp()) as f32).collect(),
        poisson_ratio: 0.4,
        density_kg_per_m3: 1e3,
        damping_rate_per_s: (7.0 + 2.0 * random.symmetric()) as f32,
    };
    layered.set_flesh(flesh.clone())?;
    let seeds: Vec<(u64, f64)> = motions.iter().map(|_| (random.next(), 0.5 + 0.5 * random.symmetric())).collect();
    let truth = Truth::new(&layered, options.spacing, progress)?;
    let recorded: Result<Vec<_>, LayeredError> = motions
        .par_iter()
        .zip(&seeds)
        .map(|(motion, &(seed, phase))| {
            if progress.report("simulating the hidden flesh", 0, 1).is_break() {
                return Err(LayeredError::Stopped);
            }
            truth.record(motion, phase, options.frames, &mut Random::new(seed))
        })
        .collect();
    let (scans, poses): (Vec<Scan>, Vec<Vec<BodyPose>>) = recorded?.into_iter().unzip();
    let poses = scans.iter().map(|scan| scan.name.clone()).zip(poses).collect();
    Ok((scans, HiddenSubject { flesh, betas, poses }))
}
