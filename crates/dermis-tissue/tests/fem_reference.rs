//! Steps and steady states compared with an independent `f64` implementation that uses a direct solver.
#![allow(missing_docs, reason = "tests")]

mod beams;
#[path = "beams/reference.rs"]
mod reference;

use beams::{DT, Random, clamped_end, grid, long_beam, positions_of};
use dermis_mesh::TetMesh;
use dermis_tissue::dynamics::{Force, Simulation, SimulationOptions};
use dermis_tissue::fem::Material;
use glam::{DVec3, Quat, Vec3};
use reference::Tissue;

const TISSUE: Tissue = Tissue { young_modulus: 2e3, poisson_ratio: 0.3, density: 1e3 };

fn simulation(mesh: &TetMesh, free: &[bool], options: SimulationOptions) -> Simulation {
    let material = Material::uniform(mesh.nodes().len(), 2e3, 0.3, 1e3);
    Simulation::new(mesh, free, &material, options).unwrap()
}

/// Largest difference of velocities after one step, relative to the largest velocity.
fn step_difference(mesh: &TetMesh, simulation: &mut Simulation, free: &[bool], drift: Vec3) -> f64 {
    let mut positions = mesh.nodes().to_vec();
    let mut velocities = vec![Vec3::ZERO; positions.len()];
    simulation.write_positions(&mut positions);
    simulation.write_velocities(&mut velocities);
    let driven: Vec<Vec3> =
        simulation.driven_nodes().iter().map(|&node| positions[node as usize] + drift * DT).collect();
    simulation.driven_nodes().iter().for_each(|&node| velocities[node as usize] = drift);
    let gravity = DVec3::new(0.0, -9.81, 0.0);
    let expected = reference::step(mesh, free, &TISSUE, (&positions, &velocities), gravity, f64::from(DT));
    simulation.step(DT, &driven, &[Force::Gravity { acceleration: gravity.as_vec3().to_array() }]).unwrap();
    let mut found = vec![Vec3::ZERO; positions.len()];
    simulation.write_velocities(&mut found);
    let worst = found.iter().zip(&expected).map(|(a, b)| a.as_dvec3().distance(*b)).fold(0.0, f64::max);
    worst / expected.iter().map(|v| v.length()).fold(0.0, f64::max)
}

#[test]
fn step_of_a_deformed_body_matches_the_reference() {
    let mesh = grid([3, 3, 10], 0.02);
    let free = clamped_end(&mesh);
    let options = SimulationOptions { stabilization: false, ..SimulationOptions::default() };
    let mut simulation = simulation(&mesh, &free, options);
    let mut random = Random::new(3);
    let bent = |x: &Vec3| Quat::from_rotation_x(4.0 * x.z) * *x;
    let positions: Vec<Vec3> = mesh.nodes().iter().map(|x| bent(x) + random.vector() * 0.002).collect();
    let velocities: Vec<Vec3> = positions.iter().map(|_| random.vector()).collect();
    simulation.set_positions(&positions).unwrap();
    simulation.set_velocities(&velocities).unwrap();
    let difference = step_difference(&mesh, &mut simulation, &free, Vec3::new(0.3, -0.2, 0.1));
    println!("one step, strongly deformed, Eq. 13 as printed: {difference:.1e}");
    assert!(difference < 1e-3);
}

#[test]
fn steps_of_the_long_beam_match_the_reference() {
    let mesh = long_beam();
    let free = clamped_end(&mesh);
    let mut simulation = simulation(&mesh, &free, SimulationOptions::default());
    let first = step_difference(&mesh, &mut simulation, &free, Vec3::ZERO);
    let clamped = positions_of(&mesh, simulation.driven_nodes());
    for _ in 0..50 {
        simulation.step(DT, &clamped, &[Force::Gravity { acceleration: [0.0, -9.81, 0.0] }]).unwrap();
    }
    let later = step_difference(&mesh, &mut simulation, &free, Vec3::ZERO);
    println!("long beam, default options: first step {first:.1e}, after 0.2 s of falling {later:.1e}");
    assert!(first < 1e-3 && later < 1e-3);
}

#[test]
fn steady_state_of_a_cantilever_matches_linear_elasticity() {
    let mesh = grid([2, 2, 10], 0.02);
    let free = clamped_end(&mesh);
    let material = Material::uniform(mesh.nodes().len(), 5e7, 0.3, 1e3);
    let options = SimulationOptions { damping_rate_per_s: 20.0, ..SimulationOptions::default() };
    let mut simulation = Simulation::new(&mesh, &free, &material, options).unwrap();
    let clamped = positions_of(&mesh, simulation.driven_nodes());
    let gravity = DVec3::new(0.0, -9.81, 0.0);
    for _ in 0..600 {
        simulation.step(0.01, &clamped, &[Force::Gravity { acceleration: gravity.as_vec3().to_array() }]).unwrap();
    }
    let tissue = Tissue { young_modulus: 5e7, ..TISSUE };
    let expected = reference::static_displacements(&mesh, &free, &tissue, gravity);
    let mut positions = mesh.nodes().to_vec();
    simulation.write_positions(&mut positions);
    let tip = expected.iter().map(|u| u.length()).fold(0.0, f64::max);
    let found = positions.iter().zip(mesh.nodes()).map(|(x, rest)| (*x - *rest).as_dvec3());
    let worst = found.zip(&expected).map(|(u, e)| u.distance(*e)).fold(0.0, f64::max);
    println!("cantilever: tip {tip:.3e} m, largest difference {:.4} %", 100.0 * worst / tip);
    // Linear elasticity ignores the shortening of a bent beam, which is of the order of the squared slope.
    assert!(worst < 1e-3 * tip, "{worst} of {tip}");
}
