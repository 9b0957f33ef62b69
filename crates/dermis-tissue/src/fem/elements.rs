//! Corotational tetrahedra: rotation, force and stiffness factors of every element (Eq. 12–13; Müller & Gross 2004).
//!
//! With the rotation R of an element, rest gradients `b_i` of its shape functions and `g_i = R b_i`, force and stiffness
//! are `f_i = −V [μ(Q + Qᵀ − 2I) + λ(tr Q − 3)I] g_i`, `Q = F Rᵀ`, and
//! `K_ij = V [λ g_i g_jᵀ + μ g_j g_iᵀ + μ (g_i·g_j) I]`:
//! no 12×12 products. Elements hand on `h_i = Δt √(μV) g_i`, of which `Δt²K_ij` is a product with the one ratio λ/μ.
//!
//! A stretched element resists being turned out of its rotation; Eq. 13 leaves that out, and bodies stretched to a
//! multiple of their size swing back slowly. `tension` puts it in beyond a mean stretch of 1.5, averaged over directions:
//! τ = (1 + 3λ/2μ)(tr Q − 4.5)/tr Q ≥ 0 is the stiffness of the skew part of Q over μ; the exact Hessian has 3 for 4.5.
//!
//! State is displacement from rest, and Q − I is made of F − I and R − I: small deflections keep their digits in f32.
//! Four elements are worked on at once; each writes one cache line of factors and one of impulses.

#![allow(clippy::inline_always, reason = "parts of one kernel")]
#![allow(clippy::large_types_passed_by_value, reason = "all of it is inlined and lives in registers")]

use std::array::from_fn;

use glam::{DMat3, DQuat, Vec3A, Vec4};
use rayon::prelude::*;

use super::lanes::{LANES, M3, V3, difference, dot, exchange, plus_identity, scaled, times_transpose, transpose};
use super::rotation;

/// tr Q from which on an element counts as stretched: below, the matrix is Eq. 13's.
const STRETCHED: f32 = 4.5;
/// Groups of four elements that a thread takes at a time.
const GROUPS_PER_TASK: usize = 128;

/// The elements, four in a group.
#[derive(Debug, Clone)]
pub(crate) struct Elements {
    groups: Vec<Group>,
    rotations: Vec<Rotations>,
    /// The elastic energy of each task.
    energies: Vec<f64>,
    count: usize,
    /// λ/μ.
    ratio: f32,
    /// Whether stretched elements resist turning, or Eq. 13 is as printed.
    pub(crate) tension: bool,
}

/// Four vectors of an element, one for each node; the fourth component of factors is τ.
pub(crate) type Line = [Vec4; 4];

/// The quaternions of four elements.
type Rotations = [Vec4; LANES];

/// What does not change of four elements.
#[derive(Debug, Clone)]
struct Group {
    nodes: [[u32; LANES]; 4],
    /// `b_1`, `b_2` and `b_3`; `b_0` is what makes their sum zero.
    gradients: M3,
    /// √(μV).
    weight: Vec4,
}

/// An element as it is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    pub(crate) nodes: [u32; 4],
    /// The inverse of the matrix with columns `X_k − X_0`.
    pub(crate) inverse: DMat3,
    pub(crate) volume: f64,
}

impl Elements {
    /// The elements with these shear moduli.
    pub(crate) fn new(elements: &[Element], shear_moduli: &[f32], ratio: f32, tension: bool) -> Self {
        let mut result = Self {
            groups: elements.chunks(LANES).map(Group::new).collect(),
            rotations: vec![[Vec4::ZERO, Vec4::ZERO, Vec4::ZERO, Vec4::ONE]; elements.len().div_ceil(LANES)],
            energies: vec![0.0; elements.len().div_ceil(LANES * GROUPS_PER_TASK)],
            count: elements.len(),
            ratio,
            tension,
        };
        result.set_material(elements, shear_moduli, ratio);
        result
    }

