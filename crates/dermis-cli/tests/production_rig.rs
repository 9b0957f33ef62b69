//! Every command on a character as production tools export it, compared with a clean copy of the same character.
//!
//! The copy is in metres with Y up. The export is in centimetres with Z up below a node of scale 0.01, as files of
//! Mixamo are, with prefixed names of joints and an empty take before the others. Both have two meshes on one skeleton.

mod common;

use std::f32::consts::TAU;

use common::Sandbox;
use dermis::mesh::glam::{DQuat, DVec3};
use dermis::mesh::{RigPose, Units, UpAxis};
use dermis::prelude::*;
use dermis::retarget::in_units;
use serde_json::{Value, json};

const METRES: Units = Units { metres_per_unit: Some(1.0), up_axis: Some(UpAxis::Y) };
const CENTIMETRES: Units = Units { metres_per_unit: Some(0.01), up_axis: Some(UpAxis::Z) };
const HEIGHT: f32 = 1.7;
const RADIUS: f32 = 0.2;
const RINGS: usize = 25;
const SIDES: usize = 16;
const JOINTS: [&str; 5] = ["Hips", "Spine", "Chest", "Neck", "Head_End"];
const FRAMES: usize = 12;

/// A closed tube along y with hemispherical ends.
fn tube() -> TriMesh {
    let ring = |at: usize| {
        let along = at as f32 / (RINGS - 1) as f32;
        let end = (along * HEIGHT).min(HEIGHT - along * HEIGHT).min(RADIUS) / RADIUS;
        let radius = RADIUS * (1.0 - (1.0 - end) * (1.0 - end)).sqrt().max(0.3);
        let point = move |side: usize| {
            let angle = TAU * side as f32 / SIDES as f32;
            Vec3::new(radius * angle.cos(), along * HEIGHT, 0.8 * radius * angle.sin())
        };
        (0..SIDES).map(point)
    };
    let mut points: Vec<Vec3> = (0..RINGS).flat_map(ring).collect();
    let at = |ring: usize, side: usize| (ring * SIDES + side % SIDES) as u32;
    let mut triangles = Vec::new();
    for (ring, side) in (0..RINGS - 1).flat_map(|ring| (0..SIDES).map(move |side| (ring, side))) {
        let [a, b, c, d] = [at(ring, side), at(ring, side + 1), at(ring + 1, side + 1), at(ring + 1, side)];
        triangles.extend([[a, c, b], [a, d, c]]);
    }
    let (bottom, top) = (points.len() as u32, points.len() as u32 + 1);
    points.extend([Vec3::new(0.0, -0.02, 0.0), Vec3::new(0.0, HEIGHT + 0.02, 0.0)]);
    for side in 0..SIDES {
        triangles.push([bottom, at(0, side), at(0, side + 1)]);
        triangles.push([top, at(RINGS - 1, side + 1), at(RINGS - 1, side)]);
    }
    TriMesh::new(points, triangles).unwrap()
}

/// An open sheet behind the tube.
fn cape() -> TriMesh {
    const WIDE: usize = 9;
    const HIGH: usize = 17;
    let point = |at: usize| {
        let (x, y) = ((at % WIDE) as f32 / (WIDE - 1) as f32, (at / WIDE) as f32 / (HIGH - 1) as f32);
        Vec3::new(0.5 * x - 0.25, 0.3 + 1.1 * y, -RADIUS - 0.05)
    };
    let quads = (0..(HIGH - 1) * (WIDE - 1)).map(|quad| (quad / (WIDE - 1) * WIDE + quad % (WIDE - 1)) as u32);
    let triangles = quads.flat_map(|a| {
        let (b, c, d) = (a + 1, a + 1 + WIDE as u32, a + WIDE as u32);
        [[a, c, b], [a, d, c]]
    });
    TriMesh::new((0..WIDE * HIGH).map(point).collect(), triangles.collect()).unwrap()
}

/// Height of joint `joint`.
fn joint_height(joint: usize) -> f64 {
    f64::from(HEIGHT) * joint as f64 / (JOINTS.len() - 1) as f64
}

fn joints() -> Arc<Vec<Joint>> {
    let joint = |(index, name): (usize, &&str)| {
        let bind = DAffine3::from_translation(DVec3::Y * joint_height(index));
        Joint::at(format!("mixamorig:{name}"), index.checked_sub(1), bind)
    };
    Arc::new(JOINTS.iter().enumerate().map(joint).collect())
}

