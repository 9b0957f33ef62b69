//! End-to-end tests of `dermis volume`.

mod common;

use common::{Sandbox, box_mesh, shared_data};
use dermis::active::volume::{Effect, VolumeLayer, VolumeOptions};
use dermis::mesh::Deformer;
use dermis::prelude::*;
use serde_json::Value;

fn number(answer: &Value, key: &str) -> f64 {
    answer[key].as_f64().unwrap_or_else(|| panic!("{key} is not a number: {answer}"))
}

/// A box in frames that are scaled along x by each factor, without its last `open` triangles.
fn scaled_box(factors: &[f32], open: usize) -> Scene {
    let whole = box_mesh();
    let triangles = whole.triangles()[..whole.triangle_count() - open].to_vec();
    let mesh = Arc::new(TriMesh::new(whole.points().to_vec(), triangles).unwrap());
    let frame =
        |factor: &f32| whole.points().iter().map(|point| *point * Vec3::new(*factor, 1.0, 1.0)).collect::<Vec<_>>();
    let frames = factors.iter().flat_map(frame).collect();
    let sequence = MeshSequence::new(mesh, frames, 1.0).unwrap();
    Scene { objects: vec![Object::of_sequence("box", sequence)], ..Scene::default() }
}

/// The relative volumes of the frames of a file's first object.
fn volumes(sandbox: &Sandbox, name: &str) -> Vec<f64> {
    let object = sandbox.read(name).objects.remove(0);
    let layer = VolumeLayer::new(&object, &VolumeOptions { cap: true, ..VolumeOptions::default() }).unwrap();
    let motion = object.base_motion().unwrap().unwrap();
    (0..motion.frame_count())
        .map(|frame| layer.volume_of(&motion.frame(frame).unwrap()) / layer.rest_volume())
        .collect()
}

#[test]
fn every_clip_of_arm_and_hand_keeps_its_volume() {
    let sandbox = Sandbox::new();
    for (name, clips) in [("sample:arm", 1), ("sample:hand", 4)] {
        let answer = sandbox.succeed(&["volume", name, "-o", "out.glb", "--force", "--format", "json"]).json();
        assert!(number(&answer, "volume_drift_before") > 0.01, "{answer}");
        assert!(number(&answer, "volume_drift_after") <= 1e-6, "{answer}");
        assert!(number(&answer, "milliseconds_per_frame") > 0.0);
        let found = answer["objects"][0]["clips"].as_array().unwrap();
        assert!(
            found.len() >= clips && found.iter().all(|clip| number(clip, "volume_drift_after") <= 1e-6),
            "{answer}"
        );
    }
}

#[test]
fn the_layer_is_stored_in_the_asset_and_evaluated_from_it() {
    let sandbox = Sandbox::new();
    let effects = "\"*elbow*\" = { effect = \"muscle\", axis = [0, 1, 0], strength = 0.5 }\n\"*\" = { omega = 3 }\n";
    std::fs::write(sandbox.path("muscles.toml"), effects).unwrap();
    sandbox.succeed(&["volume", "sample:arm", "--effects", "muscles.toml", "--target", "1.02", "-o", "arm.glb"]);
    let scene = sandbox.read("arm.glb");
    let object = scene.objects.iter().find(|object| object.rig.is_some()).unwrap();
    let [Deformer::Volume(options)] = &object.deformers[..] else { panic!("the layer was not written") };
    assert_eq!(options.effects.of_joint("left_elbow").effect, Effect::Muscle);
    assert_eq!((options.effects.of_joint("wrist").omega, options.target.at(0.3)), (3.0, 1.02));
    let dermis::Motion { sequence: played, warnings, .. } =
        dermis::evaluate::clip_motion(object, &object.clips[0]).unwrap();
    assert_eq!(warnings, []);
    let layer = VolumeLayer::new(object, options).unwrap();
    for frame in 0..played.frame_count() {
        let volume = layer.volume_of(&played.frame(frame).unwrap()) / layer.rest_volume();
        assert!((volume / 1.02 - 1.0).abs() < 1e-6, "{volume} at frame {frame}");
    }
}

#[test]
fn frames_are_corrected_if_the_format_has_no_layers() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &scaled_box(&[1.0, 0.9, 1.2], 0));
    let arguments = ["volume", "box.npz", "--target", "0:1,2:1.1", "-o", "out.npz", "--format", "json"];
    let answer = sandbox.succeed(&arguments).json();
    assert!(number(&answer, "volume_drift_after") <= 1e-6, "{answer}");
    let found = volumes(&sandbox, "out.npz");
    for (volume, expected) in found.iter().zip([1.0, 1.05, 1.1]) {
        assert!((volume - expected).abs() < 1e-6, "{found:?}");
    }
    sandbox.succeed(&["volume", "sample:arm", "--bake", "-o", "baked.glb"]);
    assert!(volumes(&sandbox, "baked.glb").iter().all(|volume| (volume - 1.0).abs() < 1e-5));
}

