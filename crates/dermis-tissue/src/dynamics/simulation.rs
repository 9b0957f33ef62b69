//! The state of a simulated body and its step.

use std::time::{Duration, Instant};

use dermis_math::block_sparse::ROWS_PER_TASK;
use dermis_math::pcg::{PcgReport, PcgWorkspace, invert_blocks, pcg};
use dermis_math::sum::sum;
use dermis_mesh::{Note, TetMesh};
use glam::{DVec3, Mat3A, Vec3, Vec3A};
use rayon::prelude::*;

use super::energy::{Energy, energy_of, inverted_count, kinetic_j, momentum};
use super::forces::{Force, Held, Loads, Nodes, Pull};
use crate::fem::elements::Line;
use crate::fem::{Material, MaterialError, Model, ModelError};

/// Displacements are kept below this many times the body's size.
const REACH: f32 = 1e4;
/// Residuals that would move nodes slower than this, in metres per second, are not worked on.
const SLOWEST_M_PER_S: f64 = 1e-8;
/// Steps are at most this long, in seconds.
const LONGEST_STEP_S: f32 = 1.0;
const SHORTEST_STEP_S: f32 = 1e-6;

/// Options of a [`Simulation`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulationOptions {
    /// Residual of the linear solve over the right-hand side of Eq. 13. Larger is faster and loses fine motion.
    pub tolerance: f64,
    /// Bound on iterations of the linear solve per step.
    pub max_iterations: usize,
    /// Rate α in 1/s at which velocities decay as exp(−αt); the paper's 0.98 to 0.998 per 4 ms are 5.05 to 0.5.
    pub damping_rate_per_s: f32,
    /// Whether elements beyond a mean stretch of 1.5 resist being turned out of their rotation, and those far
    /// inside out are braked. Without it the matrix is Eq. 13's to the letter, and bodies that were torn about take longer to come back.
    pub tension: bool,
}

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepReport {
    /// The linear solve; of several steps that of most iterations.
    pub solve: PcgReport,
    /// Steps made.
    pub steps: usize,
    /// Iterations of all their solves.
    pub iterations: usize,
    /// Nodes that would have left the range of single precision and were stopped.
    pub stopped_nodes: usize,
    /// Where the time went.
    pub phases: Phases,
}

/// Times of the parts of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phases {
    /// Rotations and forces of elements.
    pub elements: Duration,
    /// The matrix and its preconditioner.
    pub assembly: Duration,
    /// Everything else around the solve: loads, right-hand side, moving.
    pub right_hand_side: Duration,
    /// Conjugate gradients.
    pub solve: Duration,
}

/// Positions that cannot drive a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DriveError {
    /// There is not one position for each node.
    #[error("{positions} positions for {nodes} nodes: there must be one for each, in order")]
    Count {
        /// The number of positions.
        positions: usize,
        /// The number of nodes.
        nodes: usize,
    },
    /// A coordinate is not finite.
    #[error("position {index} has a coordinate that is not finite")]
    NotFinite {
        /// Which.
        index: usize,
    },
}

/// A body in motion.
#[derive(Debug, Clone)]
pub struct Simulation {
    model: Model,
    options: SimulationOptions,
    time_s: f64,
    /// From rest, free nodes first, then driven ones.
    displacements: Vec<Vec3A>,
    velocities: Vec<Vec3A>,
    /// For each free node the nearest driven one, counted from the first driven; empty where nothing is driven.
    companions: Vec<u32>,
    factors: Vec<Line>,
    impulses: Vec<Line>,
    residual: Vec<Vec3A>,
    inverses: Vec<Mat3A>,
    sums: Vec<f64>,
    loads: Loads,
    workspace: PcgWorkspace,
    /// The time step that factors and impulses are for, and whether with tension; `None` where nodes or material have
    /// changed since.
    followed: Option<(f32, bool)>,
    elastic_j: f64,
}

impl Default for SimulationOptions {
    fn default() -> Self {
        Self { tolerance: 1e-5, max_iterations: 200, damping_rate_per_s: 0.0, tension: true }
    }
}