/// Weights that blend from joint to joint along y; the end joint moves no point.
fn weights(mesh: &TriMesh) -> SkinWeights {
    let last = JOINTS.len() - 2;
    let row = |point: &Vec3| {
        let at = (point.y / HEIGHT * (JOINTS.len() - 1) as f32 - 0.5).clamp(0.0, last as f32);
        let (below, part) = ((at as usize).min(last - 1), (at - (at as usize).min(last - 1) as f32).clamp(0.0, 1.0));
        let part = part * part * (3.0 - 2.0 * part);
        [(below as u32, 1.0 - part), (below as u32 + 1, part)]
    };
    SkinWeights::from_rows(mesh.points().iter().map(row))
}

/// Transforms of all joints in all frames: each joint rotates about `axis` by up to `angle`.
fn motion(axis: DVec3, angle: f64) -> Vec<DAffine3> {
    let mut transforms = Vec::new();
    for frame in 0..FRAMES {
        let turn = angle * (std::f64::consts::PI * frame as f64 / (FRAMES - 1) as f64).sin();
        let step = DVec3::new(0.0, 0.0, 0.02 * frame as f64);
        let mut world = DAffine3::from_translation(step);
        for joint in 0..JOINTS.len() {
            let offset = joint_height(joint) - if joint > 0 { joint_height(joint - 1) } else { 0.0 };
            let rotation = if joint == 0 { DQuat::IDENTITY } else { DQuat::from_axis_angle(axis, turn) };
            world *= DAffine3::from_rotation_translation(rotation, DVec3::Y * offset);
            transforms.push(world);
        }
    }
    transforms
}

fn character() -> Scene {
    let joints = joints();
    let object = |(name, mesh): (&str, TriMesh)| {
        let mesh = Arc::new(mesh);
        let rig = Rig::sharing(&mesh, Arc::clone(&joints), weights(&mesh), vec![]).unwrap();
        let clip = |name: &str, axis, angle| Clip::new(&rig, name, 24.0, motion(axis, angle), vec![]).unwrap();
        let clips = vec![clip("bend", DVec3::X, 0.5), clip("lean", DVec3::Z, -0.35), clip("twist", DVec3::Y, 0.6)];
        Object::of_rig(name, mesh, rig, clips)
    };
    let objects = [("body", tube()), ("cape", cape())].map(object);
    Scene { objects: objects.into(), units: METRES, ..Scene::default() }
}

/// The bytes of a glb file with its JSON changed.
fn with_json(bytes: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let length = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut root: Value = serde_json::from_slice(&bytes[20..20 + length(12)]).unwrap();
    change(&mut root);
    let mut text = serde_json::to_vec(&root).unwrap();
    text.resize(text.len().next_multiple_of(4), b' ');
    let binary = &bytes[20 + length(12)..];
    let total = 20 + text.len() + binary.len();
    let head = [b"glTF".to_vec(), vec![2, 0, 0, 0], (total as u32).to_le_bytes().into()].concat();
    [head, (text.len() as u32).to_le_bytes().into(), b"JSON".to_vec(), text, binary.to_vec()].concat()
}

