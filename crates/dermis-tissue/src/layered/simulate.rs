//! Simulation of a layered body: the pose drives the inside, and the finite elements move the flesh.
//!
//! Each frame poses the nodes that drive elements and those of the skin (all others were removed, §4.2); [`Simulation`]
//! then moves the free nodes in substeps. With [`BodySimulationOptions::follow_pose`], all simulated nodes are posed:
//! the strain of the posed elements is their rest shape, and driven nodes of elements that a pose folds are released
//! and held by springs. The skin consists of the simulated nodes and, outside the simulated layer, of the posed skin.

use std::time::{Duration, Instant};

use dermis_mesh::{Note, TetMesh};
use glam::Vec3;

use super::{Flesh, LayeredBody, LayeredError, SkinBinding};
use crate::dynamics::{Force, Simulation, SimulationOptions, StepReport};
use crate::fem::targets::FOLDED_VOLUME_RATIO;
use crate::layers::{Layers, NodeRole};
use dermis_body::{BodyModel, BodyMotion, BodyPose};

/// Damping while a body settles, per second; it prevents oscillation.
const SETTLING_RATE_PER_S: f32 = 20.0;
/// Minimum volume of an element, relative to a regular tetrahedron; smaller elements are counted as folded.
const MIN_SOLIDITY: f32 = 0.02;
/// Maximum number of poses of a motion that are searched for folds.
const MAX_FOLD_POSES: usize = 64;
/// Time step while a body settles, in seconds.
const SETTLING_STEP_S: f32 = 0.01;

/// Options of a [`BodySimulation`].
#[derive(Debug, Clone, PartialEq)]
pub struct BodySimulationOptions {
    /// Shape coefficients; missing ones are 0.
    pub betas: Vec<f64>,
    /// Relative residual of the linear solves. Larger is faster and loses fine motion.
    pub tolerance: f64,
    /// Simulates every element and drives only the bones, for comparison with the layered simulation.
    pub all_elements: bool,
    /// Makes the strain of the posed body the rest shape of the flesh, so that a held pose does not move the skin, and
    /// releases driven nodes of elements that a pose folds. Otherwise the rest shape is that of the template.
    pub follow_pose: bool,
}

impl Default for BodySimulationOptions {
    fn default() -> Self {
        Self { betas: Vec::new(), tolerance: 1e-4, all_elements: false, follow_pose: false }
    }
}

/// Report of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FrameReport {
    /// Totals of the steps: sum of the times, maximum of the iterations.
    pub steps: StepReport,
    /// Time for posing.
    pub posing: Duration,
    /// Time for all steps.
    pub stepping: Duration,
}

/// A layered body in motion.
#[derive(Debug)]
pub struct BodySimulation {
    layered: LayeredBody,
    options: BodySimulationOptions,
    /// Body model and volumetric model in the shape of the coefficients.
    body: BodyModel,
    volume: BodyModel,
    /// Tetrahedra of that shape, free of strain.
    rest: TetMesh,
    simulation: Simulation,
    driver: Driver,
    /// Simulated positions of the nodes; posed positions outside the simulated layer.
    nodes: Vec<Vec3>,
    posed_nodes: Vec<Vec3>,
    skin: Vec<Vec3>,
    posed_skin: Vec<Vec3>,
    /// Number of inverted or flat elements in this shape.
    folded: usize,
    /// Nodes of elements that a pose folds: they are free and tethered.
    released: Vec<u32>,
}

impl BodySimulation {
    /// Creates the body at rest in the pose of its template. If it follows the pose, folded elements are searched for
    /// in its own motions.
    pub fn new(layered: LayeredBody, options: BodySimulationOptions) -> Result<Self, LayeredError> {
        Self::for_motion(layered, None, options)
    }

