//! The implicit step of Eq. 13 in `f64`, and its adjoint.
//!
//! For the free nodes, a step from `(x, v)` solves `r = 0` for the new velocities `v⁺`:
//!
//! ```text
//! r = M (v⁺ − v̂) + Δt Σ_q V P(F̃; R) b − Δt (M g + f) + Δt k (x + Δt v⁺ − p⁺),   F̃ = F + Δt Ḟ(v⁺),   R = polar(F)
//! P(F; R) = μ (F + R Fᵀ R − 2R) + λ (tr RᵀF − 3) R,   v̂ = u + e^(−αΔt) (v − u),   x⁺ = x + Δt v⁺
//! ```
//!
//! with the velocity u of the nearest driven node and ties of stiffness k to the posed positions `p⁺`. `r` is linear in
//! `v⁺` with the matrix `A = M + Δt²K′ + Δt²k` of Eq. 13.
//!
//! Adjoint: with `ψ = P(F̃; R) : H`, H the gradient of the adjoint velocities w, and `A w = λ_v + Δt λ_x`,
//!
//! ```text
//! λ_v ← e^(−αΔt) M w,   λ_x ← λ_x − Δt k w − Δt Σ_q V (∂ψ/∂F) b,   dL/dθ ← dL/dθ − wᵀ ∂r/∂θ
//! ∂ψ/∂F = μ (H + R Hᵀ R) + λ (R:H) R + R [q]ₓ,   (tr S·I − S) q = axl(RᵀG − GᵀR),   S = RᵀF,   G = ∂ψ/∂R
//! G = μ (H Rᵀ F̃ + F̃ Rᵀ H − 2H) + λ ((R:H) F̃ + (tr RᵀF̃ − 3) H)
//! ```
//!
//! `R [q]ₓ` contains the rotation terms. All loops have a fixed order: results do not depend on the number of threads.

use dermis_math::polar::polar_rotation;
use glam::{DMat3, DVec3};

use super::model::{FitModel, NO_SLOT};
use super::parameters::{Gradient, Parameters, Prepared};

/// Iterations of the polar decomposition; it converges quadratically.
const POLAR_ITERATIONS: usize = 12;
/// Determinant of F below which the decomposition by singular values is used.
const MIN_DETERMINANT: f64 = 0.05;
/// Smallest determinant of `tr S·I − S`, relative to its size cubed, at which rotations have derivatives.
const MIN_ROTATION_STIFFNESS: f64 = 1e-6;

/// Positions and velocities of all nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Positions in metres.
    pub positions: Vec<DVec3>,
    /// Velocities in m/s.
    pub velocities: Vec<DVec3>,
}

/// External conditions of one step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions<'a> {
    pub(super) dt: f64,
    /// Factor on velocities relative to the driven nodes, e^(−αΔt).
    pub(super) damping: f64,
    /// Positions of the driven nodes at the end of the step.
    pub(super) driven: &'a [DVec3],
    /// Positions that free nodes are tied to at the end of the step; empty without ties.
    pub(super) ties: &'a [DVec3],
    pub(super) gravity: DVec3,
    /// Forces on nodes, in newtons.
    pub(super) loads: &'a [(u32, DVec3)],
}

/// Options of the linear solves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolveOptions {
    /// Residual relative to that of the initial guess. Larger is faster and makes gradients less exact.
    pub tolerance: f64,
    /// Maximum number of iterations.
    pub max_iterations: usize,
}

impl Default for SolveOptions {
    fn default() -> Self {
        Self { tolerance: 1e-7, max_iterations: 400 }
    }
}

/// Buffers of steps, reused.
#[derive(Debug, Clone)]
pub(super) struct Workspace {
    rotations: Vec<DMat3>,
    blocks: Vec<DMat3>,
    inverses: Vec<DMat3>,
    residual: Vec<DVec3>,
    solution: Vec<DVec3>,
    direction: Vec<DVec3>,
    product: Vec<DVec3>,
    preconditioned: Vec<DVec3>,
}