/// Writes `clean.glb` and `export.glb`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let clean = character();
    sandbox.write("clean.glb", &clean);
    let objects = clean.objects.iter().map(|object| in_units(object, METRES, CENTIMETRES).unwrap().unwrap());
    let scene = Scene { objects: objects.collect(), units: CENTIMETRES, ..Scene::default() };
    sandbox.write("export.glb", &scene);
    let bytes = std::fs::read(sandbox.path("export.glb")).unwrap();
    let bytes = with_json(&bytes, |root| {
        let nodes = root["nodes"].as_array_mut().unwrap();
        assert!(
            nodes.iter().any(|node| node["scale"][0].as_f64().is_some_and(|scale| (scale - 0.01).abs() < 1e-9)),
            "no node of scale 0.01: {nodes:?}"
        );
        for node in nodes.iter_mut() {
            node.as_object_mut().unwrap().remove("extras");
        }
        // A camera, which does not move in the empty take.
        nodes.push(json!({ "name": "Camera" }));
        let camera = nodes.len() - 1;
        for scene in root["scenes"].as_array_mut().unwrap() {
            scene.as_object_mut().unwrap().remove("extras");
        }
        root["asset"].as_object_mut().unwrap().remove("extras");
        let time = root["animations"][0]["samplers"][0]["input"].clone();
        let count = root["accessors"][time.as_u64().unwrap() as usize]["count"].clone();
        // Translations that are all zero: an accessor without a view.
        root["accessors"]
            .as_array_mut()
            .unwrap()
            .push(json!({ "componentType": 5126, "type": "VEC3", "count": count }));
        let zeros = root["accessors"].as_array().unwrap().len() - 1;
        let take = json!({
            "name": "Take 001",
            "samplers": [{ "input": time, "output": zeros }],
            "channels": [{ "sampler": 0, "target": { "node": camera, "path": "translation" } }],
        });
        root["animations"].as_array_mut().unwrap().insert(0, take);
        root["scenes"][0]["nodes"].as_array_mut().unwrap().push(json!(camera));
    });
    std::fs::write(sandbox.path("export.glb"), bytes).unwrap();
    sandbox
}

/// Target shapes of the body in the first clip: its skin with a bulge.
fn targets(clean: &Scene) -> Scene {
    let motion = clean.objects[0].base_motion().unwrap().unwrap();
    let outwards = |point: &Vec3| Vec3::new(point.x, 0.0, point.z).normalize_or_zero();
    let bulges: Vec<Vec3> = motion.mesh().points().iter().map(outwards).collect();
    let frame = |frame: usize| {
        let size = 0.03 * (std::f32::consts::PI * frame as f32 / (FRAMES - 1) as f32).sin();
        let points = motion.frame(frame).unwrap().into_owned();
        points.into_iter().zip(&bulges).map(move |(point, bulge)| point + size * *bulge).collect::<Vec<_>>()
    };
    let positions = (0..FRAMES).flat_map(frame).collect();
    let sequence = MeshSequence::new(Arc::clone(&clean.objects[0].mesh), positions, 24.0).unwrap();
    Scene { objects: vec![Object::of_sequence("body", sequence)], units: METRES, ..Scene::default() }
}

/// Keys of the summaries that state files, titles, or sizes of files.
const NOT_MEASURES: [&str; 17] = [
    "input", "inputs", "read", "output", "file", "files", "bytes", "file_bytes", "file_ratio", "notes", "model",
    "body", "rig", "targets", "title", "label", "text",
];
/// Parts of the keys of times, and of points and poses whose order depends on rounding: the character is symmetric.
const VARYING: [&str; 4] = ["seconds", "real_time", "per_second", "worst_"];

/// Asserts that all measures of two summaries agree.
fn assert_alike(clean: &Value, export: &Value, at: &str, tolerance: f64) {
    match (clean, export) {
        (Value::Object(a), Value::Object(b)) => {
            let is_measure = |key: &str| !NOT_MEASURES.contains(&key) && !VARYING.iter().any(|part| key.contains(part));
            for (key, value) in a.iter().filter(|(key, _)| is_measure(key)) {
                assert_alike(value, b.get(key).unwrap_or(&Value::Null), &format!("{at}.{key}"), tolerance);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{at}: {clean} and {export}");
            let pairs = a.iter().zip(b).enumerate();
            pairs.for_each(|(index, (a, b))| assert_alike(a, b, &format!("{at}[{index}]"), tolerance));
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= tolerance * a.abs().max(1e-3), "{at}: {b} instead of {a}");
        }
        _ => assert_eq!(clean, export, "{at}"),
    }
}

/// Tolerated relative differences of measures: from the rounding of positions to 32 bits, of the errors of fits that
/// are near this rounding, and of tetrahedra, whose number depends on it.
const ROUNDING: f64 = 1e-3;
const FITTED: f64 = 2e-2;
const MESHED: f64 = 6e-2;

