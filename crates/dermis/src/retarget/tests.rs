use std::sync::Arc;

use dermis_mesh::glam::{DQuat, DVec3, Vec3};
use dermis_mesh::{Joint, SkinWeights, Units, UpAxis};

use super::*;

/// Two points, bound to joints with these names at `binds`; the clip lifts joint k by k + 1.
fn object(names: &[&str], binds: &[DVec3], points: &[Vec3]) -> Object {
    let mesh = TriMesh::new(points.to_vec(), vec![]).unwrap();
    let bind = |k: usize| DAffine3::from_translation(binds[k]);
    let joints: Vec<Joint> = names.iter().enumerate().map(|(k, name)| Joint::at(*name, None, bind(k))).collect();
    let rows = (0..points.len()).map(|k| [((k % names.len()) as u32, 1.0)]);
    let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(rows), vec![]).unwrap();
    let lift = |k: usize| DAffine3::from_translation(DVec3::Z * (k + 1) as f64) * bind(k);
    let clip = Clip::new(&rig, "lift", 24.0, (0..names.len()).map(lift).collect(), vec![]).unwrap();
    Object::of_rig("thing", mesh.into(), rig, vec![clip])
}

fn lifted(from: &Object, to: &Object) -> (Vec<Vec3>, usize) {
    let Retargeted { clip, notes, .. } = retarget(&from.clips[0], from, to, &RetargetOptions::default()).unwrap();
    let mut points = vec![Vec3::ZERO; to.mesh.point_count()];
    dermis_mesh::pose::pose_into(&to.mesh, to.rig.as_ref().unwrap(), &clip, 0, &mut points);
    (points, notes.len())
}

const POINTS: [Vec3; 2] = [Vec3::X, Vec3::Y];

#[test]
fn joints_are_matched_by_name_in_any_order() {
    let from = object(&["a", "b", "c"], &[DVec3::ZERO; 3], &POINTS);
    let to = object(&["c", "a"], &[DVec3::ZERO; 2], &POINTS);
    assert_eq!(lifted(&from, &to), (vec![Vec3::new(1.0, 0.0, 3.0), Vec3::new(0.0, 1.0, 1.0)], 0));
}

#[test]
fn joints_of_other_names_are_matched_by_order_with_a_note() {
    let from = object(&["a", "b"], &[DVec3::ZERO; 2], &POINTS);
    let to = object(&["hip", "knee"], &[DVec3::ZERO; 2], &POINTS);
    assert_eq!(lifted(&from, &to), (vec![Vec3::new(1.0, 0.0, 1.0), Vec3::new(0.0, 1.0, 2.0)], 1));
}

#[test]
fn joints_bound_elsewhere_to_the_same_shape_deform_it_equally() {
    let from = object(&["a", "b"], &[DVec3::ZERO; 2], &POINTS);
    let to = object(&["a", "b"], &[DVec3::new(5.0, 1.0, -3.0), DVec3::Y], &POINTS);
    assert_eq!(lifted(&from, &to).0, [Vec3::new(1.0, 0.0, 1.0), Vec3::new(0.0, 1.0, 2.0)]);
}

#[test]
fn joints_of_another_shape_are_moved_relative_to_their_bind_pose() {
    let from = object(&["a"], &[DVec3::ZERO], &POINTS);
    let to = object(&["a"], &[DVec3::X], &[Vec3::X, Vec3::Y, Vec3::Z]);
    assert_eq!(lifted(&from, &to).0[0], Vec3::new(1.0, 0.0, 1.0));
}