    /// Creates the body at rest in the pose of its template, for `motion` in place of its own motions.
    pub fn for_motion(
        layered: LayeredBody,
        motion: Option<&BodyMotion>,
        options: BodySimulationOptions,
    ) -> Result<Self, LayeredError> {
        let parts = layered.parts();
        let body = parts.body.fixed_shape(&options.betas)?;
        let volume = parts.volume.fixed_shape(&options.betas)?;
        let (nodes, skin) = (volume.mesh().points().to_vec(), body.mesh().points().to_vec());
        let (rest, folded) = unfolded(&parts.tets, &nodes)?;
        let released = match (options.follow_pose, motion) {
            (false, _) => Vec::new(),
            (true, Some(motion)) => folded_nodes(&volume, &rest, std::slice::from_ref(motion))?,
            (true, None) => folded_nodes(&volume, &rest, &parts.motions)?,
        };
        let simulation = simulation_of(&layered, &rest, &options, &released)?;
        let driver = Driver::new(&layered, &volume, &simulation, options.follow_pose);
        Ok(Self {
            released,
            posed_nodes: nodes.clone(),
            nodes,
            posed_skin: skin.clone(),
            skin,
            layered,
            options,
            body,
            volume,
            rest,
            simulation,
            driver,
            folded,
        })
    }

    /// Returns notes about omissions.
    pub fn notes(&self) -> Vec<Note> {
        let folded = Note::new(format!("{} elements fold in this shape and are not simulated", self.folded));
        let own = (self.folded > 0).then_some(folded);
        self.simulation.notes().iter().cloned().chain(own).collect()
    }

    /// Returns the layered body.
    pub fn layered(&self) -> &LayeredBody {
        &self.layered
    }

    /// Returns the finite elements.
    pub fn simulation(&self) -> &Simulation {
        &self.simulation
    }

    /// Returns the skin in its rest shape, to which the points of pull forces refer.
    pub fn rest_skin(&self) -> &[Vec3] {
        match self.layered.parts().binding {
            // The mesher can separate points that coincide.
            SkinBinding::Nodes => &self.volume.mesh().points()[..self.skin.len()],
            SkinBinding::Embedded(_) => self.body.mesh().points(),
        }
    }

    /// Current skin.
    pub fn skin(&self) -> &[Vec3] {
        &self.skin
    }

    /// Posed skin, without simulation.
    pub fn posed_skin(&self) -> &[Vec3] {
        &self.posed_skin
    }

    /// Sets the body to `pose` and lets the flesh settle under `forces` for `settle_s` seconds.
    pub fn start(&mut self, pose: &BodyPose, settle_s: f32, forces: &[Force]) -> Result<(), LayeredError> {
        self.pose_all(pose)?;
        self.simulation.set_positions(&self.posed_nodes)?;
        if self.options.follow_pose {
            self.simulation.follow(&self.posed_nodes, true);
        }
        self.simulation.options_mut().damping_rate_per_s = SETTLING_RATE_PER_S;
        let driven = Driver::targets(&self.posed_nodes, &self.simulation);
        let steps = (settle_s / SETTLING_STEP_S).clamp(0.0, 1e5) as usize;
        for _ in 0..steps {
            self.simulation.step(SETTLING_STEP_S, &driven, forces)?;
        }
        self.simulation.reset_time();
        self.simulation.options_mut().damping_rate_per_s = self.layered.flesh().damping_rate_per_s;
        self.read_back();
        Ok(())
    }

    /// Gives the flesh the velocity of the body from its current pose to `next` in `frame_s` seconds, so that a motion
    /// already in progress does not start with a jolt.
    pub fn launch(&mut self, next: &BodyPose, frame_s: f32) -> Result<(), LayeredError> {
        let targets = self.volume.pose(&[], next)?.points;
        let velocity = |(to, from): (&Vec3, &Vec3)| (*to - *from) / frame_s.max(f32::MIN_POSITIVE);
        let velocities: Vec<Vec3> = targets.iter().zip(&self.posed_nodes).map(velocity).collect();
        Ok(self.simulation.set_velocities(&velocities)?)
    }

    /// Advances by one frame, at the end of which the body is in `pose`.
    pub fn advance(
        &mut self,
        pose: &BodyPose,
        frame_s: f32,
        substeps: usize,
        forces: &[Force],
    ) -> Result<FrameReport, LayeredError> {
        let began = Instant::now();
        self.driver.pose(pose, &self.body, &mut self.posed_nodes, &mut self.posed_skin)?;
        let driven = Driver::targets(&self.posed_nodes, &self.simulation);
        if self.options.follow_pose {
            self.simulation.follow(&self.posed_nodes, false);
        }
        let posing = began.elapsed();
        let began = Instant::now();
        let steps = self.simulation.advance(frame_s, substeps, &driven, forces)?;
        let stepping = began.elapsed();
        let began = Instant::now();
        self.read_back();
        Ok(FrameReport { steps, posing: posing + began.elapsed(), stepping })
    }

