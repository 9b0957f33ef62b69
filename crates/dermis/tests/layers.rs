//! Layers: evaluated in order, and stored, baked or rejected by every format, but never dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use dermis::evaluate::{clip_motion, motion};
use dermis::io::{Format, writable_extensions};
use dermis::mesh::deformer::dual_quaternions::DualQuaternionLayer;
use dermis::mesh::deformer::multi_weights::{MultiWeights, MultiWeightsLayer, Precision};
use dermis::mesh::glam::DVec3;
use dermis::mesh::{Deformer, StoredDeformer, Values};
use dermis::prelude::*;

/// Positions pass through text in some formats.
const CLOSE: f32 = 1e-4;

fn tetrahedron() -> TriMesh {
    let points = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
    TriMesh::new(points, vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]).unwrap()
}

/// A tetrahedron whose upper joint rises by a tenth in every frame, with a clip of each number of frames.
fn rigged(frames: &[usize]) -> Object {
    let mesh = Arc::new(tetrahedron());
    let joints = ["lower", "upper"].map(|name| Joint::at(name, None, DAffine3::IDENTITY)).to_vec();
    let row = |point: &Vec3| if point.z > 0.5 { vec![(1, 1.0)] } else { vec![(0, 1.0)] };
    let rig = Rig::new(&mesh, joints, SkinWeights::from_rows(mesh.points().iter().map(row)), vec![]).unwrap();
    let rise = |frame: usize| DAffine3::from_translation(DVec3::Z * (0.1 * (frame + 1) as f64));
    let clip = |&count: &usize| {
        let transforms = (0..count).flat_map(|frame| [DAffine3::IDENTITY, rise(frame)]).collect();
        Clip::new(&rig, format!("rise {count}"), 24.0, transforms, vec![]).unwrap()
    };
    let clips = frames.iter().map(clip).collect();
    let tets = TetMesh::new(mesh.points().to_vec(), vec![[0, 1, 2, 3]]).unwrap();
    Object { tets: Some(Arc::new(tets)), ..Object::of_rig("tetrahedron", mesh, rig, clips) }
}

/// The linear skin of [`rigged`] with all points shifted along z by as much as the upper joint rises.
fn shifting(precision: Precision) -> Deformer {
    let mut weights = MultiWeights { offsets: vec![0], ..MultiWeights::default() };
    for point in tetrahedron().points() {
        let own = u32::from(point.z > 0.5);
        weights.home.push(0);
        for bone in 0..2 {
            let weight = if bone == own { 1.0 } else { 0.0 };
            let mut entry = [[point.x * weight, point.y * weight, point.z * weight, weight]; 3];
            // The translation of the bone along z is the entry [2][3] of its matrix.
            entry[2][3] += if bone == 1 { 1.0 } else { 0.0 };
            weights.bones.push(bone);
            weights.weights.push(entry);
        }
        weights.offsets.push(weights.bones.len() as u32);
    }
    MultiWeightsLayer::new(weights, precision).unwrap().into()
}

fn half_dual_quaternions() -> Deformer {
    Deformer::DualQuaternions(Arc::new(DualQuaternionLayer::new(vec![0.5; 4]).unwrap()))
}

fn swelling(factor: &str) -> Deformer {
    VolumeOptions { target: factor.parse().unwrap(), ..default() }.into()
}

fn unknown() -> Deformer {
    let settings = serde_json::from_str("{\"type\":\"melt\",\"heat\":0.1}").unwrap();
    let buffers = BTreeMap::from([("bits".to_owned(), Values::U16(vec![1, u16::MAX]))]);
    Deformer::Unknown(StoredDeformer { settings, buffers })
}

fn layers() -> Vec<(&'static str, Vec<Deformer>)> {
    vec![
        ("multi-weights", vec![shifting(Precision::Single)]),
        ("half multi-weights", vec![shifting(Precision::Half)]),
        ("dual quaternions", vec![half_dual_quaternions()]),
        ("volume", vec![swelling("1.3")]),
        ("dual quaternions and volume", vec![half_dual_quaternions(), swelling("1.3")]),
        ("two of a kind", vec![swelling("1.3"), shifting(Precision::Single), shifting(Precision::Single)]),
        ("unknown", vec![unknown()]),
        ("known and unknown", vec![swelling("1.3"), unknown()]),
    ]
}

