//! Generated scans of a subject with hidden flesh, for the validation of fits.
//!
//! The generator differs from the fit in everything that the fit could exploit: finer tetrahedra, the stable
//! neo-Hookean law (Smith et al. 2018) in place of corotational elements, explicit symplectic Euler steps in place of
//! implicit ones, a hard boundary of the layer, noise on every point, and frames between those of the motion. Hidden
//! are Young's modulus and thickness, smooth random fields over the skin, and the damping.

use dermis_body::{BodyModel, BodyMotion, BodyPose};
use dermis_math::progress::Progress;
use dermis_mesh::UpAxis;
use dermis_tet::tetrahedra::lattice::LatticeOptions;
use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

use crate::dynamics::EARTH_GRAVITY;
use crate::layered::{BuildOptions, Flesh, LayeredBody, LayeredError, Mesher, SkinBinding, Thickness, build};
use crate::layers::{FleshOptions, NodeRole};

/// Lattice spacing relative to the height of the body; that of the fit is larger.
const SPACING: f64 = 0.017;
/// Explicit steps per recorded frame.
const SUBSTEPS: usize = 40;
/// Frames of each recording and their rate.
const FRAMES: usize = 120;
const FRAME_RATE_HZ: f64 = 60.0;
/// Time in seconds for the flesh to settle before recording.
const SETTLE_S: f64 = 0.8;
/// Damping while it settles, per second.
const SETTLE_RATE_PER_S: f64 = 12.0;
/// Time in seconds over which the motion accelerates from rest.
const EASE_S: f64 = 0.4;
/// Root mean square distance of the noise, in metres.
const NOISE_M: f64 = 1e-3;
/// Relative depth below which the skin is rigid.
const MIN_DEPTH: f32 = 1.01;
/// Bumps of a random field and their radius relative to the height.
const BUMPS: usize = 14;
const BUMP_RADIUS: f64 = 0.09;

/// Build of a generated subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectKind {
    /// Soft, thick flesh.
    Heavy,
    /// In between.
    Average,
    /// Stiff, thin flesh.
    Slim,
}

impl SubjectKind {
    /// All kinds with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("heavy", Self::Heavy), ("average", Self::Average), ("slim", Self::Slim)];

    /// Median modulus in pascal, fraction of elements in the layer, and coefficient of the first shape.
    fn properties(self) -> (f64, f64, f64) {
        match self {
            Self::Heavy => (8e3, 0.36, 1.0),
            Self::Average => (11e3, 0.30, 0.0),
            Self::Slim => (15e3, 0.24, -0.7),
        }
    }
}

/// One recorded sequence: positions of the skin and nothing else.
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
    /// Poses of each sequence.
    pub poses: Vec<Vec<BodyPose>>,
}

/// Records `motions` of a subject of `body` with flesh from `seed`.
pub fn generate_scans(
    body: &BodyModel,
    motions: &[BodyMotion],
    up: UpAxis,
    kind: SubjectKind,
    seed: u64,
    progress: &dyn Progress,
) -> Result<(Vec<Scan>, HiddenSubject), LayeredError> {
    let (modulus, fraction, weight) = kind.properties();
    let mut random = Random::new(seed.wrapping_mul(2).wrapping_add(kind as u64 + 1));
    let mut betas = vec![0.0; body.shapes().len()];
    for (index, beta) in betas.iter_mut().enumerate() {
        *beta = if index == 0 { weight } else { 0.0 } + 0.3 * random.symmetric();
    }
    let shaped = body.fixed_shape(&betas)?;
    let height = f64::from(shaped.mesh().diagonal());
    let spacing = Some(SPACING * height);
    let options = BuildOptions {
        mesher: Mesher::Lattice(LatticeOptions { spacing, ..LatticeOptions::default() }),
        thickness: Thickness::ByFlesh(FleshOptions { element_fraction: fraction, ..FleshOptions::default() }),
        ..BuildOptions::default()
    };
    let (mut layered, _) = build(shaped, Vec::new(), up, &options, progress)?;
    let points = layered.body().mesh().points().to_vec();
    let (stiffness, depth) = (random.field(&points, height), random.field(&points, height));
    // Interpolated depths of rigid skin exceed σ by rounding, which would make it a layer.
    let deepened = |(&d, g): (&f32, &f64)| if d < MIN_DEPTH { 1.0 } else { 1.0 + (d - 1.0) * (0.25 * g).exp() as f32 };
    let flesh = Flesh {
        thickness: layered.flesh().thickness.iter().zip(&depth).map(deepened).collect(),
        young_modulus_pa: stiffness.iter().map(|g| (modulus * (0.3 * g).exp()) as f32).collect(),
        poisson_ratio: 0.4,
        density_kg_per_m3: 1e3,
        damping_rate_per_s: (7.0 + 2.0 * random.symmetric()) as f32,
    };
    layered.set_flesh(flesh.clone())?;
    let seeds: Vec<(u64, f64)> = motions.iter().map(|_| (random.next(), 0.5 + 0.5 * random.symmetric())).collect();
    let truth = Truth::new(&layered, &flesh);
    let recorded: Result<Vec<_>, LayeredError> = motions
        .par_iter()
        .zip(&seeds)
        .map(|(motion, &(seed, phase))| {
            if progress.report("simulating the hidden flesh", 0, 1).is_break() {
                return Err(LayeredError::Stopped);
            }
            truth.record(&layered, motion, phase, &mut Random::new(seed))
        })
        .collect();
    let (scans, poses) = recorded?.into_iter().unzip();
    Ok((scans, HiddenSubject { flesh, betas, poses }))
}

