//! `dermis inspect`: keys and values of the JSON form, the table, and unreadable files.

mod common;

use common::{Sandbox, moving_box};
use serde_json::json;

#[test]
fn json_has_the_documented_keys() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(5, 24.0));
    let facts = sandbox.succeed(&["inspect", "box.npz", "--format", "json"]).json();
    assert_eq!(facts["file"], "box.npz");
    assert_eq!(facts["format"], "npz");
    assert!(facts["seconds"].as_f64().unwrap() >= 0.0);
    assert!(facts["units"].as_object().unwrap().contains_key("metres_per_unit"));
    assert!(facts["units"].as_object().unwrap().contains_key("up_axis"));
    let object = &facts["objects"][0];
    let expected = json!({
        "points": 8, "vertices": 8, "triangles": 12, "polygons": 12, "shells": 1, "closed": true, "boundary_edges": 0,
        "bounds": { "min": [0.0, 0.0, 0.0], "max": [1.0, 1.0, 1.0] },
        "frames": 5, "fps": 24.0, "joints": 0, "max_influences": 0, "influence_histogram": [], "morph_targets": [],
        "clips": [], "materials": [], "uv_sets": 0, "tetrahedra": 0, "attributes": [], "problems": [],
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&object[key], value, "{key}");
    }
    assert!((object["volume"].as_f64().unwrap() - 1.0).abs() < 1e-15);
    assert!((object["seconds"].as_f64().unwrap() - 4.0 / 24.0).abs() < 1e-12);
}

#[test]
fn the_text_contains_the_main_facts() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(5, 24.0));
    let table = sandbox.succeed(&["inspect", "box.npz"]).stdout;
    for expected in ["box.npz\n", "12 triangles", "1 shell, closed", "5 frames at 24 fps, 0.17 s", "1 × 1 × 1"] {
        assert!(table.contains(expected), "{expected} is not in\n{table}");
    }
    assert!(!table.contains('\x1b'));
}

#[test]
fn problems_have_hints() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("open.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 5 5 5\nf 1 2 3\n").unwrap();
    let facts = sandbox.succeed(&["inspect", "open.obj", "--format", "json"]).json();
    let object = &facts["objects"][0];
    assert_eq!((&object["closed"], &object["boundary_edges"]), (&json!(false), &json!(3)));
    assert_eq!(object["volume"], json!(null));
    let problem = &object["problems"].as_array().unwrap()[0];
    assert_eq!(problem["kind"], "isolated_points");
    assert!(!problem["hint"].as_str().unwrap().is_empty());
    assert!(sandbox.succeed(&["inspect", "open.obj"]).stdout.contains("hint: "));
}

#[test]
fn an_unreadable_file_does_not_hide_the_others() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(5, 24.0));
    let outcome = sandbox.run(&["inspect", "missing.obj", "box.npz", "--format", "json"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.starts_with("error: there is no such file\n  --> missing.obj\n"), "{}", outcome.stderr);
    let lines: Vec<serde_json::Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["error"]["message"], "there is no such file");
    assert_eq!(lines[0]["error"]["path"], "missing.obj");
    assert_eq!(lines[1]["file"], "box.npz");
}

#[test]
fn rejects_malformed_files_with_their_path() {
    let sandbox = Sandbox::new();
    for extension in ["glb", "gltf", "npz", "pc2", "mdd", "abc", "usda", "usdc", "usdz", "fbx", "ply", "mesh"] {
        let name = format!("rubbish.{extension}");
        std::fs::write(sandbox.path(&name), b"this is not what its name says").unwrap();
        let printed = sandbox.fail(&["inspect", &name]);
        assert!(printed.starts_with("error: ") && printed.contains(&format!("--> {name}")), "{printed}");
    }
}
