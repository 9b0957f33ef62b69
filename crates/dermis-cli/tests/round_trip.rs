//! Converting a sample to every writable format and back keeps its topology exactly and its positions to f32 accuracy.

mod common;

use common::Sandbox;
use dermis::prelude::*;

/// Positions may differ by the rounding of one sum of two f32 (glTF stores offsets from the rest pose), relative to the
/// size of the shape.
const TOLERANCE: f32 = 1e-6;

#[test]
fn recorded_motion_survives_every_animated_format() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["convert", "sample:flag", "flag.npz", "--frames", "0:12"]);
    let expected = sandbox.read("flag.npz");
    for written in
        ["a.glb", "a.gltf", "a.abc", "a.usda", "a.npz", "obj/a.%04d.obj", "ply/a.%04d.ply", "pc2/a.pc2", "mdd/a.mdd"]
    {
        sandbox.succeed(&["convert", "flag.npz", written]);
        sandbox.succeed(&["convert", written, "back.npz", "--force", "--fps", "30"]);
        assert_same_motion(&expected, &sandbox.read("back.npz"), written);
    }
}

#[test]
fn a_static_shape_survives_every_format() {
    let sandbox = Sandbox::new();
    let mut scene = common::moving_box(2, 24.0);
    scene.objects[0].sequence = None;
    sandbox.write("box.npz", &scene);
    for written in ["a.glb", "a.gltf", "a.abc", "a.usda", "a.obj", "a.ply", "a.mesh"] {
        sandbox.succeed(&["convert", "box.npz", written]);
        sandbox.succeed(&["convert", written, "back.npz", "--force"]);
        let back = sandbox.read("back.npz");
        assert_eq!(back.objects[0].mesh.points(), scene.objects[0].mesh.points(), "{written}");
        assert_eq!(back.objects[0].mesh.triangles(), scene.objects[0].mesh.triangles(), "{written}");
        assert!(back.objects[0].sequence.is_none(), "{written}");
    }
}

#[test]
fn a_rig_has_the_same_poses_after_every_format_with_rigs() {
    let sandbox = Sandbox::new();
    sandbox.succeed(&["convert", "sample:hand", "hand.npz", "--clip", "0", "--frames", "0:9:4"]);
    let expected = sandbox.read("hand.npz");
    for written in ["a.glb", "a.usda", "a.npz"] {
        sandbox.succeed(&["convert", "hand.npz", written]);
        let back = sandbox.read(written);
        let rig = back.objects[0].rig.as_ref().unwrap_or_else(|| panic!("{written} has no rig"));
        assert_eq!(rig.joints().len(), expected.objects[0].rig.as_ref().unwrap().joints().len(), "{written}");
        assert_same_motion(&expected, &back, written);
    }
}

#[test]
fn rejects_a_motion_for_a_format_of_one_pose() {
    let sandbox = Sandbox::new();
    sandbox.write("box.npz", &common::moving_box(3, 24.0));
    for output in ["a.obj", "a.ply", "a.mesh"] {
        let printed = sandbox.fail(&["convert", "box.npz", output]);
        assert!(printed.contains("\nhint: "), "{printed}");
    }
    assert_eq!(sandbox.files(), ["box.npz"]);
}

fn assert_same_motion(expected: &Scene, found: &Scene, format: &str) {
    let (expected, found) = (&expected.objects[0], &found.objects[0]);
    assert_eq!(expected.mesh.triangles(), found.mesh.triangles(), "{format}");
    let size = expected.mesh.diagonal();
    let (before, after) = (expected.base_motion().unwrap().unwrap(), found.base_motion().unwrap().unwrap());
    assert_eq!(before.frame_count(), after.frame_count(), "{format}");
    for frame in 0..before.frame_count() {
        let (before, after) = (before.frame(frame).unwrap(), after.frame(frame).unwrap());
        assert_eq!(before.len(), after.len(), "{format}");
        let worst = before.iter().zip(after.iter()).map(|(a, b): (&Vec3, &Vec3)| a.distance(*b)).fold(0.0, f32::max);
        assert!(worst <= TOLERANCE * size, "{format}, frame {frame}: {worst} of {size}");
    }
}
