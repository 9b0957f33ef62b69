//! Numbered files as a sequence: folders, patterns and globs; changing faces; many files at once.

mod common;
mod scenes;

use std::error::Error as _;
use std::path::Path;

use dermis_io::output::Output;
use dermis_io::{ErrorKind, ReadOptions, WriteOptions, check_target};
use dermis_mesh::{Object, Scene};
use scenes::{only, read, write};

/// Writes a moving box as `shape.%03d` files with `extension` into a new folder.
fn numbered(extension: &str) -> (tempfile::TempDir, Scene) {
    let folder = tempfile::tempdir().unwrap();
    let scene = scenes::moving_scene();
    let written = write(&folder.path().join(format!("walk/shape.%03d.{extension}")), &scene).unwrap();
    let shapes = written.files.iter().filter(|file| file.extension().is_some_and(|found| found == extension));
    assert_eq!(shapes.count(), 7);
    (folder, scene)
}

#[test]
fn a_folder_a_pattern_and_a_glob_are_the_same_sequence() {
    for extension in ["obj", "ply"] {
        let (folder, scene) = numbered(extension);
        let expected = only(&scene).sequence.as_ref().unwrap();
        for source in ["walk", &format!("walk/shape.%03d.{extension}"), &format!("walk/sh*.00?.{extension}")] {
            let back = read(&folder.path().join(source)).unwrap();
            let found = only(&back);
            assert_eq!(found.name, "shape");
            assert_eq!(found.mesh.triangles(), only(&scene).mesh.triangles(), "{source}");
            assert_eq!(found.mesh.points(), &*expected.frame(0).unwrap(), "the first file is the rest pose");
            scenes::assert_same_uvs(&found.mesh, &only(&scene).mesh);
            scenes::assert_same_frames(found.sequence.as_ref().unwrap(), expected);
            assert!(scenes::has_note(&back, "no frame rate; 24"));
        }
    }
}

#[test]
fn materials_are_written_once() {
    let (folder, _) = numbered("obj");
    assert!(folder.path().join("walk/shape.mtl").exists());
    let back = read(&folder.path().join("walk")).unwrap();
    assert_eq!(only(&back).mesh.layout().unwrap().materials[1].name, "cloth");
}

#[test]
fn frames_are_sorted_as_numbers_and_gaps_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    for number in [1, 2, 9, 10] {
        let text = format!("v {number} 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
        std::fs::write(folder.path().join(format!("f{number}.obj")), text).unwrap();
    }
    std::fs::write(folder.path().join("notes.txt"), "not a frame").unwrap();
    let scene = read(folder.path()).unwrap();
    let sequence = only(&scene).sequence.as_ref().unwrap();
    let order: Vec<f32> = (0..4).map(|frame| sequence.frame(frame).unwrap()[0].x).collect();
    assert_eq!(order, [1.0, 2.0, 9.0, 10.0]);
    assert!(scenes::has_note(&scene, "between 2 and 9"));
    let options = ReadOptions { frame_rate_hz: Some(60.0), ..ReadOptions::default() };
    let scene = dermis_io::read(folder.path().to_str().unwrap(), &options).unwrap();
    assert_eq!(only(&scene).sequence.as_ref().unwrap().frame_rate_hz(), 60.0);
}

#[test]
fn changing_faces_are_an_error_that_names_the_file() {
    let put = |folder: &Path, number: u32, text: &str| {
        std::fs::write(folder.join(format!("f.{number}.obj")), text).unwrap();
    };
    let good = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), 1, good);
    put(folder.path(), 2, good);
    put(folder.path(), 3, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n");
    let error = read(folder.path()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::PointCountChanges { frame: 2, expected: 3, found: 4 }));
    assert_eq!(error.path(), Some(folder.path().join("f.3.obj").as_path()));
    put(folder.path(), 3, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 3 2\n");
    assert!(matches!(read(folder.path()).unwrap_err().kind(), ErrorKind::TopologyChanges { frame: 2 }));
    put(folder.path(), 3, good);
    put(folder.path(), 2, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 3 2\n");
    let scene = read(folder.path()).unwrap();
    let error = only(&scene).sequence.as_ref().unwrap().frame(1).unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "the faces change at frame 1");
}

