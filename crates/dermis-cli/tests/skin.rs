//! End-to-end tests of `dermis skin`.

mod common;

use common::Sandbox;
use serde_json::Value;

/// A few frames of the built-in gallop, which are fitted quickly.
const QUICK: [&str; 4] = ["skin", "sample:gallop", "--frames", "0:12:3"];

fn skin<'a>(more: &[&'a str]) -> Vec<&'a str> {
    QUICK.iter().chain(more).copied().collect()
}

fn number(answer: &Value, key: &str) -> f64 {
    answer[key].as_f64().unwrap_or_else(|| panic!("{key} is not a number: {answer}"))
}

#[test]
fn a_written_asset_has_the_same_measures_when_read_again() {
    let sandbox = Sandbox::new();
    for name in ["horse.glb", "horse.npz"] {
        let fitted = sandbox.succeed(&skin(&["--bones", "8", "--rank", "2", "-o", name, "--format", "json"])).json();
        assert_eq!((&fitted["bones"], &fitted["rank"]), (&8.into(), &2.into()));
        let by_rank = fitted["distortion_percent_by_rank"].as_array().unwrap();
        assert_eq!((by_rank.len(), &by_rank[2]), (3, &fitted["distortion_percent"]));
        let again = sandbox.succeed(&skin(&["--from", name, "--format", "json"])).json();
        for key in ["distortion_percent", "max_error_percent", "erms"] {
            let (before, after) = (number(&fitted, key), number(&again, key));
            // Two rounded nodes per bone instead of one transform.
            assert!((before - after).abs() <= 1e-3 * before, "{name} {key}: {before} became {after}");
        }
    }
}

#[test]
fn json_has_every_measure_and_time() {
    let answer = Sandbox::new().succeed(&skin(&["--bones", "4", "--format", "json"])).json();
    let numbers = ["erms", "max_error_percent", "normal_error_rms", "compression", "iterations", "distortion_percent"];
    assert!(numbers.iter().all(|key| number(&answer, key) > 0.0), "{answer}");
    assert!(answer.get("near_rigid_fraction").is_some());
    assert!(["read", "refine", "measure", "total"].iter().all(|stage| answer["seconds"][stage].is_number()));
}

#[test]
fn exits_with_1_if_the_distortion_is_not_reached() {
    let sandbox = Sandbox::new();
    let reached = sandbox.run(&skin(&["--error", "60", "--format", "json"]));
    assert_eq!(reached.code, 0);
    assert!(number(&reached.json(), "distortion_percent") <= 60.0);
    let missed = sandbox.run(&skin(&["--bones", "2", "--rank-error", "1e-9", "--refine", "2"]));
    assert_eq!(missed.code, 1, "{}", missed.stderr);
}

#[test]
fn two_animations_become_two_clips() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["convert", "sample:gallop", "walk.npz", "--frames", "0:4"]);
    sandbox.succeed(&["convert", "sample:gallop", "run.npz", "--frames", "4:10"]);
    let answer =
        sandbox.succeed(&["skin", "walk.npz", "run.npz", "--bones", "6", "-o", "two.glb", "--format", "json"]).json();
    let names: Vec<&str> =
        answer["clips"].as_array().unwrap().iter().map(|clip| clip["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["walk", "run"]);
    let inspected = sandbox.succeed(&["inspect", "two.glb", "--format", "json"]);
    assert!(inspected.stdout.contains("\"walk\"") && inspected.stdout.contains("\"run\""));
}

#[test]
fn all_or_selected_clips_of_a_rig_are_fitted() {
    let sandbox = Sandbox::new();
    let clips = |arguments: &[&str]| {
        let arguments =
            [&["skin", "sample:hand", "--bones", "8", "--refine", "3", "--format", "json"], arguments].concat();
        sandbox.succeed(&arguments).json()["clips"].as_array().unwrap().len()
    };
    assert!(clips(&[]) > 1);
    assert_eq!(clips(&["--clip", "0"]), 1);
}

#[test]
fn weights_alone_are_solved_for_the_bones_of_a_rig() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&skin(&["--bones", "6", "--keep-rest", "-o", "rig.glb"]));
    let answer = sandbox.succeed(&skin(&["--rig", "rig.glb", "--format", "json"])).json();
    assert_eq!(answer["bones"], 6);
    assert!(number(&answer, "distortion_percent") < 40.0);
}

