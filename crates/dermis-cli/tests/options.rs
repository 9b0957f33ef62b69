//! Options shared by all commands: numbers out of range, options without effect, names of unnamed clips.

mod common;

use common::{Sandbox, moving_box};
use dermis::prelude::*;

#[test]
fn a_negative_number_is_out_of_range_and_not_an_unknown_option() {
    let sandbox = Sandbox::new();
    for (arguments, expected) in [
        (&["skin", "sample:gallop", "--bones", "-3"][..], "'-3' for '--bones <N>': it must be a whole number"),
        (&["skin", "sample:gallop", "--error", "-1"], "it must be positive"),
        (&["skin", "sample:gallop", "--rank", "-1"], "it must be a whole number"),
        (&["wrinkle", "sample:towel", "-o", "x.abc", "--min-radius", "-1"], "it must be positive"),
        (&["wrinkle", "sample:towel", "-o", "x.abc", "--subdivide", "-1"], "-1 is not in 0..=6"),
        (&["wrinkle", "sample:towel", "-o", "x.abc", "--fps", "-1"], "a frame rate must be positive"),
        (&["tissue", "simulate", "a.npz", "-o", "x.abc", "--substeps", "-1"], "-1 is not in 1..=1000"),
        (&["tissue", "simulate", "a.npz", "-o", "x.abc", "--stand", "-1"], "it must be a time"),
        (&["tissue", "build", "a.npz", "-o", "x.npz", "--density", "-1"], "it must be positive"),
        (&["view", "--port", "-1"], "-1 is not in 0..=65535"),
    ] {
        let printed = sandbox.fail(arguments);
        assert!(printed.contains(expected) && !printed.contains("-- -"), "{arguments:?}: {printed}");
    }
}

#[test]
fn rejects_options_without_effect_and_names_the_missing_option() {
    let sandbox = Sandbox::new();
    for (arguments, option, missing) in [
        (&["wrinkle", "sample:towel", "-o", "x.abc", "--map-size", "64"][..], "--map-size", "--map "),
        (&["skin", "sample:gallop", "--force"], "--force", "--output"),
        (&["skin", "sample:gallop", "--tsvd-threshold", "0.1"], "--tsvd-threshold", "--weights"),
        (&["skin", "sample:gallop", "--weights", "tsvd", "--negative-bound", "1"], "--negative-bound", "bounded"),
        (&["skin", "sample:gallop", "--refine", "0", "--keep-rest"], "--keep-rest", "--refine"),
        (&["skin", "sample:gallop", "--rig", "a.glb", "--bone-model", "rigid"], "--bone-model", "--rig"),
        (&["skin", "sample:gallop", "--topology", "a.obj"], "--topology", ".pc2"),
        (&["wrinkle", "sample:towel", "-o", "x.abc", "--topology", "a.obj"], "--topology", ".pc2"),
        (&["inspect", "sample:towel", "--topology", "a.obj"], "--topology", ".pc2"),
        (&["view", "--force"], "--force", "--output"),
        (
            &["envelope", "train", "a.glb", "-o", "x.glb", "--blocks", "3", "--smoothness", "1"],
            "--blocks",
            "--smoothness",
        ),
        (
            &["envelope", "train", "a.glb", "-o", "x.glb", "--underlying", "rig", "--influences", "3"],
            "--influences",
            "best",
        ),
        (&["envelope", "train", "a.glb", "-o", "x.glb", "--maps", "b.npz", "--reach", "1"], "--reach", "--maps"),
        (&["envelope", "validate", "a.glb", "--target-shapes"], "--target-shapes", "--targets"),
        (&["convert", "sample:towel", "x.npz", "--topology", "a.obj"], "--topology", ".pc2"),
        (&["tissue", "build", "a.npz", "-o", "x.npz", "--tetgen", "t"], "--tetgen", "--mesher"),
        (&["tissue", "build", "a.npz", "-o", "x.npz", "--tets", "t", "--spacing", "1"], "--spacing", "--tets"),
        (&["tissue", "build", "a.npz", "-o", "x.npz", "--thickness", "1", "--layer", "1"], "--layer", "--thickness"),
        (&["tissue", "edit", "a.npz", "-o", "x.npz", "--thickness-range", "1:2"], "--thickness-range", "--thickness "),
        (&["tissue", "simulate", "a.npz", "-o", "x.abc", "--stand", "1", "--clip", "a"], "--stand", "--clip"),
        (&["tissue", "edit", "a.npz", "-o", "x.npz"], "no change requested", "--stiffness"),
        (&["view", "--clip", "walk"], "--clip", "FILE"),
        (&["sample", "--list", "--force"], "--list", "--force"),
    ] {
        let printed = sandbox.fail(arguments);
        assert!(printed.contains(option) && printed.contains(missing), "{arguments:?}: {printed}");
    }
}

