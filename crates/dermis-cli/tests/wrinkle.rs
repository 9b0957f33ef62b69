//! End-to-end tests of `dermis wrinkle`.

mod common;

use common::{Sandbox, shared_data};
use dermis::mesh::Layout;
use dermis::prelude::*;
use serde_json::Value;

/// Number of cells per side of the sheet.
const CELLS: u32 = 12;

/// A square sheet without UVs in the plane z = 0, with `more` triangles.
fn sheet(more: &[[u32; 3]]) -> TriMesh {
    let row = CELLS + 1;
    let points = (0..row * row).map(|k| Vec3::new((k % row) as f32, (k / row) as f32, 0.0)).collect();
    let corners = (0..CELLS * CELLS).map(|k| k % CELLS + row * (k / CELLS));
    let mut triangles: Vec<[u32; 3]> =
        corners.flat_map(|a| [[a, a + 1, a + row + 1], [a, a + row + 1, a + row]]).collect();
    triangles.extend(more);
    TriMesh::new(points, triangles).unwrap()
}

/// The mesh in three frames, stretched along x by `by` times the index of the frame.
fn pulled(mesh: TriMesh, by: f32) -> Scene {
    let mesh = Arc::new(mesh);
    let frame = |frame: u8| {
        let factor = 1.0 + by * f32::from(frame);
        mesh.points().iter().map(move |point| Vec3::new(point.x * factor, point.y, point.z))
    };
    let frames = (0..3).flat_map(frame).collect();
    let sequence = MeshSequence::new(Arc::clone(&mesh), frames, 24.0).unwrap();
    Scene { objects: vec![Object::of_sequence("cloth", sequence)], ..Scene::default() }
}

fn numbers(answer: &Value, key: &str) -> Vec<f64> {
    let list = answer[key].as_array().unwrap_or_else(|| panic!("{key}: {answer}"));
    list.iter().map(|number| number.as_f64().unwrap()).collect()
}

fn notes(answer: &Value) -> String {
    answer["notes"].to_string()
}

/// Asserts that the lost area decreases by at least half in every frame that has lost some, and that no frame is
/// noticeably larger than the rest shape.
fn assert_area_is_restored(answer: &Value) {
    let (before, after) = (numbers(answer, "area_lost_before"), numbers(answer, "area_lost_after"));
    assert_eq!(before.len(), after.len());
    for (frame, (before, after)) in before.iter().zip(&after).enumerate().filter(|(_, (before, _))| **before > 1e-4) {
        assert!(*after <= 0.5 * before, "frame {frame}: {before} → {after}");
        assert!(*after > -0.004, "frame {frame} is larger than the rest shape: {before} → {after}");
    }
}

#[test]
fn the_area_of_towel_and_flag_is_restored_without_spikes_or_popping() {
    let sandbox = Sandbox::new();
    for name in ["sample:towel", "sample:flag"] {
        let answer = sandbox.succeed(&["wrinkle", name, "-o", "out.npz", "--force", "--format", "json"]).json();
        assert_area_is_restored(&answer);
        assert!(answer["highest"].as_f64().unwrap() <= 1.6, "{}", answer["highest"]);
        assert!(answer["popping"].as_f64().unwrap() <= 0.35, "{}", answer["popping"]);
        assert!(answer["seconds_per_frame"].as_f64().unwrap() > 0.0);
        let cloth = &sandbox.read("out.npz").objects[0];
        assert_eq!(cloth.mesh.triangle_count() as u64, answer["triangles_after"].as_u64().unwrap());
        assert!(answer["triangles_after"].as_u64() > answer["triangles_before"].as_u64());
    }
}

#[test]
fn cloth_without_compression_is_written_unchanged_with_a_note() {
    let sandbox = Sandbox::new();
    sandbox.write("cloth.npz", &pulled(sheet(&[]), 0.1));
    let answer = sandbox.succeed(&["wrinkle", "cloth.npz", "-o", "out.npz", "--format", "json"]).json();
    assert!(notes(&answer).contains("not compressed in any frame"), "{answer}");
    let frames = |name: &str| {
        let motion = sandbox.read(name).objects[0].base_motion().unwrap().unwrap();
        (motion.mesh().triangles().to_vec(), (0..3).map(|k| motion.frame(k).unwrap().into_owned()).collect::<Vec<_>>())
    };
    assert_eq!(frames("cloth.npz"), frames("out.npz"));
}

#[test]
fn a_compressed_sheet_is_refined_near_its_wrinkles_or_everywhere() {
    let sandbox = Sandbox::new();
    sandbox.write("cloth.npz", &pulled(sheet(&[]), -0.05));
    let run = |more: &[&str]| {
        let arguments = [&["wrinkle", "cloth.npz", "-o", "out.abc", "--force", "--format", "json"], more].concat();
        sandbox.succeed(&arguments).json()
    };
    assert_area_is_restored(&run(&[]));
    let everywhere = run(&["--subdivide", "3"]);
    assert_eq!(everywhere["triangles_after"].as_u64(), Some(u64::from(2 * CELLS * CELLS * 64)));
    assert_area_is_restored(&everywhere);
    assert!((run(&["--min-radius", "2"])["min_radius"].as_f64().unwrap() - 2.0).abs() < 1e-6);
}