#[test]
fn a_skeleton_is_a_tree_in_every_format() {
    let sandbox = Sandbox::new();
    let quick = ["--bones", "4", "--refine", "6", "--format", "json"];
    for (name, kind) in [("tree.glb", "--skeleton"), ("tree.npz", "--skeleton=fixed"), ("tree.usda", "--skeleton=free")]
    {
        let fitted = sandbox.succeed(&skin(&[&quick[..], &[kind, "-o", name]].concat())).json();
        assert_eq!(
            (&fitted["joints"], &fitted["roots"], &fitted["bone_model"]),
            (&4.into(), &1.into(), &"rigid".into())
        );
        assert!(number(&fitted, "distortion_percent_free") > 0.0);
        let again = sandbox.succeed(&skin(&["--from", name, "--format", "json"])).json();
        let (before, after) = (number(&fitted, "distortion_percent"), number(&again, "distortion_percent"));
        assert!((before - after).abs() <= 1e-3 * before, "{name}: {before} became {after}");
    }
    let joints = std::fs::read_to_string(sandbox.path("tree.usda")).unwrap();
    assert!(joints.contains("\"root/"), "the joints have no hierarchy");
    let printed = sandbox.fail(&skin(&["--skeleton", "--bone-model", "flexible"]));
    assert!(printed.contains("--skeleton requires rigid bones"), "{printed}");
}

#[test]
fn a_rig_is_kept_and_receives_helpers_or_a_motion() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&skin(&["--bones", "5", "--keep-rest", "--skeleton", "-o", "rig.glb"]));
    let given = ["--rig", "rig.glb", "--lock-weights", "--format", "json"];
    let plain = sandbox.succeed(&skin(&given)).json();
    let helped = sandbox.succeed(&skin(&[&given[..], &["--helpers", "3", "-o", "helped.glb"]].concat())).json();
    assert_eq!(helped["helpers"].as_array().unwrap().len(), 3, "{helped}");
    assert!(number(&helped, "distortion_percent") < number(&plain, "distortion_percent"), "{plain} {helped}");
    assert_eq!(number(&helped, "distortion_percent_rig"), number(&plain, "distortion_percent_rig"));
    let hand = ["skin", "sample:hand", "--clip", "0", "--frames", "::6", "--rig", "sample:hand", "--format", "json"];
    let solved = sandbox.succeed(&[&hand[..], &["--rotations-only", "--lock-weights"]].concat()).json();
    // The clip of the hand consists of rotations about joints with fixed offsets.
    assert!(number(&solved, "distortion_percent") < 0.01, "{solved}");
    let printed = sandbox.fail(&skin(&["--helpers", "3"]));
    assert!(printed.contains("--rig"), "{printed}");
}

#[test]
fn an_engine_selects_supported_options_and_reports_exceeded_limits() {
    let sandbox = Sandbox::new();
    let quick = ["--bones", "4", "--refine", "4", "--format", "json"];
    let run = |more: &[&str]| sandbox.run(&skin(&[&quick[..], more].concat()));
    let unreal = run(&["--engine", "unreal", "-o", "horse.fbx"]);
    assert_eq!((unreal.code, &unreal.json()["bone_model"]), (0, &"scaled".into()), "{}", unreal.stderr);
    assert!(unreal.json()["engine"].as_str().unwrap().contains("centimetres, Z up"));
    let again = sandbox.succeed(&["inspect", "horse.fbx", "--format", "json"]).stdout;
    assert!(again.contains("0.01"), "the file is in centimetres: {again}");
    for engine in ["unity", "godot", "three", "bevy", "blender", "web"] {
        assert_eq!(run(&["--engine", engine, "-o", &format!("{engine}.glb")]).code, 0, "{engine}");
    }
    let exceeded = run(&["--engine", "web", "--bone-model", "flexible", "--rank", "9", "-o", "large.pc2"]);
    assert_eq!(exceeded.code, 1);
    let missed = exceeded.json()["missed"].to_string();
    for part in ["flexible bones", "does not import .pc2"] {
        assert!(missed.contains(part), "{missed}");
    }
}

#[test]
fn frames_are_written_if_the_format_has_no_skins() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&skin(&["--bones", "4", "-o", "baked.pc2"]));
    assert!(sandbox.path("baked.pc2").exists());
}

