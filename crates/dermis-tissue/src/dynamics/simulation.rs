//! State of a simulated body and its time step.

use std::collections::HashMap;

use dermis_math::block_sparse::ROWS_PER_TASK;
use dermis_math::pcg::{PcgReport, PcgWorkspace, invert_blocks, pcg};
use dermis_math::sum::sum;
use dermis_mesh::{Note, TetMesh};
use glam::{DVec3, Mat3A, Vec3, Vec3A};
use rayon::prelude::*;

use super::energy::{Energy, energy_of, inverted_count, kinetic_j, momentum};
use super::forces::{Force, Loads, Nodes, Pull, PulledRegion};
use super::report::{Clock, Phases, StepReport};
use crate::fem::elements::Line;
use crate::fem::{Material, MaterialError, Model, ModelError};

/// Maximum displacement relative to the size of the body.
const MAX_RELATIVE_DISPLACEMENT: f32 = 1e4;
/// Velocity error in m/s at which the linear solve stops even if the relative tolerance is not reached.
const MIN_RESIDUAL_M_PER_S: f64 = 1e-8;
/// Maximum length of a step, in seconds.
const MAX_STEP_S: f32 = 1.0;
/// Minimum length of a step, in seconds.
const MIN_STEP_S: f32 = 1e-6;

/// Options of a [`Simulation`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulationOptions {
    /// Residual of the linear solve, relative to the right-hand side of Eq. 13. Larger is faster and loses fine motion.
    pub tolerance: f64,
    /// Maximum number of iterations of the linear solve per step.
    pub max_iterations: usize,
    /// Damping rate α in 1/s: velocities decay as exp(−αt). The paper's factors of 0.98 to 0.998 per 4 ms are 5.05 to
    /// 0.5.
    pub damping_rate_per_s: f32,
    /// Makes elements beyond a mean stretch of 1.5 resist rotation and damps strongly inverted ones. Without it the
    /// matrix is exactly that of Eq. 13, and strongly deformed bodies take longer to recover.
    pub stabilization: bool,
}

/// Error of invalid positions or velocities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DriveError {
    /// The number of positions differs from the number of nodes.
    #[error("{positions} positions given for {nodes} nodes; one per node is required, in order")]
    Count {
        /// Number of positions.
        positions: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// A coordinate is not finite.
    #[error("position {index} has a coordinate that is not finite")]
    NotFinite {
        /// Index of the position.
        index: usize,
    },
}

/// Spring between a free node and its position in the posed body.
#[derive(Debug, Clone, Copy)]
struct Tether {
    node: u32,
    stiffness_n_per_m: f32,
    /// Displacements of that position at the beginning and at the end of the frame.
    from: Vec3A,
    to: Vec3A,
}

/// A simulated body.
#[derive(Debug, Clone)]
pub struct Simulation {
    model: Model,
    options: SimulationOptions,
    time_s: f64,
    /// Displacements from rest, free nodes first, then driven nodes.
    displacements: Vec<Vec3A>,
    velocities: Vec<Vec3A>,
    /// Index of the nearest driven node of each free node, counted from the first driven node; empty if there are no
    /// driven nodes.
    nearest_driven: Vec<u32>,
    factors: Vec<Line>,
    impulses: Vec<Line>,
    residual: Vec<Vec3A>,
    inverses: Vec<Mat3A>,
    sums: Vec<f64>,
    loads: Loads,
    workspace: PcgWorkspace,
    /// Free nodes that springs pull towards the posed body.
    tethers: Vec<Tether>,
    /// Time step and stabilization that the factors and impulses were computed with; `None` if nodes or material have
    /// changed since.
    updated_for: Option<(f32, bool)>,
    elastic_j: f64,
}

impl Default for SimulationOptions {
    fn default() -> Self {
        Self { tolerance: 1e-5, max_iterations: 200, damping_rate_per_s: 0.0, stabilization: true }
    }
}

impl Simulation {
    /// Creates a body at rest in the shape of `mesh`. Nodes marked `free` are simulated, other nodes that share an
    /// element with a free node are driven, and all remaining nodes are not part of the simulation.
    pub fn new(
        mesh: &TetMesh,
        free: &[bool],
        material: &Material,
        options: SimulationOptions,
    ) -> Result<Self, ModelError> {
        let model = Model::new(mesh, free, material, options.stabilization)?;
        let (nodes, free) = (model.nodes.len(), model.free_count);
        Ok(Self {
            displacements: vec![Vec3A::ZERO; nodes],
            velocities: vec![Vec3A::ZERO; nodes],
            nearest_driven: nearest_driven(&model.rest, free),
            factors: model.lines(),
            impulses: model.lines(),
            residual: vec![Vec3A::ZERO; free],
            inverses: vec![Mat3A::ZERO; free],
            sums: vec![0.0; free.div_ceil(ROWS_PER_TASK)],
            loads: Loads::new(free),
            workspace: PcgWorkspace::default(),
            tethers: Vec::new(),
            updated_for: None,
            elastic_j: 0.0,
            model,
            options,
            time_s: 0.0,
        })
    }

