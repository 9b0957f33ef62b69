//! Speed of the evaluation of multi-weights, relative to a single read of their bytes. The cost of a frame does not depend
//! on the number of training poses.
#![allow(missing_docs, reason = "a program, not an interface")]

use std::hint::black_box;
use std::time::Instant;

use dermis_mesh::{Joint, TriMesh};
use dermis_skin::envelope::{MultiPose, MultiPoser, MultiWeights, Precision};
use glam::{DAffine3, DVec3, Vec3};
use rayon::prelude::*;

const POINTS: usize = 200_000;
const BONES: usize = 55;
const PER_POINT: usize = 12;
const ROUNDS: usize = 25;

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{POINTS} points, {PER_POINT} of {BONES} random bones each; milliseconds per frame, best of {ROUNDS}");
    let (mesh, joints, weights) = example();
    let transforms: Vec<DAffine3> = (0..BONES).map(|bone| DAffine3::from_rotation_y(0.1 * bone as f64)).collect();
    for (precision, name, bytes) in [(Precision::Single, "f32", 48), (Precision::Half, "f16", 24)] {
        let poser = MultiPoser::new(&weights, &mesh, &joints, precision).expect("the weights are of this mesh");
        let weight_bytes = vec![1u64; POINTS * PER_POINT * bytes / 8];
        println!(
            "{name}: {:.1} MB of weights; {:.1} MB read per frame (home bones need no weights)",
            (8 * weight_bytes.len()) as f64 / 1e6,
            poser.bytes_per_frame() as f64 / 1e6
        );
        for threads in [1, cores].into_iter().take(cores.min(2)) {
            measure(&poser, &transforms, &weight_bytes, threads);
        }
    }
}

fn measure(poser: &MultiPoser, transforms: &[DAffine3], weight_bytes: &[u64], threads: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
    let (mut pose, mut points) = (MultiPose::default(), vec![Vec3::ZERO; POINTS]);
    let mut normals = points.clone();
    let mut best = [f64::INFINITY; 4];
    pool.install(|| {
        // Measured alternately, so that other load on the machine affects all measurements equally.
        for _ in 0..ROUNDS {
            let times = [
                time(|| _ = black_box(read(weight_bytes, threads))),
                time(|| poser.set_bones(&mut pose, transforms)),
                time(|| poser.pose_into(&mut pose, black_box(&mut points), None)),
                time(|| poser.pose_into(&mut pose, black_box(&mut points), Some(black_box(&mut normals)))),
            ];
            best = std::array::from_fn(|k| best[k].min(times[k]));
        }
    });
    let [reading, palette, posing, with_normals] = best;
    let frame = palette + posing;
    let bandwidth = |bytes: usize, seconds: f64| bytes as f64 / seconds / 1e9;
    println!(
        "  {threads} thread(s): reading the weights {:.2} ({:.1} GB/s); a frame {:.2} ({:.2} of it bones, {:.1} GB/s), \
         {:.0} % of the bound; with normals {:.2}",
        1e3 * reading,
        bandwidth(8 * weight_bytes.len(), reading),
        1e3 * frame,
        1e3 * palette,
        bandwidth(poser.bytes_per_frame(), frame),
        100.0 * reading / frame,
        1e3 * (palette + with_normals)
    );
}

/// Sum of all words, which reads every byte once.
fn read(words: &[u64], threads: usize) -> u64 {
    let share = words.len().div_ceil(8 * threads);
    words.par_chunks(share).map(sum).sum()
}

fn sum(words: &[u64]) -> u64 {
    let mut sums = [0u64; 16];
    for words in words.as_chunks::<16>().0 {
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}

fn example() -> (TriMesh, Vec<Joint>, MultiWeights) {
    let vector = |k: usize, seed: u64| Vec3::from_array([0, 1, 2].map(|axis| random(k, seed + axis) - 0.5));
    let side = (POINTS as f64).sqrt() as u32;
    let rest: Vec<Vec3> = (0..POINTS).map(|k| vector(k, 0) * 180.0).collect();
    let quads = (0..side - 1).flat_map(|y| (0..side - 1).map(move |x| y * side + x));
    let triangles = quads.flat_map(|at| [[at, at + 1, at + side], [at + 1, at + side + 1, at + side]]).collect();
    let mut weights = MultiWeights { offsets: vec![0], ..MultiWeights::default() };
    for (k, point) in rest.iter().enumerate() {
        let mut bones: Vec<u32> = Vec::new();
        for draw in 0.. {
            let bone = (random(k, 10 + draw) * BONES as f32) as u32;
            if !bones.contains(&bone) {
                bones.push(bone);
            }
            if bones.len() == PER_POINT {
                break;
            }
        }
        weights.home.push(bones[0]);
        bones.sort_unstable();
        let share = 1.0 / PER_POINT as f32;
        let row = |j: u64| (*point * share + vector(k, 90 + j)).extend(share).to_array();
        weights.weights.extend(bones.iter().map(|_| [row(0), row(1), row(2)]));
        weights.bones.extend(bones);
        weights.offsets.push(weights.bones.len() as u32);
    }
    let joint = |bone: usize| Joint::at("bone", None, DAffine3::from_translation(DVec3::X * bone as f64));
    let mesh = TriMesh::new(rest, triangles).expect("points are finite");
    (mesh, (0..BONES).map(joint).collect(), weights)
}

/// Pseudo-random number in 0..1.
fn random(k: usize, seed: u64) -> f32 {
    let mut bits = (k as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed.wrapping_mul(0xD1B5_4A32_D192_ED03);
    bits = (bits ^ (bits >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((bits ^ (bits >> 32)) & 0xff_ffff) as f32 / 16_777_216.0
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}
