//! Skeleton fitting and bone weights.

mod lattices;

use dermis_body::rigging::{FittedSkeleton, RiggingError, Skeleton, fit_human};
use dermis_body::{BodyJoint, BodyModel, BodyPose, PosedBody};
use dermis_math::progress::NoProgress;
use dermis_mesh::{TetMesh, TriMesh, UpAxis};
use dermis_samples::body_model;
use dermis_tet::bone_weights::{BoneWeightsError, BoneWeightsOptions, embedded_weights, weights};
use dermis_tet::tetrahedra::lattice::{LatticeOptions, lattice_body};
use glam::{DQuat, DVec3, Vec3};
use lattices::{ball, rod, skin};

/// Maximum error of any joint of the sample, in metres. The height of the crotch depends on the shape of the body, and
/// the thinnest cross-section of a shin has a flat minimum.
const MAX_ERROR: f64 = 0.05;
/// Maximum mean error over all joints, in metres.
const MAX_MEAN_ERROR: f64 = 0.03;

fn skin_of(model: &BodyModel, posed: &PosedBody) -> TriMesh {
    TriMesh::new(posed.points.clone(), model.mesh().triangles().to_vec()).unwrap()
}

/// Fits the sample in a shape and pose, asserts the errors of the joints and returns the largest.
fn assert_fits(model: &BodyModel, betas: &[f64], pose: &BodyPose, label: &str) -> f64 {
    let posed = model.pose(betas, pose).unwrap();
    let fitted = fit_human(&skin_of(model, &posed), UpAxis::Y).unwrap_or_else(|error| panic!("{label}: {error}"));
    let errors: Vec<f64> = fitted
        .skeleton
        .positions()
        .iter()
        .zip(&posed.joints)
        .map(|(at, joint)| at.distance(joint.translation))
        .collect();
    let worst = (0..errors.len()).max_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    println!(
        "{label}: mean {:.1} mm, largest {:.1} mm at {}",
        1e3 * mean,
        1e3 * errors[worst],
        model.joints()[worst].name
    );
    assert!(
        errors[worst] < MAX_ERROR && mean < MAX_MEAN_ERROR,
        "{label}: {} is off by {} m",
        model.joints()[worst].name,
        errors[worst]
    );
    for (found, expected) in fitted.skeleton.joints().iter().zip(model.joints()) {
        assert_eq!(found, expected);
    }
    errors[worst]
}

#[test]
fn recovers_the_joints_of_people_of_many_shapes() {
    let (model, _) = body_model();
    let rest = BodyPose::rest(model.joints().len());
    for betas in [
        vec![],
        vec![2.0],
        vec![-2.0],
        vec![0.0, 2.0],
        vec![0.0, -2.0],
        vec![0.0, 0.0, 2.0],
        vec![0.0, 0.0, 0.0, 2.0],
        vec![1.5; 4],
    ] {
        assert_fits(&model, &betas, &rest, &format!("{betas:?}"));
    }
}

#[test]
fn recovers_the_joints_in_standing_poses() {
    let (model, motions) = body_model();
    for (name, frame) in [
        ("jumping_jacks", 0),
        ("jumping_jacks", 12),
        ("running", 0),
        ("running", 12),
        ("hips", 12),
        ("hips", 36),
        ("arm_circles", 0),
        ("arm_circles", 12),
        ("arm_circles", 28),
        ("punching", 28),
    ] {
        let motion = motions.iter().find(|motion| motion.name == name).unwrap();
        assert_fits(&model, &[], &motion.poses[frame], &format!("{name} {frame}"));
    }
}

fn fit_moved(model: &BodyModel, up: UpAxis, to: impl Fn(DVec3) -> DVec3) -> FittedSkeleton {
    let points = model.mesh().points().iter().map(|point| to(point.as_dvec3()).as_vec3()).collect();
    fit_human(&TriMesh::new(points, model.mesh().triangles().to_vec()).unwrap(), up).unwrap()
}

#[test]
fn fit_does_not_depend_on_size_position_facing_and_up_axis() {
    let (model, _) = body_model();
    let plain = fit_moved(&model, UpAxis::Y, |at| at);
    assert!(plain.forward.distance(DVec3::Z) < 0.05, "{}", plain.forward);
    let facing = DQuat::from_rotation_y(2.3);
    let z_up = DQuat::from_rotation_arc(DVec3::Y, DVec3::Z) * facing;
    let x_up = DQuat::from_rotation_arc(DVec3::Y, DVec3::X);
    let shift = DVec3::new(30.0, -7.0, 12.0);
    for (up, rotation, scale, shift) in [
        (UpAxis::Y, facing, 100.0, 100.0 * shift),
        (UpAxis::Z, z_up, 1.0, shift),
        (UpAxis::X, x_up, 0.01, DVec3::ZERO),
        (UpAxis::Y, DQuat::from_rotation_y(-1.2), 1.0, DVec3::ZERO),
    ] {
        let to = |at: DVec3| scale * (rotation * at) + shift;
        let moved = fit_moved(&model, up, to);
        assert!(moved.forward.distance(rotation * plain.forward) < 0.02);
        for (position, expected) in moved.skeleton.positions().iter().zip(plain.skeleton.positions()) {
            // Points are rounded to 1e-5 at this distance, which can move a tip to a neighbouring point.
            assert!(position.distance(to(*expected)) < 0.01 * scale, "{up:?}: {position} instead of {}", to(*expected));
        }
    }
}

