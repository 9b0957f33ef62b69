//! Simulation of the hidden flesh: a lattice finer than the body's tetrahedra, embedded in the body.
//!
//! Relative depth, modulus and skin weights of lattice nodes are those of the tetrahedra of the body that contain
//! them; nodes outside use the nearest point of the skin. Elements cut by the skin are weighted by the fraction of
//! their volume inside (Düster et al. 2008), so that neither mass nor stiffness depends on the cells.

use std::sync::Arc;

use dermis_body::{BodyModel, BodyMotion, BodyParts, BodyPose, PoseShape};
use dermis_math::progress::Progress;
use dermis_mesh::surface_tree::SurfaceTree;
use dermis_mesh::{SkinWeights, TetMesh, TriMesh, UpAxis};
use dermis_tet::tetrahedra::lattice::{Embedding, LatticeOptions, lattice_body};
use glam::{DMat3, DVec3, Vec3};
use rayon::prelude::*;

use super::random::Random;
use super::{EASE_S, FRAME_RATE_HZ, NOISE_M, SETTLE_RATE_PER_S, SETTLE_S, SUBSTEPS, Scan};
use crate::dynamics::EARTH_GRAVITY;
use crate::fit::locate::{Locator, nearest_point};
use crate::layered::{LayeredBody, LayeredError};
use crate::layers::{Layers, NodeRole};

/// Minimum fraction by which an element is weighted.
const MIN_INSIDE: f64 = 0.03;
/// Barycentric coordinates of the sample points that determine the fraction of an element inside the skin.
const SAMPLES: [[f64; 4]; 11] = [
    [0.25, 0.25, 0.25, 0.25],
    [0.7, 0.1, 0.1, 0.1],
    [0.1, 0.7, 0.1, 0.1],
    [0.1, 0.1, 0.7, 0.1],
    [0.1, 0.1, 0.1, 0.7],
    [0.4, 0.4, 0.1, 0.1],
    [0.4, 0.1, 0.4, 0.1],
    [0.4, 0.1, 0.1, 0.4],
    [0.1, 0.4, 0.4, 0.1],
    [0.1, 0.4, 0.1, 0.4],
    [0.1, 0.1, 0.4, 0.4],
];

/// An element of the hidden layer.
struct Element {
    nodes: [u32; 4],
    inverse: DMat3,
    volume: f64,
    /// Parameters of the stable neo-Hookean law.
    mu: f64,
    lambda: f64,
}

