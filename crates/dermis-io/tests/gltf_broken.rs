//! Damaged glTF: an error or a valid scene, without panics and in bounded time.

mod common;
mod gltf_support;

use std::sync::Arc;

use common::{assert_survives, damage};
use dermis_io::{Error, ReadOptions};
use dermis_mesh::{MeshSequence, Object, Scene};
use gltf_support::variants::*;
use gltf_support::*;
use serde_json::{Value, json};

fn try_read(bytes: &[u8]) -> Result<Scene, Error> {
    dermis_io::read_bytes("glb", bytes, &ReadOptions::default())
}

fn recorded() -> Vec<u8> {
    let mesh = Arc::new(tube());
    let positions = mesh.points().repeat(4);
    glb_of(&scene_of(vec![Object::of_sequence("tube", MeshSequence::new(mesh, positions, 24.0).unwrap())]))
}

fn layered() -> Vec<u8> {
    glb_of(&scene_of(vec![Object { deformers: vec![deformer()], ..rigged(2, 3, 1, 0.0) }]))
}

/// Files that together use everything that is read.
fn valid_files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("still", glb_of(&scene_of(vec![Object::of_mesh("tube", Arc::new(tube()))]))),
        ("rig", glb_of(&scene_of(vec![rigged(3, 4, 2, 0.0)]))),
        ("flexible", glb_of(&scene_of(vec![rigged(2, 3, 1, 0.2)]))),
        ("layers", layered()),
        ("morph", glb_of(&scene_of(vec![morphing()]))),
        ("recorded", recorded()),
        ("quantized", quantized()),
        ("sparse", sparse_morph()),
        ("moving node", moving_node()),
        ("meshopt", meshopt_compressed()),
        ("draco", draco_compressed()),
        ("loose skin", loose_skin()),
        ("text", embedded_text()),
    ]
}

#[test]
fn every_kind_of_file_survives_damage() {
    for (name, bytes) in valid_files() {
        assert!(try_read(&bytes).is_ok_and(|scene| scene.objects.len() == 1), "{name} is valid");
        let broken: Vec<_> = damage(&bytes).into_iter().map(|(how, bytes)| (format!("{name}: {how}"), bytes)).collect();
        assert_survives(&broken, try_read);
    }
}

/// The JSON and the binary chunk of a file.
fn parts(bytes: &[u8]) -> (Value, Vec<u8>) {
    if !bytes.starts_with(b"glTF") {
        return (serde_json::from_slice(bytes).unwrap(), Vec::new());
    }
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    (json_of(bytes), bytes[28 + length..].to_vec())
}

/// The pointers of all numbers and strings in a JSON value.
fn leaves(value: &Value, place: &str, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, &format!("{place}/{index}"), out);
            }
        }
        Value::Object(items) => {
            for (name, item) in items {
                leaves(item, &format!("{place}/{name}"), out);
            }
        }
        Value::Number(_) | Value::String(_) => out.push(place.to_owned()),
        _ => {}
    }
}

#[test]
fn survives_absurd_values_in_the_json() {
    let absurd = [
        json!(0),
        json!(1),
        json!(7),
        json!(-1),
        json!(1_000_000),
        json!(4_294_967_295u64),
        json!(u64::MAX),
        json!(1e300),
        json!("x"),
        json!([]),
    ];
    for (name, bytes) in valid_files() {
        let (json, binary) = parts(&bytes);
        let mut places = Vec::new();
        leaves(&json, "", &mut places);
        // Long lists of similar numbers (matrices, children) need not be tried completely.
        let step = (places.len() / 150).max(1);
        let mut broken = Vec::new();
        for place in places.iter().step_by(step) {
            for value in &absurd {
                let mut json = json.clone();
                *json.pointer_mut(place).unwrap() = value.clone();
                broken.push((format!("{name}: {place} = {value}"), glb(&json, &binary)));
            }
        }
        assert!(broken.len() >= 200);
        assert_survives(&broken, try_read);
    }
}