    /// Mesh nodes that are free, in simulation order.
    pub fn free_nodes(&self) -> &[u32] {
        &self.model.nodes[..self.model.free_count]
    }

    /// Mesh nodes that are driven, in the order in which their positions are expected.
    pub fn driven_nodes(&self) -> &[u32] {
        &self.model.nodes[self.model.free_count..]
    }

    /// Number of simulated elements.
    pub fn element_count(&self) -> usize {
        self.model.shapes.len()
    }

    /// Notes about elements of the mesh that are not simulated.
    pub fn notes(&self) -> &[Note] {
        &self.model.notes
    }

    /// Simulated time in seconds.
    pub fn time_s(&self) -> f64 {
        self.time_s
    }

    /// Resets simulated time to 0, for example after a body has settled.
    pub fn reset_time(&mut self) {
        self.time_s = 0.0;
    }

    /// Mutable access to the options; a change takes effect in the next step.
    pub fn options_mut(&mut self) -> &mut SimulationOptions {
        &mut self.options
    }

    /// Changes the material, for example while stiffness is painted. Positions and velocities are kept.
    pub fn set_material(&mut self, material: &Material) -> Result<(), MaterialError> {
        self.updated_for = None;
        self.model.set_material(material)
    }

    /// Sets the positions of all simulated nodes (one per node of the mesh) and their velocities to zero.
    pub fn set_positions(&mut self, positions: &[Vec3]) -> Result<(), DriveError> {
        let node_count = self.model.nodes.iter().max().map_or(0, |&node| node as usize + 1);
        if positions.len() < node_count {
            return Err(DriveError::Count { positions: positions.len(), nodes: node_count });
        }
        check_finite(self.model.nodes.iter().map(|&node| positions[node as usize]))?;
        let reach = self.reach();
        for ((displacement, &node), rest) in self.displacements.iter_mut().zip(&self.model.nodes).zip(&self.model.rest)
        {
            *displacement = limited(Vec3A::from(positions[node as usize]) - *rest, reach);
        }
        self.velocities.fill(Vec3A::ZERO);
        self.model.reset_rotations(&self.displacements);
        self.updated_for = None;
        Ok(())
    }

    /// Sets the velocities of all free nodes, in m/s (one per node of the mesh).
    pub fn set_velocities(&mut self, velocities: &[Vec3]) -> Result<(), DriveError> {
        let free = &self.model.nodes[..self.model.free_count];
        let node_count = free.iter().max().map_or(0, |&node| node as usize + 1);
        if velocities.len() < node_count {
            return Err(DriveError::Count { positions: velocities.len(), nodes: node_count });
        }
        check_finite(free.iter().map(|&node| velocities[node as usize]))?;
        let max_speed = self.reach();
        for (velocity, &node) in self.velocities.iter_mut().zip(free) {
            *velocity = limited(velocities[node as usize].into(), max_speed);
        }
        Ok(())
    }

    /// Attaches the free nodes among the mesh nodes `nodes` to the posed body with springs of `stiffness_n_per_m`,
    /// which [`Self::follow`] sets.
    pub fn tether(&mut self, nodes: &[u32], stiffness_n_per_m: f32) {
        let free: HashMap<u32, usize> =
            self.free_nodes().iter().enumerate().map(|(index, node)| (*node, index)).collect();
        let index = |node: &u32| free.get(node).copied();
        let zero = Vec3A::ZERO;
        let tether = |index: usize| Tether { node: index as u32, stiffness_n_per_m, from: zero, to: zero };
        self.tethers = nodes.iter().filter_map(index).map(tether).collect();
    }

