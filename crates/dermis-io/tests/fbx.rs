//! FBX: a hand-written ASCII file, a binary file from Blender, a real file, and broken files.

mod common;

use std::path::{Path, PathBuf};

use dermis_io::{Error, ReadOptions};
use dermis_mesh::glam::{DAffine3, Vec3};
use dermis_mesh::{Object, Scene, UpAxis};

fn read(bytes: &[u8]) -> Result<Scene, Error> {
    dermis_io::read_bytes("fbx", bytes, &ReadOptions::default())
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A quad on two bones, one of which rises by two units within a second; a shape that lifts one corner; a material.
const QUAD: &str = include_str!("fixtures/quad.fbx");

fn frame(object: &Object, frame: usize) -> Vec<Vec3> {
    object.base_motion().unwrap().unwrap().frame(frame).unwrap().into_owned()
}

fn near(found: Vec3, expected: [f32; 3]) {
    let expected = Vec3::from(expected);
    assert!(found.distance(expected) < 1e-5 * (1.0 + expected.length()), "{found} is not {expected}");
}

#[test]
fn an_ascii_file_is_read_whole() {
    let scene = read(QUAD.as_bytes()).unwrap();
    assert_eq!(scene.units.up_axis, Some(UpAxis::Y));
    assert_eq!(scene.units.metres_per_unit, Some(0.01));
    let object = &scene.objects[0];
    assert_eq!(object.name, "Quad");
    let polygons = object.mesh.to_polygon_mesh();
    assert_eq!(polygons.polygons.sizes, [4]);
    assert_eq!(polygons.uvs[0].indices.len(), 4);
    // The origin of UVs is at the bottom in the file and at the top in dermis.
    assert_eq!(polygons.uvs[0].values[polygons.uvs[0].indices[0] as usize].y, 1.0);
    assert_eq!(polygons.materials[0].name, "Clay");
    assert_eq!(polygons.materials[0].base_color[..3], [0.25, 0.5, 0.75]);
    let rig = object.rig.as_ref().unwrap();
    let names: Vec<&str> = rig.joints().iter().map(|joint| joint.name.as_str()).collect();
    assert_eq!(names, ["Root", "Tip"]);
    assert_eq!(rig.joints()[1].parent, Some(0));
    assert_eq!(rig.shapes()[0].offsets[3], Vec3::new(0.0, 0.0, 1.0));
}

#[test]
fn curves_are_sampled_at_the_rate_of_the_file_or_of_the_options() {
    let scene = read(QUAD.as_bytes()).unwrap();
    let object = &scene.objects[0];
    let clip = &object.clips[0];
    assert_eq!((clip.frame_rate_hz(), clip.frame_count()), (24.0, 25));
    // Half-way, the second bone has risen by one unit, and the shape has half its weight.
    let middle = frame(object, 12);
    near(middle[0], [0.0, 0.0, 0.0]);
    near(middle[1], [1.0, 1.0, 0.0]);
    near(middle[2], [1.0, 1.5, 0.0]);
    near(middle[3], [0.0, 1.0, 0.5]);
    let options = ReadOptions { frame_rate_hz: Some(10.0), ..ReadOptions::default() };
    let asked = dermis_io::read_bytes("fbx", QUAD.as_bytes(), &options).unwrap();
    assert_eq!(asked.objects[0].clips[0].frame_count(), 11);
}

/// The quad below a bone of scale 0.01 that is rotated from Z up, with an empty take before the real one, and an end
/// bone.
fn quad_below_a_scaled_root() -> String {
    let root = "\tModel: 3, \"Model::Root\", \"LimbNode\" {\n\t\tVersion: 232\n";
    let property = |name: &str, value: &str| format!("\t\t\tP: \"{name}\", \"{name}\", \"\", \"A\",{value}\n");
    let scaled = format!(
        "{root}\t\tProperties70:  {{\n{}{}\t\t}}\n",
        property("Lcl Scaling", "0.01,0.01,0.01"),
        property("Lcl Rotation", "-90,0,0")
    );
    let stack = "\tAnimationStack: 30, \"AnimStack::Rise\"";
    let empty = format!("\tAnimationStack: 90, \"AnimStack::Take 001\", \"\" {{\n\t}}\n{stack}");
    let end = "\tModel: 91, \"Model::Tip_End\", \"LimbNode\" {\n\t\tVersion: 232\n\t}\n";
    let connection = "\tC: \"OP\",32,4, \"Lcl Translation\"";
    assert!(QUAD.contains(root) && QUAD.contains(stack) && QUAD.contains(connection));
    QUAD.replace(root, &format!("{end}{scaled}"))
        .replace(stack, &empty)
        .replace(connection, &format!("\tC: \"OO\",91,4\n{connection}"))
}

#[test]
fn a_scaled_root_places_the_bind_shape_and_an_empty_take_is_skipped() {
    let (clean, scene) = (read(QUAD.as_bytes()).unwrap(), read(quad_below_a_scaled_root().as_bytes()).unwrap());
    let (clean, object) = (&clean.objects[0], &scene.objects[0]);
    // (x, y, z) in the space of the root is (x, z, −y) / 100 in the scene.
    let placed = |point: Vec3| [0.01 * point.x, 0.01 * point.z, -0.01 * point.y];
    for (found, expected) in object.mesh.points().iter().zip(clean.mesh.points()) {
        near(*found, placed(*expected));
    }
    for (found, expected) in frame(object, 12).iter().zip(frame(clean, 12)) {
        near(*found, placed(expected));
    }
    assert_eq!(object.clips.len(), 1);
    assert_eq!(object.clips[0].name(), clean.clips[0].name());
    assert!(scene.notes.iter().any(|note| note.message.contains("'Take 001' has no curves")), "{:?}", scene.notes);
    let joints = object.rig.as_ref().unwrap().joints();
    let tree: Vec<(&str, Option<usize>)> = joints.iter().map(|joint| (joint.name.as_str(), joint.parent)).collect();
    assert_eq!(tree, [("Root", None), ("Tip", Some(0)), ("Tip_End", Some(1))]);
    assert!(joints.iter().all(|joint| (joint.bind().matrix3.determinant() - 1.0).abs() < 1e-6));
}

#[test]
fn a_file_from_blender_moves_as_in_blender() {
    // Blender's own positions, evaluated with `to_mesh` at the last frame; it exports centimetres, Y up.
    let scene = dermis_io::read(fixture("tube.fbx").to_str().unwrap(), &ReadOptions::default()).unwrap();
    let object = |name: &str| scene.objects.iter().find(|object| object.name == name).unwrap();
    let from_blender = |p: [f32; 3]| [100.0 * p[0], 100.0 * p[2], -100.0 * p[1]];
    let tube = frame(object("Tube"), 3);
    for (point, expected) in TUBE_IN_BLENDER {
        near(tube[point], from_blender(expected));
    }
    near(frame(object("Tet"), 3)[3], from_blender([2.0, 0.0, 1.0]));
    near(object("Still").mesh.points()[1], from_blender([2.0, 5.0, 0.0]));
    assert!(object("Still").rig.is_none());
    assert_eq!(object("Tube").rig.as_ref().unwrap().shapes()[0].name, "Fat");
    let layout = object("Tube").mesh.layout().unwrap();
    assert_eq!((layout.uvs.len(), layout.colors.len(), layout.materials.len()), (1, 1, 2));
}

/// Points of the tube at the last frame.
const TUBE_IN_BLENDER: [(usize, [f32; 3]); 3] = [
    (0, [1.429_901_4, 0.132_984_09, 0.0]),
    (10, [0.639_147_16, -0.356_199_4, 0.552_636_6]),
    (19, [1.136_248_8, -0.440_455_26, 0.466_092_94]),
];

#[test]
fn rejects_files_that_are_not_fbx() {
    for text in ["", "hello", "; FBX 7.4.0 project file\n", "Kaydara FBX Binary  \0\x1a\0"] {
        // An FBX header without contents may be read as an empty scene.
        if let Ok(scene) = read(text.as_bytes()) {
            assert!(scene.objects.is_empty());
        }
    }
    assert!(read(b"#usda 1.0").is_err());
}

#[test]
fn survives_broken_text() {
    common::assert_survives(&common::damage(QUAD.as_bytes()), read);
    let mut inputs = Vec::new();
    let swaps = [
        ("PolygonVertexIndex: *4", "PolygonVertexIndex: *4000000000"),
        ("a: 0,1,2,-4", "a: 0,1,2,-400"),
        ("a: 0,1,2,-4", "a: 0,1,2,3"),
        ("a: 0,1,2,-4", "a: -1,-1,-1,-1"),
        ("a: 0,0,0,1,0,0,1,1,0,0,1,0", "a: nan,0,0,1,0,0,1,1,0,0,1,0"),
        ("a: 0,0,0,1,0,0,1,1,0,0,1,0", "a: 1e300,0,0,1,0,0,1,1,0,0,1,0"),
        ("a: 0,0,0,1,0,0,1,1,0,0,1,0", "a: 0"),
        ("a: 0,46186158000", "a: 0,9223372036854775807"),
        ("a: 0,46186158000", "a: -9223372036854775807,46186158000"),
        (
            "LocalStop\", \"KTime\", \"Time\", \"\",46186158000",
            "LocalStop\", \"KTime\", \"Time\", \"\",9223372036854775807",
        ),
        ("C: \"OO\",4,3", "C: \"OO\",3,4"),
        ("a: 1,2", "a: 1,2000000000"),
    ];
    for (from, to) in swaps {
        assert!(QUAD.contains(from), "{from}");
        inputs.push((format!("{from} -> {to}"), QUAD.replace(from, to).into_bytes()));
    }
    common::assert_survives(&inputs, read);
}

#[test]
fn survives_broken_bytes() {
    common::assert_survives(&common::damage(&std::fs::read(fixture("tube.fbx")).unwrap()), read);
}

#[test]
fn the_bone_of_dem_bones_matches_its_skeleton() {
    let (Some(path), Some(rig), Some(sequence)) = (
        common::shared_data("formats/Bone_All.fbx"),
        common::shared_data("rigs/dembones_bone_skeleton.npz"),
        common::shared_data("sequences/dembones_bone.npz"),
    ) else {
        return;
    };
    let scene = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
    let (object, expected) = (&scene.objects[0], skeleton(&rig));
    let (found_rig, clip) = (object.rig.as_ref().unwrap(), &object.clips[0]);
    assert_eq!((object.mesh.point_count(), clip.frame_count()), (754, 400));
    for (joint, found) in found_rig.joints().iter().enumerate() {
        let at = expected.names.iter().position(|name| *name == found.name).unwrap();
        for frame in 0..400 {
            let (found, wanted) = (clip.transforms(frame)[joint], expected.poses[frame * 6 + at]);
            assert!(found.abs_diff_eq(wanted, 2e-5), "{frame} {joint}: {found:?} {wanted:?}");
        }
    }
    // The skeleton reproduces the recorded frames approximately.
    let recorded = dermis_io::read(sequence.to_str().unwrap(), &ReadOptions::default()).unwrap();
    let recorded = recorded.objects[0].sequence.clone().unwrap();
    let (a, b) = (frame(object, 0), recorded.frame(0).unwrap().into_owned());
    let worst = a.iter().zip(&b).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
    assert!(worst < 0.01 * object.mesh.diagonal(), "{worst}");
    common::assert_survives(&common::damage(&std::fs::read(path).unwrap()), read);
}

struct Skeleton {
    names: Vec<String>,
    poses: Vec<DAffine3>,
}

/// The names and poses of the joints in an `.npz`.
fn skeleton(path: &Path) -> Skeleton {
    let scene = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
    let object = &scene.objects[0];
    let names = object.rig.as_ref().unwrap().joints().iter().map(|joint| joint.name.clone()).collect();
    let clip = &object.clips[0];
    Skeleton { names, poses: (0..clip.frame_count()).flat_map(|frame| clip.transforms(frame).to_vec()).collect() }
}