impl Workspace {
    pub(super) fn new(model: &FitModel, prepared: &Prepared) -> Self {
        let vectors = || vec![DVec3::ZERO; model.free_count];
        Self {
            rotations: vec![DMat3::IDENTITY; prepared.points.len()],
            blocks: vec![DMat3::ZERO; model.columns.len()],
            inverses: vec![DMat3::ZERO; model.free_count],
            residual: vectors(),
            solution: vectors(),
            direction: vectors(),
            product: vectors(),
            preconditioned: vectors(),
        }
    }
}

/// Advances `state` by one step.
pub(super) fn step(
    model: &FitModel,
    prepared: &Prepared,
    state: &State,
    at: &Conditions<'_>,
    solve: &SolveOptions,
    workspace: &mut Workspace,
) -> State {
    let free = model.free_count;
    let mut velocities = guess(model, state, at);
    assemble(model, prepared, &state.positions, at.dt, workspace);
    workspace.residual.fill(DVec3::ZERO);
    let moved = |node: usize, velocities: &[DVec3]| state.positions[node] + velocities[node] * at.dt;
    for (index, point) in prepared.points.iter().enumerate() {
        let (element, derivatives) = (index / prepared.points_per_element, point.derivatives(model));
        let nodes = model.nodes_of(element);
        let mut shape = DMat3::ZERO;
        for (&node, derivative) in nodes.iter().zip(derivatives) {
            shape += outer(moved(node as usize, &velocities), *derivative);
        }
        let stress = stress(shape * point.inverse, workspace.rotations[index], point.mu, point.lambda);
        // Δt V P b, with b = D_m⁻ᵀ N'.
        let force = stress * point.inverse.transpose() * (at.dt * point.volume);
        for (&node, derivative) in nodes.iter().zip(derivatives) {
            if (node as usize) < free {
                workspace.residual[node as usize] += force * *derivative;
            }
        }
    }
    for node in 0..free {
        let residual = &mut workspace.residual[node];
        *residual -= at.gravity * (at.dt * prepared.masses[node]);
        if let Some(tie) = at.ties.get(node) {
            *residual += (moved(node, &velocities) - *tie) * (at.dt * prepared.ties[node]);
        }
    }
    for &(node, force) in at.loads {
        if (node as usize) < free {
            workspace.residual[node as usize] -= force * at.dt;
        }
    }
    workspace.residual.iter_mut().for_each(|residual| *residual = -*residual);
    conjugate_gradients(model, workspace, solve);
    velocities.iter_mut().zip(&workspace.solution).for_each(|(velocity, change)| *velocity += *change);
    let positions = (0..velocities.len()).map(|node| moved(node, &velocities)).collect();
    State { positions, velocities }
}

/// v̂ for the free nodes, and the velocities of the driven nodes.
fn guess(model: &FitModel, state: &State, at: &Conditions<'_>) -> Vec<DVec3> {
    let free = model.free_count;
    let mut velocities = state.velocities.clone();
    for (k, target) in at.driven.iter().enumerate() {
        velocities[free + k] = (*target - state.positions[free + k]) / at.dt;
    }
    for node in 0..free {
        let reference = model.nearest_driven.get(node).map_or(DVec3::ZERO, |&k| velocities[free + k as usize]);
        velocities[node] = reference + (state.velocities[node] - reference) * at.damping;
    }
    velocities
}