    /// Makes the strain of the posed body at `positions` (one per node of the mesh) the rest shape at the end of the
    /// next frame, and its nodes the target positions of tethered nodes. With `at_once`, also at its beginning.
    ///
    /// # Panics
    /// If `positions` is shorter than the mesh.
    pub fn follow(&mut self, positions: &[Vec3], at_once: bool) {
        let reach = self.reach();
        let nodes = self.model.nodes.iter().zip(&self.model.rest);
        let place = |(&node, rest): (&u32, &Vec3A)| limited(Vec3A::from(positions[node as usize]) - *rest, reach);
        let posed: Vec<Vec3A> = nodes.map(place).collect();
        if at_once {
            // The result must not depend on earlier poses.
            self.model.elements.clear_targets();
        }
        self.model.elements.begin_targets(&posed);
        for tether in &mut self.tethers {
            tether.from = tether.to;
            tether.to = posed[tether.node as usize];
            if at_once {
                tether.from = tether.to;
            }
        }
        if at_once {
            self.model.elements.hold_targets();
            self.updated_for = None;
        }
    }

    /// Writes the positions of simulated nodes into the positions of the mesh; other entries are unchanged.
    ///
    /// # Panics
    /// If `positions` is shorter than the mesh.
    pub fn write_positions(&self, positions: &mut [Vec3]) {
        for ((rest, displacement), &node) in self.model.rest.iter().zip(&self.displacements).zip(&self.model.nodes) {
            positions[node as usize] = (*rest + *displacement).into();
        }
    }

    /// Writes the velocities of simulated nodes into `velocities`, indexed as in [`Self::write_positions`].
    ///
    /// # Panics
    /// If `velocities` is shorter than the mesh.
    pub fn write_velocities(&self, velocities: &mut [Vec3]) {
        for (velocity, &node) in self.velocities.iter().zip(&self.model.nodes) {
            velocities[node as usize] = (*velocity).into();
        }
    }

    /// Current centre of the region that `pull` acts on; `None` if the region has no free node.
    pub fn pulled_center(&self, pull: &Pull) -> Option<Vec3> {
        let region = PulledRegion::new(pull, &self.model.rest[..self.model.free_count]);
        let center = region.center(|node| self.model.rest[node] + self.displacements[node]);
        (region.total > 0.0).then(|| center.into())
    }

    /// Current kinetic and elastic energy.
    pub fn energy(&self) -> Energy {
        energy_of(&self.model, &self.displacements, &self.velocities)
    }

    /// Number of elements that are currently inverted.
    pub fn inverted_elements(&self) -> usize {
        inverted_count(&self.model, &self.displacements)
    }

    /// Momentum Σ m v of the free nodes, in kg m/s.
    pub fn momentum(&self) -> DVec3 {
        momentum(&self.model, &self.velocities)
    }

    /// Simulates one displayed frame in `substeps` equal steps. Driven nodes move linearly from their current positions
    /// to `driven`. The report covers all steps.
    pub fn advance(
        &mut self,
        frame_s: f32,
        substeps: usize,
        driven: &[Vec3],
        forces: &[Force],
    ) -> Result<StepReport, DriveError> {
        self.check_driven(driven)?;
        let substeps = substeps.max(1);
        let free = self.model.free_count;
        let starts: Vec<Vec3A> = self.displacements[free..].to_vec();
        let reach = self.reach();
        let displacement = |(rest, driven): (&Vec3A, &Vec3)| limited(Vec3A::from(*driven) - *rest, reach);
        let ends: Vec<Vec3A> = self.model.rest[free..].iter().zip(driven).map(displacement).collect();
        // The thread pool is entered once per frame: each parallel loop started outside it would wake and suspend its
        // threads.
        Ok(rayon::scope(|_| {
            let mut report = StepReport::default();
            for step in 1..=substeps {
                let fraction = step as f32 / substeps as f32;
                let target = |k: usize| if step == substeps { ends[k] } else { starts[k].lerp(ends[k], fraction) };
                report.add(self.step_to(frame_s / substeps as f32, fraction, target, forces));
            }
            report
        }))
    }

    /// Simulates one step of `time_step_s`, at the end of which driven nodes are at `driven`.
    pub fn step(&mut self, time_step_s: f32, driven: &[Vec3], forces: &[Force]) -> Result<StepReport, DriveError> {
        self.advance(time_step_s, 1, driven, forces)
    }

    fn step_to(
        &mut self,
        time_step_s: f32,
        fraction: f32,
        target: impl Fn(usize) -> Vec3A,
        forces: &[Force],
    ) -> StepReport {
        let dt = if time_step_s.is_finite() { time_step_s.clamp(MIN_STEP_S, MAX_STEP_S) } else { MAX_STEP_S };
        let mut clock = Clock::start();
        if self.updated_for != Some((dt, self.options.stabilization)) {
            self.update_elements(dt);
        }
        let before = self.elastic_j + kinetic_j(&self.model, &self.velocities);
        let mut elements = clock.lap();
        self.load(dt, forces);
        let mut right_hand_side = clock.lap();
        self.assemble(dt);
        let assembly = clock.lap();
        self.drive(dt, target);
        let norm = self.right_hand_side(dt, fraction);
        right_hand_side += clock.lap();
        let solve = self.solve(norm);
        let solving = clock.lap();
        let stopped_nodes = self.advance_positions(dt);
        self.time_s += f64::from(dt);
        right_hand_side += clock.lap();
        self.model.elements.target_fraction = fraction;
        self.update_elements(dt);
        if self.is_undriven() {
            self.limit_energy(before);
        }
        elements += clock.lap();
        let iterations = solve.iterations;
        StepReport {
            solve,
            steps: 1,
            iterations,
            stopped_nodes,
            phases: Phases { elements, assembly, right_hand_side, solve: solving },
        }
    }

