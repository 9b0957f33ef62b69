//! Milliseconds per step of the finite elements: the long beam, a layer like that of a body, and scaling with size.
#![allow(missing_docs, reason = "a program, not an interface")]

#[path = "../tests/beams/mod.rs"]
mod beams;

use std::time::{Duration, Instant};

use beams::{DOWN, DT, Random, clamped_end, damped, grid, long_beam, positions_of};
use dermis_mesh::TetMesh;
use dermis_tissue::dynamics::Phases;
use glam::Vec3;

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let beam = long_beam();
    println!("E = 2 kPa, nu = 0.3, 1000 kg/m3, 4 ms, relative tolerance 1e-5; fastest of several windows of 25 steps");
    for threads in 1..=cores.min(2) {
        measure(&format!("beam, {threads} thread(s)"), &beam, &clamped_end(&beam), threads);
    }
    let (layer, free) = hollow(20, 20, 16);
    for threads in 1..=cores.min(2) {
        measure(&format!("layer, {threads} thread(s)"), &layer, &free, threads);
    }
    println!("the same layer to a relative tolerance of 1e-6, mean and maximum iterations of 200 steps");
    count_iterations("layer", &layer, &free, 1e-6);
    println!("scaling with the number of elements, {} thread(s)", cores.min(2));
    for length in [15, 30, 60, 119, 238] {
        let mesh = grid([8, 8, length], 0.02);
        measure("  beam", &mesh, &clamped_end(&mesh), cores.min(2));
    }
}

/// A block with a driven core and an outer layer two cells thick, as on a body.
fn hollow(nx: usize, ny: usize, nz: usize) -> (TetMesh, Vec<bool>) {
    let h = 0.02;
    let mesh = grid([nx, ny, nz], h);
    let inside = |x: f32, n: usize| x > 1.5 * h && x < (n as f32 - 1.5) * h;
    let free = mesh.nodes().iter().map(|p| !(inside(p.x, nx) && inside(p.y, ny) && inside(p.z, nz))).collect();
    (mesh, free)
}

fn measure(name: &str, mesh: &TetMesh, free: &[bool], threads: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
    pool.install(|| measure_here(name, mesh, free));
}

fn measure_here(name: &str, mesh: &TetMesh, free: &[bool]) {
    const WINDOWS: usize = 12;
    const STEPS: usize = 25;
    let mut simulation = damped(mesh, free, 1.0);
    let rest = positions_of(mesh, simulation.driven_nodes());
    let mut random = Random::new(1);
    let (mut best, mut phases, mut iterations) = (Duration::MAX, Phases::default(), 0);
    for _ in 0..WINDOWS {
        let (mut sum, mut steps) = (Phases::default(), 0);
        let start = Instant::now();
        let shake = random.vector() * 0.02;
        for step in 0..STEPS {
            let report = simulation.step(DT, &shaken(&rest, shake, step), &[DOWN]).expect("positions are finite");
            steps += report.solve.iterations;
            add(&mut sum, &report.phases);
        }
        let time = start.elapsed();
        if time < best {
            (best, phases, iterations) = (time, sum, steps);
        }
    }
    let milliseconds = |time: Duration| 1e3 * time.as_secs_f64() / STEPS as f64;
    println!(
        "{name:<22} {:6} free nodes {:6} elements  {:6.3} ms per step (polar and force {:.3}, assembly {:.3}, right-hand side {:.3}, CG {:.3} with {:.1} iterations), {:.1} ns per element",
        simulation.free_nodes().len(),
        simulation.element_count(),
        milliseconds(best),
        milliseconds(phases.elements),
        milliseconds(phases.assembly),
        milliseconds(phases.right_hand_side),
        milliseconds(phases.solve),
        iterations as f64 / STEPS as f64,
        1e6 * milliseconds(best) / simulation.element_count() as f64,
    );
}

/// Prints the number of CG iterations for the same motion.
fn count_iterations(name: &str, mesh: &TetMesh, free: &[bool], tolerance: f64) {
    const STEPS: usize = 200;
    let mut simulation = damped(mesh, free, 1.0);
    simulation.options_mut().tolerance = tolerance;
    let rest = positions_of(mesh, simulation.driven_nodes());
    let shake = Random::new(1).vector() * 0.02;
    let (mut sum, mut max) = (0, 0);
    for step in 0..STEPS {
        let iterations =
            simulation.step(DT, &shaken(&rest, shake, step), &[DOWN]).expect("positions are finite").solve.iterations;
        sum += iterations;
        max = max.max(iterations);
    }
    println!("{name:<22} CG iterations: mean {:.1}, maximum {max}", sum as f64 / STEPS as f64);
}

fn shaken(rest: &[Vec3], shake: Vec3, step: usize) -> Vec<Vec3> {
    rest.iter().map(|p| *p + shake * (step as f32 * 0.25).sin()).collect()
}

fn add(sum: &mut Phases, phases: &Phases) {
    sum.elements += phases.elements;
    sum.assembly += phases.assembly;
    sum.right_hand_side += phases.right_hand_side;
    sum.solve += phases.solve;
}
