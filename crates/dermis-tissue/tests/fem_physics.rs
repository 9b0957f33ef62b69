//! Physical invariants: non-increasing energy, conserved momentum, and independence of position and orientation.
#![allow(missing_docs, reason = "tests")]

mod beams;

use beams::{DOWN, DT, Random, center, clamped_end, damped, floating, grid, positions, positions_of};
use dermis_tissue::dynamics::Simulation;
use glam::{Quat, Vec3};

/// Largest growth of the total energy in a step, relative to the initial energy.
fn largest_growth(simulation: &mut Simulation, steps: usize) -> f64 {
    let start = simulation.energy().total_j();
    let (mut before, mut worst) = (start, f64::MIN);
    for _ in 0..steps {
        simulation.step(DT, &[], &[]).unwrap();
        let now = simulation.energy().total_j();
        worst = worst.max((now - before) / start);
        before = now;
    }
    worst
}

#[test]
fn energy_of_an_undriven_body_never_grows() {
    let mesh = grid([3, 3, 6], 0.02);
    for (seed, amplitude, speed) in
        [(1, 0.002, 0.0), (2, 0.01, 1.0), (3, 0.03, 0.0), (4, 0.1, 5.0), (5, 0.0, 3.0), (6, 0.5, 0.0)]
    {
        let mut simulation = floating(&mesh);
        let mut random = Random::new(seed);
        let moved: Vec<Vec3> = mesh.nodes().iter().map(|x| *x + random.vector() * amplitude).collect();
        let velocities: Vec<Vec3> = moved.iter().map(|_| random.vector() * speed).collect();
        simulation.set_positions(&moved).unwrap();
        simulation.set_velocities(&velocities).unwrap();
        let inverted = simulation.inverted_elements();
        let growth = largest_growth(&mut simulation, 300);
        println!("amplitude {amplitude} m, speed {speed} m/s, {inverted} inverted: largest growth {growth:.1e}");
        assert!(growth < 1e-5, "amplitude {amplitude}, speed {speed}: {growth}");
        assert_eq!(simulation.inverted_elements(), 0, "amplitude {amplitude}");
    }
}

#[test]
fn energy_of_a_stretched_and_spinning_body_never_grows() {
    let mesh = grid([3, 3, 6], 0.02);
    for (stretch, rate) in [(1.0, 30.0), (1.5, 30.0), (2.0, 100.0), (4.0, 60.0), (0.5, 60.0)] {
        let mut simulation = floating(&mesh);
        let middle = center(mesh.nodes());
        let moved: Vec<Vec3> = mesh.nodes().iter().map(|x| (*x - middle) * stretch).collect();
        let velocities: Vec<Vec3> = moved.iter().map(|x| Vec3::new(0.0, rate, 0.0).cross(*x)).collect();
        simulation.set_positions(&moved).unwrap();
        simulation.set_velocities(&velocities).unwrap();
        let growth = largest_growth(&mut simulation, 300);
        println!("stretched {stretch} times, {rate} rad/s: largest growth {growth:.1e}");
        assert!(growth < 1e-5, "stretched {stretch} times at {rate} rad/s: {growth}");
    }
}

#[test]
fn floating_body_conserves_momentum() {
    let mesh = grid([3, 3, 6], 0.02);
    let mut simulation = floating(&mesh);
    let mut random = Random::new(7);
    let velocities: Vec<Vec3> = mesh.nodes().iter().map(|_| Vec3::new(1.0, 0.5, -0.2) + random.vector()).collect();
    simulation.set_velocities(&velocities).unwrap();
    let start = simulation.momentum();
    for _ in 0..250 {
        simulation.step(DT, &[], &[]).unwrap();
    }
    let drift = simulation.momentum().distance(start) / start.length();
    assert!(drift < 1e-4, "momentum drifts by {drift}");
}

#[test]
fn motion_does_not_depend_on_position_and_orientation() {
    let mesh = grid([2, 2, 6], 0.02);
    let (rotation, shift) = (Quat::from_scaled_axis(Vec3::new(1.9, -0.7, 0.4)), Vec3::new(3.0, -1.0, 2.0));
    let mut random = Random::new(9);
    let start: Vec<Vec3> = mesh.nodes().iter().map(|x| *x + random.vector() * 0.004).collect();
    let run = |transform: &dyn Fn(Vec3) -> Vec3| {
        let mut simulation = floating(&mesh);
        simulation.set_positions(&start.iter().map(|x| transform(*x)).collect::<Vec<_>>()).unwrap();
        for _ in 0..50 {
            simulation.step(DT, &[], &[]).unwrap();
        }
        positions(&mesh, &simulation)
    };
    let (original, moved) = (run(&|x| x), run(&|x| rotation * x + shift));
    let worst = original.iter().zip(&moved).map(|(a, b)| (rotation * *a + shift).distance(*b)).fold(0.0, f32::max);
    assert!(worst < 5e-5, "{worst} m apart");
}

#[test]
fn damping_does_not_depend_on_the_time_step() {
    let mesh = grid([2, 2, 2], 0.02);
    for (dt, steps) in [(0.001, 1000), (0.004, 250), (0.02, 50)] {
        let mut simulation = damped(&mesh, &[true; 27], 2.0);
        simulation.set_velocities(&[Vec3::X; 27]).unwrap();
        for _ in 0..steps {
            simulation.step(dt, &[], &[]).unwrap();
        }
        let mut velocities = [Vec3::ZERO; 27];
        simulation.write_velocities(&mut velocities);
        assert!((center(&velocities).x - (-2.0_f32).exp()).abs() < 1e-4, "{dt}: {}", center(&velocities).x);
    }
}

#[test]
fn motion_is_bitwise_equal_for_any_number_of_threads() {
    let mesh = grid([8, 8, 20], 0.02);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = damped(&mesh, &clamped_end(&mesh), 1.0);
            let clamped = positions_of(&mesh, simulation.driven_nodes());
            for _ in 0..20 {
                simulation.step(DT, &clamped, &[DOWN]).unwrap();
            }
            positions(&mesh, &simulation)
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}
