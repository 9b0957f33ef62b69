//! USD: round trips, files of other programs, and broken files.

#[path = "../common/mod.rs"]
mod common;
mod hand_written;
mod odd_stages;
mod scenes;

use std::path::Path;
use std::sync::Arc;

use dermis_io::{Error, ErrorKind, ReadOptions, WriteOptions};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::glam::{DAffine3, DVec3, Vec3};
use dermis_mesh::{Clip, Object, Scene};

fn read(bytes: &[u8]) -> Result<Scene, Error> {
    dermis_io::read_bytes("usd", bytes, &ReadOptions::default())
}

/// Writes and reads again, textures included.
fn round_trip(scene: &Scene) -> (Scene, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("scene.usda");
    let written = dermis_io::write(&target, scene, &WriteOptions::default(), &NoProgress).unwrap();
    let read = |target: &Path| dermis_io::read(target.to_str().unwrap(), &ReadOptions::default()).unwrap();
    let from_text = read(&target);
    for extension in ["usdc", "usd", "usdz"] {
        // The folder of textures is named after the file.
        let target = folder.path().join(extension).join(format!("scene.{extension}"));
        dermis_io::write(&target, scene, &WriteOptions::default(), &NoProgress).unwrap();
        assert_same_scene(&from_text, &read(&target), extension);
    }
    (from_text, written.notes.into_iter().map(|note| note.message).collect())
}

/// The same contents to the bit.
fn assert_same_scene(before: &Scene, after: &Scene, case: &str) {
    assert_eq!((before.units, &before.notes), (after.units, &after.notes), "{case}");
    assert_eq!(before.objects.len(), after.objects.len(), "{case}");
    for (before, after) in before.objects.iter().zip(&after.objects) {
        assert_eq!((&before.name, &before.mesh), (&after.name, &after.mesh), "{case}");
        assert_eq!(before.attributes, after.attributes, "{case}");
        assert_eq!((&before.rig, &before.clips), (&after.rig, &after.clips), "{case}");
        let frames = |object: &Object| {
            let sequence = object.sequence.as_ref()?;
            Some((sequence.positions().unwrap().to_vec(), sequence.frame_rate_hz(), sequence.start_seconds()))
        };
        assert_eq!(frames(before), frames(after), "{case}");
    }
}

/// The text of a scene.
fn text(scene: &Scene) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("scene.usda");
    dermis_io::write(&target, scene, &WriteOptions::default(), &NoProgress).unwrap();
    std::fs::read(target).unwrap()
}

fn assert_same_motion(before: &Object, after: &Object, tolerance: f32) {
    let (before, after) = (before.base_motion().unwrap().unwrap(), after.base_motion().unwrap().unwrap());
    assert_eq!(before.frame_count(), after.frame_count());
    assert!((before.frame_rate_hz() - after.frame_rate_hz()).abs() < 1e-6, "{}", after.frame_rate_hz());
    assert!((before.start_seconds() - after.start_seconds()).abs() < 1e-6);
    let size = before.mesh().diagonal();
    for frame in 0..before.frame_count() {
        let (before, after) = (before.frame(frame).unwrap(), after.frame(frame).unwrap());
        let worst = before.iter().zip(after.iter()).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max);
        assert!(worst <= tolerance * size, "frame {frame} is off by {worst}");
    }
}

fn assert_same_shape(before: &Object, after: &Object) {
    assert_eq!(before.mesh.points(), after.mesh.points());
    assert_eq!(before.mesh.triangles(), after.mesh.triangles());
    let (before, after) = (before.mesh.to_polygon_mesh(), after.mesh.to_polygon_mesh());
    assert_eq!(before.polygons, after.polygons);
    let uvs = |mesh: &dermis_mesh::PolygonMesh| -> Vec<Vec<_>> {
        mesh.uvs.iter().map(|set| set.indices.iter().map(|&at| set.values[at as usize]).collect()).collect()
    };
    for (before, after) in uvs(&before).iter().flatten().zip(uvs(&after).iter().flatten()) {
        // 1 − (1 − v) is v up to rounding.
        assert!(before.distance(*after) < 1e-6);
    }
    let normals = |mesh: &dermis_mesh::PolygonMesh| -> Option<Vec<Vec3>> {
        mesh.normals.as_ref().map(|set| set.indices.iter().map(|&at| set.values[at as usize]).collect())
    };
    assert_eq!(normals(&before), normals(&after));
    let names = |mesh: &dermis_mesh::PolygonMesh| -> Vec<String> {
        mesh.polygon_materials.iter().map(|&at| mesh.materials[at as usize].name.clone()).collect()
    };
    assert_eq!(names(&before), names(&after));
    assert_eq!(before.colors.len(), after.colors.len());
}