/// Computes the rotations at `positions` and assembles `A = M + Δt²K′ + Δt²k`.
fn assemble(model: &FitModel, prepared: &Prepared, positions: &[DVec3], dt: f64, workspace: &mut Workspace) {
    let Workspace { rotations, blocks, inverses, .. } = workspace;
    blocks.fill(DMat3::ZERO);
    let (count, per_element) = (model.nodes_per_element, prepared.points_per_element);
    let mut gradients = vec![DVec3::ZERO; count];
    for (index, (point, rotation)) in prepared.points.iter().zip(rotations).enumerate() {
        let element = index / per_element;
        let (nodes, derivatives) = (model.nodes_of(element), point.derivatives(model));
        let mut shape = DMat3::ZERO;
        for (&node, derivative) in nodes.iter().zip(derivatives) {
            shape += outer(positions[node as usize], *derivative);
        }
        *rotation = polar(shape * point.inverse);
        let to_world = *rotation * point.inverse.transpose();
        gradients.iter_mut().zip(derivatives).for_each(|(g, derivative)| *g = to_world * *derivative);
        let scale = dt * dt * point.volume;
        let (mu, lambda) = (scale * point.mu, scale * point.lambda);
        let slots = &model.slots[element * count * count..][..count * count];
        for i in 0..count {
            for j in i..count {
                let slot = slots[i * count + j];
                if slot == NO_SLOT {
                    continue;
                }
                let (a, b) = (gradients[i], gradients[j]);
                // K_ij = V [λ g_i g_jᵀ + μ g_j g_iᵀ + μ (g_i·g_j) I].
                let mut block = outer(a * lambda, b) + outer(b * mu, a);
                let diagonal = mu * a.dot(b);
                block.x_axis.x += diagonal;
                block.y_axis.y += diagonal;
                block.z_axis.z += diagonal;
                blocks[slot as usize] += block;
                if i != j {
                    blocks[slots[j * count + i] as usize] += block.transpose();
                }
            }
        }
    }
    for (row, inverse) in inverses.iter_mut().enumerate() {
        let range = model.starts[row] as usize..model.starts[row + 1] as usize;
        let at = range.start + model.columns[range].binary_search(&(row as u32)).expect("rows have a diagonal");
        let mass = prepared.masses[row] + dt * dt * prepared.ties[row];
        blocks[at] += DMat3::from_diagonal(DVec3::splat(mass));
        *inverse = blocks[at].inverse();
    }
}

/// Solves A·solution = residual from zero, preconditioned by the inverse diagonal blocks.
fn conjugate_gradients(model: &FitModel, workspace: &mut Workspace, options: &SolveOptions) {
    let Workspace { blocks, inverses, residual, solution, direction, product, preconditioned, .. } = workspace;
    solution.fill(DVec3::ZERO);
    let squared = |vectors: &[DVec3]| vectors.iter().map(|v| v.length_squared()).sum::<f64>();
    let dot = |a: &[DVec3], b: &[DVec3]| a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum::<f64>();
    let target = squared(residual) * options.tolerance * options.tolerance;
    if target == 0.0 {
        return;
    }
    for ((z, r), inverse) in preconditioned.iter_mut().zip(&*residual).zip(&*inverses) {
        *z = *inverse * *r;
    }
    direction.copy_from_slice(preconditioned);
    let mut energy = dot(residual, preconditioned);
    for _ in 0..options.max_iterations {
        for (row, product) in product.iter_mut().enumerate() {
            let range = model.starts[row] as usize..model.starts[row + 1] as usize;
            let mut sum = DVec3::ZERO;
            for (block, &column) in blocks[range.clone()].iter().zip(&model.columns[range]) {
                sum += *block * direction[column as usize];
            }
            *product = sum;
        }
        let curvature = dot(direction, product);
        if curvature.is_nan() || curvature <= 0.0 {
            break;
        }
        let alpha = energy / curvature;
        for node in 0..model.free_count {
            solution[node] += direction[node] * alpha;
            residual[node] -= product[node] * alpha;
            preconditioned[node] = inverses[node] * residual[node];
        }
        if squared(residual) <= target {
            break;
        }
        let next = dot(residual, preconditioned);
        let beta = next / energy;
        energy = next;
        direction.iter_mut().zip(&*preconditioned).for_each(|(p, z)| *p = *z + *p * beta);
    }
}

/// Derivatives of the loss with respect to positions and velocities of the free nodes.
#[derive(Debug, Clone)]
pub(super) struct Adjoint {
    pub(super) positions: Vec<DVec3>,
    pub(super) velocities: Vec<DVec3>,
}

