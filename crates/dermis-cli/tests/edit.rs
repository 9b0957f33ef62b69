//! `dermis edit` as a user calls it.

mod common;

use common::{Sandbox, shared_data};
use dermis::io::image::{png_rgb, png16};
use dermis::prelude::*;

/// The rest shape of `asset` as an OBJ file, with points changed by `change`.
fn edited(sandbox: &Sandbox, asset: &str, change: impl Fn(Vec3) -> Vec3) -> &'static str {
    let object = dermis::read(asset).unwrap().objects.remove(0);
    let points = object.mesh.points().iter().map(|&point| change(point)).collect();
    let mesh = Arc::new(object.mesh.with_points(points).unwrap());
    sandbox.write("edited.obj", &Scene { objects: vec![Object::of_mesh("edited", mesh)], ..default() });
    "edited.obj"
}

#[test]
fn an_edited_shape_is_played_by_all_clips() {
    let sandbox = Sandbox::new();
    let file = edited(&sandbox, "sample:arm", |point| point * 1.05);
    let answer =
        sandbox.succeed(&["edit", "sample:arm", "--displace", file, "-o", "out.glb", "--format", "json"]).json();
    let object = &answer["objects"][0];
    assert_eq!(object["points"], object["old_points"]);
    assert!(object["max_growth"].as_f64().unwrap() < 1.01, "{answer}");
    let (before, after) = (dermis::read("sample:arm").unwrap(), sandbox.read("out.glb"));
    assert_eq!(after.objects[0].clips.len(), before.objects[0].clips.len());
}

#[test]
fn the_rest_pose_that_is_written_is_an_edit_without_effect() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["edit", "sample:hand", "--rest", "-o", "rest.obj"]);
    let command = ["edit", "sample:hand", "--displace", "rest.obj", "-o", "out.glb", "--format", "json"];
    let answer = sandbox.succeed(&command).json();
    assert_eq!(answer["objects"][0]["displaced_points"], 0, "{answer}");
    assert!(sandbox.fail(&["edit", "sample:hand", "-o", "none.glb"]).contains("--displace"));
}

#[test]
fn a_map_displaces_by_metres() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("white.png"), png16(4, &[1.0; 16], [0.0, 1.0]).unwrap()).unwrap();
    let command =
        ["edit", "sample:towel", "--displace", "white.png", "--scale", "0.01", "-o", "out.glb", "--format", "json"];
    let error = sandbox.fail(&command);
    assert!(error.contains("no skin"), "{error}");
    let towel = dermis::read("sample:towel").unwrap().objects.remove(0);
    let still = Object::of_mesh("towel", Arc::clone(&towel.mesh));
    sandbox.write("still.glb", &Scene { objects: vec![still], ..default() });
    let mut command = command;
    command[1] = "still.glb";
    if towel.mesh.layout().is_some_and(|layout| !layout.uvs.is_empty()) {
        let answer = sandbox.succeed(&command).json();
        let largest = answer["objects"][0]["max_displacement"].as_f64().unwrap();
        assert!((largest - 0.01).abs() < 1e-6, "{answer}");
    } else {
        assert!(sandbox.fail(&command).contains("texture coordinates"));
    }
}

#[test]
fn rejects_wrong_maps_and_options() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("grey.png"), png16(4, &[1.0; 16], [0.0, 1.0]).unwrap()).unwrap();
    std::fs::write(sandbox.path("tiny.png"), png16(1, &[1.0], [0.0, 1.0]).unwrap()).unwrap();
    std::fs::write(sandbox.path("normal.png"), png_rgb(2, &[[128, 128, 255]; 4]).unwrap()).unwrap();
    std::fs::write(sandbox.path("photo.png"), b"\xff\xd8\xff\xe0 JFIF").unwrap();
    let file = edited(&sandbox, "sample:arm", |point| point + Vec3::splat(1000.0));
    let fail = |arguments: &[&str]| {
        let command = [&["edit", "sample:arm", "-o", "out.glb", "--displace"][..], arguments].concat();
        sandbox.fail(&command)
    };
    for (arguments, expected) in [
        (&["grey.png"][..], "--scale"),
        (&["grey.png", "--scale", "nan"], "finite"),
        (&["grey.png", "--scale", "0.1", "--mid-level", "1"], "mid level"),
        (&["tiny.png", "--scale", "0.1"], "1 × 1"),
        (&["normal.png", "--scale", "0.1"], "coloured"),
        (&["photo.png", "--scale", "0.1"], "PNG"),
        (&["missing.png", "--scale", "0.1"], "missing.png"),
        (&["grey.png", "--scale", "0.1", "--mesh", "leg"], "leg"),
        (&[file, "--scale", "0.1"], "--scale has an effect only"),
        (&[file], "does not lie on the rest pose"),
    ] {
        let error = fail(arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    assert!(!sandbox.path("out.glb").exists());
}

#[test]
fn real_rigs_keep_materials_clips_and_convex_weights_with_cut_geometry() {
    let Some(folder) = shared_data() else { return };
    for name in ["CesiumMan.glb", "Fox.glb"] {
        let sandbox = Sandbox::new();
        let file = folder.join("rigs").join(name);
        let file = file.to_str().unwrap();
        let before = dermis::read(file).unwrap();
        let object = &before.objects[0];
        let kept = object.mesh.triangles()[..object.mesh.triangle_count() / 2].to_vec();
        let mesh = Arc::new(TriMesh::new(object.mesh.points().to_vec(), kept).unwrap());
        let cut = format!("{name}.obj");
        sandbox.write(&cut, &Scene { objects: vec![Object::of_mesh("cut", mesh)], ..default() });
        sandbox.succeed(&["edit", file, "--displace", &cut, "-o", name]);
        let after = sandbox.read(name).objects.remove(0);
        assert_eq!(after.clips.len(), object.clips.len());
        let textures = |object: &Object| {
            object.mesh.layout().unwrap().materials.iter().filter(|m| m.base_color_texture.is_some()).count()
        };
        assert_eq!(textures(&after), textures(object));
        for row in after.rig.as_ref().unwrap().weights().rows() {
            let row: Vec<f32> = row.map(|(_, weight)| weight).collect();
            assert!(row.iter().all(|weight| *weight >= 0.0) && (row.iter().sum::<f32>() - 1.0).abs() < 1e-3, "{row:?}");
        }
    }
}