#[test]
fn folds_along_curves_restore_the_area_too() {
    let sandbox = Sandbox::new();
    let arguments = ["wrinkle", "sample:towel", "--frames", "40:60", "--folds", "curves", "-o", "out.npz"];
    assert_area_is_restored(&sandbox.succeed(&[&arguments[..], &["--format", "json"]].concat()).json());
}

#[test]
fn maps_of_a_simplified_cloth_are_written_with_its_animation() {
    let sandbox = Sandbox::new();
    let maps = ["--coarsen", "400", "--map", "png", "--map-size", "64", "-o", "maps"];
    sandbox.succeed(&[&["wrinkle", "sample:towel", "--frames", "40:46"], &maps[..]].concat());
    let cloth = sandbox.read("maps/cloth.npz").objects.remove(0);
    assert_eq!(cloth.sequence.unwrap().frame_count(), 6);
    assert!(cloth.mesh.triangle_count() <= 420);
}

#[test]
fn curves_are_written_as_lines() {
    let sandbox = Sandbox::new();
    sandbox.write("cloth.npz", &pulled(sheet(&[]), -0.05));
    sandbox.succeed(&["wrinkle", "cloth.npz", "-o", "out.npz", "--curves", "curves"]);
    let text = std::fs::read_to_string(sandbox.path("curves/curves.0002.obj")).unwrap();
    assert!(text.lines().any(|line| line.starts_with("l ")), "{text}");
}

#[test]
fn maps_are_written_on_the_uvs_of_the_cloth() {
    let sandbox = Sandbox::new();
    for (format, magic) in [("png", &b"\x89PNG\r\n\x1a\n"[..]), ("exr", &[0x76, 0x2f, 0x31, 0x01])] {
        let arguments =
            ["wrinkle", "sample:towel", "--frames", "0:24:8", "--map", format, "--map-size", "64", "-o", format];
        let answer = sandbox.succeed(&[&arguments[..], &["--format", "json"]].concat()).json();
        assert_eq!(answer["files"].as_array().unwrap().len(), 3, "{answer}");
        let file = std::fs::read(sandbox.path(&format!("{format}/height.0002.{format}"))).unwrap();
        assert!(file.starts_with(magic));
        let printed = sandbox.fail(&arguments);
        assert!(printed.contains("--force"), "{printed}");
    }
}

#[test]
fn an_atlas_is_written_for_a_cloth_without_uvs() {
    let sandbox = Sandbox::new();
    sandbox.write("cloth.npz", &pulled(sheet(&[]), -0.05));
    let answer = sandbox
        .succeed(&["wrinkle", "cloth.npz", "--map", "png", "--map-size", "64", "-o", "maps", "--format", "json"]);
    assert!(notes(&answer.json()).contains("has no UVs"), "{}", answer.stdout);
    let atlas = sandbox.read("maps/cloth.obj");
    assert_eq!(atlas.objects[0].mesh.layout().unwrap().uvs.len(), 1);
}

#[test]
fn overlapping_uvs_are_noted() {
    let sandbox = Sandbox::new();
    let mesh = sheet(&[]);
    let layout = Layout {
        uvs: vec![mesh.points().iter().map(|p| Vec2::new(p.x % 2.0, p.y / 20.0) / 3.0).collect()],
        ..Layout::plain(&mesh)
    };
    sandbox.write("cloth.glb", &pulled(mesh.with_layout(layout).unwrap(), -0.05));
    let answer = sandbox.succeed(&["wrinkle", "cloth.glb", "--map", "exr", "-o", "maps", "--format", "json"]).json();
    assert!(notes(&answer).contains("UVs overlap"), "{answer}");
}

#[test]
fn degenerate_triangles_and_non_manifold_edges_are_skipped_with_a_note() {
    let sandbox = Sandbox::new();
    // One triangle along a line, and a third one at the edge from point 40 to 41.
    sandbox.write("cloth.npz", &pulled(sheet(&[[0, 1, 2], [40, 41, 80]]), -0.05));
    let answer = sandbox.succeed(&["wrinkle", "cloth.npz", "-o", "out.npz", "--format", "json"]).json();
    assert!(notes(&answer).contains("no area in the rest shape"), "{answer}");
    assert!(notes(&answer).contains("edges with more than two triangles"), "{answer}");
    let motion = sandbox.read("out.npz").objects[0].base_motion().unwrap().unwrap();
    assert!((0..3).all(|frame| motion.frame(frame).unwrap().iter().all(|point| point.is_finite())));
}

