//! MDD point caches: round trips, broken files, a real file.

mod common;
mod scenes;

use dermis_io::{Error, ReadOptions, read_bytes};
use dermis_mesh::Scene;
use dermis_mesh::glam::Vec3;
use scenes::{only, read, written};

fn read_default(bytes: &[u8]) -> Result<Scene, Error> {
    read_bytes("mdd", bytes, &ReadOptions::default())
}

fn cache(frames: u32, points: u32, times: &[f32], numbers: usize) -> Vec<u8> {
    let mut bytes = [frames.to_be_bytes(), points.to_be_bytes()].concat();
    bytes.extend(times.iter().flat_map(|time| time.to_be_bytes()));
    bytes.extend((0..numbers).flat_map(|k| (k as f32).to_be_bytes()));
    bytes
}

#[test]
fn a_sequence_is_kept_with_a_mesh_next_to_it() {
    let scene = scenes::moving_scene();
    let (_folder, path) = written(&scene, "box.mdd");
    let back = read(&path).unwrap();
    let (found, expected) = (only(&back), only(&scene));
    scenes::assert_same_topology(&found.mesh, &expected.mesh);
    scenes::assert_same_uvs(&found.mesh, &expected.mesh);
    let (found, expected) = (found.sequence.as_ref().unwrap(), expected.sequence.as_ref().unwrap());
    scenes::assert_same_frames(found, expected);
    assert_eq!((found.frame_rate_hz(), found.start_seconds()), (30.0, 0.5));
}

#[test]
fn uneven_times_are_noted() {
    let scene = read_default(&cache(3, 2, &[0.0, 1.0, 5.0], 18)).unwrap();
    assert!(scenes::has_note(&scene, "not evenly spaced") && scenes::has_note(&scene, "24 is assumed"));
    assert_eq!(only(&scene).sequence.as_ref().unwrap().frame_rate_hz(), 24.0);
}

#[test]
fn rejects_counts_beyond_the_file() {
    let times = [0.0, 1.0, 2.0];
    for (frames, points) in [(0, 2), (3, 0), (3, 3), (4, 2), (u32::MAX, u32::MAX), (u32::MAX, 0)] {
        assert!(read_default(&cache(frames, points, &times, 18)).is_err(), "{frames} × {points}");
    }
}

#[test]
fn survives_damage() {
    let times: Vec<f32> = (0..30).map(|k| k as f32 / 24.0).collect();
    let valid = cache(30, 20, &times, 1800);
    read_default(&valid).unwrap();
    common::assert_survives(&common::damage(&valid), read_default);
}

#[test]
fn the_real_cube_is_read() {
    let Some(path) = common::shared_data("formats/cube.mdd") else { return };
    let scene = read(&path).unwrap();
    let sequence = only(&scene).sequence.as_ref().unwrap();
    assert_eq!((sequence.frame_count(), sequence.point_count(), sequence.frame_rate_hz()), (4, 24, 1.0));
    assert_eq!(sequence.frame(0).unwrap()[0], Vec3::splat(0.5));
}