    /// Replaces the flesh during a simulation: newly free nodes start from their pose, the others continue.
    pub fn set_flesh(&mut self, flesh: Flesh, pose: &BodyPose) -> Result<(), LayeredError> {
        let only_material = flesh.thickness == self.layered.flesh().thickness;
        self.layered.set_flesh(flesh)?;
        self.simulation.options_mut().damping_rate_per_s = self.layered.flesh().damping_rate_per_s;
        if only_material {
            return Ok(self.simulation.set_material(self.layered.material())?);
        }
        let next = simulation_of(&self.layered, &self.rest, &self.options, &self.released)?;
        let moved = std::mem::replace(&mut self.simulation, next);
        self.driver = Driver::new(&self.layered, &self.volume, &self.simulation, self.options.follow_pose);
        self.pose_all(pose)?;
        let mut positions = self.posed_nodes.clone();
        moved.write_positions(&mut positions);
        let mut velocities = vec![Vec3::ZERO; positions.len()];
        moved.write_velocities(&mut velocities);
        for &node in self.simulation.driven_nodes() {
            positions[node as usize] = self.posed_nodes[node as usize];
        }
        self.simulation.set_positions(&positions)?;
        self.simulation.set_velocities(&velocities)?;
        if self.options.follow_pose {
            self.simulation.follow(&self.posed_nodes, true);
        }
        self.read_back();
        Ok(())
    }

    /// Poses every node and the skin.
    fn pose_all(&mut self, pose: &BodyPose) -> Result<(), LayeredError> {
        self.posed_nodes = self.volume.pose(&[], pose)?.points;
        self.posed_skin = self.body.pose(&[], pose)?.points;
        Ok(())
    }

    fn read_back(&mut self) {
        self.nodes.copy_from_slice(&self.posed_nodes);
        self.simulation.write_positions(&mut self.nodes);
        self.skin.copy_from_slice(&self.posed_skin);
        let parts = self.layered.parts();
        parts.binding.follow(&parts.tets, &self.nodes, &self.posed_nodes, &mut self.skin);
    }
}

/// Returns the tetrahedra with their nodes at `nodes`, without the elements that fold at these positions, and the number
/// of these elements. In shapes with touching skin, elements in between can be inverted, which makes them useless as a
/// rest shape.
pub(crate) fn unfolded(tets: &TetMesh, nodes: &[Vec3]) -> Result<(TetMesh, usize), LayeredError> {
    let is_solid = |tet: &&[u32; 4]| {
        let [before, after] = [tets.nodes(), nodes].map(|nodes| solidity(tet.map(|node| nodes[node as usize])));
        after > MIN_SOLIDITY.min(0.5 * before)
    };
    let kept: Vec<[u32; 4]> = tets.tetrahedra().iter().filter(is_solid).copied().collect();
    let folded = tets.tetrahedra().len() - kept.len();
    Ok((TetMesh::new(nodes.to_vec(), kept)?, folded))
}

/// Volume relative to a regular tetrahedron with the same longest edge; negative if inverted.
fn solidity([a, b, c, d]: [Vec3; 4]) -> f32 {
    let longest = [b - a, c - a, d - a, c - b, d - b, d - c].map(Vec3::length).into_iter().fold(0.0, f32::max);
    std::f32::consts::SQRT_2 * (b - a).dot((c - a).cross(d - a)) / longest.powi(3).max(f32::MIN_POSITIVE)
}

fn simulation_of(
    layered: &LayeredBody,
    rest: &TetMesh,
    options: &BodySimulationOptions,
    released: &[u32],
) -> Result<Simulation, LayeredError> {
    let mut free: Vec<bool> = layered.layers().roles.iter().map(|role| *role == NodeRole::Free).collect();
    if options.all_elements {
        free.fill(true);
        layered.parts().bone_nodes.iter().for_each(|&node| free[node as usize] = false);
        let held = Layers::from_field(rest, free.iter().map(|&free| if free { 2.0 } else { 0.0 }).collect());
        free = held.roles.iter().map(|role| *role == NodeRole::Free).collect();
    }
    let near_layer = near(rest, &free);
    let released: Vec<u32> = released.iter().copied().filter(|&node| near_layer[node as usize]).collect();
    for &node in &released {
        free[node as usize] = true;
    }
    let damping_rate_per_s = layered.flesh().damping_rate_per_s;
    let solver = SimulationOptions { tolerance: options.tolerance, damping_rate_per_s, ..SimulationOptions::default() };
    let mut simulation = Simulation::new(rest, &free, layered.material(), solver)?;
    simulation.tether(&released, tether_stiffness(rest, layered));
    Ok(simulation)
}

