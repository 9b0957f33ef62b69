//! Layered sample body: build time, and simulation speed with the layer and with all elements.
#![allow(missing_docs, reason = "a program, not an interface")]

use std::time::Instant;

use dermis_body::{BodyMotion, BodyPose};
use dermis_math::progress::NoProgress;
use dermis_mesh::UpAxis;
use dermis_samples::body_model;
use dermis_tissue::dynamics::{Force, Phases, StepReport};
use dermis_tissue::layered::{BodySimulation, BodySimulationOptions, BuildOptions, LayeredBody, build};

const GRAVITY: Force = Force::Gravity { acceleration: [0.0, -9.81, 0.0] };
const FRAME_S: f32 = 1.0 / 60.0;
const SUBSTEPS: usize = 4;

fn main() {
    let began = Instant::now();
    let (model, motions) = body_model();
    println!("sample generation {:.2} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let (body, report) =
        build(model, motions.clone(), UpAxis::Y, &BuildOptions::default(), &NoProgress).expect("the sample is valid");
    println!(
        "build {:.2} s (target 15): tetrahedra {:.2} (target 2), weights {:.2} (target 2), layers {:.2}",
        began.elapsed().as_secs_f64(),
        report.tetrahedra_s,
        report.volume_s,
        report.layers_s
    );
    let (tets, layers, quality) = (&body.parts().tets, body.layers(), &report.mesh.quality);
    println!(
        "{} nodes, {} elements, {:.2} % of faces recovered, volume error {:.1e}, dihedral angles {:.1}° to {:.1}°, {} slivers",
        tets.nodes().len(),
        tets.tetrahedra().len(),
        100.0 * report.mesh.recovered_faces.unwrap_or(0) as f64 / report.mesh.skin_faces as f64,
        report.mesh.volume_error,
        quality.smallest_dihedral_degrees,
        quality.largest_dihedral_degrees,
        quality.slivers
    );
    println!("layer: {} elements, {:.1} %", layers.elements.len(), 100.0 * layers.element_fraction());
    println!("maximum CG iterations to 1e-6 while running: {} (target 25)", iterations(&body, &motions[1]));
    for motion in &motions {
        let [layer, all] = [false, true].map(|all_elements| milliseconds(&body, motion, all_elements));
        println!(
            "{:<14} {:.2} ms per step (target 2.0; elements {:.2}, assembly {:.2}, right-hand side {:.2}, CG {:.2} with {:.1} \
             iterations), {:.2} ms per pose, {:.1} times real time; all elements {:.2} ms: speed-up {:.1} (target 3)",
            motion.name,
            layer.step,
            layer.phases[0],
            layer.phases[1],
            layer.phases[2],
            layer.phases[3],
            layer.iterations,
            layer.pose,
            1e3 * f64::from(FRAME_S) / (layer.step * SUBSTEPS as f64 + layer.pose),
            all.step,
            all.step / layer.step
        );
    }
}

/// Means over the fastest half second, in milliseconds.
#[derive(Clone, Copy)]
struct Speed {
    step: f64,
    pose: f64,
    /// Phases of a step: elements, assembly, right-hand side, solve.
    phases: [f64; 4],
    iterations: f64,
}

fn milliseconds(body: &LayeredBody, motion: &BodyMotion, all_elements: bool) -> Speed {
    const WINDOW: usize = 30;
    const ROUNDS: usize = 3;
    // Same tolerance as in the beam benchmark.
    let options = BodySimulationOptions { tolerance: 1e-5, all_elements, ..BodySimulationOptions::default() };
    let mut simulation = BodySimulation::new(body.clone(), options).expect("the body is valid");
    simulation.start(&motion.poses[0], 0.3, &[GRAVITY]).expect("the pose is finite");
    let mut best = Speed { step: f64::INFINITY, pose: f64::INFINITY, phases: [0.0; 4], iterations: 0.0 };
    for window in motion.poses.chunks_exact(WINDOW).cycle().take(ROUNDS * motion.poses.len() / WINDOW) {
        let (mut step, mut pose, mut steps) = (0.0, 0.0, StepReport::default());
        for target in window {
            let report = simulation.advance(target, FRAME_S, SUBSTEPS, &[GRAVITY]).expect("the pose is finite");
            step += report.stepping.as_secs_f64();
            pose += report.posing.as_secs_f64();
            steps.add(report.steps);
        }
        let count = (WINDOW * SUBSTEPS) as f64;
        if 1e3 * step / count < best.step {
            let Phases { elements, assembly, right_hand_side, solve } = steps.phases;
            let phases = [elements, assembly, right_hand_side, solve].map(|time| 1e3 * time.as_secs_f64() / count);
            let iterations = steps.iterations as f64 / count;
            best = Speed { step: 1e3 * step / count, pose: 1e3 * pose / WINDOW as f64, phases, iterations };
        }
    }
    best
}

fn iterations(body: &LayeredBody, motion: &BodyMotion) -> usize {
    let options = BodySimulationOptions { tolerance: 1e-6, ..BodySimulationOptions::default() };
    let mut simulation = BodySimulation::new(body.clone(), options).expect("the body is valid");
    let still: &BodyPose = &motion.poses[0];
    simulation.start(still, 0.3, &[GRAVITY]).expect("the pose is finite");
    let advance = |target: &BodyPose| {
        let report = simulation.advance(target, FRAME_S, SUBSTEPS, &[GRAVITY]).expect("the pose is finite");
        report.steps.solve.iterations
    };
    motion.poses.iter().map(advance).max().unwrap_or(0)
}
