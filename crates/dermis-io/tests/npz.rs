//! `NumPy` archives: round trips, exchange with `NumPy` itself, broken files, real files.

mod common;
mod scenes;

use std::io::{Cursor, Write};
use std::process::Command;

use dermis_io::{Error, ErrorKind, ReadOptions, read_bytes};
use dermis_mesh::glam::Vec3;
use dermis_mesh::{Scene, UpAxis};
use scenes::{only, read, written};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

fn read_default(bytes: &[u8]) -> Result<Scene, Error> {
    read_bytes("npz", bytes, &ReadOptions::default())
}

/// An array as an `.npy` file.
fn npy(descr: &str, fortran: bool, shape: &str, payload: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(payload);
    bytes
}

fn archive(arrays: &[(&str, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn f32s(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn f64s(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn i32s(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn triangle(frames: usize) -> Vec<(&'static str, Vec<u8>)> {
    let numbers: Vec<f32> = (0..frames * 9).map(|k| k as f32 * 0.25).collect();
    vec![
        ("faces", npy("<i4", false, "(1, 3)", &i32s(&[0, 1, 2]))),
        ("rest", npy("<f4", false, "(3, 3)", &f32s(&numbers[..9]))),
        ("frames", npy("<f4", false, &format!("({frames}, 3, 3)"), &f32s(&numbers))),
    ]
}

fn with(mut arrays: Vec<(&'static str, Vec<u8>)>, name: &'static str, bytes: Vec<u8>) -> Vec<(&'static str, Vec<u8>)> {
    arrays.retain(|(other, _)| *other != name);
    arrays.push((name, bytes));
    arrays
}

#[test]
fn a_sequence_keeps_its_layout() {
    let scene = scenes::moving_scene();
    let (_folder, path) = written(&scene, "box.npz");
    let back = read(&path).unwrap();
    let (found, expected) = (only(&back), only(&scene));
    assert_eq!(found.mesh, expected.mesh);
    assert_eq!((found.name.as_str(), &found.attributes), ("box", &expected.attributes));
    let (found, expected) = (found.sequence.as_ref().unwrap(), expected.sequence.as_ref().unwrap());
    scenes::assert_same_frames(found, expected);
    assert_eq!((found.frame_rate_hz(), found.start_seconds()), (30.0, 0.5));
    assert!(found.positions().is_some(), "stored frames are mapped, not copied");
    assert_eq!(back.notes, []);
}

#[test]
fn a_rig_is_kept_completely() {
    let scene = scenes::rigged_scene();
    let (_folder, path) = written(&scene, "box.npz");
    let back = read(&path).unwrap();
    let (found, expected) = (only(&back), only(&scene));
    assert_eq!(found.mesh, expected.mesh);
    assert_eq!(found.clips, expected.clips);
    assert_eq!(found.tets, expected.tets);
    assert_eq!(back.units, scene.units);
    assert_eq!(back.units.up_axis, Some(UpAxis::Z));
    let (found_rig, expected_rig) = (found.rig.as_ref().unwrap(), expected.rig.as_ref().unwrap());
    assert_eq!((found_rig.joints(), found_rig.shapes()), (expected_rig.joints(), expected_rig.shapes()));
    for point in 0..9 {
        let row = |rig: &dermis_mesh::Rig| {
            let mut row: Vec<(u32, f32)> = rig.weights().row(point).collect();
            row.sort_by_key(|(joint, _)| *joint);
            row
        };
        assert_eq!(row(found_rig), row(expected_rig));
    }
    scenes::assert_same_frames(found.sequence.as_ref().unwrap(), &expected.base_motion().unwrap().unwrap());
}

#[test]
fn compressed_and_odd_arrays_are_read() {
    let frames: Vec<f64> = (0..18).map(|k| f64::from(k) * 0.25).collect();
    let fortran: Vec<f64> = (0..18).map(|k| frames[k % 2 * 9 + k / 2 % 3 * 3 + k / 6]).collect();
    let plain = archive(&triangle(2), CompressionMethod::Stored);
    let expected = only(&read_default(&plain).unwrap()).sequence.clone().unwrap();
    let big: Vec<u8> = frames.iter().flat_map(|number| (*number as f32).to_be_bytes()).collect();
    for frames in [
        npy("<f8", false, "(2, 3, 3)", &f64s(&frames)),
        npy("<f8", true, "(2, 3, 3)", &f64s(&fortran)),
        npy(">f4", false, "(2, 3, 3)", &big),
    ] {
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let bytes = archive(&with(triangle(2), "frames", frames.clone()), method);
            let scene = read_default(&bytes).unwrap();
            scenes::assert_same_frames(only(&scene).sequence.as_ref().unwrap(), &expected);
        }
    }
}

#[test]
fn quads_are_triangulated_and_kept() {
    let arrays = [
        ("rest", npy("<f4", false, "(4, 3)", &f32s(&[0., 0., 0., 1., 0., 0., 1., 1., 0., 0., 1., 0.]))),
        ("faces", npy("|u1", false, "(1, 4)", &[0, 1, 2, 3])),
    ];
    let scene = read_default(&archive(&arrays, CompressionMethod::Stored)).unwrap();
    assert_eq!(only(&scene).mesh.triangles(), [[0, 1, 2], [0, 2, 3]]);
    assert_eq!(only(&scene).mesh.layout().unwrap().polygons.as_ref().unwrap().sizes, [4]);
}

#[test]
fn assumptions_and_skipped_arrays_are_noted() {
    let arrays = with(triangle(2), "handles", npy("<f4", false, "(2, 2)", &f32s(&[0.0; 4])));
    let mut arrays = with(arrays, "mass", npy("<f4", false, "(3,)", &f32s(&[1.0, 2.0, 3.0])));
    arrays.retain(|(name, _)| *name != "rest");
    let scene = read_default(&archive(&arrays, CompressionMethod::Stored)).unwrap();
    assert!(scenes::has_note(&scene, "no frame rate; 24"));
    assert!(scenes::has_note(&scene, "the first frame is used"));
    assert!(scenes::has_note(&scene, "arrays skipped: handles"));
    assert_eq!(only(&scene).attributes["mass"], [1.0, 2.0, 3.0]);
}

#[test]
fn skin_without_bind_and_weights_without_transforms_make_rigs() {
    let identity = [1., 0., 0., 5., 0., 1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1.];
    let weights = npy("<f4", false, "(3, 1)", &f32s(&[1.0; 3]));
    let arrays = with(triangle(2), "weights", weights);
    let scene = read_default(&archive(&arrays, CompressionMethod::Stored)).unwrap();
    assert_eq!(only(&scene).rig.as_ref().unwrap().joints().len(), 1);
    assert!(only(&scene).clips.is_empty());
    let arrays = with(arrays, "skin", npy("<f8", false, "(1, 1, 4, 4)", &f64s(&identity)));
    let scene = read_default(&archive(&arrays, CompressionMethod::Stored)).unwrap();
    assert_eq!(only(&scene).clips[0].transforms(0)[0].translation.x, 5.0);
    assert!(scenes::has_note(&scene, "2 frames but 1 poses"));
}

#[test]
fn smpl_layout_becomes_a_rig_with_shapes() {
    let arrays = [
        ("v_template", npy("<f8", false, "(3, 3)", &f64s(&[0., 0., 0., 1., 0., 0., 0., 1., 0.]))),
        ("f", npy("<u4", false, "(1, 3)", &i32s(&[0, 1, 2]))),
        ("weights", npy("<f8", false, "(3, 2)", &f64s(&[1., 0., 0.5, 0.5, 0., 1.]))),
        ("kintree_table", npy("<u4", false, "(2, 2)", &i32s(&[-1, 7, 7, 9]))),
        ("J_regressor", npy("<f8", false, "(2, 3)", &f64s(&[0., 1., 0., 0., 0.5, 0.5]))),
        ("shapedirs", npy("<f8", false, "(3, 3, 2)", &f64s(&(0..18).map(f64::from).collect::<Vec<_>>()))),
        ("posedirs", npy("<f8", false, "(3, 3, 9)", &f64s(&[0.0; 81]))),
    ];
    let scene = read_default(&archive(&arrays, CompressionMethod::Deflated)).unwrap();
    let rig = only(&scene).rig.as_ref().unwrap();
    assert_eq!(rig.joints()[1].parent, Some(0));
    assert_eq!(rig.joints()[0].parent, None);
    assert_eq!(rig.joints()[1].bind().translation.as_vec3(), Vec3::new(0.5, 0.5, 0.0));
    assert_eq!(rig.shapes()[1].offsets[2], Vec3::new(13.0, 15.0, 17.0));
    assert!(scene.notes.iter().any(|note| note.location.as_deref() == Some("posedirs")));
}

#[test]
fn rejects_inconsistent_data() {
    let wrong: Vec<(&str, &'static str, Vec<u8>)> = vec![
        ("a face refers to a missing point", "faces", npy("<i4", false, "(1, 3)", &i32s(&[0, 1, 3]))),
        ("a negative index", "faces", npy("<i4", false, "(1, 3)", &i32s(&[0, 1, -1]))),
        ("faces of two corners", "faces", npy("<i4", false, "(1, 2)", &i32s(&[0, 1]))),
        ("text for faces", "faces", npy("<U1", false, "(1, 3)", &i32s(&[65; 3]))),
        ("another number of points", "frames", npy("<f4", false, "(1, 2, 3)", &f32s(&[0.0; 6]))),
        ("no points", "rest", npy("<f4", false, "(0, 3)", &[])),
        ("no frames, with an enormous count", "frames", npy("<f4", false, "(4611686018427387904, 0, 3)", &[])),
        ("more frames than bytes", "frames", npy("<f4", false, "(1000000000, 3, 3)", &[0; 36])),
        ("a shape that overflows", "frames", npy("<f4", false, "(18446744073709551615, 18446744073709551615, 3)", &[])),
        ("positions that are not finite", "rest", npy("<f4", false, "(3, 3)", &f32s(&[f32::NAN; 9]))),
        ("a pickle", "rest", npy("|O", false, "(3, 3)", b"\x80\x03]q\x00.")),
        ("texts without bytes", "object_name", npy("<U0", false, "(1152921504606846976,)", &[])),
        ("an invalid rate", "fps", npy("<f8", false, "()", &f64s(&[-1.0]))),
        ("an invalid unit", "metres_per_unit", npy("<f8", false, "()", &f64s(&[f64::NAN]))),
        ("weights of no joint", "weights", npy("<f4", false, "(3, 0)", &[])),
        ("weights of other points", "weights", npy("<f4", false, "(2, 1)", &f32s(&[1.0; 2]))),
        ("shapes of other points", "basis", npy("<f4", false, "(1, 2, 3)", &f32s(&[1.0; 6]))),
        ("no shapes, with an enormous count", "basis", npy("<f4", false, "(1152921504606846976, 0, 3)", &[])),
        ("tetrahedra of missing points", "tets", npy("<i4", false, "(1, 4)", &i32s(&[0, 1, 2, 3]))),
    ];
    for (what, name, bytes) in wrong {
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let bytes = archive(&with(triangle(1), name, bytes.clone()), method);
            assert!(read_default(&bytes).is_err(), "{what}");
        }
    }
    let nan = with(triangle(1), "frames", npy("<f4", false, "(1, 3, 3)", &f32s(&[f32::INFINITY; 9])));
    let scene = read_default(&archive(&nan, CompressionMethod::Stored)).unwrap();
    assert!(only(&scene).sequence.as_ref().unwrap().frame(0).is_err());
}

#[test]
fn rejects_transposed_matrices_with_a_hint() {
    let transposed = [1., 0., 0., 0., 0., 1., 0., 0., 0., 0., 1., 0., 3., 0., 0., 1.];
    let arrays = with(triangle(1), "weights", npy("<f4", false, "(3, 1)", &f32s(&[1.0; 3])));
    let arrays = with(arrays, "bind", npy("<f8", false, "(1, 4, 4)", &f64s(&transposed)));
    let error = read_default(&archive(&arrays, CompressionMethod::Stored)).unwrap_err();
    assert!(error.hint().unwrap().contains("transpose"), "{error}");
}

#[test]
fn a_decompression_bomb_is_rejected() {
    // A gigabyte of zeros deflates to a megabyte; the shape requires all of it and more.
    let zeros = npy("<f4", false, "(29826161, 3, 3)", &vec![0; 1 << 24]);
    let bytes = archive(&with(triangle(1), "frames", zeros), CompressionMethod::Deflated);
    common::assert_survives(&[("bomb".to_owned(), bytes.clone())], read_default);
    assert!(matches!(read_default(&bytes).unwrap_err().kind(), ErrorKind::Truncated { .. }));
}

#[test]
fn survives_damage() {
    let (_folder, moving) = written(&scenes::moving_scene(), "box.npz");
    let (_folder, rigged) = written(&scenes::rigged_scene(), "box.npz");
    for valid in [
        std::fs::read(moving).unwrap(),
        std::fs::read(rigged).unwrap(),
        archive(&triangle(2), CompressionMethod::Stored),
        archive(&triangle(2), CompressionMethod::Deflated),
    ] {
        read_default(&valid).unwrap();
        common::assert_survives(&common::damage(&valid), read_default);
    }
}

/// Frames that are generated when they are read.
#[derive(Debug)]
struct Computed {
    frames: usize,
    points: usize,
}

impl dermis_mesh::FrameSource for Computed {
    fn frame_count(&self) -> usize {
        self.frames
    }

    fn point_count(&self) -> usize {
        self.points
    }

    fn read_into(&self, frame: usize, out: &mut [Vec3]) -> Result<(), dermis_mesh::SequenceError> {
        out.fill(Vec3::splat(frame as f32));
        Ok(())
    }
}

#[test]
#[ignore = "writes 5 GB"]
fn more_than_four_gigabytes_are_streamed() {
    let (frames, points) = (420, 1_000_000);
    let mesh = std::sync::Arc::new(dermis_mesh::TriMesh::new(vec![Vec3::ZERO; points], vec![[0, 1, 2]]).unwrap());
    let source = std::sync::Arc::new(Computed { frames, points });
    let sequence = dermis_mesh::MeshSequence::from_source(mesh, source, 24.0).unwrap();
    let scene = Scene { objects: vec![dermis_mesh::Object::of_sequence("large", sequence)], ..Scene::default() };
    let (folder, path) = written(&scene, "large.npz");
    let scene = read(&path).unwrap();
    let sequence = only(&scene).sequence.as_ref().unwrap();
    assert_eq!(sequence.frame(419).unwrap()[999_999], Vec3::splat(419.0));
    numpy(
        "import numpy as np; f = np.load('large.npz')['frames']; assert f.shape == (420, 1000000, 3) and f[419, 7, 1] == 419",
        folder.path(),
    );
}

/// Runs a Python script that needs `NumPy`; prints a message and returns false if it is not installed.
fn numpy(script: &str, folder: &std::path::Path) -> bool {
    let run = |script: &str| Command::new("python3").args(["-c", script]).current_dir(folder).output();
    if !run("import numpy").is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: python3 with numpy is not installed");
        return false;
    }
    let output = run(script).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
fn numpy_reads_written_archives() {
    let folder = tempfile::tempdir().unwrap();
    scenes::write(&folder.path().join("rigged.npz"), &scenes::rigged_scene()).unwrap();
    scenes::write(&folder.path().join("moving.npz"), &scenes::moving_scene()).unwrap();
    numpy(
        r"
import numpy as np
z = np.load('rigged.npz', allow_pickle=False)
arrays = {name: z[name] for name in z.files}
assert arrays['bone_names'].tolist() == ['root', 'arm', 'hånd']
assert arrays['parents'].tolist() == [-1, 0, 1]
assert arrays['fps'] == 25 and arrays['start_seconds'] == 2
rest = arrays['rest'] + np.einsum('sm,mni->sni', arrays['coefficients'], arrays['basis'])
rest = np.concatenate([rest, np.ones_like(rest[..., :1])], -1)
skin = arrays['skin']
assert np.abs(arrays['pose'] @ arrays['inverse_bind'] - skin).max() < 1e-12
posed = np.einsum('nb,sbij,snj->sni', arrays['weights'], skin, rest)[..., :3]
assert np.abs(posed - arrays['frames']).max() < 1e-5
z = np.load('moving.npz', allow_pickle=False)
assert z['frames'].shape == (7, 9, 3) and z['frames'].dtype == np.float32
assert z['faces'].shape == (12, 3) and z['faces'].max() == 7
",
        folder.path(),
    );
}

#[test]
fn archives_of_numpy_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let made = numpy(
        r"
import numpy as np
frames = np.arange(90).reshape(10, 3, 3).astype(np.float32)
arrays = dict(faces=np.array([[0, 1, 2]]), frames=frames, times=np.arange(10) / 30, names=np.array(['a'] * 10))
np.savez('stored.npz', **arrays)
np.savez_compressed('deflated.npz', **arrays)
np.savez('fortran.npz', **dict(arrays, frames=np.asfortranarray(frames)))
np.savez('half.npz', **dict(arrays, frames=frames.astype(np.float16)))
",
        folder.path(),
    );
    for name in ["stored.npz", "deflated.npz", "fortran.npz", "half.npz"].iter().filter(|_| made) {
        let scene = read(&folder.path().join(name)).unwrap();
        let sequence = only(&scene).sequence.as_ref().unwrap();
        assert_eq!((sequence.frame_count(), sequence.frame_rate_hz()), (10, 30.0), "{name}");
        assert_eq!(sequence.frame(9).unwrap()[2], Vec3::new(87.0, 88.0, 89.0), "{name}");
    }
}

#[test]
fn real_files_have_the_documented_counts() {
    // Name, frames, points, triangles, joints, poses.
    let files = [
        ("sequences/horse-gallop.npz", 48, 8431, 16843, 0, 0),
        ("sequences/cat-poses.npz", 9, 7207, 14410, 0, 0),
        ("sequences/pdance.npz", 201, 7061, 14118, 0, 0),
        ("sequences/dembones_bone.npz", 400, 754, 1504, 0, 0),
        ("sequences/pbd_spot.npz", 180, 837, 1628, 15, 0),
        ("sequences/three_Horse.npz", 16, 494, 984, 0, 0),
        ("sequences/vto_tshirt_shape00_128_02.npz", 42, 4424, 8710, 0, 0),
        ("sequences/vto_tshirt_shape00_108_12.npz", 35, 4424, 8710, 0, 0),
        ("rigs/dembones_bone_skeleton.npz", 0, 754, 1504, 6, 400),
        ("rigs/gt_cheburashka.npz", 11, 6669, 13334, 11, 11),
        ("rigs/gt_cylinder.npz", 4, 420, 800, 4, 4),
        ("rigs/derived_mpfb_poses.npz", 101, 13380, 26756, 53, 101),
        ("bodies/mpfb_game_engine_smpl_layout.npz", 0, 13380, 26756, 53, 0),
    ];
    for (name, frames, points, triangles, joints, poses) in files {
        let Some(path) = common::shared_data(name) else { continue };
        let scene = read(&path).unwrap();
        let object = only(&scene);
        assert_eq!(object.sequence.as_ref().map_or(0, dermis_mesh::MeshSequence::frame_count), frames, "{name}");
        assert_eq!((object.mesh.point_count(), object.mesh.triangle_count()), (points, triangles), "{name}");
        assert_eq!(object.rig.as_ref().map_or(0, |rig| rig.joints().len()), joints, "{name}");
        assert_eq!(object.clips.first().map_or(0, |clip| clip.frame_count()), poses, "{name}");
        if let Some(sequence) = &object.sequence {
            sequence.load().unwrap();
        }
    }
}

#[test]
fn ground_truth_skins_reproduce_their_frames() {
    for name in ["rigs/gt_cylinder.npz", "rigs/gt_cheburashka.npz"] {
        let Some(path) = common::shared_data(name) else { continue };
        let scene = read(&path).unwrap();
        let object = only(&scene);
        let posed = dermis_mesh::pose::bake(&object.mesh, object.rig.as_ref().unwrap(), &object.clips[0]).unwrap();
        let recorded = object.sequence.as_ref().unwrap();
        // Rounding in the files themselves: NumPy finds a difference of up to 1.3e-4 of the diagonal between the two.
        let tolerance = 2e-4 * object.mesh.diagonal();
        for frame in 0..recorded.frame_count() {
            for (posed, recorded) in posed.frame(frame).unwrap().iter().zip(recorded.frame(frame).unwrap().iter()) {
                assert!(posed.distance(*recorded) < tolerance, "{name} frame {frame}");
            }
        }
    }
}

#[test]
fn real_files_survive_a_round_trip() {
    for name in ["sequences/three_Horse.npz", "rigs/gt_cylinder.npz", "bodies/mpfb_game_engine_smpl_layout.npz"] {
        let Some(path) = common::shared_data(name) else { continue };
        let scene = read(&path).unwrap();
        let (_folder, target) = written(&scene, "again.npz");
        let back = read(&target).unwrap();
        assert_eq!(only(&back).mesh, only(&scene).mesh);
        assert_eq!(only(&back).rig, only(&scene).rig);
        assert_eq!(
            only(&back).clips.first().map(|clip| clip.frame_count()),
            only(&scene).clips.first().map(|c| c.frame_count())
        );
        if let (Some(found), Some(expected)) = (&only(&back).sequence, &only(&scene).sequence) {
            scenes::assert_same_frames(found, expected);
            assert_eq!(found.frame_rate_hz(), expected.frame_rate_hz());
        }
    }
}