/// A figure of `size` that faces +Z, or −Z if `turned`, with names from `name`; its clip bends the left arm and
/// moves forwards by half its size. Bind rotations are those of `roll`.
fn figure(size: f64, turned: bool, roll: f64, name: impl Fn(&str) -> String) -> Object {
    let parts = [
        ("Hips", None, [0.0, 1.0, 0.0]),
        ("Spine", Some(0), [0.0, 1.3, 0.0]),
        ("LeftArm", Some(1), [0.3, 1.5, 0.0]),
        ("LeftForeArm", Some(2), [0.6, 1.5, 0.0]),
        ("LeftUpLeg", Some(0), [0.1, 0.9, 0.0]),
        ("LeftFoot", Some(4), [0.1, 0.1, 0.0]),
        ("LeftToeBase", Some(5), [0.1, 0.0, 0.2]),
        ("RightUpLeg", Some(0), [-0.1, 0.9, 0.0]),
    ];
    let facing = if turned { DQuat::from_rotation_y(std::f64::consts::PI) } else { DQuat::IDENTITY };
    let at = |position: [f64; 3]| facing * DVec3::from(position) * size;
    let bind = |k: usize| DAffine3::from_rotation_translation(DQuat::from_rotation_x(roll * k as f64), at(parts[k].2));
    let joints: Vec<Joint> =
        parts.iter().enumerate().map(|(k, (part, parent, _))| Joint::at(name(part), *parent, bind(k))).collect();
    let mesh = TriMesh::new(parts.iter().map(|(_, _, position)| at(*position).as_vec3()).collect(), vec![]).unwrap();
    let rows = (0..parts.len()).map(|k| [(k as u32, 1.0)]);
    let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(rows), vec![]).unwrap();
    let frame = |frame: usize| {
        let walk = DAffine3::from_translation(facing * DVec3::Z * 0.25 * size * frame as f64);
        let elbow = at(parts[2].2);
        let bend = DQuat::from_axis_angle(facing * DVec3::Z, 0.4 * frame as f64);
        let swing = DAffine3::from_translation(elbow) * DAffine3::from_quat(bend) * DAffine3::from_translation(-elbow);
        (0..parts.len()).map(move |k| walk * (if k == 2 || k == 3 { swing } else { DAffine3::IDENTITY }) * bind(k))
    };
    let clip = Clip::new(&rig, "walk", 30.0, (0..3).flat_map(frame).collect(), vec![]).unwrap();
    Object::of_rig("figure", mesh.into(), rig, vec![clip])
}

fn assert_walks(from: &Object, to: &Object) {
    let moved = retarget(&from.clips[0], from, to, &RetargetOptions::default()).unwrap();
    for frame in 0..3 {
        let expected = to.clips[0].transforms(frame).iter().zip(to.rig.as_ref().unwrap().joints());
        for (found, (expected, joint)) in moved.clip.transforms(frame).iter().zip(expected) {
            assert!(found.abs_diff_eq(*expected, 1e-9), "{} in frame {frame}: {found} {expected}", joint.name);
        }
    }
    let slide = foot_slide(&from.clips[0], from, &moved, to, UpAxis::Y);
    assert!(slide.is_none_or(|slide| (slide.speed - slide.source_speed).abs() < 1e-9), "{slide:?}");
}

#[test]
fn rotations_are_transferred_to_other_proportions_bind_rotations_and_facings() {
    let plain = figure(1.0, false, 0.0, ToOwned::to_owned);
    let mixamo = |part: &str| format!("mixamorig:{part}");
    assert_walks(&plain, &figure(1.8, false, 0.3, mixamo));
    assert_walks(&figure(0.01, false, 0.2, |part| format!("rig_01|bip_{part}")), &plain);
    assert_walks(&plain, &figure(1.8, true, 0.3, mixamo));
    let blender = |part: &str| match part {
        "Hips" => "pelvis".to_owned(),
        "LeftArm" => "upper_arm.L".to_owned(),
        "LeftForeArm" => "forearm.L".to_owned(),
        "LeftUpLeg" => "thigh.L".to_owned(),
        "LeftFoot" => "foot.L".to_owned(),
        "LeftToeBase" => "toe.L".to_owned(),
        "RightUpLeg" => "thigh.R".to_owned(),
        part => part.to_lowercase(),
    };
    assert_walks(&plain, &figure(1.8, false, 0.3, blender));
}

#[test]
fn joints_that_the_motion_lacks_stay_at_rest_with_a_note() {
    let from = figure(1.0, false, 0.0, |part| if part == "LeftForeArm" { "tail" } else { part }.to_owned());
    let to = figure(2.0, false, 0.0, ToOwned::to_owned);
    let moved = retarget(&from.clips[0], &from, &to, &RetargetOptions::default()).unwrap();
    assert_eq!(moved.sources.iter().filter(|source| source.is_none()).count(), 1);
    assert!(moved.notes[0].message.contains("1 of 8 joints; they stay at rest: 'LeftForeArm'"));
    // The elbow follows the arm, which rotates as a whole in this motion.
    assert!(moved.clip.transforms(2)[3].abs_diff_eq(to.clips[0].transforms(2)[3], 1e-9));
    let mapped = |text: &str| RetargetOptions { joint_map: joint_map_from_toml(text).unwrap() };
    let options = mapped("LeftForeArm = \"tail\"");
    assert!(retarget(&from.clips[0], &from, &to, &options).unwrap().notes.is_empty());
    let options = mapped("LeftForeArm = \"wing\"");
    assert!(matches!(
        retarget(&from.clips[0], &from, &to, &options).unwrap_err(),
        RetargetError::UnknownInMap { names } if names == ["wing"]
    ));
    assert!(matches!(joint_map_from_toml("a = 1"), Err(RetargetError::Map(_))));
}

