//! Time to read a sequence, relative to a plain read of the same bytes and one pass over as many floats.
//!
//! For each format, a sequence of 500 frames × 20,000 points is written and read again in the same run. Both sides
//! take the best of several rounds. Run with `cargo bench -p dermis-io --bench read_speed`.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dermis_io::{ReadOptions, WriteOptions};
use dermis_math::progress::NoProgress;
use dermis_mesh::glam::Vec3;
use dermis_mesh::{MeshSequence, Object, Scene, TriMesh};

const FRAMES: usize = 500;
const SIDE: usize = 100;
const LAYERS: usize = 2;
const ROUNDS: usize = 7;
/// Maximum ratio that the project guarantees.
const MAX_RATIO: f64 = 3.0;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scene = scene();
    let mut all_within = true;
    for extension in ["npz", "pc2", "glb"] {
        let path = folder.path().join(format!("sequence.{extension}"));
        let options = WriteOptions::default();
        if let Err(error) = dermis_io::write(&path, &scene, &options, &NoProgress) {
            println!("{extension}: skipped, it cannot be written: {error}");
            continue;
        }
        let (plain, _) = best(|| plain_pass(&path));
        let (ours, _) = best(|| read_and_sum(&path));
        let ratio = ours.as_secs_f64() / plain.as_secs_f64();
        all_within &= ratio <= MAX_RATIO;
        let megabytes = std::fs::metadata(&path).map_or(0.0, |about| about.len() as f64 / 1e6);
        println!("{extension}: {megabytes:.0} MB, plain read and pass {plain:?}, dermis {ours:?}, ratio {ratio:.2}");
        // One large file at a time, since it must fit in the page cache.
        std::fs::remove_file(&path).expect("the file was just written");
    }
    println!("{}", if all_within { "all within 3×" } else { "NOT all within 3×" });
    if !all_within {
        std::process::exit(1);
    }
}

/// Two waving sheets of 100 × 100 points.
fn scene() -> Scene {
    let points: Vec<Vec3> = (0..LAYERS * SIDE * SIDE)
        .map(|k| Vec3::new((k % SIDE) as f32, (k / SIDE % SIDE) as f32, (k / (SIDE * SIDE)) as f32 * 10.0) * 0.01)
        .collect();
    let cell = |layer: usize, y: usize, x: usize| {
        let at = (layer * SIDE * SIDE + y * SIDE + x) as u32;
        let up = at + SIDE as u32;
        [[at, at + 1, up + 1], [at, up + 1, up]]
    };
    let cells = (0..LAYERS).flat_map(|l| (0..SIDE - 1).flat_map(move |y| (0..SIDE - 1).map(move |x| (l, y, x))));
    let triangles = cells.flat_map(|(layer, y, x)| cell(layer, y, x)).collect();
    let wave = |frame: usize, point: Vec3| point + Vec3::Z * 0.1 * (point.x * 9.0 + frame as f32 * 0.1).sin();
    let positions = (0..FRAMES).flat_map(|frame| points.iter().map(move |&point| wave(frame, point))).collect();
    let mesh = Arc::new(TriMesh::new(points.clone(), triangles).expect("a valid sheet"));
    let sequence = MeshSequence::new(mesh, positions, 24.0).expect("valid frames");
    Scene { objects: vec![Object::of_sequence("sheets", sequence)], ..Scene::default() }
}

fn best(mut work: impl FnMut() -> f64) -> (Duration, f64) {
    let mut fastest = Duration::MAX;
    let mut result = 0.0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        result = black_box(work());
        fastest = fastest.min(start.elapsed());
    }
    (fastest, result)
}

/// Reference time: reads the bytes of the file into memory and makes one pass over them as floats.
fn plain_pass(path: &Path) -> f64 {
    let bytes = std::fs::read(path).expect("the file was just written");
    sum(bytemuck::pod_align_to(&bytes).1)
}

/// Reads until all positions are in memory and checked, and makes one pass over them.
fn read_and_sum(path: &Path) -> f64 {
    let scene = dermis_io::read(path.to_str().expect("a plain path"), &ReadOptions::default()).expect("a valid file");
    let motion = scene.objects[0].base_motion().expect("a valid motion").expect("a moving object");
    let motion = motion.load().expect("valid frames");
    let positions = motion.positions().expect("frames in memory");
    sum(bytemuck::cast_slice(positions))
}

/// A sum in as many lanes as a register has, so that the pass runs at the speed of memory.
fn sum(numbers: &[f32]) -> f64 {
    let (rows, rest) = numbers.as_chunks::<16>();
    let mut lanes = [0f32; 16];
    for row in rows {
        for (lane, number) in lanes.iter_mut().zip(row) {
            *lane += number;
        }
    }
    lanes.iter().chain(rest).map(|&number| f64::from(number)).sum()
}
