//! glTF: round trips, and real files.

mod common;
mod gltf_support;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use dermis_io::{ErrorKind, ReadOptions, WriteOptions};
use dermis_math::progress::{NoProgress, Progress};
use dermis_mesh::pose::bake;
use dermis_mesh::{
    Clip, Deformer, Joint, MeshSequence, Object, Rig, RigPose, Scene, SkinWeights, StoredDeformer, TetMesh, TriMesh,
    Units, UpAxis,
};
use glam::{DAffine3, DVec3, Vec3};
use gltf_support::*;

/// The largest distance between the posed points of two objects in their clips, relative to the diagonal.
fn posed_distance(a: &Object, b: &Object) -> f32 {
    assert_eq!(a.clips.len(), b.clips.len());
    let mut worst = 0f32;
    for (first, second) in a.clips.iter().zip(&b.clips) {
        assert_eq!(first.name(), second.name());
        assert_eq!(first.frame_rate_hz(), second.frame_rate_hz());
        assert_eq!(first.start_seconds(), second.start_seconds());
        let first = bake(&a.mesh, a.rig.as_ref().unwrap(), first).unwrap();
        let second = bake(&b.mesh, b.rig.as_ref().unwrap(), second).unwrap();
        assert_eq!(first.frame_count(), second.frame_count());
        for (p, q) in first.positions().unwrap().iter().zip(second.positions().unwrap()) {
            worst = worst.max(p.distance(*q));
        }
    }
    worst / a.mesh.diagonal()
}

fn tree(rig: &Rig) -> Vec<(&str, Option<usize>)> {
    rig.joints().iter().map(|joint| (joint.name.as_str(), joint.parent)).collect()
}

#[test]
fn a_mesh_with_seams_and_materials_is_kept_exactly() {
    let scene = scene_of(vec![Object::of_mesh("tube", Arc::new(tube()))]);
    for extension in ["glb", "gltf"] {
        let back = round_trip(&scene, extension);
        assert!(back.notes.is_empty(), "{:?}", back.notes);
        assert_eq!(back.units, METRES);
        assert_eq!(back.objects[0].name, "tube");
        assert_eq!(*back.objects[0].mesh, *scene.objects[0].mesh);
    }
}

#[test]
fn a_material_of_meshes_with_and_without_uvs_is_written_once() {
    let mapped = tube();
    let mut layout = mapped.layout().unwrap().clone();
    layout.materials.remove(0);
    layout.triangle_materials.fill(0);
    let plain = dermis_mesh::Layout { uvs: Vec::new(), ..layout.clone() };
    let object = |name: &str, layout| {
        Object::of_mesh(name, Arc::new(mapped.clone().with_layout(layout).expect("a layout of the same mesh")))
    };
    let scene = scene_of(vec![object("mapped", layout), object("plain", plain)]);
    assert_eq!(json_of(&glb_of(&scene))["materials"].as_array().unwrap().len(), 1);
}

#[test]
fn a_rig_with_clips_keeps_its_tree_its_times_and_its_poses() {
    let scene = scene_of(vec![rigged(5, 12, 2, 0.0)]);
    let back = round_trip(&scene, "glb");
    let (before, after) = (&scene.objects[0], &back.objects[0]);
    let (rig, read) = (before.rig.as_ref().unwrap(), after.rig.as_ref().unwrap());
    assert_eq!(tree(rig), tree(read));
    for (a, b) in rig.joints().iter().zip(read.joints()) {
        assert!(a.inverse_bind.abs_diff_eq(b.inverse_bind, 1e-6));
    }
    // f32 rounding of rotations and weights.
    assert!(posed_distance(before, after) < 1e-6);
    let json = json_of(&glb_of(&scene));
    assert_eq!(json["nodes"].as_array().unwrap().len(), 5 + 2, "one node per joint, the armature and the mesh");
}

#[test]
fn bones_that_shear_are_three_nodes_and_exact() {
    let scene = scene_of(vec![rigged(4, 12, 2, 0.3)]);
    let back = round_trip(&scene, "glb");
    assert!(posed_distance(&scene.objects[0], &back.objects[0]) < 1e-5);
    let (rig, read) = (scene.objects[0].rig.as_ref().unwrap(), back.objects[0].rig.as_ref().unwrap());
    assert_eq!(tree(rig), tree(read));
    assert_eq!(json_of(&glb_of(&scene))["nodes"].as_array().unwrap().len(), 3 * 4 + 2);
}