    /// Updates rotations, factors and impulses of the elements for steps of `dt`.
    fn update_elements(&mut self, dt: f32) {
        let Self { model, displacements, factors, impulses, options, .. } = self;
        model.elements.stabilization = options.stabilization;
        self.elastic_j = model.elements.update(displacements, dt, factors, impulses);
        self.updated_for = Some((dt, options.stabilization));
    }

    /// Returns true if only explicit loads did work in this step: no driven node moved and no implicit force acted.
    fn is_undriven(&self) -> bool {
        self.loads.implicit.is_empty()
            && self.tethers.is_empty()
            && self.velocities[self.model.free_count..].iter().all(|v| *v == Vec3A::ZERO)
    }

    /// Scales velocities so that the energy does not exceed the energy before the step plus the work of the loads. Eq.
    /// 13 is implicit only to first order: nodes of a spinning body move along tangents, which stretches it slightly
    /// more than the step accounts for.
    fn limit_energy(&mut self, before: f64) {
        let Self { model, loads, velocities, .. } = self;
        let free = model.free_count;
        let work = sum(free, |node| f64::from(loads.impulses[node].dot(velocities[node])));
        let kinetic = kinetic_j(model, velocities);
        let excess = self.elastic_j + kinetic - (before + work);
        if excess <= 0.0 {
            return;
        }
        // The momentum of a floating body is preserved.
        let mass = f64::from(model.mean_mass) * free as f64;
        let drift = if free == model.nodes.len() { momentum(model, velocities) / mass } else { DVec3::ZERO };
        let relative = kinetic - 0.5 * mass * drift.length_squared();
        let scale = if relative > excess { ((relative - excess) / relative).sqrt() as f32 } else { 0.0 };
        let drift = drift.as_vec3a();
        velocities[..free].iter_mut().for_each(|velocity| *velocity = drift + (*velocity - drift) * scale);
    }

    fn load(&mut self, dt: f32, forces: &[Force]) {
        let nodes = Nodes {
            rest: &self.model.rest,
            displacements: &self.displacements,
            velocities: &self.velocities,
            masses: &self.model.masses,
            skin: &self.model.skin,
            mesh_indices: &self.model.nodes[..self.model.free_count],
            reach: MAX_RELATIVE_DISPLACEMENT * self.model.size,
        };
        self.loads.collect(&nodes, forces, self.time_s, dt);
    }

    /// Assembles `A = M + Δt²K′ + C` and inverts its diagonal blocks.
    fn assemble(&mut self, dt: f32) {
        let Model { matrix, pattern, masses, ratio, .. } = &mut self.model;
        // Left-hand side of Eq. 13.
        pattern.assemble(&self.factors, *ratio, &mut matrix.upper);
        matrix.set_diagonal(|row| Mat3A::from_diagonal(Vec3::splat(masses[row])));
        for &(node, stiffness) in &self.loads.implicit {
            matrix.diagonal[node as usize] += stiffness;
        }
        for tether in &self.tethers {
            let stiffness = Vec3::splat(dt * dt * tether.stiffness_n_per_m);
            matrix.diagonal[tether.node as usize] += Mat3A::from_diagonal(stiffness);
        }
        invert_blocks(&matrix.diagonal, &mut self.inverses);
    }

    fn drive(&mut self, dt: f32, target: impl Fn(usize) -> Vec3A) {
        let free = self.model.free_count;
        let driven = self.velocities[free..].iter_mut().zip(&self.displacements[free..]);
        for (k, (velocity, displacement)) in driven.enumerate() {
            *velocity = (target(k) - *displacement) / dt;
        }
    }

