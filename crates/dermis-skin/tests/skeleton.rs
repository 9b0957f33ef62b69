//! Joint trees of motions whose skeleton is known, and of motions without one.

mod common;

use common::{animation, elbow, moving, tube};
use dermis_math::progress::NoProgress;
use dermis_mesh::{MeshSequence, TriMesh};
use dermis_skin::{BoneModel, Bones, Fit, FitError, FitOptions, SkeletonKind, SkeletonReport, fit};
use glam::{DVec3, Quat, Vec3};

fn options(bones: usize, kind: SkeletonKind) -> FitOptions {
    FitOptions { bones: Bones::Count(bones), skeleton: Some(kind), ..FitOptions::default() }
}

fn fitted(sequence: &MeshSequence, options: &FitOptions) -> (Fit, SkeletonReport) {
    let fit = fit(sequence.mesh(), &[animation("a", sequence)], options, &NoProgress).expect("the fit succeeds");
    let report = fit.skeleton.expect("a skeleton was requested");
    (fit, report)
}

fn has_note(fit: &Fit, part: &str) -> bool {
    fit.notes.iter().any(|note| note.message.contains(part))
}

/// A chain of three bones with joints at x = 2 and x = 4, which bend about different axes.
fn chain(frames: usize) -> MeshSequence {
    moving(tube(61), frames, |frame, p| bent(frame as f32, p))
}

fn bent(t: f32, p: Vec3) -> Vec3 {
    let (first, second) = (Vec3::X * 2.05, Vec3::X * 4.05);
    let fold = |p: Vec3, joint: Vec3, turn: Quat| joint + turn * (p - joint);
    let p = if p.x > second.x {
        fold(p, second, Quat::from_euler(glam::EulerRot::XYZ, 0.3 * (0.9 * t).sin(), 0.5 * (0.7 * t).sin(), 0.0))
    } else {
        p
    };
    if p.x > first.x {
        fold(p, first, Quat::from_euler(glam::EulerRot::XYZ, 0.2 * (1.1 * t).sin(), 0.0, 0.6 * (0.5 * t).sin()))
    } else {
        p
    }
}

/// Two copies of `mesh`, the second displaced by `offset`.
fn twice(mesh: &TriMesh, offset: Vec3) -> TriMesh {
    let count = mesh.point_count() as u32;
    let points = mesh.points().iter().copied().chain(mesh.points().iter().map(|&p| p + offset)).collect();
    let more = mesh.triangles().iter().map(|triangle| triangle.map(|point| point + count));
    TriMesh::new(points, mesh.triangles().iter().copied().chain(more).collect()).expect("a valid mesh")
}

#[test]
fn a_chain_has_its_joints_at_the_bends_and_its_middle_as_the_root() {
    let sequence = chain(16);
    for kind in [SkeletonKind::Fixed, SkeletonKind::Free] {
        let (fit, report) = fitted(&sequence, &options(3, kind));
        assert_eq!((report.joints, report.roots, report.without_joint), (3, 1, 0), "{kind:?}");
        let joints = fit.skin.rig().joints();
        let root = joints.iter().position(|joint| joint.parent.is_none()).unwrap();
        assert_eq!(joints[root].name, "root");
        for end in [DVec3::X * 2.05, DVec3::X * 4.05] {
            let found =
                joints.iter().find(|joint| joint.parent == Some(root) && joint.bind().translation.distance(end) < 0.1);
            assert!(found.is_some(), "{kind:?}: no joint at {end} in {joints:?}");
        }
        assert!(fit.measures.distortion_percent < 1.0, "{kind:?}: {}", fit.measures.distortion_percent);
        assert_eq!(BoneModel::of_skin(&fit.skin), BoneModel::Rigid);
    }
}

#[test]
fn offsets_are_fixed_in_all_frames() {
    let (fit, _) = fitted(&chain(16), &options(3, SkeletonKind::Fixed));
    let (joints, clip) = (fit.skin.rig().joints(), &fit.skin.clips()[0]);
    for (index, joint) in joints.iter().enumerate() {
        let Some(parent) = joint.parent else { continue };
        let offset = |frame: usize| {
            let transforms = clip.transforms(frame);
            (transforms[parent].inverse() * transforms[index]).translation
        };
        for frame in 1..clip.frame_count() {
            assert!(offset(frame).distance(offset(0)) < 1e-5, "{} in frame {frame}", joint.name);
        }
    }
}

#[test]
fn bones_point_to_their_children_and_leaves_to_their_points() {
    let (fit, _) = fitted(&elbow(12), &options(2, SkeletonKind::Fixed));
    let leaf = fit.skin.rig().joints().iter().find(|joint| joint.parent.is_some()).unwrap();
    let (direction, from) = (leaf.bind().matrix3.y_axis, leaf.bind().translation);
    assert!((from.x - 2.0).abs() < 0.2 && direction.x.abs() > 0.9, "{from} {direction}");
}