#[test]
fn more_than_four_influences_use_a_second_set_sorted_by_weight() {
    let mesh = Arc::new(tube());
    let joints: Vec<Joint> = (0..7).map(|j| Joint::at(format!("{j}"), None, DAffine3::IDENTITY)).collect();
    let row = |point: usize| {
        (0..7u32).map(move |j| (j, (1.0 + j as f32) * if point.is_multiple_of(2) || j < 3 { 0.1 } else { 0.0 }))
    };
    let weights = SkinWeights::from_rows((0..mesh.point_count()).map(row)).normalized(7);
    let rig = Rig::new(&mesh, joints, weights.clone(), vec![]).unwrap();
    let scene = scene_of(vec![Object::of_rig("tube", mesh, rig, vec![])]);
    let json = json_of(&glb_of(&scene));
    assert!(json["meshes"][0]["primitives"][0]["attributes"]["JOINTS_1"].is_u64());
    let back = round_trip(&scene, "glb");
    assert!(back.objects[0].clips.is_empty());
    let read = back.objects[0].rig.as_ref().unwrap();
    for (expected, found) in weights.rows().zip(read.weights().rows()) {
        let (expected, found): (Vec<_>, Vec<_>) = (expected.collect(), found.collect());
        assert_eq!(expected.len(), found.len());
        for ((j, w), (k, x)) in expected.iter().zip(&found) {
            assert!(j == k && (w - x).abs() < 1e-6);
        }
        assert!(found.is_sorted_by(|a, b| a.1 >= b.1));
    }
}

#[test]
fn shapes_keep_their_names_normals_and_weights() {
    let scene = scene_of(vec![morphing()]);
    for extension in ["glb", "gltf"] {
        let back = round_trip(&scene, extension);
        let (before, after) = (scene.objects[0].rig.as_ref().unwrap(), back.objects[0].rig.as_ref().unwrap());
        assert_eq!(before.shapes()[0], after.shapes()[0]);
        assert_eq!(after.shapes()[1].offsets, before.shapes()[1].offsets);
        assert_eq!(posed_distance(&scene.objects[0], &back.objects[0]), 0.0);
    }
}

fn waving(mesh: &Arc<TriMesh>, frames: usize) -> MeshSequence {
    let wave = |frame: usize| {
        let phase = frame as f32 * 0.4;
        mesh.points().iter().map(move |p| *p + Vec3::new((phase + p.y).sin(), 0.1 * phase, 0.3)).collect::<Vec<_>>()
    };
    let positions = (0..frames).flat_map(wave).collect();
    MeshSequence::new(Arc::clone(mesh), positions, 29.97).unwrap().starting_at(1.25)
}

#[test]
fn recorded_frames_are_read_as_recorded_frames() {
    let mesh = Arc::new(tube());
    let scene = scene_of(vec![Object::of_sequence("tube", waving(&mesh, 20))]);
    for extension in ["glb", "gltf"] {
        let back = round_trip(&scene, extension);
        let object = &back.objects[0];
        assert!(object.rig.is_none() && object.clips.is_empty());
        let (before, after) = (scene.objects[0].sequence.as_ref().unwrap(), object.sequence.as_ref().unwrap());
        assert_eq!((after.frame_rate_hz(), after.start_seconds(), after.frame_count()), (29.97, 1.25, 20));
        assert_eq!(*object.mesh, *mesh);
        for (p, q) in before.positions().unwrap().iter().zip(after.positions().unwrap()) {
            // Base and offset are each rounded to f32.
            assert!(p.distance(*q) <= 4.0 * f32::EPSILON * mesh.diagonal(), "{p} is not {q}");
        }
    }
}