#[test]
fn joints_of_other_names_between_matched_ones_are_matched_in_order() {
    let from = figure(1.8, false, 0.0, str::to_owned);
    let translated = |part: &str| match part {
        "LeftArm" => "oberarm.L".to_owned(),
        "LeftUpLeg" => "腿.L".to_owned(),
        part => part.to_owned(),
    };
    let to = figure(0.9, false, 0.2, translated);
    let moved = retarget(&from.clips[0], &from, &to, &RetargetOptions::default()).unwrap();
    assert_eq!(moved.sources, (0..8).map(Some).collect::<Vec<_>>());
    let message = "joints between matched ones are matched by order: 'oberarm.L' by 'LeftArm', '腿.L' by 'LeftUpLeg'";
    assert!(moved.notes.iter().any(|note| note.message == message), "{:?}", moved.notes);
    assert_walks(&from, &to);

    // A helper joint that the motion does not have stays at rest, and so do its neighbours with other names.
    let helper = |to: &Object| {
        let rig = to.rig.as_ref().unwrap();
        let mut joints = rig.joints().to_vec();
        let helper = Joint::at("twist", Some(2), joints[2].bind());
        joints[3].parent = Some(joints.len());
        joints.push(helper);
        let rig = Rig::new(&to.mesh, joints, rig.weights().clone(), vec![]).unwrap();
        Object::of_rig("thing", Arc::clone(&to.mesh), rig, vec![])
    };
    let moved = retarget(&from.clips[0], &from, &helper(&to), &RetargetOptions::default()).unwrap();
    assert_eq!((moved.sources[2], moved.sources[8]), (None, None));
}

#[test]
fn skeletons_without_common_names_are_matched_by_hierarchy() {
    let number = std::cell::Cell::new(0);
    let counted = |_: &str| {
        number.set(number.get() + 1);
        format!("bone{}", number.get())
    };
    let from = figure(1.0, false, 0.0, counted);
    let mut to = figure(1.5, false, 0.0, |part| format!("x{part}"));
    // One joint less, so that the order does not match.
    let rig = to.rig.clone().unwrap();
    let joints = rig.joints()[..7].to_vec();
    let rows = (0..to.mesh.point_count()).map(|k| [(k.min(6) as u32, 1.0)]);
    to.rig = Some(Arc::new(Rig::new(&to.mesh, joints, SkinWeights::from_rows(rows), vec![]).unwrap()));
    let moved = retarget(&from.clips[0], &from, &to, &RetargetOptions::default()).unwrap();
    assert_eq!(moved.sources, (0..7).map(Some).collect::<Vec<_>>());
    assert!(moved.notes[0].message.ends_with("by hierarchy"));
}

#[test]
fn a_clip_in_centimetres_with_z_up_moves_a_model_in_metres_with_y_up() {
    let centimetres = Units { metres_per_unit: Some(0.01), up_axis: Some(UpAxis::Z) };
    let metres = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) };
    // (x, y, z) with z up is (x, z, −y) with y up.
    let from = object(&["a"], &[DVec3::new(0.0, -300.0, 0.0)], &[Vec3::new(100.0, 0.0, 200.0), Vec3::ZERO]);
    let to = object(&["a"], &[DVec3::new(0.0, 0.0, 3.0)], &[Vec3::new(1.0, 2.0, 0.0), Vec3::ZERO]);
    let from = in_units(&from, centimetres, metres).unwrap().unwrap();
    assert!(same_shape(&from.mesh, &to.mesh));
    let lifted = lifted(&from, &to).0[0];
    assert!(lifted.distance(Vec3::new(1.0, 2.01, 0.0)) < 1e-6, "{lifted}");
    assert!(in_units(&to, metres, metres).unwrap().is_none());
    assert!(in_units(&to, Units::default(), metres).unwrap().is_none());
}

#[test]
fn rejects_a_clip_without_matching_joints_and_lists_them() {
    let from = object(&["x"], &[DVec3::ZERO], &POINTS);
    let mut to = object(&["a", "b", "c"], &[DVec3::ZERO; 3], &POINTS);
    to.name = "other".into();
    let error = retarget(&from.clips[0], &from, &to, &RetargetOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "the clip 'lift' moves none of the 3 joints");
    assert_eq!(error.details(), ["joints of the rig: 'a', 'b', 'c'", "joints of the clip: 'x'"]);
    let bare = Object { rig: None, ..from.clone() };
    let error = retarget(&from.clips[0], &bare, &to, &RetargetOptions::default()).unwrap_err();
    assert_eq!(error, RetargetError::NoJoints("thing".into()));
}