#[test]
fn rejects_skins_that_are_not_a_standing_human() {
    let rejected = |mesh: &TriMesh| fit_human(mesh, UpAxis::Y).unwrap_err();
    let (model, _) = body_model();
    let body = model.mesh();
    assert_eq!(rejected(&TriMesh::default()), RiggingError::NoTriangles);
    let open = TriMesh::new(body.points().to_vec(), body.triangles()[1..].to_vec()).unwrap();
    assert!(matches!(rejected(&open), RiggingError::NotClosed { problem: "is open", count: 3, .. }));
    let mut flipped = body.triangles().to_vec();
    flipped[7].swap(0, 1);
    let flipped = TriMesh::new(body.points().to_vec(), flipped).unwrap();
    assert!(matches!(rejected(&flipped), RiggingError::NotClosed { problem: "has an inconsistent orientation", .. }));
    let count = body.point_count() as u32;
    let twice = body.points().iter().copied().chain(body.points().iter().map(|&at| at + Vec3::X)).collect();
    let both = body.triangles().iter().copied().chain(body.triangles().iter().map(|t| t.map(|p| p + count))).collect();
    let two = rejected(&TriMesh::new(twice, both).unwrap());
    assert_eq!(two, RiggingError::Shells { count: 2, largest: count as usize, points: 2 * count as usize });
    for mesh in [ball(0.2).surface(), rod(3.0, 0.25).surface(), body.without_layout().with_points(lying(body)).unwrap()]
    {
        let error = rejected(&mesh);
        assert!(matches!(error, RiggingError::NotHuman(_)), "{error}");
    }
}

/// A body on its back.
fn lying(body: &TriMesh) -> Vec<Vec3> {
    body.points().iter().map(|at| Vec3::new(at.x, -at.z, at.y)).collect()
}

/// A skeleton along a rod with a joint in the middle and another joint outside.
fn rod_skeleton() -> Skeleton {
    let joint = |name: &str, parent| BodyJoint { name: name.to_owned(), parent };
    let joints = vec![joint("root", None), joint("middle", Some(0)), joint("end", Some(1)), joint("lost", Some(0))];
    let positions = [-2.5, 0.0, 2.0, -30.0].map(|x| DVec3::new(x, 0.0, 0.0)).to_vec();
    Skeleton::new(joints, positions).unwrap()
}

fn weight(row: impl Iterator<Item = (u32, f32)>, joint: u32) -> f32 {
    row.filter(|(other, _)| *other == joint).map(|(_, weight)| weight).sum()
}

fn assert_follows_the_rod(tets: &TetMesh, nodes: &[u32]) {
    let found = weights(tets, nodes, &rod_skeleton(), &BoneWeightsOptions::default(), &NoProgress).unwrap();
    assert!(found.converged && found.weights.point_count() == nodes.len());
    assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
    assert!(found.notes[0].message.contains("'lost'") && found.handle_nodes[3] == 0);
    for (row, &node) in nodes.iter().enumerate() {
        let x = tets.nodes()[node as usize].x;
        let sum: f32 = found.weights.row(row).map(|(_, weight)| weight).sum();
        assert!((sum - 1.0).abs() < 1e-5 && weight(found.weights.row(row), 3) == 0.0);
        let owner = u32::from(x > 0.0);
        if x < -1.0 || (1.0..1.5).contains(&x) {
            assert!(
                weight(found.weights.row(row), owner) > 0.8,
                "{x}: {:?}",
                found.weights.row(row).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn weights_follow_the_bones_and_a_joint_outside_has_none() {
    let tets = rod(3.0, 0.25);
    assert_follows_the_rod(&tets, &skin(&tets));
}

#[test]
fn rejects_a_skeleton_outside_and_invalid_nodes() {
    let tets = ball(0.25);
    let joint = BodyJoint { name: "far".to_owned(), parent: None };
    let far = Skeleton::new(vec![joint], vec![DVec3::splat(50.0)]).unwrap();
    let options = BoneWeightsOptions::default();
    assert_eq!(weights(&tets, &skin(&tets), &far, &options, &NoProgress).unwrap_err(), BoneWeightsError::NoHandles);
    let missing = weights(&tets, &[9_000_000], &far, &options, &NoProgress).unwrap_err();
    assert!(matches!(missing, BoneWeightsError::NoSuchNode { node: 9_000_000, .. }));
}

#[test]
fn weights_do_not_leak_between_legs_or_from_arms_to_the_trunk() {
    let (model, _) = body_model();
    let fitted = fit_human(model.mesh(), UpAxis::Y).unwrap();
    let spacing = LatticeOptions { spacing: Some(0.03), ..LatticeOptions::default() };
    let body = lattice_body(model.mesh(), &[], &spacing, &NoProgress).unwrap();
    let options = BoneWeightsOptions::default();
    let found =
        embedded_weights(&body.mesh, &body.skin, model.mesh().triangles(), &fitted.skeleton, &options, &NoProgress)
            .unwrap();
    assert!(found.notes.is_empty(), "{:?}", found.notes);
    assert!(
        found.handle_nodes.iter().all(|&count| count > 0) && found.weights.max_influences() <= options.max_influences
    );
    for (point, at) in model.mesh().points().iter().enumerate() {
        let of = |side: &str, parts: &[&str]| {
            let named = |(joint, _): &(u32, f32)| {
                parts.iter().any(|part| model.joints()[*joint as usize].name == format!("{side}_{part}"))
            };
            found.weights.row(point).filter(named).map(|(_, weight)| weight).sum::<f32>()
        };
        let other = if at.x > 0.0 { "right" } else { "left" };
        if at.y < 0.7 {
            assert!(of(other, &["knee", "ankle", "foot"]) < 0.02, "the other leg moves {at}");
        }
        if at.y < 1.1 && at.x.abs() < 0.2 {
            let arms = of("left", &["elbow", "wrist", "hand"]) + of("right", &["elbow", "wrist", "hand"]);
            assert!(arms < 0.02, "an arm moves {at}");
        }
    }
}
