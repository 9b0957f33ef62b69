//! `dermis convert`: selections, outputs and errors.

mod common;

use common::{Sandbox, first_xs, moving_box};
use dermis::prelude::*;

#[test]
fn frame_ranges_match_slices_of_python() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(10, 24.0));
    for (range, expected) in [
        ("2:5", vec![2.0, 3.0, 4.0]),
        ("::4", vec![0.0, 4.0, 8.0]),
        ("-2:", vec![8.0, 9.0]),
        (":-8", vec![0.0, 1.0]),
        ("8:1000", vec![8.0, 9.0]),
    ] {
        sandbox.succeed(&["convert", "box.npz", "part.npz", "--force", "--frames", range]);
        assert_eq!(first_xs(&sandbox.read("part.npz")), expected, "{range}");
    }
}

#[test]
fn a_step_divides_the_rate() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(10, 24.0));
    let summary = sandbox.succeed(&["convert", "box.npz", "part.npz", "--frames", "::2", "--format", "json"]).json();
    assert_eq!(summary["objects"][0]["frames"], 5);
    assert_eq!(summary["objects"][0]["fps"], 12.0);
}

#[test]
fn a_stated_rate_is_resampled() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(3, 24.0));
    sandbox.succeed(&["convert", "box.npz", "fine.npz", "--fps", "48"]);
    let fine = sandbox.read("fine.npz");
    assert_eq!(first_xs(&fine), [0.0, 0.5, 1.0, 1.5, 2.0]);
    assert_eq!(fine.objects[0].sequence.as_ref().unwrap().frame_rate_hz(), 48.0);
}

#[test]
fn a_frame_becomes_the_rest_pose() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(10, 24.0));
    sandbox.succeed(&["convert", "box.npz", "rest.npz", "--rest-frame", "7", "--frames", "0:2"]);
    let scene = sandbox.read("rest.npz");
    assert_eq!(scene.objects[0].mesh.points()[0].x, 7.0);
    assert_eq!(first_xs(&scene), [0.0, 1.0]);
}

#[test]
fn the_summary_lists_the_output() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(10, 24.0));
    let outcome = sandbox.succeed(&["convert", "box.npz", "out.npz", "--format", "json"]);
    assert_eq!(outcome.stderr, "");
    let summary = outcome.json();
    assert_eq!(summary["input"], "box.npz");
    assert_eq!(summary["files"], serde_json::json!(["out.npz"]));
    assert_eq!(summary["bytes"], std::fs::metadata(sandbox.path("out.npz")).unwrap().len());
    assert_eq!(summary["objects"][0]["points"], 8);
    assert_eq!(summary["objects"][0]["frames"], 10);
    let times = &summary["seconds"];
    let time = |name: &str| times[name].as_f64().unwrap();
    assert!((time("read") + time("write") - time("total")).abs() < 1e-9);
    let printed = sandbox.succeed(&["convert", "box.npz", "out.npz", "--force"]).stdout;
    assert!(printed.contains("8 points, 12 triangles, 10 frames at 24 fps, 0.38 s"), "{printed}");
    assert!(printed.contains("wrote out.npz"), "{printed}");
    assert_eq!(sandbox.succeed(&["convert", "box.npz", "out.npz", "--force", "--quiet"]).stdout, "");
}

#[test]
fn an_output_is_replaced_only_by_force() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(2, 24.0));
    std::fs::write(sandbox.path("out.npz"), b"precious").unwrap();
    let printed = sandbox.fail(&["convert", "box.npz", "out.npz"]);
    assert_eq!(printed, "error: the output already exists\n  --> out.npz\nhint: use --force to replace it\n");
    assert_eq!(std::fs::read(sandbox.path("out.npz")).unwrap(), b"precious");
    sandbox.succeed(&["convert", "box.npz", "out.npz", "--force"]);
    assert_eq!(first_xs(&sandbox.read("out.npz")), [0.0, 1.0]);
}

#[test]
fn rejects_an_existing_output_before_reading_the_input() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("out.npz"), b"precious").unwrap();
    assert!(sandbox.fail(&["convert", "missing.npz", "out.npz"]).contains("the output already exists"));
}

#[test]
fn a_file_can_be_converted_onto_itself() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(100, 24.0));
    sandbox.succeed(&["convert", "box.npz", "box.npz", "--force", "--frames", "50:"]);
    let expected: Vec<f32> = (50..100).map(|frame| frame as f32).collect();
    assert_eq!(first_xs(&sandbox.read("box.npz")), expected);
    assert_eq!(sandbox.files(), ["box.npz"]);
}

#[test]
fn a_failure_leaves_no_files() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(10, 24.0));
    for wrong in [
        &["--frames", "5:5"][..],
        &["--rest-frame", "10"],
        &["--mesh", "sphere"],
        &["--clip", "walk"],
        &["--fps", "1e12"],
    ] {
        let mut arguments = vec!["convert", "box.npz", "out.npz"];
        arguments.extend(wrong);
        let printed = sandbox.fail(&arguments);
        assert!(printed.starts_with("error: ") && printed.contains("--> box.npz"), "{printed}");
        assert_eq!(sandbox.files(), ["box.npz"], "{wrong:?}");
    }
}