impl Simulation {
    /// A body at rest in the shape of `mesh`, of which the nodes marked `free` move. Fixed nodes that share an element
    /// with a free one are driven; all others do not exist in the simulation.
    pub fn new(
        mesh: &TetMesh,
        free: &[bool],
        material: &Material,
        options: SimulationOptions,
    ) -> Result<Self, ModelError> {
        let model = Model::new(mesh, free, material, options.tension)?;
        let (nodes, free) = (model.nodes.len(), model.free_count);
        Ok(Self {
            displacements: vec![Vec3A::ZERO; nodes],
            velocities: vec![Vec3A::ZERO; nodes],
            companions: companions(&model.rest, free),
            factors: model.lines(),
            impulses: model.lines(),
            residual: vec![Vec3A::ZERO; free],
            inverses: vec![Mat3A::ZERO; free],
            sums: vec![0.0; free.div_ceil(ROWS_PER_TASK)],
            loads: Loads::new(free),
            workspace: PcgWorkspace::default(),
            followed: None,
            elastic_j: 0.0,
            model,
            options,
            time_s: 0.0,
        })
    }

    /// The mesh's nodes that move freely, in the simulator's order.
    pub fn free_nodes(&self) -> &[u32] {
        &self.model.nodes[..self.model.free_count]
    }

    /// The mesh's nodes that must be driven, in the order in which their positions are expected.
    pub fn driven_nodes(&self) -> &[u32] {
        &self.model.nodes[self.model.free_count..]
    }

    /// The number of simulated elements.
    pub fn element_count(&self) -> usize {
        self.model.shapes.len()
    }

    /// What was left out of the mesh.
    pub fn notes(&self) -> &[Note] {
        &self.model.notes
    }

    /// Simulated time in seconds.
    pub fn time_s(&self) -> f64 {
        self.time_s
    }

    /// Lets simulated time begin anew at 0, as after a body has settled.
    pub fn restart_clock(&mut self) {
        self.time_s = 0.0;
    }

    /// The options; a change is felt in the next step.
    pub fn options_mut(&mut self) -> &mut SimulationOptions {
        &mut self.options
    }

    /// Changes the material, as when stiffness is painted; motion goes on.
    pub fn set_material(&mut self, material: &Material) -> Result<(), MaterialError> {
        self.followed = None;
        self.model.set_material(material)
    }

    /// Puts every simulated node where `positions` has it (one for each node of the mesh), at rest.
    pub fn place(&mut self, positions: &[Vec3]) -> Result<(), DriveError> {
        let largest = self.model.nodes.iter().max().map_or(0, |&node| node as usize + 1);
        if positions.len() < largest {
            return Err(DriveError::Count { positions: positions.len(), nodes: largest });
        }
        check_finite(self.model.nodes.iter().map(|&node| positions[node as usize]))?;
        let reach = self.reach();
        for ((displacement, &node), rest) in self.displacements.iter_mut().zip(&self.model.nodes).zip(&self.model.rest)
        {
            *displacement = limited(Vec3A::from(positions[node as usize]) - *rest, reach);
        }
        self.velocities.fill(Vec3A::ZERO);
        self.model.reset_rotations(&self.displacements);
        self.followed = None;
        Ok(())
    }

    /// Gives every free node a velocity in m/s (one for each node of the mesh).
    pub fn set_velocities(&mut self, velocities: &[Vec3]) -> Result<(), DriveError> {
        let free = &self.model.nodes[..self.model.free_count];
        let largest = free.iter().max().map_or(0, |&node| node as usize + 1);
        if velocities.len() < largest {
            return Err(DriveError::Count { positions: velocities.len(), nodes: largest });
        }
        check_finite(free.iter().map(|&node| velocities[node as usize]))?;
        let fastest = self.reach();
        for (velocity, &node) in self.velocities.iter_mut().zip(free) {
            *velocity = limited(velocities[node as usize].into(), fastest);
        }
        Ok(())
    }

    /// Writes the positions of simulated nodes over those of the mesh; other nodes are left alone.
    ///
    /// # Panics
    /// If `positions` is shorter than the mesh.
    pub fn write_positions(&self, positions: &mut [Vec3]) {
        for ((rest, displacement), &node) in self.model.rest.iter().zip(&self.displacements).zip(&self.model.nodes) {
            positions[node as usize] = (*rest + *displacement).into();
        }
    }

    /// Writes the velocities of simulated nodes, as [`Self::write_positions`] does positions.
    ///
    /// # Panics
    /// If `velocities` is shorter than the mesh.
    pub fn write_velocities(&self, velocities: &mut [Vec3]) {
        for (velocity, &node) in self.velocities.iter().zip(&self.model.nodes) {
            velocities[node as usize] = (*velocity).into();
        }
    }

    /// Where the middle of what `pull` holds is now; `None` where it holds nothing.
    pub fn held_by(&self, pull: &Pull) -> Option<Vec3> {
        let held = Held::new(pull, &self.model.rest[..self.model.free_count]);
        let middle = held.middle(|node| self.model.rest[node] + self.displacements[node]);
        (held.total > 0.0).then(|| middle.into())
    }

