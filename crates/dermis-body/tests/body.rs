//! Body models: effect of shapes, poses and motions on skin and joints.

use std::sync::{Arc, OnceLock};

use dermis_body::{
    BodyError, BodyJoint, BodyModel, BodyMotion, BodyParts, BodyPose, JointPlacement, PoseShape, from_object,
};
use dermis_mesh::pose::bake;
use dermis_mesh::{Clip, Joint, Object, Rig, SkinWeights, TriMesh};
use glam::{DAffine3, DQuat, DVec3, Vec3};

fn body() -> &'static (BodyModel, Vec<BodyMotion>) {
    static BODY: OnceLock<(BodyModel, Vec<BodyMotion>)> = OnceLock::new();
    BODY.get_or_init(dermis_samples::body_model)
}

fn joint(model: &BodyModel, name: &str) -> usize {
    model.joints().iter().position(|joint| joint.name == name).unwrap()
}

fn farthest(a: &[Vec3], b: &[Vec3]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

fn volume(points: &[Vec3], triangles: &[[u32; 3]]) -> f64 {
    let signed = |corners: &[u32; 3]| {
        let [a, b, c] = corners.map(|point| points[point as usize].as_dvec3());
        a.cross(b).dot(c) / 6.0
    };
    triangles.iter().map(signed).sum()
}

#[test]
fn rest_pose_is_the_template() {
    let (model, _) = body();
    let posed = model.pose(&[], &BodyPose::rest(24)).unwrap();
    assert!(farthest(&posed.points, model.mesh().points()) < 1e-6);
    for (joint, rest) in posed.joints.iter().zip(model.rest_joints()) {
        assert!(joint.translation.distance(*rest) < 1e-12);
    }
}

#[test]
fn rotating_the_root_rotates_the_body_about_it() {
    let (model, _) = body();
    let mut pose = BodyPose::rest(24);
    pose.angles[model.root()] = DVec3::new(0.4, -1.1, 0.7);
    pose.translation = DVec3::new(3.0, -1.0, 0.5);
    let posed = model.pose(&[], &pose).unwrap();
    let (rotation, root) = (DQuat::from_scaled_axis(pose.angles[0]), model.rest_joints()[0]);
    for (found, rest) in posed.points.iter().zip(model.mesh().points()) {
        let expected = rotation * (rest.as_dvec3() - root) + root + pose.translation;
        assert!(found.as_dvec3().distance(expected) < 1e-6);
    }
}

#[test]
fn shapes_change_skin_and_joints() {
    let (model, _) = body();
    let index = |name: &str| model.shapes().iter().position(|shape| shape.name == name).unwrap();
    let mut betas = [0.0; 4];
    betas[index("taller")] = 2.0;
    let tall = model.shaped(&betas).unwrap();
    for (joint, rest) in tall.joints().iter().zip(model.rest_joints()) {
        // Twice 4 %; offsets are stored as f32.
        assert!(joint.distance(*rest * 1.08) < 1e-6);
    }
    let litres = |betas: &[f64]| {
        let points = model.pose(betas, &BodyPose::rest(24)).unwrap().points;
        1000.0 * volume(&points, model.mesh().triangles())
    };
    betas = [0.0; 4];
    betas[index("heavier")] = 1.0;
    let (rest, heavy) = (litres(&[]), litres(&betas));
    assert!((1.1..1.5).contains(&(heavy / rest)), "{rest} and {heavy} litres");
}

#[test]
fn pose_shapes_follow_bend_but_not_twist() {
    let (model, _) = body();
    let (elbow, mut pose) = (joint(model, "left_elbow"), BodyPose::rest(24));
    let driven: Vec<usize> =
        (0..model.pose_shapes().len()).filter(|&shape| model.pose_shapes()[shape].element().0 == elbow).collect();
    assert!(!driven.is_empty());
    pose.angles[elbow] = DVec3::new(0.0, -1.5, 0.0);
    let bent = model.pose_coefficients(&pose).unwrap();
    pose.angles[elbow] = DVec3::new(1.5, 0.0, 0.0);
    let twisted = model.pose_coefficients(&pose).unwrap();
    for shape in driven {
        assert!((bent[shape] - (1.5f64.cos() - 1.0)).abs() < 1e-12 && twisted[shape].abs() < 1e-12);
    }
}

/// A body without blend shapes moves like its rig, for any rest orientation of the joints.
#[test]
fn motions_of_a_rigged_object_match_its_clips() {
    for name in ["body", "hand"] {
        let object = dermis_samples::build(name).unwrap().objects.remove(0);
        let (model, motions) = from_object(&object).unwrap();
        assert_eq!(motions.len(), object.clips.len());
        for (clip, motion) in object.clips.iter().zip(&motions) {
            assert!(motion.notes.is_empty(), "{:?}", motion.notes);
            let baked = bake(&object.mesh, object.rig.as_ref().unwrap(), clip).unwrap();
            for frame in (0..clip.frame_count()).step_by(17) {
                let posed = model.pose(&[], &motion.poses[frame]).unwrap();
                let apart = farthest(&posed.points, &baked.frame(frame).unwrap());
                assert!(apart < 1e-5, "{name} {} frame {frame}: {apart}", clip.name());
            }
        }
    }
}

#[test]
fn angles_do_not_jump_between_frames() {
    for motion in &body().1 {
        for pair in motion.poses.windows(2) {
            for (a, b) in pair[0].angles.iter().zip(&pair[1].angles) {
                assert!(a.distance(*b) < 0.5, "{}: from {a} to {b}", motion.name);
            }
        }
    }
}

#[test]
fn converts_a_shaped_body_to_an_object_and_back() {
    let (model, motions) = body();
    let shaped = model.shaped(&[0.5, 1.0]).unwrap();
    let object = shaped.to_object("tall", &motions[..1]).unwrap();
    let (again, back) = from_object(&object).unwrap();
    for frame in [0, 40, 80] {
        let transforms = shaped.joint_transforms(&motions[0].poses[frame]).unwrap();
        for (found, expected) in object.clips[0].transforms(frame).iter().zip(&transforms) {
            assert!(found.abs_diff_eq(*expected, 1e-12));
        }
        for (a, b) in back[0].poses[frame].angles.iter().zip(&motions[0].poses[frame].angles) {
            assert!(a.distance(*b) < 1e-9);
        }
    }
    assert_eq!(again.joints(), model.joints());
}

fn pair_of_points(joints: usize) -> BodyParts {
    BodyParts {
        mesh: Arc::new(TriMesh::new(vec![Vec3::ZERO, Vec3::X], vec![]).unwrap()),
        joints: (0..joints).map(|joint| BodyJoint { name: String::new(), parent: joint.checked_sub(1) }).collect(),
        placement: JointPlacement::Given { rest: vec![DVec3::ZERO; joints], offsets: Vec::new() },
        weights: SkinWeights::from_rows([[(0, 1.0)], [(0, 1.0)]]),
        shapes: Vec::new(),
        pose_shapes: Vec::new(),
    }
}

#[test]
fn rejects_inconsistent_parts() {
    assert_eq!(BodyModel::new(pair_of_points(0)), Err(BodyError::NoJoints));
    let parts = BodyParts { placement: JointPlacement::Regressed(vec![vec![(7, 1.0)]]), ..pair_of_points(1) };
    assert!(matches!(BodyModel::new(parts), Err(BodyError::Regressor { point: 7, .. })));
    let shape = PoseShape { number: 9, offsets: vec![Vec3::ZERO; 2] };
    let parts = BodyParts { pose_shapes: vec![shape], ..pair_of_points(2) };
    assert!(matches!(BodyModel::new(parts), Err(BodyError::PoseShapeOfNoJoint { number: 9, joint: 2, count: 2 })));
    let mut parts = pair_of_points(2);
    parts.joints[0].parent = Some(1);
    assert!(matches!(BodyModel::new(parts), Err(BodyError::Rig(_))));
}

#[test]
fn rejects_invalid_poses() {
    let model = BodyModel::new(pair_of_points(2)).unwrap();
    let pose = |angles: Vec<DVec3>, translation| model.pose(&[], &BodyPose { angles, translation });
    assert!(matches!(pose(vec![DVec3::ZERO], DVec3::ZERO), Err(BodyError::CountMismatch { .. })));
    assert!(matches!(pose(vec![DVec3::NAN; 2], DVec3::ZERO), Err(BodyError::NotFinite { .. })));
    assert!(matches!(pose(vec![DVec3::ZERO; 2], DVec3::INFINITY), Err(BodyError::NotFinite { .. })));
    assert!(matches!(model.shaped(&[1.0]), Err(BodyError::TooManyCoefficients { found: 1, shapes: 0 })));
}

#[test]
fn reports_clips_that_stretch_bones() {
    let mesh = Arc::new(TriMesh::new(vec![Vec3::ZERO, Vec3::X], vec![]).unwrap());
    let joints = vec![
        Joint::at("root", None, DAffine3::IDENTITY),
        Joint::at("tip", Some(0), DAffine3::from_translation(DVec3::X)),
    ];
    let weights = SkinWeights::from_rows([[(0, 1.0)], [(1, 1.0)]]);
    let rig = Rig::new(&mesh, joints, weights, Vec::new()).unwrap();
    let transforms = vec![DAffine3::IDENTITY, DAffine3::from_translation(DVec3::X * 1.5)];
    let clip = Clip::new(&rig, "stretch", 24.0, transforms, Vec::new()).unwrap();
    let (_, motions) = from_object(&Object::of_rig("bone", mesh, rig, vec![clip])).unwrap();
    assert!(motions[0].notes[0].message.contains("0.250"), "{:?}", motions[0].notes);
}