#[test]
fn rejects_invalid_numbers() {
    let sandbox = Sandbox::new();
    for (flag, value, expected) in [
        ("--fps", "nan", "a frame rate must be positive and finite, such as 24"),
        ("--fps", "0", "a frame rate must be positive and finite, such as 24"),
        ("--fps", "-24", "a frame rate must be positive and finite, such as 24"),
        ("--fps", "inf", "a frame rate must be positive and finite, such as 24"),
        ("--fps", "fast", "it must be a number of frames per second, such as 24"),
        ("--frames", "5", "'5' is one number, not a range; one frame is written '5:6'"),
        ("--frames", "0:9:0", "invalid step 0: it must be 1 or more"),
        ("--frames", "-1", "'-1' is one number, not a range; one frame is written '-1:'"),
    ] {
        let printed = sandbox.fail(&["convert", "in.npz", "out.npz", flag, value]);
        assert!(printed.contains(expected) && printed.contains("hint: see dermis convert --help"), "{printed}");
    }
}

#[test]
fn rejects_unwritable_outputs_with_a_hint() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(2, 24.0));
    let extensions = "hint: choose one of .glb .gltf .abc .usda .usd .usdc .usdz .fbx .npz .obj .ply .pc2 .mdd .mesh .msh .node .ele\n";
    for (output, expected) in [
        (
            "out.xyz",
            format!("error: '.xyz' is not the extension of a format that can be written\n  --> out.xyz\n{extensions}"),
        ),
        ("out", format!("error: the name of the output has no extension that identifies its format\n  --> out\n{extensions}")),
        ("out.bvh", format!("error: '.bvh' files are read but not written\n  --> out.bvh\n{extensions}")),
        (
            "no/such/out.npz",
            "error: the output's folder does not exist\n  --> no/such\nhint: create the folder first, or choose another \
             output\n"
                .to_owned(),
        ),
    ] {
        assert_eq!(sandbox.fail(&["convert", "box.npz", output]), expected);
    }
    assert_eq!(sandbox.files(), ["box.npz"]);
}

#[test]
fn a_missing_folder_is_created_and_removed_after_a_failure() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(2, 24.0));
    sandbox.fail(&["convert", "box.npz", "new/out.npz", "--frames", "2:"]);
    assert_eq!(sandbox.files(), ["box.npz"]);
    sandbox.succeed(&["convert", "box.npz", "new/out.npz"]);
    assert!(sandbox.path("new/out.npz").exists());
}

#[test]
fn one_mesh_of_several_is_kept() {
    let sandbox = Sandbox::new();
    let mut scene = moving_box(2, 24.0);
    scene.objects[0].name = "hero".into();
    let mut other = moving_box(2, 24.0).objects.remove(0);
    other.name = "hat".into();
    scene.objects.push(other);
    sandbox.write("both.abc", &scene);
    sandbox.succeed(&["convert", "both.abc", "hat.abc", "--mesh", "hat"]);
    let kept = sandbox.read("hat.abc");
    assert_eq!(kept.objects.len(), 1);
    assert!(kept.objects[0].name.contains("hat"));
    let printed = sandbox.fail(&["convert", "both.abc", "none.abc", "--mesh", "hatt"]);
    assert!(
        printed.contains("error: there is no mesh called 'hatt'") && printed.contains("hint: did you mean"),
        "{printed}"
    );
}

#[test]
fn one_clip_of_several_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.write("rig.glb", &two_clips());
    sandbox.succeed(&["convert", "rig.glb", "run.npz", "--clip", "run"]);
    assert_eq!(first_xs(&sandbox.read("run.npz")), [0.0, 2.0, 4.0]);
    let printed = sandbox.fail(&["convert", "rig.glb", "no.npz", "--clip", "rnu"]);
    let expected = "error: there is no clip called 'rnu'\n  --> rig.glb\n  clips: 'walk', 'run'\nhint: did you mean \
                    'run'?\n";
    assert_eq!(printed, expected);
}

/// A box that one joint moves along x: by 1 per frame in 'walk', by 2 in 'run'.
fn two_clips() -> Scene {
    let mesh = Arc::new(common::box_mesh());
    let joints = vec![Joint::at("root", None, DAffine3::IDENTITY)];
    let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(vec![[(0, 1.0)]; 8]), vec![]).unwrap();
    let clip = |name: &str, pace: f64| {
        let at = |frame: u8| DAffine3::from_translation([f64::from(frame) * pace, 0.0, 0.0].into());
        Clip::new(&rig, name, 24.0, (0..3).map(at).collect(), vec![]).unwrap()
    };
    let clips = vec![clip("walk", 1.0), clip("run", 2.0)];
    Scene { objects: vec![Object::of_rig("box", mesh, rig, clips)], ..Scene::default() }
}