/// Stiffness of a tether: that of a cube of flesh of the mean size of an element.
fn tether_stiffness(rest: &TetMesh, layered: &LayeredBody) -> f32 {
    let moduli = &layered.material().young_modulus_pa;
    let modulus = moduli.iter().sum::<f32>() / moduli.len().max(1) as f32;
    let volume = |tet: &[u32; 4]| {
        let [a, b, c, d] = tet.map(|node| rest.nodes()[node as usize]);
        ((b - a).dot((c - a).cross(d - a)) / 6.0).abs()
    };
    let total: f32 = rest.tetrahedra().iter().map(volume).sum();
    modulus * (total / rest.tetrahedra().len().max(1) as f32).cbrt()
}

/// Marks the nodes of all elements with a free node.
fn near(rest: &TetMesh, free: &[bool]) -> Vec<bool> {
    let mut near = vec![false; free.len()];
    for tet in rest.tetrahedra().iter().filter(|tet| tet.iter().any(|&node| free[node as usize])) {
        for &node in tet {
            near[node as usize] = true;
        }
    }
    near
}

/// Nodes of the elements that a pose of `motions` folds, ascending.
fn folded_nodes(volume: &BodyModel, rest: &TetMesh, motions: &[BodyMotion]) -> Result<Vec<u32>, LayeredError> {
    let mut is_folded = vec![false; rest.nodes().len()];
    let volume_of = |tet: &[u32; 4], nodes: &[Vec3]| {
        let [a, b, c, d] = tet.map(|node| nodes[node as usize]);
        (b - a).dot((c - a).cross(d - a))
    };
    for motion in motions {
        let stride = motion.poses.len().div_ceil(MAX_FOLD_POSES).max(1);
        for pose in motion.poses.iter().step_by(stride) {
            let posed = volume.pose(&[], pose)?.points;
            for tet in rest.tetrahedra() {
                if volume_of(tet, &posed) < FOLDED_VOLUME_RATIO * volume_of(tet, rest.nodes()) {
                    for &node in tet {
                        is_folded[node as usize] = true;
                    }
                }
            }
        }
    }
    Ok((0..).zip(is_folded).filter(|(_, folded)| *folded).map(|(node, _)| node).collect())
}

/// Poses the required nodes: those that drive elements, and those of the skin.
#[derive(Debug)]
struct Driver {
    nodes: Vec<u32>,
    /// Body model of these nodes.
    model: BodyModel,
    /// Poses the skin separately because its points are not nodes.
    poses_skin: bool,
}

impl Driver {
    fn new(layered: &LayeredBody, volume: &BodyModel, simulation: &Simulation, follow_pose: bool) -> Self {
        let driven = simulation.driven_nodes().iter().copied();
        let free = simulation.free_nodes().iter().copied().filter(|_| follow_pose);
        let mut nodes: Vec<u32> = layered.carriers.nodes.iter().copied().chain(driven).chain(free).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let model = volume.of_points(&nodes);
        Self { nodes, model, poses_skin: layered.parts().binding != SkinBinding::Nodes }
    }

    fn pose(
        &self,
        pose: &BodyPose,
        body: &BodyModel,
        posed_nodes: &mut [Vec3],
        posed_skin: &mut [Vec3],
    ) -> Result<(), LayeredError> {
        let posed = self.model.pose(&[], pose)?.points;
        for (&node, at) in self.nodes.iter().zip(posed) {
            posed_nodes[node as usize] = at;
        }
        if self.poses_skin {
            posed_skin.copy_from_slice(&body.pose(&[], pose)?.points);
        } else {
            posed_skin.copy_from_slice(&posed_nodes[..posed_skin.len()]);
        }
        Ok(())
    }

    /// Target positions of the driven nodes.
    fn targets(posed_nodes: &[Vec3], simulation: &Simulation) -> Vec<Vec3> {
        simulation.driven_nodes().iter().map(|&node| posed_nodes[node as usize]).collect()
    }
}
