//! End-to-end tests of `dermis pose`, and of layers on rigs in other commands.

mod common;

use common::{Sandbox, box_mesh, moving_box};
use dermis::mesh::deformer::multi_weights::MultiWeightsLayer;
use dermis::mesh::glam::{DAffine3, DVec3, Vec3};
use dermis::mesh::{Deformer, StoredDeformer, Values};
use dermis::prelude::*;
use dermis::skin::envelope::{MultiPose, MultiPoser, MultiWeights, Precision};

const FRAMES: usize = 5;

/// The joints that move the box: its lower half follows the first, its upper half both.
fn joint(name: &str, height: f64) -> Joint {
    Joint::at(name, None, DAffine3::from_translation(DVec3::Y * height))
}

/// Rotates the second joint further in every frame, and raises both.
fn clip(rig: &Rig, name: &str, turn: f64) -> Clip {
    let lift = |frame: usize| DAffine3::from_translation(DVec3::Z * frame as f64);
    let pose = |frame: usize, joint: &Joint| {
        let angle = if joint.name == "upper" { turn * frame as f64 } else { 0.0 };
        lift(frame) * joint.bind() * DAffine3::from_rotation_z(angle)
    };
    let transforms = (0..FRAMES).flat_map(|frame| rig.joints().iter().map(move |joint| pose(frame, joint)));
    Clip::new(rig, name, 24.0, transforms.collect(), vec![]).unwrap()
}

fn rigged_box(names: [&str; 2]) -> Object {
    let mesh = Arc::new(box_mesh());
    let height = |name: &str| if name == "upper" { 0.5 } else { 0.0 };
    let joints: Vec<Joint> = names.iter().map(|name| joint(name, height(name))).collect();
    let upper = names.iter().position(|name| *name == "upper").unwrap_or(1) as u32;
    let row = |point: &Vec3| {
        if point.y > 0.5 { vec![(upper, 0.75), (1 - upper, 0.25)] } else { vec![(1 - upper, 1.0)] }
    };
    let weights = SkinWeights::from_rows(mesh.points().iter().map(row));
    let rig = Rig::new(&mesh, joints, weights, vec![]).unwrap();
    let clips = vec![clip(&rig, "bend", 0.3), clip(&rig, "twist", -0.5)];
    Object::of_rig("box", mesh, rig, clips)
}

fn scene(object: Object) -> Scene {
    Scene { objects: vec![object], ..Scene::default() }
}

/// Linear skin of the box with an additional bulge that grows with the rotation of the upper joint.
fn bulging(object: &Object) -> MultiWeights {
    let rig = object.rig.as_ref().unwrap();
    let mut all = MultiWeights { offsets: vec![0], ..MultiWeights::default() };
    for (point, rest) in object.mesh.points().iter().enumerate() {
        all.home.push(0);
        let mut row: Vec<(u32, f32)> = rig.weights().row(point).collect();
        row.sort_by_key(|(bone, _)| *bone);
        for (bone, weight) in row {
            let mut entry = [0, 1, 2].map(|_| (*rest * weight).extend(weight).to_array());
            entry[0][1] += if bone == 1 { 0.5 } else { 0.0 };
            all.bones.push(bone);
            all.weights.push(entry);
        }
        all.offsets.push(all.bones.len() as u32);
    }
    all
}

fn model(half: bool) -> Object {
    let object = rigged_box(["lower", "upper"]);
    let precision = if half { Precision::Half } else { Precision::Single };
    let deformers = vec![MultiWeightsLayer::new(bulging(&object), precision).unwrap().into()];
    Object { deformers, ..object }
}

/// Points of the multi-weights of [`model`] for clip `clip`.
fn expected(clip: usize) -> Vec<Vec<Vec3>> {
    let object = rigged_box(["lower", "upper"]);
    let joints = object.rig.as_ref().unwrap().joints().to_vec();
    let poser = MultiPoser::new(&bulging(&object), &object.mesh, &joints, Precision::Single).unwrap();
    let frame = |frame: usize| {
        let (mut pose, mut points) = (MultiPose::default(), vec![Vec3::ZERO; object.mesh.point_count()]);
        poser.set_bones(&mut pose, object.clips[clip].transforms(frame));
        poser.pose_into(&mut pose, &mut points, None);
        points
    };
    (0..FRAMES).map(frame).collect()
}