fn frames(sequence: &MeshSequence) -> Vec<Vec<Vec3>> {
    (0..sequence.frame_count()).map(|frame| sequence.frame(frame).unwrap().to_vec()).collect()
}

fn apart(a: &[Vec<Vec3>], b: &[Vec<Vec3>]) -> f32 {
    assert_eq!((a.len(), a[0].len()), (b.len(), b[0].len()));
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| a.distance(*b)).fold(0.0, f32::max)
}

/// Writes `object` to a new folder and reads it back.
fn round_trip(object: &Object, extension: &str) -> dermis::Result<(Scene, Vec<Note>)> {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join(format!("out.{extension}"));
    let written = dermis::write_with(&target, object, &default(), &NoProgress);
    if written.is_err() {
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{extension}: a failure leaves no files");
    }
    let written = written?;
    // Formats of one pose write a file for each frame.
    let source = if target.exists() { target } else { folder.path().to_path_buf() };
    let mut scene = dermis::read(source.to_str().unwrap())?;
    for object in &mut scene.objects {
        object.sequence = object.sequence.as_ref().map(|sequence| sequence.load().unwrap());
    }
    Ok((scene, written.notes))
}

#[test]
fn every_kind_of_layer_is_tested() {
    // A new kind does not compile here until it has a number; `layers` must then contain it.
    let number = |layer: &Deformer| match layer {
        Deformer::DualQuaternions(_) => 0,
        Deformer::MultiWeights(_) => 1,
        Deformer::Volume(_) => 2,
        Deformer::Unknown(_) => 3,
    };
    let tested: BTreeSet<usize> = layers().iter().flat_map(|(_, layers)| layers).map(number).collect();
    assert_eq!(tested, BTreeSet::from([0, 1, 2, 3]));
}

#[test]
fn every_format_stores_bakes_or_rejects_every_layer() {
    let format = |extension: &str| Format::of_path(Path::new(&format!("a.{extension}"))).unwrap();
    for (name, layers) in layers() {
        for clips in [vec![1], vec![3, 2]] {
            let object = Object { deformers: layers.clone(), ..rigged(&clips) };
            let expected = frames(&motion(&object).unwrap().unwrap().sequence);
            for extension in writable_extensions() {
                let case = format!("{name} of {clips:?} frames as {extension}");
                let is_known = layers.iter().all(|layer| !matches!(layer, Deformer::Unknown(_)));
                let result = round_trip(&object, extension);
                if format(extension).holds.layers {
                    let (scene, _) = result.unwrap_or_else(|error| panic!("{case}: {error}"));
                    assert_eq!(scene.objects[0].deformers, layers, "{case}");
                    assert!(apart(&frames(&scene.objects[0].sequence().unwrap()), &expected) < CLOSE, "{case}");
                } else if !is_known {
                    let message = result.map(drop).unwrap_err().to_string();
                    assert!(message.contains("cannot store the layer 'melt'"), "{case}: {message}");
                } else if let Ok((scene, notes)) = result {
                    let still = || vec![scene.objects[0].mesh.points().to_vec()];
                    let found =
                        motion(&scene.objects[0]).unwrap().map_or_else(still, |motion| frames(&motion.sequence));
                    assert!(apart(&found, &expected) < CLOSE, "{case}");
                    let message: String = notes.iter().map(|note| note.message.as_str()).collect();
                    assert!(message.contains(layers[0].kind()) && message.contains("'rise"), "{case}: {message}");
                } else {
                    assert!(clips.len() > 1, "{case}: {}", result.map(drop).unwrap_err());
                }
            }
        }
    }
}