#[test]
fn names_are_the_same_on_every_run_and_distinct() {
    let names = || -> Vec<String> {
        let (fit, _) = fitted(&chain(12), &options(3, SkeletonKind::Fixed));
        fit.skin.rig().joints().iter().map(|joint| joint.name.clone()).collect()
    };
    let (first, second) = (names(), names());
    assert_eq!(first, second);
    assert!((0..3).all(|k| !first[..k].contains(&first[k])), "{first:?}");
}

#[test]
fn one_rigid_object_has_one_joint() {
    let sequence =
        moving(tube(11), 8, |frame, p| Quat::from_rotation_y(0.3 * frame as f32) * p + Vec3::X * frame as f32);
    let (fit, report) = fitted(&sequence, &options(4, SkeletonKind::Fixed));
    assert_eq!((report.joints, report.roots), (1, 1));
    assert!(has_note(&fit, "single joint") && fit.measures.distortion_percent < 1e-3);
}

#[test]
fn two_characters_have_two_roots() {
    let mesh = twice(&tube(61), Vec3::Z * 6.0);
    let sequence = moving(mesh, 16, |frame, p| {
        let t = frame as f32;
        if p.z < 3.0 {
            bent(t, p)
        } else {
            bent(1.7 * t + 2.0, p - Vec3::Z * 6.0) + Vec3::new(0.4 * t, (0.9 * t).sin(), 6.0 + (1.3 * t).cos())
        }
    });
    let (fit, report) = fitted(&sequence, &options(6, SkeletonKind::Fixed));
    assert_eq!((report.joints, report.roots), (6, 2), "{:?}", fit.notes);
    assert!(has_note(&fit, "forest of 2 trees"));
    assert!(fit.skin.rig().joints().iter().any(|joint| joint.name == "root2"));
}

#[test]
fn cloth_has_parents_but_keeps_its_translations() {
    // A flat sheet whose parts slide past each other.
    let sheet = moving(tube(41), 16, |frame, p| {
        let t = frame as f32;
        p + Vec3::new(0.0, (1.9 * p.x + 0.8 * t).sin(), (2.3 * p.x - 0.5 * t).cos())
    });
    let (fit, report) = fitted(&sheet, &options(6, SkeletonKind::Fixed));
    assert!(report.without_joint > 0 && has_note(&fit, "as in cloth"), "{report:?}");
    assert!(fit.measures.distortion_percent.is_finite());
}

#[test]
fn a_ring_becomes_a_tree() {
    // A closed chain: the tube is bent to a ring, whose quarters rotate about their ends.
    let ring = |p: Vec3| {
        let turn = std::f32::consts::TAU * p.x / 4.0;
        Vec3::new((2.0 + p.y) * turn.cos(), (2.0 + p.y) * turn.sin(), p.z)
    };
    let tube = tube(41);
    let mesh = TriMesh::new(tube.points().iter().map(|&p| ring(p)).collect(), tube.triangles().to_vec()).unwrap();
    let sequence = moving(mesh, 12, |frame, p| {
        let stretch = 1.0 + 0.3 * (0.6 * frame as f32).sin();
        Vec3::new(p.x * stretch, p.y / stretch, p.z)
    });
    let (fit, report) = fitted(&sequence, &options(4, SkeletonKind::Free));
    assert_eq!((report.joints, report.roots), (4, 1));
    assert_eq!(fit.skin.rig().parents_first().len(), 4);
}

#[test]
fn a_skeleton_needs_refinement() {
    let mut options = options(2, SkeletonKind::Fixed);
    options.refine.max_iterations = 0;
    let sequence = elbow(6);
    let result = fit(sequence.mesh(), &[animation("a", &sequence)], &options, &NoProgress);
    assert!(matches!(result, Err(FitError::Option { .. })));
}

#[test]
fn a_static_part_has_a_joint() {
    // The first two thirds of the chain are static; only the last bends.
    let sequence = moving(tube(61), 16, |frame, p| {
        let (joint, turn) = (Vec3::X * 4.05, Quat::from_rotation_z(0.6 * (0.7 * frame as f32).sin()));
        if p.x > joint.x { joint + turn * (p - joint) } else { p }
    });
    let (fit, report) = fitted(&sequence, &options(2, SkeletonKind::Fixed));
    assert_eq!((report.joints, report.roots, report.without_joint), (2, 1, 0));
    let joints = fit.skin.rig().joints();
    let child = joints.iter().find(|joint| joint.parent.is_some()).unwrap();
    // A hinge about z determines the joint in x and y.
    assert!((child.bind().translation.x - 4.05).abs() < 0.1, "{child:?}");
    assert!(fit.measures.distortion_percent < 1.0, "{}", fit.measures.distortion_percent);
}

#[test]
fn fixed_offsets_cost_little() {
    // Limit of the results table: at most 1.5 times the distortion of as many rigid bones without parents.
    let (fit, report) = fitted(&chain(24), &options(5, SkeletonKind::Fixed));
    let (fixed, free) = (fit.measures.distortion_percent, report.distortion_percent_free);
    println!("fixed {fixed:.4} %, free {free:.4} %, ratio {:.2}", fixed / free);
    assert!(fixed <= 1.5 * free + 0.01, "{fixed} {free}");
}
