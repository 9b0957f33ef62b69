//! Cost of volume preservation: for the whole body at once, and joint by joint.
#![allow(missing_docs, reason = "a program, not an interface")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use dermis_active::volume::{Mode, VolumeLayer, VolumeOptions, Workspace};
use dermis_mesh::glam::{DAffine3, DVec3, Vec3};
use dermis_mesh::pose::pose_into;
use dermis_mesh::{Clip, Joint, Object, Rig, SkinWeights, TriMesh};

const SIDES: u32 = 50;
const JOINTS: u32 = 20;
const ROUNDS: usize = 60;

fn main() {
    let one_core = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread starts");
    one_core.install(|| {
        for rings in [126, 251, 501] {
            let (object, clip) = chain(rings);
            for (mode, name) in
                [(Mode::Global, "whole body"), (Mode::Exact, "20 joints, exact"), (Mode::Fast, "20 joints, fast")]
            {
                measure(&object, &clip, mode, name);
            }
        }
    });
}

fn measure(object: &Object, clip: &Clip, mode: Mode, name: &str) {
    let layer = VolumeLayer::new(object, &VolumeOptions { mode, ..VolumeOptions::default() }).expect("a closed tube");
    let mut posed = vec![Vec3::ZERO; object.mesh.point_count()];
    pose_into(&object.mesh, object.rig.as_ref().expect("a rig"), clip, 0, &mut posed);
    let mut work = Workspace::default();
    let mut positions = posed.clone();
    let mut frame = None;
    let time = |_| {
        positions.copy_from_slice(&posed);
        let start = Instant::now();
        frame = Some(layer.apply(black_box(&mut positions), Some(clip.transforms(0)), 1.0, &mut work));
        start.elapsed().as_secs_f64()
    };
    let fastest = (0..ROUNDS).map(time).fold(f64::INFINITY, f64::min);
    let frame = frame.expect("at least one round");
    println!(
        "{:6} triangles, {name:18} {:6.3} ms per frame, drift {:.1e} → {:.1e}",
        object.mesh.triangle_count(),
        1e3 * fastest,
        frame.drift_before(),
        frame.drift(layer.volume_of(&positions))
    );
}

/// A closed tube with joints along it, all bent.
fn chain(rings: u32) -> (Object, Clip) {
    let length = f64::from(JOINTS);
    let position = |ring: u32, side: u32| {
        let (sine, cosine) = (std::f64::consts::TAU * f64::from(side) / f64::from(SIDES)).sin_cos();
        DVec3::new(length * f64::from(ring) / f64::from(rings - 1), 0.3 * cosine, 0.3 * sine).as_vec3()
    };
    let mut points: Vec<Vec3> = (0..rings).flat_map(|ring| (0..SIDES).map(move |side| position(ring, side))).collect();
    let at = |ring: u32, side: u32| ring * SIDES + side % SIDES;
    let quads =
        (0..rings - 1).flat_map(|r| (0..SIDES).map(move |s| [at(r, s), at(r, s + 1), at(r + 1, s + 1), at(r + 1, s)]));
    let mut triangles: Vec<[u32; 3]> = quads.flat_map(|[a, b, c, d]| [[a, c, b], [a, d, c]]).collect();
    let ends = [points.len() as u32, points.len() as u32 + 1];
    points.extend([Vec3::ZERO, Vec3::X * length as f32]);
    triangles.extend(
        (0..SIDES).flat_map(|s| [[ends[0], at(0, s), at(0, s + 1)], [ends[1], at(rings - 1, s + 1), at(rings - 1, s)]]),
    );
    let mesh = Arc::new(TriMesh::new(points, triangles).expect("finite points"));
    let row = |point: &Vec3| {
        let position = point.x.clamp(0.0, JOINTS as f32 - 1.001);
        let (joint, t) = (position.floor() as u32, position.fract());
        [(joint, 1.0 - t), (joint + 1, t)]
    };
    let weights = SkinWeights::from_rows(mesh.points().iter().map(row));
    let bind = |k: u32| DAffine3::from_translation(DVec3::X * f64::from(k));
    let joint = |k: u32| Joint::at("joint", k.checked_sub(1).map(|above| above as usize), bind(k));
    let rig = Rig::new(&mesh, (0..JOINTS).map(joint).collect(), weights, vec![]).expect("a chain");
    let mut transforms = vec![DAffine3::IDENTITY];
    for _ in 1..JOINTS {
        let above = transforms[transforms.len() - 1];
        transforms.push(above * DAffine3::from_translation(DVec3::X) * DAffine3::from_rotation_z(0.3));
    }
    let clip = Clip::new(&rig, "bent", 24.0, transforms, vec![]).expect("a whole frame");
    (Object::of_rig("tube", mesh, rig, vec![]), clip)
}