    /// Damps velocities relative to the nearest driven nodes, computes the residual of Eq. 13 for the damped velocities
    /// and returns the norm of the right-hand side.
    fn right_hand_side(&mut self, dt: f32, fraction: f32) -> f64 {
        let free = self.model.free_count;
        let damping = (-self.options.damping_rate_per_s.max(0.0) * dt).exp();
        let rotation = self.loads.rotation.map_or(Mat3A::IDENTITY, Mat3A::from_quat);
        if damping < 1.0 || rotation != Mat3A::IDENTITY {
            let (moving, driven) = self.velocities.split_at_mut(free);
            for (node, velocity) in moving.iter_mut().enumerate() {
                let reference = self.nearest_driven.get(node).map_or(Vec3A::ZERO, |&nearest| driven[nearest as usize]);
                *velocity = reference + (rotation * *velocity - reference) * damping;
            }
        }
        for tether in &self.tethers {
            let offset = tether.from.lerp(tether.to, fraction) - self.displacements[tether.node as usize];
            self.loads.impulses[tether.node as usize] += offset * (dt * tether.stiffness_n_per_m);
        }
        let Self { model, velocities, residual, sums, loads, impulses, .. } = self;
        let runs = residual.par_chunks_mut(ROWS_PER_TASK).zip(sums.par_iter_mut()).enumerate();
        runs.for_each(|(run, (residual, sum))| {
            let mut squared = Vec3A::ZERO;
            for (row, residual) in (run * ROWS_PER_TASK..).zip(residual) {
                let known = model.matrix.multiply_known(row, velocities);
                // Right-hand side of Eq. 13.
                let elastic = model.pattern.gather(impulses, row);
                let right = velocities[row] * model.masses[row] + elastic + loads.impulses[row] - known;
                *residual = right - model.matrix.multiply_row(row, velocities);
                squared += right * right;
            }
            *sum = f64::from(squared.element_sum());
        });
        sums.iter().sum::<f64>().sqrt()
    }

    fn solve(&mut self, norm: f64) -> PcgReport {
        let free = self.model.free_count;
        let floor = MIN_RESIDUAL_M_PER_S * f64::from(self.model.mean_mass) * (free as f64).sqrt();
        let target = (self.options.tolerance * norm).max(floor);
        let (x, r) = (&mut self.velocities[..free], &mut self.residual);
        pcg(&self.model.matrix, &self.inverses, x, r, target, self.options.max_iterations, &mut self.workspace)
    }

    /// Advances positions by x⁺ = x + Δt v⁺ and returns the number of stopped nodes.
    fn advance_positions(&mut self, dt: f32) -> usize {
        let reach = self.reach();
        let nodes = self.displacements.par_chunks_mut(ROWS_PER_TASK).zip(self.velocities.par_chunks_mut(ROWS_PER_TASK));
        nodes
            .map(|(displacements, velocities)| {
                let mut stopped = 0;
                for (displacement, velocity) in displacements.iter_mut().zip(velocities) {
                    let moved = *displacement + *velocity * dt;
                    if moved.abs().max_element() <= reach && velocity.is_finite() {
                        *displacement = moved;
                    } else {
                        *velocity = Vec3A::ZERO;
                        stopped += 1;
                    }
                }
                stopped
            })
            .sum()
    }

    fn check_driven(&self, driven: &[Vec3]) -> Result<(), DriveError> {
        let nodes = self.driven_nodes().len();
        if driven.len() != nodes {
            return Err(DriveError::Count { positions: driven.len(), nodes });
        }
        check_finite(driven.iter().copied())
    }

    fn reach(&self) -> f32 {
        MAX_RELATIVE_DISPLACEMENT * self.model.size
    }
}

/// Nearest driven node of each free node at rest. Damping is relative to its velocity, so that flesh that moves with
/// the body is not slowed down.
fn nearest_driven(rest: &[Vec3A], free: usize) -> Vec<u32> {
    let (free, driven) = rest.split_at(free);
    let nearest = |at: &Vec3A| {
        let distances = (0..).zip(driven.iter().map(|other| at.distance_squared(*other)));
        distances.min_by(|a: &(u32, f32), b| a.1.total_cmp(&b.1)).map(|(index, _)| index)
    };
    free.par_iter().with_min_len(256).filter_map(nearest).collect()
}

fn check_finite(positions: impl Iterator<Item = Vec3>) -> Result<(), DriveError> {
    match positions.enumerate().find(|(_, position)| !position.is_finite()) {
        Some((index, _)) => Err(DriveError::NotFinite { index }),
        None => Ok(()),
    }
}

/// Clamps coordinates to ±`limit` and replaces NaN by zero.
pub(super) fn limited(vector: Vec3A, limit: f32) -> Vec3A {
    Vec3A::from_array(vector.to_array().map(|x| if x.is_nan() { 0.0 } else { x.clamp(-limit, limit) }))
}