#[test]
fn rejects_invalid_json_values() {
    let (json, binary) = parts(&glb_of(&scene_of(vec![rigged(3, 4, 1, 0.0)])));
    let change = |place: &str, value: Value| {
        let mut json = json.clone();
        *json.pointer_mut(place).expect(place) = value;
        try_read(&glb(&json, &binary))
    };
    assert!(change("/asset/version", json!("2.0")).is_ok());
    let impossible = [
        ("/asset/version", json!("1.0")),
        ("/meshes/0/primitives/0/indices", json!(999)),
        ("/meshes/0/primitives/0/attributes/POSITION", json!(999)),
        (
            "/meshes/0/primitives/0/attributes/NORMAL",
            json["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"].clone(),
        ),
        ("/meshes/0/primitives/0/material", json!(999)),
        ("/skins/0/joints/0", json!(999)),
        ("/skins/0/joints", json!([])),
        ("/skins/0/joints", json!([0])),
        ("/skins/0/inverseBindMatrices", json!(0)),
        ("/animations/0/samplers/0/input", json!(0)),
        ("/animations/0/samplers/0/interpolation", json!("SWIRL")),
        ("/animations/0/channels/0/target/node", json!(999)),
        ("/animations/0/channels/0/sampler", json!(999)),
        ("/scenes/0/nodes", json!([999])),
        ("/scene", json!(5)),
        ("/accessors/0/count", json!(u64::MAX)),
        ("/accessors/0/componentType", json!(5)),
        ("/accessors/0/type", json!("VEC9")),
        ("/bufferViews/0/byteLength", json!(1_000_000)),
        ("/buffers/0/byteLength", json!(1_000_000)),
    ];
    for (place, value) in impossible {
        assert!(change(place, value.clone()).is_err(), "{place} = {value}");
    }
    let mut modes = json.clone();
    modes["meshes"][0]["primitives"][0]["mode"] = json!(9);
    assert!(try_read(&glb(&modes, &binary)).is_err());
    let cycle = try_read(&glb(
        &json!({ "asset": { "version": "2.0" }, "nodes": [{ "children": [1] }, { "children": [0] }] }),
        &[],
    ));
    assert!(cycle.unwrap_err().to_string().contains("cycle"));
    // The value is ignored in `extras` of the file and rejected in `asset`; neither exhausts the stack.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(try_read(format!(r#"{{"asset":{{"version":"2.0"}},"extras":{deep}}}"#).as_bytes()).is_ok());
    assert!(try_read(format!(r#"{{"asset":{{"version":"2.0","extras":{deep}}}}}"#).as_bytes()).is_err());
}

#[test]
fn rejects_non_finite_numbers_that_matter() {
    let (json, binary) = parts(&glb_of(&scene_of(vec![rigged(3, 4, 1, 0.0)])));
    let offset = |accessor: &Value| {
        let view = json["accessors"][accessor.as_u64().unwrap() as usize]["bufferView"].as_u64().unwrap() as usize;
        json["bufferViews"][view]["byteOffset"].as_u64().unwrap() as usize
    };
    let attributes = &json["meshes"][0]["primitives"][0]["attributes"];
    let sampler = &json["animations"][0]["samplers"][0];
    let places = [
        &attributes["POSITION"],
        &attributes["NORMAL"],
        &attributes["WEIGHTS_0"],
        &json["skins"][0]["inverseBindMatrices"],
        &sampler["input"],
        &sampler["output"],
    ];
    for accessor in places {
        for number in [f32::NAN, f32::INFINITY] {
            let mut binary = binary.clone();
            binary[offset(accessor)..][..4].copy_from_slice(&number.to_le_bytes());
            assert!(try_read(&glb(&json, &binary)).is_err(), "{number} in accessor {accessor}");
        }
    }
}

#[test]
fn rejects_layers_with_missing_or_repeated_accessors() {
    let (whole, data) = parts(&layered());
    let buffers = |root: &mut Value, changed: Value| {
        let nodes = root["nodes"].as_array_mut().unwrap();
        let node = nodes.iter_mut().find(|node| node.get("extensions").is_some()).unwrap();
        node["extensions"]["DERMIS_deformers"]["deformers"][0]["buffers"] = changed;
    };
    for changed in [json!({ "a": 999 }), json!({ "a": "text" }), json!({ "a": -1 })] {
        let mut root = whole.clone();
        buffers(&mut root, changed);
        assert!(try_read(&glb(&root, &data)).is_err());
    }
    let mut root = whole.clone();
    let accessors = root["accessors"].as_array_mut().unwrap();
    accessors.push(json!({ "componentType": 5126, "count": 1 << 24, "type": "SCALAR" }));
    let zeros = accessors.len() - 1;
    let many: serde_json::Map<String, Value> = (0..100).map(|k| (k.to_string(), zeros.into())).collect();
    buffers(&mut root, Value::Object(many));
    assert!(try_read(&glb(&root, &data)).is_err());
}
