//! Scaling of the fit: a snake of three sizes, up to 240,000 triangles × 30 frames, with mean shift and with a given
//! number of bones. Prints seconds, and nanoseconds per iteration, point and frame (N·S), which are nearly constant.
//!
//! `cargo bench -p dermis-skin --bench fit_scale`

use std::f32::consts::TAU;
use std::sync::Arc;
use std::time::Instant;

use dermis_math::progress::NoProgress;
use dermis_mesh::{MeshSequence, TriMesh};
use dermis_skin::{Animation, Bones, FitOptions, fit};
use glam::Vec3;

const FRAMES: usize = 30;
const SEGMENTS: f32 = 24.0;

fn main() {
    println!(
        "{:>10} {:>8} {:>26} {:>8} {:>6} {:>8} {:>6} {:>14}",
        "triangles", "points", "requested bones", "seconds", "bones", "E %", "iter", "ns per iter·N·S"
    );
    for around in [24, 48, 100] {
        let sequence = snake(around, 3 * around);
        for (words, bones) in [("by mean shift", Bones::Tolerance(0.05)), ("32", Bones::Count(32))] {
            let options = FitOptions { bones, ..FitOptions::default() };
            let start = Instant::now();
            let animation = Animation { name: "crawl".into(), sequence: sequence.clone() };
            let fit = fit(sequence.mesh(), &[animation], &options, &NoProgress).expect("the snake can be fitted");
            let seconds = start.elapsed().as_secs_f64();
            let refine: f64 = fit.seconds.iter().filter(|(stage, _)| *stage == "refine").map(|(_, time)| time).sum();
            let iterations = fit.refinement.iterations.max(1);
            let numbers = (sequence.point_count() * FRAMES * iterations) as f64;
            println!(
                "{:>10} {:>8} {words:>26} {seconds:>8.2} {:>6} {:>8.3} {iterations:>6} {:>14.2}",
                sequence.mesh().triangle_count(),
                sequence.point_count(),
                fit.skin.bone_count(),
                fit.measures.distortion_percent,
                1e9 * refine / numbers,
            );
        }
    }
    println!("peak memory: {} MB", peak_memory_mb());
}

/// A snake of stiff segments that bends between them, with swelling muscles.
fn snake(around: usize, rings_per_segment: usize) -> MeshSequence {
    let rings = rings_per_segment * 4;
    let point = |ring: usize, k: usize, frame: f32| {
        let along = SEGMENTS * ring as f32 / rings as f32;
        let turn = TAU * k as f32 / around as f32;
        // Smooth steps: the middle of each segment is stiff.
        let stiff = along.floor() + smooth_step(along.fract());
        let heading = |s: f32| 0.8 * (0.6 * s + TAU * frame / FRAMES as f32).sin();
        let steps = (along * 8.0) as usize;
        let spine: Vec3 = (0..steps).map(|i| heading_vector(heading((i as f32 / 8.0).floor()))).sum::<Vec3>() / 8.0;
        let forward = heading_vector(heading(stiff));
        let side = Vec3::new(-forward.y, forward.x, 0.0);
        let swell = 1.0 + 0.08 * (3.0 * along + TAU * frame / FRAMES as f32).sin();
        let offset = 0.5 * swell * (side * turn.cos() + Vec3::Z * turn.sin());
        spine + forward * (along - steps as f32 / 8.0) + offset
    };
    let frame = |frame: f32| (0..=rings).flat_map(move |ring| (0..around).map(move |k| point(ring, k, frame)));
    let mut triangles = Vec::new();
    for ring in 0..rings as u32 {
        for k in 0..around as u32 {
            let n = around as u32;
            let (a, b) = (ring * n + k, ring * n + (k + 1) % n);
            triangles.extend([[a, b, a + n], [b, b + n, a + n]]);
        }
    }
    let mesh = Arc::new(TriMesh::new(frame(0.0).collect(), triangles).expect("a valid mesh"));
    let frames = (0..FRAMES).flat_map(|k| frame(k as f32).collect::<Vec<_>>()).collect();
    MeshSequence::new(mesh, frames, 24.0).expect("complete frames")
}

fn heading_vector(angle: f32) -> Vec3 {
    Vec3::new(angle.cos(), angle.sin(), 0.0)
}

fn smooth_step(x: f32) -> f32 {
    let x = ((x - 0.6) / 0.4).clamp(0.0, 1.0);
    x * x * (3.0 - 2.0 * x)
}

/// Peak memory of this process, if the system provides it.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap_or(0) / 1000
}
