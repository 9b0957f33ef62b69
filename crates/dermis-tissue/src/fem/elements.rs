//! Corotational tetrahedra: rotation, force and stiffness factors of every element (Kim et al. 2017, Eq. 12–13; Müller &
//! Gross 2004).
//!
//! With the rotation R of an element (`R_e` in the paper), rest gradients `b_i` of its shape functions and `g_i = R b_i`,
//! force and stiffness are `f_i = −V [μ(Q + Qᵀ − 2I) + λ(tr Q − 3)I] g_i`, `Q = F Rᵀ`, and
//! `K_ij = V [λ g_i g_jᵀ + μ g_j g_iᵀ + μ (g_i·g_j) I]`, which needs no 12×12 products. Each element stores
//! `h_i = Δt √(μV) g_i`; `Δt²K_ij` is a product of these factors and the uniform ratio λ/μ.
//!
//! Eq. 13 omits the resistance of a stretched element to rotation, so that bodies stretched to a multiple of their size
//! swing back slowly. `stabilization` adds it beyond a mean stretch of 1.5, averaged over directions: the stiffness of
//! the skew part of Q, relative to μ, is τ = (1 + 3λ/2μ)(tr Q − 4.5)/tr Q ≥ 0. The exact Hessian has 3 in place of 4.5.
//!
//! `stabilization` also damps elements that are far inverted: β times their stiffness acts on velocities, which prevents
//! oscillation while they recover. Without stabilization, the matrix is exactly that of Eq. 13.
//!
//! The state is the displacement from rest, and Q − I is computed from F − I and R − I, so that small deflections keep
//! full `f32` precision. Four elements are processed at once; each writes one cache line of factors and one of
//! impulses.

#![allow(clippy::inline_always, reason = "parts of one kernel")]
#![allow(clippy::large_types_passed_by_value, reason = "all of it is inlined and lives in registers")]

use std::array::from_fn;

use glam::{DMat3, DQuat, Vec3A, Vec4};
use rayon::prelude::*;

use super::lanes::{
    LANES, M3, V3, determinant, difference, dot, exchange, plus_identity, scaled, times_transpose, transpose,
};
use super::rotation;
use super::targets::Target;

/// tr Q above which an element counts as stretched; below it, the matrix is that of Eq. 13.
const STRETCHED_TRACE: f32 = 4.5;
/// Volume ratio to rest below which an element is damped. Elements of a body that bends under its own weight stay above.
const INVERTED_VOLUME_RATIO: f32 = -0.5;
/// β in seconds. A body of 2 kPa was shaken until elements inverted, five times: the slowest recovery, with all inverted
/// elements damped, took 1 s, compared with 1.75 s without damping, 1.25 s with β = 0.01 and 1.5 s with β = 0.3.
const INVERSION_DAMPING_S: f32 = 0.05;
/// Groups of four elements per parallel task.
const GROUPS_PER_TASK: usize = 128;

/// The elements in groups of four.
#[derive(Debug, Clone)]
pub(crate) struct Elements {
    groups: Vec<Group>,
    rotations: Vec<Rotations>,
    /// Strain of the posed body, per group; empty if the rest shape is that of the template.
    targets: Vec<Target>,
    /// Fraction of the current frame at which the targets are evaluated.
    pub(crate) target_fraction: f32,
    /// Elastic energy of each task.
    energies: Vec<f64>,
    count: usize,
    /// λ/μ.
    ratio: f32,
    /// Makes stretched elements resist rotation and damps inverted ones; otherwise Eq. 13 is used as printed.
    pub(crate) stabilization: bool,
}

/// Four vectors of an element, one per node. The fourth component of a factor is τ.
pub(crate) type Line = [Vec4; 4];

/// Rotations of four elements as quaternions, one component per entry.
type Rotations = [Vec4; LANES];

/// Constant data of four elements.
#[derive(Debug, Clone)]
struct Group {
    nodes: [[u32; LANES]; 4],
    /// `b_1`, `b_2` and `b_3`; `b_0` is minus their sum.
    gradients: M3,
    /// √(μV).
    weight: Vec4,
}

