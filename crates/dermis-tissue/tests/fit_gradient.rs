//! Gradients of trajectories against central differences, and the step of the fit against the simulator.

mod beams;

use beams::{clamped_end, grid};
use dermis_tissue::dynamics::{Force, Simulation, SimulationOptions};
use dermis_tissue::fem::Material;
use dermis_tissue::fit::{
    Clip, FitModel, Order, Parameters, SolveOptions, State, TrajectoryOptions, gradient, simulate_clip,
};
use glam::{DVec3, Vec3};

const GRAVITY: DVec3 = DVec3::new(0.0, -9.81, 0.0);
const FRAMES: usize = 7;

/// Options accurate enough for central differences: the linear solves are the only approximation.
fn options() -> TrajectoryOptions {
    let solve = SolveOptions { tolerance: 1e-12, max_iterations: 2000 };
    TrajectoryOptions { solve, ..TrajectoryOptions::default() }
}

struct Problem {
    model: FitModel,
    parameters: Parameters,
    clip: Clip,
}

/// A short beam whose end is shaken and rotated, with uneven stiffness and a tie to a moving pose at some nodes.
fn shaken(order: Order) -> Problem {
    let mesh = grid([1, 2, 3], 0.03);
    let model = FitModel::new(&mesh, &clamped_end(&mesh), order).unwrap();
    let mut parameters = Parameters::uniform(&model, 3e3, 0.35, 1050.0);
    parameters.damping_rate_per_s = 4.0;
    for (node, modulus) in parameters.young_modulus_pa.iter_mut().enumerate() {
        *modulus *= 1.0 + 0.3 * (node as f64).sin();
    }
    for (node, tie) in parameters.ties_n_per_m.iter_mut().enumerate() {
        *tie = if node % 3 == 0 { 2.0 } else { 0.0 };
    }
    let moved = |at: DVec3, frame: usize| {
        let time = frame as f64 / 60.0;
        let turned = glam::DQuat::from_rotation_x(4.0 * time) * at;
        turned + DVec3::new(0.01 * (30.0 * time).sin(), 0.2 * time * time, 0.0)
    };
    let frames = |nodes: &[DVec3]| -> Vec<Vec<DVec3>> {
        (0..FRAMES).map(|frame| nodes.iter().map(|&node| moved(node, frame)).collect()).collect()
    };
    let clip = Clip {
        frame_s: 1.0 / 60.0,
        substeps: 3,
        driven: frames(&model.rest[model.free_count..]),
        ties: frames(&model.rest[..model.free_count]),
        start: State { positions: model.rest.clone(), velocities: vec![DVec3::ZERO; model.nodes.len()] },
        launch: model.rest.iter().map(|at| DVec3::new(0.0, 0.1, 0.05) * at.z).collect(),
        settling_steps: 4,
        gravity: GRAVITY,
        loads: vec![(2, DVec3::new(0.01, 0.02, -0.01))],
    };
    Problem { model, parameters, clip }
}

/// Squared distance to a target, with uneven weights.
fn loss(frame: usize, positions: &[DVec3], derivatives: &mut [DVec3]) -> f64 {
    let mut total = 0.0;
    for (node, (position, derivative)) in positions.iter().zip(derivatives).enumerate() {
        let weight = 1.0 + 0.5 * ((node * 7 + frame) as f64).cos();
        let difference = *position - DVec3::new(0.01 * (frame as f64).sin(), 0.02, 0.05);
        total += 0.5 * weight * difference.length_squared();
        *derivative += difference * weight;
    }
    total
}

impl Problem {
    /// Loss of the free nodes, which alone depend on the parameters.
    fn loss(&self) -> impl Fn(usize, &[DVec3], &mut [DVec3]) -> f64 + Sync + use<> {
        let free = self.model.free_count;
        move |frame, positions, derivatives| loss(frame, &positions[..free], &mut derivatives[..free])
    }

    fn value(&self, parameters: &Parameters) -> f64 {
        let loss = self.loss();
        let frames = simulate_clip(&self.model, parameters, &self.clip, &options());
        frames.iter().enumerate().map(|(f, x)| loss(f, x, &mut vec![DVec3::ZERO; x.len()])).sum()
    }

    /// Asserts that `derivative` is the central difference along `change`, a step of the given size.
    fn check(&self, name: &str, derivative: f64, size: f64, change: impl Fn(&mut Parameters, f64)) {
        let at = |step: f64| {
            let mut parameters = self.parameters.clone();
            change(&mut parameters, step);
            self.value(&parameters)
        };
        let difference = (at(size) - at(-size)) / (2.0 * size);
        let error = (derivative - difference).abs() / difference.abs().max(1e-12);
        assert!(error < 1e-3, "{name}: gradient {derivative}, difference {difference}, error {error}");
    }

