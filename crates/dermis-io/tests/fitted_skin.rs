//! Fitted skins in each format: bones at the origin without a hierarchy, corrections and several clips.

mod scenes;

use std::sync::Arc;

use dermis_io::WriteOptions;
use dermis_math::progress::NoProgress;
use dermis_mesh::glam::{DAffine3, DMat3, DQuat, DVec3, Vec3};
use dermis_mesh::pose::bake;
use dermis_mesh::{Clip, Joint, Object, Rig, Scene, Shape, SkinWeights};
use scenes::{only, read, written};

const BONES: usize = 6;

/// Kind of motion of the bones.
#[derive(Clone, Copy, PartialEq)]
enum Bones {
    Rigid,
    Scaled,
    Flexible,
    /// Flexible bones with large rotations between frames.
    Wild,
}

fn transform(bones: Bones, clip: usize, frame: usize, bone: usize) -> DAffine3 {
    let step = if bones == Bones::Wild { 1.7 } else { 0.31 };
    let t = step * frame as f64 + bone as f64 + 10.0 * clip as f64;
    let turn = DQuat::from_euler(dermis_mesh::glam::EulerRot::XYZ, 0.4 * t.sin(), 0.3 * t.cos(), 0.2 * t);
    let center = DAffine3::from_translation(DVec3::new(0.5, 0.7, 0.1 * bone as f64));
    let linear = match bones {
        Bones::Rigid => DMat3::IDENTITY,
        Bones::Scaled => DMat3::from_diagonal(DVec3::new(1.0 + 0.3 * t.sin(), 1.0, 1.0 - 0.2 * t.cos())),
        Bones::Flexible | Bones::Wild => DMat3::from_cols(
            DVec3::new(1.0, 0.2 * t.sin(), 0.0),
            DVec3::new(0.1, 1.0 + 0.2 * t.cos(), 0.0),
            DVec3::new(0.0, 0.15 * t.cos(), if bone == 0 { (t + 0.5).sin() } else { 1.0 }),
        ),
    };
    DAffine3::from_translation(DVec3::Y * t.sin())
        * center
        * DAffine3::from_mat3(DMat3::from_quat(turn) * linear)
        * center.inverse()
}

/// A fitted skin: six influences, two corrections with normals, two clips of different rates and lengths.
fn fitted(bones: Bones) -> Scene {
    let mesh = Arc::new(scenes::dressed_box());
    let joints = (0..BONES).map(|bone| Joint::at(format!("bone {bone}"), None, DAffine3::IDENTITY)).collect();
    let weight = |point: usize, bone: usize| (1 + (point * 7 + bone * 5) % 11) as f32;
    let total = |point: usize| (0..BONES).map(|bone| weight(point, bone)).sum::<f32>();
    let row = |point: usize| (0..BONES).map(move |bone| (bone as u32, weight(point, bone) / total(point)));
    let weights = SkinWeights::from_rows((0..mesh.point_count()).map(row)).normalized(BONES);
    let shape = |name: &str, amount: f32| Shape {
        name: name.into(),
        offsets: (0..mesh.point_count()).map(|k| Vec3::new(0.0, amount * k as f32, amount)).collect(),
        normal_offsets: Some(vec![Vec3::X * amount; mesh.vertex_count()]),
    };
    let shapes = vec![shape("correction 0", 0.02), shape("correction 1", -0.01)];
    let rig = Rig::new(&mesh, joints, weights, shapes).unwrap();
    let clip = |number: usize, name: &str, rate: f64, frames: usize| {
        let transforms =
            (0..frames).flat_map(|frame| (0..BONES).map(move |bone| transform(bones, number, frame, bone))).collect();
        let weights = (0..2 * frames).map(|k| (k as f32 * 0.7).sin()).collect();
        Clip::new(&rig, name, rate, transforms, weights).unwrap()
    };
    let clips = vec![clip(0, "walk", 24.0, 12), clip(1, "run", 30.0, 7).starting_at(1.5)];
    Scene { objects: vec![Object::of_rig("box", mesh, rig, clips)], ..Scene::default() }
}

/// The largest distance between the points of two objects in all their clips, which must have the same times.
fn distance(before: &Object, after: &Object) -> f32 {
    assert_eq!(before.clips.len(), after.clips.len());
    let mut worst = 0f32;
    for (a, b) in before.clips.iter().zip(&after.clips) {
        assert_eq!((a.name(), a.frame_count()), (b.name(), b.frame_count()));
        assert_eq!((a.frame_rate_hz(), a.start_seconds()), (b.frame_rate_hz(), b.start_seconds()));
        let bake = |object: &Object, clip| bake(&object.mesh, object.rig.as_ref().unwrap(), clip).unwrap();
        let (a, b) = (bake(before, a), bake(after, b));
        let (a, b) = (a.positions().unwrap(), b.positions().unwrap());
        assert_eq!(a.len(), b.len());
        worst = a.iter().zip(b.iter()).fold(worst, |worst, (p, q)| worst.max(p.distance(*q)));
    }
    worst
}

fn assert_same_shapes(before: &Object, after: &Object) {
    let shapes = |object: &Object| object.rig.as_ref().unwrap().shapes().to_vec();
    for (a, b) in shapes(before).iter().zip(shapes(after)) {
        assert_eq!((&a.name, &a.offsets), (&b.name, &b.offsets));
        assert_eq!(
            a.normal_offsets.as_ref().map(|offsets| offsets[0]),
            b.normal_offsets.as_ref().map(|offsets| offsets[0])
        );
    }
}

