//! State of a simulated body; [`super::step`] advances it.

use std::collections::HashMap;

use dermis_math::block_sparse::ROWS_PER_TASK;
use dermis_math::pcg::PcgWorkspace;
use dermis_mesh::{Note, TetMesh};
use glam::{DVec3, Mat3A, Vec3, Vec3A};
use rayon::prelude::*;

use super::energy::{Energy, energy_of, inverted_count, momentum};
use super::forces::{Force, Loads, Pull, PulledRegion};
use super::report::StepReport;
use crate::fem::elements::Line;
use crate::fem::{Material, MaterialError, Model, ModelError};

/// Maximum displacement relative to the size of the body.
const MAX_RELATIVE_DISPLACEMENT: f32 = 1e4;

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
pub(super) struct Tether {
    pub(super) node: u32,
    pub(super) stiffness_n_per_m: f32,
    /// Displacements of that position at the beginning and at the end of the frame.
    pub(super) from: Vec3A,
    pub(super) to: Vec3A,
}

/// A simulated body.
#[derive(Debug, Clone)]
pub struct Simulation {
    pub(super) model: Model,
    pub(super) options: SimulationOptions,
    pub(super) time_s: f64,
    /// Displacements from rest, free nodes first, then driven nodes.
    pub(super) displacements: Vec<Vec3A>,
    pub(super) velocities: Vec<Vec3A>,
    /// Index of the nearest driven node of each free node, counted from the first driven node; empty if there are no
    /// driven nodes.
    pub(super) nearest_driven: Vec<u32>,
    pub(super) factors: Vec<Line>,
    pub(super) impulses: Vec<Line>,
    pub(super) residual: Vec<Vec3A>,
    pub(super) inverses: Vec<Mat3A>,
    pub(super) sums: Vec<f64>,
    pub(super) loads: Loads,
    pub(super) workspace: PcgWorkspace,
    /// Free nodes that springs pull towards the posed body.
    pub(super) tethers: Vec<Tether>,
    /// Time step and stabilization that the factors and impulses were computed with; `None` if nodes or material have
    /// changed since.
    pub(super) updated_for: Option<(f32, bool)>,
    pub(super) elastic_j: f64,
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

    fn check_driven(&self, driven: &[Vec3]) -> Result<(), DriveError> {
        let nodes = self.driven_nodes().len();
        if driven.len() != nodes {
            return Err(DriveError::Count { positions: driven.len(), nodes });
        }
        check_finite(driven.iter().copied())
    }

    /// Maximum displacement of a node.
    pub(super) fn reach(&self) -> f32 {
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