/// An element of the rest shape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    pub(crate) nodes: [u32; 4],
    /// Inverse of the matrix with columns `X_k − X_0`.
    pub(crate) inverse: DMat3,
    pub(crate) volume: f64,
}

impl Elements {
    /// Creates the elements with one shear modulus each.
    pub(crate) fn new(elements: &[Element], shear_moduli: &[f32], ratio: f32, stabilization: bool) -> Self {
        let mut result = Self {
            groups: elements.chunks(LANES).map(Group::new).collect(),
            rotations: vec![[Vec4::ZERO, Vec4::ZERO, Vec4::ZERO, Vec4::ONE]; elements.len().div_ceil(LANES)],
            targets: Vec::new(),
            target_fraction: 1.0,
            energies: vec![0.0; elements.len().div_ceil(LANES * GROUPS_PER_TASK)],
            count: elements.len(),
            ratio,
            stabilization,
        };
        result.set_material(elements, shear_moduli, ratio);
        result
    }

    /// Number of lines that [`Self::update`] writes. Lines beyond the last element are padding.
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

    /// Begins a frame at whose end the strain of the posed body, with the displacements `posed`, is the rest shape.
    pub(crate) fn begin_targets(&mut self, posed: &[Vec3A]) {
        let is_first = self.targets.is_empty();
        self.targets.resize(self.groups.len(), Target::default());
        let groups = self.groups.par_chunks(GROUPS_PER_TASK).zip(self.targets.par_chunks_mut(GROUPS_PER_TASK));
        groups.for_each(|(groups, targets)| {
            for (group, target) in groups.iter().zip(targets) {
                target.begin(times_transpose(edges(group, posed), transpose(group.gradients)));
            }
        });
        self.target_fraction = 0.0;
        if is_first {
            self.hold_targets();
        }
    }

    /// Makes the rest shape that of the template.
    pub(crate) fn clear_targets(&mut self) {
        self.targets.clear();
    }

    /// Makes the strain at the end of the frame the rest shape immediately.
    pub(crate) fn hold_targets(&mut self) {
        self.targets.iter_mut().for_each(Target::hold);
    }

    /// Updates the rotations to the displacements, writes the factors `h_i` and impulses `Δt f_i` of every element and
    /// returns the elastic energy.
    pub(crate) fn update(
        &mut self,
        displacements: &[Vec3A],
        time_step: f32,
        factors: &mut [Line],
        impulses: &mut [Line],
    ) -> f64 {
        let lines = LANES * GROUPS_PER_TASK;
        let constants = Constants::new(time_step, self.ratio, self.stabilization);
        let (targets, fraction) = (&self.targets, self.target_fraction);
        let groups = self.groups.par_chunks(GROUPS_PER_TASK).zip(self.rotations.par_chunks_mut(GROUPS_PER_TASK));
        let outs = factors.par_chunks_mut(lines).zip(impulses.par_chunks_mut(lines)).zip(&mut self.energies);
        groups.zip(outs).enumerate().for_each(|(task, ((groups, rotations), ((factors, impulses), energy)))| {
            let targets = targets.get(task * GROUPS_PER_TASK..).unwrap_or_default();
            let rest = Rest { targets, fraction };
            *energy = update_groups(groups, rotations, displacements, &constants, rest, factors, impulses);
        });
        self.energies.iter().sum()
    }
}

impl Group {
    fn new(elements: &[Element]) -> Self {
        // Padding lanes repeat the last element with zero weight.
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
    /// 1 + 3λ/2μ with stabilization, otherwise 0.
    tension: f32,
    /// Scale of the factors of inverted elements: √((Δt + β)/Δt) with stabilization, otherwise 1.
    inverted_scale: f32,
}

impl Constants {
    fn new(time_step: f32, ratio: f32, stabilization: bool) -> Self {
        let (tension, inverted_scale) = if stabilization {
            (1.0 + 1.5 * ratio, (1.0 + INVERSION_DAMPING_S / time_step).sqrt())
        } else {
            (0.0, 1.0)
        };
        Self { time_step, ratio, tension, inverted_scale }
    }
}

/// Targets of the groups of a task; none if the rest shape is that of the template.
#[derive(Clone, Copy)]
struct Rest<'a> {
    targets: &'a [Target],
    fraction: f32,
}