#[test]
fn normals_follow_recorded_frames() {
    let mesh = Arc::new(tube());
    let glb = glb_of(&scene_of(vec![Object::of_sequence("tube", waving(&mesh, 4))]));
    let json = json_of(&glb);
    let targets = json["meshes"][0]["primitives"][0]["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 4);
    for target in targets {
        let count = |name: &str| json["accessors"][target[name].as_u64().unwrap() as usize]["count"].clone();
        assert_eq!(count("NORMAL"), count("POSITION"));
    }
}

#[test]
fn another_rate_resamples_recorded_frames_like_any_morph_animation() {
    let scene = scene_of(vec![Object::of_sequence("tube", waving(&Arc::new(tube()), 5))]);
    let options = ReadOptions { frame_rate_hz: Some(2.0 * 29.97), ..ReadOptions::default() };
    let back = dermis_io::read_bytes("glb", &glb_of(&scene), &options).unwrap();
    assert_eq!(back.objects[0].clips[0].frame_count(), 9);
    let posed = bake(&back.objects[0].mesh, back.objects[0].rig.as_ref().unwrap(), &back.objects[0].clips[0]).unwrap();
    let source = scene.objects[0].sequence.as_ref().unwrap();
    let middle = source.frame(0).unwrap()[3].midpoint(source.frame(1).unwrap()[3]);
    assert!(posed.frame(1).unwrap()[3].distance(middle) < 1e-5);
}

#[test]
fn coincident_points_stay_separate_and_keep_their_order() {
    let points = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Y, Vec3::X, Vec3::ONE];
    let mesh = Arc::new(TriMesh::new(points, vec![[0, 1, 2], [3, 4, 5]]).unwrap());
    let back = round_trip(&scene_of(vec![Object::of_mesh("flaps", Arc::clone(&mesh))]), "glb");
    assert_eq!(back.objects[0].mesh.points(), mesh.points());
    assert_eq!(back.objects[0].mesh.triangles(), mesh.triangles());
    assert!(back.objects[0].attributes.is_empty());
}

#[test]
fn points_without_faces_and_scalars_are_kept() {
    let mesh = Arc::new(TriMesh::new(vec![Vec3::X, Vec3::Y, Vec3::ZERO], vec![]).unwrap());
    let mut object = Object::of_sequence("cloud", waving(&mesh, 3));
    object.attributes.insert("thickness".into(), vec![0.5, 1.5, 2.5]);
    let back = round_trip(&scene_of(vec![object.clone()]), "glb");
    assert_eq!(back.objects[0].attributes, object.attributes);
    assert_eq!(back.objects[0].mesh.triangle_count(), 0);
    assert_eq!(back.objects[0].sequence.as_ref().unwrap().frame_count(), 3);
}

#[test]
fn units_are_converted_for_viewers_and_kept_by_round_trips() {
    let still = Object::of_mesh("still", Arc::new(tube()));
    let recorded = Object::of_sequence("recorded", waving(&Arc::new(tube()), 3));
    for (metres_per_unit, up_axis) in
        [(Some(0.01), Some(UpAxis::Z)), (None, Some(UpAxis::X)), (None, None), (Some(2.0), None)]
    {
        let units = Units { metres_per_unit, up_axis };
        let objects = vec![still.clone(), rigged(3, 4, 1, 0.0), recorded.clone(), morphing()];
        let scene = Scene { objects, units, notes: vec![] };
        let back = round_trip(&scene, "glb");
        assert_eq!(back.units, units);
        let named = |name: &str| back.objects.iter().find(|object| object.name == name).unwrap();
        assert_eq!(*named("still").mesh, *still.mesh);
        assert_eq!(named("recorded").sequence.as_ref().unwrap().frame_count(), 3);
        let rig = back.objects.iter().find(|object| object.rig.as_ref().is_some_and(|rig| !rig.joints().is_empty()));
        let mut rig = rig.unwrap().clone();
        // The clip of the shapes is one of the scene, in which the joints keep their stored pose.
        assert_eq!(rig.clips.len(), 2);
        rig.clips.truncate(1);
        assert!(posed_distance(&scene.objects[1], &rig) < 1e-6);
    }
    let units = Units { metres_per_unit: Some(0.01), up_axis: Some(UpAxis::Z) };
    let json = json_of(&glb_of(&Scene { objects: vec![still], units, notes: vec![] }));
    let mut without_mark = json.clone();
    without_mark["asset"] = serde_json::json!({ "version": "2.0" });
    let bytes = glb_of(&Scene { objects: vec![Object::of_mesh("still", Arc::new(tube()))], units, notes: vec![] });
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let seen = read(&glb(&without_mark, &bytes[28 + length..]));
    let (low, high) = seen.objects[0].mesh.bounds();
    // The y axis of the tube is now depth, at a hundredth of its size.
    assert!((high.z - low.z - 0.035).abs() < 1e-6 && (high.y - low.y - 0.02).abs() < 1e-6, "{low} {high}");
}

#[test]
fn objects_on_the_same_skeleton_share_it() {
    let mut second = rigged(4, 6, 1, 0.0);
    second.name = "second".into();
    let scene = scene_of(vec![rigged(4, 6, 1, 0.0), second]);
    let json = json_of(&glb_of(&scene));
    assert_eq!(json["skins"].as_array().unwrap().len(), 1);
    assert_eq!(json["animations"].as_array().unwrap().len(), 1);
    let back = round_trip(&scene, "glb");
    for (before, after) in scene.objects.iter().zip(&back.objects) {
        assert!(posed_distance(before, after) < 1e-6);
    }
}