fn linear(clip: usize) -> Vec<Vec<Vec3>> {
    let object = rigged_box(["lower", "upper"]);
    let object = Object { clips: vec![Arc::clone(&object.clips[clip])], ..object };
    frames_of(&scene(object))
}

fn frames_of(scene: &Scene) -> Vec<Vec<Vec3>> {
    let motion = scene.objects[0].base_motion().unwrap().unwrap();
    (0..motion.frame_count()).map(|frame| motion.frame(frame).unwrap().into_owned()).collect()
}

/// The largest distance between points; infinite if their numbers differ.
fn apart(a: &[Vec<Vec3>], b: &[Vec<Vec3>]) -> f32 {
    let counts = |all: &[Vec<Vec3>]| all.iter().map(Vec::len).collect::<Vec<_>>();
    if counts(a) != counts(b) {
        return f32::INFINITY;
    }
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

/// Rounding error of files that store joints and their product as f32.
const CLOSE: f32 = 1e-5;

#[test]
fn a_rig_plays_its_first_clip_with_a_note() {
    let sandbox = Sandbox::new();
    sandbox.write("box.glb", &scene(rigged_box(["lower", "upper"])));
    let answer = sandbox.succeed(&["pose", "box.glb", "-o", "out.npz", "--format", "json"]).json();
    assert!(apart(&frames_of(&sandbox.read("out.npz")), &linear(0)) < CLOSE);
    assert_eq!(answer["objects"][0]["clip"]["name"], "bend");
    assert!(answer["notes"][0]["message"].as_str().unwrap().contains("first of 2"), "{answer}");
}

#[test]
fn layers_are_applied_in_every_format_with_frames() {
    let sandbox = Sandbox::new();
    sandbox.write("model.glb", &scene(model(false)));
    assert!(apart(&expected(1), &linear(1)) > 0.1);
    for name in ["out.npz", "out.glb", "out.abc", "out.usda", "out.mdd"] {
        sandbox.succeed(&["pose", "model.glb", "--clip", "twist", "-o", name]);
        let scene = sandbox.read(name);
        assert!(apart(&frames_of(&scene), &expected(1)) < CLOSE, "{name}");
        assert!(scene.objects[0].deformers.is_empty(), "{name}");
    }
}

#[test]
fn half_precision_is_accurate_and_small() {
    let sandbox = Sandbox::new();
    sandbox.write("model.glb", &scene(model(true)));
    sandbox.succeed(&["pose", "model.glb", "--clip", "1", "-o", "out.npz"]);
    let error = apart(&frames_of(&sandbox.read("out.npz")), &expected(1));
    assert!(error < 1e-3, "{error}");
}

#[test]
fn a_model_without_layers_stays_a_rig() {
    let sandbox = Sandbox::new();
    sandbox.write("model.glb", &scene(model(false)));
    sandbox.succeed(&["pose", "model.glb", "--clip", "twist", "--base", "-o", "out.glb"]);
    let written = sandbox.read("out.glb");
    assert!(written.objects[0].rig.is_some() && written.objects[0].deformers.is_empty());
    assert!(apart(&frames_of(&written), &linear(1)) < CLOSE);
}

#[test]
fn joints_of_another_file_are_matched_by_name() {
    let sandbox = Sandbox::new();
    let object = model(false);
    sandbox.write("model.glb", &scene(Object { clips: vec![], ..object }));
    sandbox.write("motion.glb", &scene(rigged_box(["upper", "lower"])));
    sandbox.succeed(&["pose", "model.glb", "--rig", "motion.glb", "--clip", "twist", "-o", "out.npz"]);
    assert!(apart(&frames_of(&sandbox.read("out.npz")), &expected(1)) < CLOSE);
}

#[test]
fn joints_of_other_names_are_matched_by_order_with_a_note() {
    let sandbox = Sandbox::new();
    sandbox.write("model.glb", &scene(model(false)));
    let mut other = rigged_box(["lower", "upper"]);
    let rig = other.rig.take().unwrap();
    let joints = rig.joints().iter().map(|joint| Joint { name: format!("mocap_{}", joint.name), ..joint.clone() });
    let renamed = Rig::new(&other.mesh, joints.collect(), rig.weights().clone(), vec![]).unwrap();
    sandbox.write("motion.glb", &scene(Object { rig: Some(Arc::new(renamed)), ..other }));
    let arguments = ["pose", "model.glb", "--rig", "motion.glb", "--clip", "bend", "-o", "out.npz"];
    assert!(sandbox.succeed(&arguments).stdout.contains("matched by order"));
    assert!(apart(&frames_of(&sandbox.read("out.npz")), &expected(0)) < CLOSE);
}

#[test]
fn frames_and_rate_select_the_motion() {
    let sandbox = Sandbox::new();
    sandbox.write("model.glb", &scene(model(false)));
    let part = ["pose", "model.glb", "--clip", "bend", "--frames", "1:5:2", "-o", "part.npz", "--format", "json"];
    let answer = sandbox.succeed(&part).json();
    let wanted = expected(0);
    assert!(apart(&frames_of(&sandbox.read("part.npz")), &[wanted[1].clone(), wanted[3].clone()]) < CLOSE);
    assert_eq!((&answer["frames"], &answer["objects"][0]["layers"][0]), (&2.into(), &"multi_weights".into()));
    for key in ["frames_per_second", "vertices_per_second"] {
        assert!(answer[key].as_f64().unwrap() > 0.0, "{answer}");
    }
    assert!(["read", "write", "total"].iter().all(|stage| answer["seconds"][stage].is_number()));
    sandbox.succeed(&["pose", "model.glb", "--clip", "bend", "--fps", "48", "-o", "fine.npz"]);
    assert_eq!(frames_of(&sandbox.read("fine.npz")).len(), 2 * FRAMES - 1);
}

#[test]
fn blend_shapes_stay_on_top_of_learned_weights() {
    let sandbox = Sandbox::new();
    let object = model(false);
    let rig = object.rig.as_ref().unwrap();
    let points = object.mesh.point_count();
    let shape = Shape { name: "up".into(), offsets: vec![Vec3::Z; points], normal_offsets: None };
    let shaped = Rig::new(&object.mesh, rig.joints().to_vec(), rig.weights().clone(), vec![shape]).unwrap();
    let transforms = (0..FRAMES).flat_map(|frame| object.clips[0].transforms(frame).to_vec()).collect();
    let shape_weights = (0..FRAMES).map(|frame| frame as f32 * 0.25).collect();
    let clip = Clip::new(&shaped, "bend", 24.0, transforms, shape_weights).unwrap();
    let object = Object { rig: Some(Arc::new(shaped)), clips: vec![Arc::new(clip)], ..object };
    sandbox.write("model.glb", &scene(object));
    sandbox.succeed(&["pose", "model.glb", "-o", "out.npz"]);
    let mut wanted = expected(0);
    for (frame, points) in wanted.iter_mut().enumerate() {
        for point in points {
            point.z += frame as f32 * 0.25;
        }
    }
    assert!(apart(&frames_of(&sandbox.read("out.npz")), &wanted) < CLOSE);
}

#[test]
fn rejects_invalid_inputs_with_a_message() {
    let sandbox = Sandbox::new();
    sandbox.write("model.glb", &scene(model(false)));
    sandbox.write("still.glb", &scene(Object { clips: vec![], ..model(false) }));
    sandbox.write("frames.npz", &moving_box(3, 24.0));
    let printed = sandbox.fail(&["pose", "frames.npz", "-o", "out.npz"]);
    assert!(printed.contains("the model has no rig") && printed.contains("frames.npz"), "{printed}");
    let printed = sandbox.fail(&["pose", "still.glb", "-o", "out.npz"]);
    assert!(printed.contains("no clip to play") && printed.contains("--rig"), "{printed}");
    let printed = sandbox.fail(&["pose", "model.glb", "--clip", "twits", "-o", "out.npz"]);
    assert!(printed.contains("no clip called 'twits'") && printed.contains("did you mean 'twist'?"), "{printed}");
    let printed = sandbox.fail(&["pose", "model.glb", "--rig", "frames.npz", "-o", "out.npz"]);
    assert!(printed.contains("no clip that moves joints") && printed.contains("frames.npz"), "{printed}");
    let printed = sandbox.fail(&["pose", "model.glb", "--rig", "sample:hand", "--clip", "wave", "-o", "out.npz"]);
    assert!(printed.contains("moves none of the 2 joints") && printed.contains("'lower', 'upper'"), "{printed}");
    let printed = sandbox.fail(&["pose", "model.glb", "--frames", "9:", "-o", "out.npz"]);
    assert!(printed.contains("contains no frame"), "{printed}");
    sandbox.succeed(&["pose", "model.glb", "-o", "out.npz"]);
    let printed = sandbox.fail(&["pose", "model.glb", "-o", "out.npz"]);
    assert!(printed.contains("--force"), "{printed}");
    assert_eq!(sandbox.files(), ["frames.npz", "model.glb", "out.npz", "still.glb"]);
}

#[test]
fn rejects_incomplete_multi_weights() {
    let sandbox = Sandbox::new();
    let broken = |name: &str, change: fn(&mut StoredDeformer)| {
        let mut object = model(false);
        let mut stored = object.deformers[0].encode();
        change(&mut stored);
        object.deformers[0] = Deformer::Unknown(stored);
        sandbox.write(name, &scene(object));
        sandbox.fail(&["pose", name, "-o", "out.npz"])
    };
    let printed = broken("bones.glb", |deformer| {
        deformer.buffers.insert("bones".into(), Values::U16(vec![9; 12]));
    });
    assert!(printed.contains("multi-weights of point"), "{printed}");
    let printed = broken("offsets.glb", |deformer| {
        deformer.buffers.insert("offsets".into(), Values::U32(vec![u32::MAX; 9]));
    });
    assert!(printed.contains("multi-weights"), "{printed}");
    let printed = broken("short.glb", |deformer| {
        deformer.buffers.remove("home");
    });
    assert!(printed.contains("multi-weights"), "{printed}");
}

#[test]
fn inspect_lists_layers_and_convert_keeps_or_applies_them() {
    let sandbox = Sandbox::new();
    for half in [false, true] {
        let name = if half { "half.glb" } else { "model.glb" };
        sandbox.write(name, &scene(model(half)));
        let facts = sandbox.succeed(&["inspect", name, "--format", "json"]).json();
        assert_eq!(facts["objects"][0]["deformers"][0], "multi_weights");
        let copy = format!("copy-{name}");
        sandbox.succeed(&["convert", name, &copy]);
        assert_eq!(sandbox.read(&copy).objects[0].deformers, model(half).deformers);
    }
    assert!(sandbox.succeed(&["inspect", "model.glb"]).stdout.contains("layers"));
    let printed = sandbox.succeed(&["convert", "model.glb", "out.abc", "--clip", "twist"]).stdout;
    assert!(printed.contains("are applied"), "{printed}");
    assert!(apart(&frames_of(&sandbox.read("out.abc")), &expected(1)) < CLOSE);
    sandbox.succeed(&["convert", "model.glb", "out.npz", "--clip", "twist"]);
    assert_eq!(sandbox.read("out.npz").objects[0].deformers, model(false).deformers);
    sandbox.succeed(&["convert", "model.glb", "rest.npz", "--rest-frame", "2"]);
    assert!(apart(&[sandbox.read("rest.npz").objects[0].mesh.points().to_vec()], &[expected(0)[2].clone()]) < CLOSE);
}

#[test]
fn an_unknown_layer_is_skipped_with_a_note() {
    let sandbox = Sandbox::new();
    let settings = serde_json::from_str("{\"type\":\"melt\"}").unwrap();
    let deformer = Deformer::Unknown(StoredDeformer { settings, ..StoredDeformer::default() });
    sandbox.write("model.glb", &scene(Object { deformers: vec![deformer], ..rigged_box(["lower", "upper"]) }));
    let printed = sandbox.succeed(&["pose", "model.glb", "--clip", "bend", "-o", "out.npz"]).stdout;
    assert!(printed.contains("the layer 'melt' is not supported"), "{printed}");
    assert!(apart(&frames_of(&sandbox.read("out.npz")), &linear(0)) < CLOSE);
}
