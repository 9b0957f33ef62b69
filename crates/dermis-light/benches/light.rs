//! Time for the transfer vectors of about 17,000 points in 48 frames with 256 rays per point: two galloping horses and a
//! patch of ground.
//!
//! Target: at most 60 s on 2 cores. A number as an argument limits the number of frames.
#![allow(missing_docs, reason = "a program, not an interface")]

use std::time::Instant;

use dermis_light::harmonics::light_from;
use dermis_light::{LightOptions, factorize, reduce, transfer};
use dermis_math::progress::NoProgress;
use glam::{DVec3, Vec3};

/// Points along a side of the patch.
const SIDE: u32 = 32;

fn main() {
    let horse = dermis_samples::build("gallop").expect("a sample").objects.remove(0);
    let sequence = horse.sequence.expect("recorded frames");
    let (count, patch) = (horse.mesh.point_count() as u32, |at: u32| -4.0 + 8.0 * at as f32 / (SIDE - 1) as f32);
    let mut triangles = horse.mesh.triangles().to_vec();
    triangles.extend(horse.mesh.triangles().iter().map(|t| t.map(|point| point + count)));
    for (x, y) in (0..SIDE - 1).flat_map(|y| (0..SIDE - 1).map(move |x| (x, y))) {
        let [a, b, c, d] = [(x, y), (x, y + 1), (x + 1, y + 1), (x + 1, y)].map(|(x, y)| 2 * count + y * SIDE + x);
        triangles.extend([[a, b, c], [a, c, d]]);
    }
    let frame = |frame: usize| -> Vec<Vec3> {
        let points = sequence.frame(frame).expect("a frame").to_vec();
        let second = points.iter().map(|&point| point + Vec3::Z * 0.8);
        let ground = (0..SIDE * SIDE).map(|at| Vec3::new(patch(at % SIDE), 0.0, patch(at / SIDE)));
        points.iter().copied().chain(second).chain(ground).collect()
    };
    let limit = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(usize::MAX);
    let frames: Vec<Vec<Vec3>> = (0..sequence.frame_count().min(limit)).map(frame).collect();
    println!(
        "{} points, {} frames, {} triangles, {} threads",
        frames[0].len(),
        frames.len(),
        triangles.len(),
        rayon::current_num_threads()
    );
    let mut last = None;
    for ground in [None, Some(0.0)] {
        let options = LightOptions { ground, ..LightOptions::default() };
        let start = Instant::now();
        let found = transfer(&frames, &triangles, &options, &NoProgress).expect("transfer");
        let seconds = start.elapsed().as_secs_f64();
        let rays = frames.len() * frames[0].len() * options.rays;
        let ground = if ground.is_some() { "with ground" } else { "without ground" };
        println!("{ground}: {seconds:.1} s, {:.1} million rays per second (asked: 60 s)", rays as f64 / seconds / 1e6);
        last = Some(found);
    }
    let found = last.expect("a result");
    let start = Instant::now();
    let reduced = reduce(&found, 32).expect("a reduction");
    println!("truncated SVD of rank 32 in {:.1} s", start.elapsed().as_secs_f64());
    for rank in [1, 2, 4, 8, 16, 32] {
        println!("  rank {rank:2}: {:.2} %", 100.0 * reduced.errors[rank - 1]);
    }
    let colors = found.lit(&light_from(DVec3::new(0.3, 1.0, 0.4), 16));
    for rank in [1, 2, 4, 8, 16] {
        let start = Instant::now();
        let factors = factorize(&colors, found.frame_count, rank, 400).expect("factors");
        let (iterations, error) = (factors.errors.len() - 1, factors.errors[factors.errors.len() - 1]);
        println!(
            "  NMF rank {rank:2}: {:.2} % after {iterations} iterations, {:.1} s",
            100.0 * error,
            start.elapsed().as_secs_f64()
        );
    }
}
