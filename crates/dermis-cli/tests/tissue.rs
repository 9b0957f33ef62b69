//! End-to-end tests of `dermis tissue`. The bodies are covered with coarse lattices to keep the tests fast.

mod common;

use common::{Sandbox, shared_data};
use dermis::prelude::*;
use serde_json::Value;

const COARSE: [&str; 4] = ["--mesher", "lattice", "--spacing", "0.05"];

fn build(sandbox: &Sandbox, output: &str, more: &[&str]) -> Value {
    let arguments = [&["tissue", "build", "sample:body", "-o", output, "--format", "json"], &COARSE[..], more].concat();
    sandbox.succeed(&arguments).json()
}

fn simulate(sandbox: &Sandbox, model: &str, more: &[&str]) -> Value {
    let arguments = [&["tissue", "simulate", model, "-o", "out.npz", "--force", "--format", "json"], more].concat();
    sandbox.succeed(&arguments).json()
}

fn number(answer: &Value, key: &str) -> f64 {
    answer[key].as_f64().unwrap_or_else(|| panic!("{key} is not a number: {answer}"))
}

#[test]
fn a_body_is_built_simulated_and_inspected() {
    let sandbox = Sandbox::new();
    let built = build(&sandbox, "model.npz", &[]);
    assert_eq!((number(&built, "points"), number(&built, "joints")), (6900.0, 24.0));
    assert!(number(&built, "fem_elements") < number(&built, "all_elements"));
    assert!(number(&built, "cg_iterations") >= 1.0);
    let ran = simulate(&sandbox, "model.npz", &["--clip", "hips", "--substeps", "2", "--settle", "0.2"]);
    for key in ["milliseconds_per_step", "real_time_factor", "cg_iterations", "displacement_rms"] {
        assert!(number(&ran, key) > 0.0, "{key}: {ran}");
    }
    assert_eq!(ran["fem_elements"], built["fem_elements"]);
    assert_eq!(ran["all_elements"], built["all_elements"]);
    assert_eq!(ran["clip"], "hips");
    let sequence = sandbox.read("out.npz").objects.remove(0).sequence.unwrap();
    assert_eq!((sequence.frame_count(), sequence.point_count()), (number(&ran, "frames") as usize, 6900));
    let inspected = sandbox.succeed(&["tissue", "inspect", "model.npz", "--format", "json"]).json();
    assert_eq!(inspected["nodes"], built["nodes"]);
    assert_eq!(inspected["clips"], built["clips"]);
    // As a scene it is a rigged body with its clips and painted attributes.
    let body = sandbox.read("model.npz").objects.remove(0);
    assert_eq!(body.clips.len(), 6);
    assert!(body.attributes.contains_key("tissue_thickness") && body.attributes.contains_key("tissue_young_modulus"));
}

#[test]
fn tetrahedra_survive_a_round_trip() {
    let sandbox = Sandbox::new();
    let built = sandbox.succeed(&[
        "tissue", "build", "sample:body", "-o", "model.npz", "--save-tets", "inside.mesh", "--format", "json",
    ]);
    let again = sandbox
        .succeed(&["tissue", "build", "sample:body", "--tets", "inside.mesh", "-o", "again.npz", "--format", "json"]);
    let (built, again) = (built.json(), again.json());
    assert_eq!(built["recovered_faces"], 1.0);
    for key in ["nodes", "all_elements", "fem_elements", "recovered_faces"] {
        assert_eq!(built[key], again[key], "{key}");
    }
}