#[test]
fn round_trip_keeps_shapes_names_units_and_motion() {
    let scene = scenes::everything();
    let (after, _) = round_trip(&scene);
    assert_eq!(after.units, scene.units);
    assert_eq!(after.objects.len(), scene.objects.len());
    for (before, after) in scene.objects.iter().zip(&after.objects) {
        assert_eq!(before.name, after.name);
        assert_same_shape(before, after);
        assert_eq!(before.attributes, after.attributes);
        assert_eq!(before.clips.len(), after.clips.len(), "{}", before.name);
    }
    for (index, tolerance) in [(0, 5e-6), (1, 0.0), (3, 1e-6), (4, 5e-6)] {
        assert_same_motion(&scene.objects[index], &after.objects[index], tolerance);
    }
    assert!(after.objects[2].base_motion().unwrap().is_none());
}

#[test]
fn round_trip_keeps_joints_shapes_and_clips() {
    let scene = scenes::alone(scenes::rigged("arm"));
    let (after, notes) = round_trip(&scene);
    let (before, after) = (&scene.objects[0], &after.objects[0]);
    let (rig, again) = (before.rig.as_ref().unwrap(), after.rig.as_ref().unwrap());
    let names = |rig: &dermis_mesh::Rig| -> Vec<(String, Option<String>)> {
        let name = |joint: usize| rig.joints()[joint].name.clone();
        let mut names: Vec<_> =
            (0..rig.joints().len()).map(|joint| (name(joint), rig.joints()[joint].parent.map(name))).collect();
        names.sort();
        names
    };
    assert_eq!(names(rig), names(again));
    assert_eq!(rig.shapes(), again.shapes());
    assert_eq!(rig.weights().max_influences(), again.weights().max_influences());
    let clips = |object: &Object| -> Vec<(String, usize)> {
        object.clips.iter().map(|clip| (clip.name().to_owned(), clip.frame_count())).collect()
    };
    assert_eq!(clips(before), clips(after));
    assert!(notes.iter().any(|note| note.contains("first clip")), "{notes:?}");
}

#[test]
fn round_trip_keeps_materials_and_their_images() {
    let scene = scenes::alone(scenes::rigged("arm"));
    let (after, _) = round_trip(&scene);
    let materials = |scene: &Scene| scene.objects[0].mesh.layout().unwrap().materials.clone();
    let (before, after) = (materials(&scene), materials(&after));
    assert_eq!(before[1], after[1]);
    let image = |material: &dermis_mesh::Material| material.base_color_texture.as_ref().unwrap().image.bytes.clone();
    assert_eq!(image(&before[0]), image(&after[0]));
    assert_eq!(before[0].base_color, after[0].base_color);
    assert_eq!(before[0].roughness, after[0].roughness);
    assert!(after[0].metallic_roughness_texture.is_some() && after[0].normal_texture.is_some());
}

#[test]
fn a_sheared_rig_keeps_its_joints_and_a_collapsed_one_is_recorded() {
    let sheared = scenes::sheared("jelly");
    let scene = scenes::alone(sheared.clone());
    let (after, notes) = round_trip(&scene);
    assert!(notes.is_empty(), "{notes:?}");
    let joints = |object: &Object| object.rig.as_ref().unwrap().joints().len();
    assert_eq!(joints(&after.objects[0]), joints(&sheared));
    assert_same_motion(&sheared, &after.objects[0], 1e-5);

    let rig = sheared.rig.as_ref().unwrap();
    let flat = DAffine3::from_scale(DVec3::new(1.0, 0.0, 1.0));
    let clip = Clip::new(rig, "flat", 24.0, vec![flat; 2 * joints(&sheared)], vec![0.0; 2 * rig.shapes().len()]);
    let scene = scenes::alone(Object { clips: vec![Arc::new(clip.unwrap())], ..sheared });
    let (after, notes) = round_trip(&scene);
    assert!(notes.iter().any(|note| note.contains("zero scale")), "{notes:?}");
    assert!(after.objects[0].rig.is_none());
    assert_same_motion(&scene.objects[0], &after.objects[0], 1e-7);
}