/// Pose of a motion that accelerates from rest, at a time in seconds.
fn pose_at(motion: &BodyMotion, time_s: f64, phase: f64) -> BodyPose {
    let moved = if time_s < EASE_S { 0.5 * time_s * time_s / EASE_S } else { time_s - 0.5 * EASE_S };
    let frame = moved.max(0.0) * motion.frame_rate_hz + phase;
    let count = motion.poses.len();
    let (before, after) = (frame.floor() as usize % count, (frame.floor() as usize + 1) % count);
    let (a, b, t) = (&motion.poses[before], &motion.poses[after], frame.fract());
    BodyPose {
        angles: a.angles.iter().zip(&b.angles).map(|(a, b)| a.lerp(*b, t)).collect(),
        translation: a.translation.lerp(b.translation, t),
    }
}

/// Elements of the hidden layer.
struct Truth {
    elements: Vec<([u32; 4], DMat3, f64, f64, f64)>,
    masses: Vec<f64>,
    free: Vec<u32>,
    damping_rate_per_s: f64,
    nearest: Vec<u32>,
    gravity: DVec3,
}

impl Truth {
    fn new(layered: &LayeredBody, flesh: &Flesh) -> Self {
        let (tets, layers, nu) = (&layered.parts().tets, layered.layers(), f64::from(flesh.poisson_ratio));
        let mut masses = vec![0.0; tets.nodes().len()];
        let mut elements = Vec::with_capacity(layers.elements.len());
        for &index in &layers.elements {
            let nodes = tets.tetrahedra()[index as usize];
            let [a, b, c, d] = nodes.map(|node| tets.nodes()[node as usize].as_dvec3());
            let shape = DMat3::from_cols(b - a, c - a, d - a);
            let volume = shape.determinant().abs() / 6.0;
            let young =
                nodes.iter().map(|&n| f64::from(layered.material().young_modulus_pa[n as usize])).sum::<f64>() / 4.0;
            let (mu, lambda) = (young / (2.0 * (1.0 + nu)), young * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)));
            for node in nodes {
                masses[node as usize] += f64::from(flesh.density_kg_per_m3) * volume / 4.0;
            }
            // Parameters with the same response to small strain as linear elasticity.
            elements.push((nodes, shape.inverse(), volume, mu * 4.0 / 3.0, lambda + mu * 5.0 / 6.0));
        }
        let with = |role: NodeRole| (0..).zip(&layers.roles).filter(move |(_, r)| **r == role).map(|(n, _)| n);
        let (free, driven): (Vec<u32>, Vec<u32>) = (with(NodeRole::Free).collect(), with(NodeRole::Driven).collect());
        let at = |node: u32| tets.nodes()[node as usize];
        let nearest = |&node: &u32| {
            let distance = |other: &&u32| at(**other).distance_squared(at(node));
            driven.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).copied().unwrap_or(node)
        };
        let up = match layered.parts().up {
            UpAxis::X => DVec3::X,
            UpAxis::Y => DVec3::Y,
            UpAxis::Z => DVec3::Z,
        };
        Self {
            nearest: free.par_iter().map(nearest).collect(),
            elements,
            masses,
            free,
            damping_rate_per_s: f64::from(flesh.damping_rate_per_s),
            gravity: up * -f64::from(EARTH_GRAVITY),
        }
    }

    fn record(
        &self,
        layered: &LayeredBody,
        motion: &BodyMotion,
        phase: f64,
        random: &mut Random,
    ) -> Result<(Scan, Vec<BodyPose>), LayeredError> {
        let parts = layered.parts();
        let posed = |time: f64| -> Result<Vec<DVec3>, LayeredError> {
            let pose = pose_at(motion, time, phase);
            Ok(parts.volume.pose(&[], &pose)?.points.iter().map(|p| p.as_dvec3()).collect())
        };
        let frame_s = 1.0 / FRAME_RATE_HZ;
        let mut before = posed(0.0)?;
        let mut state = (before.clone(), vec![DVec3::ZERO; before.len()]);
        for _ in 0..(SETTLE_S / frame_s) as usize {
            self.advance(&mut state, &before, &before, SETTLE_RATE_PER_S, frame_s);
        }
        let (mut frames, mut poses) = (Vec::with_capacity(FRAMES), Vec::with_capacity(FRAMES));
        for frame in 0..FRAMES {
            let pose = pose_at(motion, frame as f64 * frame_s, phase);
            let mut skin = parts.body.pose(&[], &pose)?.points;
            let follow = |skin: &mut [Vec3], nodes: &[DVec3]| {
                if let SkinBinding::Embedded(embeddings) = &parts.binding {
                    for (point, embedding) in skin.iter_mut().zip(embeddings) {
                        let corners = parts.tets.tetrahedra()[embedding.tetrahedron as usize];
                        for (corner, weight) in corners.iter().zip(embedding.weights) {
                            *point += (nodes[*corner as usize] - before[*corner as usize]).as_vec3() * weight;
                        }
                    }
                }
            };
            follow(&mut skin, &state.0);
            for point in &mut skin {
                *point += random.vector(NOISE_M / 3f64.sqrt()).as_vec3();
            }
            frames.push(skin);
            poses.push(pose);
            let after = posed((frame + 1) as f64 * frame_s)?;
            self.advance(&mut state, &before, &after, self.damping_rate_per_s, frame_s);
            before = after;
        }
        Ok((Scan { name: motion.name.clone(), frame_rate_hz: FRAME_RATE_HZ, frames }, poses))
    }

    /// Explicit steps of one frame, during which posed nodes move linearly. Nodes outside the layer follow the pose.
    fn advance(
        &self,
        state: &mut (Vec<DVec3>, Vec<DVec3>),
        before: &[DVec3],
        after: &[DVec3],
        rate: f64,
        frame_s: f64,
    ) {
        let dt = frame_s / SUBSTEPS as f64;
        let mut forces = vec![DVec3::ZERO; state.0.len()];
        let mut free_flags = vec![false; state.0.len()];
        self.free.iter().for_each(|&node| free_flags[node as usize] = true);
        for substep in 1..=SUBSTEPS {
            forces.fill(DVec3::ZERO);
            for &(nodes, inverse, volume, mu, lambda) in &self.elements {
                let [a, b, c, d] = nodes.map(|node| state.0[node as usize]);
                let f = DMat3::from_cols(b - a, c - a, d - a) * inverse;
                let squared = f.x_axis.length_squared() + f.y_axis.length_squared() + f.z_axis.length_squared();
                let cofactor =
                    DMat3::from_cols(f.y_axis.cross(f.z_axis), f.z_axis.cross(f.x_axis), f.x_axis.cross(f.y_axis));
                let rest = 1.0 + 0.75 * mu / lambda;
                let stress = f * (mu * (1.0 - 1.0 / (squared + 1.0))) + cofactor * (lambda * (f.determinant() - rest));
                let h = stress * inverse.transpose() * -volume;
                forces[nodes[1] as usize] += h.x_axis;
                forces[nodes[2] as usize] += h.y_axis;
                forces[nodes[3] as usize] += h.z_axis;
                forces[nodes[0] as usize] -= h.x_axis + h.y_axis + h.z_axis;
            }
            let fraction = substep as f64 / SUBSTEPS as f64;
            for (&node, &nearest) in self.free.iter().zip(&self.nearest) {
                let (node, nearest) = (node as usize, nearest as usize);
                let reference = (after[nearest] - before[nearest]) / frame_s;
                let acceleration = forces[node] / self.masses[node] + self.gravity;
                let velocity = state.1[node] + acceleration * dt;
                state.1[node] = reference + (velocity - reference) * (-rate * dt).exp();
                state.0[node] += state.1[node] * dt;
            }
            for (node, position) in state.0.iter_mut().enumerate().filter(|(node, _)| !free_flags[*node]) {
                *position = before[node].lerp(after[node], fraction);
            }
        }
    }
}

