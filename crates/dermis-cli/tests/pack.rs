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
fn rejects_invalid_limits_and_outputs() {
    let sandbox = Sandbox::new();
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