#[test]
fn layers_without_a_motion_are_stored_or_rejected() {
    let object = Object { deformers: vec![swelling("1.1")], ..rigged(&[]) };
    for extension in ["abc", "usda", "obj", "pc2"] {
        let message = round_trip(&object, extension).map(drop).unwrap_err().to_string();
        assert!(message.contains("does not move"), "{extension}: {message}");
    }
    for extension in ["glb", "npz"] {
        assert_eq!(round_trip(&object, extension).unwrap().0.objects[0].deformers, object.deformers);
    }
}

#[test]
fn merged_objects_are_baked() {
    let object = Object { deformers: vec![swelling("1.3")], ..rigged(&[2]) };
    let scene = Scene { objects: vec![object.clone(), Object::of_mesh("still", Arc::new(tetrahedron()))], ..default() };
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("two.npz");
    dermis::write(&target, &scene).unwrap();
    let back = dermis::read(target.to_str().unwrap()).unwrap().sequence().unwrap();
    let expected = frames(&object.sequence().unwrap());
    let own: Vec<Vec<Vec3>> = frames(&back).iter().map(|frame| frame[..4].to_vec()).collect();
    assert!(apart(&own, &expected) < CLOSE);
    assert!(apart(&frames(&scene.sequence().unwrap()), &frames(&back)) < CLOSE);
}

#[test]
fn layers_are_applied_in_order_even_if_two_are_of_one_kind() {
    let frames_with = |deformers: Vec<Deformer>| {
        let object = Object { deformers, ..rigged(&[3]) };
        frames(&clip_motion(&object, &object.clips[0]).unwrap().sequence)
    };
    let shift = || shifting(Precision::Single);
    let (none, once, twice) = (frames_with(vec![]), frames_with(vec![shift()]), frames_with(vec![shift(), shift()]));
    for (frame, rest) in none.iter().enumerate() {
        for point in 0..4 {
            let offset = once[frame][point] - rest[point];
            assert!((offset - Vec3::Z * 0.1 * (frame + 1) as f32).length() < 1e-5, "{offset}");
            assert!((twice[frame][point] - rest[point] - 2.0 * offset).length() < 1e-5);
        }
    }
    let (before, after) = (frames_with(vec![swelling("1.3"), shift()]), frames_with(vec![shift(), swelling("1.3")]));
    assert!(apart(&before, &after) < CLOSE, "a shift of the whole does not change its volume");
    let (first, second) =
        (frames_with(vec![swelling("1.3"), swelling("2")]), frames_with(vec![swelling("2"), swelling("1.3")]));
    assert!(apart(&first, &second) > 0.05);
}

#[test]
fn example_shapes_of_a_rig_are_its_motion_only_without_layers() {
    let plain = rigged(&[2]);
    let shapes = MeshSequence::new(Arc::clone(&plain.mesh), plain.mesh.points().repeat(2), 24.0).unwrap();
    let with_shapes = Object { sequence: Some(shapes.clone()), ..plain.clone() };
    assert_eq!(frames(&with_shapes.sequence().unwrap()), frames(&shapes));
    let layered = Object { deformers: vec![shifting(Precision::Single)], ..with_shapes };
    assert!(apart(&frames(&layered.sequence().unwrap()), &frames(&shapes)) > 0.1);
}

#[test]
fn an_unknown_layer_is_skipped_with_a_warning() {
    let object = Object { deformers: vec![unknown()], ..rigged(&[2]) };
    let found = motion(&object).unwrap().unwrap();
    assert!(found.warnings[0].message.contains("the layer 'melt' is not supported"), "{:?}", found.warnings);
    assert_eq!(frames(&found.sequence), frames(&rigged(&[2]).sequence().unwrap()));
}

#[test]
fn multi_weights_need_the_joints_of_a_clip() {
    let shapes = rigged(&[2]).sequence().unwrap();
    let object = Object { deformers: vec![shifting(Precision::Single)], ..Object::of_sequence("frames", shapes) };
    assert!(motion(&object).unwrap_err().to_string().contains("depends on the joints of a clip"));
}
