//! Size and reading time of a sequence as a USD crate, relative to the same sequence as text.
//!
//! 200 frames × 5,000 points. Run with `cargo bench -p dermis-io --bench usd_crate`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dermis_io::{ReadOptions, WriteOptions};
use dermis_math::progress::NoProgress;
use dermis_mesh::glam::Vec3;
use dermis_mesh::{MeshSequence, Object, Scene, TriMesh};

const FRAMES: usize = 200;
const COLUMNS: usize = 100;
const ROWS: usize = 50;
const ROUNDS: usize = 3;
/// Limits that the project guarantees.
const MAX_SIZE_RATIO: f64 = 1.0 / 3.0;
const MIN_SPEED_RATIO: f64 = 10.0;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scene = scene();
    let [text, binary] = ["usda", "usdc"].map(|extension| {
        let path = folder.path().join(format!("sequence.{extension}"));
        dermis_io::write(&path, &scene, &WriteOptions::default(), &NoProgress).expect("the sequence is written");
        (std::fs::metadata(&path).expect("the file is there").len() as f64, read_time(&path))
    });
    let (size, speed) = (binary.0 / text.0, text.1.as_secs_f64() / binary.1.as_secs_f64());
    println!(
        "usda: {:.1} MB, read in {:?}; usdc: {:.1} MB, read in {:?}",
        text.0 / 1e6,
        text.1,
        binary.0 / 1e6,
        binary.1
    );
    println!("the crate has {size:.3} of the size and is read {speed:.1} times faster");
    if size > MAX_SIZE_RATIO || speed < MIN_SPEED_RATIO {
        println!("NOT within the limits of {MAX_SIZE_RATIO:.3} and {MIN_SPEED_RATIO}");
        std::process::exit(1);
    }
}

/// A waving sheet.
fn scene() -> Scene {
    let rest: Vec<Vec3> =
        (0..COLUMNS * ROWS).map(|k| Vec3::new((k % COLUMNS) as f32, (k / COLUMNS) as f32, 0.0) * 0.0137).collect();
    let cells = (0..ROWS - 1).flat_map(|row| (0..COLUMNS - 1).map(move |column| (row * COLUMNS + column) as u32));
    let up = COLUMNS as u32;
    let triangles = cells.flat_map(|at| [[at, at + 1, at + up + 1], [at, at + up + 1, at + up]]).collect();
    let wave = |frame: usize, point: Vec3| {
        let phase = 0.1 * frame as f32 + 3.0 * point.x + 2.0 * point.y;
        point + Vec3::new(0.02 * phase.cos(), 0.03 * (1.7 * phase).sin(), 0.2 * phase.sin())
    };
    let positions = (0..FRAMES).flat_map(|frame| rest.iter().map(move |&point| wave(frame, point))).collect();
    let mesh = TriMesh::new(rest.clone(), triangles).expect("a mesh");
    let sequence = MeshSequence::new(Arc::new(mesh), positions, 24.0).expect("a sequence");
    Scene { objects: vec![Object::of_sequence("sheet", sequence)], ..Scene::default() }
}

/// Best time to read a file and all its frames.
fn read_time(path: &Path) -> Duration {
    let read = || {
        let start = Instant::now();
        let scene = dermis_io::read(path.to_str().expect("a path"), &ReadOptions::default()).expect("it is read");
        let sequence = scene.objects[0].sequence.clone().expect("frames");
        assert_eq!(sequence.positions().expect("positions").len(), FRAMES * COLUMNS * ROWS);
        start.elapsed()
    };
    (0..ROUNDS).map(|_| read()).min().unwrap_or_default()
}
