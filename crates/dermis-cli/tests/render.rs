//! `dermis render` as a user calls it.

mod common;

use common::{Sandbox, box_mesh, moving_box, shared_data};
use dermis::prelude::*;

/// Width and height in the header of a PNG file.
fn size_of(sandbox: &Sandbox, name: &str) -> [u32; 2] {
    let bytes = std::fs::read(sandbox.path(name)).unwrap();
    assert_eq!(&bytes[..4], b"\x89PNG");
    [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()))
}

#[test]
fn a_picture_of_each_look_is_written() {
    let sandbox = Sandbox::new();
    for look in ["material", "clay", "normals", "bones"] {
        let name = format!("{look}.png");
        let command = ["render", "sample:hand", "--look", look, "-o", &name, "--size", "96x64", "--format", "json"];
        let answer = sandbox.succeed(&command).json();
        assert_eq!(size_of(&sandbox, &name), [96, 64]);
        assert!(answer["triangles"].as_u64().unwrap() > 1000 && answer["pictures"] == 1, "{answer}");
    }
    let files: Vec<Vec<u8>> =
        ["clay", "normals", "bones"].map(|look| std::fs::read(sandbox.path(&format!("{look}.png"))).unwrap()).into();
    assert!(files[0] != files[1] && files[1] != files[2]);
}

#[test]
fn inputs_clips_and_frames_make_panels() {
    let sandbox = Sandbox::new();
    let base = ["render", "sample:hand", "--size", "240x80", "--format", "json"];
    let panels = |more: &[&str]| {
        let answer = sandbox.succeed(&[&base[..], more].concat()).json();
        answer["panels"].as_u64().unwrap()
    };
    assert_eq!(panels(&["--frame", "rest,0,-1", "-o", "frames.png", "--joints", "--wireframe"]), 3);
    assert_eq!(panels(&["--clip", "fist,wave", "--frame", "5", "-o", "clips.png", "--label", "a", "--label", "b"]), 2);
    assert_eq!(panels(&["sample:arm", "-o", "inputs.png", "--camera", "front", "--fit-each", "--no-floor"]), 2);
    let error = sandbox.fail(&["render", "sample:hand", "--frame", "0,1,2", "--clip", "fist,wave", "-o", "x.png"]);
    assert!(error.contains("2 values of --clip cannot be repeated to make 3 panels"), "{error}");
    assert!(!sandbox.path("x.png").exists());
}

#[test]
fn the_error_of_a_skin_has_a_legend_with_its_range() {
    let sandbox = Sandbox::new();
    let mut scene = moving_box(4, 24.0);
    sandbox.write("true.npz", &scene);
    // The error of each frame is 1 % of the diagonal.
    let sequence = scene.objects[0].sequence.take().unwrap();
    let shift = 0.01 * 3f32.sqrt();
    let moved = (0..4)
        .flat_map(|frame| sequence.frame(frame).unwrap().iter().map(|&at| at + Vec3::Y * shift).collect::<Vec<_>>());
    let moved = MeshSequence::new(Arc::clone(sequence.mesh()), moved.collect(), 24.0).unwrap();
    scene.objects[0].sequence = Some(moved);
    sandbox.write("fit.npz", &scene);
    let base = ["render", "fit.npz", "--heat", "error", "--size", "120x90", "--format", "json"];
    let answer = sandbox.succeed(&[&base[..], &["--sequence", "true.npz", "-o", "error.png"]].concat()).json();
    let range = |at: usize| answer["heat"]["range"][at].as_f64().unwrap();
    assert!(range(0) == 0.0 && (range(1) - 1.0).abs() < 1e-3, "{answer}");
    let answer = sandbox
        .succeed(&["render", "fit.npz", "--heat", "volume", "-o", "volume.png", "--size", "60x60", "--format", "json"]);
    assert!(answer.json()["heat"]["quantity"].as_str().unwrap().contains("volume"));
    let error = sandbox.fail(&[&base[..], &["-o", "none.png"]].concat());
    assert!(error.contains("reference") && error.contains("--sequence"), "{error}");
    let error = sandbox.fail(&["render", "fit.npz", "--look", "heat", "-o", "none.png"]);
    assert!(error.contains("--heat error"), "{error}");
    let error = sandbox.fail(&[&base[..], &["--sequence", "sample:hand", "-o", "none.png"]].concat());
    assert!(!error.is_empty() && !sandbox.path("none.png").exists());
}