#[test]
fn every_command_that_reads_meshes_corrects_their_units() {
    let sandbox = Sandbox::new();
    let commands = "inspect, convert, skin, volume, wrinkle, lod, pose, report, view, envelope train, envelope validate, \
                    tissue build";
    for command in commands.split(", ") {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = sandbox.succeed(&words).stdout;
        for option in ["--scale <FACTOR>", "--units <UNIT>", "--up <AXIS>"] {
            assert!(help.contains(option), "{command}: no {option} in {help}");
        }
    }
}

#[test]
fn subcommands_have_manual_pages() {
    let sandbox = Sandbox::new();
    for words in [["tissue", "build"], ["tissue", "simulate"], ["envelope", "train"]] {
        let page = sandbox.succeed(&[&["man"], &words[..]].concat()).stdout;
        assert!(page.contains(&format!("dermis\\-{}\\-{}", words[0], words[1])), "{page}");
    }
    let printed = sandbox.fail(&["man", "tissue", "biuld"]);
    assert!(printed.contains("hint: did you mean 'build'?"), "{printed}");
    let printed = sandbox.fail(&["tissue", "build", "sample:body", "--rubbish"]);
    assert!(printed.contains("hint: see dermis tissue build --help"), "{printed}");
}

#[test]
fn compression_is_printed_with_the_ratio_of_file_sizes() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(5, 24.0));
    let skin = ["skin", "box.npz", "--bones", "1", "-o", "box.glb", "--format", "json"];
    let answer = sandbox.succeed(&skin).json();
    let (raw, written) = (12.0 * 8.0 * 5.0, answer["bytes"].as_f64().unwrap());
    assert!((answer["file_ratio"].as_f64().unwrap() - raw / written).abs() < 1e-9, "{answer}");
    assert!(answer["compression"].as_f64().unwrap() > 0.0);
    let text = sandbox.succeed(&["skin", "box.npz", "--bones", "1", "-o", "box.glb", "--force"]).stdout;
    assert!(text.contains("compression") && text.contains("file ratio"), "{text}");
}

#[test]
fn an_unnamed_clip_is_named_by_its_index() {
    let sandbox = Sandbox::new();
    let mut scene = dermis::samples::build("arm").unwrap();
    let clip = Clip::clone(&scene.objects[0].clips[0]).named("");
    scene.objects[0].clips = vec![Arc::new(clip)];
    scene.objects[0].sequence = None;
    sandbox.write("arm.glb", &scene);
    let facts = sandbox.succeed(&["inspect", "arm.glb", "--format", "json"]).json();
    assert_eq!(facts["objects"][0]["clips"][0]["name"], "clip_0");
    for wanted in ["clip_0", "0"] {
        let pose = ["pose", "arm.glb", "--clip", wanted, "--frames", "0:3", "-o", "out.npz", "--force"];
        let printed = sandbox.succeed(&pose).stdout;
        assert!(printed.contains("clip 'clip_0'"), "{printed}");
    }
}