#[test]
fn rejects_invalid_inputs_with_a_message() {
    let sandbox = Sandbox::new();
    sandbox.write("cloth.npz", &pulled(sheet(&[]), -0.05));
    sandbox.write("other.npz", &pulled(common::box_mesh(), 0.1));
    sandbox.write("rewired.npz", &pulled(sheet(&[[5, 6, 90]]), 0.1));
    for (more, expected) in [
        (["--rest", "other.npz"], "the rest shape has 8 points, but the cloth has 169"),
        (["--rest", "rewired.npz"], "triangle 288 differs between the rest shape and the cloth"),
        (["--rest", "uv"], "no UVs"),
        (["--min-radius", "-1"], "must be positive"),
        (["--coarsen", "100000"], "invalid number of triangles 100000"),
    ] {
        let printed = sandbox.fail(&[&["wrinkle", "cloth.npz", "-o", "out.npz"], &more[..]].concat());
        assert!(printed.contains(expected) && printed.contains("hint:"), "{more:?}: {printed}");
    }
    assert!(!sandbox.path("out.npz").exists());
}

#[test]
fn the_area_of_simulated_shirts_is_restored() {
    let Some(data) = shared_data() else { return };
    let sandbox = Sandbox::new();
    for name in ["vto_tshirt_shape00_128_02.npz", "vto_tshirt_shape00_108_12.npz"] {
        let file = data.join("sequences").join(name).display().to_string();
        let arguments = ["wrinkle", &file, "--coarsen", "1500", "-o", "out.npz", "--force", "--format", "json"];
        let answer = sandbox.succeed(&arguments).json();
        assert_area_is_restored(&answer);
        assert!(answer["popping"].as_f64().unwrap() <= 0.35, "{}", answer["popping"]);
        assert!(answer["flash"].as_f64().unwrap() <= 0.003, "{}", answer["flash"]);
    }
}

/// A sheet of `cells` cells per side that folds along x in eight frames.
fn folding(cells: u32) -> Scene {
    let (row, size) = (cells + 1, 12.0 / cells as f32);
    let points: Vec<Vec3> = (0..row * row).map(|k| Vec3::new((k % row) as f32, (k / row) as f32, 0.0) * size).collect();
    let corners = (0..cells * cells).map(|k| k % cells + row * (k / cells));
    let triangles = corners.flat_map(|a| [[a, a + 1, a + row + 1], [a, a + row + 1, a + row]]).collect();
    let folded = |point: &Vec3, frame: u8| {
        let amount = 0.02 * f32::from(frame);
        Vec3::new(point.x * (1.0 - amount), point.y, amount.sqrt() * (1.6 * point.x).sin())
    };
    let frames = (0..8).flat_map(|frame| points.iter().map(move |point| folded(point, frame))).collect();
    let mesh = Arc::new(TriMesh::new(points.clone(), triangles).unwrap());
    let sequence = MeshSequence::new(mesh, frames, 24.0).unwrap();
    Scene { objects: vec![Object::of_sequence("cloth", sequence)], ..Scene::default() }
}

#[test]
fn folds_are_learned_from_a_fine_simulation() {
    let sandbox = Sandbox::new();
    sandbox.write("coarse.npz", &folding(6));
    sandbox.write("fine.npz", &folding(24));
    let train = ["wrinkle", "train", "coarse.npz", "fine.npz", "-o", "folds.npz", "--format", "json"];
    let answer = sandbox.succeed(&train).json();
    let number = |key: &str| answer[key].as_f64().unwrap();
    assert!(number("distance") < 0.6 * number("coarse_distance"), "{answer}");
    let apply = ["wrinkle", "coarse.npz", "--model", "folds.npz", "-o", "out.npz", "--format", "json"];
    let answer = sandbox.succeed(&apply).json();
    assert_eq!((&answer["triangles_after"], &answer["min_radius"]), (&Value::from(2 * 24 * 24), &Value::Null));
    let rejected = [
        ("wrinkle train fine.npz coarse.npz -o x.npz", "no more than the coarse one"),
        ("wrinkle train coarse.npz fine.npz -o x.glb", "stored as .npz"),
        ("wrinkle train coarse.npz fine.npz --frames :2 -o x.npz", "too few"),
        ("wrinkle sample:flag --frames :2 --model folds.npz -o x.npz", "rest shapes differ"),
        ("wrinkle coarse.npz --model fine.npz -o x.npz", "no learned folds"),
        ("wrinkle coarse.npz --model folds.npz --map png -o maps", "cannot be used with"),
    ];
    for (command, reason) in rejected {
        let words: Vec<&str> = command.split(' ').collect();
        let message = sandbox.fail(&words);
        assert!(message.contains(reason), "{command}: {message}");
    }
}