    /// Kinetic and elastic energy now.
    pub fn energy(&self) -> Energy {
        energy_of(&self.model, &self.displacements, &self.velocities)
    }

    /// The elements that are turned inside out now.
    pub fn inverted_elements(&self) -> usize {
        inverted_count(&self.model, &self.displacements)
    }

    /// Σ m v over free nodes, in kg m/s.
    pub fn momentum(&self) -> DVec3 {
        momentum(&self.model, &self.velocities)
    }

    /// One displayed frame in `substeps` equal steps, driven nodes moving evenly from where they are to `driven`. The
    /// report adds up times and stops, and has the solve of most iterations.
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
        let mut report = StepReport::default();
        for step in 1..=substeps {
            let share = step as f32 / substeps as f32;
            let target = |k: usize| if step == substeps { ends[k] } else { starts[k].lerp(ends[k], share) };
            report.add(self.step_to(frame_s / substeps as f32, target, forces));
        }
        Ok(report)
    }

    /// One step of `time_step_s`, at the end of which driven nodes are at `driven`.
    pub fn step(&mut self, time_step_s: f32, driven: &[Vec3], forces: &[Force]) -> Result<StepReport, DriveError> {
        self.advance(time_step_s, 1, driven, forces)
    }

    fn step_to(&mut self, time_step_s: f32, target: impl Fn(usize) -> Vec3A, forces: &[Force]) -> StepReport {
        let dt =
            if time_step_s.is_finite() { time_step_s.clamp(SHORTEST_STEP_S, LONGEST_STEP_S) } else { LONGEST_STEP_S };
        let mut clock = Clock::start();
        if self.followed != Some((dt, self.options.tension)) {
            self.follow(dt);
        }
        let before = self.elastic_j + kinetic_j(&self.model, &self.velocities);
        let mut elements = clock.lap();
        self.load(dt, forces);
        let mut right_hand_side = clock.lap();
        self.assemble();
        let assembly = clock.lap();
        self.drive(dt, target);
        let norm = self.right_hand_side(dt);
        right_hand_side += clock.lap();
        let solve = self.solve(norm);
        let solving = clock.lap();
        let stopped_nodes = self.advance_positions(dt);
        self.time_s += f64::from(dt);
        right_hand_side += clock.lap();
        self.follow(dt);
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

    /// Turns elements with the nodes; what they hand on is for steps of `dt`.
    fn follow(&mut self, dt: f32) {
        let Self { model, displacements, factors, impulses, options, .. } = self;
        model.elements.tension = options.tension;
        self.elastic_j = model.elements.update(displacements, dt, factors, impulses);
        self.followed = Some((dt, options.tension));
    }

    /// Whether nothing did work in this step but what [`Loads`] pushed.
    fn is_undriven(&self) -> bool {
        self.loads.implicit.is_empty() && self.velocities[self.model.free_count..].iter().all(|v| *v == Vec3A::ZERO)
    }

    /// Slows nodes so that the energy is not above what it was and the loads gave. Eq. 13 is implicit only to first order:
    /// nodes leave a spinning body along tangents, which stretches it a little beyond what the step accounts for.
    fn limit_energy(&mut self, before: f64) {
        let Self { model, loads, velocities, .. } = self;
        let free = model.free_count;
        let given = sum(free, |node| f64::from(loads.impulses[node].dot(velocities[node])));
        let kinetic = kinetic_j(model, velocities);
        let excess = self.elastic_j + kinetic - (before + given);
        if excess <= 0.0 {
            return;
        }
        // A floating body keeps its momentum.
        let mass = f64::from(model.mean_mass) * free as f64;
        let drift = if free == model.nodes.len() { momentum(model, velocities) / mass } else { DVec3::ZERO };
        let inner = kinetic - 0.5 * mass * drift.length_squared();
        let share = if inner > excess { ((inner - excess) / inner).sqrt() as f32 } else { 0.0 };
        let drift = drift.as_vec3a();
        velocities[..free].iter_mut().for_each(|velocity| *velocity = drift + (*velocity - drift) * share);
    }

    fn load(&mut self, dt: f32, forces: &[Force]) {
        let nodes = Nodes {
            rest: &self.model.rest,
            displacements: &self.displacements,
            velocities: &self.velocities,
            masses: &self.model.masses,
            skin: &self.model.skin,
            names: &self.model.nodes[..self.model.free_count],
            reach: REACH * self.model.size,
        };
        self.loads.collect(&nodes, forces, self.time_s, dt);
    }

    /// `A = M + Δt²K′ + C` and the inverses of its diagonal blocks.
    fn assemble(&mut self) {
        let Model { matrix, pattern, masses, ratio, .. } = &mut self.model;
        pattern.assemble(&self.factors, *ratio, &mut matrix.upper);
        matrix.set_diagonal(|row| Mat3A::from_diagonal(Vec3::splat(masses[row])));
        for &(node, stiffness) in &self.loads.implicit {
            matrix.diagonal[node as usize] += stiffness;
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

    /// Damps velocities, against those of the driven nodes nearest by, and makes the residual of Eq. 13 at them; the norm of its right-hand side.
    fn right_hand_side(&mut self, dt: f32) -> f64 {
        let free = self.model.free_count;
        let damping = (-self.options.damping_rate_per_s.max(0.0) * dt).exp();
        let turn = self.loads.turn.map_or(Mat3A::IDENTITY, Mat3A::from_quat);
        if damping < 1.0 || turn != Mat3A::IDENTITY {
            let (moving, driven) = self.velocities.split_at_mut(free);
            for (node, velocity) in moving.iter_mut().enumerate() {
                let along = self.companions.get(node).map_or(Vec3A::ZERO, |&companion| driven[companion as usize]);
                *velocity = along + (turn * *velocity - along) * damping;
            }
        }
        self.model.pattern.gather(&self.impulses, &mut self.residual);
        let Self { model, velocities, residual, sums, loads, .. } = self;
        let runs = residual.par_chunks_mut(ROWS_PER_TASK).zip(sums.par_iter_mut()).enumerate();
        runs.for_each(|(run, (residual, sum))| {
            let mut squared = Vec3A::ZERO;
            for (row, residual) in (run * ROWS_PER_TASK..).zip(residual) {
                let known = model.matrix.multiply_known(row, velocities);
                let right = velocities[row] * model.masses[row] + *residual + loads.impulses[row] - known;
                *residual = right - model.matrix.multiply_row(row, velocities);
                squared += right * right;
            }
            *sum = f64::from(squared.element_sum());
        });
        sums.iter().sum::<f64>().sqrt()
    }

    fn solve(&mut self, norm: f64) -> PcgReport {
        let free = self.model.free_count;
        let floor = SLOWEST_M_PER_S * f64::from(self.model.mean_mass) * (free as f64).sqrt();
        let target = (self.options.tolerance * norm).max(floor);
        let (x, r) = (&mut self.velocities[..free], &mut self.residual);
        pcg(&self.model.matrix, &self.inverses, x, r, target, self.options.max_iterations, &mut self.workspace)
    }

    /// x⁺ = x + Δt v⁺.
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
        REACH * self.model.size
    }
}

impl StepReport {
    /// Adds the report of later steps.
    pub fn add(&mut self, other: Self) {
        if other.solve.iterations >= self.solve.iterations {
            self.solve = other.solve;
        }
        self.steps += other.steps;
        self.iterations += other.iterations;
        self.stopped_nodes += other.stopped_nodes;
        self.phases.elements += other.phases.elements;
        self.phases.assembly += other.phases.assembly;
        self.phases.right_hand_side += other.phases.right_hand_side;
        self.phases.solve += other.phases.solve;
    }
}

/// The driven node nearest to each free one at rest. Flesh that moves along with them is not slowed: damping is no wind.
fn companions(rest: &[Vec3A], free: usize) -> Vec<u32> {
    let (free, driven) = rest.split_at(free);
    let nearest = |at: &Vec3A| {
        let distances = (0..).zip(driven.iter().map(|other| at.distance_squared(*other)));
        distances.min_by(|a: &(u32, f32), b| a.1.total_cmp(&b.1)).map(|(index, _)| index)
    };
    free.par_iter().with_min_len(256).filter_map(nearest).collect()
}

struct Clock(Instant);

impl Clock {
    fn start() -> Self {
        Self(Instant::now())
    }

    fn lap(&mut self) -> Duration {
        let now = Instant::now();
        now - std::mem::replace(&mut self.0, now)
    }
}

fn check_finite(positions: impl Iterator<Item = Vec3>) -> Result<(), DriveError> {
    match positions.enumerate().find(|(_, position)| !position.is_finite()) {
        Some((index, _)) => Err(DriveError::NotFinite { index }),
        None => Ok(()),
    }
}

/// Coordinates within ± `most`, zero where one is not a number.
pub(super) fn limited(vector: Vec3A, most: f32) -> Vec3A {
    Vec3A::from_array(vector.to_array().map(|x| if x.is_nan() { 0.0 } else { x.clamp(-most, most) }))
}