#[test]
fn folders_without_a_sequence_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    assert!(read(folder.path()).unwrap_err().to_string().contains("contains no OBJ or PLY files"));
    assert!(read(&folder.path().join("x*.obj")).unwrap_err().to_string().contains("no file matches"));
    std::fs::write(folder.path().join("a.obj"), "v 0 0 0").unwrap();
    std::fs::write(folder.path().join("a.ply"), "ply").unwrap();
    assert!(read(folder.path()).unwrap_err().hint().unwrap().contains("*.obj"));
}

#[test]
fn a_failure_while_writing_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("shape.005.ply")).unwrap();
    let error = write(&folder.path().join("shape.%03d.ply"), &scenes::moving_scene()).unwrap_err();
    assert_eq!(error.to_string(), "the output is a folder");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn frames_of_an_older_sequence_do_not_mix_with_the_new() {
    for extension in ["obj", "ply"] {
        let (folder, mut scene) = numbered(extension);
        let target = folder.path().join(format!("walk/shape.%03d.{extension}"));
        let shorter = only(&scene).sequence.as_ref().unwrap().select(0, 3, 1).unwrap();
        scene.objects[0].sequence = Some(shorter);
        let stranger = folder.path().join(format!("walk/shape.0.{extension}"));
        std::fs::write(&stranger, "does not fit").unwrap();
        let error = write(&target, &scene).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Exists));
        let force = WriteOptions { force: true, ..WriteOptions::default() };
        let written = dermis_io::write(&target, &scene, &force, &dermis_math::progress::NoProgress).unwrap();
        assert!(written.notes.iter().any(|note| note.message == "4 frames of an older sequence are removed"));
        assert_eq!(only(&read(&target).unwrap()).sequence.as_ref().unwrap().frame_count(), 3);
        assert!(stranger.exists());
    }
}

#[test]
fn older_frames_are_removed_only_after_the_new_ones_are_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("s.1.ply"), folder.path().join("s.0.ply"));
    std::fs::write(&old, "old").unwrap();
    let begun = || {
        let mut output = Output::new(true);
        output.write_all(&new, b"new").unwrap();
        output.remove_at_commit(old.clone());
        output
    };
    drop(begun());
    assert!(old.exists() && !new.exists());
    begun().commit().unwrap();
    assert!(!old.exists() && new.exists());
}

#[test]
fn an_existing_sequence_is_rejected_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("walk.0007.obj"), "old").unwrap();
    let message = |name: &str, force: bool| {
        let checked = check_target(&folder.path().join(name), &WriteOptions { force, ..WriteOptions::default() });
        checked.map_or_else(|error| error.to_string(), |()| "fine".to_owned())
    };
    assert_eq!(message("walk.%04d.obj", false), "the output already exists");
    assert_eq!(message("walk.%04d.obj", true), "fine");
    assert_eq!(message("run.%04d.obj", false), "fine");
    assert_eq!(message("walk.%04d.glb", true), "only OBJ and PLY files are written as numbered files");
}

#[cfg(unix)]
#[test]
fn a_broken_link_is_replaced_only_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("s.ply");
    std::os::unix::fs::symlink("nowhere", &target).unwrap();
    let options = |force| WriteOptions { force, ..WriteOptions::default() };
    assert!(matches!(check_target(&target, &options(false)).unwrap_err().kind(), ErrorKind::Exists));
    assert!(matches!(write(&target, &scenes::still_scene()).unwrap_err().kind(), ErrorKind::Exists));
    dermis_io::write(&target, &scenes::still_scene(), &options(true), &dermis_math::progress::NoProgress).unwrap();
    assert!(read(&target).is_ok());
}

#[test]
fn files_after_the_last_frame_are_also_protected() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shape.9.ply"), "old").unwrap();
    let error = write(&folder.path().join("shape.%d.ply"), &scenes::moving_scene()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Exists));
    assert_eq!(error.path(), Some(folder.path().join("shape.9.ply").as_path()));
    assert!(error.hint().unwrap().contains("replaced"));
}