#[test]
fn gravity_forces_shapes_and_flesh_change_the_result() {
    let sandbox = Sandbox::new();
    build(&sandbox, "model.npz", &[]);
    let stand = |model: &str, more: &[&str]| simulate(&sandbox, model, &[&["--stand", "0.2"], more].concat());
    let still = number(&stand("model.npz", &[]), "displacement_max");
    let sagging = number(&stand("model.npz", &["--gravity", "9.81"]), "displacement_max");
    assert!(still < 1e-4 && sagging > 1e-3, "{still}, {sagging}");
    let sideways = number(&stand("model.npz", &["--gravity", "9.81,0,0"]), "displacement_max");
    assert!(sideways > 1e-3);
    sandbox.succeed(&["tissue", "edit", "model.npz", "--stiffness", "40000", "--damping", "5", "-o", "stiff.npz"]);
    let stiff = number(&stand("stiff.npz", &["--gravity", "9.81"]), "displacement_max");
    assert!(stiff < 0.4 * sagging, "{stiff}, {sagging}");
    let force = r#"[{"kind": "pull", "center": [0, 1.05, 0.1], "radius": 0.1, "target": [0, 1.05, 0.5], "stiffness_n_per_m": 500}]"#;
    std::fs::write(sandbox.path("pull.json"), force).unwrap();
    let pulled = number(&stand("model.npz", &["--forces", "pull.json"]), "displacement_max");
    assert!(pulled > 5e-3, "{pulled}");
    stand("model.npz", &["--shape", "0=1.5", "--all-elements"]);
    sandbox.succeed(&["tissue", "transfer", "stiff.npz", "model.npz", "-o", "given.npz"]);
    let given = number(&stand("given.npz", &["--gravity", "9.81"]), "displacement_max");
    assert!((given - stiff).abs() < 1e-6);
}

#[test]
fn painted_values_become_thickness_and_stiffness() {
    let sandbox = Sandbox::new();
    build(&sandbox, "model.npz", &[]);
    let mut body = sandbox.read("model.npz").objects.remove(0);
    let belly = |point: &Vec3| if (0.9..1.2).contains(&point.y) { 1.0 } else { 0.0 };
    body.attributes = [("fat".to_owned(), body.mesh.points().iter().map(belly).collect())].into();
    body.rig = None;
    body.clips.clear();
    sandbox.write("painted.npz", &Scene { objects: vec![body], ..Scene::default() });
    let edit = ["tissue", "edit", "model.npz", "-o", "fat.npz", "--format", "json"];
    let painted = ["--thickness", "painted.npz:fat", "--thickness-range", "1:1.8"];
    let answer = sandbox.succeed(&[&edit[..], &painted].concat()).json();
    assert_eq!(answer["thickness"][0], 1.0);
    assert!((answer["thickness"][1].as_f64().unwrap() - 1.8).abs() < 1e-6);
    let printed = sandbox.fail(&["tissue", "edit", "model.npz", "--thickness", "painted.npz:fet", "-o", "x.npz"]);
    assert!(printed.contains("did you mean 'fat'"), "{printed}");
}

