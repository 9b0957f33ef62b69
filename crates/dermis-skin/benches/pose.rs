//! Speed of posing skins, relative to a plain loop and to copying the same number of bytes.
#![allow(missing_docs, reason = "a program, not an interface")]

use std::hint::black_box;
use std::time::Instant;

use dermis_mesh::{Clip, Joint, Layout, Object, Rig, Shape, SkinWeights, TriMesh};
use dermis_skin::{Pose, Poser, Skin};
use glam::{DAffine3, DQuat, DVec3, Vec3};

const BONES: usize = 64;
const INFLUENCES: usize = 4;
/// Bytes that the kernel reads per vertex without its normal: rest point, four joints, four weights.
const BYTES_READ: usize = 12 + 4 + 16;
const BYTES_WRITTEN: usize = 12;

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{BONES} bones, {INFLUENCES} influences, random joints; million vertices per second");
    in_cache(100_000, cores);
    corrected(100_000);
    out_of_cache(10_000_000, cores);
}

fn in_cache(vertices: usize, cores: usize) {
    const ROUNDS: usize = 300;
    let skin = character(vertices, 0);
    let input = PlainInput::new(&skin);
    let mut out = vec![Vec3::ZERO; vertices];
    let blend = fastest(ROUNDS, || input.blend_matrices(black_box(&mut out)));
    let points = fastest(ROUNDS, || input.blend_points(black_box(&mut out)));
    let reference = out.clone();
    println!("{vertices} vertices");
    show("plain loop, blends 3×4 matrices", vertices, blend, "");
    show("plain loop, blends points", vertices, points, "");
    let (mut pose, mut normals) = (Pose::default(), vec![Vec3::ZERO; vertices]);
    for threads in counts(cores) {
        let ratios = |time: f64| format!("{:.2} × the first loop, {:.2} × the second", blend / time, points / time);
        let time = on(threads, || fastest(ROUNDS, || skin.pose_into(0, 0, &mut pose, black_box(&mut out), None)));
        show(&format!("pose_into, positions, {threads} thread(s)"), vertices, time, &ratios(time));
        let both = || skin.pose_into(0, 0, &mut pose, black_box(&mut out), Some(black_box(&mut normals)));
        let time = on(threads, || fastest(ROUNDS, both));
        show(&format!("pose_into, and normals, {threads} thread(s)"), vertices, time, &ratios(time));
    }
    let error = out.iter().zip(&reference).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(error < 1e-3, "the kernel differs from the plain loop by {error}");
}

fn corrected(vertices: usize) {
    const RANKS: usize = 10;
    let skin = character(vertices, RANKS);
    let poser = Poser::new(skin.mesh(), skin.rig());
    let (mut pose, mut out) = (Pose::default(), vec![Vec3::ZERO; vertices]);
    for rank in [0, 1, 5, RANKS] {
        poser.set_frame(&mut pose, &skin.clips()[0], 0, rank);
        let time = on(1, || fastest(100, || poser.pose_into(&pose, black_box(&mut out), None)));
        show(&format!("pose_into, positions, rank {rank}, 1 thread(s)"), vertices, time, "");
    }
}

fn out_of_cache(vertices: usize, cores: usize) {
    const ROUNDS: usize = 15;
    println!("{vertices} vertices, {BYTES_READ} bytes read and {BYTES_WRITTEN} written for each");
    let skin = character(vertices, 0);
    let (poser, mut pose, mut out) = (Poser::new(skin.mesh(), skin.rig()), Pose::default(), vec![Vec3::ZERO; vertices]);
    poser.set_frame(&mut pose, &skin.clips()[0], 0, 0);
    drop(skin);
    let source = vec![1u8; vertices * (BYTES_READ + BYTES_WRITTEN)];
    let mut target = vec![0u8; source.len()];
    for threads in counts(cores) {
        // Two references: a copy that reads and writes as many bytes in total as the kernel, and a copy of all these bytes.
        let half = source.len() / 2;
        let mut fastest = [f64::INFINITY; 3];
        on(threads, || {
            // Measured alternately, so that other load on the machine affects all measurements equally.
            for _ in 0..ROUNDS {
                let times = [
                    time(|| poser.pose_into(&pose, black_box(&mut out), None)),
                    time(|| copy(&source, black_box(&mut target), threads)),
                    time(|| copy(&source[..half], black_box(&mut target[..half]), threads)),
                ];
                fastest = std::array::from_fn(|k| fastest[k].min(times[k]));
            }
        });
        let [posing, copying, moving] = fastest;
        let note = format!(
            "{:.1} GB/s, {:.0} % of the speed of copying these bytes, {:.0} % of a copy with the same total of bytes read and written",
            source.len() as f64 / posing / 1e9,
            100.0 * copying / posing,
            100.0 * moving / posing
        );
        show(&format!("pose_into, positions, {threads} thread(s)"), vertices, posing, &note);
        show(&format!("copying these bytes, {threads} thread(s)"), vertices, copying, "");
    }
}

fn copy(source: &[u8], target: &mut [u8], threads: usize) {
    let share = source.len().div_ceil(threads);
    rayon::scope(|scope| {
        for (source, target) in source.chunks(share).zip(target.chunks_mut(share)) {
            scope.spawn(move |_| target.copy_from_slice(source));
        }
    });
}

