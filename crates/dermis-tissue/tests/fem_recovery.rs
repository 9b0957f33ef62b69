//! Extreme input: bodies recover, stay finite, and accept new parameters while they move.
#![allow(missing_docs, reason = "tests")]

mod beams;

use beams::{DOWN, DT, Random, clamped_end, damped, floating, grid, positions, positions_of};
use dermis_tissue::dynamics::{Collider, Force, NodalForce, Pull, Shape, Simulation, SimulationOptions, Spin};
use dermis_tissue::fem::{DENSITY_RANGE_KG_PER_M3, Material, POISSON_RATIO_RANGE, YOUNG_MODULUS_RANGE_PA};
use glam::{Quat, Vec3};

#[test]
fn recovers_from_jumping_boundaries() {
    let mesh = grid([4, 4, 6], 0.02);
    let mut simulation = damped(&mesh, &clamped_end(&mesh), 3.0);
    let clamped = positions_of(&mesh, simulation.driven_nodes());
    let half_turn: Vec<Vec3> = clamped.iter().map(|x| Quat::from_rotation_y(std::f32::consts::PI) * *x).collect();
    let far: Vec<Vec3> = clamped.iter().map(|x| *x + Vec3::new(20.0, -5.0, 3.0)).collect();
    let crushed = vec![clamped[0]; clamped.len()];
    let mirrored: Vec<Vec3> = clamped.iter().map(|x| Vec3::new(-x.x, x.y, x.z)).collect();
    for extreme in [half_turn, far, crushed, mirrored] {
        simulation.advance(1.0 / 60.0, 4, &extreme, &[DOWN]).unwrap();
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
    let mut simulation = damped(&mesh, &clamped_end(&mesh), 1.0);
    let clamped = positions_of(&mesh, simulation.driven_nodes());
    let huge = f32::MAX;
    let extreme = [
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
        let forces = &extreme[round as usize % 5..=round as usize % 5];
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
fn rejects_missing_and_non_finite_positions() {
    let mesh = grid([2, 2, 2], 0.02);
    let mut simulation = damped(&mesh, &clamped_end(&mesh), 0.0);
    assert!(simulation.step(DT, &[], &[]).unwrap_err().to_string().starts_with("0 positions given for 9 nodes"));
    let error = simulation.step(DT, &[Vec3::NAN; 9], &[]).unwrap_err();
    assert_eq!(error.to_string(), "position 0 has a coordinate that is not finite");
    let material = Material::uniform(27, 2e3, 0.3, 1e3);
    let nothing = Simulation::new(&mesh, &[false; 27], &material, SimulationOptions::default()).unwrap_err();
    assert!(nothing.to_string().starts_with("no tetrahedron"));
}

#[test]
fn any_material_in_range_gives_finite_positions() {
    let mesh = grid([2, 2, 4], 0.02);
    let (soft, hard) = (*YOUNG_MODULUS_RANGE_PA.start(), *YOUNG_MODULUS_RANGE_PA.end());
    let count = mesh.nodes().len();
    let mixed = (0..count).map(|node| if node % 2 == 0 { soft } else { hard }).collect();
    for moduli in [vec![soft; count], vec![hard; count], mixed] {
        for density in [*DENSITY_RANGE_KG_PER_M3.start(), *DENSITY_RANGE_KG_PER_M3.end()] {
            for poisson_ratio in [*POISSON_RATIO_RANGE.start(), *POISSON_RATIO_RANGE.end()] {
                let moduli = moduli.clone();
                let material = Material { young_modulus_pa: moduli, poisson_ratio, density_kg_per_m3: density };
                let mut simulation =
                    Simulation::new(&mesh, &clamped_end(&mesh), &material, SimulationOptions::default()).unwrap();
                let clamped = positions_of(&mesh, simulation.driven_nodes());
                let mut random = Random::new(13);
                for round in 0..40 {
                    let gravity = Force::Gravity { acceleration: (random.vector() * 1e6).to_array() };
                    let driven: Vec<Vec3> = clamped.iter().map(|x| *x + random.vector() * 0.02).collect();
                    simulation.step(DT, &driven, &[gravity]).unwrap();
                    let finite = positions(&mesh, &simulation).iter().all(|x| x.is_finite());
                    assert!(finite && simulation.energy().total_j().is_finite(), "round {round}, {material:?}");
                }
            }
        }
    }
}

#[test]
fn any_finite_state_stays_finite() {
    let mesh = grid([2, 2, 3], 0.02);
    let mut random = Random::new(17);
    for exponent in -45..=38 {
        let scale = 10_f32.powi(exponent);
        let mut vectors = || -> Vec<Vec3> { mesh.nodes().iter().map(|_| random.vector() * scale).collect() };
        for (placed, moving) in [(true, false), (false, true), (true, true)] {
            let mut simulation = floating(&mesh);
            if placed {
                simulation.set_positions(&vectors()).unwrap();
            }
            if moving {
                simulation.set_velocities(&vectors()).unwrap();
            }
            for _ in 0..20 {
                simulation.step(DT, &[], &[DOWN]).unwrap();
            }
            let finite = positions(&mesh, &simulation).iter().all(|x| x.is_finite());
            assert!(finite && simulation.energy().total_j().is_finite(), "scale {scale}");
        }
    }
}

#[test]
fn recovers_from_inverted_and_collapsed_shapes() {
    let mesh = grid([3, 3, 6], 0.02);
    let shapes: [fn(Vec3) -> Vec3; 4] =
        [|x| Vec3::new(x.x, x.y, -x.z), |x| -x, |_| Vec3::ZERO, |x| Vec3::new(x.x, 0.0, x.z)];
    for (index, shape) in shapes.iter().enumerate() {
        let mut simulation = damped(&mesh, &vec![true; mesh.nodes().len()], 2.0);
        let mut random = Random::new(19);
        let start: Vec<Vec3> = mesh.nodes().iter().map(|x| shape(*x) + random.vector() * 1e-4).collect();
        simulation.set_positions(&start).unwrap();
        let before = simulation.inverted_elements();
        for _ in 0..500 {
            simulation.step(DT, &[], &[]).unwrap();
        }
        println!("shape {index}: {before} inverted elements, {} after 2 s", simulation.inverted_elements());
        assert_eq!(simulation.inverted_elements(), 0, "shape {index}");
    }
}

#[test]
fn changed_parameters_reach_the_same_steady_state() {
    let mesh = grid([3, 3, 8], 0.02);
    let free = clamped_end(&mesh);
    let stiff = Material::uniform(mesh.nodes().len(), 4e4, 0.4, 8e2);
    let mut changed = damped(&mesh, &free, 0.0);
    let options = SimulationOptions { damping_rate_per_s: 8.0, ..SimulationOptions::default() };
    let mut fresh = Simulation::new(&mesh, &free, &stiff, options).unwrap();
    let clamped = positions_of(&mesh, fresh.driven_nodes());
    for _ in 0..60 {
        changed.step(DT, &clamped, &[DOWN]).unwrap();
    }
    let hanging = positions(&mesh, &changed);
    changed.set_material(&stiff).unwrap();
    *changed.options_mut() = options;
    for _ in 0..800 {
        changed.step(DT, &clamped, &[DOWN]).unwrap();
        fresh.step(DT, &clamped, &[DOWN]).unwrap();
    }
    let (found, expected) = (positions(&mesh, &changed), positions(&mesh, &fresh));
    let largest = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    let sag = largest(&expected, mesh.nodes());
    assert!(largest(&hanging, &expected) > sag, "the softer body sags more");
    assert!(largest(&found, &expected) < 1e-3 * sag, "{} of {sag} m apart", largest(&found, &expected));
}

#[test]
fn rejects_an_invalid_material_without_side_effects() {
    let mesh = grid([2, 2, 4], 0.02);
    let (mut tried, mut untouched) = (damped(&mesh, &clamped_end(&mesh), 1.0), damped(&mesh, &clamped_end(&mesh), 1.0));
    assert!(tried.set_material(&Material::uniform(mesh.nodes().len(), f32::NAN, 0.3, 1e3)).is_err());
    assert!(tried.set_material(&Material::uniform(3, 2e3, 0.3, 1e3)).is_err());
    let clamped = positions_of(&mesh, tried.driven_nodes());
    for simulation in [&mut tried, &mut untouched] {
        simulation.step(DT, &clamped, &[DOWN]).unwrap();
    }
    assert_eq!(positions(&mesh, &tried), positions(&mesh, &untouched));
}

#[test]
fn stabilization_can_be_switched_off_during_simulation() {
    let mesh = grid([2, 2, 4], 0.02);
    let stretched: Vec<Vec3> = mesh.nodes().iter().map(|x| Vec3::new(x.x, x.y, x.z * 3.0)).collect();
    let mut random = Random::new(23);
    let velocities: Vec<Vec3> = stretched.iter().map(|_| random.vector()).collect();
    let run = |initially: bool, later: bool| {
        let mut simulation = floating(&mesh);
        simulation.options_mut().stabilization = initially;
        simulation.set_positions(&stretched).unwrap();
        simulation.set_velocities(&velocities).unwrap();
        for _ in 0..2 {
            simulation.step(DT, &[], &[]).unwrap();
            simulation.options_mut().stabilization = later;
        }
        positions(&mesh, &simulation)
    };
    assert_ne!(run(true, true), run(false, false));
    assert_ne!(run(true, true), run(true, false));
}
