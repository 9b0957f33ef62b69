//! A fit is the same skin in every format that supports rigs: rest pose, bind pose, bones and weights.

use dermis::io::WriteOptions;
use dermis::prelude::*;
use dermis::skin::{Corrections, FitError};

/// Bones pass through quaternions and f32 in glTF, and through decimal text in USD.
const CLOSE: f64 = 1e-4;

fn bones(object: &Object) -> Vec<(DAffine3, Vec<DAffine3>)> {
    let (rig, clip) = (object.rig.as_ref().unwrap(), &object.clips[0]);
    let motion = |bone: usize| (0..clip.frame_count()).map(|frame| clip.transforms(frame)[bone]).collect();
    rig.joints().iter().enumerate().map(|(bone, joint)| (joint.bind(), motion(bone))).collect()
}

fn apart(a: &DAffine3, b: &DAffine3) -> f64 {
    let columns = |m: &DAffine3| [m.matrix3.x_axis, m.matrix3.y_axis, m.matrix3.z_axis, m.translation];
    columns(a).iter().zip(columns(b)).map(|(a, b)| a.distance(b)).fold(0.0, f64::max)
}

#[test]
fn a_fit_has_the_same_rest_pose_bind_pose_and_bones_in_every_format() {
    let gallop = dermis::read("sample:gallop").unwrap().sequence().unwrap().select(0, 12, 1).unwrap();
    let options = FitOptions { bones: Bones::Count(8), corrections: Corrections::Rank(2), ..default() };
    let fit = dermis::fit_skin(&gallop, &options).unwrap();
    let fitted = fit.skin.to_object("horse");
    let folder = tempfile::tempdir().unwrap();
    // Flexible bones are exact in FBX as nested nodes.
    let options = WriteOptions { nested_bones: true, ..default() };
    for extension in ["glb", "usda", "usdc", "fbx", "npz"] {
        let file = folder.path().join(format!("horse.{extension}"));
        dermis::write_with(&file, &fit.skin, &options, &NoProgress).unwrap();
        let read = dermis::read(file.to_str().unwrap()).unwrap().objects.remove(0);
        assert_eq!(read.mesh.points(), fitted.mesh.points(), "{extension}: the rest pose");
        let (found, expected) = (bones(&read), bones(&fitted));
        assert_eq!(found.len(), expected.len(), "{extension}");
        for (bone, ((bind, poses), (fitted_bind, fitted_poses))) in found.iter().zip(&expected).enumerate() {
            assert!(apart(bind, fitted_bind) < CLOSE, "{extension}: bone {bone} is bound at {bind} not {fitted_bind}");
            let pairs = poses.iter().zip(fitted_poses);
            let worst = pairs.map(|(a, b)| apart(a, b)).fold(0.0, f64::max);
            assert!(worst < CLOSE, "{extension}: bone {bone} is {worst} off");
        }
        let skin = Skin::from_object(&read).unwrap();
        let points = |skin: &Skin| skin.pose(0, 7).unwrap();
        let error = points(&skin).iter().zip(points(&fit.skin)).map(|(a, b)| a.distance(b)).fold(0.0, f32::max);
        assert!(error < 1e-4, "{extension}: frame 7 is {error} off");
    }
}

#[test]
fn a_fit_whose_error_exceeds_the_shape_is_rejected() {
    let gallop = dermis::read("sample:gallop").unwrap().sequence().unwrap().select(0, 4, 1).unwrap();
    let options = FitOptions { bones: Bones::Count(3), ..default() };
    let fit = dermis::fit_skin(&gallop, &options).unwrap();
    for (max_error_percent, distortion_percent) in [(150.0, 3.0), (f64::NAN, 3.0), (1.0, f64::INFINITY)] {
        let mut wrong = fit.clone();
        wrong.measures.max_error_percent = max_error_percent;
        wrong.measures.distortion_percent = distortion_percent;
        assert!(matches!(wrong.validated(), Err(FitError::Invalid { .. })), "{max_error_percent} {distortion_percent}");
    }
    assert!(fit.validated().is_ok());
}

#[test]
fn clips_of_a_given_rig_are_selected_by_name_or_number() {
    let arm = dermis::read("sample:arm").unwrap().objects.remove(0);
    let sequence = arm.sequence.clone().unwrap();
    let with = |clip: &str| {
        let options = dermis::FitRigOptions { clips: vec![clip.into()], ..default() };
        dermis::fit_rig(&arm, &sequence, &options)
    };
    for clip in ["0", "bend_and_twist"] {
        assert!(with(clip).unwrap().measures.distortion_percent < 100.0, "{clip}");
    }
    let error = with("nope").unwrap_err().to_string();
    assert!(error.contains("no clip called 'nope'"), "{error}");
}