    fn check_all(&self) {
        let (value, found) = gradient(&self.model, &self.parameters, &self.clip, &self.loss(), &options());
        assert!((value - self.value(&self.parameters)).abs() < 1e-9 * value);
        for node in [0, 3, 8, self.model.nodes.len() - 1] {
            if found.young_modulus_pa[node] != 0.0 {
                let change = |p: &mut Parameters, step: f64| p.young_modulus_pa[node] += step;
                self.check(&format!("modulus of node {node}"), found.young_modulus_pa[node], 0.3, change);
            }
        }
        self.check("Poisson's ratio", found.poisson_ratio, 1e-5, |p, step| p.poisson_ratio += step);
        self.check("damping", found.damping_rate_per_s, 1e-4, |p, step| p.damping_rate_per_s += step);
        for node in [0, 3, 9] {
            self.check(&format!("tie of node {node}"), found.ties[node], 1e-4, |p, step| p.ties_n_per_m[node] += step);
        }
        for node in [1, 6, self.model.nodes.len() - 2] {
            for axis in 0..3 {
                let change = |p: &mut Parameters, step: f64| p.rest[node][axis] += step;
                self.check(&format!("rest of node {node}, axis {axis}"), found.rest[node][axis], 1e-7, change);
            }
        }
    }
}

#[test]
fn gradient_of_linear_elements_matches_central_differences() {
    shaken(Order::Linear).check_all();
}

#[test]
fn gradient_of_quadratic_elements_matches_central_differences() {
    shaken(Order::Quadratic).check_all();
}

#[test]
fn checkpoints_do_not_change_the_gradient() {
    let problem = shaken(Order::Linear);
    let with = |memory_bytes: usize| {
        let options = TrajectoryOptions { memory_bytes, ..options() };
        gradient(&problem.model, &problem.parameters, &problem.clip, &problem.loss(), &options)
    };
    let whole = with(1 << 30);
    for memory in [0, 40_000] {
        assert_eq!(with(memory), whole, "{memory} bytes");
    }
}

#[test]
fn step_of_the_fit_matches_the_simulator() {
    let mesh = grid([2, 2, 6], 0.03);
    let free = clamped_end(&mesh);
    let model = FitModel::new(&mesh, &free, Order::Linear).unwrap();
    let mut parameters = Parameters::uniform(&model, 4e3, 0.4, 1e3);
    parameters.damping_rate_per_s = 3.0;
    let driven: Vec<Vec<DVec3>> = (0..30)
        .map(|frame| {
            let offset = DVec3::X * (0.02 * (f64::from(frame) * 0.4).sin());
            model.rest[model.free_count..].iter().map(|at| *at + offset).collect()
        })
        .collect();
    let clip = Clip {
        frame_s: 1.0 / 60.0,
        substeps: 4,
        driven: driven.clone(),
        ties: Vec::new(),
        start: State { positions: model.rest.clone(), velocities: vec![DVec3::ZERO; model.nodes.len()] },
        launch: Vec::new(),
        settling_steps: 0,
        gravity: GRAVITY,
        loads: Vec::new(),
    };
    let found = simulate_clip(&model, &parameters, &clip, &TrajectoryOptions::default());
    let material = Material::uniform(mesh.nodes().len(), 4e3, 0.4, 1e3);
    let options = SimulationOptions {
        tolerance: 1e-7,
        damping_rate_per_s: 3.0,
        stabilization: false,
        ..SimulationOptions::default()
    };
    let mut simulation = Simulation::new(&mesh, &free, &material, options).unwrap();
    let index_of = |node: u32| model.nodes.iter().position(|&other| other == node).unwrap();
    let gravity = [Force::Gravity { acceleration: GRAVITY.as_vec3().to_array() }];
    for frame in 1..30 {
        let targets: Vec<Vec3> = simulation
            .driven_nodes()
            .iter()
            .map(|&node| driven[frame][index_of(node) - model.free_count].as_vec3())
            .collect();
        simulation.advance(1.0 / 60.0, 4, &targets, &gravity).unwrap();
        let mut positions = mesh.nodes().to_vec();
        simulation.write_positions(&mut positions);
        for (node, at) in positions.iter().enumerate() {
            let distance = at.as_dvec3().distance(found[frame][index_of(node as u32)]);
            // Displacements are of the order of 1 cm; the simulator works in single precision.
            assert!(distance < 2e-5, "frame {frame}, node {node}: {distance}");
        }
    }
}
