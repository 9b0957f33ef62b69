//! Speed of posing points, compared with a plain loop over points and influences.
#![allow(missing_docs, reason = "a program, not an interface")]

use std::hint::black_box;
use std::time::Instant;

use dermis_mesh::glam::{DAffine3, DQuat, DVec3, Vec3};
use dermis_mesh::pose::pose_into;
use dermis_mesh::{Clip, Joint, Rig, SkinWeights, TriMesh};

const POINTS: usize = 200_000;
const JOINTS: usize = 64;
const INFLUENCES: usize = 4;
const ROUNDS: usize = 40;

fn main() {
    let (mesh, rig, clip) = character();
    let mut out = vec![Vec3::ZERO; POINTS];
    let plain = fastest(|| plain_loop(&mesh, &rig, &clip, black_box(&mut out)));
    let reference = out.clone();
    println!("{POINTS} points, {JOINTS} joints, {INFLUENCES} influences");
    println!("plain loop           {:7.1} M vertices/s", POINTS as f64 / plain / 1e6);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in [1, cores] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads start");
        let time = pool.install(|| fastest(|| pose_into(&mesh, &rig, &clip, 0, black_box(&mut out))));
        println!("pose_into, {threads} threads {:7.1} M vertices/s, {:.2} ×", POINTS as f64 / time / 1e6, plain / time);
    }
    assert_eq!(out, reference, "the kernel must match the plain loop bitwise");
}

fn character() -> (TriMesh, Rig, Clip) {
    let wave = |k: usize, step: f64| (k as f64 * step).sin();
    let point = |k: usize| DVec3::new(wave(k, 0.37), wave(k, 0.11), wave(k, 0.73)).as_vec3() * 90.0;
    let mesh = TriMesh::new((0..POINTS).map(point).collect(), vec![]).expect("points are finite");
    let location = |k: usize| DVec3::new(wave(k, 1.3), wave(k, 2.1), wave(k, 0.9)) * 90.0;
    let bind = |k: usize| DAffine3::from_rotation_translation(DQuat::from_rotation_y(wave(k, 0.7)), location(k));
    let joints = (0..JOINTS).map(|k| Joint::at("joint", None, bind(k))).collect();
    // Neighbouring points have neighbouring joints, as in a character.
    let row = |k: usize| (0..INFLUENCES).map(move |i| (((k / 997 + 5 * i) % JOINTS) as u32, 1.0 / INFLUENCES as f32));
    let rig = Rig::new(&mesh, joints, SkinWeights::from_rows((0..POINTS).map(row)), vec![]).expect("a valid rig");
    let rotation = DAffine3::from_rotation_z(0.3);
    let clip = Clip::new(&rig, "rotation", 24.0, (0..JOINTS).map(|k| rotation * bind(k)).collect(), vec![]);
    (mesh, rig, clip.expect("a valid clip"))
}

fn plain_loop(mesh: &TriMesh, rig: &Rig, clip: &Clip, out: &mut [Vec3]) {
    let palette: Vec<DAffine3> =
        rig.joints().iter().zip(clip.transforms(0)).map(|(joint, pose)| *pose * joint.inverse_bind).collect();
    for (index, point) in out.iter_mut().enumerate() {
        let rest = mesh.points()[index].as_dvec3();
        let blended = rig.weights().row(index).fold(DVec3::ZERO, |sum, (joint, weight)| {
            sum + f64::from(weight) * palette[joint as usize].transform_point3(rest)
        });
        *point = blended.as_vec3();
    }
}

fn fastest(mut work: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(time).fold(f64::INFINITY, f64::min)
}