/// Propagates the derivatives at the end of a step back to its start, and adds those with respect to the parameters.
#[allow(clippy::too_many_arguments, reason = "the step's arguments and those of the adjoint")]
pub(super) fn step_back(
    model: &FitModel,
    parameters: &Parameters,
    prepared: &Prepared,
    state: &State,
    after: &State,
    at: &Conditions<'_>,
    damping_is_parameter: bool,
    solve: &SolveOptions,
    workspace: &mut Workspace,
    adjoint: &mut Adjoint,
    gradient: &mut Gradient,
) {
    let free = model.free_count;
    assemble(model, prepared, &state.positions, at.dt, workspace);
    for node in 0..free {
        workspace.residual[node] = adjoint.velocities[node] + adjoint.positions[node] * at.dt;
    }
    conjugate_gradients(model, workspace, solve);
    let w = &workspace.solution;
    let of = |node: u32| w.get(node as usize).copied().unwrap_or(DVec3::ZERO);
    for (index, point) in prepared.points.iter().enumerate() {
        let element = index / prepared.points_per_element;
        let (nodes, derivatives) = (model.nodes_of(element), point.derivatives(model));
        let (mut now, mut end, mut adjoints) = (DMat3::ZERO, DMat3::ZERO, DMat3::ZERO);
        for (&node, derivative) in nodes.iter().zip(derivatives) {
            now += outer(state.positions[node as usize], *derivative);
            end += outer(after.positions[node as usize], *derivative);
            adjoints += outer(of(node), *derivative);
        }
        let (f, ahead, h) = (now * point.inverse, end * point.inverse, adjoints * point.inverse);
        let back = PointAdjoint::new(f, ahead, h, workspace.rotations[index], point.mu, point.lambda);
        let scale = at.dt * point.volume;
        let force = (back.direct + back.through_rotation) * point.inverse.transpose() * scale;
        for (&node, derivative) in nodes.iter().zip(derivatives) {
            if (node as usize) < free {
                adjoint.positions[node as usize] -= force * *derivative;
            }
        }
        let psi = back.mu_part * point.mu + back.lambda_part * point.lambda;
        let (dmu, dlambda) = parameters.lame_derivatives(point.young_modulus);
        gradient.elements[element] -= scale * psi / point.young_modulus;
        gradient.poisson_ratio -= scale * (back.mu_part * dmu + back.lambda_part * dlambda);
        // Rest shape: D_m⁻¹ changes by −D_m⁻¹ dD_m D_m⁻¹, V by V tr(D_m⁻¹ dD_m).
        let inverse_t = point.inverse.transpose();
        let of_shape =
            ahead.transpose() * back.direct + f.transpose() * back.through_rotation + h.transpose() * back.stress
                - DMat3::from_diagonal(DVec3::splat(psi));
        let mut of_rest = of_shape * inverse_t * scale;
        // Masses are proportional to volumes.
        let mut inertia = 0.0;
        for (&node, fraction) in nodes.iter().zip(&model.mass_fractions) {
            if (node as usize) < free {
                let change = after.velocities[node as usize] - damped(model, state, after, node as usize, at.damping);
                inertia += fraction * w[node as usize].dot(change - at.gravity * at.dt);
            }
        }
        of_rest -= inverse_t * (inertia * parameters.density_kg_per_m3 * point.volume);
        for (&node, derivative) in nodes.iter().zip(derivatives) {
            gradient.rest[node as usize] += of_rest * *derivative;
        }
    }
    for (node, w) in w.iter().enumerate() {
        let mass = prepared.masses[node];
        if let Some(tie) = at.ties.get(node) {
            gradient.ties[node] -= at.dt * w.dot(after.positions[node] - *tie);
            adjoint.positions[node] -= *w * (at.dt * prepared.ties[node]);
        }
        if damping_is_parameter {
            let relative = state.velocities[node] - reference(model, after, node);
            gradient.damping_rate_per_s -= at.dt * at.damping * mass * w.dot(relative);
        }
        adjoint.velocities[node] = *w * (at.damping * mass);
    }
}