#[test]
fn all_clips_are_baked_into_one_gltf_file_or_a_file_each() {
    let sandbox = Sandbox::new();
    let hand = ["volume", "sample:hand", "--frames", "0:40:4", "--bake"];
    sandbox.succeed(&[&hand[..], &["-o", "hand.glb"]].concat());
    let baked = sandbox.read("hand.glb").objects.remove(0);
    let names: Vec<&str> = baked.clips.iter().map(|clip| clip.name()).collect();
    assert_eq!(names, ["fist", "wave", "count", "spread"]);
    let layer = VolumeLayer::new(&baked, &VolumeOptions::default()).unwrap();
    for motion in dermis::evaluate::motions(&baked).unwrap() {
        for frame in 0..motion.sequence.frame_count() {
            let volume = layer.volume_of(&motion.sequence.frame(frame).unwrap()) / layer.rest_volume();
            assert!((volume - 1.0).abs() < 1e-5, "{volume} at frame {frame} of {}", motion.name());
        }
    }
    sandbox.succeed(&[&hand[..], &["-o", "hand.npz"]].concat());
    for name in names {
        assert!(volumes(&sandbox, &format!("hand.{name}.npz")).iter().all(|volume| (volume - 1.0).abs() < 1e-5));
    }
    assert!(sandbox.fail(&[&hand[..], &["-o", "hand.npz"]].concat()).contains("--force"));
}

#[test]
fn corrective_shapes_play_the_correction_without_the_layer() {
    let sandbox = Sandbox::new();
    let arguments =
        ["volume", "sample:arm", "--frames", "0:144:6", "--shapes", "10", "-o", "arm.glb", "--format", "json"];
    let answer = sandbox.succeed(&arguments).json();
    let clip = &answer["shapes"][0]["clips"][0];
    assert!(number(clip, "rms_error") < 0.3 * number(clip, "linear_rms_error"), "{answer}");
    let arm = sandbox.read("arm.glb").objects.remove(0);
    assert!(arm.deformers.is_empty() && arm.rig.as_ref().unwrap().shapes().len() == 10);
    assert!(sandbox.fail(&[&arguments[..], &["--bake"]].concat()).contains("--bake"));
}

#[test]
fn rejects_an_open_mesh_with_its_loops_and_caps_it_on_request() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &scaled_box(&[1.0, 0.8], 2));
    let printed = sandbox.fail(&["volume", "box.npz", "-o", "out.npz"]);
    assert!(
        printed.contains("1 boundary loop") && printed.contains("loop 0") && printed.contains("--cap"),
        "{printed}"
    );
    sandbox.succeed(&["volume", "box.npz", "--cap", "-o", "out.npz"]);
    assert!(volumes(&sandbox, "out.npz").iter().all(|volume| (volume - 1.0).abs() < 1e-6));
}

#[test]
fn exits_with_1_if_the_drift_is_too_large() {
    let sandbox = Sandbox::new();
    let run = |mode: &str, drift: &str| {
        let arguments = ["volume", "sample:arm", "--mode", mode, "--max-drift", drift, "-o", "out.npz", "--force"];
        sandbox.run(&arguments).code
    };
    assert_eq!((run("exact", "1e-6"), run("global", "1e-6"), run("exact", "1e-12")), (0, 0, 1));
}

#[test]
fn rejects_invalid_inputs_with_a_message() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("bad.toml"), "\"*\" = { effect = \"jelly\" }").unwrap();
    sandbox.write("flat.npz", &{
        let mut scene = scaled_box(&[1.0, 1.0], 0);
        let mesh = TriMesh::new(vec![Vec3::ZERO, Vec3::X, Vec3::Y], vec![[0, 1, 2], [0, 2, 1]]).unwrap();
        let frames = mesh.points().repeat(2);
        scene.objects[0] = Object::of_sequence("flat", MeshSequence::new(Arc::new(mesh), frames, 1.0).unwrap());
        scene
    });
    for (arguments, expected) in [
        (&["sample:arm", "--effects", "bad.toml"][..], "jelly"),
        (&["sample:arm", "--target", "-1"], "target"),
        (&["sample:arm", "--attribute", "nothing"], "nothing"),
        (&["flat.npz"], "volume"),
    ] {
        let printed = sandbox.fail(&[&["volume"], arguments, &["-o", "out.npz"]].concat());
        assert!(printed.contains(expected), "{arguments:?}: {printed}");
    }
}

#[test]
fn real_characters_keep_their_volume_in_all_clips() {
    let Some(data) = shared_data() else { return };
    let sandbox = Sandbox::new();
    for name in ["CesiumMan.glb", "horse-animations.glb"] {
        let file = data.join("rigs").join(name).display().to_string();
        let answer = sandbox.succeed(&["volume", &file, "-o", "out.glb", "--force", "--format", "json"]).json();
        println!("{name}: {} → {}", answer["volume_drift_before"], answer["volume_drift_after"]);
        assert!(number(&answer, "volume_drift_before") > 0.03, "{answer}");
        assert!(number(&answer, "volume_drift_after") <= 1e-6, "{answer}");
    }
}