#[test]
fn the_table_has_the_papers_variants() {
    let answer = Sandbox::new().succeed(&skin(&["--table", "--epsilon", "0.2", "--format", "json"])).json();
    let rows = answer["rows"].as_array().unwrap();
    let variant = |row: &Value| format!("{} {} {}", row["method"], row["bone_model"], row["weights"]).replace('"', "");
    let found: Vec<String> = rows.iter().map(variant).collect();
    assert_eq!(found[..3], ["paper rigid tsvd", "paper rigid nnls", "refined rigid nnls"]);
    assert_eq!(found[3..], ["paper flexible tsvd", "paper flexible nnls", "refined flexible nnls"]);
}

#[test]
fn rejects_invalid_inputs_with_a_message() {
    let sandbox = Sandbox::new();
    let printed = sandbox.fail(&["skin", "sample:gallop", "--frames", "0:1"]);
    assert!(printed.contains("a fit needs at least 2"), "{printed}");
    let printed = sandbox.fail(&skin(&["--bones", "1000000"]));
    assert!(printed.contains("the number of bones is 1000000"), "{printed}");
    let printed = sandbox.fail(&skin(&["--weights", "tsvd", "--refine", "5"]));
    assert!(printed.contains("non-negative"), "{printed}");
    let printed = sandbox.fail(&skin(&["--rest-frame", "99"]));
    assert!(printed.contains("hint:"), "{printed}");
    sandbox.succeed(&["convert", "sample:flag", "flag.npz", "--frames", "0:4"]);
    let printed = sandbox.fail(&["skin", "sample:gallop", "flag.npz", "--frames", "0:4"]);
    assert!(printed.contains("the same mesh"), "{printed}");
    let printed = sandbox.fail(&skin(&["--bones", "3", "--error", "2"]));
    assert!(printed.contains("cannot be used with"), "{printed}");
}

#[test]
fn rejects_a_non_finite_frame_with_its_index() {
    let sandbox = Sandbox::new();
    for (frame, x) in [(0, "0"), (1, "nan"), (2, "0")] {
        let text = format!("v {x} 0 0\nv 1 0 0\nv 0 1 {frame}\nf 1 2 3\n");
        std::fs::write(sandbox.path(&format!("walk.{frame:04}.obj")), text).unwrap();
    }
    let printed = sandbox.fail(&["skin", "walk.%04d.obj", "--bones", "1"]);
    assert!(printed.contains("frame 1: point 0") && printed.contains("walk.%04d.obj"), "{printed}");
}

/// Required distortion of fits of recorded sequences.
#[test]
fn the_horse_has_at_most_the_distortion_of_the_paper() {
    let Some(data) = common::shared_data() else { return };
    let sandbox = Sandbox::new();
    let measure = |name: &str, options: &[&str]| {
        let file = data.join("sequences").join(name);
        let arguments = [&["skin", file.to_str().unwrap(), "--format", "json"], options].concat();
        let answer = sandbox.succeed(&arguments).json();
        let by_rank = answer["distortion_percent_by_rank"].as_array().unwrap();
        let (bare, full) = (by_rank[0].as_f64().unwrap(), number(&answer, "distortion_percent"));
        eprintln!("{name} {options:?}: {} bones, E {bare:.3} % and {full:.3} %", answer["bones"]);
        (answer["bones"].as_u64().unwrap(), answer["near_rigid_fraction"].as_f64(), bare, full)
    };
    let (bones, near_rigid, bare, corrected) = measure("horse-gallop.npz", &["--refine", "0", "--rank", "10"]);
    assert!((25..=36).contains(&bones) && bare <= 5.5 && corrected <= 0.8);
    assert!(near_rigid.is_some_and(|fraction| (0.78..=0.90).contains(&fraction)));
    let refined = [
        ("horse-gallop.npz", "10", "flexible", 5.0),
        ("horse-gallop.npz", "20", "flexible", 2.3),
        ("horse-gallop.npz", "30", "flexible", 1.4),
        ("horse-gallop.npz", "20", "rigid", 3.3),
        ("horse-gallop.npz", "30", "rigid", 1.7),
        ("pdance.npz", "24", "flexible", 0.25),
        ("cat-poses.npz", "20", "flexible", 1.3),
    ];
    for (name, bones, model, limit) in refined {
        let (_, _, _, error) = measure(name, &["--bones", bones, "--bone-model", model]);
        assert!(error <= limit, "{name}, {bones} {model} bones: {error}");
    }
}