/// The hidden layer of a subject.
pub(super) struct Truth {
    body: BodyModel,
    /// Body model of the lattice nodes.
    lattice: BodyModel,
    tetrahedra: Vec<[u32; 4]>,
    skin: Vec<Embedding>,
    elements: Vec<Element>,
    masses: Vec<f64>,
    free: Vec<u32>,
    is_free: Vec<bool>,
    damping_rate_per_s: f64,
    nearest: Vec<u32>,
    gravity: DVec3,
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

impl Truth {
    /// The hidden layer of `layered`, whose flesh is that of the subject, on a lattice of `spacing` relative to its
    /// diagonal.
    pub(super) fn new(layered: &LayeredBody, spacing: f64, progress: &dyn Progress) -> Result<Self, LayeredError> {
        let (parts, flesh) = (layered.parts(), layered.flesh());
        let spacing = spacing * f64::from(parts.body.mesh().diagonal());
        let options = LatticeOptions { spacing: Some(spacing), ..LatticeOptions::default() };
        let made = lattice_body(parts.body.mesh(), &[], &options, progress)?;
        let (tets, skin_points) = (&made.mesh, parts.body.mesh().points());
        let locator = Locator::new(&parts.tets, spacing);
        let source = |node: &Vec3| -> (Vec<(u32, f64)>, bool) {
            match locator.locate(node.as_dvec3()) {
                Some(found) => (found.to_vec(), true),
                None => (vec![(nearest_point(skin_points, *node), 1.0)], false),
            }
        };
        let sources: Vec<(Vec<(u32, f64)>, bool)> = tets.nodes().par_iter().map(source).collect();
        let number = |values: &dyn Fn(usize) -> f64| -> Vec<f64> {
            sources.iter().map(|(row, _)| row.iter().map(|&(node, w)| w * values(node as usize)).sum()).collect()
        };
        let depth = number(&|node| layered.layers().field[node]);
        let young = number(&|node| f64::from(layered.material().young_modulus_pa[node]));
        let layers = Layers::from_field(tets, depth);
        let fractions = inside_fractions(parts.body.mesh(), tets, &layers.elements, &sources);
        let mut masses = vec![0.0; tets.nodes().len()];
        let nu = f64::from(flesh.poisson_ratio);
        let mut elements = Vec::with_capacity(layers.elements.len());
        for (&index, fraction) in layers.elements.iter().zip(fractions) {
            let nodes = tets.tetrahedra()[index as usize];
            let [a, b, c, d] = nodes.map(|node| tets.nodes()[node as usize].as_dvec3());
            let shape = DMat3::from_cols(b - a, c - a, d - a);
            let volume = fraction * shape.determinant().abs() / 6.0;
            let young = nodes.iter().map(|&node| young[node as usize]).sum::<f64>() / 4.0;
            let (mu, lambda) = (young / (2.0 * (1.0 + nu)), young * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)));
            for node in nodes {
                masses[node as usize] += f64::from(flesh.density_kg_per_m3) * volume / 4.0;
            }
            // Parameters with the same response to small strain as linear elasticity.
            let (mu, lambda) = (mu * 4.0 / 3.0, lambda + mu * 5.0 / 6.0);
            elements.push(Element { nodes, inverse: shape.inverse(), volume, mu, lambda });
        }
        let with = |role: NodeRole| (0..).zip(&layers.roles).filter(move |(_, r)| **r == role).map(|(n, _)| n);
        let (free, driven): (Vec<u32>, Vec<u32>) = (with(NodeRole::Free).collect(), with(NodeRole::Driven).collect());
        let at = |node: u32| tets.nodes()[node as usize];
        let driven_at: Vec<Vec3> = driven.iter().map(|&node| at(node)).collect();
        let nearest = |&node: &u32| driven.get(nearest_point(&driven_at, at(node)) as usize).copied().unwrap_or(node);
        let up = match parts.up {
            UpAxis::X => DVec3::X,
            UpAxis::Y => DVec3::Y,
            UpAxis::Z => DVec3::Z,
        };
        let mut is_free = vec![false; tets.nodes().len()];
        for &node in &free {
            is_free[node as usize] = true;
        }
        Ok(Self {
            lattice: lattice_model(&parts.volume, tets, &sources)?,
            body: parts.body.clone(),
            nearest: free.par_iter().map(nearest).collect(),
            elements,
            masses,
            free,
            is_free,
            damping_rate_per_s: f64::from(flesh.damping_rate_per_s),
            gravity: up * -f64::from(EARTH_GRAVITY),
            tetrahedra: tets.tetrahedra().to_vec(),
            skin: made.skin,
        })
    }

    /// `frame_count` frames and poses of a motion from `phase`, in frames of the motion.
    pub(super) fn record(
        &self,
        motion: &BodyMotion,
        phase: f64,
        frame_count: usize,
        random: &mut Random,
    ) -> Result<(Scan, Vec<BodyPose>), LayeredError> {
        let posed = |time: f64| -> Result<Vec<DVec3>, LayeredError> {
            let pose = pose_at(motion, time, phase);
            Ok(self.lattice.pose(&[], &pose)?.points.iter().map(|p| p.as_dvec3()).collect())
        };
        let frame_s = 1.0 / FRAME_RATE_HZ;
        let mut before = posed(0.0)?;
        let mut state = (before.clone(), vec![DVec3::ZERO; before.len()]);
        for _ in 0..(SETTLE_S / frame_s) as usize {
            self.advance(&mut state, &before, &before, SETTLE_RATE_PER_S, frame_s);
        }
        let (mut frames, mut poses) = (Vec::with_capacity(frame_count), Vec::with_capacity(frame_count));
        for frame in 0..frame_count {
            let pose = pose_at(motion, frame as f64 * frame_s, phase);
            let mut skin = self.body.pose(&[], &pose)?.points;
            for (point, embedding) in skin.iter_mut().zip(&self.skin) {
                let corners = self.tetrahedra[embedding.tetrahedron as usize].map(|corner| corner as usize);
                for (corner, weight) in corners.into_iter().zip(embedding.weights) {
                    *point += (state.0[corner] - before[corner]).as_vec3() * weight;
                }
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
        let damping = (-rate * dt).exp();
        let mut forces = vec![DVec3::ZERO; state.0.len()];
        for substep in 1..=SUBSTEPS {
            forces.fill(DVec3::ZERO);
            for element in &self.elements {
                let [a, b, c, d] = element.nodes.map(|node| state.0[node as usize]);
                let f = DMat3::from_cols(b - a, c - a, d - a) * element.inverse;
                let squared = f.x_axis.length_squared() + f.y_axis.length_squared() + f.z_axis.length_squared();
                let cofactor =
                    DMat3::from_cols(f.y_axis.cross(f.z_axis), f.z_axis.cross(f.x_axis), f.x_axis.cross(f.y_axis));
                let rest = 1.0 + 0.75 * element.mu / element.lambda;
                let volumetric = element.lambda * (f.x_axis.dot(cofactor.x_axis) - rest);
                let stress = f * (element.mu * (1.0 - 1.0 / (squared + 1.0))) + cofactor * volumetric;
                let h = stress * element.inverse.transpose() * -element.volume;
                forces[element.nodes[1] as usize] += h.x_axis;
                forces[element.nodes[2] as usize] += h.y_axis;
                forces[element.nodes[3] as usize] += h.z_axis;
                forces[element.nodes[0] as usize] -= h.x_axis + h.y_axis + h.z_axis;
            }
            let fraction = substep as f64 / SUBSTEPS as f64;
            for (&node, &nearest) in self.free.iter().zip(&self.nearest) {
                let (node, nearest) = (node as usize, nearest as usize);
                let reference = (after[nearest] - before[nearest]) / frame_s;
                let acceleration = forces[node] / self.masses[node] + self.gravity;
                let velocity = state.1[node] + acceleration * dt;
                state.1[node] = reference + (velocity - reference) * damping;
                state.0[node] += state.1[node] * dt;
            }
            for (node, position) in state.0.iter_mut().enumerate().filter(|(node, _)| !self.is_free[*node]) {
                *position = before[node].lerp(after[node], fraction);
            }
        }
    }
}

/// Fraction of the volume of each of `elements` that is inside the skin.
fn inside_fractions(skin: &TriMesh, tets: &TetMesh, elements: &[u32], sources: &[(Vec<(u32, f64)>, bool)]) -> Vec<f64> {
    let points: Vec<DVec3> = skin.points().iter().map(|p| p.as_dvec3()).collect();
    let tree = SurfaceTree::new(&points, skin.triangles());
    let fraction = |&index: &u32| {
        let nodes = tets.tetrahedra()[index as usize];
        if nodes.iter().all(|&node| sources[node as usize].1) {
            return 1.0;
        }
        let corners = nodes.map(|node| tets.nodes()[node as usize].as_dvec3());
        let at = |weights: &[f64; 4]| corners.iter().zip(weights).map(|(corner, weight)| *corner * *weight).sum();
        let inside = SAMPLES.iter().filter(|weights| tree.is_inside(at(weights))).count();
        (inside as f64 / SAMPLES.len() as f64).max(MIN_INSIDE)
    };
    elements.par_iter().map(fraction).collect()
}

/// Body model of the nodes of `tets` with interpolated weights and pose shapes.
fn lattice_model(
    volume: &BodyModel,
    tets: &TetMesh,
    sources: &[(Vec<(u32, f64)>, bool)],
) -> Result<BodyModel, LayeredError> {
    let row = |(from, _): &(Vec<(u32, f64)>, bool)| -> Vec<(u32, f32)> {
        let mut row: std::collections::BTreeMap<u32, f64> = std::collections::BTreeMap::new();
        for &(node, weight) in from {
            for (joint, of_joint) in volume.weights().row(node as usize) {
                *row.entry(joint).or_default() += weight.max(0.0) * f64::from(of_joint);
            }
        }
        let sum: f64 = row.values().sum();
        row.into_iter().map(|(joint, weight)| (joint, (weight / sum) as f32)).collect()
    };
    let pose_shape = |shape: &PoseShape| PoseShape {
        number: shape.number,
        offsets: sources
            .iter()
            .map(|(from, _)| from.iter().map(|&(node, weight)| shape.offsets[node as usize] * weight as f32).sum())
            .collect(),
    };
    let mesh = TriMesh::new(tets.nodes().to_vec(), Vec::new())?;
    Ok(BodyModel::new(BodyParts {
        mesh: Arc::new(mesh),
        joints: volume.joints().to_vec(),
        placement: volume.given_placement(),
        weights: SkinWeights::from_rows(sources.iter().map(row).collect::<Vec<_>>()),
        shapes: Vec::new(),
        pose_shapes: volume.pose_shapes().iter().map(pose_shape).collect(),
    })?)
}