/// Velocity during the step of the driven node that the damping of a free node refers to.
fn reference(model: &FitModel, after: &State, node: usize) -> DVec3 {
    model.nearest_driven.get(node).map_or(DVec3::ZERO, |&k| after.velocities[model.free_count + k as usize])
}

/// v̂ of a free node.
fn damped(model: &FitModel, state: &State, after: &State, node: usize, damping: f64) -> DVec3 {
    let reference = reference(model, after, node);
    reference + (state.velocities[node] - reference) * damping
}

/// Derivatives of ψ = P(F̃; R(F)) : H; see the [module](self).
struct PointAdjoint {
    /// ∂ψ/∂F̃ with R constant.
    direct: DMat3,
    /// R [q]ₓ.
    through_rotation: DMat3,
    /// ∂ψ/∂H = P.
    stress: DMat3,
    /// ψ = μ · `mu_part` + λ · `lambda_part`.
    mu_part: f64,
    lambda_part: f64,
}

impl PointAdjoint {
    fn new(f: DMat3, ahead: DMat3, h: DMat3, r: DMat3, mu: f64, lambda: f64) -> Self {
        let r_t = r.transpose();
        let (r_h, trace) = (double_dot(r, h), double_dot(r, ahead) - 3.0);
        let direct = (h + r * h.transpose() * r) * mu + r * (lambda * r_h);
        let of_rotation = (h * r_t * ahead + ahead * r_t * h - h * 2.0) * mu + (ahead * r_h + h * trace) * lambda;
        let s = r_t * f;
        let symmetric = (s + s.transpose()) * 0.5;
        let size = symmetric.x_axis.x + symmetric.y_axis.y + symmetric.z_axis.z;
        let stiffness = DMat3::from_diagonal(DVec3::splat(size)) - symmetric;
        let q = if stiffness.determinant() > MIN_ROTATION_STIFFNESS * size.abs().powi(3) {
            stiffness.inverse() * axial(r_t * of_rotation)
        } else {
            DVec3::ZERO
        };
        let mu_stress = ahead + r * ahead.transpose() * r - r * 2.0;
        Self {
            direct,
            through_rotation: r * cross_matrix(q),
            stress: mu_stress * mu + r * (lambda * trace),
            mu_part: double_dot(mu_stress, h),
            lambda_part: trace * r_h,
        }
    }
}

/// `P(F; R) = μ (F + R Fᵀ R − 2R) + λ (tr RᵀF − 3) R`.
fn stress(f: DMat3, r: DMat3, mu: f64, lambda: f64) -> DMat3 {
    (f + r * f.transpose() * r - r * 2.0) * mu + r * (lambda * (double_dot(r, f) - 3.0))
}

/// Rotation of the polar decomposition: R ← (R + R⁻ᵀ)/2 (Higham 1986), or by singular values if F is almost flat or
/// inverted.
pub(super) fn polar(f: DMat3) -> DMat3 {
    if f.determinant() < MIN_DETERMINANT {
        return polar_rotation(f);
    }
    let mut r = f;
    for _ in 0..POLAR_ITERATIONS {
        let next = (r + r.inverse().transpose()) * 0.5;
        let change = next - r;
        r = next;
        if double_dot(change, change) < 1e-28 {
            break;
        }
    }
    r
}

pub(super) fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

fn double_dot(a: DMat3, b: DMat3) -> f64 {
    a.x_axis.dot(b.x_axis) + a.y_axis.dot(b.y_axis) + a.z_axis.dot(b.z_axis)
}

/// Axial vector of M − Mᵀ.
fn axial(m: DMat3) -> DVec3 {
    DVec3::new(m.y_axis.z - m.z_axis.y, m.z_axis.x - m.x_axis.z, m.x_axis.y - m.y_axis.x)
}

/// Matrix [q]ₓ of the cross product with q.
fn cross_matrix(q: DVec3) -> DMat3 {
    DMat3::from_cols(DVec3::new(0.0, q.z, -q.y), DVec3::new(-q.z, 0.0, q.x), DVec3::new(q.y, -q.x, 0.0))
}