    /// The number of lines that [`Self::update`] writes; those beyond the elements are of no meaning.
    pub(crate) fn line_count(&self) -> usize {
        self.groups.len() * LANES
    }

    pub(crate) fn set_material(&mut self, elements: &[Element], shear_moduli: &[f32], ratio: f32) {
        self.ratio = ratio;
        for (index, (element, modulus)) in elements.iter().zip(shear_moduli).enumerate() {
            self.groups[index / LANES].weight[index % LANES] = (f64::from(*modulus) * element.volume).sqrt() as f32;
        }
    }

    /// μV of an element.
    pub(crate) fn weight_squared(&self, index: usize) -> f64 {
        f64::from(self.groups[index / LANES].weight[index % LANES]).powi(2)
    }

    /// Sets the rotation of every element.
    pub(crate) fn set_rotations(&mut self, rotation: impl Fn(usize) -> DQuat) {
        for index in 0..self.count {
            let quaternion = rotation(index).to_array();
            for (lanes, x) in self.rotations[index / LANES].iter_mut().zip(quaternion) {
                lanes[index % LANES] = x as f32;
            }
        }
    }

    /// Follows the displacements and writes the factors `h_i` and impulses `Δt f_i` of every element; the elastic energy.
    pub(crate) fn update(
        &mut self,
        displacements: &[Vec3A],
        time_step: f32,
        factors: &mut [Line],
        impulses: &mut [Line],
    ) -> f64 {
        let lines = LANES * GROUPS_PER_TASK;
        let constants = Constants {
            time_step,
            ratio: self.ratio,
            tension: if self.tension { 1.0 + 1.5 * self.ratio } else { 0.0 },
        };
        let groups = self.groups.par_chunks(GROUPS_PER_TASK).zip(self.rotations.par_chunks_mut(GROUPS_PER_TASK));
        let outs = factors.par_chunks_mut(lines).zip(impulses.par_chunks_mut(lines)).zip(&mut self.energies);
        groups.zip(outs).for_each(|((groups, rotations), ((factors, impulses), energy))| {
            *energy = update_groups(groups, rotations, displacements, &constants, factors, impulses);
        });
        self.energies.iter().sum()
    }
}

impl Group {
    fn new(elements: &[Element]) -> Self {
        // Empty lanes repeat the last element without weight.
        let lane = |index: usize| elements[index.min(elements.len() - 1)];
        let entry = |k: usize, axis: usize| Vec4::from_array(from_fn(|index| lane(index).inverse.row(k)[axis] as f32));
        Self {
            nodes: from_fn(|k| from_fn(|index| lane(index).nodes[k])),
            gradients: from_fn(|k| from_fn(|axis| entry(k, axis))),
            weight: Vec4::ZERO,
        }
    }
}

#[derive(Clone, Copy)]
struct Constants {
    time_step: f32,
    ratio: f32,
    /// 1 + 3λ/2μ or zero.
    tension: f32,
}

fn update_groups(
    groups: &[Group],
    rotations: &mut [Rotations],
    displacements: &[Vec3A],
    constants: &Constants,
    factors: &mut [Line],
    impulses: &mut [Line],
) -> f64 {
    let mut energy = Vec4::ZERO;
    let lines = factors.as_chunks_mut::<LANES>().0.iter_mut().zip(impulses.as_chunks_mut::<LANES>().0);
    for ((group, rotations), (factors, impulses)) in groups.iter().zip(rotations).zip(lines) {
        energy += update_group(group, rotations, displacements, constants, factors, impulses);
    }
    energy.as_dvec4().element_sum()
}

