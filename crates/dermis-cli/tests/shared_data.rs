//! Inspects every file of the shared real data and compares the result with that folder's README.

mod common;

use std::path::Path;

use common::{Sandbox, shared_data};
use serde_json::{Value, json};

/// Facts from the README about the object with the most points of each file.
fn expectations() -> Vec<(&'static str, Value)> {
    let sequence = |frames: usize, points: usize, triangles: usize| json!({ "frames": frames, "points": points, "triangles": triangles });
    vec![
        (
            "sequences/horse-gallop.npz",
            json!({ "frames": 48, "points": 8431, "triangles": 16843, "boundary_edges": 19, "closed": false }),
        ),
        ("sequences/cat-poses.npz", sequence(9, 7207, 14410)),
        ("sequences/pdance.npz", sequence(201, 7061, 14118)),
        ("sequences/dembones_bone.npz", sequence(400, 754, 1504)),
        ("sequences/pbd_spot.npz", sequence(180, 837, 1628)),
        ("sequences/three_Horse.npz", sequence(16, 494, 984)),
        ("sequences/vto_tshirt_shape00_128_02.npz", sequence(42, 4424, 8710)),
        ("sequences/vto_tshirt_shape00_108_12.npz", sequence(35, 4424, 8710)),
        ("rigs/dembones_bone_skeleton.npz", json!({ "joints": 6, "points": 754, "clips": [{ "frames": 400 }] })),
        ("rigs/gt_cheburashka.npz", json!({ "joints": 11, "frames": 11, "clips": [{ "frames": 11 }] })),
        ("rigs/gt_cylinder.npz", json!({ "joints": 4, "frames": 4, "clips": [{ "frames": 4 }] })),
        ("rigs/derived_mpfb_poses.npz", json!({ "joints": 53, "frames": 101, "clips": [{ "frames": 101 }] })),
        ("rigs/CesiumMan.glb", json!({ "points": 2338, "vertices": 3273, "closed": true, "joints": 19, "uv_sets": 1 })),
        (
            "rigs/Fox.glb",
            json!({ "joints": 24, "clips": [{ "name": "Survey" }, { "name": "Walk" }, { "name": "Run" }] }),
        ),
        ("rigs/RiggedSimple.glb", json!({ "joints": 2 })),
        ("rigs/horse-animations.glb", json!({ "joints": 56, "points": 1709, "closed": true })),
        ("rigs/model-horse.glb", json!({ "points": 1709, "closed": true, "clips": [] })),
        (
            "bodies/mpfb_game_engine_smpl_layout.npz",
            json!({ "points": 13380, "triangles": 26756, "closed": true, "joints": 53, "max_influences": 6 }),
        ),
        ("bodies/human_man.obj", json!({ "points": 6890, "triangles": 13776, "closed": true, "frames": null })),
        ("formats/Bone_Anim.abc", json!({ "frames": 400, "points": 754 })),
        ("formats/Cloth-10frames.abc", json!({})),
        ("formats/Bone_All.fbx", json!({ "points": 754, "joints": 6 })),
        ("formats/RiggedFigure.usdz", json!({ "joints": 19, "clips": [{ "frames": 31 }] })),
        ("formats/cube.mdd", json!({ "triangles": 0 })),
        ("formats/Horse.glb", json!({ "points": 494, "triangles": 984 })),
        ("formats/Flamingo.glb", json!({ "clips": [{ "name": "flamingo_flyA_" }] })),
        ("formats/AnimatedMorphSphere.glb", json!({ "morph_targets": ["", ""] })),
        (
            "formats/MorphStressTest.glb",
            json!({ "clips": [{ "name": "Individuals" }, { "name": "TheWave" }, { "name": "Pulse" }] }),
        ),
        ("tets/spot.mesh", json!({ "points": 837, "tetrahedra": 2288 })),
        ("tets/spot_high.mesh", json!({ "points": 1762, "tetrahedra": 4678 })),
    ]
}

#[test]
fn inspecting_the_shared_data_agrees_with_its_readme() {
    let Some(folder) = shared_data() else { return };
    let sandbox = Sandbox::new();
    let expectations = expectations();
    let mut wrong = Vec::new();
    for file in files_below(&folder) {
        let name = file.strip_prefix(&folder).unwrap().to_str().unwrap().replace('\\', "/");
        let Some((_, expected)) = expectations.iter().find(|(known, _)| *known == name) else {
            println!("{name} is new: no facts are expected");
            continue;
        };
        let outcome = sandbox.run(&["inspect", file.to_str().unwrap(), "--format", "json"]);
        if outcome.code != 0 {
            wrong.push(outcome.stderr);
            continue;
        }
        let facts = outcome.json();
        let objects = facts["objects"].as_array().unwrap();
        match objects.iter().max_by_key(|object| object["points"].as_u64()) {
            Some(object) => differences(&name, expected, object, &mut wrong),
            None => wrong.push(format!("{name} has no objects")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Collects the differences: every expected value must exist; objects can have additional keys, arrays no additional
/// items.
fn differences(path: &str, expected: &Value, found: &Value, wrong: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (key, value) in expected {
                differences(&format!("{path} {key}"), value, found.get(key).unwrap_or(&Value::Null), wrong);
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
                differences(&format!("{path} {at}"), expected, found, wrong);
            }
        }
        _ if expected == found => {}
        _ => wrong.push(format!("{path}: {found}, but the README states {expected}")),
    }
}

fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|extension| extension != "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
