//! End-to-end tests of `dermis envelope`.

mod common;

use std::fmt::Write as _;

use common::{Sandbox, shared_data};
use dermis::prelude::*;
use serde_json::Value;

/// A few frames of the built-in arm, which train quickly.
const QUICK: [&str; 5] = ["envelope", "train", "sample:arm", "--frames", "0:144:8"];

fn train<'a>(more: &[&'a str]) -> Vec<&'a str> {
    QUICK.iter().chain(more).copied().collect()
}

fn number(answer: &Value, key: &str) -> f64 {
    answer[key].as_f64().unwrap_or_else(|| panic!("{key} is not a number: {answer}"))
}

/// The built-in arm with all its frames.
fn arm() -> Scene {
    dermis::io::read("sample:arm", &ReadOptions::default()).unwrap()
}

#[test]
fn a_model_is_learned_validated_and_posed() {
    let sandbox = Sandbox::new();
    let learned = sandbox.succeed(&train(&["-o", "arm.glb", "--format", "json"])).json();
    assert!(number(&learned, "rms_error") < 0.2 * number(&learned, "linear_rms_error"), "{learned}");
    assert!(number(&learned, "max_error") > 0.0 && number(&learned, "smoothness") > 0.0);
    let curve = &learned["smoothness_curve"];
    assert_eq!(curve["smoothness"].as_array().unwrap().len(), curve["rms_error"].as_array().unwrap().len());
    assert_eq!(learned["pose_errors"].as_array().unwrap().len(), 18);
    assert!(learned["worst_poses"][0].as_str().unwrap().starts_with("bend_and_twist "));
    let validate = ["envelope", "validate", "arm.glb", "--rig", "sample:arm", "--format", "json"];
    let again = sandbox.succeed(&[&validate[..], &["--frames", "0:144:8"]].concat()).json();
    for key in ["rms_error", "linear_rms_error", "smoothness"] {
        let (before, after) = (number(&learned, key), number(&again, key));
        assert!((before - after).abs() <= 1e-3 * before, "{key}: {before} became {after}");
    }
    let new = sandbox.succeed(&[&validate[..], &["--frames", "3:144:8", "--frames", "5:144:8"]].concat()).json();
    assert_eq!(new["poses"], 36);
    assert_eq!(new["point_rms_errors"].as_array().unwrap().len(), new["points"].as_u64().unwrap() as usize);
    assert!(number(&new, "rms_error") < 0.5 * number(&new, "linear_rms_error"), "{new}");
    sandbox.succeed(&["pose", "arm.glb", "-o", "posed.npz"]);
    assert_eq!(sandbox.read("posed.npz").objects[0].sequence.as_ref().unwrap().frame_count(), 144);
    let missed = sandbox.run(&[&validate[..], &["--error", "1e-9"]].concat());
    assert_eq!(missed.code, 1, "{}", missed.stderr);
    assert!(sandbox.fail(&train(&["-o", "arm.glb"])).contains("--force"));
}

#[test]
fn a_model_is_exported_as_shapes_for_engines() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&train(&["-o", "arm.glb", "--smoothness", "1e-8"]));
    let export = ["envelope", "export", "arm.glb", "--engine", "unity", "--shapes", "12", "-o", "unity.glb"];
    let answer = sandbox.succeed(&[&export[..], &["--format", "json"]].concat()).json();
    assert!(answer["max_influences"].as_u64().unwrap() <= 4, "{answer}");
    let clip = &answer["clips"][0];
    assert!(number(clip, "rms_error") < 0.3 * number(clip, "linear_rms_error"), "{answer}");
    let arm = sandbox.read("unity.glb").objects.remove(0);
    assert!(arm.deformers.is_empty() && arm.rig.as_ref().unwrap().shapes().len() == 12);
    let printed = sandbox.fail(&["envelope", "export", "unity.glb", "-o", "again.glb"]);
    assert!(printed.contains("multi-weights"), "{printed}");
}