#[test]
fn rejects_invalid_arguments_with_a_hint() {
    let sandbox = Sandbox::new();
    build(&sandbox, "model.npz", &[]);
    for (arguments, expected) in [
        (&["simulate", "model.npz", "--clip", "runing", "-o", "x.abc"][..], "did you mean 'running'"),
        (&["simulate", "model.npz", "--shape", "hevy=1", "-o", "x.abc"], "there is no shape called 'hevy'"),
        (&["simulate", "model.npz", "--gravity", "1,2", "-o", "x.abc"], "it must be a number"),
        (&["simulate", "model.npz", "--forces", "none.json", "-o", "x.abc"], "none.json"),
        (&["simulate", "sample:flag", "-o", "x.abc"], "has no rig"),
        (&["build", "sample:arm", "-o", "model.glb"], "a layered body is stored as .npz"),
        (
            &["build", "sample:body", "--mesher", "tetgen", "--tetgen", "no-such-program", "-o", "x.npz"],
            "not installed",
        ),
        (&["build", "sample:body", "--poisson", "0.5", "--mesher", "lattice", "-o", "x.npz"], "Poisson"),
        (&["build", "sample:body", "--scale", "1000", "-o", "x.npz"], "--units"),
        (&["inspect", "sample:gallop"], "has no rig"),
    ] {
        let printed = sandbox.fail(&[&["tissue"], arguments].concat());
        assert!(printed.contains(expected), "{arguments:?}: {printed}");
    }
    let printed = sandbox.fail(&["tissue", "simulate", "model.npz", "-o", "model.npz", "--force"]);
    assert!(printed.contains("the output is the same file"), "{printed}");
    let printed = sandbox.fail(&["tissue", "build", "sample:body", "--spacing", "1e-5", "-o", "x.npz"]);
    assert!(printed.contains("use a larger spacing"), "{printed}");
    std::fs::write(sandbox.path("thin.json"), r#"[{"kind": "gravity", "acceleration": [0, 0, 0]}, {"kind": "pull", "center": [0, 1, 0], "radius": -1, "target": [0, 1, 1], "stiffness_n_per_m": 1}]"#).unwrap();
    let printed = sandbox.fail(&["tissue", "simulate", "model.npz", "--forces", "thin.json", "-o", "x.abc"]);
    assert!(printed.contains("force 1") && printed.contains("radius"), "{printed}");
    std::fs::write(sandbox.path("there.abc"), "").unwrap();
    let printed = sandbox.fail(&["tissue", "simulate", "model.npz", "-o", "there.abc"]);
    assert!(printed.contains("--force"), "{printed}");
    std::fs::write(sandbox.path("bad.json"), r#"[{"kind": "push"}]"#).unwrap();
    let printed = sandbox.fail(&["tissue", "simulate", "model.npz", "--forces", "bad.json", "-o", "x.abc"]);
    assert!(printed.contains("must be a list of forces") && printed.contains("push"), "{printed}");
}

#[test]
fn an_invalid_result_exits_with_1_and_is_not_written() {
    let sandbox = Sandbox::new();
    build(&sandbox, "model.npz", &[]);
    let pull = r#"[{"kind": "pull", "center": [0, 1.05, 0.1], "radius": 0.3, "target": [0, 1, 90], "stiffness_n_per_m": 1e7}]"#;
    std::fs::write(sandbox.path("tear.json"), pull).unwrap();
    let arguments = ["tissue", "simulate", "model.npz", "--stand", "1", "--forces", "tear.json", "-o", "torn.npz"];
    let outcome = sandbox.run(&arguments);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("implausible simulation") && outcome.stderr.contains("hint:"));
    assert_eq!(sandbox.files(), ["model.npz", "tear.json"]);
}

#[test]
fn help_lists_only_options_with_an_effect() {
    let sandbox = Sandbox::new();
    let help = |command: &str| sandbox.succeed(&["tissue", command, "--help"]).stdout;
    assert!(help("build").contains("--layer") && help("build").contains("--whole-body"));
    assert!(!help("edit").contains("--layer") && !help("edit").contains("--whole-body"));
}

#[test]
fn a_rig_is_fitted_to_a_real_skin() {
    let Some(data) = shared_data() else { return };
    let (sandbox, man) = (Sandbox::new(), data.join("bodies/human_man.obj"));
    let man = man.to_str().unwrap();
    let printed = sandbox.fail(&["tissue", "build", man, "-o", "man.npz"]);
    assert!(printed.contains("--rig human"), "{printed}");
    let rig = ["tissue", "build", man, "--rig", "human", "--separate", "0.02", "-o", "man.npz", "--format", "json"];
    let answer = sandbox.succeed(&rig).json();
    assert_eq!((number(&answer, "points"), number(&answer, "joints")), (6890.0, 24.0));
    assert!(number(&answer, "recovered_faces") > 0.999, "{answer}");
    simulate(&sandbox, "man.npz", &["--motion", "sample:body", "--clip", "hips", "--substeps", "2"]);
}

#[test]
fn rejects_a_self_intersecting_body_with_locations_and_separates_it_on_request() {
    let Some(data) = shared_data() else { return };
    let (sandbox, body) = (Sandbox::new(), data.join("bodies/mpfb_game_engine_smpl_layout.npz"));
    let body = body.to_str().unwrap();
    let printed = sandbox.fail(&["tissue", "build", body, "-o", "body.npz"]);
    assert!(printed.contains("the skin self-intersects") && printed.contains("near ("), "{printed}");
    let built = sandbox.succeed(&["tissue", "build", body, "--separate", "0.02", "-o", "body.npz", "--format", "json"]);
    assert!(number(&built.json(), "recovered_faces") > 0.999);
    let ran = simulate(&sandbox, "body.npz", &["--stand", "0.1", "--gravity", "9.81"]);
    assert!(number(&ran, "displacement_max") > 1e-4);
}
