//! Implicit step of Eq. 13: elements, loads, assembly, right-hand side, linear solve, new positions.

use dermis_math::block_sparse::ROWS_PER_TASK;
use dermis_math::pcg::{PcgReport, invert_blocks, pcg};
use dermis_math::sum::sum;
use glam::{DVec3, Mat3A, Vec3, Vec3A};
use rayon::prelude::*;

use super::energy::{kinetic_j, momentum};
use super::forces::{Force, Nodes};
use super::report::{Clock, Phases, StepReport};
use super::simulation::Simulation;
use crate::fem::Model;

/// Velocity error in m/s at which the linear solve stops even if the relative tolerance is not reached.
const MIN_RESIDUAL_M_PER_S: f64 = 1e-8;
/// Maximum length of a step, in seconds.
const MAX_STEP_S: f32 = 1.0;
/// Minimum length of a step, in seconds.
const MIN_STEP_S: f32 = 1e-6;

impl Simulation {
    /// Simulates one step, at the end of which driven node k has the displacement `target(k)`, and the rest shape is at
    /// `fraction` between those at the beginning and at the end of the frame.
    pub(super) fn step_to(
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
            reach: self.reach(),
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
}