#[test]
fn the_error_of_half_precision_is_printed() {
    let sandbox = Sandbox::new();
    let more = ["-o", "half.glb", "--half", "--smoothness", "1e-8", "--format", "json"];
    let learned = sandbox.succeed(&train(&more)).json();
    assert!(number(&learned, "half_rms_error") < 1e-4 && number(&learned, "half_max_error") > 0.0, "{learned}");
    sandbox.succeed(&["envelope", "validate", "half.glb", "--rig", "sample:arm"]);
}

#[test]
fn poses_are_added_to_an_earlier_training_set() {
    let sandbox = Sandbox::new();
    let first = ["-o", "first.glb", "--smoothness", "1e-8", "--save-examples", "set.npz", "--format", "json"];
    assert_eq!(sandbox.succeed(&train(&first)).json()["poses"], 18);
    let more = ["envelope", "train", "sample:arm", "--frames", "4:144:16", "--add", "set.npz", "--smoothness", "1e-8"];
    let more = [&more[..], &["-o", "both.glb", "--pose-weight", "20=3", "--format", "json"]].concat();
    assert_eq!(sandbox.succeed(&more).json()["poses"], 27);
}

#[test]
fn shapes_are_read_from_numbered_files_times_and_morph_targets() {
    let sandbox = Sandbox::new();
    let arm = arm();
    let object = &arm.objects[0];
    let frames = [0usize, 19, 40, 55, 80, 100, 120];
    std::fs::create_dir(sandbox.path("sculpts")).unwrap();
    let shapes = object.sequence.as_ref().unwrap();
    let mut morphs = Vec::new();
    for &frame in &frames {
        let points = shapes.frame(frame).unwrap();
        let mut text = String::new();
        points.iter().for_each(|p| writeln!(text, "v {} {} {}", p.x, p.y, p.z).unwrap());
        for [a, b, c] in object.mesh.triangles() {
            writeln!(text, "f {} {} {}", a + 1, b + 1, c + 1).unwrap();
        }
        std::fs::write(sandbox.path("sculpts").join(format!("arm_{frame:04}.obj")), text).unwrap();
        let offsets = points.iter().zip(object.mesh.points()).map(|(p, rest)| *p - *rest).collect();
        morphs.push(dermis::mesh::Shape { name: format!("at {frame}"), offsets, normal_offsets: None });
    }
    let learn = |more: &[&str]| {
        let common = ["envelope", "train", "sample:arm", "--smoothness", "1e-6", "--force", "-o", "m.glb"];
        sandbox.succeed(&[&common[..], &["--format", "json"], more].concat()).json()
    };
    let by_number = learn(&["--targets", "sculpts"]);
    assert_eq!(by_number["poses"], 7);
    assert_eq!(by_number["pose_errors"][3]["name"], "bend_and_twist 55");
    let times: Vec<String> = frames.iter().map(|&frame| (frame as f64 / 24.0).to_string()).collect();
    let times = times.join(",");
    let by_time = learn(&["--targets", "sculpts", "--pose-times", &times]);
    assert_eq!(by_time["rms_error"], by_number["rms_error"]);
    let rig = Rig::new(&object.mesh, vec![], SkinWeights::default(), morphs).unwrap();
    let morphing = Object::of_rig("arm", Arc::clone(&object.mesh), rig, vec![]);
    sandbox.write("morphs.glb", &Scene { objects: vec![morphing], ..Scene::default() });
    let by_morph = learn(&["--targets", "morphs.glb", "--pose-times", &times]);
    let (a, b) = (number(&by_morph, "rms_error"), number(&by_number, "rms_error"));
    assert!((a - b).abs() < 1e-3 * b, "{a} {b}");
    assert!(
        sandbox
            .fail(&["envelope", "train", "sample:arm", "--targets", "morphs.glb", "-o", "x.glb"])
            .contains("7 shapes")
    );
}

