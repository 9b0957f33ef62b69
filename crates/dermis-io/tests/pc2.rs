//! PC2 point caches: round trips with and without a mesh, broken files.

mod common;
mod scenes;

use dermis_io::{Error, ReadOptions, read_bytes};
use dermis_mesh::Scene;
use scenes::{only, read, written};

fn read_default(bytes: &[u8]) -> Result<Scene, Error> {
    read_bytes("pc2", bytes, &ReadOptions::default())
}

fn cache(points: i32, samples: i32, numbers: usize) -> Vec<u8> {
    let mut bytes = b"POINTCACHE2\0\x01\0\0\0".to_vec();
    bytes.extend(points.to_le_bytes());
    bytes.extend(12f32.to_le_bytes());
    bytes.extend(0.5f32.to_le_bytes());
    bytes.extend(samples.to_le_bytes());
    bytes.extend((0..numbers).flat_map(|k| (k as f32).to_le_bytes()));
    bytes
}

#[test]
fn a_sequence_is_kept_with_a_mesh_next_to_it() {
    let scene = scenes::moving_scene();
    let (folder, path) = written(&scene, "box.pc2");
    let options = ReadOptions { frame_rate_hz: Some(30.0), ..ReadOptions::default() };
    let back = dermis_io::read(path.to_str().unwrap(), &options).unwrap();
    let (found, expected) = (only(&back), only(&scene));
    scenes::assert_same_topology(&found.mesh, &expected.mesh);
    scenes::assert_same_uvs(&found.mesh, &expected.mesh);
    scenes::assert_same_normals(&found.mesh, &expected.mesh);
    let (found, expected) = (found.sequence.as_ref().unwrap(), expected.sequence.as_ref().unwrap());
    scenes::assert_same_frames(found, expected);
    assert!(found.positions().is_some(), "frames are mapped, not copied");
    assert_eq!((found.frame_rate_hz(), found.start_seconds()), (30.0, 0.5));
    std::fs::rename(folder.path().join("box.obj"), folder.path().join("other.obj")).unwrap();
    let points = read(&path).unwrap();
    assert_eq!(only(&points).mesh.triangle_count(), 0);
    assert!(scenes::has_note(&points, "points only") && scenes::has_note(&points, "no frame rate; 24"));
    let options = ReadOptions { topology: Some(folder.path().join("other.obj")), ..ReadOptions::default() };
    let asked = dermis_io::read(path.to_str().unwrap(), &options).unwrap();
    assert_eq!(only(&asked).mesh.triangle_count(), 12);
}

#[test]
fn an_existing_mesh_is_shared_by_a_second_cache() {
    let scene = scenes::moving_scene();
    let (folder, _) = written(&scene, "box.pc2");
    let second = scenes::write(&folder.path().join("box.mdd"), &scene).unwrap();
    assert_eq!(second.files, [folder.path().join("box.mdd")]);
    let other = scenes::write(&folder.path().join("box.mdd"), &scenes::still_scene());
    assert!(other.is_err(), "no file is replaced");
}

#[test]
fn first_frame_and_step_define_the_times() {
    let scene = read_default(&cache(2, 3, 18)).unwrap();
    let sequence = only(&scene).sequence.as_ref().unwrap();
    assert_eq!((sequence.frame_rate_hz(), sequence.start_seconds()), (48.0, 0.5));
    assert_eq!(sequence.frame(2).unwrap()[1].z, 17.0);
}

#[test]
fn a_mesh_of_other_points_is_rejected() {
    let (folder, path) = written(&scenes::moving_scene(), "box.pc2");
    std::fs::write(folder.path().join("box.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
    let error = read(&path).unwrap_err();
    assert!(error.to_string().contains("has 9 points, but the mesh has 3"), "{error}");
}

#[test]
fn an_object_without_motion_is_one_frame() {
    let (_folder, path) = written(&scenes::still_scene(), "box.pc2");
    let back = read(&path).unwrap();
    assert_eq!(only(&back).sequence.as_ref().unwrap().frame(0).unwrap(), only(&back).mesh.points());
}

#[test]
fn rejects_counts_beyond_the_file() {
    for (points, samples) in [(-1, 1), (1, -1), (0, 1), (1, 0), (2, 4), (i32::MAX, i32::MAX)] {
        assert!(read_default(&cache(points, samples, 18)).is_err(), "{points} × {samples}");
    }
    let mut nan = cache(2, 3, 18);
    nan[32 + 4 * 7..32 + 4 * 8].copy_from_slice(&f32::NAN.to_le_bytes());
    let scene = read_default(&nan).unwrap();
    let sequence = only(&scene).sequence.as_ref().unwrap();
    assert!(sequence.frame(0).is_ok() && sequence.frame(1).is_err() && sequence.frame(2).is_ok());
}

#[test]
fn survives_damage() {
    let valid = cache(20, 30, 1800);
    read_default(&valid).unwrap();
    common::assert_survives(&common::damage(&valid), read_default);
}