#[inline(always)]
fn update_group(
    group: &Group,
    rotation: &mut Rotations,
    displacements: &[Vec3A],
    constants: &Constants,
    factors: &mut [Line; LANES],
    impulses: &mut [Line; LANES],
) -> Vec4 {
    let Group { gradients, weight, .. } = *group;
    let stretch = times_transpose(edges(group, displacements), transpose(gradients));
    rotation::follow(plus_identity(stretch), rotation);
    let less_identity = rotation::matrix_less_identity(*rotation);
    let turn = plus_identity(less_identity);
    // Q − I = (F − R) Rᵀ.
    let strain = times_transpose(difference(stretch, less_identity), turn);
    let trace = strain[0][0] + strain[1][1] + strain[2][2];
    let scale = weight * constants.time_step;
    let [a, b, c] = times_transpose(gradients, turn);
    let turned = [scaled(a, scale), scaled(b, scale), scaled(c, scale)];
    // The stress is symmetric, so a row times it is it times the row.
    let pushed = times_transpose(turned, minus_stress(strain, trace, weight, constants.ratio));
    let sum = trace + Vec4::splat(3.0);
    let excess = (sum - Vec4::splat(STRETCHED)).max(Vec4::ZERO);
    let tension = excess * sum.max(Vec4::ONE).recip() * constants.tension;
    write_lines(factors, turned, tension);
    write_lines(impulses, pushed, Vec4::ZERO);
    weight * weight * energy_density(strain, trace, constants.ratio)
}

/// The columns `u_k − u_0`.
#[inline(always)]
fn edges(group: &Group, displacements: &[Vec3A]) -> M3 {
    let [first, one, two, three] = &group.nodes;
    let [a, b, c] = edge(first, one, displacements);
    let [d, e, f] = edge(first, two, displacements);
    let [g, h, i] = edge(first, three, displacements);
    [[a, d, g], [b, e, h], [c, f, i]]
}

#[inline(always)]
fn edge(from: &[u32; LANES], to: &[u32; LANES], displacements: &[Vec3A]) -> V3 {
    let mut between = [Vec4::ZERO; LANES];
    for ((between, from), to) in between.iter_mut().zip(from).zip(to) {
        *between = (displacements[*to as usize] - displacements[*from as usize]).extend(0.0);
    }
    let [x, y, z, _] = exchange(between);
    [x, y, z]
}

/// −√(μV) [Q + Qᵀ − 2I + λ/μ (tr Q − 3) I].
#[inline(always)]
fn minus_stress(q: M3, trace: Vec4, weight: Vec4, ratio: f32) -> M3 {
    let scale = -weight;
    let pressure = trace * ratio;
    let xy = (q[0][1] + q[1][0]) * scale;
    let xz = (q[0][2] + q[2][0]) * scale;
    let yz = (q[1][2] + q[2][1]) * scale;
    let xx = (q[0][0] + q[0][0] + pressure) * scale;
    let yy = (q[1][1] + q[1][1] + pressure) * scale;
    let zz = (q[2][2] + q[2][2] + pressure) * scale;
    [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
}

/// ‖Q − I‖² + λ/2μ (tr Q − 3)².
#[inline(always)]
fn energy_density(strain: M3, trace: Vec4, ratio: f32) -> Vec4 {
    let squared = dot(strain[0], strain[0]) + dot(strain[1], strain[1]) + dot(strain[2], strain[2]);
    trace * trace * (0.5 * ratio) + squared
}

/// The vectors of nodes 1, 2 and 3, and minus their sum for node 0, a line for each lane.
#[inline(always)]
fn write_lines(lines: &mut [Line; LANES], vectors: M3, last: Vec4) {
    let [a, b, c] = vectors;
    let first = [-(a[0] + b[0] + c[0]), -(a[1] + b[1] + c[1]), -(a[2] + b[2] + c[2])];
    for (k, [x, y, z]) in [first, a, b, c].into_iter().enumerate() {
        for (line, vector) in lines.iter_mut().zip(exchange([x, y, z, last])) {
            line[k] = vector;
        }
    }
}

/// The deformation gradient of an element at these displacements, in f64.
pub(crate) fn gradient(element: &Element, displacements: &[Vec3A]) -> DMat3 {
    let at = |k: usize| displacements[element.nodes[k] as usize].as_dvec3();
    DMat3::IDENTITY + DMat3::from_cols(at(1) - at(0), at(2) - at(0), at(3) - at(0)) * element.inverse
}