#[test]
fn a_clip_without_motion_is_kept() {
    let object = rigged(2, 1, 1, 0.0);
    let rig = object.rig.as_ref().unwrap();
    let still = object.clips[0].transforms(0).repeat(7);
    let clip = Clip::new(rig, "still", 12.5, still, vec![]).unwrap();
    let scene = scene_of(vec![Object { clips: vec![Arc::new(clip)], ..object }]);
    let back = round_trip(&scene, "glb");
    assert!(posed_distance(&scene.objects[0], &back.objects[0]) < 1e-6);
}

#[test]
fn clips_that_begin_before_zero_keep_their_time() {
    let mut object = rigged(2, 4, 1, 0.0);
    let clip = (*object.clips[0]).clone().starting_at(-3.0);
    object.clips = vec![Arc::new(clip)];
    let back = round_trip(&scene_of(vec![object]), "glb");
    assert_eq!(back.objects[0].clips[0].start_seconds(), -3.0);
    assert_eq!(back.objects[0].clips[0].frame_count(), 4);
}

#[test]
fn layers_keep_their_numbers_and_are_not_a_required_extension() {
    let bare = Deformer::Unknown(StoredDeformer::default());
    let object = Object { deformers: vec![deformer(), bare.clone(), deformer()], ..rigged(3, 4, 1, 0.0) };
    let scene = scene_of(vec![object, rigged(2, 3, 1, 0.0)]);
    for extension in ["glb", "gltf"] {
        let back = round_trip(&scene, extension);
        assert_eq!(back.objects[0].deformers, [deformer(), bare.clone(), deformer()]);
        assert!(back.objects[1].deformers.is_empty());
    }
    let json = json_of(&glb_of(&scene));
    assert_eq!(json["extensionsUsed"], serde_json::json!(["DERMIS_deformers"]));
    assert!(json.get("extensionsRequired").is_none());
}

#[test]
fn data_that_gltf_does_not_support_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let mut object = rigged(2, 3, 1, 0.0);
    object.sequence = Some(waving(&object.mesh, 3));
    let tets = TetMesh::new(object.mesh.points().to_vec(), vec![[0, 1, 9, 17]]).unwrap();
    object.tets = Some(Arc::new(tets));
    let written = write(&folder.path().join("a.glb"), &scene_of(vec![object, Object::default()]));
    let notes: Vec<&str> = written.notes.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(
        notes[0].contains("tetrahedra") && notes[1].contains("recorded frames") && notes[2].contains("without points")
    );
}

struct StopAt(usize);

impl Progress for StopAt {
    fn report(&self, _stage: &str, done: usize, total: usize) -> ControlFlow<()> {
        assert!(done <= total);
        if done >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn stopping_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let scene = scene_of(vec![Object::of_sequence("tube", waving(&Arc::new(tube()), 20))]);
    for extension in ["glb", "gltf"] {
        let path = folder.path().join(format!("a.{extension}"));
        let error = dermis_io::write(&path, &scene, &WriteOptions::default(), &StopAt(10)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Stopped));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    assert!(dermis_io::write(&folder.path().join("a.glb"), &scene, &WriteOptions::default(), &NoProgress).is_ok());
}

#[test]
fn an_empty_scene_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("empty.glb");
    let error = dermis_io::write(&target, &scene_of(vec![]), &WriteOptions::default(), &NoProgress).unwrap_err();
    assert!(error.to_string().contains("no mesh") && !target.exists(), "{error}");
}

#[test]
fn default_weights_without_animation_are_the_stored_pose() {
    let object = morphing();
    let stored = RigPose { shape_weights: vec![0.25, 0.5], ..RigPose::default() };
    let rig = Rig::clone(object.rig.as_ref().unwrap()).with_stored_pose(stored).unwrap();
    let scene = scene_of(vec![Object { clips: vec![], rig: Some(Arc::new(rig)), ..object }]);
    let json = json_of(&glb_of(&scene));
    assert_eq!(json["meshes"][0]["weights"], serde_json::json!([0.25, 0.5]));
    let back = round_trip(&scene, "glb");
    assert!(back.objects[0].clips.is_empty());
    assert_eq!(back.objects[0].rig.as_ref().unwrap().stored_pose().unwrap().shape_weights, [0.25, 0.5]);
    assert_eq!(*back.objects[0].rest_points(), *scene.objects[0].rest_points());
    assert_ne!(*back.objects[0].rest_points(), *back.objects[0].mesh.points());
}

