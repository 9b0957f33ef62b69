//! Gravity, pulls, contact, friction, spinning frames, nodal forces and driven boundaries.
#![allow(missing_docs, reason = "tests")]

mod beams;

use beams::{DOWN, DT, center, clamped_end, damped, floating, grid, positions, positions_of};
use dermis_mesh::TetMesh;
use dermis_tissue::dynamics::{Collider, Force, NodalForce, PathKey, Pull, Shape, Simulation, Spin};
use glam::{Quat, Vec3};

fn node_at(mesh: &TetMesh, position: Vec3) -> usize {
    mesh.nodes().iter().position(|x| x.distance(position) < 1e-5).expect("there is a node")
}

#[test]
fn floating_body_falls_with_the_given_acceleration() {
    let mesh = grid([2, 2, 4], 0.02);
    for acceleration in [Vec3::new(0.0, -9.81, 0.0), Vec3::new(30.0, 5.0, -80.0), Vec3::ZERO] {
        let mut simulation = floating(&mesh);
        for _ in 0..100 {
            simulation.step(DT, &[], &[Force::Gravity { acceleration: acceleration.to_array() }]).unwrap();
        }
        // Implicit Euler: the sum of k Δt over 100 steps.
        let expected = acceleration * (DT * DT * 0.5 * 100.0 * 101.0);
        let found = center(&positions(&mesh, &simulation)) - center(mesh.nodes());
        assert!(found.distance(expected) <= 1e-4 * expected.length() + 1e-6, "{found} instead of {expected}");
    }
}

#[test]
fn nodal_forces_change_momentum_by_their_impulse() {
    let mesh = grid([2, 2, 4], 0.02);
    let mut simulation = floating(&mesh);
    let push = Force::Nodal(NodalForce { nodes: vec![3, 7, 11, u32::MAX], force_n: [0.02, 0.0, -0.01] });
    for _ in 0..50 {
        simulation.step(DT, &[], std::slice::from_ref(&push)).unwrap();
    }
    let expected = Vec3::new(0.02, 0.0, -0.01).as_dvec3() * (3.0 * 50.0 * f64::from(DT));
    assert!(simulation.momentum().distance(expected) < 1e-4 * expected.length());
}

#[test]
fn falling_block_rests_on_the_floor_and_friction_stops_sliding() {
    let mesh = grid([4, 2, 4], 0.02);
    for (friction, slides) in [(0.0, true), (0.8, false)] {
        let mut simulation = damped(&mesh, &vec![true; mesh.nodes().len()], 1.0);
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
        assert!(lowest > -0.011, "sinks to {lowest} m");
        assert_eq!(moved > 0.2, slides, "slid {moved} m with friction {friction}");
    }
}

#[test]
fn pulled_flesh_follows_and_recovers() {
    let mesh = grid([6, 6, 6], 0.02);
    let mut simulation = damped(&mesh, &clamped_end(&mesh), 3.0);
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
    assert!(raised > 0.16, "raised only to {raised} m");
    for _ in 0..700 {
        simulation.step(DT, &clamped, &[]).unwrap();
    }
    assert!((positions(&mesh, &simulation)[top].z - 0.12).abs() < 1e-3);
}

#[test]
fn body_at_rest_circles_in_a_spinning_frame() {
    let mesh = grid([2, 2, 2], 0.02);
    let mut simulation = floating(&mesh);
    let rate = Vec3::new(0.0, 1.0, 0.0);
    let start: Vec<Vec3> = mesh.nodes().iter().map(|x| *x + Vec3::X).collect();
    simulation.set_positions(&start).unwrap();
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
fn colliders_dent_flesh_and_it_recovers() {
    let mesh = grid([8, 4, 8], 0.02);
    let free: Vec<bool> = mesh.nodes().iter().map(|x| x.y > 1e-6).collect();
    let top = node_at(&mesh, Vec3::new(0.08, 0.08, 0.08));
    for shape in [
        Shape::Sphere { center: [0.08, 0.2, 0.08], radius: 0.05 },
        Shape::Capsule { start: [0.0, 0.2, 0.08], end: [0.16, 0.2, 0.08], radius: 0.05 },
    ] {
        let mut simulation = damped(&mesh, &free, 3.0);
        let fixed = positions_of(&mesh, simulation.driven_nodes());
        let key = |time_s, y| PathKey { time_s, offset: [0.0, y, 0.0] };
        let path = vec![key(0.0, 0.0), key(0.4, -0.1), key(0.6, -0.1), key(0.8, 0.0)];
        let poke = Force::Collider(Collider { shape, path, friction: 0.2 });
        let height = |simulation: &Simulation| positions(&mesh, simulation)[top].y;
        for _ in 0..150 {
            simulation.step(DT, &fixed, std::slice::from_ref(&poke)).unwrap();
        }
        let dented = height(&simulation);
        assert!((dented - 0.05).abs() < 2e-3, "surface of {shape:?} at 0.05 m, skin at {dented} m");
        for _ in 0..600 {
            simulation.step(DT, &fixed, std::slice::from_ref(&poke)).unwrap();
        }
        assert!((height(&simulation) - 0.08).abs() < 1e-3, "remains at {} m", height(&simulation));
    }
}

#[test]
fn driven_nodes_move_linearly_over_the_substeps() {
    let mesh = grid([3, 3, 6], 0.02);
    let free = clamped_end(&mesh);
    let (mut whole, mut single) = (damped(&mesh, &free, 1.0), damped(&mesh, &free, 1.0));
    let from = positions_of(&mesh, whole.driven_nodes());
    let to: Vec<Vec3> = from.iter().map(|x| Quat::from_rotation_z(0.3) * *x + Vec3::X * 0.03).collect();
    whole.advance(4.0 * DT, 4, &to, &[DOWN]).unwrap();
    for step in 1..=4 {
        let part: Vec<Vec3> = from.iter().zip(&to).map(|(from, to)| from.lerp(*to, step as f32 / 4.0)).collect();
        single.step(DT, &part, &[DOWN]).unwrap();
    }
    let pairs = positions(&mesh, &whole).into_iter().zip(positions(&mesh, &single));
    assert!(pairs.map(|(a, b)| a.distance(b)).fold(0.0, f32::max) < 1e-6);
    assert!((whole.time_s() - single.time_s()).abs() < 1e-9);
    let reached = positions(&mesh, &whole);
    let worst = whole.driven_nodes().iter().zip(&to).map(|(&node, to)| reached[node as usize].distance(*to));
    assert!(worst.fold(0.0, f32::max) < 1e-6);
}