#[test]
fn commands_give_equal_measures_for_an_export_and_a_clean_copy() {
    let sandbox = sandbox();
    sandbox.write("targets.npz", &targets(&sandbox.read("clean.glb")));
    // `$` is the file; outputs are inputs of later commands.
    let commands = [
        ("inspect $.glb", ROUNDING),
        ("convert $.glb $.fbx", ROUNDING),
        ("inspect $.fbx", ROUNDING),
        ("convert $.glb $.usdc", ROUNDING),
        ("inspect $.usdc", ROUNDING),
        ("skin $.glb --bones 6 --refine 3 -o $-skin.glb", FITTED),
        ("skin $.glb --mesh body --clip twist --bones 5 --bone-model rigid --refine 3 -o $-rigid.glb", FITTED),
        ("envelope train $.glb --mesh body --targets targets.npz -o $-envelope.glb", FITTED),
        ("volume $.glb --mesh body -o $-volume.glb", ROUNDING),
        ("wrinkle $.glb --mesh cape --clip lean -o $-wrinkle.abc", FITTED),
        ("tissue build $.glb -o $-tissue.npz", MESHED),
        ("tissue simulate $-tissue.npz --clip twist -o $-flesh.npz", MESHED),
        ("tissue simulate $-tissue.npz --motion $.fbx --clip lean -o $-lean.npz", MESHED),
        ("pose $.glb --clip lean -o $-pose.npz", ROUNDING),
        ("pose $.glb --rig clean.fbx --clip twist -o $-other.npz", ROUNDING),
        ("pose clean.glb --rig $.fbx --clip twist -o $-back.npz", ROUNDING),
        ("lod $.glb --ratio 0.5,0.25 -o $-lod.glb", FITTED),
    ];
    let notes = sandbox.read("export.glb").notes;
    assert!(notes.iter().any(|note| note.message.contains("'Take 001' moves no mesh")), "{notes:?}");
    for (command, tolerance) in commands {
        let [clean, export] = ["clean", "export"].map(|file| {
            let words = command.replace('$', file);
            let words: Vec<&str> = words.split(' ').chain(["--format", "json"]).collect();
            sandbox.succeed(&words).json()
        });
        assert_alike(&clean, &export, command, tolerance);
    }
    for (name, tolerance) in [("pose", 1e-5), ("other", 1e-5), ("back", 1e-5), ("flesh", 2e-3), ("lean", 2e-3)] {
        let [clean, export] = ["clean", "export"].map(|file| sandbox.read(&format!("{file}-{name}.npz")));
        assert_same_motion(&clean, &export, tolerance, name);
    }
    let report = |file: &str| {
        let (fit, sequence, output) = (format!("{file}-skin.glb"), format!("{file}.glb"), format!("{file}.html"));
        sandbox.run(&["report", &fit, "--sequence", &sequence, "-o", &output, "--format", "json"])
    };
    let [clean, export] = ["clean", "export"].map(report);
    if clean.stderr.contains("does not contain the page") {
        eprintln!("skipped: the page was not built");
    } else {
        let [clean, export] = [clean, export].map(|done| done.json()["report"]["fits"][0]["measures"].take());
        assert!(clean["distortion_percent"].is_number(), "{clean}");
        assert_alike(&clean, &export, "report", FITTED);
    }
}

#[test]
fn a_whole_character_with_an_open_part_passes_every_command() {
    let sandbox = sandbox();
    let text = sandbox.succeed(&["inspect", "export.glb"]).stdout;
    assert_eq!(text.matches("twist").count(), 1, "clips of all meshes are listed once: {text}");

    let done = sandbox.succeed(&["convert", "export.glb", "bend.abc"]).stdout;
    let note = "note: the rig is dropped; its clip 'bend' is written as frames (body, cape)";
    assert!(done.contains(note), "{done}");

    let done = sandbox.succeed(&["volume", "export.glb", "-o", "volume.glb", "--format", "json"]).json();
    let note = json!({ "message": "the mesh is open and encloses no volume: it is not corrected", "location": "cape" });
    assert!(done["notes"].as_array().unwrap().contains(&note), "{done}");
    let layers: Vec<usize> = sandbox.read("volume.glb").objects.iter().map(|object| object.deformers.len()).collect();
    assert_eq!(layers, [1, 0]);
    sandbox.succeed(&["volume", "export.glb", "-o", "shapes.glb", "--shapes", "4"]);
    let error = sandbox.fail(&["volume", "export.glb", "--mesh", "cape", "-o", "cape.glb"]);
    assert!(error.contains("the mesh is open"), "{error}");

    let build = ["tissue", "build", "export.glb", "--mesh", "cape", "--mesher", "lattice", "-o", "cape.npz"];
    let error = sandbox.fail(&build);
    assert!(error.contains("encloses no volume"), "{error}");

    let part = ["--mesh", "body", "--clip", "twist"];
    sandbox.succeed(&[&["skin", "export.glb", "--bones", "5", "--refine", "1", "-o", "fit.glb"][..], &part].concat());
    let report = ["report", "fit.glb", "--sequence", "export.glb", "-o", "fit.html"];
    let done = sandbox.run(&[&report[..], &part].concat());
    if done.stderr.contains("does not contain the page") {
        eprintln!("skipped: the page was not built");
    } else {
        assert_eq!(done.code, 0, "{}", done.stderr);
        let error = sandbox.fail(&[&report[..], &["--force"]].concat());
        assert!(error.contains("has no clip that matches"), "{error}");
    }
}