/// Arrays for the plain loop.
struct PlainInput {
    /// Rows of 3×4 matrices.
    palette: Vec<[[f32; 4]; 3]>,
    rest: Vec<Vec3>,
    joints: Vec<[u16; INFLUENCES]>,
    weights: Vec<[f32; INFLUENCES]>,
}

impl PlainInput {
    fn new(skin: &Skin) -> Self {
        let bones = skin.rig().joints().iter().zip(skin.clips()[0].transforms(0));
        let palette = bones.map(|(joint, transform)| {
            let bone = *transform * joint.inverse_bind;
            let row = |k: usize| bone.matrix3.row(k).extend(bone.translation[k]).as_vec4().to_array();
            [row(0), row(1), row(2)]
        });
        let rows = || skin.rig().weights().rows().map(Iterator::collect::<Vec<_>>);
        Self {
            palette: palette.collect(),
            rest: skin.mesh().points().to_vec(),
            joints: rows().map(|row| std::array::from_fn(|k| row[k].0 as u16)).collect(),
            weights: rows().map(|row| std::array::from_fn(|k| row[k].1)).collect(),
        }
    }

    #[inline(never)]
    fn blend_matrices(&self, out: &mut [Vec3]) {
        for (vertex, out) in out.iter_mut().enumerate() {
            let mut blended = [[0.0; 4]; 3];
            for (&joint, weight) in self.joints[vertex].iter().zip(self.weights[vertex]) {
                for (sum, row) in blended.iter_mut().zip(&self.palette[joint as usize]) {
                    for (sum, entry) in sum.iter_mut().zip(row) {
                        *sum += weight * entry;
                    }
                }
            }
            let p = self.rest[vertex];
            let [x, y, z] = blended.map(|[a, b, c, d]| a * p.x + b * p.y + c * p.z + d);
            *out = Vec3::new(x, y, z);
        }
    }

    #[inline(never)]
    fn blend_points(&self, out: &mut [Vec3]) {
        for (vertex, out) in out.iter_mut().enumerate() {
            let p = self.rest[vertex];
            let mut sum = [0.0; 3];
            for (&joint, weight) in self.joints[vertex].iter().zip(self.weights[vertex]) {
                for (sum, [a, b, c, d]) in sum.iter_mut().zip(&self.palette[joint as usize]) {
                    *sum += weight * (a * p.x + b * p.y + c * p.z + d);
                }
            }
            *out = Vec3::from_array(sum);
        }
    }
}

/// A skin whose vertices have random bones, so that neither cache nor branch predictor benefits from a pattern.
fn character(vertices: usize, rank: usize) -> Skin {
    let vector = |k: usize, seed: u64| Vec3::from_array([0, 1, 2].map(|axis| random(k, seed + axis) - 0.5));
    let points: Vec<Vec3> = (0..vertices).map(|k| vector(k, 0) * 180.0).collect();
    let mesh = TriMesh::new(points, vec![]).expect("points are finite");
    let normals = (0..vertices).map(|k| vector(k, 3).normalize_or(Vec3::Z)).collect();
    let layout = Layout { normals: Some(normals), ..Layout::plain(&mesh) };
    let mesh = mesh.with_layout(layout).expect("a valid layout");
    let place = |bone: usize| vector(bone, 6).as_dvec3() * 180.0;
    let bind = |bone: usize| DAffine3::from_rotation_translation(DQuat::from_rotation_y(bone as f64), place(bone));
    let joints = (0..BONES).map(|bone| Joint::at("bone", None, bind(bone))).collect();
    let row = |k: usize| {
        let weights = [0, 1, 2, 3].map(|i| random(k, 10 + i) + 0.01);
        let joint = move |i: usize| (random(k, 20 + i as u64) * BONES as f32) as u32;
        (0..INFLUENCES).map(move |i| (joint(i), weights[i] / weights.iter().sum::<f32>()))
    };
    let shape = |rank: usize| Shape {
        offsets: (0..vertices).map(|k| vector(k, 30 + 3 * rank as u64)).collect(),
        ..Shape::default()
    };
    let weights = SkinWeights::from_rows((0..vertices).map(row));
    let rig = Rig::new(&mesh, joints, weights, (0..rank).map(shape).collect()).expect("a valid rig");
    let turn = |bone: usize| DAffine3::from_axis_angle(DVec3::Z, 0.1 * bone as f64) * bind(bone);
    let clip = Clip::new(&rig, "turn", 24.0, (0..BONES).map(turn).collect(), vec![0.5; rank]).expect("a valid clip");
    Skin::from_object(&Object::of_rig("character", mesh.into(), rig, vec![clip])).expect("a skin")
}

/// Pseudo-random number in 0..1.
fn random(k: usize, seed: u64) -> f32 {
    let mut bits = (k as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed.wrapping_mul(0xD1B5_4A32_D192_ED03);
    bits = (bits ^ (bits >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((bits ^ (bits >> 32)) & 0xff_ffff) as f32 / 16_777_216.0
}

fn counts(cores: usize) -> impl Iterator<Item = usize> {
    [1, cores].into_iter().take(cores.min(2))
}

fn on<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start").install(work)
}

fn fastest(rounds: usize, mut work: impl FnMut()) -> f64 {
    (0..rounds).map(|_| time(&mut work)).fold(f64::INFINITY, f64::min)
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn show(what: &str, vertices: usize, seconds: f64, note: &str) {
    println!("  {what:46} {:7.1}  {note}", vertices as f64 / seconds / 1e6);
}
