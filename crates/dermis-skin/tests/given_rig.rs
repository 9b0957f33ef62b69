//! Skins of existing rigs: motion from frames, locked weights, helper bones.

#[allow(dead_code, reason = "other tests use the remaining functions")]
mod common;

use std::sync::Arc;

use common::{animation, moving, tube};
use dermis_math::progress::NoProgress;
use dermis_mesh::{Clip, Joint, MeshSequence, Rig, SkinWeights, TriMesh};
use dermis_skin::{BoneModel, FitError, FitOptions, RigOptions, fit_rig};
use glam::{DAffine3, DQuat, DVec3, EulerRot, Vec3};

const FRAMES: usize = 12;

/// Tube with a joint at x = 2 and one at x = 4, blended over a unit of length, and an end joint without points.
fn rigged() -> (TriMesh, Rig, Vec<Arc<Clip>>) {
    let mesh = tube(61);
    let at = |x: f64| DAffine3::from_translation(DVec3::X * x);
    let joints = vec![
        Joint::at("a", None, at(0.0)),
        Joint::at("b", Some(0), at(2.0)),
        Joint::at("c", Some(1), at(4.0)),
        Joint::at("tip", Some(2), at(6.0)),
    ];
    let row = |p: &Vec3| {
        let past = |x: f32| (p.x - x + 0.5).clamp(0.0, 1.0);
        let (b, c) = (past(2.0), past(4.0));
        [(0, 1.0 - b), (1, b - c), (2, c)]
    };
    let weights = SkinWeights::from_rows(mesh.points().iter().map(row));
    let rig = Rig::new(&mesh, joints, weights, vec![]).unwrap();
    let clip = Clip::new(&rig, "clip", 24.0, (0..FRAMES).flat_map(pose).collect(), vec![]).unwrap();
    (mesh, rig, vec![Arc::new(clip)])
}

fn pose(frame: usize) -> Vec<DAffine3> {
    let t = frame as f64;
    let turn = |x: f64, y: f64, z: f64| DAffine3::from_quat(DQuat::from_euler(EulerRot::XYZ, x, y, z));
    let step = DAffine3::from_translation(DVec3::X * 2.0);
    let a = DAffine3::from_translation(DVec3::new(0.0, 0.1 * t, 0.0)) * turn(0.1 * t, 0.0, 0.2 * (0.7 * t).sin());
    let b = a * step * turn(0.0, 0.3 * (0.9 * t).sin(), 0.6 * (0.5 * t).sin());
    let c = b * step * turn(0.2 * (1.1 * t).sin(), 0.5 * (0.6 * t).sin(), 0.0);
    vec![a, b, c, c * step]
}

/// Frames of the rig, with `bulge` added to each point in the rest pose of its frame.
fn frames(mesh: &TriMesh, rig: &Rig, bulge: impl Fn(usize, Vec3) -> Vec3) -> MeshSequence {
    let rows: Vec<Vec<(u32, f32)>> = rig.weights().rows().map(Iterator::collect).collect();
    let points = mesh.points().to_vec();
    let index = |p: Vec3| points.iter().position(|other| *other == p).unwrap();
    moving(mesh.clone(), FRAMES, |frame, p| {
        let at = bulge(frame, p).as_dvec3();
        let move_by = |&(joint, weight): &(u32, f32)| {
            let joint = joint as usize;
            f64::from(weight) * (pose(frame)[joint] * rig.joints()[joint].inverse_bind).transform_point3(at)
        };
        rows[index(p)].iter().map(move_by).sum::<DVec3>().as_vec3()
    })
}

fn options() -> FitOptions {
    FitOptions { bone_model: BoneModel::Rigid, influences: 8, ..FitOptions::default() }
}

