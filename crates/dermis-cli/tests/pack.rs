//! End-to-end tests of `dermis pack`.

mod common;

use common::Sandbox;

#[test]
fn a_packed_file_is_smaller_and_can_be_played() {
    let sandbox = Sandbox::new();
    let command = ["pack", "sample:arm", "--error", "1", "--compare", "-o", "arm.glb", "--format", "json"];
    let answer = sandbox.succeed(&command).json();
    let bytes = answer["packed_bytes"].as_u64().unwrap();
    assert!(answer["distortion_percent"].as_f64().unwrap() <= 1.0, "{answer}");
    assert!(4 * bytes < answer["unpacked_bytes"].as_u64().unwrap(), "{answer}");
    assert!(answer["comparison"]["raw"]["bytes"].as_u64().unwrap() > bytes, "{answer}");
    assert_eq!(sandbox.path("arm.glb").metadata().unwrap().len(), bytes);
    assert!(!sandbox.read("arm.glb").objects[0].clips.is_empty());

    sandbox.succeed(&["pack", "sample:arm", "--size", "40kB", "-o", "limited.glb"]);
    assert!(sandbox.path("limited.glb").metadata().unwrap().len() <= 40_000);
}

#[test]
fn recorded_frames_are_packed_as_a_skin() {
    let sandbox = Sandbox::new();
    let command = ["pack", "sample:flag", "--fit", "--error", "20", "-o", "flag.glb", "--format", "json"];
    let answer = sandbox.succeed(&command).json();
    assert!(answer["distortion_percent"].as_f64().unwrap() <= 20.0, "{answer}");
    assert!(answer["skin"]["bones"].as_u64().unwrap() >= 4, "{answer}");
    let object = sandbox.read("flag.glb").objects.remove(0);
    assert!(object.sequence.is_none() && object.clips.len() == 1);
}

#[test]
fn rejects_invalid_limits_and_outputs() {
    let sandbox = Sandbox::new();
    let error = sandbox.fail(&["pack", "sample:arm", "--fit", "-o", "out.glb"]);
    assert!(error.contains("has a rig"), "{error}");
    for option in [["--error", "0"], ["--error", "x"], ["--size", "many"], ["--size", "0"]] {
        let error = sandbox.fail(&["pack", "sample:arm", option[0], option[1], "-o", "out.glb"]);
        assert!(error.contains(option[0]), "{error}");
    }
    let error = sandbox.fail(&["pack", "sample:arm", "--size", "900", "-o", "out.glb"]);
    assert!(error.contains("900 bytes"), "{error}");
    let error = sandbox.fail(&["pack", "sample:arm", "-o", "out.fbx"]);
    assert!(error.contains(".glb"), "{error}");
    assert!(!sandbox.path("out.glb").exists());
}