#[test]
fn frames_are_numbered_and_replaced_as_a_whole() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(6, 24.0));
    let names = || {
        let mut names: Vec<String> = std::fs::read_dir(sandbox.path("film"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let base = ["render", "box.npz", "-o", "film/", "--size", "32x24"];
    sandbox.succeed(&[&base[..], &["--frames", "::2"]].concat());
    assert_eq!(names(), ["frame.0000.png", "frame.0001.png", "frame.0002.png"]);
    let error = sandbox.fail(&base);
    assert!(error.contains("--force"), "{error}");
    sandbox.succeed(&[&base[..], &["--frames", "1:3", "--force"]].concat());
    assert_eq!(names(), ["frame.0000.png", "frame.0001.png"]);
    let [first, second] =
        ["film/frame.0000.png", "film/frame.0001.png"].map(|name| std::fs::read(sandbox.path(name)).unwrap());
    assert_ne!(first, second);
}

#[test]
fn threads_do_not_change_the_picture() {
    let sandbox = Sandbox::new();
    for threads in ["1", "2"] {
        let name = format!("{threads}.png");
        sandbox.succeed(&[
            "render", "sample:arm", "-o", &name, "--size", "200x150", "--threads", threads, "--frame", "30",
        ]);
    }
    assert!(std::fs::read(sandbox.path("1.png")).unwrap() == std::fs::read(sandbox.path("2.png")).unwrap());
}

#[test]
fn rejects_what_cannot_be_drawn() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &moving_box(3, 24.0));
    sandbox
        .write("still.obj", &Scene { objects: vec![Object::of_mesh("box", Arc::new(box_mesh()))], ..Scene::default() });
    let points = TriMesh::new(vec![Vec3::ZERO, Vec3::ONE], vec![]).unwrap();
    sandbox
        .write("points.npz", &Scene { objects: vec![Object::of_mesh("points", Arc::new(points))], ..Scene::default() });
    let cases: [(&[&str], &str); 15] = [
        (&["box.npz", "-o", "x.png", "--size", "0x10"], "invalid size 0x10"),
        (&["box.npz", "-o", "x.png", "--size", "99999x99999"], "invalid size"),
        (&["box.npz", "-o", "x.png", "--size", "wide"], "1600x1200"),
        (&["points.npz", "-o", "x.png"], "no mesh with triangles"),
        (&["box.npz", "-o", "x.png", "--frame", "3"], "there is no frame 3"),
        (&["still.obj", "-o", "x.png", "--frame", "0"], "requires a motion"),
        (&["still.obj", "-o", "x/"], "requires a motion"),
        (&["box.npz", "-o", "x/", "--frames", "3:9"], "contains no frame"),
        (&["box.npz", "-o", "x.png", "--frames", "0:2"], "--frames has an effect only if the output is a folder"),
        (&["sample:hand", "-o", "x.png", "--clip", "wvae"], "did you mean 'wave'?"),
        (&["box.npz", "-o", "x.png", "--look", "bones"], "no joints"),
        (&["box.npz", "-o", "x.png", "--joints"], "no joints"),
        (&["box.npz", "-o", "x.png", "--heat", "attribute:fat"], "no attribute called 'fat'"),
        (&["box.npz", "-o", "x.jpg"], "a picture is a PNG file"),
        (&["box.npz", "-o", "x.png", "--camera", "0,100"], "elevation"),
    ];
    for (arguments, expected) in cases {
        let error = sandbox.fail(&[&["render"], arguments].concat());
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
    assert!(!sandbox.path("x.png").exists() && !sandbox.path("x").exists());
}

#[test]
fn real_files_are_drawn_with_their_textures() {
    let Some(folder) = shared_data() else { return };
    let sandbox = Sandbox::new();
    for name in ["CesiumMan.glb", "Fox.glb"] {
        let file = folder.join("rigs").join(name);
        let draw = |look: &str| {
            let output = format!("{name}.{look}.png");
            let command = [
                "render",
                file.to_str().unwrap(),
                "-o",
                &output,
                "--look",
                look,
                "--size",
                "160x120",
                "--format",
                "json",
            ];
            let answer = sandbox.succeed(&command).json();
            assert!(!answer["notes"].to_string().contains("texture"), "{answer}");
            std::fs::read(sandbox.path(&output)).unwrap()
        };
        assert_ne!(draw("material"), draw("clay"));
    }
}