#[test]
fn names_that_usd_does_not_allow_are_kept() {
    let names = ["ein Name", "/World/Body", "ein Name", "3", "\"quoted\\\""];
    let scene = Scene { objects: names.map(scenes::still).into(), ..Scene::default() };
    let (after, _) = round_trip(&scene);
    let found: Vec<&str> = after.objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(found, names);
}

#[test]
fn writing_can_be_stopped_and_leaves_no_files() {
    struct Impatient;
    impl Progress for Impatient {
        fn report(&self, _: &str, done: usize, _: usize) -> std::ops::ControlFlow<()> {
            if done > 2 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("scene.usda");
    let error = dermis_io::write(&target, &scenes::everything(), &WriteOptions::default(), &Impatient).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Stopped));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn joint_curves_are_sampled_at_the_requested_rate() {
    let bytes = text(&scenes::alone(scenes::rigged("arm")));
    let options = ReadOptions { frame_rate_hz: Some(60.0), ..ReadOptions::default() };
    let scene = dermis_io::read_bytes("usd", &bytes, &options).unwrap();
    let clip = &scene.objects[0].clips[0];
    assert_eq!((clip.frame_rate_hz(), clip.frame_count()), (60.0, 13));
}

#[test]
fn files_of_pixars_library_match_those_of_dermis() {
    // Exported by usd-core from the scene `everything` as written by dermis.
    let ours = scenes::everything();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for name in ["everything.usdc", "everything.usdz"] {
        let read = dermis_io::read(fixtures.join(name).to_str().unwrap(), &ReadOptions::default()).unwrap();
        assert_eq!(read.objects.len(), ours.objects.len());
        for (ours, read) in ours.objects.iter().zip(&read.objects) {
            assert_eq!(ours.name, read.name);
            assert_same_shape(ours, read);
        }
        for index in [0, 1, 3, 4] {
            assert_same_motion(&ours.objects[index], &read.objects[index], 5e-6);
        }
    }
}

#[test]
fn survives_broken_text() {
    for scene in [scenes::everything(), scenes::alone(scenes::rigged("arm")), scenes::alone(scenes::recorded("flag"))] {
        common::assert_survives(&common::damage(&text(&scene)), read);
    }
    common::assert_survives(&common::damage(hand_written::TRANSFORMS.as_bytes()), read);
}

#[test]
fn survives_broken_crates_and_packages() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for name in ["everything.usdc", "everything.usdz"] {
        let valid = std::fs::read(fixtures.join(name)).unwrap();
        common::assert_survives(&common::damage(&valid), read);
    }
}

#[test]
fn survives_implausible_counts_in_crates() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/everything.usdc");
    let valid = std::fs::read(path).unwrap();
    let mut inputs = Vec::new();
    // Every 8-byte count of the structure is at some offset near the end of the file, after the values.
    for at in (0..valid.len() - 8).step_by(37).chain(valid.len() - 700..valid.len() - 8) {
        for value in [u64::MAX, 1 << 40, 1 << 31, u64::MAX / 8] {
            let mut bytes = valid.clone();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            inputs.push((format!("{value} at {at}"), bytes));
        }
    }
    common::assert_survives(&inputs, read);
}

#[test]
fn the_rigged_figure_reads() {
    let Some(path) = common::shared_data("formats/RiggedFigure.usdz") else { return };
    let scene = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
    let object = &scene.objects[0];
    assert_eq!(object.mesh.point_count(), 370);
    assert_eq!(object.rig.as_ref().unwrap().joints().len(), 19);
    // Two keys, 30 time codes apart.
    assert_eq!((object.clips[0].frame_count(), object.clips[0].frame_rate_hz()), (31, 24.0));
    // The figure is upright in a file whose Y is up.
    let posed = object.base_motion().unwrap().unwrap().frame(0).unwrap().into_owned();
    let (low, high) = dermis_mesh::tri_mesh::bounds(&posed);
    assert!((high - low).y > 1.4 && low.y > -0.1, "{low} {high}");
    common::assert_survives(&common::damage(&std::fs::read(path).unwrap()), read);
}
