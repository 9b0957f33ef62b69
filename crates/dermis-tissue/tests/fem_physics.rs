//! What any simulated body must do: keep or lose energy, keep momentum, not care where it stands, recover.
#![allow(missing_docs, reason = "tests")]

mod beams;

use beams::{Random, clamped_end, grid, positions_of};
use dermis_mesh::TetMesh;
use dermis_tissue::dynamics::{Collider, Force, NodalForce, Pull, Shape, Simulation, SimulationOptions, Spin};
use dermis_tissue::fem::Material;
use glam::{Quat, Vec3};

const DT: f32 = 0.004;
const DOWN: Force = Force::Gravity { acceleration: [0.0, -9.81, 0.0] };

fn simulation(mesh: &TetMesh, free: &[bool], damping_rate_per_s: f32) -> Simulation {
    let material = Material::uniform(mesh.nodes().len(), 2e3, 0.3, 1e3);
    let options = SimulationOptions { damping_rate_per_s, ..SimulationOptions::default() };
    Simulation::new(mesh, free, &material, options).unwrap()
}

fn floating(mesh: &TetMesh) -> Simulation {
    simulation(mesh, &vec![true; mesh.nodes().len()], 0.0)
}

fn positions(mesh: &TetMesh, simulation: &Simulation) -> Vec<Vec3> {
    let mut positions = mesh.nodes().to_vec();
    simulation.write_positions(&mut positions);
    positions
}

fn center(positions: &[Vec3]) -> Vec3 {
    positions.iter().sum::<Vec3>() / positions.len() as f32
}

/// The largest growth of total energy in a step, over the energy at the start.
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
        simulation.place(&moved).unwrap();
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
        simulation.place(&moved).unwrap();
        simulation.set_velocities(&velocities).unwrap();
        let growth = largest_growth(&mut simulation, 300);
        println!("stretched {stretch} times, {rate} rad/s: largest growth {growth:.1e}");
        assert!(growth < 1e-5, "stretched {stretch} times at {rate} rad/s: {growth}");
    }
}