#[test]
fn rotations_are_recovered_with_fixed_bone_lengths() {
    let (mesh, rig, clips) = rigged();
    let sequence = frames(&mesh, &rig, |_, p| p);
    let how = RigOptions { rotations_only: true, lock_weights: true, helpers: 0 };
    let fit = fit_rig(&mesh, &[animation("a", &sequence)], (&rig, &[]), &options(), &how, &NoProgress).unwrap();
    assert!(fit.measures.distortion_percent < 0.1, "{}", fit.measures.distortion_percent);
    for (found, given) in fit.skin.rig().weights().rows().zip(rig.weights().rows()) {
        let (mut found, mut given): (Vec<_>, Vec<_>) = (found.collect(), given.filter(|(_, w)| *w != 0.0).collect());
        found.sort_by_key(|entry| entry.0);
        given.sort_by_key(|entry| entry.0);
        let is_same = |(a, b): (&(u32, f32), &(u32, f32))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-6;
        assert!(found.len() == given.len() && found.iter().zip(&given).all(is_same), "{found:?} {given:?}");
    }
    let clip = &fit.skin.clips()[0];
    for frame in 0..FRAMES {
        let (found, truth) = (clip.transforms(frame), clips[0].transforms(frame));
        for joint in 0..3 {
            assert!(found[joint].translation.distance(truth[joint].translation) < 0.02, "joint {joint}, frame {frame}");
        }
        let length = found[2].translation.distance(found[1].translation);
        assert!((length - 2.0).abs() < 1e-5, "frame {frame}: {length}");
        // The joint without points follows its parent.
        let tip = found[2].inverse() * found[3];
        assert!(tip.translation.distance(DVec3::X * 2.0) < 1e-4, "frame {frame}: {tip}");
    }
}

#[test]
fn helpers_reproduce_motion_that_the_joints_do_not() {
    let (mesh, rig, clips) = rigged();
    // A part of the second bone slides up and down.
    let sequence = frames(&mesh, &rig, |frame, p| {
        let near = (1.0 - (p.x - 3.0).abs()).max(0.0) * f32::from(u8::from(p.y > 0.0));
        p + Vec3::Y * 0.4 * near * (0.8 * frame as f32).sin()
    });
    let run = |helpers: usize, lock_weights: bool| {
        let how = RigOptions { rotations_only: false, lock_weights, helpers };
        fit_rig(&mesh, &[animation("a", &sequence)], (&rig, &clips), &options(), &how, &NoProgress).unwrap()
    };
    let without = run(0, true);
    for lock_weights in [true, false] {
        let with = run(2, lock_weights);
        let report = with.rig.as_ref().unwrap();
        let joints = with.skin.rig().joints();
        assert_eq!((report.joints, report.helper_parents.len(), joints.len()), (4, 2, 6));
        assert!(report.helper_parents.iter().all(|parent| parent == "b"), "{report:?}");
        for (joint, given) in joints.iter().zip(rig.joints()) {
            assert_eq!((&joint.name, joint.parent), (&given.name, given.parent));
        }
        assert_eq!((joints[4].name.as_str(), joints[4].parent), ("helper_01", Some(1)));
        let (before, after) = (without.measures.distortion_percent, with.measures.distortion_percent);
        println!("locked {lock_weights}: {before:.3} % without helpers, {after:.3} % with two");
        assert!(after < 0.6 * before, "locked {lock_weights}: {before} became {after}");
    }
    let locked = run(2, true);
    for (found, given) in locked.skin.rig().weights().rows().zip(rig.weights().rows()) {
        let (found, given): (Vec<_>, Vec<_>) = (found.collect(), given.filter(|(_, w)| *w > 0.0).collect());
        let own: f32 = found.iter().filter(|(joint, _)| *joint < 4).map(|(_, weight)| weight).sum();
        for (joint, weight) in given {
            let kept = found.iter().find(|entry| entry.0 == joint).map_or(0.0, |entry| entry.1);
            assert!((kept - own * weight).abs() < 1e-5, "joint {joint}: {kept} of {weight}");
        }
    }
}

#[test]
fn rejects_mismatched_rigs() {
    let (mesh, rig, clips) = rigged();
    let sequence = frames(&mesh, &rig, |_, p| p);
    let run = |mesh: &TriMesh, clips: &[Arc<Clip>], how: RigOptions| {
        fit_rig(mesh, &[animation("a", &sequence)], (&rig, clips), &options(), &how, &NoProgress)
    };
    assert!(matches!(run(&mesh, &[], RigOptions::default()), Err(FitError::ClipCount { found: 0, .. })));
    let many = RigOptions { helpers: 1_000_000, ..RigOptions::default() };
    assert!(matches!(run(&mesh, &clips, many), Err(FitError::Option { .. })));
}
