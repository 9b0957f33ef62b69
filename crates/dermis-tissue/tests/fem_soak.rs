//! A minute of violent motion. Slow, so it runs when asked for: `cargo test --release --test fem_soak -- --ignored`.
#![allow(missing_docs, reason = "tests")]

mod beams;

use beams::{Random, grid, positions_of};
use dermis_tissue::dynamics::{Force, Pull, Simulation, SimulationOptions};
use dermis_tissue::fem::Material;
use glam::{Quat, Vec3};

const FRAME_S: f32 = 1.0 / 60.0;
const SUBSTEPS: usize = 4;
const SECONDS: usize = 60;

#[test]
#[ignore = "simulates a minute"]
fn a_minute_of_violent_motion_leaves_no_trace() {
    let side = 12;
    let mesh = grid([side; 3], 0.02);
    let inside = |x: f32| x > 0.05 && x < 0.02 * side as f32 - 0.05;
    let free: Vec<bool> = mesh.nodes().iter().map(|x| !(inside(x.x) && inside(x.y) && inside(x.z))).collect();
    let material = Material::uniform(mesh.nodes().len(), 2e3, 0.3, 1e3);
    let options = SimulationOptions { damping_rate_per_s: 2.0, ..SimulationOptions::default() };
    let mut simulation = Simulation::new(&mesh, &free, &material, options).unwrap();
    let rest = positions_of(&mesh, simulation.driven_nodes());
    let mut random = Random::new(2017);
    let mut positions = mesh.nodes().to_vec();
    let (mut memory, mut most_inverted, mut most_iterations) = (None, 0, 0);
    let mut pose = Pose::default();
    for frame in 0..60 * SECONDS {
        if random.number() > 0.9 {
            pose = Pose::random(&mut random);
        }
        let forces = [gravity(frame), pull(&mut random)];
        let report = simulation.advance(FRAME_S, SUBSTEPS, &pose.apply(&rest), &forces).unwrap();
        most_iterations = most_iterations.max(report.solve.iterations);
        most_inverted = most_inverted.max(simulation.inverted_elements());
        simulation.write_positions(&mut positions);
        assert!(positions.iter().all(|x| x.is_finite()), "frame {frame}");
        if frame == 60 {
            memory = resident_pages();
        }
    }
    if let (Some(before), Some(after)) = (memory, resident_pages()) {
        assert!(after < before + 1024, "memory grew from {before} to {after} pages");
    }
    for _ in 0..60 {
        simulation.advance(FRAME_S, SUBSTEPS, &pose.apply(&rest), &[]).unwrap();
    }
    println!(
        "{} elements: at most {most_inverted} inverted, {most_iterations} iterations; {} inverted after 1 s of rest",
        simulation.element_count(),
        simulation.inverted_elements()
    );
    assert_eq!(simulation.inverted_elements(), 0);
}

fn gravity(frame: usize) -> Force {
    let sign = if (frame / 45).is_multiple_of(2) { -1.0 } else { 1.0 };
    let size = if (frame / 200).is_multiple_of(2) { 9.81 } else { 70.0 };
    Force::Gravity { acceleration: [0.0, sign * size, 0.0] }
}

fn pull(random: &mut Random) -> Force {
    Force::Pull(Pull {
        center: (Vec3::splat(0.12) + random.vector() * 0.12).to_array(),
        radius: 0.06,
        target: (Vec3::splat(0.12) + random.vector() * 0.6).to_array(),
        path: vec![],
        stiffness_n_per_m: 300.0,
    })
}

/// A rigid placement of the inside, twisted along one axis.
#[derive(Default)]
struct Pose {
    turn: Quat,
    shift: Vec3,
    twist: f32,
}

impl Pose {
    fn random(random: &mut Random) -> Self {
        let turn = Quat::from_scaled_axis(random.vector() * 2.0);
        Self { turn, shift: random.vector() * 0.5, twist: random.number() * 8.0 }
    }

    fn apply(&self, rest: &[Vec3]) -> Vec<Vec3> {
        let middle = Vec3::splat(0.12);
        let place = |x: &Vec3| {
            let twisted = Quat::from_rotation_y(self.twist * (x.y - middle.y)) * (*x - middle);
            self.turn * twisted + middle + self.shift
        };
        rest.iter().map(place).collect()
    }
}

fn resident_pages() -> Option<usize> {
    std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse().ok()
}