#[test]
fn a_free_body_keeps_its_momentum() {
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
fn motion_does_not_depend_on_place_and_direction() {
    let mesh = grid([2, 2, 6], 0.02);
    let (turn, shift) = (Quat::from_scaled_axis(Vec3::new(1.9, -0.7, 0.4)), Vec3::new(3.0, -1.0, 2.0));
    let mut random = Random::new(9);
    let start: Vec<Vec3> = mesh.nodes().iter().map(|x| *x + random.vector() * 0.004).collect();
    let run = |place: &dyn Fn(Vec3) -> Vec3| {
        let mut simulation = floating(&mesh);
        simulation.place(&start.iter().map(|x| place(*x)).collect::<Vec<_>>()).unwrap();
        for _ in 0..50 {
            simulation.step(DT, &[], &[]).unwrap();
        }
        positions(&mesh, &simulation)
    };
    let (here, there) = (run(&|x| x), run(&|x| turn * x + shift));
    let worst = here.iter().zip(&there).map(|(a, b)| (turn * *a + shift).distance(*b)).fold(0.0, f32::max);
    assert!(worst < 5e-5, "{worst} m apart");
}

#[test]
fn damping_does_not_depend_on_the_time_step() {
    let mesh = grid([2, 2, 2], 0.02);
    for (dt, steps) in [(0.001, 1000), (0.004, 250), (0.02, 50)] {
        let mut simulation = simulation(&mesh, &[true; 27], 2.0);
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
fn motion_is_the_same_bits_on_any_number_of_threads() {
    let mesh = grid([8, 8, 20], 0.02);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = simulation(&mesh, &clamped_end(&mesh), 1.0);
            let clamped = positions_of(&mesh, simulation.driven_nodes());
            for _ in 0..20 {
                simulation.step(DT, &clamped, &[DOWN]).unwrap();
            }
            positions(&mesh, &simulation)
        })
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn recovers_from_boundaries_that_jump() {
    let mesh = grid([4, 4, 6], 0.02);
    let mut simulation = simulation(&mesh, &clamped_end(&mesh), 3.0);
    let clamped = positions_of(&mesh, simulation.driven_nodes());
    let half_turn: Vec<Vec3> = clamped.iter().map(|x| Quat::from_rotation_y(std::f32::consts::PI) * *x).collect();
    let far: Vec<Vec3> = clamped.iter().map(|x| *x + Vec3::new(20.0, -5.0, 3.0)).collect();
    let crushed = vec![clamped[0]; clamped.len()];
    let mirrored: Vec<Vec3> = clamped.iter().map(|x| Vec3::new(-x.x, x.y, x.z)).collect();
    for wild in [half_turn, far, crushed, mirrored] {
        simulation.advance(1.0 / 60.0, 4, &wild, &[DOWN]).unwrap();
        simulation.advance(1.0 / 60.0, 4, &clamped, &[DOWN]).unwrap();
    }
    for _ in 0..300 {
        simulation.advance(1.0 / 60.0, 4, &clamped, &[]).unwrap();
    }
    assert_eq!(simulation.inverted_elements(), 0);
    let found = positions(&mesh, &simulation);
    let worst = found.iter().zip(mesh.nodes()).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(worst < 2e-3, "{worst} m from rest");
}

#[test]
fn any_finite_input_gives_finite_positions() {
    let mesh = grid([2, 2, 4], 0.02);
    let mut simulation = simulation(&mesh, &clamped_end(&mesh), 1.0);
    let clamped = positions_of(&mesh, simulation.driven_nodes());
    let huge = f32::MAX;
    let wild = [
        Force::Gravity { acceleration: [huge, -huge, huge] },
        Force::Spin(Spin { origin: [huge; 3], angular_velocity: [huge; 3], angular_acceleration: [-huge; 3] }),
        Force::Pull(Pull { center: [0.0; 3], radius: huge, target: [-huge; 3], path: vec![], stiffness_n_per_m: huge }),
        Force::Collider(Collider {
            shape: Shape::Sphere { center: [0.0; 3], radius: huge },
            path: vec![],
            friction: huge,
        }),
        Force::Nodal(NodalForce { nodes: vec![0, 40, 41, u32::MAX], force_n: [huge; 3] }),
    ];
    let mut random = Random::new(11);
    for round in 0..60 {
        let scale = 10_f32.powi(round % 39);
        let driven: Vec<Vec3> = clamped.iter().map(|x| *x + random.vector() * scale).collect();
        let forces = &wild[round as usize % 5..=round as usize % 5];
        let dt = [DT, 1e-30, 1e30, 0.1, f32::MIN_POSITIVE][round as usize / 12];
        simulation.advance(dt, 2, &driven, forces).unwrap();
        assert!(positions(&mesh, &simulation).iter().all(|x| x.is_finite()), "round {round}");
    }
    for _ in 0..3000 {
        simulation.step(DT, &clamped, &[]).unwrap();
    }
    assert!(simulation.energy().total_j().is_finite());
    assert_eq!(simulation.inverted_elements(), 0);
}

#[test]
fn a_falling_block_lands_on_the_floor_and_friction_holds_it() {
    let mesh = grid([4, 2, 4], 0.02);
    for (friction, slides) in [(0.0, true), (0.8, false)] {
        let mut simulation = simulation(&mesh, &vec![true; mesh.nodes().len()], 1.0);
        let floor = Force::Collider(Collider {
            shape: Shape::Plane { point: [0.0, -0.01, 0.0], normal: [0.0, 1.0, 0.0] },
            path: vec![],
            friction,
        });
        let tilted = Force::Gravity { acceleration: [2.0, -9.6, 0.0] };
        let forces = [tilted, floor];
        for _ in 0..250 {
            simulation.step(DT, &[], &forces).unwrap();
        }
        let found = positions(&mesh, &simulation);
        let lowest = found.iter().map(|x| x.y).fold(f32::MAX, f32::min);
        let moved = center(&found).x - center(mesh.nodes()).x;
        println!("friction {friction}: lowest {lowest} m, slid {moved} m");
        assert!(lowest > -0.011, "sinks to {lowest}");
        assert_eq!(moved > 0.2, slides, "slid {moved} m with friction {friction}");
    }
}

#[test]
fn flesh_that_is_pulled_follows_and_comes_back() {
    let mesh = grid([6, 6, 6], 0.02);
    let mut simulation = simulation(&mesh, &clamped_end(&mesh), 3.0);
    let clamped = positions_of(&mesh, simulation.driven_nodes());
    let pull = Force::Pull(Pull {
        center: [0.06, 0.06, 0.12],
        radius: 0.05,
        target: [0.06, 0.06, 0.2],
        path: vec![],
        stiffness_n_per_m: 200.0,
    });
    for _ in 0..250 {
        simulation.step(DT, &clamped, std::slice::from_ref(&pull)).unwrap();
    }
    let top = mesh.nodes().iter().position(|x| x.distance(Vec3::new(0.06, 0.06, 0.12)) < 1e-5).unwrap();
    let raised = positions(&mesh, &simulation)[top].z;
    assert!(raised > 0.16, "only at {raised}");
    for _ in 0..700 {
        simulation.step(DT, &clamped, &[]).unwrap();
    }
    assert!((positions(&mesh, &simulation)[top].z - 0.12).abs() < 1e-3);
}

#[test]
fn a_body_at_rest_outside_circles_in_a_spinning_frame() {
    let mesh = grid([2, 2, 2], 0.02);
    let mut simulation = floating(&mesh);
    let rate = Vec3::new(0.0, 1.0, 0.0);
    let start: Vec<Vec3> = mesh.nodes().iter().map(|x| *x + Vec3::X).collect();
    simulation.place(&start).unwrap();
    simulation.set_velocities(&start.iter().map(|x| -rate.cross(*x)).collect::<Vec<_>>()).unwrap();
    let spin =
        Force::Spin(Spin { origin: [0.0; 3], angular_velocity: rate.to_array(), angular_acceleration: [0.0; 3] });
    for _ in 0..1000 {
        simulation.step(0.001, &[], std::slice::from_ref(&spin)).unwrap();
    }
    let expected = Quat::from_scaled_axis(-rate) * center(&start);
    let found = center(&positions(&mesh, &simulation));
    assert!(found.distance(expected) < 5e-3, "{found} instead of {expected}");
}

#[test]
fn rejects_positions_that_do_not_fit() {
    let mesh = grid([2, 2, 2], 0.02);
    let mut simulation = simulation(&mesh, &clamped_end(&mesh), 0.0);
    assert!(simulation.step(DT, &[], &[]).unwrap_err().to_string().starts_with("0 positions for 9 nodes"));
    let error = simulation.step(DT, &[Vec3::NAN; 9], &[]).unwrap_err();
    assert_eq!(error.to_string(), "position 0 has a coordinate that is not finite");
    let material = Material::uniform(27, 2e3, 0.3, 1e3);
    let nothing = Simulation::new(&mesh, &[false; 27], &material, SimulationOptions::default()).unwrap_err();
    assert!(nothing.to_string().starts_with("no tetrahedron"));
}
