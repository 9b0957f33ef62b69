//! Skeletons of real bodies in the folder `DERMIS_DATA`, if it exists.

mod common;

use common::shared_data;
use std::sync::Arc;

use dermis_body::rigging::{FittedSkeleton, Skeleton, fit_human};
use dermis_body::{BodyModel, BodyParts, JointPlacement};
use dermis_io::ReadOptions;
use dermis_math::progress::NoProgress;
use dermis_mesh::glam::{DVec3, Vec3};
use dermis_mesh::{Scene, UpAxis};
use dermis_samples::body_model;
use dermis_tet::bone_weights::{BoneWeightsOptions, embedded_weights};
use dermis_tet::tetrahedra::lattice::{LatticeOptions, lattice_body};

/// Maximum distance between a fitted joint and that of an artist, in metres.
const BOUND: f64 = 0.03;
/// Joints of dermis and of `MakeHuman`; others have no counterpart.
const SAME: [(&str, &str); 9] = [
    ("hip", "thigh"),
    ("knee", "calf"),
    ("ankle", "foot"),
    ("foot", "ball"),
    ("shoulder", "upperarm"),
    ("elbow", "lowerarm"),
    ("wrist", "hand"),
    ("neck", "neck_01"),
    ("head", "head"),
];

fn read(name: &str) -> Option<Scene> {
    Some(dermis_io::read(shared_data(name)?.to_str()?, &ReadOptions::default()).unwrap())
}

fn place(skeleton: &Skeleton, name: &str) -> DVec3 {
    skeleton.positions()[skeleton.joints().iter().position(|joint| joint.name == name).unwrap()]
}

#[test]
fn a_fitted_skeleton_matches_that_of_an_artist() {
    let Some(scene) = read("bodies/mpfb_game_engine_smpl_layout.npz") else { return };
    let object = &scene.objects[0];
    let theirs = Skeleton::of_rig(object.rig.as_ref().unwrap()).unwrap();
    let fitted = fit_human(&object.mesh, UpAxis::Y).unwrap();
    assert!(fitted.notes.is_empty(), "{:?}", fitted.notes);
    for (ours, other) in SAME {
        let pairs = if ours == "neck" || ours == "head" {
            vec![(ours.to_owned(), other.to_owned())]
        } else {
            ["left", "right"].map(|side| (format!("{side}_{ours}"), format!("{other}_{}", &side[..1]))).to_vec()
        };
        for (name, other) in pairs {
            let off = place(&fitted.skeleton, &name).distance(place(&theirs, &other));
            println!("{name}: {:.1} mm from {other}", 1e3 * off);
            assert!(off < BOUND, "{name} is {off} from {other}");
        }
    }
}

/// Asserts that both sides of a symmetric pose are equal.
fn assert_symmetric(fitted: &FittedSkeleton) {
    for (joint, at) in fitted.skeleton.joints().iter().zip(fitted.skeleton.positions()) {
        if let Some(name) = joint.name.strip_prefix("left_") {
            let other = place(&fitted.skeleton, &format!("right_{name}"));
            assert!(at.x > 0.0 && at.distance(DVec3::new(-other.x, other.y, other.z)) < 0.02, "{name}: {at}, {other}");
        }
    }
}

#[test]
fn a_static_body_is_rigged_and_posed() {
    let Some(scene) = read("bodies/human_man.obj") else { return };
    let mesh = Arc::new(scene.objects[0].mesh.without_layout());
    let fitted = fit_human(&mesh, UpAxis::Y).unwrap();
    assert!(fitted.notes.is_empty(), "{:?}", fitted.notes);
    assert_symmetric(&fitted);
    let body = lattice_body(&mesh, &[], &LatticeOptions::default(), &NoProgress).unwrap();
    let rigged = embedded_weights(
        &body.mesh,
        &body.skin,
        mesh.triangles(),
        &fitted.skeleton,
        &BoneWeightsOptions::default(),
        &NoProgress,
    )
    .unwrap();
    assert!(rigged.converged && rigged.notes.is_empty(), "{:?}", rigged.notes);
    let model = BodyModel::new(BodyParts {
        mesh: Arc::clone(&mesh),
        joints: fitted.skeleton.joints().to_vec(),
        placement: JointPlacement::Given { rest: fitted.skeleton.positions().to_vec(), offsets: Vec::new() },
        weights: rigged.weights,
        shapes: Vec::new(),
        pose_shapes: Vec::new(),
    })
    .unwrap();
    let (_, motions) = body_model();
    let run = motions.iter().find(|motion| motion.name == "running").unwrap();
    let edges = |points: &[Vec3]| -> Vec<f32> {
        mesh.triangles().iter().map(|t| points[t[0] as usize].distance(points[t[1] as usize])).collect()
    };
    let before = edges(mesh.points());
    for pose in run.poses.iter().step_by(30) {
        let posed = model.pose(&[], pose).unwrap();
        let longer = edges(&posed.points).iter().zip(&before).filter(|(now, then)| **now > 2.5 * **then).count();
        assert!(longer * 1000 < before.len(), "{longer} of {} edges are torn", before.len());
    }
}