/// Asserts that the first objects have the same motion, up to `tolerance` of the diagonal.
fn assert_same_motion(clean: &Scene, export: &Scene, tolerance: f32, what: &str) {
    let [a, b] = [clean, export].map(|scene| scene.objects[0].base_motion().unwrap().unwrap());
    assert_eq!((a.frame_count(), a.frame_rate_hz()), (b.frame_count(), b.frame_rate_hz()), "{what}");
    let allowed = tolerance * clean.objects[0].mesh.diagonal();
    for frame in 0..a.frame_count() {
        for (a, b) in a.frame(frame).unwrap().iter().zip(&*b.frame(frame).unwrap()) {
            assert!(a.distance(*b) <= allowed, "{what}, frame {frame}: {b} instead of {a}");
        }
    }
}

#[test]
fn the_viewer_shows_an_export_like_a_clean_copy() {
    let sandbox = sandbox();
    let assets =
        ["clean.glb", "export.glb"].map(|file| dermis_view::asset::Asset::new(file, sandbox.read(file)).unwrap());
    let [clean, export] =
        [&assets[0], &assets[1]].map(|asset| serde_json::to_value(asset.info(0, &[]).unwrap()).unwrap());
    assert_alike(&clean, &export, "view", ROUNDING);
    let scene = |asset: &dermis_view::asset::Asset| Scene { objects: vec![asset.object.clone()], ..Scene::default() };
    assert_same_motion(&scene(&assets[0]), &scene(&assets[1]), 1e-5, "view");
}

/// A belt on one joint comes before the body, and the file is stored in a pose: the bind pose is still that of the
/// body.
#[test]
fn a_part_on_one_joint_does_not_determine_the_bind_pose() {
    let sandbox = Sandbox::new();
    let mut scene = character();
    let belt = Arc::new(tube());
    let on_chest = SkinWeights::from_rows(belt.points().iter().map(|_| [(2, 1.0)]));
    let joints = Arc::clone(scene.objects[0].rig.as_ref().unwrap().shared_joints());
    let rig = Rig::sharing(&belt, joints, on_chest, vec![]).unwrap();
    scene
        .objects
        .insert(0, Object { rig: Some(Arc::new(rig)), mesh: belt, name: "belt".into(), ..scene.objects[0].clone() });
    let bent: Vec<DAffine3> = motion(DVec3::X, 0.5)[5 * JOINTS.len()..6 * JOINTS.len()].to_vec();
    for object in &mut scene.objects {
        let stored = RigPose { transforms: Arc::new(bent.clone()), shape_weights: vec![] };
        let rig = Rig::clone(object.rig.as_ref().unwrap()).with_stored_pose(stored).unwrap();
        object.rig = Some(Arc::new(rig));
    }
    let (expected, joints) = (tube(), self::joints());
    for file in ["belt.glb", "belt.fbx"] {
        sandbox.write(file, &scene);
        let read = sandbox.read(file);
        let body = read.objects.iter().find(|object| object.name == "body").unwrap();
        for (found, expected) in body.mesh.points().iter().zip(expected.points()) {
            assert!(found.distance(*expected) < 1e-4, "{file}: {found} instead of {expected}");
        }
        for (found, expected) in body.rig.as_ref().unwrap().joints().iter().zip(joints.iter()) {
            let apart = found.bind().translation.distance(expected.bind().translation);
            assert!(apart < 1e-4, "{file}: {} is bound {apart} away", found.name);
        }
    }
}