fn update_groups(
    groups: &[Group],
    rotations: &mut [Rotations],
    displacements: &[Vec3A],
    constants: &Constants,
    rest: Rest<'_>,
    factors: &mut [Line],
    impulses: &mut [Line],
) -> f64 {
    let mut energy = Vec4::ZERO;
    let lines = factors.as_chunks_mut::<LANES>().0.iter_mut().zip(impulses.as_chunks_mut::<LANES>().0);
    for (index, ((group, rotations), (factors, impulses))) in groups.iter().zip(rotations).zip(lines).enumerate() {
        let target = rest.targets.get(index).map(|target| (target, rest.fraction));
        energy += update_group(group, rotations, displacements, constants, target, factors, impulses);
    }
    energy.as_dvec4().element_sum()
}

#[inline(always)]
fn update_group(
    group: &Group,
    rotation: &mut Rotations,
    displacements: &[Vec3A],
    constants: &Constants,
    target: Option<(&Target, f32)>,
    factors: &mut [Line; LANES],
    impulses: &mut [Line; LANES],
) -> Vec4 {
    let Group { gradients, weight, .. } = *group;
    // F − I.
    let displacement_gradient = times_transpose(edges(group, displacements), transpose(gradients));
    rotation::update_rotation(plus_identity(displacement_gradient), rotation);
    let less_identity = rotation::matrix_less_identity(*rotation);
    let rotation_matrix = plus_identity(less_identity);
    // Q − I = (F − R) Rᵀ.
    let strain = times_transpose(difference(displacement_gradient, less_identity), rotation_matrix);
    let trace_q = strain[0][0] + strain[1][1] + strain[2][2] + Vec4::splat(3.0);
    // Q − I − R E Rᵀ.
    let strain = match target {
        Some((target, fraction)) => difference(strain, target.rotated(fraction, rotation_matrix)),
        None => strain,
    };
    let trace = strain[0][0] + strain[1][1] + strain[2][2];
    let scale = weight * constants.time_step;
    // h_i = Δt √(μV) R b_i.
    let [a, b, c] = times_transpose(gradients, rotation_matrix);
    let rotated = [scaled(a, scale), scaled(b, scale), scaled(c, scale)];
    // Δt f_i, the corotational force of Eq. 12. The stress is symmetric, so that each row is multiplied by its transpose.
    let forces = times_transpose(rotated, minus_stress(strain, trace, weight, constants.ratio));
    // τ = (1 + 3λ/2μ)(tr Q − 4.5)/tr Q.
    let excess = (trace_q - Vec4::splat(STRETCHED_TRACE)).max(Vec4::ZERO);
    let tension = excess * trace_q.max(Vec4::ONE).recip() * constants.tension;
    let inverted = determinant(plus_identity(displacement_gradient)).cmplt(Vec4::splat(INVERTED_VOLUME_RATIO));
    let damping = Vec4::select(inverted, Vec4::splat(constants.inverted_scale), Vec4::ONE);
    write_lines(factors, rotated.map(|vector| scaled(vector, damping)), tension);
    write_lines(impulses, forces, Vec4::ZERO);
    weight * weight * energy_density(strain, trace, constants.ratio)
}

/// Matrix with columns `u_k − u_0`.
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

/// Writes the vectors of nodes 1, 2 and 3, and minus their sum for node 0, one line per lane.
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

/// Deformation gradient F of an element, in `f64`.
pub(crate) fn deformation_gradient(element: &Element, displacements: &[Vec3A]) -> DMat3 {
    let at = |k: usize| displacements[element.nodes[k] as usize].as_dvec3();
    DMat3::IDENTITY + DMat3::from_cols(at(1) - at(0), at(2) - at(0), at(3) - at(0)) * element.inverse
}