/// Checks that every edge is in exactly two triangles, in opposite directions.
fn is_closed(mesh: &TriMesh) -> bool {
    let mut edges: HashMap<[u32; 2], usize> = HashMap::new();
    for &[a, b, c] in mesh.triangles() {
        for edge in [[a, b], [b, c], [c, a]] {
            *edges.entry(edge).or_default() += 1;
        }
    }
    edges.iter().all(|(&[a, b], &uses)| uses == 1 && edges.get(&[b, a]) == Some(&1))
}

/// File, vertices, points, triangles, joints, shapes, clips, frames of the first clip, its rate.
type Expected = (&'static str, [usize; 7], f64);

const REAL: [Expected; 9] = [
    ("formats/AnimatedMorphSphere.glb", [1876, 482, 960, 0, 2, 1, 217], 30.0),
    ("formats/Flamingo.glb", [337, 273, 542, 0, 14, 1, 15], 10.0),
    ("formats/Horse.glb", [796, 494, 984, 0, 15, 1, 16], 10.0),
    ("formats/MorphStressTest.glb", [1528, 1224, 2412, 0, 8, 3, 281], 30.0),
    ("rigs/CesiumMan.glb", [3273, 2338, 4672, 19, 0, 1, 48], 24.0),
    ("rigs/Fox.glb", [1728, 290, 576, 24, 0, 3, 83], 24.0),
    ("rigs/RiggedSimple.glb", [160, 96, 188, 2, 0, 1, 50], 24.0),
    ("rigs/horse-animations.glb", [2146, 1709, 3414, 56, 0, 14, 42], 30.0),
    ("rigs/model-horse.glb", [2146, 1709, 3414, 0, 0, 0, 0], 0.0),
];

#[test]
fn real_files_have_the_expected_contents_and_survive_a_round_trip() {
    for (name, counts, rate) in REAL {
        let Some(path) = common::shared_data(name) else {
            continue;
        };
        let scene = dermis_io::read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
        let object = &scene.objects[0];
        let (joints, shapes) = object.rig.as_ref().map_or((0, 0), |rig| (rig.joints().len(), rig.shapes().len()));
        let (frames, found_rate) =
            object.clips.first().map_or((0, 0.0), |clip| (clip.frame_count(), clip.frame_rate_hz()));
        let mesh = &object.mesh;
        let found = [
            mesh.vertex_count(),
            mesh.point_count(),
            mesh.triangle_count(),
            joints,
            shapes,
            object.clips.len(),
            frames,
        ];
        assert_eq!((found, found_rate), (counts, rate), "{name}");
        assert!(is_closed(mesh), "{name}");
        let back = round_trip(&scene, "glb");
        assert_eq!(back.objects[0].mesh.points(), mesh.points(), "{name}");
        assert_eq!(back.objects[0].mesh.triangles(), mesh.triangles(), "{name}");
        let layouts = [mesh, &back.objects[0].mesh].map(|mesh| mesh.layout().unwrap());
        assert_eq!(layouts[0].vertex_points, layouts[1].vertex_points, "{name}");
        assert_eq!(layouts[0].uvs, layouts[1].uvs, "{name}");
        assert_eq!(layouts[0].materials, layouts[1].materials, "{name}");
        assert!(posed_distance(object, &back.objects[0]) < 1e-6, "{name}");
    }
}

#[test]
fn a_mesh_below_cancelling_transforms_keeps_its_position() {
    let mesh = Arc::new(tube());
    let joint = Joint { name: "pivot".into(), parent: None, inverse_bind: DAffine3::IDENTITY };
    let weights = SkinWeights::from_rows((0..mesh.point_count()).map(|_| [(0, 1.0)]));
    let rig = Rig::new(&mesh, vec![joint], weights, vec![]).unwrap();
    let far = DVec3::new(1e4, -2e4, 3e3);
    let poses = (0..5).map(|k| DAffine3::from_translation(far + f64::from(k) * DVec3::X)).collect();
    let clip = Clip::new(&rig, "far", 60.0, poses, vec![]).unwrap();
    let scene = scene_of(vec![Object::of_rig("far", mesh, rig, vec![clip])]);
    let back = round_trip(&scene, "glb");
    let object = &back.objects[0];
    let moved = object.clips[0].transforms(4)[0] * object.rig.as_ref().unwrap().joints()[0].inverse_bind;
    let found = moved.translation;
    assert!(found.distance(far + 4.0 * DVec3::X) < 4e-3, "{found}");
}
