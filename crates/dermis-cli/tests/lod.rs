//! End-to-end tests of `dermis lod`.

mod common;

use common::{Sandbox, shared_data};

#[test]
fn levels_are_written_into_the_asset_or_to_separate_files() {
    let sandbox = Sandbox::new();
    let command = ["lod", "sample:arm", "--ratio", "0.1,0.5", "-o", "arm.glb", "--format", "json"];
    let answer = sandbox.succeed(&command).json();
    let levels = answer["objects"][0]["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 2);
    assert!(levels[0]["rms_percent"].as_f64().unwrap() < levels[1]["rms_percent"].as_f64().unwrap(), "{answer}");
    let object = sandbox.read("arm.glb").objects.remove(0);
    assert_eq!(object.levels.len(), 2);
    assert_eq!(object.levels[1].mesh.triangle_count() as u64, levels[1]["triangles"].as_u64().unwrap());
    let facts = sandbox.succeed(&["inspect", "arm.glb", "--format", "json"]).json();
    assert_eq!(facts["objects"][0]["levels"][1], levels[1]["triangles"]);

    sandbox.succeed(&["lod", "sample:arm", "--ratio", "0.5,0.1", "--separate", "-o", "apart.glb"]);
    let coarse = sandbox.read("apart_lod2.glb").objects.remove(0);
    assert_eq!(coarse.mesh.triangle_count(), object.levels[1].mesh.triangle_count());
    assert_eq!(coarse.clips.len(), object.clips.len());
    assert!(!sandbox.path("apart.glb").exists());
}

#[test]
fn rejects_ratios_and_inputs_without_a_skin() {
    let sandbox = Sandbox::new();
    for ratio in ["0", "1.5", "nan"] {
        let error = sandbox.fail(&["lod", "sample:arm", "--ratio", ratio, "-o", "out.glb"]);
        assert!(error.contains("ratio"), "{error}");
    }
    let error = sandbox.fail(&["lod", "sample:gallop", "-o", "out.glb"]);
    assert!(error.contains("no skin") && error.contains("fit a skin"), "{error}");
    let error = sandbox.fail(&["lod", "sample:arm", "-o", "out.fbx"]);
    assert!(error.contains("levels of detail") && error.contains("--separate"), "{error}");
    assert!(!sandbox.path("out.glb").exists());
}

#[test]
fn real_rigs_keep_their_shape_in_all_poses() {
    let Some(folder) = shared_data() else { return };
    let sandbox = Sandbox::new();
    for name in ["CesiumMan.glb", "Fox.glb"] {
        let file = folder.join("rigs").join(name);
        let command = ["lod", file.to_str().unwrap(), "--ratio", "0.5", "-o", name, "--format", "json"];
        let answer = sandbox.succeed(&command).json();
        for object in answer["objects"].as_array().unwrap() {
            assert!(object["levels"][0]["rms_percent"].as_f64().unwrap() < 0.5, "{name}: {answer}");
        }
    }
}