#[test]
fn a_folder_of_several_names_is_rejected_and_its_names_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.1", "a.2", "a.4", "other"] {
        let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
        std::fs::write(folder.path().join(format!("{name}.obj")), text).unwrap();
    }
    let error = read(folder.path()).unwrap_err();
    assert_eq!(error.details(), ["names: a.%d.obj, other.obj"]);
    assert!(error.hint().unwrap().contains("a.*.obj"));
    let scene = read(&folder.path().join("a.%d.obj")).unwrap();
    assert_eq!(only(&scene).sequence.as_ref().unwrap().frame_count(), 3);
    assert!(scenes::has_note(&scene, "between 2 and 4"));
}

#[test]
fn a_folder_can_have_leading_numbers() {
    let folder = tempfile::tempdir().unwrap();
    for number in [1, 2, 10] {
        std::fs::write(folder.path().join(format!("{number}_scan.obj")), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
            .unwrap();
    }
    assert_eq!(only(&read(folder.path()).unwrap()).sequence.as_ref().unwrap().frame_count(), 3);
}

#[test]
fn a_lost_rest_pose_and_lost_normals_are_noted() {
    for extension in ["obj", "ply"] {
        let folder = tempfile::tempdir().unwrap();
        let written = write(&folder.path().join(format!("s.%d.{extension}")), &scenes::moving_scene()).unwrap();
        for part in ["the rest pose differs from the first frame", "normals are dropped from 7 files"] {
            assert!(written.notes.iter().any(|note| note.message.contains(part)), "{extension}: {part}");
        }
    }
}

#[test]
fn formats_of_one_file_reject_a_number_pattern() {
    let folder = tempfile::tempdir().unwrap();
    for extension in ["glb", "gltf", "abc", "usda", "npz", "pc2", "mdd", "mesh"] {
        let error = write(&folder.path().join(format!("st.%04d.{extension}")), &scenes::moving_scene()).unwrap_err();
        assert!(error.hint().unwrap().ends_with(&format!("st.{extension}")), "{:?}", error.hint());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn thousands_of_files_are_written_at_once() {
    // More than 1,024 files, the usual limit of open files of a process.
    let folder = tempfile::tempdir().unwrap();
    let object = Object::of_sequence("box", scenes::swinging(scenes::dressed_box().without_layout(), 1500, 24.0));
    let scene = Scene { objects: vec![object], ..Scene::default() };
    write(&folder.path().join("%d.ply"), &scene).unwrap();
    let back = read(folder.path()).unwrap();
    assert_eq!(only(&back).sequence.as_ref().unwrap().frame_count(), 1500);
}

#[test]
fn several_objects_become_one() {
    let mut scene = scenes::moving_scene();
    scene.objects.push(Object::of_mesh("still", scene.objects[0].mesh.clone()));
    for name in ["two.npz", "two.pc2", "two.mdd", "two.%d.obj", "two.%d.ply"] {
        let folder = tempfile::tempdir().unwrap();
        let written = write(&folder.path().join(name), &scene).unwrap();
        assert!(written.notes[0].message.contains("2 objects are merged into one: box, still"), "{name}");
        let back = read(&folder.path().join(name)).unwrap();
        assert_eq!((only(&back).mesh.point_count(), only(&back).mesh.triangle_count()), (18, 24), "{name}");
        assert_eq!(only(&back).sequence.as_ref().unwrap().frame_count(), 7, "{name}");
    }
}

#[test]
fn every_sample_survives_a_round_trip_through_every_simple_format() {
    for sample in dermis_samples::NAMES {
        let scene = dermis_samples::build(sample).unwrap();
        let (merged, _) = dermis_mesh::merge::single(&scene).unwrap();
        let motion = merged.base_motion().unwrap().unwrap().select(0, 3, 1).unwrap();
        let mut few = merged.clone();
        (few.sequence, few.rig, few.clips) = (Some(motion.clone()), None, Vec::new());
        let scene = Scene { objects: vec![few], ..Scene::default() };
        for name in ["few.npz", "few.pc2", "few.mdd", "few.%d.obj", "few.%d.ply"] {
            let folder = tempfile::tempdir().unwrap();
            write(&folder.path().join(name), &scene).unwrap();
            let back = read(&folder.path().join(name)).unwrap();
            let found = only(&back);
            assert_eq!(found.mesh.triangles(), merged.mesh.triangles(), "{sample} {name}");
            scenes::assert_same_frames(found.sequence.as_ref().unwrap(), &motion);
        }
    }
}