#[test]
fn gltf_keeps_all_bones_clips_and_corrections() {
    for bones in [Bones::Rigid, Bones::Scaled, Bones::Flexible] {
        for name in ["skin.glb", "skin.gltf"] {
            let scene = fitted(bones);
            let (_folder, path) = written(&scene, name);
            let back = read(&path).unwrap();
            assert_eq!(only(&back).rig.as_ref().unwrap().joints().len(), BONES);
            assert_same_shapes(only(&scene), only(&back));
            let far = distance(only(&scene), only(&back));
            assert!(far < 1e-5, "{far}");
        }
    }
}

#[test]
fn half_way_keys_are_not_frames() {
    let scene = fitted(Bones::Wild);
    let (_folder, path) = written(&scene, "skin.gltf");
    let text = std::fs::read_to_string(&path).unwrap().replace(' ', "");
    assert!(text.contains("\"count\":23"), "12 frames have 23 keys if bones rotate fast");
    let far = distance(only(&scene), only(&read(&path).unwrap()));
    assert!(far < 1e-5, "{far}");
}

#[test]
fn usd_keeps_all_bones_clips_and_corrections() {
    for bones in [Bones::Rigid, Bones::Scaled, Bones::Flexible] {
        let scene = fitted(bones);
        let (_folder, path) = written(&scene, "skin.usda");
        let back = read(&path).unwrap();
        assert_eq!(only(&back).rig.as_ref().unwrap().joints().len(), BONES);
        assert_same_shapes(only(&scene), only(&back));
        let far = distance(only(&scene), only(&back));
        assert!(far < 2e-5, "{far}");
    }
}

#[test]
fn fbx_keeps_all_bones_clips_and_corrections() {
    // Flexible bones are nested nodes, with keys halfway between frames if they rotate fast.
    for bones in [Bones::Rigid, Bones::Scaled, Bones::Flexible, Bones::Wild] {
        let scene = fitted(bones);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("skin.fbx");
        let options = WriteOptions { nested_bones: true, ..WriteOptions::default() };
        dermis_io::write(&path, &scene, &options, &NoProgress).unwrap();
        let back = read(&path).unwrap();
        let rig = only(&back).rig.as_ref().unwrap();
        assert_eq!((rig.joints().len(), rig.weights().max_influences()), (BONES, BONES));
        let offsets = |scene: &Scene| only(scene).rig.as_ref().unwrap().shapes()[1].offsets.clone();
        assert_eq!(offsets(&back), offsets(&scene));
        let far = distance(only(&scene), only(&back));
        assert!(far < 2e-5, "{far}");
    }
}

#[test]
fn npz_keeps_the_rig_and_clips() {
    let scene = fitted(Bones::Flexible);
    let (_folder, path) = written(&scene, "skin.npz");
    let back = read(&path).unwrap();
    assert!(back.notes.is_empty(), "{:?}", back.notes);
    let (before, after) = (only(&scene), only(&back));
    assert_eq!(after.clips, before.clips);
    assert_eq!(after.rig.as_ref().unwrap().joints(), before.rig.as_ref().unwrap().joints());
    assert_eq!(after.rig.as_ref().unwrap().shapes(), before.rig.as_ref().unwrap().shapes());
    let sorted = |object: &Object| object.rig.as_ref().unwrap().weights().normalized(BONES);
    assert_eq!(sorted(after), sorted(before));
    assert_eq!(after.sequence.as_ref().unwrap().frame_count(), 12, "the frames of the first clip are kept");
}

#[test]
fn npz_keeps_a_skin_without_corrections() {
    let mut scene = fitted(Bones::Rigid);
    let object = &mut scene.objects[0];
    let rig = object.rig.as_ref().unwrap();
    let plain = Rig::new(&object.mesh, rig.joints().to_vec(), rig.weights().clone(), vec![]).unwrap();
    let transforms = (0..5).flat_map(|frame| object.clips[0].transforms(frame).to_vec()).collect();
    object.clips = vec![Arc::new(Clip::new(&plain, "walk", 24.0, transforms, vec![]).unwrap())];
    object.rig = Some(Arc::new(plain));
    let (_folder, path) = written(&scene, "skin.npz");
    let back = read(&path).unwrap();
    assert!(back.notes.is_empty(), "{:?}", back.notes);
    assert_eq!(only(&back).clips, only(&scene).clips);
}

#[test]
fn gltf_rejects_negative_weights_with_a_hint() {
    let mut scene = fitted(Bones::Rigid);
    let object = &mut scene.objects[0];
    let rig = object.rig.as_ref().unwrap();
    let rows = (0..object.mesh.point_count()).map(|_| [(0, 1.25), (2, -0.25)]);
    let weights = SkinWeights::from_rows(rows);
    object.rig = Some(Arc::new(Rig::new(&object.mesh, rig.joints().to_vec(), weights, rig.shapes().to_vec()).unwrap()));
    let folder = tempfile::tempdir().unwrap();
    let error = scenes::write(&folder.path().join("skin.glb"), &scene).unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(
        text.contains("bone 2") && text.contains("-0.25") && text.contains("non-negative") && text.contains(".npz"),
        "{text}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no file remains");
    // An archive stores them unchanged.
    let target = folder.path().join("skin.npz");
    scenes::write(&target, &scene).unwrap();
    let back = read(&target).unwrap();
    assert_eq!(only(&back).rig.as_ref().unwrap().weights(), only(&scene).rig.as_ref().unwrap().weights());
}