#[test]
fn maps_are_read_from_attributes_textures_files_and_examples() {
    let sandbox = Sandbox::new();
    let mut arm = arm();
    let rig = arm.objects[0].rig.clone().unwrap();
    for (bone, joint) in rig.joints().iter().enumerate() {
        let map = arm.objects[0].mesh.points().iter().map(|p| 1.0 / (1.0 + (8.0 * p.x - bone as f32).powi(2)));
        let map = map.collect();
        arm.objects[0].attributes.insert(format!("map_{}", joint.name), map);
    }
    sandbox.write("painted.npz", &arm);
    for maps in ["attribute:map_", "auto", "painted.npz"] {
        let common = ["envelope", "train", "painted.npz", "--frames", "0:144:12", "--smoothness", "1e-6", "--force"];
        let learned =
            sandbox.succeed(&[&common[..], &["-o", "m.glb", "--maps", maps, "--format", "json"]].concat()).json();
        let errors = (number(&learned, "rms_error"), number(&learned, "linear_rms_error"));
        assert!(errors.0 < 0.8 * errors.1, "{maps}: {errors:?}");
    }
    let wrong = |maps: &str| sandbox.fail(&["envelope", "train", "painted.npz", "-o", "x.glb", "--maps", maps]);
    assert!(wrong("attribute:none_").contains("no attribute"));
    assert!(wrong("textures:nowhere").contains("no UVs"));
    assert!(wrong("missing.npz").contains("no such file"));
}

#[test]
fn rejects_inputs_that_do_not_match() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["convert", "sample:arm", "short.npz", "--frames", "0:10"]);
    let error = |more: &[&str]| sandbox.fail(&[&["envelope", "train", "sample:arm", "-o", "x.glb"], more].concat());
    let lengths = error(&["--targets", "short.npz"]);
    assert!(lengths.contains("144 frames") && lengths.contains("10 shapes") && lengths.contains("hint:"), "{lengths}");
    let other = error(&["--targets", "sample:gallop"]);
    assert!(other.contains("do not match") && other.contains("hint:"), "{other}");
    assert!(error(&["--pose-times", "1,2"]).contains("2 times"));
    assert!(error(&["--frames", "200:300"]).contains("contains no pose"));
    assert!(error(&["--pose-weight", "7=-1"]).contains("invalid weight -1"));
    assert!(error(&["--smoothness=-1"]).contains("must be 0 or more"));
    assert!(error(&["--clip", "nothing"]).contains("nothing"));
    let no_rig = sandbox.fail(&["envelope", "train", "sample:gallop", "-o", "x.glb"]);
    assert!(no_rig.contains("no joints"), "{no_rig}");
    sandbox.succeed(&["convert", "sample:arm", "plain.glb"]);
    assert!(sandbox.fail(&["envelope", "validate", "plain.glb"]).contains("no multi-weights"));
    assert!(sandbox.files().iter().all(|file| file != "x.glb"));
}

#[test]
fn the_elastic_bone_is_predicted_beyond_its_examples() {
    let Some(data) = shared_data() else { return };
    let sandbox = Sandbox::new();
    let path = |name: &str| data.join(name).display().to_string();
    let (rig, targets) = (path("rigs/dembones_bone_skeleton.npz"), path("sequences/dembones_bone.npz"));
    let common = ["--targets", &targets, "--format", "json"];
    let train = [&["envelope", "train", &rig, "--frames", "0:300", "-o", "bone.glb"], &common[..]].concat();
    sandbox.succeed(&train);
    let validate = ["envelope", "validate", "bone.glb", "--rig", &rig, "--frames", "300:400"];
    let answer = sandbox.succeed(&[&validate[..], &common].concat()).json();
    assert!(number(&answer, "rms_error") <= 0.0325 && number(&answer, "linear_rms_error") < 0.0333, "{answer}");
}
