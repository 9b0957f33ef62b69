//! Training of multi-weights on synthetic data of the paper's sizes (MWE, §6): 300,000 points × 59 bones, 6 per point, 14
//! poses, and 200,000 points × 55 bones, 12 per point, 344 poses; then a quarter of the points of each, to show that the
//! cost is linear. Prints seconds per stage, processor time of all threads, and peak memory.
//!
//! `cargo bench -p dermis-skin --bench envelope`

use std::sync::Arc;
use std::time::Instant;

use dermis_math::progress::NoProgress;
use dermis_mesh::{Clip, Joint, MeshSequence, Rig, SkinWeights, TriMesh};
use dermis_skin::envelope::{Examples, InfluenceMaps, MapOptions, TrainOptions, one_to_one, train, validate};
use glam::{DAffine3, DQuat, DVec3};

fn main() {
    for (points, bones, per_point, poses) in
        [(75_000, 59, 6, 14), (300_000, 59, 6, 14), (50_000, 55, 12, 344), (200_000, 55, 12, 344)]
    {
        let creature = Creature::new(points, bones, poses);
        let start = Instant::now();
        let options = MapOptions { max_bones: per_point, ..MapOptions::default() };
        let maps = InfluenceMaps::from_weights(&creature.mesh, &creature.rig, creature.rig.weights(), &options);
        let map_seconds = start.elapsed().as_secs_f64();
        let (start, before) = (Instant::now(), processor_seconds());
        let trained =
            train(&creature.mesh, &creature.rig, &maps, &creature.examples, &TrainOptions::default(), &NoProgress)
                .expect("training succeeds");
        let (seconds, work) = (start.elapsed().as_secs_f64(), processor_seconds() - before);
        let stages: Vec<String> = trained.seconds.iter().map(|(stage, time)| format!("{stage} {time:.2}")).collect();
        let result = validate(&trained.weights, &trained.linear, &creature.mesh, &creature.examples, None)
            .expect("the weights match the mesh");
        println!(
            "{points} points × {bones} bones, {:.1} per point ({:.2} parts), {poses} poses: {seconds:.2} s, {work:.2} s of processor time ({}; maps {map_seconds:.2}), \
             rms {:.2e} (linear {:.2e}), smoothness {:.0e}; peak memory so far {} MB",
            trained.mean_bones,
            trained.weights.part_count() as f64 / points as f64,
            stages.join(", "),
            result.rms_error,
            result.linear_rms_error,
            trained.smoothness,
            peak_memory_mb()
        );
    }
}

/// A long body with a waving chain of joints, and flesh that bulges with the bends.
struct Creature {
    mesh: Arc<TriMesh>,
    rig: Rig,
    examples: Examples,
}

impl Creature {
    fn new(points: usize, bones: usize, poses: usize) -> Self {
        const AROUND: usize = 100;
        let rings = points / AROUND;
        let length = bones as f64;
        let place = |i: usize| {
            let turn = std::f64::consts::TAU * (i % AROUND) as f64 / AROUND as f64;
            DVec3::new(length * (i / AROUND) as f64 / rings as f64, 0.6 * turn.cos(), 0.6 * turn.sin())
        };
        let rest: Vec<DVec3> = (0..points).map(place).collect();
        let at = |ring: usize, k: usize| (ring * AROUND + k % AROUND) as u32;
        let quads = (0..(rings - 1) * AROUND).map(|i| (i / AROUND, i % AROUND));
        let triangles = quads.flat_map(|(r, k)| {
            let [a, b, c, d] = [at(r, k), at(r, k + 1), at(r + 1, k), at(r + 1, k + 1)];
            [[a, b, c], [b, d, c]]
        });
        let mesh = TriMesh::new(rest.iter().map(|p| p.as_vec3()).collect(), triangles.collect()).expect("a valid tube");
        let joint = |k: usize| Joint::at("", k.checked_sub(1), DAffine3::from_translation(DVec3::X * k as f64));
        let row = |p: &DVec3| {
            let near = (p.x - 0.5).clamp(0.0, length - 1.001);
            let (first, share) = (near as usize, near.fract());
            [(first as u32, 1.0 - share as f32), (first as u32 + 1, share as f32)]
        };
        let weights = SkinWeights::from_rows(rest.iter().map(row));
        let rig = Rig::new(&mesh, (0..bones).map(joint).collect(), weights, vec![]).expect("a valid chain");
        let transforms: Vec<DAffine3> = (0..poses).flat_map(|pose| chain(pose, bones)).collect();
        let clip = Clip::new(&rig, "wave", 24.0, transforms, vec![]).expect("complete frames");
        let mesh = Arc::new(mesh);
        let shapes = shapes(&mesh, &rig, &clip);
        let pairs = one_to_one(&clip, &shapes).expect("a shape per pose");
        let mut examples = Examples::new(&mesh, &rig);
        examples.add(&rig, &clip, &shapes, &pairs, None).expect("shapes of the same mesh");
        Self { mesh, rig, examples }
    }
}

fn bend(pose: usize, bone: usize) -> DQuat {
    let angle = |step: f64| 0.5 * (step * pose as f64 + 1.3 * bone as f64).sin();
    DQuat::from_rotation_z(angle(0.7)) * DQuat::from_rotation_y(0.6 * angle(1.1)) * DQuat::from_rotation_x(angle(1.9))
}

fn chain(pose: usize, bones: usize) -> Vec<DAffine3> {
    let mut at = DAffine3::IDENTITY;
    (0..bones)
        .map(|bone| {
            at *= DAffine3::from_rotation_translation(bend(pose, bone), DVec3::X * f64::from(u8::from(bone > 0)));
            at
        })
        .collect()
}

/// The linear skin of each pose with a rest pose that bulges at bent joints.
fn shapes(mesh: &Arc<TriMesh>, rig: &Rig, clip: &Clip) -> MeshSequence {
    let mut positions = Vec::with_capacity(mesh.point_count() * clip.frame_count());
    for pose in 0..clip.frame_count() {
        let palette: Vec<DAffine3> =
            rig.joints().iter().zip(clip.transforms(pose)).map(|(joint, at)| *at * joint.inverse_bind).collect();
        positions.extend((0..mesh.point_count()).map(|point| {
            let rest = mesh.points()[point].as_dvec3();
            let bent: f64 =
                rig.weights().row(point).map(|(bone, w)| f64::from(w) * (1.0 - bend(pose, bone as usize).w)).sum();
            let bulged = rest + 0.4 * bent * DVec3::new(0.0, rest.y, rest.z);
            let moved: DVec3 = rig
                .weights()
                .row(point)
                .map(|(bone, w)| f64::from(w) * palette[bone as usize].transform_point3(bulged))
                .sum();
            moved.as_vec3()
        }));
    }
    MeshSequence::new(Arc::clone(mesh), positions, 24.0).expect("complete frames")
}

/// Processor time of all threads, or 0 if the system does not report it: less noisy than wall time on a busy machine.
fn processor_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = |field: &str| field.parse::<f64>().unwrap_or(0.0);
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // User and system time are the 14th and 15th fields, the 12th and 13th after the name.
    fields.skip(11).take(2).map(ticks).sum::<f64>() / TICKS_PER_SECOND
}

/// Peak memory of the process, or 0 if the system does not report it.
fn peak_memory_mb() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<usize>().ok()).unwrap_or(0) / 1000
}