/// Deterministic random numbers (xorshift).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03 | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Uniform in −1..1.
    fn symmetric(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// Normal with the given deviation per coordinate, as the sum of uniform numbers.
    fn vector(&mut self, deviation: f64) -> DVec3 {
        // Four uniform numbers in −1..1 have a variance of 4/3.
        let scale = deviation / (4.0f64 / 3.0).sqrt();
        let mut normal = || (0..4).map(|_| self.symmetric()).sum::<f64>() * scale;
        DVec3::new(normal(), normal(), normal())
    }

    /// A smooth field over points: random bumps, with a standard deviation of 1 and a mean of 0.
    fn field(&mut self, points: &[Vec3], height: f64) -> Vec<f64> {
        let bumps: Vec<(Vec3, f64)> =
            (0..BUMPS).map(|_| (points[self.next() as usize % points.len()], self.symmetric())).collect();
        let width = 2.0 * (BUMP_RADIUS * height).powi(2);
        let value = |at: &Vec3| -> f64 {
            bumps.iter().map(|(centre, size)| size * (-f64::from(at.distance_squared(*centre)) / width).exp()).sum()
        };
        let values: Vec<f64> = points.iter().map(value).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
        values.iter().map(|v| (v - mean) / deviation.max(f64::MIN_POSITIVE)).collect()
    }
}
